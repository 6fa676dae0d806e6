#include "gateway/http_reader.h"

#include <algorithm>
#include <cerrno>

namespace caisson {
namespace {
constexpr size_t kFill = 16 * 1024;
constexpr size_t kMaxBlankBytes = 8;  // empty lines before a request, as RFC 9112 2.2 bids us skip
}  // namespace

// What is there now, through the scratch, so that no connection holds a buffer while it waits.
Moved HttpReader::read_now() {
  buffer_.erase(0, at_);
  at_ = 0;
  Moved got = stream_.try_read(std::span<uint8_t>(scratch_.scratch).first(kFill));
  buffer_.append(reinterpret_cast<const char*>(scratch_.scratch.data()), got.bytes);
  if (got.ended())
    state_ = State::kEnded;
  else if (got.error && !got.would_block())
    state_ = State::kFailed;
  return got;
}

Task<> HttpReader::fill() {
  while (state_ == State::kOpen) {
    Moved got = read_now();
    if (!got.would_block()) co_return;
    let_go();
    got.error = co_await stream_.wait_read();
    if (got.error) state_ = State::kFailed;
  }
}

Task<> HttpReader::more() { return fill(); }

// Apart from fill(), where a thousand connections wait: frames must stay small.
Task<bool> HttpReader::more_within(std::chrono::milliseconds time) {
  bool silent = false;
  while (state_ == State::kOpen) {
    Moved got = read_now();
    if (!got.would_block()) co_return true;
    if (silent) co_return false;
    let_go();
    got.error = co_await stream_.wait_read_within(time);
    silent = got.error == ETIMEDOUT;
    if (got.error && !silent) state_ = State::kFailed;
  }
  co_return true;
}

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
