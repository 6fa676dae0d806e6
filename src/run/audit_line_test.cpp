#include "run/audit_line.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/text.h"
#include "run/audit_encode.h"

namespace caisson {
namespace {

namespace json = boost::json;
constexpr char kLineTime[] = "2026-07-31T09:30:05.042Z";

std::string without_newline(std::string line) {
  line.pop_back();
  return line;
}

TEST(AuditLine, IsReadAsItWasMade) {
  AuditHead head;
  std::string line = make_audit_line(head, kLineTime, R"({"kind":"start"})");
  EXPECT_EQ(head.end, line.size());
  Result<AuditEntry> entry = parse_audit_line(without_newline(line));
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->seq, 1u);
  EXPECT_EQ(entry->time, kLineTime);
  EXPECT_EQ(entry->prev, kNoHash);
  EXPECT_EQ(entry->hash, head.hash);
  EXPECT_EQ(json::serialize(entry->event), R"({"kind":"start"})");
  EXPECT_EQ(hash_in_trailer(line), head.hash);
}

TEST(AuditLine, EveryChangedByteShows) {
  AuditHead head;
  std::string line = without_newline(make_audit_line(head, kLineTime, R"({"kind":"start","n":1})"));
  ASSERT_TRUE(audit_hash_holds(line));
  for (size_t i = 0; i < line.size(); ++i) {
    std::string changed = line;
    changed[i] ^= 1;
    EXPECT_FALSE(audit_hash_holds(changed) && parse_audit_line(changed).ok()) << i;
  }
}

TEST(AuditLine, NoPrefixOfALineIsALine) {
  AuditHead head;
  std::string line = without_newline(make_audit_line(head, kLineTime, R"({"a":{"b":"c\"}"}})"));
  for (size_t size = 0; size < line.size(); ++size)
    EXPECT_FALSE(parse_audit_line(std::string_view(line).substr(0, size)).ok()) << size;
}

TEST(AuditLine, OnlyTheExactLayoutIsAnEntry) {
  AuditHead head;
  std::string line = without_newline(make_audit_line(head, kLineTime, "{}"));
  EXPECT_TRUE(parse_audit_line(line).ok());
  EXPECT_FALSE(parse_audit_line(" " + line).ok());
  EXPECT_FALSE(parse_audit_line(line + " ").ok());
  EXPECT_FALSE(parse_audit_line("{\"seq\":01" + line.substr(8)).ok());
  EXPECT_FALSE(parse_audit_line("{\"seq\":-1" + line.substr(8)).ok());
  EXPECT_FALSE(parse_audit_line("{\"seq\":99999999999999999999" + line.substr(8)).ok());
  EXPECT_FALSE(parse_audit_line(std::string(kMaxAuditLine, '{')).ok());
}

TEST(AuditLine, AnEventNestedTooDeepIsRefused) {
  AuditHead head;
  std::string deep = "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_FALSE(parse_audit_line(without_newline(make_audit_line(head, kLineTime, deep))).ok());
}

TEST(AuditHeadFile, HasOneSizeAndComesBack) {
  AuditHead small, large{UINT64_MAX, std::string(64, 'a'), UINT64_MAX};
  for (const AuditHead& head : {small, large}) {
    std::string text = format_audit_head(head);
    EXPECT_EQ(text.size(), kAuditHeadSize);
    EXPECT_EQ(parse_audit_head(text), head);
    for (size_t size = 0; size < text.size(); ++size)
      EXPECT_FALSE(parse_audit_head(text.substr(0, size)).has_value());
  }
  EXPECT_FALSE(parse_audit_head(std::string(kAuditHeadSize, ' ')).has_value());
}

std::string encoded(const json::object& event, size_t limit = kMaxAuditLine) {
  std::string text = encode_event(event, limit);
  EXPECT_LE(text.size(), limit);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(is_valid_utf8(text));
  boost::json::error_code problem;
  json::value back = json::parse(text, problem);
  EXPECT_FALSE(problem) << text;
  return text;
}

TEST(AuditEncode, KeepsEveryKindOfValue) {
  json::object event{{"n", nullptr}, {"t", true},  {"i", -5},       {"u", UINT64_MAX},
                     {"d", 1.9},     {"s", "häh"}, {"a", {1, "x"}}, {"o", json::object{{"k", 0}}}};
  std::string text = encoded(event);
  EXPECT_EQ(json::parse(text), json::value(event));
  EXPECT_EQ(encoded({{"d", 1.0 / 0.0 * 1}}), R"({"d":null})");
}

// T66: a newline in argv would be a line of its own; T42: escapes would reach whoever cats the
// file.
TEST(AuditEncode, TextCanNeitherEndItsLineNorSteerATerminal) {
  json::object event{{"argv",
                      {"a\nb", "\x1b]0;x\x07", "\x7f",
                       "\xc2\x9b"
                       "31m",
                       "\"}\\"}}};
  std::string text = encoded(event);
  for (unsigned char c : text) EXPECT_TRUE(c >= 0x20 && c != 0x7f);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(json::parse(text), json::value(event));
}

TEST(AuditEncode, BytesThatAreNoTextAreSpelledOut) {
  EXPECT_EQ(encoded({{"a", "x\xff\xc3(\xe2\x82y\x01"}}),
            "{\"a\":\"x\\\\xff\\\\xc3(\\\\xe2\\\\x82y\\u0001\"}");
}

TEST(AuditEncode, TooLongAnEventIsCutWithACount) {
  json::array argv{"prog", std::string(1'000'000, 'x')};
  for (int i = 0; i < 100'000; ++i) argv.push_back("ü");
  json::object event{{"kind", "start"}, {"id", "42"}, {"argv", std::move(argv)}};
  json::value back = json::parse(encoded(event));
  EXPECT_EQ(back.at("id"), "42");
  EXPECT_EQ(back.at("argv").as_array().size(), 257u);
  EXPECT_EQ(back.at("argv").as_array()[256], "… 99746 more");
  EXPECT_TRUE(back.at("argv").as_array()[1].as_string().ends_with("x… 995904 more bytes"));
  EXPECT_EQ(back.at("cut").at("strings"), 1);
  EXPECT_EQ(back.at("cut").at("elements"), 99746);
}

TEST(AuditEncode, EvenManyMembersLeaveTheKindAndTheId) {
  json::object event{{"kind", "start"}, {"id", "42"}};
  for (int i = 0; i < 50'000; ++i) event["member" + std::to_string(i)] = i;
  json::value back = json::parse(encoded(event, 4096));
  EXPECT_EQ(back.at("kind"), "start");
  EXPECT_EQ(back.at("id"), "42");
  EXPECT_EQ(back.at("cut_members"), 50'002);
}

TEST(AuditEncode, WhatItWritesTheReaderTakesHoweverDeep) {
  json::value deep = 1;
  for (int i = 0; i < 200; ++i) deep = json::array{std::move(deep)};
  AuditHead head;
  json::object event{{"deep", std::move(deep)}};
  std::string line = make_audit_line(head, kLineTime, encoded(event));
  EXPECT_TRUE(parse_audit_line(without_newline(line)).ok());
}

}  // namespace
}  // namespace caisson
