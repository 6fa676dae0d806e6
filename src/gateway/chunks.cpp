#include "gateway/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace caisson {
namespace {

constexpr ChunkDecoder::Step kBad{.bad = true};

// The line up to its CRLF; `bad` for one that is too long or ends otherwise.
std::string_view line_at(std::string_view bytes, size_t limit, bool& whole, bool& bad) {
  size_t end = bytes.substr(0, limit).find('\n');
  whole = end != bytes.npos;
  bad = whole ? end == 0 || bytes[end - 1] != '\r' : bytes.size() >= limit;
  if (!whole || bad) return {};
  std::string_view line = bytes.substr(0, end - 1);
  bad = std::ranges::any_of(line,
                            [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
  return line;
}

}  // namespace

ChunkDecoder::Step ChunkDecoder::size_line(std::string_view bytes) {
  bool whole = false, bad = false;
  std::string_view line = line_at(bytes, kMaxLine, whole, bad);
  if (bad) return kBad;
  if (!whole) return {};
  size_t used = line.size() + 2;
  std::string_view digits = line.substr(0, line.find(';'));
  // Some servers pad the size with blanks; nothing reads those as something else.
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  if (digits.empty() || digits.size() > 15) return kBad;
  auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
  if (failed != std::errc() || end != digits.data() + digits.size()) return kBad;
  state_ = left_ ? State::kData : State::kTrailer;
  return {.used = used};
}

ChunkDecoder::Step ChunkDecoder::trailer_line(std::string_view bytes) {
  bool whole = false, bad = false;
  std::string_view line = line_at(bytes, kMaxLine, whole, bad);
  if (bad) return kBad;
  if (!whole) return {};
  trailers_ += line.size() + 2;
  if (trailers_ > kMaxTrailers) return kBad;
  return {.used = line.size() + 2, .done = line.empty()};
}

ChunkDecoder::Step ChunkDecoder::next(std::string_view bytes) {
  switch (state_) {
    case State::kSize:
      return size_line(bytes);
    case State::kData: {
      size_t size = std::min<uint64_t>(left_, bytes.size());
      left_ -= size;
      if (left_ == 0) state_ = State::kDataEnd;
      return {.used = size, .piece = bytes.substr(0, size)};
    }
    case State::kDataEnd:
      if (bytes.size() < 2) return {};
      if (!bytes.starts_with("\r\n")) return kBad;
      state_ = State::kSize;
      return {.used = 2};
    case State::kTrailer:
      return trailer_line(bytes);
  }
  return kBad;
}

std::string chunk_start(size_t size) { return fmt::format("{:x}\r\n", size); }

}  // namespace caisson
