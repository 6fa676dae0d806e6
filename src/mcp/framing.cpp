#include "mcp/framing.h"

namespace caisson::mcp {

void LineFramer::feed(std::string_view bytes) {
  // What was read is given back here and not at every line: a burst of small messages would
  // otherwise move the rest of the buffer once for each.
  if (start_ > 0) {
    buffer_.erase(0, start_);
    seen_ -= start_;
    start_ = 0;
  }
  buffer_ += bytes;
}

std::optional<LineFramer::Line> LineFramer::next() {
  while (std::optional<Line> line = take())
    if (line->too_long || line->text.find_first_not_of(" \t\r") != std::string::npos) return line;
  return std::nullopt;
}

std::optional<LineFramer::Line> LineFramer::take() {
  size_t end = buffer_.find('\n', seen_);
  if (end == std::string::npos) {
    drop_overlong();
    return std::nullopt;
  }
  Line line;
  line.too_long = skipping_ || end - start_ > limit_;
  std::string_view text = std::string_view(buffer_).substr(start_, end - start_);
  if (line.too_long) {
    id_.feed(text);
    line.id = id_.found();
    id_ = {};
  } else {
    line.text = text;
  }
  skipping_ = false;
  start_ = seen_ = end + 1;
  return line;
}

// A line without an end takes no more memory than the bound.
void LineFramer::drop_overlong() {
  seen_ = buffer_.size();
  if (!skipping_ && buffer_.size() - start_ <= limit_) return;
  skipping_ = true;
  id_.feed(std::string_view(buffer_).substr(start_));
  buffer_.clear();
  start_ = seen_ = 0;
}

}  // namespace caisson::mcp
