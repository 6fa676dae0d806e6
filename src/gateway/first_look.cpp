#include "gateway/first_look.h"

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gateway/pump.h"

namespace caisson {
namespace {
constexpr std::chrono::seconds kFirstTime{60};  // from the first byte to a decision
constexpr std::chrono::milliseconds kQuietTime{300};
constexpr size_t kReadSize = 16 * 1024;

// Servers of HTTP/2 send their SETTINGS without having heard anything, and yet their clients name a
// host: an empty-handed look at the frame's header (RFC 9113 4.1) tells them apart.
bool greets_in_http2(Stream& upstream) {
  std::array<uint8_t, 9> frame{};
  if (upstream.has_unread() || !upstream.is_plain()) return false;
  Moved got = upstream.socket().peek(frame);
  bool is_settings = frame[3] == 4 && frame[4] == 0;
  bool on_connection = !frame[5] && !frame[6] && !frame[7] && !frame[8];
  return got.bytes == frame.size() && frame[0] == 0 && frame[1] == 0 && is_settings &&
         on_connection;
}
}  // namespace

FirstLook::FirstLook(Core& core, Stream& client, Stream& upstream, HostSide host)
    : core_(core),
      client_(client),
      upstream_(upstream),
      host_(host),
      deadline_(core.deadlines, &client.socket()),
      host_done_(core.loop),
      quiet_done_(core.loop),
      quiet_timer_(core.loop.get_executor()) {}

void FirstLook::look() {
  sniffed_ = sniff({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()});
}

Task<> FirstLook::run() {
  if (host_ == HostSide::kMaySpeakFirst)
    spawn(core_.loop, watch_host());
  else
    host_done_.set();
  deadline_.after(kIdleTime);
  co_await collect();
  over_ = true;
  deadline_.none();
  upstream_.socket().cancel();
  quiet_timer_.cancel();
  co_await host_done_.wait();
  if (quiet_watched_) co_await quiet_done_.wait();
  client_.unread(std::string_view(bytes_).substr(leaked_));
  std::string().swap(bytes_);  // an assignment would keep the memory, as long as the connection
}

Task<> FirstLook::collect() {
  while (!decided()) {
    co_await take_bytes();
    if (!decided() && quiet_) co_await let_through();
  }
}

Task<> FirstLook::take_bytes() {
  std::span<uint8_t> scratch = std::span<uint8_t>(core_.pipes.scratch).first(kReadSize);
  Moved got = client_.try_read(scratch);
  if (got.would_block()) {
    co_await wait_for_bytes();
    co_return;
  }
  failed_ = got.error != 0;
  if (failed_) co_return;
  if (got.ended()) {
    sniffed_.kind = FirstBytes::kOpaque;  // it says no more; a tunnel passes its end on
    co_return;
  }
  if (bytes_.empty()) deadline_.after(kFirstTime);
  bytes_.append(reinterpret_cast<const char*>(scratch.data()), got.bytes);
  look();
}

Task<> FirstLook::wait_for_bytes() {
  if (!bytes_.empty() && !quiet_watched_ && host_ == HostSide::kMaySpeakFirst) {
    quiet_watched_ = true;
    spawn(core_.loop, watch_quiet());
  }
  int error = co_await client_.wait_read();
  // Cancelled by one of the watches, or for good.
  failed_ = error != 0 && !host_spoke_ && !quiet_;
}

Task<> FirstLook::let_through() {
  std::string_view more = std::string_view(bytes_).substr(leaked_);
  if (more.empty()) co_return;
  leaked_ = bytes_.size();
  failed_ = !core_.traffic.count(Way::kUp, more.size());
  if (failed_) co_return;
  int error = co_await upstream_.write(more);
  failed_ = error != 0;
}

Task<> FirstLook::watch_host() {
  int error = 0;
  if (!over_) error = co_await upstream_.wait_read();
  if (error == 0 && !over_ && !greets_in_http2(upstream_)) {
    host_spoke_ = true;
    client_.socket().cancel();
  }
  host_done_.set();
}

Task<> FirstLook::watch_quiet() {
  boost::system::error_code cancelled;
  quiet_timer_.expires_after(kQuietTime);
  if (!over_)
    co_await quiet_timer_.async_wait(boost::asio::redirect_error(
        boost::asio::use_awaitable_t<Loop::executor_type>{}, cancelled));
  if (!over_) {
    quiet_ = true;
    client_.socket().cancel();
  }
  quiet_done_.set();
}

}  // namespace caisson
