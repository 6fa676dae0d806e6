#include "wire/dns_records.h"

#include <algorithm>

#include <fmt/format.h>

#include "wire/byte_reader.h"
#include "wire/dns_flags.h"
#include "wire/dns_name.h"

namespace caisson {

namespace {

constexpr uint16_t kTypeCname = 5;
constexpr size_t kMaxAnswers = 256;
constexpr int kMaxAliases = 8;
constexpr uint32_t kMaxTtl = 0x7fffffff;  // RFC 2181 8: with the top bit set it is zero

struct Answer {
  std::string owner, alias;  // alias: where a CNAME leads
  DnsRecord record;
};

bool is_texts(std::span<const uint8_t> data) {
  ByteReader reader(data);
  do reader.take(reader.u8());
  while (reader.left() > 0);
  return reader.whole();
}

// The data of a record as it stands by itself; fails the reader when it isn't what the type says.
std::vector<uint8_t> read_data(ByteReader& reader, std::span<const uint8_t> packet, uint16_t type,
                               size_t size) {
  size_t ends = reader.at() + size;
  std::vector<uint8_t> data;
  if (type == kDnsTypeSrv) {
    std::span<const uint8_t> numbers = reader.take(6);
    data.assign(numbers.begin(), numbers.end());
    if (!append_name(data, read_packed_name(reader, packet))) reader.fail();
  } else {
    std::span<const uint8_t> bytes = reader.take(size);
    data.assign(bytes.begin(), bytes.end());
  }
  bool right = (type != kDnsTypeA || size == 4) && (type != kDnsTypeAaaa || size == 16) &&
               (type != kDnsTypeTxt || is_texts(data));
  if (!right || reader.at() != ends) reader.fail();
  return data;
}

// Records of other types and classes come back with type 0.
Answer read_answer(ByteReader& reader, std::span<const uint8_t> packet, uint16_t wanted) {
  Answer answer;
  answer.owner = read_packed_name(reader, packet);
  uint16_t type = reader.u16(), klass = reader.u16();
  answer.record.ttl = reader.u32();
  size_t size = reader.u16();
  if (answer.record.ttl > kMaxTtl) answer.record.ttl = 0;
  if (klass != kDnsClassIn || (type != wanted && type != kTypeCname)) {
    reader.take(size);
    return answer;
  }
  answer.record.type = type;
  if (type == kTypeCname) {
    size_t ends = reader.at() + size;
    answer.alias = read_packed_name(reader, packet);
    if (reader.at() != ends) reader.fail();
  } else {
    answer.record.data = read_data(reader, packet, type, size);
  }
  return answer;
}

Result<std::vector<DnsRecord>> records_for(std::span<const Answer> answers,
                                           const DnsQuestion& question) {
  std::string name = question.name;
  uint32_t ttl = kMaxTtl;  // of the name's way to its records
  for (int aliases = 0;; ++aliases) {
    auto alias = std::ranges::find_if(answers, [&](const Answer& answer) {
      return answer.record.type == kTypeCname && same_name(answer.owner, name);
    });
    if (alias == answers.end()) break;
    if (aliases == kMaxAliases) return Error::plain("DNS answer with too many aliases");
    name = alias->alias;
    ttl = std::min(ttl, alias->record.ttl);
  }
  std::vector<DnsRecord> records;
  for (const Answer& answer : answers) {
    if (answer.record.type != question.type || !same_name(answer.owner, name)) continue;
    records.push_back(answer.record);
    records.back().ttl = std::min(ttl, answer.record.ttl);
  }
  return records;
}

// Reads header and question; gives how many answers follow.
Result<uint16_t> read_head(ByteReader& reader, const DnsQuestion& question) {
  reader.u16();  // the id: the asker's
  uint16_t flags = reader.u16(), questions = reader.u16(), answers = reader.u16();
  reader.u32();  // authorities and additional records are not read
  if (!reader.good()) return Error::plain("DNS answer without a whole header");
  if (!(flags & kDnsIsAnswer) || (flags & kDnsOpcode) || questions != 1)
    return Error::plain("DNS answer that isn't one");
  if (flags & kDnsTruncated) return Error::plain("DNS answer that was cut short");
  if (flags & kDnsCode)
    return Error::plain(fmt::format("DNS answer with code {}", flags & kDnsCode));
  std::string name = read_plain_name(reader);
  uint16_t type = reader.u16(), klass = reader.u16();
  if (!reader.good() || !same_name(name, question.name) || type != question.type ||
      klass != kDnsClassIn)
    return Error::plain("DNS answer to another question");
  return answers;
}

}  // namespace

DnsRecord address_record(const IpAddress& address, uint32_t ttl) {
  DnsRecord record{address.is_v6 ? kDnsTypeAaaa : kDnsTypeA, ttl, {}};
  record.data.assign(address.bytes.begin(), address.bytes.begin() + (address.is_v6 ? 16 : 4));
  return record;
}

Result<DnsRecord> text_record(std::span<const std::string> texts, uint32_t ttl) {
  DnsRecord record{kDnsTypeTxt, ttl, {}};
  for (const std::string& text : texts) {
    if (text.size() > 255) return Error::plain("text of more than 255 bytes for a TXT record");
    record.data.push_back(static_cast<uint8_t>(text.size()));
    record.data.insert(record.data.end(), text.begin(), text.end());
  }
  if (record.data.empty() || record.data.size() > kMaxDnsMessage)
    return Error::plain("TXT record without a text, or with too many");
  return record;
}

Result<DnsRecord> service_record(const DnsService& service, uint32_t ttl) {
  DnsRecord record{kDnsTypeSrv, ttl, {}};
  append_u16(record.data, service.priority);
  append_u16(record.data, service.weight);
  append_u16(record.data, service.port);
  if (!append_name(record.data, service.target))
    return Error::plain("SRV record whose target is no name");
  return record;
}

Result<DnsService> parse_service(const DnsRecord& record) {
  ByteReader reader(record.data);
  DnsService service{reader.u16(), reader.u16(), reader.u16(), read_plain_name(reader)};
  if (record.type != kDnsTypeSrv || !reader.whole()) return Error::plain("broken SRV record");
  return service;
}

Result<std::vector<std::string>> parse_texts(const DnsRecord& record) {
  if (record.type != kDnsTypeTxt || !is_texts(record.data))
    return Error::plain("broken TXT record");
  ByteReader reader(record.data);
  std::vector<std::string> texts;
  while (reader.left() > 0) texts.push_back(reader.text(reader.u8()));
  return texts;
}

Result<std::vector<DnsRecord>> parse_dns_records(std::span<const uint8_t> packet,
                                                 const DnsQuestion& question) {
  constexpr uint16_t kKnown[] = {kDnsTypeA, kDnsTypeAaaa, kDnsTypeTxt, kDnsTypeSrv};
  if (std::ranges::find(kKnown, question.type) == std::end(kKnown))
    return Error::plain(fmt::format("DNS records of type {} are not read", question.type));
  if (packet.size() > kMaxDnsMessage) return Error::plain("DNS answer that is too long");
  ByteReader reader(packet);
  uint16_t count = TRY(read_head(reader, question));
  if (count > kMaxAnswers) return Error::plain("DNS answer with too many records");
  std::vector<Answer> answers;
  for (uint16_t i = 0; i < count && reader.good(); ++i)
    answers.push_back(read_answer(reader, packet, question.type));
  if (!reader.good()) return Error::plain("DNS answer with broken records");
  return records_for(answers, question);
}

}  // namespace caisson
