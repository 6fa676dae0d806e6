// The two eras of MCP. Until 2025-11-25 ("legacy") a client says once who it is, by `initialize`;
// from 2026-07-28 on ("modern") every request says it in its _meta. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "mcp/jsonrpc.h"

namespace caisson::mcp {

enum class Era { kLegacy, kModern };

inline constexpr std::string_view kModernVersion = "2026-07-28";
inline constexpr std::array<std::string_view, 4> kLegacyVersions = {"2025-11-25", "2025-06-18",
                                                                    "2025-03-26", "2024-11-05"};
inline constexpr std::string_view kBatchVersion = "2025-03-26";  // the only one with batches

inline constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kMetaCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kMetaLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kMetaServer = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kMetaSubscription = "io.modelcontextprotocol/subscriptionId";

// What was asked for if we speak it, else the newest that has `initialize`.
std::string_view negotiate(std::string_view asked);
bool is_legacy_version(std::string_view version);

// In order of severity.
enum class LogLevel { kDebug, kInfo, kNotice, kWarning, kError, kCritical, kAlert, kEmergency };
std::optional<LogLevel> parse_level(std::string_view name);
std::string_view level_name(LogLevel level);

// Whether a request speaks the modern dialect, rightly or not: then it is judged by that.
bool looks_modern(std::string_view method, const json::object& params);

struct RequestMeta {
  json::object capabilities;  // of the client
  std::optional<LogLevel> log_level;
};
std::variant<RequestMeta, RpcError> read_meta(const json::object& params);

// The token that progress of this request goes by; null when it wants none.
json::value progress_token(const json::object& params);

enum class Caching { kNone, kPrivate, kPublic };
// What every modern result carries besides its own.
void dress_result(json::object& result, const json::object& server_info, Caching caching);

// One page of a list, and where the next begins.
struct Page {
  json::array items;
  std::string next;  // "" on the last
};
inline constexpr size_t kPageSize = 50;
std::variant<Page, RpcError> page_of(json::array all, const json::object& params);

}  // namespace caisson::mcp
