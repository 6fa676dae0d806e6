// Newline-delimited messages out of a stream of bytes, with a bound on each. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/top_id.h"

namespace caisson::mcp {

class LineFramer {
 public:
  explicit LineFramer(size_t limit) : limit_(limit) {}

  struct Line {
    std::string text;
    bool too_long = false;     // its text is left out; the stream goes on behind its newline
    json::value id = nullptr;  // of one that is too long, if it can be told
  };

  void feed(std::string_view bytes);
  // The next whole line that isn't blank.
  std::optional<Line> next();
  // A message that was begun when the stream ended.
  bool half_sent() const { return start_ < buffer_.size() || skipping_; }

 private:
  std::optional<Line> take();
  void drop_overlong();

  size_t limit_;
  std::string buffer_;
  size_t start_ = 0, seen_ = 0;  // of the present line; up to where no newline was found
  bool skipping_ = false;
  TopId id_;  // of the line that is skipped
};

}  // namespace caisson::mcp
