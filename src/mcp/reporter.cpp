#include "mcp/reporter.h"

#include <fmt/format.h>

#include "base/text.h"
#include "mcp/texts.h"

namespace caisson::mcp {

namespace {

constexpr size_t kMaxTail = 2000;  // bytes of partial output in one message
constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr auto kAliveEvery = std::chrono::seconds(5);

}  // namespace

void Reporter::wait() {
  if (!call_ || !call_->wants_progress()) return;
  waits_ = true;
  tell();
  keep_alive();
}

void Reporter::run() {
  if (!call_ || !call_->wants_progress()) return;
  waits_ = false;
  keep_alive();
}

void Reporter::output(std::string_view bytes) {
  if (!call_ || !call_->wants_progress()) return;
  tail_ += bytes;
  if (tail_.size() > kMaxTail) tail_.erase(0, tail_.size() - kMaxTail);
  if (http::Clock::now() - last_ >= kProgressEvery) tell();
}

void Reporter::keep_alive() {
  timer_.expires_after(kAliveEvery);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code stopped) {
    if (stopped || !self->call_) return;
    self->tell();
    self->keep_alive();
  });
}

void Reporter::end() {
  call_ = nullptr;
  timer_.cancel();
}

// The value never goes back (the protocol's rule): it counts from the call's arrival throughout.
void Reporter::tell() {
  last_ = http::Clock::now();
  double seconds = std::chrono::duration<double>(last_ - start_).count();
  std::string text = clean_utf8(tail_);
  if (text.empty())
    text =
        fmt::format("{} for {:.0f} s", waits_ ? "waits for an earlier call," : "running", seconds);
  tail_.clear();
  call_->progress(seconds, std::nullopt, text);
}

}  // namespace caisson::mcp
