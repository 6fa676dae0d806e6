// DNS from both sides: queries that a cell wrote, answers that a server wrote. What is taken can be
// answered, and what was read out of an answer reads the same out of ours.
#include <algorithm>
#include <cstdint>

#include "require.h"
#include "wire/byte_reader.h"
#include "wire/dns_message.h"
#include "wire/dns_name.h"
#include "wire/dns_records.h"

namespace caisson {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kHeader = 12;

void check_error(Bytes packet) {
  std::vector<uint8_t> answer = dns_error(packet);
  bool answerable = packet.size() >= 2 && (packet.size() == 2 || !(packet[2] & 0x80));
  REQUIRE(answer.size() == (answerable ? kHeader : 0));
  REQUIRE(!answerable || (answer[0] == packet[0] && answer[1] == packet[1] && answer[2] & 0x80));
}

void check_answer(const DnsQuestion& question, Bytes packet, size_t max_size) {
  std::vector<DnsRecord> records(100, DnsRecord{kDnsTypeA, 60, {198, 18, 0, 1}});
  std::vector<uint8_t> answer = dns_answer(question, DnsCode::kOk, records, max_size);
  REQUIRE(answer.size() >= kHeader && answer.size() <= std::max<size_t>(max_size, kMinDnsUdp));
  REQUIRE(answer[0] == packet[0] && answer[1] == packet[1]);
  size_t asked = question.name.empty() ? 5 : question.name.size() + 6;
  REQUIRE(std::equal(packet.begin() + kHeader,
                     packet.begin() + static_cast<ptrdiff_t>(kHeader + asked),
                     answer.begin() + kHeader));
  bool cut = answer[2] & 0x02;
  REQUIRE(cut == (max_size < 2000));
  if (cut || question.type != kDnsTypeA || question.klass != kDnsClassIn) return;
  auto again = parse_dns_records(answer, question);
  REQUIRE(again.ok() && *again == records);
}

void check_query(Bytes packet) {
  Result<DnsQuestion> question = parse_dns_query(packet);
  if (!question) return fuzz::require_good(question.error());
  REQUIRE(packet.size() <= kMaxDnsQuery && question->name.size() <= 253);
  REQUIRE(question->name.find('\0') == std::string::npos);
  REQUIRE(question->udp_size >= kMinDnsUdp && question->udp_size <= kMaxDnsUdp);
  REQUIRE(question->has_edns || question->udp_size == kMinDnsUdp);
  for (size_t size : {size_t{0}, size_t{question->udp_size}, kMaxDnsMessage})
    check_answer(*question, packet, size);
}

// As the answer to whatever question stands in it.
void check_records(Bytes packet) {
  if (packet.size() < kHeader) return;
  ByteReader reader(packet);
  reader.take(kHeader);
  DnsQuestion question;
  question.name = read_plain_name(reader);
  question.type = reader.u16();
  question.klass = reader.u16();
  auto records = parse_dns_records(packet, question);
  if (!records) return fuzz::require_good(records.error());
  REQUIRE(reader.good() && records->size() <= 256);
  for (const DnsRecord& record : *records) {
    REQUIRE(record.type == question.type && record.ttl <= 0x7fffffff);
    REQUIRE(record.type != kDnsTypeSrv || parse_service(record).ok());
    REQUIRE(record.type != kDnsTypeTxt || parse_texts(record).ok());
    REQUIRE(record.type != kDnsTypeA || record.data.size() == 4);
  }
  std::vector<uint8_t> answer = dns_answer(question, DnsCode::kOk, *records, kMaxDnsMessage);
  if (answer[2] & 0x02) return;  // written out, names may be longer than a message can be
  auto again = parse_dns_records(answer, question);
  REQUIRE(again.ok() && *again == *records);
}

void check_frame(Bytes stream) {
  auto frame = parse_dns_tcp_frame(stream);
  if (!frame) return fuzz::require_good(frame.error());
  if (!frame->has_value()) return;
  REQUIRE((*frame)->used <= stream.size() && (*frame)->used == (*frame)->message.size() + 2);
  std::vector<uint8_t> again = dns_tcp_frame((*frame)->message);
  REQUIRE(std::ranges::equal(again, stream.first((*frame)->used)));
}

}  // namespace
}  // namespace caisson

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caisson;
  std::span<const uint8_t> packet(data, size);
  check_error(packet);
  check_query(packet);
  check_records(packet);
  check_frame(packet);
  return 0;
}
