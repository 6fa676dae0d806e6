// JSON-RPC 2.0 as MCP uses it: what one frame holds, and the texts that go back. Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/json.hpp>

namespace caisson::mcp {

namespace json = boost::json;

inline constexpr size_t kMaxFrame = 8 << 20;  // bytes of one message
inline constexpr size_t kMaxDepth = 64;       // of arrays and objects inside each other
inline constexpr size_t kMaxBatch = 256;      // messages in one array
inline constexpr size_t kMaxId = 256;         // bytes of a request's id
inline constexpr size_t kMaxMethod = 256;

enum class Code : int {
  kParse = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternal = -32603,
  kResourceNotFound = -32002,  // until 2025-11-25; later it is kInvalidParams
  kHeaderMismatch = -32020,
  kMissingCapability = -32021,
  kUnsupportedVersion = -32022,
};

struct RpcError {
  Code code = Code::kInternal;
  std::string message;
  json::value data = nullptr;  // null: left out
};

struct Message {
  enum class Kind { kRequest, kNotification, kAnswer };
  Kind kind = Kind::kRequest;
  json::value id = nullptr;  // a string or an integer; null for a notification
  std::string method;
  json::object params;
  // Of an answer to a request of ours: the result, or the error object.
  json::value answer = nullptr;
  bool failed = false;
};

// A message that can't be served, with the id that its error goes to (null: nobody knows).
struct Fault {
  json::value id = nullptr;
  RpcError error;
};

struct Frame {
  bool batch = false;
  std::vector<std::variant<Message, Fault>> parts;  // never empty
};

// Never fails: what isn't a message is a Fault.
Frame parse_frame(std::string_view text);

// MCP narrows JSON-RPC: no null and no fractions.
bool is_id(const json::value& value);

// Of a message of which nothing but the id is known.
Frame too_long_frame(json::value id);

// An id as the key of a table: 1 and "1" are two ids.
std::string id_key(const json::value& id);

std::string result_text(const json::value& id, json::object result);
std::string error_text(const json::value& id, const RpcError& error);
std::string notification_text(std::string_view method, json::object params);
std::string request_text(const json::value& id, std::string_view method, json::object params);

}  // namespace caisson::mcp
