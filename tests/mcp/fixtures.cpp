// mcp_fixtures: serves fixtures (or the product) on a free port of the loopback, which it prints.
#include "fixtures.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <fmt/format.h>

#include "http/listen.h"
#include "mcp/http_endpoint.h"
#include "mcp/service.h"

namespace caisson::mcp {

json::object text_block(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

json::object content_of(json::array blocks) { return {{"content", std::move(blocks)}}; }

json::object FixtureOffer::info() const { return {{"name", "fixtures"}, {"version", "1"}}; }

json::object FixtureOffer::capabilities(Era era) const {
  json::object all{{"tools", json::object{{"listChanged", true}}},
                   {"resources", json::object{{"listChanged", true}, {"subscribe", true}}},
                   {"prompts", json::object{{"listChanged", true}}},
                   {"completions", json::object{}}};
  if (era == Era::kLegacy) all["logging"] = json::object{};
  return all;
}

json::array FixtureOffer::resources(const Call&) const {
  return {json::object{{"uri", "test://static-text"},
                       {"name", "text"},
                       {"description", "A text"},
                       {"mimeType", "text/plain"}},
          json::object{{"uri", "test://static-binary"},
                       {"name", "picture"},
                       {"description", "A picture"},
                       {"mimeType", "image/png"}},
          json::object{{"uri", "test://watched-resource"},
                       {"name", "watched"},
                       {"description", "A text that may change"},
                       {"mimeType", "text/plain"}}};
}

json::array FixtureOffer::templates() const {
  return {json::object{{"uriTemplate", "test://template/{id}/data"},
                       {"name", "data"},
                       {"description", "Data by id"},
                       {"mimeType", "application/json"}}};
}

Task<Answer> FixtureOffer::read_resource(Call&, std::string uri) {
  json::object content{{"uri", uri}, {"mimeType", "text/plain"}};
  constexpr std::string_view kStart = "test://template/", kEnd = "/data";
  if (uri == "test://static-text" || uri == "test://watched-resource") {
    content["text"] = "This is the content of the static text resource.";
  } else if (uri == "test://static-binary") {
    content["mimeType"] = "image/png";
    content["blob"] = kPicture;
  } else if (uri.starts_with(kStart) && uri.ends_with(kEnd)) {
    std::string id = uri.substr(kStart.size(), uri.size() - kStart.size() - kEnd.size());
    content["mimeType"] = "application/json";
    content["text"] = json::serialize(
        json::object{{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}});
  } else {
    co_return RpcError{Code::kInvalidParams, "Resource not found", json::object{{"uri", uri}}};
  }
  co_return json::object{{"contents", json::array{std::move(content)}}};
}

json::array FixtureOffer::prompts() const {
  auto prompt = [](std::string_view name, std::initializer_list<std::string_view> arguments) {
    json::array all;
    for (std::string_view one : arguments)
      all.push_back(json::object{{"name", one}, {"description", one}, {"required", true}});
    return json::object{{"name", name}, {"description", name}, {"arguments", std::move(all)}};
  };
  return {prompt("test_simple_prompt", {}), prompt("test_prompt_with_arguments", {"arg1", "arg2"}),
          prompt("test_prompt_with_embedded_resource", {"resourceUri"}),
          prompt("test_prompt_with_image", {}), prompt("test_input_required_result_prompt", {})};
}

Task<Answer> FixtureOffer::get_prompt(Call& call, std::string name, json::object arguments) {
  auto text = [&](std::string_view key) -> std::string {
    const json::value* value = arguments.if_contains(key);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  auto message = [](json::value content) -> json::value {
    return json::object{{"role", "user"}, {"content", std::move(content)}};
  };
  json::array messages;
  if (name == "test_simple_prompt") {
    messages.push_back(message(text_block("This is a simple prompt for testing.")));
  } else if (name == "test_prompt_with_arguments") {
    messages.push_back(message(text_block(
        fmt::format("Prompt with arguments: arg1='{}', arg2='{}'", text("arg1"), text("arg2")))));
  } else if (name == "test_prompt_with_embedded_resource") {
    messages.push_back(message(json::object{
        {"type", "resource"},
        {"resource", json::object{{"uri", text("resourceUri")},
                                  {"mimeType", "text/plain"},
                                  {"text", "Embedded resource content for testing."}}}}));
    messages.push_back(message(text_block("Please process the embedded resource above.")));
  } else if (name == "test_prompt_with_image") {
    messages.push_back(
        message(json::object{{"type", "image"}, {"data", kPicture}, {"mimeType", "image/png"}}));
    messages.push_back(message(text_block("Please analyze the image above.")));
  } else if (name == "test_input_required_result_prompt") {
    co_return input_required_prompt(call);
  } else {
    co_return RpcError{Code::kInvalidParams, "no such prompt", nullptr};
  }
  co_return json::object{{"messages", std::move(messages)}};
}

Answer FixtureOffer::complete(Call&) {
  return json::object{
      {"completion",
       json::object{{"values", json::array{"paris", "park"}}, {"total", 2}, {"hasMore", false}}}};
}

}  // namespace caisson::mcp

namespace caisson::mcp {
namespace {

// The product's own server instead, with the program at `caisson` to make its cells.
std::unique_ptr<Service> product(Loop& loop, std::string caisson, std::string folder) {
  auto make = [caisson, folder](Loop& on) {
    session::SessionHostOptions options;
    options.caisson = caisson;
    options.state_folder = folder + "/state";
    options.home = folder + "/home";
    options.environment = {std::string("PATH=") + ::getenv("PATH"), "HOME=" + folder + "/home",
                           "XDG_STATE_HOME=" + folder + "/state"};
    options.autosave = std::chrono::seconds(0);
    return session::SessionHost::make(on, std::move(options));
  };
  return std::make_unique<Service>(loop, make, session::SessionSpec{},
                                   RlmPlaces{folder + "/project", folder + "/home"});
}

}  // namespace
}  // namespace caisson::mcp

// Without words, the fixtures; with a program and a folder, the product.
int main(int argc, char** argv) {
  using namespace caisson;
  Loop loop{1};
  mcp::FixtureOffer offer;
  mcp::Server server(loop, offer);
  offer.server = &server;
  mcp::HttpEndpoint endpoint(server, nullptr);
  std::unique_ptr<mcp::Service> service;
  if (argc == 3) service = mcp::product(loop, argv[1], argv[2]);
  http::ServerOptions options;
  options.admit = [](const http::Request&) {
    return http::Admission{std::nullopt, mcp::kMaxFrame};
  };
  options.handle = [&](http::Request& request, http::Reply& reply) {
    return service ? service->handle(request, reply) : endpoint.handle(request, reply);
  };
  http::Server listener(loop, std::move(options));
  Result<UniqueFd> socket = http::listen_loopback({});
  if (!socket) {
    ::fprintf(stderr, "%s\n", socket.error().what.c_str());
    return 1;
  }
  ::printf("%d\n", int{*http::port_of(socket->get())});
  ::fflush(stdout);
  listener.serve(std::move(*socket));
  loop.run();
  return 0;
}
