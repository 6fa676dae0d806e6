#include "gateway/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/scope_exit.h"
#include "gateway/deadlines.h"

namespace caisson {

Moved Stream::try_read(std::span<uint8_t> into) {
  if (unread_.empty()) return read_some(into);
  size_t size = std::min(into.size(), unread_.size() - unread_at_);
  std::memcpy(into.data(), unread_.data() + unread_at_, size);
  unread_at_ += size;
  if (unread_at_ == unread_.size()) {
    unread_ = std::vector<uint8_t>();  // `= {}` would keep the memory
    unread_at_ = 0;
  }
  return {size, 0};
}

Task<int> Stream::wait_read() {
  if (!unread_.empty()) co_return 0;
  co_return co_await wait_for_bytes();
}

Task<int> Stream::wait_read_within(std::chrono::milliseconds time) {
  // Shared with the timer, whose function may be under way already when the wait is over.
  struct Wait {
    Socket* socket;
    bool over = false;
  };
  auto wait = std::make_shared<Wait>(Wait{&socket()});
  ScopeExit done([&wait] { wait->socket = nullptr; });
  socket().reader_may_be_woken();
  Timer timer(socket().executor(), time);
  timer.async_wait([wait](boost::system::error_code cancelled) {
    if (cancelled || !wait->socket) return;
    wait->over = true;
    wait->socket->wake_reader();
  });
  int error = co_await wait_read();
  co_return error && wait->over ? ETIMEDOUT : error;
}

Task<Moved> Stream::read(std::span<uint8_t> into) {
  for (;;) {
    Moved moved = try_read(into);
    if (!moved.would_block()) co_return moved;
    if (int error = co_await wait_read()) co_return Moved{0, error};
  }
}

Task<int> Stream::write(std::span<const uint8_t> bytes, Then then) {
  while (!bytes.empty()) {
    Moved moved = try_write(bytes, then);
    if (moved.would_block()) {
      if (int error = co_await wait_write()) co_return error;
      continue;
    }
    if (moved.error) co_return moved.error;
    bytes = bytes.subspan(moved.bytes);
  }
  co_return 0;
}

Task<int> Stream::write(std::string_view text) {
  return write(
      std::span<const uint8_t>{reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

void Stream::unread(std::string_view bytes) {
  std::vector<uint8_t> all(bytes.begin(), bytes.end());
  all.insert(all.end(), unread_.begin() + static_cast<ptrdiff_t>(unread_at_), unread_.end());
  unread_ = std::move(all);
  unread_at_ = 0;
}

Task<int> PlainStream::finish() { co_return socket_.shutdown_write(); }

}  // namespace caisson
