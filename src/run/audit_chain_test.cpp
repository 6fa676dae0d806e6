#include "run/audit_chain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/sha256.h"

namespace caisson {
namespace {

using Kind = Finding::Kind;
constexpr char kTime[] = "2026-07-31T09:30:05.042Z";

struct Chain {
  std::vector<std::string> lines;
  AuditHead head;

  explicit Chain(int count) {
    for (int i = 1; i <= count; ++i) add(fmt::format("{{\"kind\":\"start\",\"n\":{}}}", i));
  }
  void add(std::string_view event) { lines.push_back(make_audit_line(head, kTime, event)); }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines) all += line;
    return all;
  }
  VerifyReport verify() const { return verify_lines(text(), head); }
};

bool found(const VerifyReport& report, Kind kind, uint64_t line) {
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [&](const Finding& f) { return f.kind == kind && f.line == line; });
}

TEST(AuditChain, AWholeChainIsWhole) {
  Chain chain(20);
  VerifyReport report = chain.verify();
  EXPECT_TRUE(report.whole());
  EXPECT_TRUE(report.notes.empty());
  EXPECT_EQ(report.events, 20u);
  EXPECT_EQ(report.head, chain.head);
  EXPECT_TRUE(verify_lines("", {}).whole());
  EXPECT_TRUE(verify_lines("", AuditHead()).whole());
}

TEST(AuditChain, AChangedLineIsNamed) {
  Chain chain(9);
  size_t at = chain.lines[4].find("\"n\":5");
  chain.lines[4][at + 4] = '6';
  VerifyReport report = chain.verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_TRUE(found(report, Kind::kChanged, 5));
}

TEST(AuditChain, ALineChangedTogetherWithItsHashIsNamedByTheNext) {
  Chain chain(9);
  AuditHead before;
  for (int i = 0; i < 4; ++i)
    make_audit_line(before, kTime, fmt::format("{{\"kind\":\"start\",\"n\":{}}}", i + 1));
  chain.lines[4] = make_audit_line(before, kTime, "{\"kind\":\"start\",\"n\":6}");
  VerifyReport report = chain.verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_TRUE(found(report, Kind::kUnlinked, 6));
}

TEST(AuditChain, AMissingLineIsNamed) {
  for (int gone = 0; gone < 8; ++gone) {
    Chain chain(9);
    chain.lines.erase(chain.lines.begin() + gone);
    EXPECT_TRUE(found(chain.verify(), Kind::kMissing, gone + 1)) << gone;
    EXPECT_NE(chain.verify().findings[0].what.find(fmt::format("entry {} is missing", gone + 1)),
              std::string::npos);
  }
}

TEST(AuditChain, AMovedOrRepeatedLineIsNamed) {
  Chain moved(9);
  std::swap(moved.lines[3], moved.lines[4]);
  EXPECT_TRUE(found(moved.verify(), Kind::kReordered, 5));
  Chain repeated(9);
  repeated.lines.insert(repeated.lines.begin() + 6, repeated.lines[2]);
  EXPECT_TRUE(found(repeated.verify(), Kind::kReordered, 7));
}

TEST(AuditChain, WholeLinesCutFromTheEndAreSeenByTheHead) {
  Chain chain(9);
  chain.lines.resize(6);
  EXPECT_TRUE(verify_lines(chain.text(), {}).whole());  // the chain alone can't tell
  VerifyReport report = chain.verify();
  EXPECT_TRUE(found(report, Kind::kMissing, 6));
  EXPECT_NE(report.findings[0].what.find("entries 7 to 9 are missing behind line 6"),
            std::string::npos);
  EXPECT_FALSE(verify_lines("", chain.head).whole());
}

TEST(AuditChain, ACutAtAnyByteIsSeen) {
  Chain chain(3);
  std::string text = chain.text();
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(verify_lines(std::string_view(text).substr(0, size), chain.head).whole()) << size;
}

TEST(AuditChain, AnyFlippedBitIsSeen) {
  Chain chain(3);
  std::string text = chain.text();
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1 << (i % 7);
    EXPECT_FALSE(verify_lines(changed, chain.head).whole()) << i;
  }
}

TEST(AuditChain, ALineOverwrittenByRubbishIsOneFinding) {
  Chain chain(9);
  chain.lines[4] = "rubbish\n";
  VerifyReport report = chain.verify();
  EXPECT_TRUE(found(report, Kind::kUnreadable, 5));
  EXPECT_FALSE(found(report, Kind::kMissing, 6));
}

TEST(AuditChain, AHeadThatIsBehindIsAStoppedWriter) {
  Chain chain(4);
  AuditHead behind = chain.head;
  chain.add("{}");
  VerifyReport report = verify_lines(chain.text(), behind);
  EXPECT_TRUE(report.whole());
  EXPECT_EQ(report.notes.size(), 1u);
}

TEST(AuditChain, AHeadOfAnotherChainIsSeen) {
  Chain chain(4), other(2);
  AuditHead head = chain.head;
  head.hash = other.head.hash;
  EXPECT_TRUE(found(verify_lines(chain.text(), head), Kind::kHead, 4));
  head = chain.head;
  head.end += 1;
  EXPECT_TRUE(found(verify_lines(chain.text(), head), Kind::kHead, 4));
}

void add_mended(Chain& chain, std::string_view cut, size_t claimed_bytes) {
  chain.lines.push_back(std::string(cut) + "\n");
  chain.head.end += cut.size() + 1;
  chain.add(fmt::format(
      "{{\"kind\":\"tail_mended\",\"entries_past_head\":0,\"cut_bytes\":{},\"cut_sha256\":\"{}\"}}",
      claimed_bytes, sha256_hex(cut)));
}

TEST(AuditChain, ACutLineThatAWriterSealedIsInOrder) {
  Chain chain(3);
  add_mended(chain, "{\"seq\":4,\"ti", 12);
  chain.add("{}");
  EXPECT_TRUE(chain.verify().whole());
  EXPECT_EQ(chain.verify().notes.size(), 1u);
  EXPECT_EQ(chain.verify().events, 5u);
}

TEST(AuditChain, ASealThatSpeaksOfOtherBytesIsNone) {
  Chain chain(3);
  add_mended(chain, "{\"seq\":4,\"ti", 12);
  Chain edited = chain;
  edited.lines[3][3] = 'X';
  EXPECT_TRUE(found(edited.verify(), Kind::kUnreadable, 4));
  Chain removed = chain;
  removed.lines.erase(removed.lines.begin() + 3);
  EXPECT_TRUE(found(removed.verify(), Kind::kMissing, 4));
  Chain wrong(3);
  add_mended(wrong, "{\"seq\":4,\"ti", 13);
  EXPECT_TRUE(found(wrong.verify(), Kind::kUnreadable, 4));
}

TEST(AuditChain, WhatAWriterReportedStaysAFinding) {
  Chain chain(2);
  chain.add("{\"kind\":\"chain_broken\",\"reason\":\"cut at the end\"}");
  EXPECT_TRUE(found(chain.verify(), Kind::kReported, 3));
}

TEST(AuditChain, FindingsAreBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    AuditHead head{static_cast<uint64_t>(i * 2)};
    text += make_audit_line(head, kTime, "{}");
  }
  VerifyReport report = verify_lines(text, {});
  EXPECT_EQ(report.findings.size(), kMaxFindings);
  EXPECT_GT(report.more_findings, 0u);
  std::string rubbish;
  for (int i = 0; i < 200'000; ++i) rubbish += "0123456789\n";
  EXPECT_EQ(verify_lines(rubbish, {}).findings.size(), 1u);
}

}  // namespace
}  // namespace caisson
