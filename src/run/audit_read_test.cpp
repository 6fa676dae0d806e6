#include "run/audit_read.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <random>

namespace caisson {
namespace {

class AuditReading : public testing::Test {
 protected:
  AuditReading() : file_(::mkstemp(path_)) {}
  ~AuditReading() override { ::unlink(path_); }
  void add(std::string_view bytes) {
    ASSERT_EQ(::write(file_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  static std::string next(AuditReader& reader) {
    std::optional<AuditLine> line = *reader.next();
    return line ? std::string(line->text) : "<end>";
  }
  char path_[32] = "/tmp/caisson-read-XXXXXX";
  UniqueFd file_;
};

TEST_F(AuditReading, GivesWholeLinesAndKeepsThePartialOne) {
  add("one\n\ntw");
  Result<AuditReader> reader = AuditReader::open(path_);
  EXPECT_EQ(next(*reader), "one");
  EXPECT_EQ(next(*reader), "");
  EXPECT_EQ(next(*reader), "<end>");
  EXPECT_EQ(reader->rest(), "tw");
  add("o\nthree\n");
  EXPECT_EQ(next(*reader), "two");
  EXPECT_EQ((*reader->next())->number, 4u);
  EXPECT_EQ(next(*reader), "<end>");
  EXPECT_EQ(reader->rest(), "");
}

TEST_F(AuditReading, LinesAcrossTheBordersOfReadsAreWhole) {
  std::vector<std::string> lines;
  for (size_t size : {1u, 65'535u, 65'536u, 65'537u, 200'000u, 3u})
    lines.push_back(std::string(size, static_cast<char>('a' + lines.size())));
  for (const std::string& line : lines) add(line + "\n");
  Result<AuditReader> reader = AuditReader::open(path_);
  for (const std::string& line : lines) EXPECT_EQ(next(*reader), line);
  EXPECT_EQ(next(*reader), "<end>");
}

TEST_F(AuditReading, ALineWithoutEndIsCountedNotKept) {
  std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) add(megabyte);
  add("\nafter\n");
  Result<AuditReader> reader = AuditReader::open(path_);
  AuditLine line = **reader->next();
  EXPECT_LE(line.text.size(), kMaxAuditLine + (64u << 10));
  EXPECT_EQ(line.size, (4u << 20) + 1);
  EXPECT_EQ(next(*reader), "after");
}

TEST_F(AuditReading, StopsWhereItIsTold) {
  add("one\ntwo\n");
  Result<AuditReader> reader = AuditReader::open(path_);
  reader->stop_at(6);
  EXPECT_EQ(next(*reader), "one");
  EXPECT_EQ(next(*reader), "<end>");
  EXPECT_EQ(reader->rest(), "tw");
}

TEST_F(AuditReading, OnlyRegularFilesAreRead) {
  EXPECT_FALSE(AuditReader::open("/dev/zero").ok());
  EXPECT_FALSE(AuditReader::open("/tmp").ok());
  EXPECT_EQ(AuditReader::open("/nonexistent/audit.jsonl").error().errnum, ENOENT);
}

TEST_F(AuditReading, ArbitraryBytesAreFindingsNotCrashes) {
  std::mt19937 random(7);
  AuditHead head;
  std::string good = make_audit_line(head, "2026-07-31T09:30:05.042Z", R"({"kind":"end"})");
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good + good;
    for (int change = 0; change < 3; ++change) {
      size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 8);
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(random()));
          break;
      }
    }
    EXPECT_FALSE(verify_lines(bytes, head).whole());  // at the least an entry is repeated
  }
}

}  // namespace
}  // namespace caisson
