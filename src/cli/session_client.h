// The command line's way to a server: the one that runs, or one that is started for it.
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"
#include "http/client.h"
#include "policy/caller.h"

namespace caisson {

class SessionClient {
 public:
  // `socket`: empty is the usual place. With `start`, a server is started in the background when
  // none runs there.
  enum class Start { kYes, kNo };
  static Result<SessionClient> open(const Caller& caller, std::string socket, Start start);

  // A refusal of the server is an Error with its words; errnum is the HTTP status.
  Result<boost::json::value> json(const std::string& method, const std::string& target,
                                  const boost::json::value* body = nullptr);
  Result<boost::json::value> bytes(const std::string& method, const std::string& target,
                                   const std::string& type, std::string_view body);
  // All that there is to read, of any size.
  Result<boost::json::value> file(const std::string& method, const std::string& target,
                                  const std::string& type, int fd);
  // Server-sent events, each as it comes.
  using Event = std::function<void(std::string_view name, const boost::json::object& data)>;
  Result<void> events(const std::string& target, const boost::json::value& body,
                      const Event& event);

  http::Client& http() { return client_; }
  const std::string& socket() const { return socket_; }

 private:
  SessionClient(http::Client client, std::string socket)
      : client_(std::move(client)), socket_(std::move(socket)) {}
  Result<boost::json::value> ask(const http::Client::Order& order);

  http::Client client_;
  std::string socket_;
};

// "/v1/sessions/NAME/rest" with the name escaped.
std::string session_target(std::string_view name, std::string_view rest = {});

}  // namespace caisson
