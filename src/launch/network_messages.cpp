#include "launch/network_messages.h"

#include <arpa/inet.h>
#include <linux/icmpv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <cstring>
#include <span>
#include <string_view>

namespace caisson {

namespace {

// Writes netlink messages into a buffer; lengths are filled in where a message or a nest ends.
class Writer {
 public:
  std::vector<uint8_t> take() { return std::move(bytes_); }

  template <typename Header>
  void begin(uint16_t type, uint16_t flags, const Header& header) {
    start_ = bytes_.size();
    nlmsghdr message{};
    message.nlmsg_type = type;
    message.nlmsg_flags = static_cast<uint16_t>(flags | NLM_F_REQUEST);
    message.nlmsg_seq = ++sequence_;
    append(&message, sizeof message);
    append(&header, sizeof header);
  }
  void end() { set_length(start_, static_cast<uint32_t>(bytes_.size() - start_)); }

  void attribute(uint16_t type, const void* data, size_t size) {
    nlattr header{static_cast<uint16_t>(sizeof(nlattr) + size), type};
    append(&header, sizeof header);
    append(data, size);
  }
  void text(uint16_t type, std::string_view value) {
    std::vector<char> with_end(value.begin(), value.end());
    with_end.push_back(0);
    attribute(type, with_end.data(), with_end.size());
  }
  // nf_tables takes its numbers in network order, rtnetlink in the host's.
  void number(uint16_t type, uint32_t value) {
    uint32_t big = htonl(value);
    attribute(type, &big, sizeof big);
  }

  template <typename Body>
  void nest(uint16_t type, Body body) {
    size_t at = bytes_.size();
    attribute(static_cast<uint16_t>(type | NLA_F_NESTED), nullptr, 0);
    body();
    auto length = static_cast<uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof length);
  }

 private:
  void append(const void* data, size_t size) {
    if (size) {
      const auto* from = static_cast<const uint8_t*>(data);
      bytes_.insert(bytes_.end(), from, from + size);
    }
    bytes_.resize((bytes_.size() + 3) & ~size_t{3});
  }
  void set_length(size_t at, uint32_t length) {
    std::memcpy(bytes_.data() + at, &length, sizeof length);
  }

  std::vector<uint8_t> bytes_;
  size_t start_ = 0;
  uint32_t sequence_ = 0;
};

constexpr std::string_view kCongestionControl = "reno";  // which every kernel has and allows
constexpr std::string_view kTable = "caisson", kSteer = "steer", kShut = "shut";
constexpr uint16_t nft(uint16_t message) { return (NFNL_SUBSYS_NFTABLES << 8) | message; }
constexpr nfgenmsg kInet{NFPROTO_INET, NFNETLINK_V0, 0};

// One rule at the end of a chain: an array of expressions, each with a name and its own attributes.
class Rule {
 public:
  Rule(Writer& out, std::string_view chain, uint16_t flags = 0) : out_(out) {
    out.begin(nft(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND | flags, kInet);
    out.text(NFTA_RULE_TABLE, kTable);
    out.text(NFTA_RULE_CHAIN, chain);
  }
  template <typename Body>
  void expressions(Body body) {
    out_.nest(NFTA_RULE_EXPRESSIONS, [&] { body(*this); });
    out_.end();
  }

  void load_meta(uint32_t key) {
    expression("meta", [&] {
      out_.number(NFTA_META_KEY, key);
      out_.number(NFTA_META_DREG, NFT_REG_1);
    });
  }
  void load_payload(uint32_t base, uint32_t offset, uint32_t size) {
    expression("payload", [&] {
      out_.number(NFTA_PAYLOAD_DREG, NFT_REG_1);
      out_.number(NFTA_PAYLOAD_BASE, base);
      out_.number(NFTA_PAYLOAD_OFFSET, offset);
      out_.number(NFTA_PAYLOAD_LEN, size);
    });
  }
  void must_equal(std::span<const uint8_t> value) {
    expression("cmp", [&] {
      out_.number(NFTA_CMP_SREG, NFT_REG_1);
      out_.number(NFTA_CMP_OP, NFT_CMP_EQ);
      out_.nest(NFTA_CMP_DATA,
                [&] { out_.attribute(NFTA_DATA_VALUE, value.data(), value.size()); });
    });
  }
  void protocol_is(uint8_t protocol) {
    load_meta(NFT_META_L4PROTO);
    must_equal({&protocol, 1});
  }
  void port_is(uint16_t port) {
    uint8_t big[2] = {static_cast<uint8_t>(port >> 8), static_cast<uint8_t>(port)};
    load_payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);  // the destination of TCP and UDP alike
    must_equal(big);
  }
  void leave_chain() {
    expression("immediate", [&] {
      out_.number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
      out_.nest(NFTA_IMMEDIATE_DATA, [&] {
        out_.nest(NFTA_DATA_VERDICT,
                  [&] { out_.number(NFTA_VERDICT_CODE, static_cast<uint32_t>(NFT_RETURN)); });
      });
    });
  }
  void redirect_to(uint16_t port) {
    uint8_t big[2] = {static_cast<uint8_t>(port >> 8), static_cast<uint8_t>(port)};
    expression("immediate", [&] {
      out_.number(NFTA_IMMEDIATE_DREG, NFT_REG_1);
      out_.nest(NFTA_IMMEDIATE_DATA, [&] { out_.attribute(NFTA_DATA_VALUE, big, sizeof big); });
    });
    expression("redir", [&] { out_.number(NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1); });
  }
  void refuse() {
    expression("reject", [&] {
      out_.number(NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
      uint8_t code = NFT_REJECT_ICMPX_PORT_UNREACH;
      out_.attribute(NFTA_REJECT_ICMP_CODE, &code, 1);
    });
  }

 private:
  template <typename Body>
  void expression(std::string_view name, Body body) {
    out_.nest(NFTA_LIST_ELEM, [&] {
      out_.text(NFTA_EXPR_NAME, name);
      out_.nest(NFTA_EXPR_DATA, body);
    });
  }
  Writer& out_;
};

void chain(Writer& out, std::string_view name, std::string_view type, int32_t priority) {
  out.begin(nft(NFT_MSG_NEWCHAIN), NLM_F_CREATE, kInet);
  out.text(NFTA_CHAIN_TABLE, kTable);
  out.text(NFTA_CHAIN_NAME, name);
  out.nest(NFTA_CHAIN_HOOK, [&] {
    out.number(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
    out.number(NFTA_HOOK_PRIORITY, static_cast<uint32_t>(priority));
  });
  out.text(NFTA_CHAIN_TYPE, type);
  out.end();
}

// The cell's own loopback is its own business.
void leave_loopback_alone(Writer& out, std::string_view chain_name) {
  Rule(out, chain_name).expressions([](Rule& rule) {
    uint8_t family = NFPROTO_IPV4, first = 127;
    rule.load_meta(NFT_META_NFPROTO);
    rule.must_equal({&family, 1});
    rule.load_payload(NFT_PAYLOAD_NETWORK_HEADER, 16, 1);  // the first byte of the destination
    rule.must_equal({&first, 1});
    rule.leave_chain();
  });
  Rule(out, chain_name).expressions([](Rule& rule) {
    uint8_t family = NFPROTO_IPV6;
    rule.load_meta(NFT_META_NFPROTO);
    rule.must_equal({&family, 1});
    rule.load_payload(NFT_PAYLOAD_NETWORK_HEADER, 24, 16);
    rule.must_equal(in6addr_loopback.s6_addr);
    rule.leave_chain();
  });
}

void steer(Writer& out) {
  leave_loopback_alone(out, kSteer);
  for (uint8_t protocol : {IPPROTO_UDP, IPPROTO_TCP})
    Rule(out, kSteer).expressions([&](Rule& rule) {
      rule.protocol_is(protocol);
      rule.port_is(kDnsPort);
      rule.redirect_to(kDnsPort);
    });
  Rule(out, kSteer).expressions([](Rule& rule) {
    rule.protocol_is(IPPROTO_TCP);
    rule.redirect_to(kGatewayPort);
  });
}

// Behind the redirection all that may pass is on its way to the loopback.
void shut(Writer& out) {
  leave_loopback_alone(out, kShut);
  Rule(out, kShut, NLM_F_ACK).expressions([](Rule& rule) { rule.refuse(); });
}

void batch_mark(Writer& out, uint16_t type) {
  out.begin(type, 0, nfgenmsg{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)});
  out.end();
}

void route(Writer& out, uint8_t family, uint8_t scope, const void* source, size_t source_size) {
  rtmsg header{};
  header.rtm_family = family;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_BOOT;
  header.rtm_scope = scope;
  header.rtm_type = RTN_UNICAST;
  out.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, header);
  uint32_t loopback = 1;  // the first interface of every network namespace
  out.attribute(RTA_OIF, &loopback, sizeof loopback);
  out.attribute(RTA_PREFSRC, source, source_size);
  // Nothing is lost on a loopback, and controls that pace what they send (BBR) halve its rate.
  out.nest(RTA_METRICS, [&] { out.text(RTAX_CC_ALGO, kCongestionControl); });
  out.end();
}

}  // namespace

std::vector<uint8_t> steering_messages() {
  Writer out;
  batch_mark(out, NFNL_MSG_BATCH_BEGIN);
  out.begin(nft(NFT_MSG_NEWTABLE), NLM_F_CREATE, kInet);
  out.text(NFTA_TABLE_NAME, kTable);
  out.end();
  chain(out, kSteer, "nat", -100);  // NF_IP_PRI_NAT_DST
  chain(out, kShut, "filter", 0);
  steer(out);
  shut(out);
  batch_mark(out, NFNL_MSG_BATCH_END);
  return out.take();
}

std::vector<uint8_t> route_messages() {
  Writer out;
  uint32_t v4 = htonl(INADDR_LOOPBACK);
  route(out, AF_INET, RT_SCOPE_LINK, &v4, sizeof v4);
  route(out, AF_INET6, RT_SCOPE_UNIVERSE, &in6addr_loopback, sizeof in6addr_loopback);
  return out.take();
}

}  // namespace caisson
