// A stream of bytes to a peer: plain TCP, or TLS over it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gateway/socket.h"
#include "loop/task.h"

namespace caisson {

class Stream {
 public:
  virtual ~Stream() = default;

  Moved try_read(std::span<uint8_t> into);
  virtual Moved try_write(std::span<const uint8_t> bytes, Then then = Then::kDone) = 0;
  Task<int> wait_read();
  // The same, and ETIMEDOUT when nothing came for so long.
  Task<int> wait_read_within(std::chrono::milliseconds time);
  virtual Task<int> wait_write() = 0;
  // Ends our side; the peer may go on sending.
  virtual Task<int> finish() = 0;
  virtual Socket& socket() = 0;
  // The bytes on the wire are the stream's bytes: the kernel may move them from socket to socket.
  virtual bool is_plain() const = 0;

  Task<Moved> read(std::span<uint8_t> into);
  Task<int> write(std::span<const uint8_t> bytes, Then then = Then::kDone);  // all of them
  Task<int> write(std::string_view text);

  // Puts bytes back that were looked at: they are read first.
  void unread(std::string_view bytes);
  bool has_unread() const { return !unread_.empty(); }

 protected:
  virtual Moved read_some(std::span<uint8_t> into) = 0;
  virtual Task<int> wait_for_bytes() = 0;

 private:
  std::vector<uint8_t> unread_;
  size_t unread_at_ = 0;
};

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  Moved try_write(std::span<const uint8_t> bytes, Then then) override {
    return socket_.try_write(bytes, then);
  }
  Task<int> wait_write() override { return socket_.writable(); }
  Task<int> finish() override;
  Socket& socket() override { return socket_; }
  bool is_plain() const override { return true; }

 protected:
  Moved read_some(std::span<uint8_t> into) override { return socket_.try_read(into); }
  Task<int> wait_for_bytes() override { return socket_.readable(); }

 private:
  Socket socket_;
};

}  // namespace caisson
