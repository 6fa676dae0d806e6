// As much of DNS (RFC 1035, EDNS of RFC 6891) as a resolver for one cell needs: one question in,
// one answer out. Every byte of a query is the cell's, and what isn't understood is not answered.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace caisson {

inline constexpr uint16_t kDnsTypeA = 1, kDnsTypeTxt = 16, kDnsTypeAaaa = 28, kDnsTypeSrv = 33;
inline constexpr uint16_t kDnsTypeHttps = 65, kDnsTypeAny = 255;
inline constexpr uint16_t kDnsClassIn = 1;

inline constexpr size_t kMaxDnsQuery = 4096;  // no question with its options is larger
inline constexpr size_t kMaxDnsMessage = 65535;
// What a datagram may hold: 512 without EDNS; with it up to what passes any link in one piece.
inline constexpr uint16_t kMinDnsUdp = 512, kMaxDnsUdp = 1232;

struct DnsQuestion {
  uint16_t id = 0;
  // As sent, case and all, dots between labels and none at the end; "" is the root. No label has a
  // dot or a NUL of its own. What else a host name may not hold is for the rules to say.
  std::string name;
  uint16_t type = 0, klass = 0;
  bool recursion_desired = false;
  bool has_edns = false;
  uint16_t udp_size =
      kMinDnsUdp;  // how large an answer by datagram may be; within the bounds above
};

// Exactly one question; compression in it is refused, other opcodes and answers too.
Result<DnsQuestion> parse_dns_query(std::span<const uint8_t> packet);

enum class DnsCode : uint8_t {
  kOk = 0,
  kFormat = 1,
  kFailed = 2,
  kNoName = 3,
  kNotImplemented = 4,
  kRefused = 5
};

// Belongs to the name of the question; data stands by itself (no compressed names).
struct DnsRecord {
  uint16_t type = 0;
  uint32_t ttl = 0;
  std::vector<uint8_t> data;
  bool operator==(const DnsRecord&) const = default;
};

// The question byte for byte (clients that mix case compare it), then the records that fit; TC is
// set when some don't. max_size: question.udp_size for a datagram, kMaxDnsMessage for TCP.
std::vector<uint8_t> dns_answer(const DnsQuestion& question, DnsCode code,
                                std::span<const DnsRecord> records, size_t max_size);

// For packets that don't parse: a header alone. Empty when there is not even an id, and for an
// answer: two servers that answer each other's errors never end.
std::vector<uint8_t> dns_error(std::span<const uint8_t> packet, DnsCode code);
// The same with the code that fits: kNotImplemented for an opcode that isn't a query, else kFormat.
std::vector<uint8_t> dns_error(std::span<const uint8_t> packet);

// DNS over TCP: each message after its length in two bytes.
std::vector<uint8_t> dns_tcp_frame(std::span<const uint8_t> message);
struct DnsTcpFrame {
  std::span<const uint8_t> message;
  size_t used = 0;  // bytes to drop from the front afterwards
};
// nullopt while it isn't all there; an error when it is longer than any query.
Result<std::optional<DnsTcpFrame>> parse_dns_tcp_frame(std::span<const uint8_t> so_far);

}  // namespace caisson
