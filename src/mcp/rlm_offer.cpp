#include "mcp/rlm_offer.h"

#include <fmt/format.h>

#include "base/text.h"

namespace caisson::mcp {

json::object text_result(std::string text) {
  return {{"content", json::array{json::object{{"type", "text"}, {"text", std::move(text)}}}}};
}

json::object error_result(std::string text) {
  json::object result = text_result(std::move(text));
  result["isError"] = true;
  return result;
}

json::object RlmOffer::info() const {
  return {{"name", "caisson"}, {"title", "caisson"}, {"version", CAISSON_VERSION}};
}

json::object RlmOffer::capabilities(Era era) const {
  json::object all{{"tools", json::object{}},
                   {"resources", json::object{}},
                   {"prompts", json::object{}},
                   {"completions", json::object{}}};
  // In the modern dialect each request says whether it wants log messages.
  if (era == Era::kLegacy) all["logging"] = json::object{};
  return all;
}

json::array RlmOffer::tools() const {
  json::array all;
  for (const ToolText& tool : kTools) all.push_back(describe_tool(tool));
  return all;
}

json::array RlmOffer::resources(const Call& call) const {
  // Without a session of its own a client could be anybody: it reads by address, it can't list.
  if (!call.client().has_default_session) return {};
  return outputs_.list(call.client().scope);
}

json::array RlmOffer::templates() const {
  return {json::object{{"uriTemplate", "rlm://{session}/outputs/{number}"},
                       {"name", "output"},
                       {"title", "The whole of an output"},
                       {"description", "Output or figure that was too long for its result"}}};
}

json::array RlmOffer::prompts() const {
  return {json::object{{"name", "rules"},
                       {"title", "When to use the sandbox"},
                       {"description", "The routing rules: sandbox, Read or shell"}},
          json::object{
              {"name", "explore"},
              {"title", "Explore a large file with code"},
              {"description", "Answer a question about a file by loading it into the sandbox"},
              {"arguments",
               json::array{
                   json::object{{"name", "path"}, {"description", "The file"}, {"required", true}},
                   json::object{{"name", "question"},
                                {"description", "What to find out"},
                                {"required", true}}}}}};
}

Task<Answer> RlmOffer::read_resource(Call& call, std::string uri) {
  const Outputs::Entry* entry = outputs_.find(call.client().scope, uri);
  if (!entry)
    co_return RpcError{
        call.era == Era::kModern ? Code::kInvalidParams : Code::kResourceNotFound,
        "no such resource: outputs are kept until 64 newer ones, or 64 MiB, have come",
        json::object{{"uri", uri}}};
  json::object content{{"uri", uri}, {"mimeType", entry->mime}};
  content[entry->blob ? "blob" : "text"] = entry->data;
  co_return json::object{{"contents", json::array{std::move(content)}}};
}

Task<Answer> RlmOffer::get_prompt(Call&, std::string name, json::object arguments) {
  std::string text;
  if (name == "rules") {
    text = instructions_;
  } else if (name == "explore") {
    for (std::string_view key : {"path", "question"}) {
      const json::value* value = arguments.if_contains(key);
      if (!value || !value->is_string())
        co_return RpcError{Code::kInvalidParams,
                           fmt::format("the prompt needs \"{}\", a string", key), nullptr};
    }
    text = fmt::format("{}\nThe file: {}\nThe question: {}\n", kRecipe,
                       std::string_view(arguments["path"].get_string()),
                       std::string_view(arguments["question"].get_string()));
  } else {
    co_return RpcError{Code::kInvalidParams, fmt::format("no prompt \"{}\"", name), nullptr};
  }
  co_return json::object{
      {"messages", json::array{json::object{
                       {"role", "user"},
                       {"content", json::object{{"type", "text"}, {"text", std::move(text)}}}}}}};
}

// The parts of an output's address, which is all that can be guessed.
std::vector<std::string> RlmOffer::completions(const Call& call, std::string_view argument) const {
  const std::string& scope = call.client().scope;
  if (!call.client().has_default_session) return {};
  if (argument == "session") return sessions_.names(scope);
  if (argument != "number") return {};
  std::string session;  // that the client has chosen already
  if (const json::value* chosen = call.params().if_contains("context"))
    if (const json::object* context = chosen->if_object())
      if (const json::value* given = context->if_contains("arguments"); given && given->is_object())
        if (const json::value* name = given->get_object().if_contains("session");
            name && name->is_string())
          session = std::string(name->get_string());
  return outputs_.numbers(scope, session);
}

Answer RlmOffer::complete(Call& call) {
  const json::value* argument = call.params().if_contains("argument");
  const json::value* reference = call.params().if_contains("ref");
  if (!argument || !argument->is_object() || !reference || !reference->is_object())
    return RpcError{Code::kInvalidParams, "\"ref\" and \"argument\" must be objects", nullptr};
  const json::value* name = argument->get_object().if_contains("name");
  const json::value* start = argument->get_object().if_contains("value");
  if (!name || !name->is_string() || !start || !start->is_string())
    return RpcError{Code::kInvalidParams, "the argument needs a name and a value", nullptr};
  json::array values;
  for (const std::string& one : completions(call, std::string_view(name->get_string())))
    if (one.starts_with(std::string_view(start->get_string()))) values.emplace_back(one);
  size_t total = values.size();
  return json::object{
      {"completion",
       json::object{{"values", std::move(values)}, {"total", total}, {"hasMore", false}}}};
}

}  // namespace caisson::mcp
