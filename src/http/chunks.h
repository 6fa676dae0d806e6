// The chunked transfer coding of a request, read strictly into bounded memory. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::http {

class ChunkReader {
 public:
  explicit ChunkReader(uint64_t limit) : limit_(limit) {}

  enum class State { kSize, kData, kDataEnd, kTrailer, kDone, kBad, kTooLarge };
  // Takes what it can off the front of `bytes` and adds the body's part to `body`. Returns how many
  // bytes were taken: what is behind the last one belongs to the next request.
  size_t feed(std::string_view bytes, std::string& body);
  State state() const { return state_; }
  bool ended() const { return state_ >= State::kDone; }

 private:
  // Extensions mean nothing here, and readers differ on where they end: a size stands alone.
  static constexpr size_t kMaxSizeLine = 18;
  static constexpr size_t kMaxTrailers = 8192;

  size_t size_line(std::string_view bytes);
  size_t trailer_line(std::string_view bytes);
  size_t fail(State state = State::kBad) {
    state_ = state;
    return 0;
  }

  State state_ = State::kSize;
  uint64_t left_ = 0, limit_;
  size_t trailers_ = 0;
};

}  // namespace caisson::http
