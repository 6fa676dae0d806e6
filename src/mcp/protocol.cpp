#include "mcp/protocol.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace caisson::mcp {

namespace {

constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};

// A list or a text that changes with nothing but the binary may be kept for an hour.
constexpr int kPublicMs = 3'600'000;
constexpr std::string_view kCursorMark = "at-";

const json::object* meta_of(const json::object& params) {
  const json::value* meta = params.if_contains("_meta");
  return meta ? meta->if_object() : nullptr;
}

RpcError missing(std::string_view key) {
  return {Code::kInvalidParams,
          fmt::format("every request of {} carries _meta with \"{}\"", kModernVersion, key),
          nullptr};
}

}  // namespace

bool is_legacy_version(std::string_view version) {
  return std::ranges::find(kLegacyVersions, version) != kLegacyVersions.end();
}

std::string_view negotiate(std::string_view asked) {
  const auto* found = std::ranges::find(kLegacyVersions, asked);
  return found != kLegacyVersions.end() ? *found : kLegacyVersions.front();
}

std::optional<LogLevel> parse_level(std::string_view name) {
  const auto* found = std::ranges::find(kLevels, name);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevels.begin());
}

std::string_view level_name(LogLevel level) { return kLevels[static_cast<size_t>(level)]; }

bool looks_modern(std::string_view method, const json::object& params) {
  if (method == "server/discover" || method == "subscriptions/listen") return true;
  const json::object* meta = meta_of(params);
  return meta && (meta->contains(kMetaVersion) || meta->contains(kMetaCapabilities));
}

std::variant<RequestMeta, RpcError> read_meta(const json::object& params) {
  const json::object* meta = meta_of(params);
  const json::value* version = meta ? meta->if_contains(kMetaVersion) : nullptr;
  if (!version || !version->is_string()) return missing(kMetaVersion);
  if (version->get_string() != kModernVersion)
    return RpcError{Code::kUnsupportedVersion, fmt::format("this server speaks {}", kModernVersion),
                    json::object{{"supported", json::array{kModernVersion}},
                                 {"requested", version->get_string()}}};
  const json::value* capabilities = meta->if_contains(kMetaCapabilities);
  if (!capabilities || !capabilities->is_object()) return missing(kMetaCapabilities);
  RequestMeta found{capabilities->get_object(), std::nullopt};
  if (const json::value* level = meta->if_contains(kMetaLogLevel)) {
    if (level->is_string()) found.log_level = parse_level(std::string_view(level->get_string()));
    if (!found.log_level) return RpcError{Code::kInvalidParams, "not a log level", nullptr};
  }
  return found;
}

json::value progress_token(const json::object& params) {
  const json::object* meta = meta_of(params);
  const json::value* token = meta ? meta->if_contains("progressToken") : nullptr;
  if (!token) return nullptr;
  bool small = token->is_string() && token->get_string().size() <= kMaxId;
  return small || token->is_int64() || token->is_uint64() ? *token : json::value(nullptr);
}

void dress_result(json::object& result, const json::object& server_info, Caching caching) {
  if (!result.contains("resultType")) result["resultType"] = "complete";
  if (caching != Caching::kNone) {
    result["ttlMs"] = caching == Caching::kPublic ? kPublicMs : 0;
    result["cacheScope"] = caching == Caching::kPublic ? "public" : "private";
  }
  json::value& meta = result["_meta"];
  if (!meta.is_object()) meta.emplace_object();
  meta.get_object()[kMetaServer] = server_info;
}

std::variant<Page, RpcError> page_of(json::array all, const json::object& params) {
  size_t start = 0;
  if (const json::value* cursor = params.if_contains("cursor")) {
    const json::string* text = cursor->if_string();
    bool good = text && std::string_view(*text).starts_with(kCursorMark);
    if (good) {
      std::string_view digits = std::string_view(*text).substr(kCursorMark.size());
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), start);
      good = error == std::errc{} && end == digits.data() + digits.size() && start > 0 &&
             start < all.size();
    }
    if (!good) return RpcError{Code::kInvalidParams, "not a cursor of this list", nullptr};
  }
  Page page;
  size_t end = std::min(all.size(), start + kPageSize);
  for (size_t i = start; i < end; ++i) page.items.push_back(std::move(all[i]));
  if (end < all.size()) page.next = fmt::format("{}{}", kCursorMark, end);
  return page;
}

}  // namespace caisson::mcp
