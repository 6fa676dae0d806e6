// What the relay of HTTP/2 keeps of one request and its answer.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gateway/core.h"
#include "gateway/deadlines.h"
#include "gateway/http2_link.h"
#include "gateway/http_body.h"
#include "gateway/message_borders.h"

namespace caisson {

struct Exchange2 {
  int32_t upstream_id = -1;
  bool upstream_open = false;
  std::string method;
  std::optional<Substitution> substitution;
  std::optional<SubstitutionFilter> filter;
  std::optional<ResponseMask> mask;
  std::optional<GrpcBorders> up_borders, down_borders;  // of calls that are gRPC's
  Clock::time_point up_came, down_came;                 // when the last bytes did
  std::optional<Clock::time_point> sent_at;             // when the request had ended
  bool masks = false;
  bool answered = false;                  // the answer's head went to the client
  bool finished = false;                  // and its end
  size_t up_credit = 0, down_credit = 0;  // bytes that came and weren't told as taken

  // False: refused.
  bool filter_up(std::string_view bytes, std::string& out);
  void mask_down(std::string_view bytes, std::string& out);
  bool holds_up() const { return filter && upstream_open && filter->holds(); }
  bool holds_down() const { return mask && !finished && mask->holds(); }
};

// Whether it says that its body is messages of gRPC.
bool is_grpc(const HttpHead& head);

// A window that is larger than HTTP/2's own, as long as all of them together are bounded: a cell
// that opens a thousand connections and reads nothing must not fill the host's memory.
class WideWindow {
 public:
  static constexpr uint64_t kAll = 16 * 1024 * 1024;

  WideWindow(Core& core, uint32_t size) : core_(core) {
    if (core.http2_windows + size <= kAll) size_ = size;
    core.http2_windows += size_;
  }
  WideWindow(const WideWindow&) = delete;
  WideWindow& operator=(const WideWindow&) = delete;
  ~WideWindow() { core_.http2_windows -= size_; }
  uint32_t size() const { return std::max(size_, Http2Link::kLeastWindow); }

 private:
  Core& core_;
  uint32_t size_ = 0;
};

// What the host has sent and was not told as taken. A cell that doesn't read makes it wait for its
// windows: of a stream or, by what it leaves unread of others, of the whole connection.
class OwedToHost {
 public:
  explicit OwedToHost(uint32_t window) : window_(window) {}
  void add(Exchange2& exchange, size_t bytes) {
    exchange.down_credit += bytes;
    all_ += bytes;
  }
  size_t pay(Exchange2& exchange);  // how much
  // The last time that is known of, up to `now`.
  Clock::time_point host_was_held_up(const Exchange2& exchange, Clock::time_point now) const {
    return holds_up(exchange) ? now : last_;
  }

 private:
  // It is told of taken bytes when they are half a window: while less than a quarter is owed, it
  // has a quarter to send, and does not wait.
  bool holds_up(const Exchange2& exchange) const {
    uint32_t one = std::min(window_, Http2Link::kStreamWindow);
    return all_ >= window_ / 4 || exchange.down_credit >= one / 4;
  }

  uint32_t window_;
  size_t all_ = 0;
  Clock::time_point last_;
};

// Calls a function at the earliest of the times that were asked for. Armed only while there is one.
class HeldTimer {
 public:
  HeldTimer(Loop& loop, std::function<void()> look)
      : timer_(loop.get_executor()), look_(std::move(look)) {}
  void look_at(Clock::time_point when);

 private:
  Timer timer_;
  std::function<void()> look_;
  Clock::time_point next_ = Clock::time_point::max();
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // a call may be under way
};

}  // namespace caisson
