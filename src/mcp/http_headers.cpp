#include "mcp/http_headers.h"

#include <array>

#include <fmt/format.h>

namespace caisson::mcp {

namespace {

constexpr std::string_view kMark = "=?base64?", kMarkEnd = "?=";

std::optional<std::string> decode_header_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  unsigned bits = 0, padding = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t digit = kAlphabet.find(text[i]);
    bool pad = text[i] == '=' && i + 2 >= text.size();
    if ((digit == std::string_view::npos && !pad) || (padding > 0 && !pad)) return std::nullopt;
    padding += pad;
    bits = bits << 6 | static_cast<unsigned>(pad ? 0 : digit);
    if (i % 4 != 3) continue;
    for (unsigned shift : {16u, 8u, 0u}) out += static_cast<char>(bits >> shift & 0xff);
    bits = 0;
  }
  out.resize(out.size() - padding);
  return out;
}

RpcError mismatch(std::string text) { return {Code::kHeaderMismatch, std::move(text), nullptr}; }

// The field of the body that Mcp-Name repeats; "" for methods that have none.
std::string_view named_field(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method == "resources/read") return "uri";
  return "";
}

std::optional<RpcError> check_one(const http::Request& request, std::string_view header,
                                  std::string_view expected) {
  const std::string* value = request.find(header);
  if (!value) return mismatch(fmt::format("the header {} is missing", header));
  if (request.count(header) > 1) return mismatch(fmt::format("the header {} comes twice", header));
  std::optional<std::string> told = header_value(*value);
  if (!told || *told != expected)
    return mismatch(fmt::format("the header {} and the body differ", header));
  return std::nullopt;
}

std::string version_in(const json::object& params) {
  const json::value* meta = params.if_contains("_meta");
  if (!meta || !meta->is_object()) return {};
  const json::value* version = meta->get_object().if_contains(kMetaVersion);
  return version && version->is_string() ? std::string(version->get_string()) : std::string();
}

}  // namespace

std::optional<std::string> header_value(std::string_view value) {
  if (!value.starts_with(kMark) || !value.ends_with(kMarkEnd) ||
      value.size() < kMark.size() + kMarkEnd.size())
    return std::string(value);
  value.remove_prefix(kMark.size());
  value.remove_suffix(kMarkEnd.size());
  return decode_header_base64(value);
}

Era era_of(const http::Request& request, const Frame& frame) {
  const std::string* header = request.find("MCP-Protocol-Version");
  if (header && *header == kModernVersion) return Era::kModern;
  if (frame.batch) return Era::kLegacy;
  const Message* message = std::get_if<Message>(&frame.parts.front());
  bool modern = message && message->kind == Message::Kind::kRequest &&
                looks_modern(message->method, message->params);
  return modern ? Era::kModern : Era::kLegacy;
}

std::optional<RpcError> check_headers(const http::Request& request, const Message& message) {
  if (message.kind != Message::Kind::kRequest) return std::nullopt;
  // A body without a version is told so by read_meta().
  std::string version = version_in(message.params);
  if (!version.empty())
    if (auto error = check_one(request, "MCP-Protocol-Version", version)) return error;
  if (auto error = check_one(request, "Mcp-Method", message.method)) return error;
  std::string_view field = named_field(message.method);
  const json::value* name = field.empty() ? nullptr : message.params.if_contains(field);
  if (!name || !name->is_string()) return std::nullopt;
  return check_one(request, "Mcp-Name", std::string_view(name->get_string()));
}

int status_of(std::optional<Code> error, Era era) {
  if (!error) return 200;
  if (era == Era::kLegacy)
    return *error == Code::kParse || *error == Code::kInvalidRequest ? 400 : 200;
  switch (*error) {
    case Code::kMethodNotFound:
      return 404;
    case Code::kInternal:
    case Code::kResourceNotFound:
      return 200;
    default:
      return 400;
  }
}

}  // namespace caisson::mcp
