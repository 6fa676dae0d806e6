// A blocking client for one server: the command line's side of a unix socket.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/message.h"

namespace caisson::http {

class Client {
 public:
  // An Error's errnum is connect(2)'s: ENOENT and ECONNREFUSED say that nobody listens.
  static Result<Client> connect_unix(const std::string& path);

  struct Order {
    std::string method, target;
    std::vector<Field> fields = {};
    std::string_view body = {};
    int file = -1;                           // the body instead, from where it stands to its end
    std::optional<uint64_t> file_size = {};  // of what is no pipe
  };
  // The body piece by piece as it comes, instead of in the Response; false ends it.
  using Piece = std::function<bool(std::string_view)>;
  Result<Response> ask(const Order& order, const Piece& piece = {});

  int fd() const { return fd_.get(); }
  // Called when a signal wakes a read; false gives up.
  std::function<bool()> on_signal;

 private:
  explicit Client(UniqueFd fd) : fd_(std::move(fd)) {}
  Result<void> send(const Order& order);
  Result<void> put(std::string_view bytes);
  Result<void> put_file(int file, std::optional<uint64_t> size);
  Result<size_t> more();  // into buffer_; 0 at the end
  Result<Response> read_head();
  Result<void> read_body(Response& response, const Piece& piece);
  Result<void> read_chunks(Response& response, const Piece& piece);

  UniqueFd fd_;
  std::string buffer_;
};

}  // namespace caisson::http
