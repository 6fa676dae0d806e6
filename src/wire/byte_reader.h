// Big-endian values out of bounded bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace caisson {

// After the first value that is not all there, nothing more is: callers may read a whole structure
// and ask once whether it was good.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  void fail() { good_ = false; }
  size_t at() const { return at_; }
  size_t left() const { return good_ ? bytes_.size() - at_ : 0; }
  bool whole() const { return good_ && at_ == bytes_.size(); }  // read well, and to the last byte

  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u24() { return number(3); }
  uint32_t u32() { return number(4); }

  std::span<const uint8_t> take(size_t size) {
    if (!good_ || size > bytes_.size() - at_) {
      good_ = false;
      return {};
    }
    at_ += size;
    return bytes_.subspan(at_ - size, size);
  }
  std::string text(size_t size) {
    std::span<const uint8_t> bytes = take(size);
    return {bytes.begin(), bytes.end()};
  }
  // What a length before it says; a part that is missing reads as nothing and fails this reader.
  ByteReader part(size_t size) { return ByteReader(take(size)); }

 private:
  uint32_t number(size_t size) {
    uint32_t value = 0;
    for (uint8_t byte : take(size)) value = value << 8 | byte;
    return value;
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

inline void append_u16(std::vector<uint8_t>& out, uint16_t value) {
  out.push_back(static_cast<uint8_t>(value >> 8));
  out.push_back(static_cast<uint8_t>(value));
}
inline void append_u32(std::vector<uint8_t>& out, uint32_t value) {
  append_u16(out, static_cast<uint16_t>(value >> 16));
  append_u16(out, static_cast<uint16_t>(value));
}

}  // namespace caisson
