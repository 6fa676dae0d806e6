// Who may use a session now. A session runs one call at a time; here it is known whose call that
// is, so that a client who leaves stops its own call and nobody else's.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "http/stream.h"
#include "loop/task.h"

namespace caisson::web {

class Turns;

// Held while it lasts; the next in line follows.
class Turn {
 public:
  Turn() = default;
  explicit Turn(std::shared_ptr<Turns> turns) : turns_(std::move(turns)) {}
  Turn(Turn&& other) noexcept = default;
  Turn& operator=(Turn&& other) noexcept {
    std::swap(turns_, other.turns_);
    return *this;
  }
  ~Turn();

 private:
  std::shared_ptr<Turns> turns_;
};

class Turns : public std::enable_shared_from_this<Turns> {
 public:
  static constexpr size_t kMostWaiting = 64;

  explicit Turns(Loop& loop) : loop_(loop) {}
  Task<Turn> take();
  bool full() const { return waiting_.size() >= kMostWaiting; }
  bool taken() const { return taken_; }

 private:
  friend class Turn;
  void next();

  Loop& loop_;
  bool taken_ = false;
  std::deque<http::Bell*> waiting_;
};

}  // namespace caisson::web
