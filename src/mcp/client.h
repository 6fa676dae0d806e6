// Who is at the other end, and the way back to it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "http/stream.h"
#include "mcp/protocol.h"

namespace caisson::mcp {

class Call;

// Where the messages of a request go. For stdio all go to one pipe; over HTTP each request has a
// stream of its own.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void notify(std::string message) = 0;  // a notification, or a request of ours
  virtual void respond(std::string message, std::optional<Code> error) = 0;
  virtual void abandon() {}  // instead of respond(): the request was cancelled
  // More waits here than a client that reads would leave: what can be spared is not sent.
  virtual bool congested() const { return false; }
};

// A request of ours (legacy only) that waits for its answer.
struct Question {
  explicit Question(Loop& loop) : bell(loop) {}
  http::Bell bell;
  std::optional<std::variant<json::value, RpcError>> answer;
};

// One peer: the pipe of stdio, a session over HTTP, or (modern) a single request over HTTP.
struct Client {
  // Namespace of its sessions: nobody with another scope can name them. "" until the first call.
  std::string scope;
  std::string notice;  // told with the next result
  // Whether a call that names no session means the same one every time. Without `initialize` and
  // without a pipe there is nothing to tell two clients apart, so the answer names a new one.
  bool has_default_session = true;
  std::optional<Era> only;  // over HTTP the transport knows

  std::string version;        // agreed by `initialize`; "" before
  json::object capabilities;  // told by `initialize`
  LogLevel log_level = LogLevel::kInfo;
  std::set<std::string> watched;   // resources, by `resources/subscribe`
  std::shared_ptr<Outlet> outlet;  // for what belongs to no request; may be null

  std::map<std::string, std::shared_ptr<Call>> running;    // by id_key()
  std::map<std::string, std::shared_ptr<Question>> asked;  // by id_key()
  uint64_t questions = 0;
};

}  // namespace caisson::mcp
