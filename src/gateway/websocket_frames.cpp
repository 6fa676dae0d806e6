#include "gateway/websocket_frames.h"

#include <algorithm>

namespace caisson {
namespace {

constexpr size_t kLeastFrameHeader = 2;
constexpr unsigned char kFinal = 0x80, kReserved = 0x70, kOpcode = 0x0f, kControl = 0x08;
constexpr unsigned char kMasked = 0x80, kLength = 0x7f;
constexpr size_t kMaskKey = 4;

bool is_known_opcode(unsigned char opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

}  // namespace

std::string_view WebSocketFrames::begun_header() const {
  bool is_begun = state_ == State::kInHeader && header_got_ < header_size();
  return is_begun ? header() : std::string_view{};
}

bool WebSocketFrames::is_control() const { return header_[0] & kControl; }

bool WebSocketFrames::ends_message() const { return !is_control() && header_[0] & kFinal; }

// As far as it is known yet.
size_t WebSocketFrames::header_size() const {
  if (header_got_ < kLeastFrameHeader) return kLeastFrameHeader;
  unsigned char length = header_[1] & kLength;
  size_t more = length == 126 ? 2 : length == 127 ? 8 : 0;
  return kLeastFrameHeader + more + (header_[1] & kMasked ? kMaskKey : 0);
}

// Reserved bits are for extensions, and where secrets are masked none is agreed on.
bool WebSocketFrames::is_frame() const {
  unsigned char length = header_[1] & kLength;
  if (header_[0] & kReserved || !is_known_opcode(header_[0] & kOpcode)) return false;
  return !is_control() || (header_[0] & kFinal && length < 126);
}

uint64_t WebSocketFrames::payload_size() const {
  unsigned char length = header_[1] & kLength;
  size_t more = length == 126 ? 2 : length == 127 ? 8 : 0;
  if (more == 0) return length;
  uint64_t size = 0;
  for (size_t i = 0; i < more; ++i) size = size << 8 | header_[kLeastFrameHeader + i];
  return size;
}

FrameStep WebSocketFrames::take_header(std::string_view bytes) {
  size_t used = 0;
  bool broken = false;
  while (used < bytes.size() && header_got_ < header_size() && !broken) {
    header_[header_got_++] = static_cast<unsigned char>(bytes[used++]);
    broken = header_got_ == kLeastFrameHeader && !is_frame();
  }
  if (!broken && header_got_ < header_size()) return {FramePart::kHeaderBegun, used};
  if (!broken) payload_left_ = payload_size();
  if (broken || payload_left_ >> 63) {  // RFC 6455: the highest bit is 0
    state_ = State::kLost;
    return {FramePart::kBroken, used};
  }
  if (payload_left_ != 0) state_ = State::kInPayload;
  return {FramePart::kHeader, used, payload_left_ == 0};
}

FrameStep WebSocketFrames::next(std::string_view bytes) {
  if (state_ == State::kLost) return {FramePart::kNoFrame, bytes.size()};
  if (state_ == State::kInHeader) {
    if (header_got_ == header_size()) header_got_ = 0;  // that of the frame before
    return take_header(bytes);
  }
  size_t used = std::min<uint64_t>(payload_left_, bytes.size());
  payload_left_ -= used;
  if (payload_left_ != 0) return {FramePart::kPayload, used};
  state_ = State::kInHeader;
  return {FramePart::kPayload, used, true};
}

}  // namespace caisson
