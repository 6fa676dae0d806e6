#include "mcp/jsonrpc.h"

#include <utility>

#include "base/json_size.h"

namespace caisson::mcp {

namespace {

Fault fault(Code code, std::string message, json::value id = nullptr) {
  return {std::move(id), {code, std::move(message), nullptr}};
}

// MCP narrows JSON-RPC: no null and no fractions.
bool is_id(const json::value& value) {
  if (const json::string* text = value.if_string()) return text->size() <= kMaxId;
  return value.is_int64() || value.is_uint64();
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

}  // namespace

Frame parse_frame(std::string_view text) {
  Frame frame;
  if (text.size() > kMaxFrame) {
    frame.parts.push_back(fault(Code::kInvalidRequest, "a message has at most 8 MiB"));
    return frame;
  }
  if (Result<void> size = check_json_size(text); !size) {
    frame.parts.push_back(fault(Code::kInvalidRequest, size.error().what));
    return frame;
  }
  json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  if (error) {
    // Which of the two it was is told apart: a client can do something about the depth.
    bool deep = error == json::error::too_deep;
    frame.parts.push_back(
        fault(Code::kParse, deep ? "nested more than 64 levels deep" : "not JSON"));
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
