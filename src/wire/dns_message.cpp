#include "wire/dns_message.h"

#include <algorithm>

#include <fmt/format.h>

#include "wire/byte_reader.h"
#include "wire/dns_flags.h"
#include "wire/dns_name.h"

namespace caisson {

namespace {

constexpr uint16_t kTypeOpt = 41;
constexpr uint16_t kMaxAdditional = 8;       // a client sends OPT, perhaps a signature
constexpr size_t kOptSize = 11;              // of an OPT record without options
constexpr size_t kRecordSize = 12;           // of a record but for its data, the owner a pointer
constexpr uint16_t kToQuestion = 0xc00c;     // the owner: a pointer to right behind the header
constexpr uint32_t kEdnsVersion = 0xff0000;  // within what is otherwise the TTL

// Only OPT is of interest; the rest is stepped over.
void read_additional(ByteReader& reader, DnsQuestion& question) {
  size_t begins = reader.at();
  skip_name(reader);
  bool of_root = reader.at() == begins + 1;
  uint16_t type = reader.u16(), klass = reader.u16();
  uint32_t ttl = reader.u32();
  reader.take(reader.u16());
  if (type != kTypeOpt) return;
  // RFC 6891 6.1.1: one at most, of the root. A later version would mean something else.
  if (question.has_edns || !of_root || (ttl & kEdnsVersion) != 0) return reader.fail();
  question.has_edns = true;
  question.udp_size = std::clamp(klass, kMinDnsUdp, kMaxDnsUdp);
}

void append_header(std::vector<uint8_t>& out, uint16_t id, uint16_t flags, uint16_t questions) {
  append_u16(out, id);
  append_u16(out, flags);
  append_u16(out, questions);
  out.resize(kDnsHeader);  // no records yet
}

void append_opt(std::vector<uint8_t>& out) {
  out.push_back(0);  // the root
  append_u16(out, kTypeOpt);
  append_u16(out, kMaxDnsUdp);
  append_u32(out, 0);
  append_u16(out, 0);
}

void append_record(std::vector<uint8_t>& out, const DnsRecord& record) {
  append_u16(out, kToQuestion);
  append_u16(out, record.type);
  append_u16(out, kDnsClassIn);
  append_u32(out, record.ttl);
  append_u16(out, static_cast<uint16_t>(record.data.size()));
  out.insert(out.end(), record.data.begin(), record.data.end());
}

void set_u16(std::vector<uint8_t>& out, size_t at, uint16_t value) {
  out[at] = static_cast<uint8_t>(value >> 8);
  out[at + 1] = static_cast<uint8_t>(value);
}

}  // namespace

Result<DnsQuestion> parse_dns_query(std::span<const uint8_t> packet) {
  if (packet.size() > kMaxDnsQuery)
    return Error::plain(fmt::format("DNS query of {} bytes", packet.size()));
  ByteReader reader(packet);
  DnsQuestion question;
  question.id = reader.u16();
  uint16_t flags = reader.u16(), questions = reader.u16();
  uint32_t records = reader.u32();  // answers and authorities
  uint16_t additional = reader.u16();
  if (!reader.good()) return Error::plain("DNS query without a whole header");
  if (flags & kDnsIsAnswer) return Error::plain("DNS answer where a query belongs");
  if (flags & kDnsOpcode)
    return Error::plain(fmt::format("DNS opcode {}", (flags & kDnsOpcode) >> 11));
  if (flags & kDnsTruncated || questions != 1 || records != 0 || additional > kMaxAdditional)
    return Error::plain("DNS query that isn't one question");

  question.recursion_desired = flags & kDnsRecursionDesired;
  question.name = read_plain_name(reader);
  question.type = reader.u16();
  question.klass = reader.u16();
  if (!reader.good()) return Error::plain("DNS query with a broken question");
  while (additional-- > 0) read_additional(reader, question);
  if (!reader.whole()) return Error::plain("DNS query with broken records or with bytes behind it");
  return question;
}

std::vector<uint8_t> dns_answer(const DnsQuestion& question, DnsCode code,
                                std::span<const DnsRecord> records, size_t max_size) {
  // A header, the longest name and OPT always fit into the lower bound.
  max_size = std::clamp<size_t>(max_size, kMinDnsUdp, kMaxDnsMessage);
  uint16_t flags = kDnsIsAnswer | kDnsRecursionAvailable | static_cast<uint16_t>(code);
  if (question.recursion_desired) flags |= kDnsRecursionDesired;
  std::vector<uint8_t> out;
  append_header(out, question.id, flags, 1);
  if (!append_name(out, question.name)) return {};  // no query had this name
  append_u16(out, question.type);
  append_u16(out, question.klass);

  uint16_t written = 0;
  size_t room = max_size - (question.has_edns ? kOptSize : 0);
  for (const DnsRecord& record : records) {
    if (record.data.size() > kMaxDnsMessage ||
        out.size() + kRecordSize + record.data.size() > room) {
      flags |= kDnsTruncated;
      break;
    }
    append_record(out, record);
    ++written;
  }
  if (question.has_edns) append_opt(out);
  set_u16(out, 2, flags);
  set_u16(out, 6, written);
  set_u16(out, 10, question.has_edns);
  return out;
}

std::vector<uint8_t> dns_error(std::span<const uint8_t> packet, DnsCode code) {
  if (packet.size() < 2) return {};
  ByteReader reader(packet);
  uint16_t id = reader.u16(), flags = static_cast<uint16_t>(reader.u8() << 8);
  if (flags & kDnsIsAnswer) return {};
  flags &= kDnsOpcode | kDnsRecursionDesired;
  flags |= kDnsIsAnswer | kDnsRecursionAvailable | static_cast<uint16_t>(code);
  std::vector<uint8_t> out;
  append_header(out, id, flags, 0);
  return out;
}

std::vector<uint8_t> dns_error(std::span<const uint8_t> packet) {
  bool other_opcode = packet.size() > 2 && (packet[2] << 8 & kDnsOpcode) != 0;
  return dns_error(packet, other_opcode ? DnsCode::kNotImplemented : DnsCode::kFormat);
}

std::vector<uint8_t> dns_tcp_frame(std::span<const uint8_t> message) {
  if (message.empty() || message.size() > kMaxDnsMessage) return {};
  std::vector<uint8_t> out;
  out.reserve(message.size() + 2);
  append_u16(out, static_cast<uint16_t>(message.size()));
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

Result<std::optional<DnsTcpFrame>> parse_dns_tcp_frame(std::span<const uint8_t> so_far) {
  ByteReader reader(so_far);
  size_t size = reader.u16();
  if (!reader.good()) return std::optional<DnsTcpFrame>();
  if (size == 0 || size > kMaxDnsQuery)
    return Error::plain(fmt::format("DNS query of {} bytes over TCP", size));
  std::span<const uint8_t> message = reader.take(size);
  if (!reader.good()) return std::optional<DnsTcpFrame>();
  return std::optional(DnsTcpFrame{message, reader.at()});
}

}  // namespace caisson
