#include <time.h>

#include <fmt/format.h>

#include "http/server.h"

namespace caisson::http {
namespace {

constexpr size_t kLargestPiece = 256 * 1024;  // of a write that one deadline is kept for

// RFC 9110's date; strftime would bring the locale in.
std::string http_date() {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  time_t now = ::time(nullptr);
  tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday,
                     kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace

Reply::Reply(Stream& stream, const Request& request, Clock::time_point& due,
             std::chrono::seconds write_time)
    : stream_(stream),
      due_(due),
      write_time_(write_time),
      head_only_(request.method == "HEAD"),
      chunked_(request.minor == 1) {}

std::string Reply::head_of(const Response& response, std::string_view framing) const {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                                 reason_of(response.status), http_date());
  for (const Field& field : response.fields)
    fmt::format_to(std::back_inserter(head), "{}: {}\r\n", field.name, field.value);
  // Answers hold what code in a cell said: no cache keeps it, no browser guesses at its type.
  head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  head += framing;
  head += keep_alive ? (chunked_ ? "\r\n" : "Connection: keep-alive\r\n\r\n")
                     : "Connection: close\r\n\r\n";
  return head;
}

Task<Result<void>> Reply::put(std::string_view bytes) {
  Result<void> done;
  for (size_t at = 0; at < bytes.size() && done.ok(); at += kLargestPiece) {
    due_ = Clock::now() + write_time_;
    done = co_await stream_.write(bytes.substr(at, kLargestPiece));
  }
  due_ = Clock::time_point::max();
  if (!done.ok()) failed_ = true;
  co_return done;
}

Task<Result<void>> Reply::send(Response response) {
  if (begun_) co_return Error::plain("an answer was begun already");
  begun_ = whole_ = true;
  bool bodiless = response.status == 204 || response.status < 200;
  std::string framing =
      bodiless ? std::string() : fmt::format("Content-Length: {}\r\n", response.body.size());
  std::string bytes = head_of(response, framing);
  if (!head_only_ && !bodiless) bytes += response.body;
  co_return co_await put(bytes);
}

Task<Result<void>> Reply::begin(Response head) {
  if (begun_) co_return Error::plain("an answer was begun already");
  begun_ = true;
  if (!chunked_) keep_alive = false;
  std::string bytes = head_of(head, chunked_ ? "Transfer-Encoding: chunked\r\n" : "");
  co_return co_await put(bytes);
}

Task<Result<void>> Reply::write(std::string_view bytes) {
  if (failed_) co_return Error::plain("the client is gone");
  // An empty chunk would be the last one.
  if (bytes.empty() || head_only_) co_return Result<void>();
  if (!chunked_) co_return co_await put(bytes);
  std::string chunk = fmt::format("{:x}\r\n", bytes.size());
  chunk += bytes;
  chunk += "\r\n";
  co_return co_await put(chunk);
}

Task<Result<void>> Reply::finish() {
  if (whole_) co_return Result<void>();
  whole_ = true;
  if (!chunked_ || head_only_) co_return Result<void>();
  co_return co_await put("0\r\n\r\n");
}

}  // namespace caisson::http
