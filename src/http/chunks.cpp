#include "http/chunks.h"

#include <algorithm>
#include <charconv>

namespace caisson::http {

size_t ChunkReader::size_line(std::string_view bytes) {
  size_t end = bytes.substr(0, kMaxSizeLine).find('\n');
  if (end == bytes.npos) return bytes.size() >= kMaxSizeLine ? fail() : 0;
  if (end < 2 || bytes[end - 1] != '\r') return fail();
  auto [stop, failed] = std::from_chars(bytes.data(), bytes.data() + end - 1, left_, 16);
  if (failed != std::errc() || stop != bytes.data() + end - 1) return fail();
  if (left_ > limit_) return fail(State::kTooLarge);
  limit_ -= left_;
  state_ = left_ ? State::kData : State::kTrailer;
  return end + 1;
}

size_t ChunkReader::trailer_line(std::string_view bytes) {
  size_t end = bytes.find('\n');
  if (end == bytes.npos) return bytes.size() > kMaxTrailers ? fail() : 0;
  if (end == 0 || bytes[end - 1] != '\r') return fail();
  trailers_ += end + 1;
  if (trailers_ > kMaxTrailers) return fail();
  if (end == 1) state_ = State::kDone;
  return end + 1;
}

size_t ChunkReader::feed(std::string_view bytes, std::string& body) {
  size_t used = 0;
  while (!ended()) {
    std::string_view rest = bytes.substr(used);
    size_t step = 0;
    if (state_ == State::kSize) {
      step = size_line(rest);
    } else if (state_ == State::kTrailer) {
      step = trailer_line(rest);
    } else if (state_ == State::kData) {
      step = std::min<uint64_t>(left_, rest.size());
      body.append(rest.substr(0, step));
      left_ -= step;
      if (left_ == 0) state_ = State::kDataEnd;
    } else if (rest.size() >= 2) {
      step = rest.starts_with("\r\n") ? 2 : fail();
      if (step) state_ = State::kSize;
    }
    if (step == 0) break;
    used += step;
  }
  return used;
}

}  // namespace caisson::http
