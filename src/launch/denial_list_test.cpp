#include "launch/denial_list.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

TEST(DenialList, TellsEachOnceWithItsCountAndHowManyItLeftOut) {
  DenialList list;
  for (int i = 0; i < 300; ++i)
    list.add({"file-read: a", "/junk" + std::to_string(i), ""}, "file-read: a");
  EXPECT_TRUE(list.add({"file-write: b", "/wanted", ""}, "file-write: b"));
  EXPECT_FALSE(list.add({"file-write: b", "/wanted", "", 7}, "file-write: b"));
  EXPECT_FALSE(list.add({"file-read: a", "/junk200", ""}, "file-read: a"));  // is left out already
  Outcome outcome;
  outcome.denials.push_back({"no-exec", "execve by process 7", ""});
  list.add_to(outcome);
  EXPECT_EQ(outcome.denials.size() + outcome.denials_cut, 302u);
  EXPECT_FALSE(outcome.denials_lost_count);
  auto wanted = std::ranges::find(outcome.denials, "/wanted", &Denial::resource);
  ASSERT_NE(wanted, outcome.denials.end());
  EXPECT_EQ(wanted->count, 7u);
}

}  // namespace
}  // namespace caisson
