#include "mcp/scope.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace caisson::mcp {
namespace {

class ScopeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder.data()), nullptr); }
  void TearDown() override {
    for (const char* name : {"a.snapshot", "b.snapshot", "c.lock", "d.lock", "e.txt", "s.lock"})
      ::unlink((folder + "/" + name).c_str());
    ::rmdir(folder.c_str());
  }
  void file(const std::string& name, time_t when) {
    std::string path = folder + "/" + name;
    UniqueFd made(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    timespec times[2] = {{when, 0}, {when, 0}};
    ASSERT_EQ(::futimens(made.get(), times), 0);
  }
  bool there(const std::string& name) { return ::access((folder + "/" + name).c_str(), F_OK) == 0; }
  std::string folder = "/tmp/caisson-scope-XXXXXX";
};

TEST(Scopes, DifferWhereAnyPartDiffers) {
  std::string one = scope_of({"/a", "claude-code", "x"});
  EXPECT_EQ(one.size(), 16u);
  EXPECT_EQ(one, scope_of({"/a", "claude-code", "x"}));
  EXPECT_NE(one, scope_of({"/b", "claude-code", "x"}));
  EXPECT_NE(one, scope_of({"/a", "name", "x"}));
  EXPECT_NE(one, scope_of({"/a", "claude-code", "y"}));
  // What ends one part and begins the next can't be moved.
  EXPECT_NE(scope_of({"/a|1:x", "o", "y"}), scope_of({"/a", "o", "1:x|y"}));
  EXPECT_NE(random_scope(), random_scope());
}

TEST_F(ScopeTest, OneServerHoldsAScopeAtATime) {
  auto first = lock_scope(folder, "s");
  ASSERT_TRUE(first.ok() && first->has_value());
  auto second = lock_scope(folder, "s");
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->has_value());
  (*first)->reset();
  auto third = lock_scope(folder, "s");
  EXPECT_TRUE(third.ok() && third->has_value());
}

TEST_F(ScopeTest, OldStateGoesAndWhatIsInUseStays) {
  constexpr time_t kNow = 1'800'000'000, kOld = kNow - kStateSeconds - 1;
  file("a.snapshot", kOld);
  file("b.snapshot", kNow - kStateSeconds);
  file("c.lock", kOld);
  file("e.txt", kOld);
  auto held = lock_scope(folder, "d");
  file("d.lock", kOld);
  drop_old_state(folder, kNow);
  EXPECT_FALSE(there("a.snapshot"));
  EXPECT_TRUE(there("b.snapshot"));
  EXPECT_FALSE(there("c.lock"));
  EXPECT_TRUE(there("d.lock"));
  EXPECT_TRUE(there("e.txt"));
}

}  // namespace
}  // namespace caisson::mcp
