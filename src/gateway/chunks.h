// The chunked transfer coding, read strictly and written anew. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

class ChunkDecoder {
 public:
  struct Step {
    size_t used = 0;         // bytes to drop from the front
    std::string_view piece;  // of the body, within those bytes; may be empty
    bool done = false;       // the body has ended, trailers and all
    bool bad = false;
  };
  // The next step from everything at hand. Nothing used: more bytes are needed.
  Step next(std::string_view bytes);

 private:
  static constexpr size_t kMaxLine = 4096;       // a size with its extensions, or a trailer
  static constexpr size_t kMaxTrailers = 16384;  // they are read and dropped

  enum class State { kSize, kData, kDataEnd, kTrailer };
  Step size_line(std::string_view bytes);
  Step trailer_line(std::string_view bytes);

  State state_ = State::kSize;
  uint64_t left_ = 0;
  size_t trailers_ = 0;
};

// What goes before and behind the data of one chunk.
std::string chunk_start(size_t size);
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace caisson
