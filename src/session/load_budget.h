// LoadBudget: copies of files on their way into sessions are memory that no cell pays for. One load
// is bounded by its session's memory; here their sum is, from the first byte of a copy until the
// session has taken it in.
#pragma once

#include <deque>
#include <memory>

#include "base/result.h"
#include "session/event.h"

namespace caisson::session {

class LoadBudget : public std::enable_shared_from_this<LoadBudget> {
 public:
  // What every load may hold beside it: a session that is slow to take in a large one holds up
  // nobody's small ones.
  static constexpr uint64_t kFree = 16 << 20;

  // `most`: of the largest load that sessions usually may have. A larger one goes alone.
  // `patience`: how long a load waits for others to end.
  LoadBudget(Loop& loop, uint64_t most, std::chrono::milliseconds patience)
      : loop_(loop), most_(most), patience_(patience) {}

  // Of one load. Its end gives back what it holds.
  class Share {
   public:
    explicit Share(std::shared_ptr<LoadBudget> of) : of_(std::move(of)) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();
    bool holds(uint64_t bytes) const { return bytes <= held_; }
    // So many bytes in all. The first that are more than free wait for their turn; who has some
    // already does not wait for more: two who did could wait for each other for ever.
    Task<Result<void>> hold(uint64_t bytes);

   private:
    std::shared_ptr<LoadBudget> of_;
    uint64_t held_ = 0;
  };
  std::shared_ptr<Share> share() { return std::make_shared<Share>(shared_from_this()); }
  uint64_t taken() const { return taken_; }

 private:
  struct Waiter {
    Waiter(LoadBudget& of, uint64_t bytes);
    ~Waiter();
    LoadBudget& of;
    Event event;
    uint64_t bytes;
    bool is_served = false;
  };
  bool fits(uint64_t bytes) const { return taken_ == 0 || taken_ + bytes <= most_; }
  // One of many files is larger than all before its last file comes; alone it may be.
  bool can_grow(uint64_t had, uint64_t more) const {
    return taken_ == had || taken_ + more <= most_;
  }
  Task<bool> take(uint64_t bytes);  // in the order of asking
  void give_back(uint64_t bytes);
  void serve();

  Loop& loop_;
  uint64_t most_, taken_ = 0;
  std::chrono::milliseconds patience_;
  std::deque<Waiter*> waiting_;
};

}  // namespace caisson::session
