#include "gateway/heard.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <chrono>
#include <thread>

#include "base/unique_fd.h"

namespace caisson {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Heard, WaitsForNobodyWhereNobodyReads) {
  Heard heard(-1);
  for (int i = 0; i < 1000; ++i) heard.await_one();
}

TEST(Heard, ReturnsOnlyWhenItWasHeard) {
  UniqueFd fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Heard heard(fd.get());
  std::atomic<bool> said = false;
  std::thread supervisor([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    said = true;
    ::eventfd_write(fd.get(), 1);
  });
  heard.await_one();
  EXPECT_TRUE(said);
  supervisor.join();
}

TEST(Heard, ASupervisorThatIsStoppedStopsNobody) {
  UniqueFd fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Heard heard(fd.get());
  heard.await_one();
  // The one that was lost is not waited for again.
  ::eventfd_write(fd.get(), 1);
  Clock::time_point before = Clock::now();
  heard.await_one();
  EXPECT_LT(Clock::now() - before, std::chrono::milliseconds(Heard::kPatienceMs));
}

}  // namespace
}  // namespace caisson
