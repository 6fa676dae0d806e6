#include "mcp/jsonrpc.h"

#include <charconv>
#include <utility>

#include "base/json_size.h"
#include "mcp/top_id.h"

namespace caisson::mcp {

namespace {

Fault fault(Code code, std::string message, json::value id = nullptr) {
  return {std::move(id), {code, std::move(message), nullptr}};
}

std::variant<Message, Fault> parse_answer(json::object& object) {
  Message message;
  message.kind = Message::Kind::kAnswer;
  json::value* id = object.if_contains("id");
  if (id && is_id(*id)) message.id = std::move(*id);
  json::value* error = object.if_contains("error");
  message.failed = error != nullptr;
  message.answer = std::move(error ? *error : object["result"]);
  return message;
}

std::variant<Message, Fault> parse_call(json::object& object) {
  Message message;
  json::value* id = object.if_contains("id");
  if (id && !is_id(*id))
    return fault(Code::kInvalidRequest, "an id is a string of at most 256 bytes or an integer");
  message.kind = id ? Message::Kind::kRequest : Message::Kind::kNotification;
  if (id) message.id = *id;
  const json::string* method = object.at("method").if_string();
  if (!method || method->empty() || method->size() > kMaxMethod)
    return fault(Code::kInvalidRequest, "the method isn't a name", message.id);
  message.method = std::string(*method);
  if (json::value* params = object.if_contains("params")) {
    if (!params->is_object())
      return fault(Code::kInvalidParams, "params must be an object", message.id);
    message.params = std::move(params->get_object());
  }
  return message;
}

std::variant<Message, Fault> parse_part(json::value& value) {
  json::object* object = value.if_object();
  if (!object) return fault(Code::kInvalidRequest, "a message is an object");
  const json::value* version = object->if_contains("jsonrpc");
  const json::value* id = object->if_contains("id");
  json::value known = id && is_id(*id) ? *id : json::value(nullptr);
  if (!version || *version != "2.0")
    return fault(Code::kInvalidRequest, "jsonrpc must be \"2.0\"", std::move(known));
  if (object->contains("method")) return parse_call(*object);
  if (object->contains("result") || object->contains("error")) return parse_answer(*object);
  return fault(Code::kInvalidRequest, "neither a request nor an answer", std::move(known));
}

json::object envelope(const json::value& id) { return {{"jsonrpc", "2.0"}, {"id", id}}; }

json::value id_in(std::string_view text) {
  TopId id;
  id.feed(text);
  return id.found();
}

// The number of "\uXXXX" at `at`; -1: there is none.
int escaped_unit(std::string_view text, size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int unit = 0;
  auto [end, failed] = std::from_chars(text.data() + at + 2, text.data() + at + 6, unit, 16);
  return failed == std::errc() && end == text.data() + at + 6 ? unit : -1;
}

// JavaScript writes half of a character that was cut as such an escape, which is no Unicode: a text
// that was sliced is still worth an answer.
std::string without_half_characters(std::string_view text) {
  std::string whole(text);
  for (size_t at = 0; at + 1 < whole.size(); ++at) {
    if (whole[at] != '\\') continue;
    int unit = escaped_unit(whole, at), next = escaped_unit(whole, at + 6);
    bool is_pair = unit >= 0xd800 && unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff;
    bool is_half = unit >= 0xd800 && unit <= 0xdfff && !is_pair;
    if (is_half) whole.replace(at, 6, "\\ufffd");
    at += is_pair ? 11 : 1;  // past what is escaped, which may be a backslash
  }
  return whole;
}

json::value parse_text(std::string_view text, boost::system::error_code& error) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::value value = json::parse(text, error, {}, options);
  bool has_escapes = text.find("\\ud") != text.npos || text.find("\\uD") != text.npos;
  if (!error || error == json::error::too_deep || !has_escapes) return value;
  return json::parse(without_half_characters(text), error, {}, options);
}

}  // namespace

bool is_id(const json::value& value) {
  if (const json::string* text = value.if_string()) return text->size() <= kMaxId;
  return value.is_int64() || value.is_uint64();
}

Frame too_long_frame(json::value id) {
  Frame frame;
  frame.parts.push_back(fault(Code::kInvalidRequest, "a message has at most 8 MiB", std::move(id)));
  return frame;
}

Frame parse_frame(std::string_view text) {
  Frame frame;
  if (text.size() > kMaxFrame) return too_long_frame(id_in(text));
  if (Result<void> size = check_json_size(text); !size) {
    frame.parts.push_back(fault(Code::kInvalidRequest, size.error().what, id_in(text)));
    return frame;
  }
  boost::system::error_code error;
  json::value value = parse_text(text, error);
  if (error) {
    // Which of the two it was is told apart: a client can do something about the depth.
    bool deep = error == json::error::too_deep;
    frame.parts.push_back(fault(Code::kParse, deep ? "nested more than 64 levels deep" : "not JSON",
                                deep ? id_in(text) : json::value(nullptr)));
    return frame;
  }
  json::array* several = value.if_array();
  if (!several) {
    frame.parts.push_back(parse_part(value));
    return frame;
  }
  frame.batch = true;
  if (several->empty() || several->size() > kMaxBatch) {
    frame.parts.push_back(fault(Code::kInvalidRequest, "a batch has 1 to 256 messages"));
    frame.batch = false;
    return frame;
  }
  for (json::value& one : *several) frame.parts.push_back(parse_part(one));
  return frame;
}

std::string id_key(const json::value& id) { return json::serialize(id); }

std::string result_text(const json::value& id, json::object result) {
  json::object message = envelope(id);
  message["result"] = std::move(result);
  return json::serialize(message);
}

std::string error_text(const json::value& id, const RpcError& error) {
  json::object body{{"code", static_cast<int>(error.code)}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  json::object message = envelope(id);
  message["error"] = std::move(body);
  return json::serialize(message);
}

std::string notification_text(std::string_view method, json::object params) {
  json::object message{{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.empty()) message["params"] = std::move(params);
  return json::serialize(message);
}

std::string request_text(const json::value& id, std::string_view method, json::object params) {
  json::object message = envelope(id);
  message["method"] = method;
  message["params"] = std::move(params);
  return json::serialize(message);
}

}  // namespace caisson::mcp
