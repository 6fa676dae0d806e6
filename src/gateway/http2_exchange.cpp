#include "gateway/http2_exchange.h"

namespace caisson {

bool Exchange2::filter_up(std::string_view bytes, std::string& out) {
  auto feed = [&](std::string_view piece) { return filter->feed(piece, out); };
  auto finish = [&] { return filter->finish(out); };
  return up_borders ? feed_messages(*up_borders, bytes, feed, finish) : feed(bytes);
}

void Exchange2::mask_down(std::string_view bytes, std::string& out) {
  auto feed = [&](std::string_view piece) {
    mask->body(piece, out);
    return true;
  };
  auto finish = [&] {
    mask->finish_body(out);
    return true;
  };
  if (down_borders)
    feed_messages(*down_borders, bytes, feed, finish);
  else
    feed(bytes);
}

bool is_grpc(const HttpHead& head) {
  constexpr std::string_view kType = "application/grpc";
  const std::string* type = head.find("content-type");
  return type && same_text(std::string_view(*type).substr(0, kType.size()), kType);
}

size_t OwedToHost::pay(Exchange2& exchange) {
  if (holds_up(exchange)) last_ = Clock::now();
  all_ -= exchange.down_credit;
  return std::exchange(exchange.down_credit, 0);
}

void HeldTimer::look_at(Clock::time_point when) {
  if (when >= next_) return;
  next_ = when;
  timer_.expires_at(when);
  std::weak_ptr<char> alive = alive_;
  timer_.async_wait([this, alive](boost::system::error_code cancelled) {
    if (cancelled || alive.expired()) return;
    next_ = Clock::time_point::max();
    look_();
  });
}

}  // namespace caisson
