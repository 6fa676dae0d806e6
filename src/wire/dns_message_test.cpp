#include "wire/dns_message.h"

#include <gtest/gtest.h>

#include "rules/host.h"
#include "wire/dns_records.h"
#include "wire/samples.h"

namespace caisson {
namespace {

using samples::bytes_of;
using Bytes = std::vector<uint8_t>;

// A header with one question and these counts of additional records, then what is given.
Bytes query(std::string_view rest, uint8_t additional = 0) {
  Bytes packet = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, additional};
  Bytes more = bytes_of(rest);
  packet.insert(packet.end(), more.begin(), more.end());
  return packet;
}

constexpr std::string_view kA = "00010001";                  // type A, class IN
constexpr std::string_view kOpt = "0000291000000000000000";  // EDNS with 4096 bytes

// A name of labels with these sizes, and the type and class.
Bytes query_of_labels(std::initializer_list<int> sizes) {
  Bytes packet = query("");
  for (int size : sizes) {
    packet.push_back(static_cast<uint8_t>(size));
    packet.insert(packet.end(), static_cast<size_t>(size), 'a');
  }
  for (uint8_t byte : {0, 0, 1, 0, 1}) packet.push_back(byte);
  return packet;
}

DnsQuestion question_of(std::string_view hex) {
  Result<DnsQuestion> question = parse_dns_query(bytes_of(hex));
  EXPECT_TRUE(question.ok()) << question.error().what;
  return question.ok() ? *question : DnsQuestion();
}

bool refuses(const Bytes& packet) { return !parse_dns_query(packet).ok(); }

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) text += part;
  return text;
}

TEST(DnsQuery, WhatGlibcAsksIsUnderstood) {
  DnsQuestion question = question_of(samples::kGlibcQuery);
  EXPECT_EQ(question.id, 0xb790);
  EXPECT_EQ(question.name, "api.github.com");
  EXPECT_EQ(question.type, kDnsTypeA);
  EXPECT_EQ(question.klass, kDnsClassIn);
  EXPECT_TRUE(question.recursion_desired);
  EXPECT_TRUE(question.has_edns);
  EXPECT_EQ(question.udp_size, 1200);
}

TEST(DnsQuery, WhatGoAndNodeAskIsUnderstood) {
  DnsQuestion go = question_of(samples::kGoQuery), node = question_of(samples::kNodeQuery);
  EXPECT_EQ(go.name, "proxy.golang.org");
  EXPECT_EQ(go.type, kDnsTypeAaaa);
  EXPECT_EQ(go.udp_size, 1232);
  EXPECT_EQ(node.name, "registry.npmjs.org");
  EXPECT_FALSE(node.has_edns);
  EXPECT_EQ(node.udp_size, 512);
  EXPECT_EQ(question_of(samples::kSrvQuery).name, "_http._tcp.example.com");
  EXPECT_EQ(question_of(samples::kSrvQuery).type, kDnsTypeSrv);
  EXPECT_EQ(question_of(samples::kTxtQuery).type, kDnsTypeTxt);
}

TEST(DnsQuery, NoCutOfAQueryIsAQuery) {
  Bytes whole = bytes_of(samples::kGlibcQuery);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(refuses({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)})) << size;
}

TEST(DnsQuery, BytesBehindItAreRefused) {
  Bytes packet = bytes_of(samples::kNodeQuery);
  packet.push_back(0);
  EXPECT_TRUE(refuses(packet));
}

TEST(DnsQuery, TheRootIsAName) {
  Result<DnsQuestion> question = parse_dns_query(query("0000020001"));
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->name, "");
}

TEST(DnsQuery, LabelsEndAt63BytesAndNamesAt255) {
  EXPECT_FALSE(refuses(query_of_labels({63, 1})));
  EXPECT_TRUE(refuses(query_of_labels({64})));
  EXPECT_FALSE(refuses(query_of_labels({63, 63, 63, 61})));  // 64 + 64 + 64 + 62 + the root
  EXPECT_TRUE(refuses(query_of_labels({63, 63, 63, 62})));
}

TEST(DnsQuery, PointersInTheQuestionAreRefused) {
  EXPECT_TRUE(refuses(query(joined({"c00c", kA}))));      // to itself
  EXPECT_TRUE(refuses(query(joined({"0161c00c", kA}))));  // a label, then itself
  EXPECT_TRUE(refuses(query(joined({"c000", kA}))));
  EXPECT_FALSE(refuses(query(joined({"016100", kA}))));  // the label alone is well
}

TEST(DnsQuery, ADotOrANulWithinALabelIsRefused) {
  EXPECT_TRUE(refuses(query(joined({"03612e6200", kA}))));  // "a.b" as one label
  EXPECT_TRUE(refuses(query(joined({"0361006200", kA}))));
  EXPECT_FALSE(refuses(query(joined({"03612d6200", kA}))));
}

TEST(DnsQuery, OnlyOneQuestionAndNoRecords) {
  for (size_t at : {5u, 7u, 9u}) {
    Bytes packet = bytes_of(samples::kNodeQuery);
    packet[at] = at == 5 ? 0 : 1;
    EXPECT_TRUE(refuses(packet)) << at;
  }
  Bytes two = bytes_of(joined({"123401000002000000000000", "016100", kA, "016200", kA}));
  EXPECT_TRUE(refuses(two));
}

TEST(DnsQuery, AnswersTruncatedOnesAndOtherOpcodesAreRefused) {
  for (int flags : {0x80, 0x02, 0x08, 0x28}) {
    Bytes packet = bytes_of(samples::kNodeQuery);
    packet[2] = static_cast<uint8_t>(packet[2] | flags);
    EXPECT_TRUE(refuses(packet)) << flags;
  }
}

TEST(DnsQuery, TheSizeOfADatagramIsKeptWithinBounds) {
  auto size = [](std::string_view klass) {
    return question_of(
               joined({"123401000001000000000001", "016100", kA, "000029", klass, "000000000000"}))
        .udp_size;
  };
  EXPECT_EQ(size("0000"), 512);
  EXPECT_EQ(size("0201"), 513);
  EXPECT_EQ(size("1000"), 1232);
  EXPECT_EQ(size("ffff"), 1232);
}

TEST(DnsQuery, EdnsIsTakenOnceFromTheRootInVersionZero) {
  EXPECT_FALSE(refuses(query(joined({"016100", kA, kOpt}), 1)));
  EXPECT_TRUE(refuses(query(joined({"016100", kA, kOpt, kOpt}), 2)));
  EXPECT_TRUE(refuses(query(joined({"016100", kA, "016100291000000000000000"}), 1)));  // of "a"
  EXPECT_TRUE(refuses(query(joined({"016100", kA, "0000291000000100000000"}), 1)));    // version 1
}

TEST(DnsQuery, OptionsAndOtherAdditionalRecordsAreSteppedOver) {
  // A cookie in OPT; then a record of type 250 (TSIG) whose owner is a pointer.
  std::string_view cookie = "000029100000008000000c000a00080102030405060708";
  std::string_view signature = "c00c00fa00ff00000000000401020304";
  Result<DnsQuestion> question =
      parse_dns_query(query(joined({"016100", kA, cookie, signature}), 2));
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->name, "a");
  EXPECT_TRUE(question->has_edns);
  EXPECT_TRUE(refuses(query(joined({"016100", kA, "c00c00fa00ff00000000000501020304"}), 1)));
}

TEST(DnsQuery, ThereIsAnEndToAdditionalRecordsAndToTheSize) {
  auto with_records = [](uint8_t count) {
    Bytes packet = query(joined({"016100", kA}), count);
    for (int i = 0; i < count; ++i)
      for (uint8_t byte : bytes_of("0000100001000000000000")) packet.push_back(byte);
    return packet;
  };
  EXPECT_FALSE(refuses(with_records(8)));
  EXPECT_TRUE(refuses(with_records(9)));
  auto with_option_of = [](size_t size) {
    Bytes packet = query(joined({"016100", kA, "000029100000000000"}), 1);
    packet.push_back(static_cast<uint8_t>(size >> 8));
    packet.push_back(static_cast<uint8_t>(size));
    packet.resize(packet.size() + size);
    return packet;
  };
  size_t fits = kMaxDnsQuery - with_option_of(0).size();
  EXPECT_FALSE(refuses(with_option_of(fits)));
  EXPECT_TRUE(refuses(with_option_of(fits + 1)));
}

TEST(DnsAnswer, HasTheBytesOfTheSpecification) {
  DnsRecord record = address_record(*parse_ip("198.18.0.1"), 60);
  Bytes answer = dns_answer(question_of(samples::kGlibcQuery), DnsCode::kOk, {&record, 1}, 1232);
  EXPECT_EQ(answer, bytes_of("b79081800001000100000001"                  // header
                             "036170690667697468756203636f6d0000010001"  // question
                             "c00c000100010000003c0004c6120001"          // the record
                             "00002904d0000000000000"));                 // OPT
}

TEST(DnsAnswer, EchoesTheNameInTheCaseItCameIn) {
  Bytes packet = query(joined({"03614a7102434f00", kA}));  // aJq.CO
  Result<DnsQuestion> question = parse_dns_query(packet);
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->name, "aJq.CO");
  Bytes answer = dns_answer(*question, DnsCode::kRefused, {}, 512);
  ASSERT_EQ(answer.size(), packet.size());
  EXPECT_TRUE(std::equal(packet.begin() + 12, packet.end(), answer.begin() + 12));
  EXPECT_EQ(answer[2], 0x81);
  EXPECT_EQ(answer[3], 0x85);  // recursion available, REFUSED
  EXPECT_EQ(answer[11], 0);    // no OPT for who sent none
}

TEST(DnsAnswer, IsCutBetweenRecordsAndSaysSo) {
  std::vector<DnsRecord> records(100, address_record(*parse_ip("198.18.0.1"), 60));
  DnsQuestion question = question_of(samples::kNodeQuery);
  Bytes cut = dns_answer(question, DnsCode::kOk, records, question.udp_size);
  EXPECT_LE(cut.size(), 512u);
  EXPECT_TRUE(cut[2] & 0x02);
  EXPECT_EQ(cut[7], (512 - 36) / 16);
  EXPECT_EQ(cut.size(), 36u + 16u * cut[7]);
  Bytes whole = dns_answer(question, DnsCode::kOk, records, kMaxDnsMessage);
  EXPECT_FALSE(whole[2] & 0x02);
  EXPECT_EQ(whole[7], 100);
}

TEST(DnsAnswer, KeepsRoomForEdnsWhenItIsCut) {
  std::vector<DnsRecord> records(100, address_record(*parse_ip("fd63::1"), 60));
  DnsQuestion question = question_of(samples::kGoQuery);
  Bytes cut = dns_answer(question, DnsCode::kOk, records, question.udp_size);
  EXPECT_LE(cut.size(), 1232u);
  EXPECT_TRUE(cut[2] & 0x02);
  EXPECT_EQ(cut[11], 1);
  EXPECT_EQ((Bytes{cut.end() - 11, cut.end()}), bytes_of("00002904d0000000000000"));
}

TEST(DnsAnswer, TheLongestNameFitsIntoTheSmallestAnswer) {
  Result<DnsQuestion> question = parse_dns_query(query_of_labels({63, 63, 63, 61}));
  ASSERT_TRUE(question.ok());
  Bytes answer = dns_answer(*question, DnsCode::kOk, {}, 0);
  EXPECT_EQ(answer.size(), 12u + 255u + 4u);
  EXPECT_FALSE(answer[2] & 0x02);
}

TEST(DnsAnswer, ANameThatNoQueryHadHasNone) {
  for (const char* name : {"a..b", ".a", "a."})
    EXPECT_TRUE(dns_answer({.name = name}, DnsCode::kOk, {}, 512).empty()) << name;
}

TEST(DnsError, NeedsAnIdAndNeverAnswersAnAnswer) {
  EXPECT_TRUE(dns_error({}).empty());
  EXPECT_TRUE(dns_error(Bytes{1}).empty());
  EXPECT_TRUE(dns_error(Bytes{1, 2, 0x80}).empty());
  EXPECT_EQ(dns_error(Bytes{1, 2}), bytes_of("010280810000000000000000"));
  EXPECT_EQ(dns_error(Bytes{1, 2, 1, 0}, DnsCode::kFailed), bytes_of("010281820000000000000000"));
}

TEST(DnsError, AnUnknownOpcodeIsNotImplementedAndEchoed) {
  EXPECT_EQ(dns_error(Bytes{1, 2, 0x28, 0}), bytes_of("0102a8840000000000000000"));  // update
  EXPECT_EQ(dns_error(Bytes{1, 2, 0x01, 0}), bytes_of("010281810000000000000000"));
}

TEST(DnsTcp, AFrameIsTakenWhenAllOfItIsThere) {
  Bytes query = bytes_of(samples::kNodeQuery), stream = dns_tcp_frame(query);
  ASSERT_EQ(stream.size(), query.size() + 2);
  EXPECT_EQ(stream[1], query.size());
  for (size_t size = 0; size < stream.size(); ++size) {
    auto frame = parse_dns_tcp_frame(std::span(stream).first(size));
    ASSERT_TRUE(frame.ok()) << size;
    EXPECT_FALSE(frame->has_value()) << size;
  }
  stream.push_back(0xff);  // the next frame begins
  auto frame = parse_dns_tcp_frame(stream);
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->used, query.size() + 2);
  EXPECT_EQ(Bytes((*frame)->message.begin(), (*frame)->message.end()), query);
}

TEST(DnsTcp, EmptyAndHugeFramesAreRefusedByTheirLengthAlone) {
  EXPECT_FALSE(parse_dns_tcp_frame(Bytes{0, 0}).ok());
  EXPECT_FALSE(parse_dns_tcp_frame(Bytes{0x10, 0x01}).ok());
  EXPECT_TRUE(parse_dns_tcp_frame(Bytes{0x10, 0x00}).ok());
  EXPECT_TRUE(dns_tcp_frame({}).empty());
  EXPECT_TRUE(dns_tcp_frame(Bytes(65536)).empty());
}

}  // namespace
}  // namespace caisson
