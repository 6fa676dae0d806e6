#include "gateway/message_borders.h"

#include <algorithm>

namespace caisson {
namespace {

constexpr size_t kLeastFrameHeader = 2;
constexpr unsigned char kFinal = 0x80, kReserved = 0x70, kOpcode = 0x0f, kControl = 0x08;
constexpr unsigned char kMasked = 0x80, kLength = 0x7f;
constexpr size_t kMaskKey = 4;

bool is_known_opcode(unsigned char opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

}  // namespace

// As far as it is known yet.
size_t WebSocketBorders::header_size() const {
  if (header_got_ < kLeastFrameHeader) return kLeastFrameHeader;
  unsigned char length = header_[1] & kLength;
  size_t more = length == 126 ? 2 : length == 127 ? 8 : 0;
  return kLeastFrameHeader + more + (header_[1] & kMasked ? kMaskKey : 0);
}

// Reserved bits are for extensions, and where secrets are masked none is agreed on.
bool WebSocketBorders::is_frame() const {
  unsigned char opcode = header_[0] & kOpcode, length = header_[1] & kLength;
  if (header_[0] & kReserved || !is_known_opcode(opcode)) return false;
  bool control = opcode & kControl;
  return !control || (header_[0] & kFinal && length < 126);
}

uint64_t WebSocketBorders::payload_size() const {
  unsigned char length = header_[1] & kLength;
  size_t more = length == 126 ? 2 : length == 127 ? 8 : 0;
  if (more == 0) return length;
  uint64_t size = 0;
  for (size_t i = 0; i < more; ++i) size = size << 8 | header_[kLeastFrameHeader + i];
  return size;
}

BorderStep WebSocketBorders::next(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size() && !lost_) {
    if (!in_payload_) {
      header_[header_got_++] = static_cast<unsigned char>(bytes[at++]);
      if (header_got_ == kLeastFrameHeader) lost_ = !is_frame();
      if (lost_ || header_got_ < header_size()) continue;
      payload_left_ = payload_size();
      lost_ = payload_left_ >> 63;  // RFC 6455: the highest bit is 0
      in_payload_ = true;
    } else {
      size_t taken = std::min<uint64_t>(payload_left_, bytes.size() - at);
      payload_left_ -= taken;
      at += taken;
    }
    if (lost_ || payload_left_ != 0) continue;
    in_payload_ = false;
    header_got_ = 0;
    if (header_[0] & kFinal) return {at, true};
  }
  return {bytes.size(), false};
}

BorderStep GrpcBorders::next(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size() && !lost_) {
    if (header_got_ < header_.size()) {
      header_[header_got_++] = static_cast<unsigned char>(bytes[at++]);
      lost_ = header_[0] > 1;  // compressed or not; no other bit has a meaning
      if (header_got_ < header_.size()) continue;
      for (size_t i = 1; i < header_.size(); ++i) payload_left_ = payload_left_ << 8 | header_[i];
    } else {
      size_t taken = std::min<uint64_t>(payload_left_, bytes.size() - at);
      payload_left_ -= taken;
      at += taken;
    }
    if (lost_ || payload_left_ != 0) continue;
    header_got_ = 0;
    return {at, true};
  }
  return {bytes.size(), false};
}

}  // namespace caisson
