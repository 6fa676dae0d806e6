#include "base/json_size.h"

#include <fmt/format.h>

#include "base/control.h"

namespace caisson {

namespace {

constexpr size_t kShort = 32 * 1024;
constexpr size_t kMostLevels = 256;  // no parser of ours goes deeper; what lies there is not built

size_t end_of_string(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at;
}

class Levels {
 public:
  void open() {
    if (depth_ < kMostLevels) keys_[depth_] = 0;
    ++depth_;
  }
  void key() {
    if (depth_ > 0 && depth_ <= kMostLevels) ++keys_[depth_ - 1];
  }
  void close() {
    if (depth_ == 0) return;
    --depth_;
    if (depth_ < kMostLevels) squares_ += uint64_t{keys_[depth_]} * keys_[depth_];
  }
  // A text that ends in the middle has been parsed up to there.
  uint64_t squares() {
    while (depth_ > 0) close();
    return squares_;
  }

 private:
  uint32_t keys_[kMostLevels];
  size_t depth_ = 0;
  uint64_t squares_ = 0;
};

}  // namespace

// Values by what stands before each: a comma, a colon or a bracket.
JsonSize measure_json(std::string_view text) {
  JsonSize size;
  Levels levels;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case ':':
        levels.key();
        ++size.values;
        break;
      case '[':
      case '{':
        levels.open();
        ++size.values;
        break;
      case ']':
      case '}':
        levels.close();
        break;
      case ',':
        ++size.values;
        break;
      case '"':
        i = end_of_string(text, i);
        break;
      default:
        break;
    }
  }
  size.key_squares = levels.squares();
  return size;
}

Result<void> check_json_size(std::string_view text, size_t most_values) {
  if (text.size() <= kShort) return {};
  JsonSize size = measure_json(text);
  if (size.values > most_values && control_enabled("session-json-values"))
    return Error::plain(
        fmt::format("JSON of {} values; the bound is {}", size.values, most_values));
  if (size.key_squares > kMostKeySquares && control_enabled("json-keys"))
    return Error::plain("JSON with too many keys in one object; the bound is about 8,000",
                        "take a part of it, or a list of pairs");
  return {};
}

}  // namespace caisson
