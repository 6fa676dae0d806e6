#include "wire/client_hello.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "wire/byte_reader.h"
#include "wire/samples.h"

namespace caisson {
namespace {

using samples::bytes_of;
using Bytes = std::vector<uint8_t>;
using Names = std::vector<std::string>;

struct Parsed {
  HelloState state;
  ClientHello hello;
  std::string why;
};
Parsed parse(std::span<const uint8_t> bytes) {
  Parsed parsed;
  parsed.state = parse_client_hello(bytes, parsed.hello, parsed.why);
  return parsed;
}
Parsed parse(std::string_view hex) { return parse(bytes_of(hex)); }

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

Bytes extension(uint16_t type, const Bytes& body) {
  Bytes bytes;
  append_u16(bytes, type);
  append_u16(bytes, static_cast<uint16_t>(body.size()));
  append(bytes, body);
  return bytes;
}
Bytes extension(uint16_t type, std::string_view hex) { return extension(type, bytes_of(hex)); }

Bytes server_name(std::string_view name) {
  Bytes body;
  append_u16(body, static_cast<uint16_t>(name.size() + 3));
  body.push_back(0);
  append_u16(body, static_cast<uint16_t>(name.size()));
  body.insert(body.end(), name.begin(), name.end());
  return extension(0, body);
}

// The message with these extensions, without records.
Bytes message(std::initializer_list<Bytes> extensions) {
  Bytes all, body = {3, 3};
  for (const Bytes& one : extensions) append(all, one);
  body.resize(34, 0x5a);
  append(body, bytes_of("00"        // no session
                        "00021301"  // one suite
                        "0100"));   // no compression
  append_u16(body, static_cast<uint16_t>(all.size()));
  append(body, all);
  Bytes whole = {1, 0};
  append_u16(whole, static_cast<uint16_t>(body.size()));
  append(whole, body);
  return whole;
}

// Cut into records of at most this size.
Bytes in_records(const Bytes& bytes, size_t record) {
  Bytes out;
  for (size_t at = 0; at < bytes.size(); at += record) {
    size_t size = std::min(record, bytes.size() - at);
    append(out, {22, 3, 1});
    append_u16(out, static_cast<uint16_t>(size));
    out.insert(out.end(), bytes.begin() + static_cast<ptrdiff_t>(at),
               bytes.begin() + static_cast<ptrdiff_t>(at + size));
  }
  return out;
}
Bytes hello(std::initializer_list<Bytes> extensions) {
  return in_records(message(extensions), 16384);
}

TEST(ClientHello, OfCurlNamesItsHostAndProtocols) {
  Parsed parsed = parse(samples::kCurlHello);
  ASSERT_EQ(parsed.state, HelloState::kDone) << parsed.why;
  EXPECT_EQ(parsed.hello.server_name, "api.github.com");
  EXPECT_EQ(parsed.hello.alpn, (Names{"h2", "http/1.1"}));
  EXPECT_FALSE(parsed.hello.has_ech);
  EXPECT_FALSE(parsed.hello.has_early_data);
}

TEST(ClientHello, OfManyProgramsIsUnderstood) {
  struct {
    std::string_view sample, name;
    Names alpn;
  } cases[] = {{samples::kOpensslHello, "Mixed.Example.ORG", {}},
               {samples::kTls12Hello, "", {}},
               {samples::kNodeHello, "registry.npmjs.org", {"h2", "http/1.1"}},
               {samples::kPythonHello, "pypi.org", {}},
               {samples::kGoHello, "proxy.golang.org", {"h2", "http/1.1"}},
               {samples::kJavaHello, "repo1.maven.org", {}}};
  for (const auto& one : cases) {
    Parsed parsed = parse(one.sample);
    ASSERT_EQ(parsed.state, HelloState::kDone) << one.name << parsed.why;
    EXPECT_EQ(parsed.hello.server_name, one.name);
    EXPECT_EQ(parsed.hello.alpn, one.alpn);
    EXPECT_FALSE(parsed.hello.has_ech);
  }
}

TEST(ClientHello, EveryCutNeedsMore) {
  Bytes bytes = bytes_of(samples::kGoHello);
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_EQ(parse(std::span(bytes).first(size)).state, HelloState::kNeedMore) << size;
}

TEST(ClientHello, MayBeCutIntoRecordsAnywhere) {
  Bytes whole = message({server_name("example.com")});
  for (size_t record = 1; record <= whole.size(); ++record) {
    Bytes bytes = in_records(whole, record);
    Parsed parsed = parse(bytes);
    ASSERT_EQ(parsed.state, HelloState::kDone) << record << parsed.why;
    EXPECT_EQ(parsed.hello.server_name, "example.com");
    bytes.pop_back();
    EXPECT_EQ(parse(bytes).state, HelloState::kNeedMore) << record;
  }
}

TEST(ClientHello, BytesBehindItDontMatter) {
  Bytes bytes = hello({server_name("example.com")});
  append(bytes, bytes_of("140303000101"  // a change of cipher
                         "17"));         // early data begins
  EXPECT_EQ(parse(bytes).state, HelloState::kDone);
  bytes.resize(100'000, 0xff);
  EXPECT_EQ(parse(bytes).state, HelloState::kDone);
  EXPECT_EQ(parse(bytes).hello.server_name, "example.com");
}

TEST(ClientHello, OtherRecordsWithinItAreBad) {
  Bytes whole = message({server_name("example.com")}), cut = in_records(whole, 40);
  cut[45] = 21;  // an alert where the second record begins
  Parsed parsed = parse(cut);
  EXPECT_EQ(parsed.state, HelloState::kBad);
  EXPECT_EQ(parsed.why, "another record within the ClientHello");
}

TEST(ClientHello, WhatDoesntBeginLikeTlsIsNotTls) {
  for (std::string_view hex : {"47", "00", "05", "15030100", "17", "53"})
    EXPECT_EQ(parse(hex).state, HelloState::kNotTls) << hex;
  EXPECT_EQ(parse("").state, HelloState::kNeedMore);
  EXPECT_EQ(parse("16").state, HelloState::kNeedMore);
}

TEST(ClientHello, BrokenRecordsAreBadAtTheFirstWrongByte) {
  for (std::string_view hex :
       {"1602", "1647", "1603010000", "1603014001", "160301000102", "16030100040100ffff"})
    EXPECT_EQ(parse(hex).state, HelloState::kBad) << hex;
}

TEST(ClientHello, OfSsl2IsBadAndWhatOnlyLooksLikeItIsNotTls) {
  EXPECT_EQ(parse("802e010301").state, HelloState::kBad);  // for TLS 1.0, in the old header
  EXPECT_EQ(parse("802e010002").state, HelloState::kBad);
  EXPECT_EQ(parse("802e01").state, HelloState::kNeedMore);
  EXPECT_EQ(parse("802e02").state, HelloState::kNotTls);
  EXPECT_EQ(parse("802e0109").state, HelloState::kNotTls);
  EXPECT_EQ(parse("802e010003").state, HelloState::kNotTls);
}

TEST(ClientHello, ANameTwiceIsBad) {
  Bytes twice = hello({server_name("a.example"), server_name("b.example")});
  EXPECT_EQ(parse(twice).state, HelloState::kBad);
  EXPECT_EQ(parse(twice).why, "extension 0 twice");
  // Two in one list, which RFC 6066 forbids too.
  EXPECT_EQ(parse(hello({extension(0, "00080000016100000162")})).state, HelloState::kBad);
}

TEST(ClientHello, AnyExtensionTwiceIsBadButGreaseIsNot) {
  EXPECT_EQ(parse(hello({extension(0xaaaa, ""), extension(0xaaaa, "00")})).state, HelloState::kBad);
  Parsed parsed =
      parse(hello({extension(0x1a1a, ""), server_name("a.b"), extension(0xeaea, "00")}));
  EXPECT_EQ(parsed.state, HelloState::kDone) << parsed.why;
  EXPECT_EQ(parsed.hello.server_name, "a.b");
}

TEST(ClientHello, ABrokenNameIsBad) {
  for (std::string_view body : {"", "0000", "0003000000", "000401000161", "00040000026161",
                                "00040000016161", "000500000161", "0003000001"})
    EXPECT_EQ(parse(hello({extension(0, body)})).state, HelloState::kBad) << body;
  EXPECT_EQ(parse(hello({extension(0, "000400000161")})).state, HelloState::kDone);
  EXPECT_EQ(parse(hello({server_name(std::string(255, 'a'))})).state, HelloState::kDone);
  EXPECT_EQ(parse(hello({server_name(std::string(256, 'a'))})).state, HelloState::kBad);
}

TEST(ClientHello, ANameIsGivenAsSentForTheRulesToJudge) {
  std::string odd("good.example\0.evil", 18);
  EXPECT_EQ(parse(hello({server_name(odd)})).hello.server_name, odd);
}

TEST(ClientHello, BrokenProtocolsAreBad) {
  for (std::string_view body : {"", "0000", "000100", "0003026832ff", "00020268"})
    EXPECT_EQ(parse(hello({extension(16, body)})).state, HelloState::kBad) << body;
  EXPECT_EQ(parse(hello({extension(16, "0003026832")})).hello.alpn, Names{"h2"});
}

TEST(ClientHello, HiddenNamesAndEarlyDataAreTold) {
  EXPECT_TRUE(parse(hello({extension(0xfe0d, "00")})).hello.has_ech);
  EXPECT_TRUE(parse(hello({extension(0xffce, "")})).hello.has_ech);
  EXPECT_TRUE(parse(hello({extension(42, "")})).hello.has_early_data);
  EXPECT_EQ(parse(hello({extension(42, "00")})).state, HelloState::kBad);
  EXPECT_FALSE(parse(hello({extension(43, "")})).hello.has_early_data);
}

TEST(ClientHello, LengthsThatDontAddUpAreBad) {
  Bytes good = message({server_name("a.b")});
  ASSERT_EQ(parse(in_records(good, 16384)).state, HelloState::kDone);
  auto with = [&](size_t at, int value) {
    Bytes bytes = good;
    bytes[at] = static_cast<uint8_t>(value);
    return parse(in_records(bytes, 16384)).state;
  };
  EXPECT_EQ(with(3, good[3] - 1), HelloState::kBad);  // the message a byte shorter
  EXPECT_EQ(with(4, 2), HelloState::kBad);            // its version
  EXPECT_EQ(with(38, 33), HelloState::kBad);          // the session
  EXPECT_EQ(with(40, 1), HelloState::kBad);           // half a suite
  EXPECT_EQ(with(40, 0), HelloState::kBad);           // no suite
  EXPECT_EQ(with(43, 0), HelloState::kBad);           // no compression
  EXPECT_EQ(with(46, good[46] - 1), HelloState::kBad);
  EXPECT_EQ(with(46, good[46] + 1), HelloState::kBad);
}

TEST(ClientHello, WithoutExtensionsHasNoName) {
  Bytes bytes = message({});
  bytes.pop_back(), bytes.pop_back();  // the length of none
  bytes[3] = static_cast<uint8_t>(bytes[3] - 2);
  Parsed parsed = parse(in_records(bytes, 16384));
  EXPECT_EQ(parsed.state, HelloState::kDone) << parsed.why;
  EXPECT_EQ(parsed.hello.server_name, "");
}

TEST(ClientHello, ThereIsAnEndToItsSize) {
  auto padded = [](size_t padding) { return hello({extension(21, Bytes(padding))}); };
  size_t fits = kMaxClientHello - padded(0).size();
  EXPECT_EQ(parse(padded(fits)).state, HelloState::kDone);
  Bytes longer = padded(fits + 1);
  EXPECT_EQ(parse(longer).state, HelloState::kBad);
  EXPECT_EQ(parse(longer).why, "ClientHello that is too long");
  // In records of one byte each the headers count too.
  Bytes tiny = in_records(message({extension(21, Bytes(4000))}), 1);
  EXPECT_EQ(parse(tiny).state, HelloState::kBad);
  // What can't fit is refused by its length, before it is there.
  EXPECT_EQ(parse("16030100040100ffff").why, "ClientHello that is too long");
}

TEST(ClientHello, NothingOfAnEarlierOneStays) {
  ClientHello out;
  std::string why = "old";
  ASSERT_EQ(parse_client_hello(bytes_of(samples::kCurlHello), out, why), HelloState::kDone);
  ASSERT_EQ(parse_client_hello(bytes_of(samples::kTls12Hello), out, why), HelloState::kDone);
  EXPECT_EQ(out.server_name, "");
  EXPECT_TRUE(out.alpn.empty());
  EXPECT_EQ(why, "");
}

}  // namespace
}  // namespace caisson
