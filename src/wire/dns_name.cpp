#include "wire/dns_name.h"

#include <algorithm>

#include "base/text.h"

namespace caisson {

namespace {

constexpr size_t kLongestLabel = 63, kLongestName = 255;  // the latter with lengths and the root
constexpr uint8_t kPointer = 0xc0;
constexpr int kMaxPointers = 32;  // real names have one or two

// Takes one label off the reader and adds it to `name`; false at the root and on failure.
bool read_label(ByteReader& reader, uint8_t length, std::string& name) {
  if (length > kLongestLabel) reader.fail();  // 0x40 and 0x80 were never put to use
  std::string label = reader.text(length);
  // A dot behind each label in place of the length before it: as many bytes as on the wire, and
  // one more for the root that must still come.
  if (length > 0 && name.size() + length + 1 + 1 > kLongestName) reader.fail();
  if (label.find_first_of(std::string_view(".\0", 2)) != std::string::npos) reader.fail();
  if (!reader.good() || length == 0) return false;
  name += label;
  name += '.';
  return true;
}

std::string finished(const ByteReader& reader, std::string name) {
  if (!reader.good()) return {};
  if (!name.empty()) name.pop_back();
  return name;
}

}  // namespace

std::string read_plain_name(ByteReader& reader) {
  std::string name;
  while (read_label(reader, reader.u8(), name)) {
  }
  return finished(reader, std::move(name));
}

std::string read_packed_name(ByteReader& reader, std::span<const uint8_t> packet) {
  std::string name;
  ByteReader elsewhere({});
  ByteReader* current = &reader;
  size_t begins = reader.at();  // of the labels being read, in the packet
  for (int pointers = 0; pointers <= kMaxPointers;) {
    uint8_t length = current->u8();
    if ((length & kPointer) != kPointer) {
      if (read_label(*current, length, name)) continue;
      if (!current->good()) reader.fail();
      return finished(reader, std::move(name));
    }
    size_t to = static_cast<size_t>(length & 0x3f) << 8 | current->u8();
    if (!current->good() || to >= begins) break;
    elsewhere = ByteReader(packet);
    elsewhere.take(to);
    current = &elsewhere, begins = to;
    ++pointers;
  }
  reader.fail();
  return {};
}

void skip_name(ByteReader& reader) {
  size_t begins = reader.at();
  while (reader.good() && reader.at() - begins < kLongestName) {
    uint8_t length = reader.u8();
    if (length == 0) return;
    if ((length & kPointer) == kPointer) return void(reader.u8());
    if (length > kLongestLabel) break;
    reader.take(length);
  }
  reader.fail();
}

bool append_name(std::vector<uint8_t>& out, std::string_view name) {
  size_t before = out.size();
  if (name.size() + 2 > kLongestName) return false;
  while (!name.empty()) {
    size_t size = std::min(name.find('.'), name.size());
    bool ends_in_dot = size + 1 == name.size();
    if (size == 0 || size > kLongestLabel || ends_in_dot) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<uint8_t>(size));
    out.insert(out.end(), name.begin(), name.begin() + static_cast<ptrdiff_t>(size));
    name.remove_prefix(std::min(size + 1, name.size()));
  }
  out.push_back(0);
  return true;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace caisson
