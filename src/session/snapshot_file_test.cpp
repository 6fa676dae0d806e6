#include "session/snapshot_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/sha256.h"

namespace caisson::session {
namespace {

constexpr int64_t kNow = 1'800'000'000;

class SnapshotFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(top_), nullptr);
    path_ = std::string(top_) + "/a.snapshot";
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  Result<void> write(int from, SnapshotTarget target) {
    std::optional<Result<void>> kept;
    target.path = path_;
    UniqueFd memory(::fcntl(from, F_DUPFD_CLOEXEC, 3));
    spawn(loop_,
          [](SnapshotFile* self, SnapshotTarget where, UniqueFd bytes,
             std::optional<Result<void>>* out) -> Task<> {
            Result<void> one =
                co_await write_snapshot(self->loop_, std::move(where), std::move(bytes));
            out->emplace(std::move(one));
          }(this, std::move(target), std::move(memory), &kept));
    loop_.restart();
    loop_.run();
    return *kept;
  }
  Result<std::string> read() {
    std::optional<Result<UniqueFd>> back;
    spawn(loop_, [](SnapshotFile* self, std::optional<Result<UniqueFd>>* out) -> Task<> {
      Result<UniqueFd> one = co_await read_snapshot(self->loop_, self->path_);
      out->emplace(std::move(one));
    }(this, &back));
    loop_.restart();
    loop_.run();
    if (!*back) return back->error();
    std::string bytes(static_cast<size_t>(::lseek((*back)->get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread((*back)->get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
  UniqueFd memory(std::string_view bytes) {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return fd;
  }
  std::string file() {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t files() {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(top_), {}));
  }

  char top_[40] = "/tmp/caisson-snapshot-XXXXXX";
  std::string path_;
  Loop loop_;
};

TEST_F(SnapshotFile, ItsBytesComeBack) {
  for (const std::string& bytes :
       {std::string("a\nb\0c", 5), std::string(), std::string(5 << 20, 'x')}) {
    ASSERT_TRUE(write(memory(bytes).get(), {}).ok());
    Result<std::string> back = read();
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, bytes);
    EXPECT_EQ(files(), 1u);
  }
}

TEST_F(SnapshotFile, ABitThatChangedIsNoticed) {
  ASSERT_TRUE(write(memory("variables").get(), {}).ok());
  std::string whole = file();
  auto put = [this](const std::string& text) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    // The time of its making is not covered by the hash: it is the host's own file, and only ages.
    if (i >= 19 && i < 29) continue;
    put(bad);
    EXPECT_FALSE(read().ok()) << i;
  }
  for (const std::string& bad : {whole.substr(0, whole.size() - 1), whole + "x", std::string()}) {
    put(bad);
    EXPECT_FALSE(read().ok());
  }
  put(whole);
  EXPECT_TRUE(read().ok());
}

TEST_F(SnapshotFile, AnOldOneIsNotTakenUp) {
  std::string head = snapshot_head(1, sha256_hex("x"), kNow);
  EXPECT_TRUE(parse_snapshot_head(head, kNow + kSnapshotSeconds).ok());
  Result<SnapshotHead> old = parse_snapshot_head(head, kNow + kSnapshotSeconds + 1);
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().what, "the snapshot is older than 30 days");
  Result<SnapshotHead> early = parse_snapshot_head(head, kNow - 7200);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().what, "the snapshot has a time that is still to come");
}

// Half a GiB that costs the cell nothing would cost the host seconds.
TEST_F(SnapshotFile, AFileOfHolesIsRefused) {
  UniqueFd holes = memory("x");
  ASSERT_EQ(::ftruncate(holes.get(), 300 << 20), 0);
  EXPECT_FALSE(write(holes.get(), {}).ok());
  EXPECT_EQ(files(), 0u);
  EXPECT_TRUE(check_snapshot_size(4097, 8192, 5000).ok());
  EXPECT_FALSE(check_snapshot_size(5001, 8192, 5000).ok());
}

TEST_F(SnapshotFile, OneThatWasOvertakenLeavesTheOldOneInPlace) {
  ASSERT_TRUE(write(memory("old").get(), {}).ok());
  SnapshotTarget target;
  target.is_wanted = [] { return false; };
  EXPECT_FALSE(write(memory("new").get(), std::move(target)).ok());
  EXPECT_EQ(*read(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(SnapshotFile, OthersHaveTheirTurnWhileItIsWritten) {
  UniqueFd large = memory(std::string(96 << 20, 'x'));
  int turns = 0;
  bool done = false;
  std::function<void()> count = [&] {
    ++turns;
    if (!done) boost::asio::post(loop_, count);
  };
  boost::asio::post(loop_, count);
  SnapshotTarget target;
  target.is_wanted = [&] { return done = true; };
  ASSERT_TRUE(write(large.get(), std::move(target)).ok());
  EXPECT_GT(turns, 3);
}

// Written by a server that was taken over, say: a difference to now would overflow.
TEST(SnapshotHeads, AnyTimeIsJudged) {
  std::string hash(64, '0');
  for (int64_t made : {INT64_MIN, INT64_MIN + kNow, int64_t{-1}, INT64_MAX})
    EXPECT_FALSE(parse_snapshot_head(snapshot_head(1, hash, made), kNow).ok()) << made;
  EXPECT_TRUE(parse_snapshot_head(snapshot_head(1, hash, kNow - kSnapshotSeconds), kNow).ok());
}

}  // namespace
}  // namespace caisson::session
