#include "gateway/http_reader.h"

#include <algorithm>
#include <cerrno>

namespace caisson {
namespace {
constexpr size_t kFill = 16 * 1024;
constexpr size_t kMaxBlankBytes = 8;  // empty lines before a request, as RFC 9112 2.2 bids us skip
}  // namespace

// Through the scratch, so that no connection holds a buffer while it waits.
Task<> HttpReader::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  while (state_ == State::kOpen) {
    std::span<uint8_t> scratch = std::span<uint8_t>(scratch_.scratch).first(kFill);
    Moved got = stream_.try_read(scratch);
    if (got.bytes) {
      buffer_.append(reinterpret_cast<const char*>(scratch.data()), got.bytes);
      co_return;
    }
    if (got.would_block()) {
      let_go();
      got.error = co_await stream_.wait_read();
    } else if (got.ended()) {
      state_ = State::kEnded;
    }
    if (got.error) state_ = State::kFailed;
  }
}

Task<> HttpReader::more() { return fill(); }

Task<HeadState> HttpReader::wait_for_head() {
  if (!has_rest()) co_await fill();
  if (has_rest()) co_return HeadState::kWhole;
  co_return state_ == State::kEnded ? HeadState::kEnded : HeadState::kFailed;
}

Task<HeadState> HttpReader::read_head(std::string& text) {
  size_t looked = 0;
  for (;;) {
    size_t blank = std::min(rest().find_first_not_of("\r\n"), rest().size());
    if (blank > kMaxBlankBytes) co_return HeadState::kFailed;
    at_ += blank;
    if (blank) looked = 0;
    if (auto end = find_head_end(rest(), looked)) {
      if (*end > kMaxHttpHead) co_return HeadState::kTooLarge;
      text = rest().substr(0, *end);
      at_ += *end;
      co_return HeadState::kWhole;
    }
    looked = rest().size();
    if (looked > kMaxHttpHead) co_return HeadState::kTooLarge;
    co_await fill();
    if (state_ != State::kOpen) co_return HeadState::kFailed;
  }
}

void HttpReader::start_body(BodyFrame frame) {
  frame_ = frame;
  left_ = frame.framing == Framing::kLength ? frame.length : 0;
  chunks_ = {};
}

uint64_t HttpReader::length_on_wire() const {
  return frame_.framing == Framing::kLength && !has_rest() ? left_ : 0;
}

HttpReader::Piece HttpReader::piece_at_hand() {
  if (frame_.framing == Framing::kNone) return {.last = true};
  if (frame_.framing == Framing::kLength && left_ == 0) return {.last = true};
  if (!has_rest() && state_ != State::kOpen) {
    bool whole = frame_.framing == Framing::kUntilEnd && state_ == State::kEnded;
    return {.last = whole, .failed = !whole};
  }
  if (frame_.framing == Framing::kChunked) return chunk_at_hand();
  Piece piece{.bytes = rest()};
  if (frame_.framing == Framing::kLength) {
    piece.bytes = piece.bytes.substr(0, left_);
    left_ -= piece.bytes.size();
    piece.last = left_ == 0;
  }
  at_ += piece.bytes.size();
  return piece;
}

HttpReader::Piece HttpReader::chunk_at_hand() {
  for (;;) {
    ChunkDecoder::Step step = chunks_.next(rest());
    at_ += step.used;
    if (step.bad) return {.failed = true};
    if (step.done) return {.last = true};
    if (!step.piece.empty()) return {.bytes = step.piece};
    if (step.used == 0) return {.failed = state_ != State::kOpen};
  }
}

void HttpReader::let_go() {
  if (has_rest()) return;
  std::string().swap(buffer_);  // an assignment would keep the memory
  at_ = 0;
}

std::string HttpReader::take_rest() {
  std::string taken(rest());
  std::string().swap(buffer_);
  at_ = 0;
  return taken;
}

}  // namespace caisson
