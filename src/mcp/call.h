// One request while it is served: what it may do besides its answer.
#pragma once

#include <functional>
#include <memory>

#include "mcp/client.h"
#include "mcp/offer.h"

namespace caisson::mcp {

class Call {
 public:
  Call(Loop& loop, std::shared_ptr<Client> client, std::shared_ptr<Outlet> outlet, Message message);

  Loop& loop() const { return loop_; }
  Client& client() const { return *client_; }
  const json::value& id() const { return message_.id; }
  const std::string& method() const { return message_.method; }
  const json::object& params() const { return message_.params; }

  Era era = Era::kLegacy;
  std::string version;        // that the request is served by
  json::object capabilities;  // of the client
  std::optional<LogLevel> log_level;
  std::optional<json::object> filter;  // of subscriptions/listen: what it hears of

  bool wants_progress() const { return !token_.is_null(); }
  // Kept within a rate, and never backwards (the protocol's rule).
  void progress(double value, std::optional<double> total, std::string_view message);
  void log(LogLevel level, std::string_view logger, json::value data);
  void notify(std::string_view method, json::object params);

  // Asks the client (legacy) and waits for its answer.
  Task<std::variant<json::value, RpcError>> ask(std::string_view method, json::object params);

  // `stop` is called once, when the client cancels or goes; at once if it has already.
  void on_cancel(std::function<void()> stop);
  void cancel();
  bool cancelled() const { return cancelled_; }

  // The one answer. After a cancellation nothing is sent.
  void respond(Answer answer);
  bool answered() const { return answered_; }

 private:
  Loop& loop_;
  std::shared_ptr<Client> client_;
  std::shared_ptr<Outlet> outlet_;
  Message message_;
  json::value token_;
  double last_progress_ = -1;
  std::function<void()> stop_;
  bool cancelled_ = false, answered_ = false;
};

}  // namespace caisson::mcp
