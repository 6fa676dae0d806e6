#include "session/load_budget.h"

#include <gtest/gtest.h>

#include <map>

namespace caisson::session {
namespace {

constexpr uint64_t kFree = LoadBudget::kFree;

class LoadBudgets : public testing::Test {
 protected:
  using Share = std::shared_ptr<LoadBudget::Share>;

  // Whether it has them, once that is known.
  void ask(const std::string& name, Share share, uint64_t bytes) {
    spawn(loop_, hold(name, std::move(share), bytes));
    settle();
  }
  void settle() {
    loop_.restart();
    while (loop_.poll() > 0) {
    }
  }
  Task<> hold(std::string name, Share share, uint64_t bytes) {
    Result<void> held = co_await share->hold(bytes);
    told_.push_back(name + (held ? "" : ": " + held.error().hint));
  }

  Loop loop_{1};
  std::shared_ptr<LoadBudget> budget_ =
      std::make_shared<LoadBudget>(loop_, 100, std::chrono::hours(1));
  std::vector<std::string> told_;
};

using Told = std::vector<std::string>;

TEST_F(LoadBudgets, AllTogetherHoldNoMoreThanThereIs) {
  Share one = budget_->share(), two = budget_->share(), three = budget_->share();
  ask("one", one, kFree + 60);
  ask("two", two, kFree + 40);
  ask("three", three, kFree + 1);
  EXPECT_EQ(told_, (Told{"one", "two"}));
  EXPECT_EQ(budget_->taken(), 100u);
  two.reset();
  settle();
  EXPECT_EQ(told_, (Told{"one", "two", "three"}));
  EXPECT_EQ(budget_->taken(), 61u);
}

// A large one is not passed by small ones again and again.
TEST_F(LoadBudgets, TheirTurnsComeInOrder) {
  Share one = budget_->share(), large = budget_->share(), small = budget_->share();
  ask("one", one, kFree + 50);
  ask("large", large, kFree + 100);
  ask("small", small, kFree + 10);
  EXPECT_EQ(told_, (Told{"one"}));
  one.reset();
  settle();
  EXPECT_EQ(told_, (Told{"one", "large"}));
  large.reset();
  settle();
  EXPECT_EQ(told_, (Told{"one", "large", "small"}));
}

TEST_F(LoadBudgets, AFewBytesWaitForNobody) {
  Share one = budget_->share(), small = budget_->share();
  ask("one", one, kFree + 100);
  ask("small", small, kFree);
  EXPECT_EQ(told_, (Told{"one", "small"}));
}

TEST_F(LoadBudgets, OneThatIsLargerThanAllGoesAlone) {
  Share one = budget_->share(), huge = budget_->share();
  ask("one", one, kFree + 1);
  ask("huge", huge, kFree + 1000);
  EXPECT_EQ(told_, (Told{"one"}));
  one.reset();
  settle();
  EXPECT_EQ(told_, (Told{"one", "huge"}));
}

// Not while one that is larger than all has its turn either, and not by a file at a time.
TEST_F(LoadBudgets, AFewBytesWaitForNoneThatGoesAlone) {
  Share huge = budget_->share(), small = budget_->share(), large = budget_->share();
  ask("huge", huge, kFree + 1000);
  for (uint64_t bytes : {uint64_t{0}, uint64_t{5}, kFree}) ask("small", small, bytes);
  ask("large", large, kFree + 1);
  EXPECT_EQ(told_, (Told{"huge", "small", "small", "small"}));
  EXPECT_EQ(budget_->taken(), 1000u);
  huge.reset();
  settle();
  EXPECT_EQ(told_.back(), "large");
}

TEST_F(LoadBudgets, OneThatIsAloneMayBecomeLargerThanAll) {
  Share many = budget_->share(), other = budget_->share();
  ask("first", many, kFree + 60);
  ask("small", other, kFree);
  ask("second", many, kFree + 120);
  ask("third", many, kFree + 180);
  EXPECT_EQ(told_, (Told{"first", "small", "second", "third"}));
  EXPECT_EQ(budget_->taken(), 180u);
  many.reset();
  EXPECT_EQ(budget_->taken(), 0u);
}

TEST_F(LoadBudgets, WhoIsNotAloneDoesNotBecomeLargerThanAll) {
  Share many = budget_->share(), other = budget_->share();
  ask("first", many, kFree + 60);
  ask("other", other, kFree + 1);
  ask("second", many, kFree + 120);
  EXPECT_EQ(told_.back(), "second: try again in a while");
  EXPECT_EQ(budget_->taken(), 61u);
}

// Two who have some and want more would wait for each other.
TEST_F(LoadBudgets, WhoHasSomeDoesNotWaitForMore) {
  Share one = budget_->share(), two = budget_->share();
  ask("one", one, kFree + 50);
  ask("two", two, kFree + 50);
  ask("more", two, kFree + 51);
  EXPECT_EQ(told_, (Told{"one", "two", "more: try again in a while"}));
  EXPECT_EQ(budget_->taken(), 100u);
  one.reset();
  ask("again", two, kFree + 90);
  EXPECT_EQ(told_.back(), "again");
  two.reset();
  EXPECT_EQ(budget_->taken(), 0u);
}

TEST_F(LoadBudgets, PatienceHasAnEndAndTheNextInOrderIsServed) {
  budget_ = std::make_shared<LoadBudget>(loop_, 100, std::chrono::milliseconds(50));
  Share one = budget_->share(), large = budget_->share();
  ask("one", one, kFree + 50);
  ask("large", large, kFree + 100);
  EXPECT_EQ(told_, (Told{"one"}));
  loop_.restart();
  loop_.run();  // until nobody waits
  EXPECT_EQ(told_, (Told{"one", "large: try again in a while"}));
  ask("two", budget_->share(), kFree + 50);
  EXPECT_EQ(told_.back(), "two");
  EXPECT_EQ(budget_->taken(), 50u);  // the second has gone by now
}

}  // namespace
}  // namespace caisson::session
