// Streamable HTTP: one path that takes POST, and for the legacy era GET and DELETE, too. Whoever
// mounts it has seen to Host, Origin and the token before.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "http/server.h"
#include "mcp/http_headers.h"
#include "mcp/server.h"

namespace caisson::mcp {

class HttpEndpoint {
 public:
  static constexpr size_t kMaxSessions = 64;  // of legacy clients
  static constexpr std::chrono::hours kIdle{1};

  // `ended`: a legacy client's session is over, and its scope with it.
  HttpEndpoint(Server& server, std::function<void(const std::string& scope)> ended)
      : server_(server), ended_(std::move(ended)) {}

  Task<> handle(http::Request& request, http::Reply& reply);

 private:
  struct Peer {
    std::shared_ptr<Client> client;
    http::Clock::time_point last;
    size_t streams = 0;  // open answers
  };
  class Stream;
  using PeerPointer = std::shared_ptr<Peer>;

  Task<> post(http::Request& request, http::Reply& reply);
  Task<> post_modern(http::Request& request, http::Reply& reply, Frame frame);
  Task<> post_legacy(http::Request& request, http::Reply& reply, Frame frame);
  Task<> open_stream(http::Request& request, http::Reply& reply);
  Task<> end_session(http::Request& request, http::Reply& reply);
  PeerPointer find(const http::Request& request);
  std::string admit(PeerPointer& peer);  // its id; "" when there is no room
  void drop(const std::string& id);

  Server& server_;
  std::function<void(const std::string&)> ended_;
  std::map<std::string, PeerPointer> peers_;  // by Mcp-Session-Id
};

}  // namespace caisson::mcp
