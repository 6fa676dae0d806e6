// Trash: where folders of cells go. The name is free at once, and the loop spends a bounded moment
// on what was there; a process of low priority does the rest.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/channel.h"

namespace caisson::session {

class Trash : public std::enable_shared_from_this<Trash> {
 public:
  // `caisson`: the program, for that process. `folder`: of ours alone.
  Trash(Loop& loop, std::string caisson, UniqueFd folder)
      : loop_(loop), caisson_(std::move(caisson)), folder_(std::move(folder)) {}

  // An entry of a folder on the same file system. What isn't there is no error.
  Result<void> take(int at, const std::string& name);
  // What an earlier process has left.
  void empty();

 private:
  Result<std::string> move_in(int at, const std::string& name);
  void start_process(int folder);

  Loop& loop_;
  std::string caisson_;
  UniqueFd folder_;
  int processes_ = 0;
};

}  // namespace caisson::session
