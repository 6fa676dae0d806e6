// An HTTP/1.1 server for this machine: strict, bounded, one thread. It reads a request whole, asks
// whether it may come in before it reads its body, and hands it to one handler; answers are sent
// whole or as a stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/message.h"
#include "http/stream.h"
#include "loop/task.h"

namespace caisson::http {

inline constexpr uint64_t kDefaultBodyLimit = 1 << 20;

// What a request's head decides: an answer at once, or how large its body may be.
struct Admission {
  std::optional<Response> refusal;
  uint64_t body_limit = kDefaultBodyLimit;
  bool into_memory = false;  // a large one: see Request::memory
};

// The way back to the client: exactly one of send(), or begin() … finish().
class Reply {
 public:
  // `due`: until when the client must take what is being written; set while it is.
  Reply(Stream& stream, const Request& request, Clock::time_point& due,
        std::chrono::seconds write_time);

  Task<Result<void>> send(Response response);
  // A body of unknown length (server-sent events): chunked, or until the end for HTTP/1.0.
  Task<Result<void>> begin(Response head);
  Task<Result<void>> write(std::string_view bytes);
  Task<Result<void>> finish();

  // Called once if the client ends its side while the handler runs. Nothing is called when the
  // handler is done.
  void on_gone(std::function<void()> gone) { stream_.watch(std::move(gone)); }

  bool begun() const { return begun_; }
  bool failed() const { return failed_; }
  bool whole() const { return whole_; }
  bool keep_alive = true;  // what the answer says about the connection

 private:
  std::string head_of(const Response& response, std::string_view framing) const;
  Task<Result<void>> put(std::string_view bytes);

  Stream& stream_;
  Clock::time_point& due_;
  std::chrono::seconds write_time_;
  bool head_only_, chunked_;
  bool begun_ = false, whole_ = false, failed_ = false;
};

struct ServerOptions {
  // On the head alone, before a byte of the body is read. Authorization belongs here.
  std::function<Admission(const Request&)> admit;
  std::function<Task<>(Request&, Reply&)> handle;
  std::chrono::seconds head_time{10};   // from the first byte of a head to its last
  std::chrono::seconds idle_time{120};  // between requests
  std::chrono::seconds body_time{60};   // without a byte of the body
  std::chrono::seconds write_time{60};  // without the client taking a byte
  size_t max_connections = 256;
  // Of all bodies at a time, beyond what each has free (body_room.h). A larger one goes alone.
  uint64_t most_bodies = uint64_t{1} << 30;
  bool check_host = true;  // Host and Origin name this machine's loopback (DNS rebinding)
};

struct ServerCounts {
  uint64_t connections = 0, turned_away = 0, requests = 0, refused = 0;
  size_t open = 0;
};

class Server {
 public:
  Server(Loop& loop, ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // stop()

  // Accepts on this listener (TCP or unix) until stop(). May be called for several.
  void serve(UniqueFd listener);
  // No new connections; those that are open end at once.
  void stop();
  ServerCounts counts() const;

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;  // connections may outlive the server by one turn of the loop
};

}  // namespace caisson::http
