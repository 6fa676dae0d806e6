#include "gateway/message_borders.h"

#include <algorithm>

namespace caisson {

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
