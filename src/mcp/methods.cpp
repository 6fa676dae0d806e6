// The methods of both eras, as one table, and what each of them does.
#include <fmt/format.h>

#include "mcp/server.h"

namespace caisson::mcp {

namespace {

constexpr unsigned kOld = 1, kNew = 2;

// The string at `key`, or an error that names it.
std::variant<std::string, RpcError> text_at(const json::object& params, std::string_view key) {
  const json::value* value = params.if_contains(key);
  if (value && value->is_string()) return std::string(value->get_string());
  return RpcError{Code::kInvalidParams, fmt::format("\"{}\" must be a string", key), nullptr};
}

std::variant<json::object, RpcError> arguments_of(const json::object& params) {
  const json::value* value = params.if_contains("arguments");
  if (!value || value->is_null()) return json::object{};
  if (value->is_object()) return value->get_object();
  return RpcError{Code::kInvalidParams, "\"arguments\" must be an object", nullptr};
}

}  // namespace

struct Server::Method {
  std::string_view name;
  unsigned eras;
  bool before_initialize;  // of the legacy era
  Handler handler;
};

const Server::Method Server::kMethods[] = {
    {"initialize", kOld, true, &Server::initialize},
    {"ping", kOld, true, &Server::ping},
    {"server/discover", kNew, false, &Server::discover},
    {"tools/list", kOld | kNew, false, &Server::list_tools},
    {"tools/call", kOld | kNew, false, &Server::call_tool},
    {"resources/list", kOld | kNew, false, &Server::list_resources},
    {"resources/templates/list", kOld | kNew, false, &Server::list_templates},
    {"resources/read", kOld | kNew, false, &Server::read_resource},
    {"resources/subscribe", kOld, false, &Server::subscribe},
    {"resources/unsubscribe", kOld, false, &Server::unsubscribe},
    {"prompts/list", kOld | kNew, false, &Server::list_prompts},
    {"prompts/get", kOld | kNew, false, &Server::get_prompt},
    {"completion/complete", kOld | kNew, false, &Server::complete},
    {"logging/setLevel", kOld, false, &Server::set_level},
    {"subscriptions/listen", kNew, false, &Server::listen},
};

// Which dialect the request speaks, and whether it speaks it rightly.
std::optional<RpcError> Server::judge(Call& call) const {
  const Client& client = call.client();
  bool modern =
      client.only ? *client.only == Era::kModern : looks_modern(call.method(), call.params());
  if (!modern) {
    call.version = client.version;
    call.capabilities = client.capabilities;
    return std::nullopt;
  }
  call.era = Era::kModern;
  call.version = kModernVersion;
  auto meta = read_meta(call.params());
  if (RpcError* error = std::get_if<RpcError>(&meta)) return std::move(*error);
  RequestMeta& told = std::get<RequestMeta>(meta);
  call.capabilities = std::move(told.capabilities);
  call.log_level = told.log_level;
  return std::nullopt;
}

void Server::start(const std::shared_ptr<Client>& client, Message message,
                   const std::shared_ptr<Outlet>& outlet) {
  auto call = std::make_shared<Call>(loop_, client, outlet, std::move(message));
  auto refuse = [&](Code code, std::string text) {
    call->respond(RpcError{code, std::move(text), nullptr});
  };
  if (client->running.contains(id_key(call->id())))
    return refuse(Code::kInvalidRequest, "a request with this id is still running");
  if (client->running.size() >= kMaxRunning)
    return refuse(Code::kInternal, "64 requests are running already; wait for one of them");
  if (auto error = judge(*call)) return call->respond(std::move(*error));
  unsigned era = call->era == Era::kModern ? kNew : kOld;
  for (const Method& method : kMethods) {
    if (method.name != call->method() || !(method.eras & era)) continue;
    if (era == kOld && client->version.empty() && !method.before_initialize)
      return refuse(Code::kInvalidRequest,
                    "send `initialize` first, or the _meta that 2026-07-28 asks for");
    return (this->*method.handler)(call);
  }
  refuse(Code::kMethodNotFound, fmt::format("no method \"{}\"", call->method()));
}

void Server::initialize(const std::shared_ptr<Call>& call) {
  auto asked = text_at(call->params(), "protocolVersion");
  if (RpcError* error = std::get_if<RpcError>(&asked)) return call->respond(std::move(*error));
  Client& client = call->client();
  // A second `initialize` would change the rules under requests that run.
  if (!client.version.empty())
    return call->respond(
        RpcError{Code::kInvalidRequest, "initialize came already on this connection", nullptr});
  client.version = negotiate(std::get<std::string>(asked));
  if (const json::value* told = call->params().if_contains("capabilities");
      told && told->is_object())
    client.capabilities = told->get_object();
  call->respond(json::object{{"protocolVersion", client.version},
                             {"capabilities", offer_.capabilities(Era::kLegacy)},
                             {"serverInfo", offer_.info()},
                             {"instructions", offer_.instructions()}});
}

void Server::discover(const std::shared_ptr<Call>& call) {
  finish(call,
         json::object{{"supportedVersions", json::array{kModernVersion}},
                      {"capabilities", offer_.capabilities(Era::kModern)},
                      {"instructions", offer_.instructions()}},
         Caching::kPublic);
}

void Server::ping(const std::shared_ptr<Call>& call) { call->respond(json::object{}); }

void Server::set_level(const std::shared_ptr<Call>& call) {
  auto name = text_at(call->params(), "level");
  if (RpcError* error = std::get_if<RpcError>(&name)) return call->respond(std::move(*error));
  std::optional<LogLevel> level = parse_level(std::get<std::string>(name));
  if (!level) return call->respond(RpcError{Code::kInvalidParams, "not a log level", nullptr});
  call->client().log_level = *level;
  call->respond(json::object{});
}

void Server::list(const std::shared_ptr<Call>& call, std::string_view key, json::array all,
                  Caching caching) {
  auto page = page_of(std::move(all), call->params());
  if (RpcError* error = std::get_if<RpcError>(&page))
    return finish(call, std::move(*error), caching);
  Page& found = std::get<Page>(page);
  json::object result{{key, std::move(found.items)}};
  if (!found.next.empty()) result["nextCursor"] = found.next;
  finish(call, std::move(result), caching);
}

void Server::list_tools(const std::shared_ptr<Call>& call) {
  list(call, "tools", offer_.tools(), Caching::kPublic);
}
void Server::list_resources(const std::shared_ptr<Call>& call) {
  list(call, "resources", offer_.resources(*call), Caching::kPrivate);
}
void Server::list_templates(const std::shared_ptr<Call>& call) {
  list(call, "resourceTemplates", offer_.templates(), Caching::kPublic);
}
void Server::list_prompts(const std::shared_ptr<Call>& call) {
  list(call, "prompts", offer_.prompts(), Caching::kPublic);
}

void Server::call_tool(const std::shared_ptr<Call>& call) {
  auto name = text_at(call->params(), "name");
  if (RpcError* error = std::get_if<RpcError>(&name)) return call->respond(std::move(*error));
  auto arguments = arguments_of(call->params());
  if (RpcError* error = std::get_if<RpcError>(&arguments)) return call->respond(std::move(*error));
  call->client().running[id_key(call->id())] = call;
  run(call,
      offer_.call_tool(*call, std::move(std::get<std::string>(name)),
                       std::move(std::get<json::object>(arguments))),
      Caching::kNone);
}

void Server::read_resource(const std::shared_ptr<Call>& call) {
  auto uri = text_at(call->params(), "uri");
  if (RpcError* error = std::get_if<RpcError>(&uri)) return call->respond(std::move(*error));
  call->client().running[id_key(call->id())] = call;
  run(call, offer_.read_resource(*call, std::move(std::get<std::string>(uri))), Caching::kPrivate);
}

void Server::get_prompt(const std::shared_ptr<Call>& call) {
  auto name = text_at(call->params(), "name");
  if (RpcError* error = std::get_if<RpcError>(&name)) return call->respond(std::move(*error));
  auto arguments = arguments_of(call->params());
  if (RpcError* error = std::get_if<RpcError>(&arguments)) return call->respond(std::move(*error));
  call->client().running[id_key(call->id())] = call;
  run(call,
      offer_.get_prompt(*call, std::move(std::get<std::string>(name)),
                        std::move(std::get<json::object>(arguments))),
      Caching::kNone);
}

void Server::complete(const std::shared_ptr<Call>& call) {
  finish(call, offer_.complete(*call), Caching::kNone);
}

}  // namespace caisson::mcp
