// The credentials of one cell, as the gateway holds them: in memory only, and wiped at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/secret_patterns.h"
#include "rules/host_pattern.h"

namespace caisson {

// Where no port is said. Any port, as in an allow rule, would have the gateway end (or refuse) ssh
// to a host whose web API has a secret.
inline constexpr uint16_t kSecretPort = 443;

struct Secret {
  std::string name;
  std::string value;               // checked by check_secret_value
  std::vector<std::string> hosts;  // patterns, as in an allow rule; without a port kSecretPort
  std::string placeholder;         // made by make_placeholder
  bool in_body = false;
  bool in_url = false;
  // A mask of what the cell would have had anyway: a host without a port is meant on every port on
  // which requests are read, and no other port has to be read for its sake.
  bool any_port = false;
};

// A pair of keys that signs requests (SigV4), as the cell knows it and as it is.
struct AwsKeys {
  std::string shown_id;   // what the cell signs with: the placeholder, or the id itself
  std::string shown_key;  // the placeholder of the key, by which its secret is found
  std::string id;
};

// A header's name as every server may rewrite it: in lower case (HTTP/2 bids so), and with - _ .
// alike (CGI and what came after it).
std::string folded_name(std::string_view name);

// Immutable and complete: which placeholders and values there are, and who may have them. Every
// Substitution, PlaceholderScan and ResponseMask refers to it, so it must outlive them; it doesn't
// move, and one gateway has one.
class Secrets {
 public:
  static constexpr size_t kMaxSecrets = 64;
  static constexpr size_t kMaxValueBytes =
      128 * 1024;  // together; their spellings take ten times that

  // kAlso: secrets may go to their hosts without TLS too.
  enum class InClear { kNever, kAlso };
  static Result<std::unique_ptr<Secrets>> make(std::vector<Secret> secrets,
                                               InClear in_clear = InClear::kNever);
  ~Secrets();
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;

  bool empty() const { return secrets_.empty(); }
  std::span<const Secret> all() const { return secrets_; }
  bool may_have(size_t secret, const Host& host, uint16_t port) const;
  bool any_for(const Host& host, uint16_t port) const;
  // A value may go there in a body or an address: a cell could have the host keep it.
  bool may_be_kept_by(const Host& host, uint16_t port) const;
  // Some secret is for this host: TLS to it must be ended, and an opaque tunnel is refused.
  bool must_read(const Host& host, uint16_t port) const;
  bool may_go_in_clear() const { return in_clear_ == InClear::kAlso; }

  // Pattern i is the placeholder of secret i.
  const PatternSet& placeholders() const { return placeholders_; }
  // Every spelling of every value; pattern i belongs to the secret value_owner(i).
  const PatternSet& values() const { return values_; }
  uint32_t value_owner(uint32_t pattern) const { return value_owners_[pattern]; }
  // The same as they come back in a header's name: each folded by folded_name().
  const PatternSet& folded_values() const { return folded_values_; }

 private:
  Secrets() = default;

  std::vector<Secret> secrets_;
  std::vector<std::vector<HostPattern>> hosts_;  // of each secret
  InClear in_clear_ = InClear::kNever;
  PatternSet placeholders_, values_, folded_values_;
  std::vector<uint32_t> value_owners_;
};

}  // namespace caisson
