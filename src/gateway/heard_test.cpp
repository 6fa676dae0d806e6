#include "gateway/heard.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/unique_fd.h"

namespace caisson {
namespace {

using Clock = std::chrono::steady_clock;

// A supervisor that takes its time: whether it was waited for.
bool waits_for_one_more(Heard& heard, int fd) {
  std::atomic<bool> said = false;
  std::thread supervisor([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    said = true;
    ::eventfd_write(fd, 1);
  });
  heard.await_one();
  bool waited = said;
  supervisor.join();
  return waited;
}

TEST(Heard, WaitsForNobodyWhereNobodyReads) {
  Heard heard(-1);
  for (int i = 0; i < 1000; ++i) heard.await_one();
}

TEST(Heard, ReturnsOnlyWhenItWasHeard) {
  UniqueFd fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Heard heard(fd.get());
  EXPECT_TRUE(waits_for_one_more(heard, fd.get()));
}

TEST(Heard, ASupervisorThatIsStoppedStopsNobodyForLong) {
  UniqueFd fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Heard heard(fd.get());
  heard.await_one();
  Clock::time_point before = Clock::now();
  for (int i = 0; i < 20; ++i) heard.await_one();
  EXPECT_LT(Clock::now() - before, 10 * std::chrono::milliseconds(Heard::kPatienceMs));
}

TEST(Heard, WhatIsHeardLateDoesNotPassForTheNextOne) {
  UniqueFd fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Heard heard(fd.get());
  heard.await_one();
  ::eventfd_write(fd.get(), 1);
  EXPECT_TRUE(waits_for_one_more(heard, fd.get()));
}

TEST(Heard, WhatWasLostIsWaitedForOnce) {
  UniqueFd fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Heard heard(fd.get());
  heard.await_one();  // nobody will ever hear this one
  ::eventfd_write(fd.get(), 1);
  heard.await_one();
  Clock::time_point before = Clock::now();
  for (int i = 0; i < 20; ++i) {
    ::eventfd_write(fd.get(), 1);
    heard.await_one();
  }
  EXPECT_LT(Clock::now() - before, 10 * std::chrono::milliseconds(Heard::kPatienceMs));
}

}  // namespace
}  // namespace caisson
