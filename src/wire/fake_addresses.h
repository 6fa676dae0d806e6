// Addresses that stand for names: a cell resolves a name to one of these, and a connection to it
// tells the gateway which name was meant. 198.18.0.0/15 is set aside for benchmarks (RFC 2544), so
// nothing real lives there; the IPv6 range is a private one that spells our name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rules/host.h"

namespace caisson {

class FakeAddresses {
 public:
  // A wildcard lets a cell make up names without end: so many are kept, and so many bytes of them.
  static constexpr size_t kMaxNameBytes = 4 * 1024 * 1024;

  explicit FakeAddresses(size_t limit = 65536);
  FakeAddresses(const FakeAddresses&) = delete;
  FakeAddresses& operator=(const FakeAddresses&) = delete;

  struct Pair {
    IpAddress v4, v6;
    bool operator==(const Pair&) const = default;
  };
  // The same name, the same pair, for as long as the cell lives; nullopt when full. The name is
  // canonical (Host::name).
  std::optional<Pair> address_of(const std::string& name);
  // nullopt for an address that was never given out.
  std::optional<std::string> name_of(const IpAddress& address) const;
  size_t size() const { return names_.size(); }

  // Within the ranges, given out or not.
  static bool is_fake(const IpAddress& address);

 private:
  size_t limit_;
  size_t name_bytes_ = 0;
  std::deque<std::string> names_;                           // by number; a deque never moves them
  std::unordered_map<std::string_view, uint32_t> numbers_;  // views into names_
};

}  // namespace caisson
