#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <functional>

#include <fmt/format.h>
#include <boost/json/value.hpp>

#include "base/unique_fd.h"
#include "run/audit.h"
#include "run/audit_read.h"
#include "run/timestamp.h"

namespace caisson {
namespace {

namespace fs = std::filesystem;
using Kind = Finding::Kind;

class Audit : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/caisson-audit-XXXXXX";
    root_ = ::mkdtemp(name);
    path_ = audit_path(root_ + "/state", "");
    head_ = audit_head_path(path_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void append(int count, std::string kind = "start") {
    Result<AuditLog> log = AuditLog::open(path_);
    ASSERT_TRUE(log.ok()) << log.error().what;
    for (int i = 0; i < count; ++i) {
      Result<void> done = log->append({{"kind", kind}, {"n", i}});
      ASSERT_TRUE(done.ok()) << done.error().what;
    }
  }
  VerifyReport verify() {
    Result<FileVerdict> verdict = verify_audit_file(path_);
    EXPECT_TRUE(verdict.ok());
    return verdict->report;
  }
  std::vector<AuditEntry> entries() {
    std::vector<AuditEntry> all;
    Result<AuditReader> reader = AuditReader::open(path_);
    while (std::optional<AuditLine> line = *reader->next())
      if (Result<AuditEntry> entry = parse_audit_line(line->text); entry.ok())
        all.push_back(std::move(*entry));
    return all;
  }
  std::string kinds() {
    std::string all;
    for (const AuditEntry& entry : entries())
      all += std::string(entry.event.at("kind").as_string()) + " ";
    return all;
  }
  std::string read(const std::string& path) {
    std::string bytes(fs::file_size(path), '\0');
    UniqueFd fd{::open(path.c_str(), O_RDONLY)};
    EXPECT_EQ(::read(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
  void write(const std::string& path, const std::string& bytes, int flags = O_TRUNC) {
    UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | flags, 0600)};
    EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void cut_lines(size_t keep) {
    std::string text = read(path_);
    size_t end = 0;
    for (size_t i = 0; i < keep; ++i) end = text.find('\n', end) + 1;
    write(path_, text.substr(0, end));
  }
  std::string refusal() {
    Result<AuditLog> log = AuditLog::open(path_);
    return log.ok() ? "" : log.error().what;
  }

  std::string root_, path_, head_;
};

TEST_F(Audit, PathFollowsXdgAndIgnoresARelativeOne) {
  EXPECT_EQ(audit_path("/x/", "/home/a"), "/x/caisson/audit.jsonl");
  EXPECT_EQ(audit_path("", "/home/a"), "/home/a/.local/state/caisson/audit.jsonl");
  EXPECT_EQ(audit_path("rel", "/home/a"), "/home/a/.local/state/caisson/audit.jsonl");
  EXPECT_EQ(audit_head_path("/x/audit.jsonl"), "/x/audit.head");
}

TEST_F(Audit, FilesAndFoldersAreTheOwnersAlone) {
  append(1);
  auto mode = [](const std::string& path) { return fs::status(path).permissions(); };
  EXPECT_EQ(mode(fs::path(path_).parent_path()), fs::perms::owner_all);
  EXPECT_EQ(mode(root_ + "/state"), fs::perms::owner_all);
  for (const std::string& file : {path_, head_})
    EXPECT_EQ(mode(file), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Audit, AppendedEventsAreAWholeChain) {
  append(3);
  append(2, "end");
  EXPECT_EQ(kinds(), "start start start end end ");
  EXPECT_TRUE(verify().whole());
  EXPECT_TRUE(verify().notes.empty());
  EXPECT_EQ(verify().events, 5u);
}

TEST_F(Audit, ManyWritersAtOnceLoseNothing) {
  constexpr int kWriters = 8, kEach = 100;
  std::vector<pid_t> children;
  for (int w = 0; w < kWriters; ++w) {
    pid_t pid = ::fork();
    if (pid == 0) {
      Result<AuditLog> log = AuditLog::open(path_);
      bool ok = log.ok();
      for (int i = 0; ok && i < kEach; ++i)
        ok = log->append({{"kind", "start"}, {"writer", w}, {"n", i}}).ok();
      ::_exit(ok ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(verify().whole());
  EXPECT_TRUE(verify().notes.empty());
  std::vector<int64_t> next(kWriters, 0);
  for (const AuditEntry& entry : entries())
    EXPECT_EQ(entry.event.at("n").as_int64(), next[entry.event.at("writer").as_int64()]++);
  for (int64_t count : next) EXPECT_EQ(count, kEach);
}

// Long lines cross many pages: the kernel looks for a fatal signal between two of them.
TEST_F(Audit, WritersKilledAtAnyMomentLeaveAChainThatMends) {
  for (int round = 0; round < 60; ++round) {
    fs::remove_all(root_ + "/state");
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    pid_t pid = ::fork();
    if (pid == 0) {
      Result<AuditLog> log = AuditLog::open(path_);
      std::string text(200'000, 'x');
      while (log.ok() && ::write(ready[1], "x", 1) == 1)
        if (!log->append({{"kind", "start"}, {"text", text}}).ok()) break;
      ::_exit(1);
    }
    // It has said that it begins with a line: the signal comes somewhere in there.
    char byte;
    for (int line = 0; line <= round % 4; ++line) EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::close(ready[0]), ::close(ready[1]);
    append(1, "after");
    VerifyReport report = verify();
    EXPECT_TRUE(report.whole()) << report.findings[0].what;
  }
}

TEST_F(Audit, AnyCutOfTheLastWriteIsMendedAndTold) {
  append(2);
  std::string before = read(path_), head = read(head_);
  append(1, "lost");
  std::string line = read(path_).substr(before.size());
  for (size_t size = 1; size < line.size(); ++size) {
    write(path_, before + line.substr(0, size));
    write(head_, head);
    EXPECT_FALSE(verify().whole());
    append(1, "next");
    bool all_but_newline = size == line.size() - 1;
    EXPECT_EQ(kinds(), all_but_newline ? "start start lost tail_mended next "
                                       : "start start tail_mended next ");
    VerifyReport report = verify();
    EXPECT_TRUE(report.whole()) << size << report.findings[0].what;
    EXPECT_EQ(report.notes.size(), 1u);
  }
}

TEST_F(Audit, AWriterKilledBeforeTheHeadIsToldByTheNext) {
  append(2);
  std::string head = read(head_);
  append(1, "acknowledged");
  write(head_, head);
  append(1, "next");
  EXPECT_EQ(kinds(), "start start acknowledged tail_mended next ");
  EXPECT_EQ(entries()[3].event.at("entries_past_head"), 1);
  EXPECT_TRUE(verify().whole());
}

TEST_F(Audit, AMendCutShortItselfIsMended) {
  append(2);
  std::string good = read(path_), head = read(head_);
  write(path_, "{\"seq\":3,\"time", O_APPEND);
  append(1, "next");
  std::string mended = read(path_);
  for (size_t size = good.size() + 1; size < mended.size(); ++size) {
    write(path_, mended.substr(0, size));
    write(head_, head);
    append(1, "last");
    VerifyReport report = verify();
    ASSERT_TRUE(report.whole()) << size << " " << report.findings[0].what;
    EXPECT_TRUE(kinds().ends_with("tail_mended last ")) << size;
  }
}

TEST_F(Audit, TheFirstWriteCutShortIsMendedToo) {
  append(1);
  std::string line = read(path_);
  for (size_t size = 0; size < line.size(); ++size) {
    write(path_, line.substr(0, size));
    write(head_, format_audit_head({}));
    append(1, "next");
    EXPECT_TRUE(verify().whole()) << size;
  }
}

TEST_F(Audit, LinesCutFromTheEndAreReportedAndTheGapStays) {
  append(5);
  cut_lines(3);
  EXPECT_TRUE(verify().findings[0].what.find("entries 4 to 5") == 0);
  append(1, "next");
  EXPECT_EQ(kinds(), "start start start chain_broken next ");
  EXPECT_EQ(entries()[3].seq, 6u);
  VerifyReport report = verify();
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].kind, Kind::kMissing);
  EXPECT_EQ(report.findings[1].kind, Kind::kReported);
  append(1, "later");
  EXPECT_EQ(verify().findings.size(), 2u);
}

TEST_F(Audit, AnEmptiedOrRemovedFileIsReported) {
  append(3);
  write(path_, "");
  append(1, "next");
  EXPECT_EQ(kinds(), "chain_broken next ");
  fs::remove(path_);
  append(1, "next");
  EXPECT_EQ(kinds(), "chain_broken next ");
  EXPECT_EQ(entries()[0].seq, 6u);
  EXPECT_FALSE(verify().whole());
}

TEST_F(Audit, ARemovedOrTornHeadIsReported) {
  append(3);
  fs::remove(head_);
  append(1, "next");
  EXPECT_EQ(kinds(), "start start start chain_broken next ");
  write(head_, "{\"seq\":");
  append(1, "next");
  EXPECT_TRUE(kinds().ends_with("chain_broken next "));
  EXPECT_EQ(verify().findings.size(), 2u);
}

TEST_F(Audit, AnEditedLastLineIsReportedByTheNextWriter) {
  append(3);
  std::string text = read(path_);
  text[text.size() - 10] ^= 1;
  write(path_, text);
  append(1, "next");
  EXPECT_TRUE(kinds().ends_with("chain_broken next "));
  EXPECT_FALSE(verify().whole());
}

TEST_F(Audit, ForeignLinesBehindTheEndAreNotCalledACrash) {
  append(3);
  std::string text = read(path_);
  write(path_, text.substr(0, text.find('\n') + 1), O_APPEND);
  append(1, "next");
  EXPECT_TRUE(kinds().ends_with("chain_broken next "));
  write(path_, std::string(2 * kMaxCut, 'x'), O_APPEND);
  append(1, "next");
  EXPECT_TRUE(kinds().ends_with("chain_broken next "));
  EXPECT_FALSE(verify().whole());
}

TEST_F(Audit, AnOpenLogFollowsTheFileWhenBothAreMovedAway) {
  Result<AuditLog> log = AuditLog::open(path_);
  ASSERT_TRUE(log->append({{"kind", "old"}}).ok());
  fs::rename(path_, path_ + ".1");
  fs::rename(head_, head_ + ".1");
  ASSERT_TRUE(log->append({{"kind", "new"}}).ok());
  EXPECT_EQ(kinds(), "new ");
  EXPECT_TRUE(verify().whole());
}

// flock(2) asks for no right to write.
TEST_F(Audit, ALockThatIsNeverGivenBackIsToldAndNotWaitedFor) {
  append(1);
  UniqueFd holder{::open(path_.c_str(), O_RDONLY | O_CLOEXEC)};
  ASSERT_EQ(::flock(holder.get(), LOCK_EX | LOCK_NB), 0);
  Result<AuditLog> log = AuditLog::open(path_, std::chrono::milliseconds(50));
  ASSERT_TRUE(log.ok());
  Result<void> done = log->append({{"kind", "late"}});
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().what.find(path_), std::string::npos) << done.error().what;
  EXPECT_NE(done.error().what.find("0.05 s"), std::string::npos) << done.error().what;
  EXPECT_FALSE(done.error().hint.empty());
  ::flock(holder.get(), LOCK_UN);
  EXPECT_TRUE(log->append({{"kind", "then"}}).ok());
  EXPECT_EQ(kinds(), "start then ");
}

TEST_F(Audit, AnUnfittingFileIsRefusedWithTheReason) {
  append(1);
  fs::permissions(path_, fs::perms::owner_all | fs::perms::group_write);
  EXPECT_NE(refusal().find("can be written by others"), std::string::npos);
  fs::rename(path_, root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", path_);
  EXPECT_NE(refusal().find("a link"), std::string::npos);
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(refusal().find("not a regular file"), std::string::npos);
  EXPECT_FALSE(AuditLog::open(path_).error().hint.empty());
}

TEST_F(Audit, AHeadThatIsALinkIsRefused) {
  append(1);
  fs::rename(head_, root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", head_);
  EXPECT_FALSE(AuditLog::open(path_)->append({}).ok());
}

TEST_F(Audit, AnUnfittingFolderIsRefused) {
  append(1);
  fs::path folder = fs::path(path_).parent_path();
  fs::permissions(folder, fs::perms::all);
  EXPECT_NE(refusal().find("can be written by others"), std::string::npos);
  fs::remove_all(folder);
  fs::create_directory(root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", folder);
  EXPECT_NE(refusal().find("a link"), std::string::npos);
  fs::remove_all(root_ + "/state");
  fs::permissions(root_, fs::perms::all);
  EXPECT_NE(refusal().find("can be written by others"), std::string::npos);
  fs::permissions(root_, fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(refusal(), "");  // as in /tmp
}

TEST_F(Audit, AFileOfAnotherUserIsRefused) {
  if (::geteuid() == 0) {
    append(1);
    ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  } else {
    path_ = "/etc/audit.jsonl";
  }
  EXPECT_NE(refusal().find("belongs to another user"), std::string::npos);
}

TEST_F(Audit, AFullDiskLeavesNoHalfLine) {
  append(2);
  pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{fs::file_size(path_) + 100, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Result<AuditLog> log = AuditLog::open(path_);
    ::_exit(log.ok() && !log->append({{"kind", "lost"}}).ok() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(verify().whole());
  append(1, "next");
  EXPECT_EQ(kinds(), "start start next ");
}

}  // namespace
}  // namespace caisson
