// StateMark: a file beside a session's snapshot, there as long as its state is newer than that. Who
// takes the snapshot up after a server that was killed, or that had too little time at its end, is
// told so: a state that is silently older looks like a mistake of the code that made it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "loop/task.h"

namespace caisson::session {

class StateMark : public std::enable_shared_from_this<StateMark> {
 public:
  // No path: nobody comes back to the state, and nothing is marked.
  StateMark(Loop& loop, std::string path) : loop_(loop), path_(std::move(path)) {}

  // Around a call that may change the state. The file is made once between two snapshots, and
  // behind the call's back: the cell is at work by then.
  void begin();
  void finish() { ++finished_; }

  // What a snapshot holds that was made just now; nothing: a call is under way.
  std::optional<uint64_t> seen() const {
    return begun_ == finished_ ? std::optional(begun_) : std::nullopt;
  }
  // It is on disk: the mark goes, unless something has come since.
  void saved(std::optional<uint64_t> seen);
  void clear();
  // Why no snapshot can be had, for whoever comes next.
  void explain(std::string_view why) const;

  const std::string& path() const { return path_; }

 private:
  void make();

  Loop& loop_;
  std::string path_;
  uint64_t begun_ = 0, finished_ = 0;
  bool wanted_ = false;
};

// "…/NAME.snapshot" has its mark beside it.
std::string mark_path(std::string_view snapshot);
// What was lost, in words; empty when nothing was. It is told once: the mark goes.
std::string take_mark(const std::string& path);

}  // namespace caisson::session
