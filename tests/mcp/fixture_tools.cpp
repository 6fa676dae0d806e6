#include <fmt/format.h>

#include "fixtures.h"

namespace caisson::mcp {

constexpr std::string_view kPicture =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJgg"
    "g==";
constexpr std::string_view kSilence =
    "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

namespace {

json::object elicitation_schema(std::string_view json_text) {
  return json::parse(json_text).as_object();
}

constexpr std::string_view kUserSchema =
    R"({"type":"object","properties":{"username":{"type":"string","description":"User's response"},
    "email":{"type":"string","description":"User's email address"}},"required":["username","email"]})";
constexpr std::string_view kDefaultsSchema =
    R"({"type":"object","properties":{"name":{"type":"string","default":"John Doe"},
    "age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
    "status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
    "verified":{"type":"boolean","default":true}}})";
constexpr std::string_view kEnumsSchema =
    R"({"type":"object","properties":{
    "untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
    "titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},
      {"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
    "legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
      "enumNames":["Option One","Option Two","Option Three"]},
    "untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
    "titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},
      {"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}})";
constexpr std::string_view kRichSchema =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
    "$defs":{"address":{"$anchor":"addressDef","type":"object",
      "properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
    "properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
      "contactMethod":{"type":"string","enum":["phone","email"]},
      "phone":{"type":"string"},"email":{"type":"string"}},
    "allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
    "if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
    "then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false})";

Task<> pause(Call& call) {
  http::Bell bell(call.loop());
  co_await bell.wait_until(http::Clock::now() + std::chrono::milliseconds(20));
}

Task<json::object> with_logging(Call& call) {
  for (std::string_view text :
       {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
    call.log(LogLevel::kInfo, "fixtures", json::string(text));
    co_await pause(call);
  }
  co_return content_of({text_block("done")});
}

Task<json::object> with_progress(Call& call) {
  for (double value : {0.0, 50.0, 100.0}) {
    call.progress(value, 100.0, {});
    co_await pause(call);
  }
  co_return content_of({text_block("done")});
}

Task<json::object> asking(Call& call, std::string_view method, json::object params) {
  auto answer = co_await call.ask(method, std::move(params));
  if (RpcError* error = std::get_if<RpcError>(&answer)) {
    json::object result = content_of({text_block(error->message)});
    result["isError"] = true;
    co_return result;
  }
  co_return content_of({text_block("Answer: " + json::serialize(std::get<json::value>(answer)))});
}

std::string text_of(const json::object& arguments, std::string_view key) {
  const json::value* value = arguments.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

json::object sampling_request(std::string_view prompt) {
  json::object message{{"role", "user"}, {"content", text_block(prompt)}};
  return {{"messages", json::array{std::move(message)}}, {"maxTokens", 100}};
}

json::object elicitation_request(std::string_view message, std::string_view schema) {
  return {{"message", message.empty() ? "Please answer" : message},
          {"requestedSchema", elicitation_schema(schema)}};
}

std::optional<json::object> plain_tool(const std::string& name) {
  json::object image{{"type", "image"}, {"data", kPicture}, {"mimeType", "image/png"}};
  auto embedded = [](std::string_view uri, std::string_view mime, std::string_view text) {
    return json::object{
        {"type", "resource"},
        {"resource", json::object{{"uri", uri}, {"mimeType", mime}, {"text", text}}}};
  };
  if (name == "test_simple_text" || name == "json_schema_2020_12_tool")
    return content_of({text_block("This is a simple text response for testing.")});
  if (name == "test_image_content") return content_of({image});
  if (name == "test_audio_content")
    return content_of(
        {json::object{{"type", "audio"}, {"data", kSilence}, {"mimeType", "audio/wav"}}});
  if (name == "test_embedded_resource")
    return content_of({embedded("test://embedded-resource", "text/plain",
                                "This is an embedded resource content.")});
  if (name == "test_multiple_content_types")
    return content_of({text_block("Multiple content types test:"), image,
                       embedded("test://mixed-content-resource", "application/json",
                                R"({"test":"data","value":123})")});
  if (name != "test_error_handling") return std::nullopt;
  json::object result =
      content_of({text_block("This tool intentionally returns an error for testing")});
  result["isError"] = true;
  return result;
}

}  // namespace

json::array FixtureOffer::tools() const {
  json::array all;
  auto add = [&all](std::string_view name, json::object schema) {
    all.push_back(json::object{{"name", name}, {"description", name}, {"inputSchema", schema}});
  };
  json::object empty{{"type", "object"}};
  for (std::string_view name : {"test_simple_text",
                                "test_image_content",
                                "test_audio_content",
                                "test_embedded_resource",
                                "test_multiple_content_types",
                                "test_tool_with_logging",
                                "test_logging_tool",
                                "test_error_handling",
                                "test_tool_with_progress",
                                "test_elicitation_sep1034_defaults",
                                "test_elicitation_sep1330_enums",
                                "test_missing_capability",
                                "test_streaming_elicitation",
                                "test_trigger_tool_change",
                                "test_trigger_prompt_change",
                                "test_input_required_result_elicitation",
                                "test_input_required_result_sampling",
                                "test_input_required_result_list_roots",
                                "test_input_required_result_request_state",
                                "test_input_required_result_multiple_inputs",
                                "test_input_required_result_multi_round",
                                "test_input_required_result_tampered_state",
                                "test_input_required_result_capabilities"})
    add(name, empty);
  for (auto [name, argument] :
       {std::pair{"test_sampling", "prompt"}, {"test_elicitation", "message"}})
    add(name, {{"type", "object"},
               {"properties", json::object{{argument, json::object{{"type", "string"}}}}},
               {"required", json::array{argument}}});
  add("json_schema_2020_12_tool", json::parse(kRichSchema).as_object());
  return all;
}

Task<Answer> FixtureOffer::call_tool(Call& call, std::string name, json::object arguments) {
  if (auto result = plain_tool(name)) co_return std::move(*result);
  if (auto answer = input_required_tool(call, name)) co_return std::move(*answer);
  if (name == "test_tool_with_logging" || name == "test_logging_tool")
    co_return co_await with_logging(call);
  if (name == "test_tool_with_progress") co_return co_await with_progress(call);
  if (name == "test_trigger_tool_change" || name == "test_trigger_prompt_change") {
    server->list_changed(name == "test_trigger_tool_change" ? "tools" : "prompts");
    co_return content_of({text_block("changed")});
  }
  if (name == "test_missing_capability") {
    if (call.capabilities.contains("sampling")) co_return content_of({text_block("has it")});
    co_return RpcError{
        Code::kMissingCapability, "this tool needs sampling",
        json::object{{"requiredCapabilities", json::object{{"sampling", json::object{}}}}}};
  }
  if (name == "test_sampling") {
    json::object params = sampling_request(text_of(arguments, "prompt"));
    co_return co_await asking(call, "sampling/createMessage", std::move(params));
  }
  std::string_view schema = name == "test_elicitation"                    ? kUserSchema
                            : name == "test_elicitation_sep1034_defaults" ? kDefaultsSchema
                            : name == "test_elicitation_sep1330_enums"    ? kEnumsSchema
                                                                          : "";
  if (schema.empty()) co_return RpcError{Code::kInvalidParams, "no tool " + name, nullptr};
  json::object params = elicitation_request(text_of(arguments, "message"), schema);
  co_return co_await asking(call, "elicitation/create", std::move(params));
}

}  // namespace caisson::mcp
