#include "web/openapi.h"

#include <fmt/format.h>

#include "base/text.h"
#include "web/schemas.h"

namespace caisson::web {
namespace {

namespace json = boost::json;

json::object content(std::string_view schema) {
  if (schema == "text") return {{"text/plain", {{"schema", {{"type", "string"}}}}}};
  if (schema == "bytes")
    return {{"application/octet-stream", json::object()}, {"application/json", json::object()}};
  std::string reference = fmt::format("#/components/schemas/{}", schema);
  return {{"application/json", {{"schema", {{"$ref", reference}}}}}};
}

json::array parameters(std::string_view path) {
  json::array list;
  for (std::string_view part : split(path, '/')) {
    if (!part.starts_with('{')) continue;
    list.push_back(json::object{{"name", part.substr(1, part.size() - 2)},
                                {"in", "path"},
                                {"required", true},
                                {"schema", {{"type", "string"}}}});
  }
  return list;
}

json::object operation(const Route& route, std::string_view path) {
  json::object success{{"description", "Done"}, {"content", content(route.gives)}};
  // The one route that can answer in two ways: whole, or as it comes.
  if (route.gives == "Answer" && route.takes == "Exec")
    success["content"].as_object()["text/event-stream"] =
        json::object{{"schema", {{"type", "string"}}}};
  json::object error{{"description", "Why not"}, {"content", content("Error")}};
  json::object result{
      {"summary", route.summary},
      {"parameters", parameters(path)},
      {"responses", {{std::to_string(route.status), std::move(success)}, {"default", error}}}};
  if (!route.takes.empty())
    result["requestBody"] = json::object{{"required", true}, {"content", content(route.takes)}};
  if (!route.may_be_open) result["security"] = json::array{json::object{{"token", json::array()}}};
  return result;
}

std::string lower_method(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(c | 0x20);
  return text;
}

json::object paths(std::span<const Route> routes) {
  json::object all;
  for (const Route& route : routes) {
    std::string path(route.path);
    if (path.ends_with("**")) path.replace(path.size() - 2, 2, "{path}");
    json::value& entry = all[path];
    if (!entry.is_object()) entry = json::object();
    entry.as_object()[lower_method(route.method)] = operation(route, path);
  }
  return all;
}

}  // namespace

json::object openapi_document(std::span<const Route> routes) {
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "caisson"},
            {"version", CAISSON_VERSION},
            {"description", "Python sessions in cells: code that nobody has read."}}},
          {"paths", paths(routes)},
          {"components",
           {{"schemas", json::parse(kSchemas)},
            {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace caisson::web
