#include "wire/fake_addresses.h"

#include <algorithm>
#include <array>

namespace caisson {

namespace {

constexpr uint32_t kFirst = 198u << 24 | 18u << 16, kMask = 0xfffe0000;  // 198.18.0.0/15
// .0 and .255 look like a network and its broadcast address to old programs: 254 of 256 are used.
constexpr uint32_t kPerBlock = 254, kBlocks = 512;
constexpr std::array<uint8_t, 12> kPrefix = {0xfd, 'c', 'a', 'i', 's', 's', 'o', 'n', 0, 0, 0, 0};
constexpr size_t kLongestFakeName = 253;

uint32_t value_of(uint32_t number) {
  return kFirst + (number / kPerBlock << 8) + 1 + number % kPerBlock;
}

std::optional<uint32_t> number_of(uint32_t value) {
  uint32_t last = value & 0xff;
  if ((value & kMask) != kFirst || last == 0 || last == 255) return {};
  return ((value - kFirst) >> 8) * kPerBlock + last - 1;
}

std::array<uint8_t, 4> quad(uint32_t value) {
  return {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16),
          static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
}

FakeAddresses::Pair pair_of(uint32_t number) {
  std::array<uint8_t, 4> v4 = quad(value_of(number));
  std::array<uint8_t, 16> v6{};
  std::ranges::copy(v4, std::ranges::copy(kPrefix, v6.begin()).out);
  return {IpAddress::v4(v4), IpAddress::v6(v6)};
}

bool has_prefix(const IpAddress& address) {
  return std::equal(kPrefix.begin(), kPrefix.end(), address.bytes.begin());
}

// An IPv4 address, or the last four bytes of an IPv6 one.
uint32_t value_of(const IpAddress& address) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | address.bytes[address.is_v6 ? 12 + i : i];
  return value;
}

}  // namespace

FakeAddresses::FakeAddresses(size_t limit) : limit_(std::min<size_t>(limit, kPerBlock * kBlocks)) {}

std::optional<FakeAddresses::Pair> FakeAddresses::address_of(const std::string& name) {
  if (auto known = numbers_.find(name); known != numbers_.end()) return pair_of(known->second);
  if (name.empty() || name.size() > kLongestFakeName || names_.size() >= limit_ ||
      name_bytes_ + name.size() > kMaxNameBytes)
    return {};
  auto number = static_cast<uint32_t>(names_.size());
  numbers_.emplace(names_.emplace_back(name), number);
  name_bytes_ += name.size();
  return pair_of(number);
}

std::optional<std::string> FakeAddresses::name_of(const IpAddress& address) const {
  if (address.is_v6 && !has_prefix(address)) return {};
  std::optional<uint32_t> number = number_of(value_of(address));
  if (!number || *number >= names_.size()) return {};
  return names_[*number];
}

bool FakeAddresses::is_fake(const IpAddress& address) {
  return address.is_v6 ? has_prefix(address) : (value_of(address) & kMask) == kFirst;
}

}  // namespace caisson
