// Claim: a limit is the cell's own, however far the caller's reaches.
#include <sys/resource.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

// A limit of this process, and of all that it starts, for the length of a test. To raise one takes
// CAP_SYS_RESOURCE, which not even every root has.
class OwnLimit {
 public:
  OwnLimit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    ::getrlimit(resource_, &before_);
    rlimit wanted{value, value};
    raised_ = ::setrlimit(resource_, &wanted) == 0;
  }
  ~OwnLimit() { ::setrlimit(resource_, &before_); }
  bool raised() const { return raised_; }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
  bool raised_ = false;
};

// A caller has little of these to pass on. Where the suite can't take more for itself either, the
// plan must name the limit.
testing::AssertionResult does_not_come_along(__rlimit_resource resource, const char* name,
                                             rlim_t callers) {
  OwnLimit own(resource, callers);
  const Words probe{"rlimit", std::to_string(resource)};
  std::string inside = in_cell(probe).detail, outside = on_host(probe).detail;
  if (inside != "0 0") return testing::AssertionFailure() << "in the cell it is " << inside;
  if (own.raised() && outside == inside)
    return testing::AssertionFailure() << "control: on the host it is " << outside;
  Outcome plan = run({caisson_binary(), "exec", "--dry-run", "--", "/bin/true"});
  for (const std::string& line : lines(plan.out))
    if (line.starts_with("rlimit ") && line.ends_with(std::string(name) + " = 0"))
      return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the plan has no limit on " << name << "\n" << plan.out;
}

TEST(LimitsOfTheCaller, T63_ARealTimePriorityDoesNotComeAlong) {
  EXPECT_TRUE(does_not_come_along(RLIMIT_RTPRIO, "rtprio", 7));
}

TEST(LimitsOfTheCaller, T63_AHigherPriorityDoesNotComeAlong) {
  EXPECT_TRUE(does_not_come_along(RLIMIT_NICE, "nice", 25));
}

// An eighth of the cell's memory, which is less than the kernel gives anybody (8 MB).
TEST(LimitsOfTheCaller, T63_LockedMemoryIsMeasuredByTheCell) {
  std::string eighth = std::to_string(4 << 20);
  EXPECT_EQ(in_cell({"rlimit", std::to_string(RLIMIT_MEMLOCK)}, {"--memory", "32M"}).detail,
            eighth + " " + eighth);
  EXPECT_NE(on_host({"rlimit", std::to_string(RLIMIT_MEMLOCK)}).detail, eighth + " " + eighth);
}

// The kernel counts these for each user of the host, over all cells.
TEST(LimitsOfTheCaller, T55_TimersAreMeasuredByTheCell) {
  EXPECT_EQ(in_cell({"rlimit", std::to_string(RLIMIT_SIGPENDING)}).detail, "2048 2048");
  EXPECT_NE(on_host({"rlimit", std::to_string(RLIMIT_SIGPENDING)}).detail, "2048 2048");
}

TEST(LimitsOfTheCaller, T55_MessageQueuesAreMeasuredByTheCell) {
  std::string most = std::to_string(256 << 10);
  EXPECT_EQ(in_cell({"rlimit", std::to_string(RLIMIT_MSGQUEUE)}).detail, most + " " + most);
  EXPECT_NE(on_host({"rlimit", std::to_string(RLIMIT_MSGQUEUE)}).detail, most + " " + most);
}

}  // namespace
}  // namespace caisson::boundary
