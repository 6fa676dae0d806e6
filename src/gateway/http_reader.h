// Heads and bodies read from a stream. Holds no buffer while it waits for the next head.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "gateway/chunks.h"
#include "gateway/http_head.h"
#include "gateway/pipes.h"
#include "gateway/stream.h"

namespace caisson {

enum class HeadState {
  kWhole,
  kEnded,  // before the first byte
  kTooLarge,
  kFailed,  // in the middle, or by error
};

class HttpReader {
 public:
  HttpReader(Stream& stream, Pipes& scratch) : stream_(stream), scratch_(scratch) {}

  // Bytes that were read before.
  void give(std::string_view bytes) { buffer_.append(bytes); }

  // Waits until there is a first byte.
  Task<HeadState> wait_for_head();
  // Then: the head's text, empty lines before it dropped.
  Task<HeadState> read_head(std::string& text);

  void start_body(BodyFrame frame);
  struct Piece {
    std::string_view bytes;  // until the next call
    bool last = false;       // nothing follows; `bytes` may be empty then
    bool failed = false;     // broken, or ended too early
    bool need_more() const { return bytes.empty() && !last && !failed; }
  };
  // What of the body is here already.
  Piece piece_at_hand();
  // Waits for more; then there is a piece, a part of one, or the end.
  Task<> more();
  // The same; false: for so long nothing came, and at its end there was still nothing.
  Task<bool> more_within(std::chrono::milliseconds time);

  // Bytes of a body of known length that are still on the wire, with nothing of it held here: they
  // may be read from the stream by others, who say how many they took.
  uint64_t length_on_wire() const;
  void took(uint64_t bytes) { left_ -= bytes; }

  // Nothing will be read for a while: no memory is held that nothing is in.
  void let_go();
  std::string take_rest();
  bool has_rest() const { return at_ < buffer_.size(); }
  Stream& stream() { return stream_; }

 private:
  enum class State { kOpen, kEnded, kFailed };
  Moved read_now();
  Task<> fill();
  Piece chunk_at_hand();
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  Stream& stream_;
  Pipes& scratch_;
  std::string buffer_;
  size_t at_ = 0;  // what is before it has been given out
  State state_ = State::kOpen;
  BodyFrame frame_;
  uint64_t left_ = 0;
  ChunkDecoder chunks_;
};

}  // namespace caisson
