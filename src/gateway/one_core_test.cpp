#include "gateway/one_core.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

cpu_set_t cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

TEST(OneCore, IsHeldUntilTheLastHasLetGo) {
  cpu_set_t before = cores();
  OneCore core;
  core.hold();
  core.hold();
  cpu_set_t held = cores();
  EXPECT_EQ(CPU_COUNT(&held), 1);
  core.release();
  held = cores();
  EXPECT_EQ(CPU_COUNT(&held), 1);
  core.release();
  cpu_set_t after = cores();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(OneCore, CanBeHeldAgain) {
  cpu_set_t before = cores();
  OneCore core;
  for (int i = 0; i < 3; ++i) {
    core.hold();
    cpu_set_t held = cores();
    EXPECT_EQ(CPU_COUNT(&held), 1);
    core.release();
    cpu_set_t after = cores();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }
}

}  // namespace
}  // namespace caisson
