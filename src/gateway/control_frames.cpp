#include "gateway/control_frames.h"

#include <cstring>

namespace caisson {

std::string control_frame(ControlType type, std::string_view body) {
  uint32_t size = static_cast<uint32_t>(body.size());
  std::string frame(kControlHeader, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  frame[4] = static_cast<char>(type);
  frame += body;
  return frame;
}

std::optional<ControlFrame> take_control_frame(std::string& received, bool& broken) {
  broken = false;
  if (received.size() < kControlHeader) return std::nullopt;
  uint32_t size = 0;
  std::memcpy(&size, received.data(), sizeof size);
  if (size > kMaxControlFrame) {
    broken = true;
    return std::nullopt;
  }
  if (received.size() < kControlHeader + size) return std::nullopt;
  ControlFrame frame{received[4], received.substr(kControlHeader, size)};
  received.erase(0, kControlHeader + size);
  return frame;
}

}  // namespace caisson
