// The frames of a WebSocket (RFC 6455, 5.2), in pieces of any size. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace caisson {

enum class FramePart {
  kHeaderBegun,  // taken in; header() tells it when it is whole
  kHeader,       // is whole now
  kPayload,
  kBroken,  // what header() has is none: no frames from there on
  kNoFrame,
};

// As far as one part or the bytes at hand go.
struct FrameStep {
  FramePart part;
  size_t used = 0;
  bool ends_frame = false;
};

class WebSocketFrames {
 public:
  FrameStep next(std::string_view bytes);  // one byte or more

  // Of the frame at hand, as far as it has come.
  std::string_view header() const {
    return {reinterpret_cast<const char*>(header_.data()), header_got_};
  }
  std::string_view begun_header() const;  // that isn't whole, or nothing
  bool is_control() const;
  // The last one of its message. It is not asked whether a message begins as it should (with text
  // or binary, and each further frame as a continuation): whoever reads it may not ask either.
  bool ends_message() const;
  bool lost() const { return state_ == State::kLost; }

 private:
  enum class State { kInHeader, kInPayload, kLost };

  FrameStep take_header(std::string_view bytes);
  size_t header_size() const;
  bool is_frame() const;
  uint64_t payload_size() const;

  State state_ = State::kInHeader;
  std::array<unsigned char, 14> header_{};
  size_t header_got_ = 0;
  uint64_t payload_left_ = 0;
};

}  // namespace caisson
