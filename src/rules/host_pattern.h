// One entry of an allow or deny list: "api.github.com", "*.github.com", "example.com:8443",
// "10.1.2.3:5432", "[::1]:80", "localhost".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rules/host.h"

namespace caisson {

// A denial may be as wide as one likes ("*", "*:22", "*.com"); an allowance names at least two
// labels.
enum class PatternUse { kAllow, kDeny };

struct HostPattern {
  enum class Kind {
    kName,
    kBelow,       // "*.github.com": one or more labels before it; never the apex, never an address
    kAddress,     // exactly this address
    kEverything,  // "*", to deny
  };
  static constexpr uint16_t kAnyPort = 0;

  Kind kind = Kind::kName;
  Host host;  // of kBelow the part after "*."; of kEverything empty
  uint16_t port = kAnyPort;

  bool matches(const Host& other, uint16_t other_port) const;
  bool matches_host(const Host& other) const;
  bool operator==(const HostPattern&) const = default;
  std::string text() const;
};

Result<HostPattern> parse_host_pattern(std::string_view text, PatternUse use);

}  // namespace caisson
