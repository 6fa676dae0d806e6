#include "session/crash_lines.h"

#include <utility>

namespace caisson::session {

namespace {

constexpr std::string_view kCrash = "Fatal Python error: ";  // written in one piece
constexpr std::string_view kOurFrames[] = {"  File \"<caisson>/", "  File \"/proc/self/fd/"};
constexpr size_t kLongestFrame = 4096;  // one that is longer is none

bool is_our_frame(std::string_view line) {
  for (std::string_view frame : kOurFrames)
    if (line.starts_with(frame)) return true;
  return false;
}

}  // namespace

std::string_view CrashLines::feed(std::string_view bytes) {
  shown_.clear();
  if (!seen_) {
    size_t at = bytes.find(kCrash);
    if (at == bytes.npos) return bytes;
    seen_ = true;
    shown_ = bytes.substr(0, at);
    bytes.remove_prefix(at);
  }
  while (!bytes.empty()) {
    size_t end = bytes.find('\n');
    size_t length = end == bytes.npos ? bytes.size() : end + 1;
    line_ += bytes.substr(0, length);
    bytes.remove_prefix(length);
    if (end == bytes.npos && line_.size() < kLongestFrame) break;
    if (!is_our_frame(line_)) shown_ += line_;
    line_.clear();
  }
  return shown_;
}

std::string CrashLines::finish() {
  std::string rest = std::exchange(line_, {});
  return is_our_frame(rest) ? std::string() : rest;
}

}  // namespace caisson::session
