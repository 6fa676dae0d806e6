#include "wire/dns_records.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "wire/byte_reader.h"
#include "wire/dns_name.h"
#include "wire/samples.h"

namespace caisson {
namespace {

using samples::bytes_of;
using Bytes = std::vector<uint8_t>;

constexpr uint16_t kCname = 5;

DnsQuestion ask(std::string name, uint16_t type) {
  DnsQuestion question;
  question.name = std::move(name);
  question.type = type;
  question.klass = kDnsClassIn;
  return question;
}

// Writes an upstream server's answer, right or wrong as the test wants it.
class Upstream {
 public:
  explicit Upstream(const DnsQuestion& question) {
    bytes = {0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0};
    append_name(bytes, question.name);
    append_u16(bytes, question.type);
    append_u16(bytes, question.klass);
  }
  // Owner and data in hex; the question's name is at c00c.
  Upstream& record(std::string_view owner, uint16_t type, std::string_view data, uint32_t ttl = 300,
                   uint16_t klass = 1) {
    Bytes name = bytes_of(owner), rest = bytes_of(data);
    bytes.insert(bytes.end(), name.begin(), name.end());
    append_u16(bytes, type);
    append_u16(bytes, klass);
    append_u32(bytes, ttl);
    append_u16(bytes, static_cast<uint16_t>(rest.size()));
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    if (++bytes[7] == 0) ++bytes[6];
    return *this;
  }
  Bytes bytes;
};

const DnsQuestion kSrv = ask("_ldap._tcp.example.com", kDnsTypeSrv);
const DnsQuestion kTxt = ask("example.com", kDnsTypeTxt);

size_t count(const Upstream& upstream, const DnsQuestion& question) {
  auto records = parse_dns_records(upstream.bytes, question);
  EXPECT_TRUE(records.ok()) << records.error().what;
  return records.ok() ? records->size() : 0;
}

bool refuses_record(const Upstream& upstream, const DnsQuestion& question) {
  return !parse_dns_records(upstream.bytes, question).ok();
}

TEST(DnsRecords, ACompressedTargetIsWrittenOut) {
  Upstream upstream(kSrv);
  // 12 + "_ldap" 6 + "_tcp" 5: the name's "example.com" stands at 0x17.
  upstream.record("c00c", kDnsTypeSrv, "000a0014018503647331c017", 120);
  auto records = parse_dns_records(upstream.bytes, kSrv);
  ASSERT_TRUE(records.ok()) << records.error().what;
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ(records->front().ttl, 120u);
  EXPECT_EQ(records->front().data, bytes_of("000a0014018503647331076578616d706c6503636f6d00"));
  Result<DnsService> service = parse_service(records->front());
  ASSERT_TRUE(service.ok());
  EXPECT_EQ(*service, (DnsService{10, 20, 389, "ds1.example.com"}));
  EXPECT_EQ(*service_record(*service, 120), records->front());
}

TEST(DnsRecords, TextsAreGivenAsTheyAre) {
  Upstream upstream(kTxt);
  upstream.record("c00c", kDnsTypeTxt, "0361626300").record("c00c", kDnsTypeTxt, "02ff00");
  auto records = parse_dns_records(upstream.bytes, kTxt);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ(*parse_texts(records->at(0)), (std::vector<std::string>{"abc", ""}));
  EXPECT_EQ(*parse_texts(records->at(1)), (std::vector<std::string>{std::string("\xff\0", 2)}));
}

TEST(DnsRecords, NoCutOfAnAnswerIsAnAnswer) {
  Upstream upstream(kSrv);
  upstream.record("c00c", kDnsTypeSrv, "000a0014018503647331c017");
  for (size_t size = 0; size < upstream.bytes.size(); ++size)
    EXPECT_FALSE(parse_dns_records(std::span(upstream.bytes).first(size), kSrv).ok()) << size;
}

TEST(DnsRecords, AnAliasIsFollowedAndItsTimeCounts) {
  Upstream upstream(kTxt);
  // "w" under com, which stands at 0x14; first the records, then the alias that leads to them.
  upstream.record("0177c014", kDnsTypeTxt, "0161", 500).record("c00c", kCname, "0157c014", 30);
  auto records = parse_dns_records(upstream.bytes, kTxt);
  ASSERT_TRUE(records.ok()) << records.error().what;
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ(records->front(), (DnsRecord{kDnsTypeTxt, 30, {1, 'a'}}));
}

TEST(DnsRecords, RecordsOfOtherNamesTypesAndClassesAreLeftOut) {
  Upstream upstream(kTxt);
  upstream.record("0177c014", kDnsTypeTxt, "0161");    // w.com
  upstream.record("c00c", 46, "00");                   // a signature
  upstream.record("c00c", kDnsTypeTxt, "0161", 1, 3);  // of class CH
  EXPECT_EQ(count(upstream, kTxt), 0u);
  upstream.record("c00c", kDnsTypeTxt, "0161");
  EXPECT_EQ(count(upstream, kTxt), 1u);
}

TEST(DnsRecords, AliasesInACircleAreRefused) {
  Upstream upstream(kTxt);
  upstream.record("c00c", kCname, "0177c014").record("0177c014", kCname, "c00c");
  EXPECT_TRUE(refuses_record(upstream, kTxt));
}

TEST(DnsRecords, PointersThatDontLeadBackAreRefused) {
  size_t here = Upstream(kTxt).bytes.size();  // where the owner begins: 0x1d
  ASSERT_EQ(here, 0x1du);
  EXPECT_TRUE(refuses_record(Upstream(kTxt).record("c01d", kDnsTypeTxt, "0161"), kTxt));  // itself
  EXPECT_TRUE(
      refuses_record(Upstream(kTxt).record("0161c01d", kDnsTypeTxt, "0161"), kTxt));  // a circle
  EXPECT_TRUE(refuses_record(Upstream(kTxt).record("c028", kDnsTypeTxt, "0161"), kTxt));  // forward
  EXPECT_TRUE(refuses_record(Upstream(kTxt).record("ffff", kDnsTypeTxt, "0161"), kTxt));  // outside
  EXPECT_TRUE(refuses_record(Upstream(kTxt).record("4161", kDnsTypeTxt, "0161"), kTxt));  // no such
  EXPECT_EQ(count(Upstream(kTxt).record("c00c", kDnsTypeTxt, "0161"), kTxt), 1u);
}

TEST(DnsRecords, ALongChainOfPointersIsRefused) {
  // Each record of type 99 holds a pointer to the one before; the last owner goes through them all.
  auto chain = [](int length) {
    Upstream upstream(kTxt);
    size_t to = 12;
    for (int i = 0; i < length; ++i) {
      upstream.record("c00c", 99, fmt::format("{:04x}", 0xc000 | to));
      to = upstream.bytes.size() - 2;
    }
    return upstream.record(fmt::format("{:04x}", 0xc000 | to), kDnsTypeTxt, "0161");
  };
  EXPECT_EQ(count(chain(20), kTxt), 1u);
  EXPECT_TRUE(refuses_record(chain(40), kTxt));
}

TEST(DnsRecords, AnExpandedNameHasTheSameBounds) {
  // 63 + 63 + 63 and example.com: 64 * 3 + 13 = 205 fit, another 50 don't.
  std::string label = "3f";
  for (int i = 0; i < 63; ++i) label += "61";
  std::string fits = label + label + label, more = fits + "32";
  for (int i = 0; i < 50; ++i) more += "61";
  auto with = [](const std::string& labels) {
    return Upstream(kSrv).record("c00c", kDnsTypeSrv, "000000000050" + labels + "c017");
  };
  EXPECT_EQ(count(with(fits), kSrv), 1u);
  EXPECT_TRUE(refuses_record(with(more), kSrv));
  EXPECT_TRUE(refuses_record(with("03612e62"), kSrv));  // a dot within a label
}

TEST(DnsRecords, DataThatIsntWhatItsTypeSaysIsRefused) {
  EXPECT_TRUE(refuses_record(Upstream(kTxt).record("c00c", kDnsTypeTxt, ""), kTxt));
  EXPECT_TRUE(refuses_record(Upstream(kTxt).record("c00c", kDnsTypeTxt, "0361"), kTxt));
  EXPECT_TRUE(refuses_record(Upstream(kSrv).record("c00c", kDnsTypeSrv, "00000000005000ff"), kSrv));
  EXPECT_TRUE(refuses_record(Upstream(kSrv).record("c00c", kDnsTypeSrv, "0000000000"), kSrv));
  EXPECT_TRUE(refuses_record(Upstream(kTxt).record("c00c", kCname, "0161c01400"), kTxt));
  DnsQuestion a = ask("example.com", kDnsTypeA);
  EXPECT_TRUE(refuses_record(Upstream(a).record("c00c", kDnsTypeA, "0102030405"), a));
  EXPECT_EQ(count(Upstream(a).record("c00c", kDnsTypeA, "01020304"), a), 1u);
}

TEST(DnsRecords, TheAnswerMustBeToThisQuestion) {
  EXPECT_TRUE(refuses_record(Upstream(ask("example.org", kDnsTypeTxt)), kTxt));
  EXPECT_TRUE(refuses_record(Upstream(ask("example.com", kDnsTypeSrv)), kTxt));
  EXPECT_EQ(count(Upstream(ask("eXample.COM", kDnsTypeTxt)).record("c00c", 16, "0161"), kTxt), 1u);
}

TEST(DnsRecords, ACodeACutOrAQueryIsAnError) {
  for (auto [at, bit] : {std::pair(3, 3), std::pair(2, 2), std::pair(2, 0x80), std::pair(2, 8)}) {
    Upstream upstream(kTxt);
    ASSERT_EQ(count(upstream, kTxt), 0u);
    upstream.bytes[static_cast<size_t>(at)] ^= static_cast<uint8_t>(bit);
    EXPECT_TRUE(refuses_record(upstream, kTxt)) << at << ' ' << bit;
  }
}

TEST(DnsRecords, ThereIsAnEndToHowManyAreRead) {
  Upstream upstream(kTxt);
  for (int i = 0; i < 256; ++i) upstream.record("c00c", kDnsTypeTxt, "0161");
  EXPECT_EQ(count(upstream, kTxt), 256u);
  upstream.record("c00c", kDnsTypeTxt, "0161");
  EXPECT_TRUE(refuses_record(upstream, kTxt));
}

TEST(DnsRecords, OtherTypesAreNotRead) {
  DnsQuestion mx = ask("example.com", 15);
  EXPECT_TRUE(refuses_record(Upstream(mx), mx));
}

TEST(DnsRecords, ATimeWithTheTopBitIsNone) {
  Upstream upstream(kTxt);
  upstream.record("c00c", kDnsTypeTxt, "0161", 0x80000000);
  EXPECT_EQ(parse_dns_records(upstream.bytes, kTxt)->at(0).ttl, 0u);
}

TEST(DnsRecords, WhatIsReadUpstreamIsWhatACellReads) {
  Upstream upstream(kSrv);
  upstream.record("c00c", kDnsTypeSrv, "000a0014018503647331c017");
  auto records = parse_dns_records(upstream.bytes, kSrv);
  ASSERT_TRUE(records.ok());
  Bytes answer = dns_answer(kSrv, DnsCode::kOk, *records, kMaxDnsMessage);
  auto again = parse_dns_records(answer, kSrv);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *records);
}

TEST(DnsRecords, AreMadeOfAddressesAndTexts) {
  EXPECT_EQ(address_record(*parse_ip("198.18.0.1"), 5), (DnsRecord{1, 5, {198, 18, 0, 1}}));
  DnsRecord six = address_record(*parse_ip("fd63::1"), 5);
  EXPECT_EQ(six.type, kDnsTypeAaaa);
  EXPECT_EQ(six.data, bytes_of("fd630000000000000000000000000001"));
  std::vector<std::string> texts = {"a", std::string(255, 'b')};
  EXPECT_EQ(*parse_texts(*text_record(texts, 5)), texts);
  texts.push_back(std::string(256, 'c'));
  EXPECT_FALSE(text_record(texts, 5).ok());
  EXPECT_FALSE(text_record({}, 5).ok());
  EXPECT_FALSE(service_record({1, 2, 3, "a..b"}, 5).ok());
  EXPECT_FALSE(parse_service(six).ok());
  EXPECT_FALSE(parse_texts(six).ok());
}

}  // namespace
}  // namespace caisson
