// Changes that clients want to hear of: by name and connection (legacy), by stream (modern).
#include <algorithm>

#include "mcp/server.h"

namespace caisson::mcp {

namespace {

constexpr size_t kMaxWatched = 256;  // resources of one client
constexpr std::string_view kFlags[] = {"toolsListChanged", "promptsListChanged",
                                       "resourcesListChanged"};

bool declares(const json::object& capabilities, std::string_view what, std::string_view flag) {
  const json::value* part = capabilities.if_contains(what);
  const json::value* set =
      part && part->is_object() ? part->get_object().if_contains(flag) : nullptr;
  return set && set->is_bool() && set->get_bool();
}

std::string_view subject_of(std::string_view flag) {
  return flag.substr(0, flag.find("ListChanged"));
}

// What was asked for, cut down to what is offered.
json::object granted(const json::object& asked, const json::object& capabilities) {
  json::object given;
  for (std::string_view flag : kFlags) {
    const json::value* wanted = asked.if_contains(flag);
    if (wanted && wanted->is_bool() && wanted->get_bool() &&
        declares(capabilities, subject_of(flag), "listChanged"))
      given[flag] = true;
  }
  const json::value* uris = asked.if_contains("resourceSubscriptions");
  if (uris && uris->is_array() && uris->get_array().size() <= kMaxWatched &&
      declares(capabilities, "resources", "subscribe"))
    given["resourceSubscriptions"] = *uris;
  return given;
}

bool wants(const json::object& filter, std::string_view flag, std::string_view uri) {
  if (uri.empty()) return filter.contains(flag);
  const json::value* uris = filter.if_contains("resourceSubscriptions");
  return uris && std::ranges::any_of(uris->get_array(), [uri](const json::value& one) {
           return one.is_string() && one.get_string() == uri;
         });
}

}  // namespace

void Server::subscribe(const std::shared_ptr<Call>& call) {
  const json::value* uri = call->params().if_contains("uri");
  if (!uri || !uri->is_string() || uri->get_string().size() > 1024)
    return call->respond(RpcError{Code::kInvalidParams, "\"uri\" must be a string", nullptr});
  if (!declares(offer_.capabilities(Era::kLegacy), "resources", "subscribe"))
    return call->respond(RpcError{Code::kMethodNotFound, "resources don't change here", nullptr});
  if (call->client().watched.size() >= kMaxWatched)
    return call->respond(
        RpcError{Code::kInvalidParams, "256 resources are watched already", nullptr});
  call->client().watched.insert(std::string(uri->get_string()));
  call->respond(json::object{});
}

void Server::unsubscribe(const std::shared_ptr<Call>& call) {
  const json::value* uri = call->params().if_contains("uri");
  if (!uri || !uri->is_string())
    return call->respond(RpcError{Code::kInvalidParams, "\"uri\" must be a string", nullptr});
  call->client().watched.erase(std::string(uri->get_string()));
  call->respond(json::object{});
}

// Stays open: its answer comes never, its end is the client's (a cancellation, a closed stream).
void Server::listen(const std::shared_ptr<Call>& call) {
  const json::value* asked = call->params().if_contains("notifications");
  if (!asked || !asked->is_object())
    return call->respond(
        RpcError{Code::kInvalidParams, "\"notifications\" must say what to listen for", nullptr});
  call->filter = granted(asked->get_object(), offer_.capabilities(Era::kModern));
  call->client().running[id_key(call->id())] = call;
  call->notify(
      "notifications/subscriptions/acknowledged",
      {{"_meta", json::object{{kMetaSubscription, call->id()}}}, {"notifications", *call->filter}});
}

void Server::tell(std::string_view flag, std::string_view uri, std::string_view method,
                  const json::object& params) {
  for (const std::weak_ptr<Client>& known : clients_) {
    std::shared_ptr<Client> client = known.lock();
    if (!client) continue;
    for (auto& [id, call] : client->running) {
      if (!call->filter || !wants(*call->filter, flag, uri)) continue;
      json::object tagged = params;
      tagged["_meta"] = json::object{{kMetaSubscription, call->id()}};
      call->notify(method, std::move(tagged));
    }
    bool legacy = !client->version.empty() && client->outlet;
    if (legacy && (uri.empty() || client->watched.contains(std::string(uri))))
      client->outlet->notify(notification_text(method, params));
  }
}

void Server::list_changed(std::string_view what) {
  tell(std::string(what) + "ListChanged", {},
       "notifications/" + std::string(what) + "/list_changed", {});
}

void Server::resource_updated(std::string_view uri) {
  tell({}, uri, "notifications/resources/updated", {{"uri", uri}});
}

}  // namespace caisson::mcp
