#include "session/snapshot_file.h"

#include <gtest/gtest.h>

namespace caisson::session {
namespace {

constexpr int64_t kNow = 1'800'000'000;

TEST(SnapshotFile, ItsBytesComeBack) {
  std::string bytes("a\nb\0c", 5);
  std::string whole = snapshot_head(bytes, kNow) + bytes;
  Result<std::string_view> body = snapshot_body(whole, kNow + 10);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(*body, bytes);
}

TEST(SnapshotFile, ABitThatChangedIsNoticed) {
  std::string bytes = "variables";
  std::string whole = snapshot_head(bytes, kNow) + bytes;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    // The time of its making is not covered by the hash: it is the host's own file, and only ages.
    if (i >= 19 && i < 29) continue;
    EXPECT_FALSE(snapshot_body(bad, kNow).ok()) << i;
  }
  EXPECT_FALSE(snapshot_body(whole.substr(0, whole.size() - 1), kNow).ok());
  EXPECT_FALSE(snapshot_body(whole + "x", kNow).ok());
  EXPECT_FALSE(snapshot_body("", kNow).ok());
}

TEST(SnapshotFile, AnOldOneIsNotTakenUp) {
  std::string whole = snapshot_head("x", kNow) + "x";
  EXPECT_TRUE(snapshot_body(whole, kNow + kSnapshotSeconds).ok());
  EXPECT_FALSE(snapshot_body(whole, kNow + kSnapshotSeconds + 1).ok());
  EXPECT_FALSE(snapshot_body(whole, kNow - 7200).ok());
}

}  // namespace
}  // namespace caisson::session
