#include "launch/network_messages.h"

#include <netinet/in.h>  // ahead of the kernel's own, which gives way to it

#include <linux/icmpv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

namespace caisson {

namespace {

// What has no padding is the same bytes to the kernel.
template <typename T>
constexpr auto bytes_of(const T& value) {
  return std::bit_cast<std::array<uint8_t, sizeof(T)>>(value);
}

// Network order.
constexpr uint32_t big(uint32_t value) {
  return std::endian::native == std::endian::big ? value : __builtin_bswap32(value);
}

constexpr uint16_t big16(uint16_t value) {
  return std::endian::native == std::endian::big ? value : __builtin_bswap16(value);
}

constexpr std::array<uint8_t, 2> in_network_order(uint16_t value) { return bytes_of(big16(value)); }

constexpr size_t kMostBytes = 4096;

// Writes netlink messages, by the compiler: no start builds one. Lengths are filled in where a
// message or a nest ends.
class Writer {
 public:
  std::array<uint8_t, kMostBytes> bytes{};
  size_t size = 0;

  template <typename Header>
  constexpr void begin(uint16_t type, uint16_t flags, const Header& header) {
    start_ = size;
    nlmsghdr message{};
    message.nlmsg_type = type;
    message.nlmsg_flags = static_cast<uint16_t>(flags | NLM_F_REQUEST);
    message.nlmsg_seq = ++sequence_;
    append(bytes_of(message));
    append(bytes_of(header));
  }
  constexpr void end() { put(start_, bytes_of(static_cast<uint32_t>(size - start_))); }

  constexpr void attribute(uint16_t type, std::span<const uint8_t> data) {
    append(bytes_of(nlattr{static_cast<uint16_t>(sizeof(nlattr) + data.size()), type}));
    append(data);
  }
  constexpr void text(uint16_t type, std::string_view value) {
    std::array<uint8_t, 32> with_end{};
    for (size_t i = 0; i < value.size(); ++i) with_end.at(i) = static_cast<uint8_t>(value[i]);
    attribute(type, std::span(with_end).first(value.size() + 1));
  }
  // nf_tables takes its numbers in network order, rtnetlink in the host's.
  constexpr void number(uint16_t type, uint32_t value) { attribute(type, bytes_of(big(value))); }

  template <typename Body>
  constexpr void nest(uint16_t type, Body body) {
    size_t at = size;
    attribute(static_cast<uint16_t>(type | NLA_F_NESTED), {});
    body();
    put(at, bytes_of(static_cast<uint16_t>(size - at)));
  }

 private:
  constexpr void put(size_t at, std::span<const uint8_t> data) {
    for (uint8_t byte : data) bytes.at(at++) = byte;
  }
  constexpr void append(std::span<const uint8_t> data) {
    put(size, data);
    size = (size + data.size() + 3) & ~size_t{3};
  }

  size_t start_ = 0;
  uint32_t sequence_ = 0;
};

constexpr std::string_view kCongestionControl = "reno";  // which every kernel has and allows
constexpr std::string_view kTable = "caisson", kSteer = "steer";
constexpr std::array<uint8_t, 4> kLoopback4{127, 0, 0, 1};
constexpr std::array<uint8_t, 16> kLoopback6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr uint16_t nft(uint16_t message) { return (NFNL_SUBSYS_NFTABLES << 8) | message; }
constexpr nfgenmsg kInet{NFPROTO_INET, NFNETLINK_V0, 0};

// One rule at the end of a chain: an array of expressions, each with a name and its own attributes.
class Rule {
 public:
  constexpr explicit Rule(Writer& out, uint16_t flags = 0) : out_(out) {
    out.begin(nft(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND | flags, kInet);
    out.text(NFTA_RULE_TABLE, kTable);
    out.text(NFTA_RULE_CHAIN, kSteer);
  }
  template <typename Body>
  constexpr void expressions(Body body) {
    out_.nest(NFTA_RULE_EXPRESSIONS, [&] { body(*this); });
    out_.end();
  }

  constexpr void load_meta(uint32_t key) {
    expression("meta", [&] {
      out_.number(NFTA_META_KEY, key);
      out_.number(NFTA_META_DREG, NFT_REG_1);
    });
  }
  constexpr void load_payload(uint32_t base, uint32_t offset, uint32_t size) {
    expression("payload", [&] {
      out_.number(NFTA_PAYLOAD_DREG, NFT_REG_1);
      out_.number(NFTA_PAYLOAD_BASE, base);
      out_.number(NFTA_PAYLOAD_OFFSET, offset);
      out_.number(NFTA_PAYLOAD_LEN, size);
    });
  }
  constexpr void must_equal(std::span<const uint8_t> value) {
    expression("cmp", [&] {
      out_.number(NFTA_CMP_SREG, NFT_REG_1);
      out_.number(NFTA_CMP_OP, NFT_CMP_EQ);
      out_.nest(NFTA_CMP_DATA, [&] { out_.attribute(NFTA_DATA_VALUE, value); });
    });
  }
  constexpr void family_is(uint8_t family) {
    load_meta(NFT_META_NFPROTO);
    must_equal({&family, 1});
  }
  constexpr void protocol_is(uint8_t protocol) {
    load_meta(NFT_META_L4PROTO);
    must_equal({&protocol, 1});
  }
  constexpr void port_is(uint16_t port) {
    load_payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);  // the destination of TCP and UDP alike
    must_equal(in_network_order(port));
  }
  constexpr void leave_chain() {
    expression("immediate", [&] {
      out_.number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
      out_.nest(NFTA_IMMEDIATE_DATA, [&] {
        out_.nest(NFTA_DATA_VERDICT,
                  [&] { out_.number(NFTA_VERDICT_CODE, static_cast<uint32_t>(NFT_RETURN)); });
      });
    });
  }
  constexpr void redirect_to(uint16_t port) {
    expression("immediate", [&] {
      out_.number(NFTA_IMMEDIATE_DREG, NFT_REG_1);
      out_.nest(NFTA_IMMEDIATE_DATA,
                [&] { out_.attribute(NFTA_DATA_VALUE, in_network_order(port)); });
    });
    expression("redir", [&] { out_.number(NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1); });
  }
  constexpr void refuse() {
    expression("reject", [&] {
      out_.number(NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
      uint8_t code = NFT_REJECT_ICMPX_PORT_UNREACH;
      out_.attribute(NFTA_REJECT_ICMP_CODE, {&code, 1});
    });
  }

 private:
  template <typename Body>
  constexpr void expression(std::string_view name, Body body) {
    out_.nest(NFTA_LIST_ELEM, [&] {
      out_.text(NFTA_EXPR_NAME, name);
      out_.nest(NFTA_EXPR_DATA, body);
    });
  }
  Writer& out_;
};

// Of type "nat", which is asked for the first packet of a connection alone: what has been
// redirected pays nothing for it. It is not asked about a packet that the kernel can't follow as a
// part of a connection, nor about an answer to an address that a program gave itself
// (IPV6_FREEBIND): these pass without an error, and go nowhere. There is no way out of this
// namespace, and what comes back from its loopback to an address that is not local is dropped.
constexpr void steering_chain(Writer& out) {
  out.begin(nft(NFT_MSG_NEWCHAIN), NLM_F_CREATE, kInet);
  out.text(NFTA_CHAIN_TABLE, kTable);
  out.text(NFTA_CHAIN_NAME, kSteer);
  out.nest(NFTA_CHAIN_HOOK, [&] {
    out.number(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
    out.number(NFTA_HOOK_PRIORITY, static_cast<uint32_t>(-100));  // NF_IP_PRI_NAT_DST
  });
  out.text(NFTA_CHAIN_TYPE, "nat");
  out.end();
}

// The cell's own loopback is its own business.
constexpr void leave_loopback_alone(Writer& out) {
  Rule(out).expressions([](Rule& rule) {
    uint8_t first = 127;
    rule.family_is(NFPROTO_IPV4);
    rule.load_payload(NFT_PAYLOAD_NETWORK_HEADER, 16, 1);  // the first byte of the destination
    rule.must_equal({&first, 1});
    rule.leave_chain();
  });
  Rule(out).expressions([](Rule& rule) {
    rule.family_is(NFPROTO_IPV6);
    rule.load_payload(NFT_PAYLOAD_NETWORK_HEADER, 24, 16);
    rule.must_equal(kLoopback6);
    rule.leave_chain();
  });
}

constexpr void steer(Writer& out) {
  for (uint8_t protocol : {IPPROTO_UDP, IPPROTO_TCP})
    Rule(out).expressions([&](Rule& rule) {
      rule.protocol_is(protocol);
      rule.port_is(kDnsPort);
      rule.redirect_to(kDnsPort);
    });
  Rule(out).expressions([](Rule& rule) {
    rule.protocol_is(IPPROTO_TCP);
    rule.redirect_to(kGatewayPort);
  });
  Rule(out, NLM_F_ACK).expressions([](Rule& rule) { rule.refuse(); });  // what remains
}

constexpr void batch_mark(Writer& out, uint16_t type) {
  out.begin(type, 0, nfgenmsg{AF_UNSPEC, NFNETLINK_V0, big16(NFNL_SUBSYS_NFTABLES)});
  out.end();
}

constexpr void route(Writer& out, uint8_t family, uint8_t scope, std::span<const uint8_t> source) {
  rtmsg header{};
  header.rtm_family = family;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_BOOT;
  header.rtm_scope = scope;
  header.rtm_type = RTN_UNICAST;
  out.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, header);
  out.attribute(RTA_OIF, bytes_of(uint32_t{1}));  // the first interface of every network namespace
  out.attribute(RTA_PREFSRC, source);
  // Nothing is lost on a loopback, and controls that pace what they send (BBR) halve its rate.
  out.nest(RTA_METRICS, [&] { out.text(RTAX_CC_ALGO, kCongestionControl); });
  out.end();
}

constexpr Writer steering() {
  Writer out;
  batch_mark(out, NFNL_MSG_BATCH_BEGIN);
  out.begin(nft(NFT_MSG_NEWTABLE), NLM_F_CREATE, kInet);
  out.text(NFTA_TABLE_NAME, kTable);
  out.end();
  steering_chain(out);
  leave_loopback_alone(out);
  steer(out);
  batch_mark(out, NFNL_MSG_BATCH_END);
  return out;
}

constexpr Writer routes() {
  Writer out;
  route(out, AF_INET, RT_SCOPE_LINK, kLoopback4);
  route(out, AF_INET6, RT_SCOPE_UNIVERSE, kLoopback6);
  return out;
}

template <auto write>
constexpr auto kWritten = [] {
  constexpr Writer whole = write();
  std::array<uint8_t, whole.size> bytes{};
  std::copy_n(whole.bytes.begin(), whole.size, bytes.begin());
  return bytes;
}();

}  // namespace

std::span<const uint8_t> steering_messages() { return kWritten<steering>; }

std::span<const uint8_t> route_messages() { return kWritten<routes>; }

}  // namespace caisson
