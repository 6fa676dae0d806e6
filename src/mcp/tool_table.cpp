#include "mcp/tool_table.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace caisson::mcp {

namespace {

constexpr size_t kMaxName = 128;  // of variables and checkpoints

json::object schema_of(const Argument& argument) {
  json::object schema;
  switch (argument.kind) {
    case ArgumentKind::kText:
    case ArgumentKind::kName:
    case ArgumentKind::kSession:
    case ArgumentKind::kChoice:
      schema["type"] = "string";
      break;
    case ArgumentKind::kSeconds:
      schema = {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", kMaxSeconds}};
      break;
    case ArgumentKind::kCount:
      schema = {{"type", "integer"}, {"minimum", 1}, {"maximum", kMaxCount}};
      break;
    case ArgumentKind::kObject:
      schema["type"] = "object";
      break;
  }
  if (argument.kind == ArgumentKind::kName) schema["minLength"] = 1;
  if (argument.kind == ArgumentKind::kSession)
    schema["pattern"] = "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$";
  if (argument.kind == ArgumentKind::kChoice) {
    json::array choices;
    for (std::string_view one : split(argument.choices, ' ')) choices.emplace_back(one);
    schema["enum"] = std::move(choices);
  }
  schema["description"] = argument.description;
  if (!argument.preset.empty()) schema["default"] = json::parse(argument.preset);
  return schema;
}

// What the argument should have been; "" when it is that.
std::string should_be(const Argument& argument, const json::value& value) {
  const json::string* text = value.if_string();
  switch (argument.kind) {
    case ArgumentKind::kText:
      return text ? "" : "a string";
    case ArgumentKind::kName:
      return text && !text->empty() && text->size() <= kMaxName ? ""
                                                                : "a string of 1 to 128 characters";
    case ArgumentKind::kSession:
      return text && is_session_name(*text)
                 ? ""
                 : "1 to 40 letters, digits, \"-\" or \"_\", starting with a letter or digit";
    case ArgumentKind::kChoice:
      if (text)
        for (std::string_view one : split(argument.choices, ' '))
          if (*text == one) return "";
      return fmt::format("one of: {}", argument.choices);
    case ArgumentKind::kSeconds: {
      boost::system::error_code error;
      double seconds = value.is_number() ? value.to_number<double>(error) : 0;
      return seconds > 0 && seconds <= kMaxSeconds
                 ? ""
                 : "a number of seconds above 0 and at most 86400";
    }
    case ArgumentKind::kCount: {
      boost::system::error_code error;
      int64_t count = value.is_number() ? value.to_number<int64_t>(error) : 0;
      return !error && count >= 1 && count <= kMaxCount ? "" : "a whole number from 1 to 1000";
    }
    case ArgumentKind::kObject:
      return value.is_object() ? "" : "an object";
  }
  return "";
}

std::string unknown_argument(const ToolText& tool, std::string_view name) {
  std::vector<std::string_view> known;
  std::string all;
  for (const Argument& one : tool.arguments) {
    known.push_back(one.name);
    all += (all.empty() ? "" : ", ") + std::string(one.name);
  }
  std::string_view near = nearest(name, known);
  std::string shown = printable(name.substr(0, 100));
  if (!near.empty())
    return fmt::format("unknown argument \"{}\" of {}; did you mean \"{}\"?", shown, tool.name,
                       near);
  return fmt::format("unknown argument \"{}\"; {} takes: {}", shown, tool.name,
                     all.empty() ? "nothing" : all);
}

}  // namespace

bool is_session_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxSessionName || name[0] == '-' || name[0] == '_')
    return false;
  return name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
         std::string_view::npos;
}

json::object describe_tool(const ToolText& tool) {
  json::object properties;
  json::array required;
  for (const Argument& argument : tool.arguments) {
    properties[argument.name] = schema_of(argument);
    if (argument.required) required.emplace_back(argument.name);
  }
  json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  json::object described{{"name", tool.name},
                         {"title", tool.title},
                         {"description", tool.description},
                         {"inputSchema", std::move(schema)},
                         {"annotations",
                          {{"title", tool.title},
                           {"readOnlyHint", tool.annotations.read_only},
                           {"destructiveHint", tool.annotations.destructive},
                           {"idempotentHint", tool.annotations.idempotent},
                           {"openWorldHint", false}}}};
  if (tool.always_load) described["_meta"] = json::object{{"anthropic/alwaysLoad", true}};
  return described;
}

std::optional<std::string> check_arguments(const ToolText& tool, const json::object& arguments) {
  for (const Argument& argument : tool.arguments) {
    const json::value* value = arguments.if_contains(argument.name);
    // Models write null for what they leave out.
    if (!value || (value->is_null() && !argument.required)) {
      if (argument.required)
        return fmt::format("{} needs \"{}\": {}", tool.name, argument.name, argument.description);
      continue;
    }
    if (std::string wanted = should_be(argument, *value); !wanted.empty())
      return fmt::format("\"{}\" of {} must be {}", argument.name, tool.name, wanted);
  }
  for (const auto& [name, value] : arguments) {
    bool known = false;
    for (const Argument& argument : tool.arguments) known = known || argument.name == name;
    if (!known) return unknown_argument(tool, name);
  }
  return std::nullopt;
}

}  // namespace caisson::mcp
