// Trash: where folders of cells go. The name is free at once, and the loop spends a bounded moment
// on what was there; a process of low priority does the rest.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "session/channel.h"

namespace caisson::session {

class Trash : public std::enable_shared_from_this<Trash> {
 public:
  // `caisson`: the program, for that process.
  Trash(Loop& loop, std::string caisson, const std::string& state_folder)
      : loop_(loop), caisson_(std::move(caisson)), folder_(state_folder + "/trash") {}

  // On the same file system as the state folder. What isn't there is no error.
  Result<void> take(const std::string& path);
  // What an earlier process has left.
  void empty();

 private:
  Result<std::string> move_in(const std::string& path);
  void start_process(int folder);

  Loop& loop_;
  std::string caisson_, folder_;
  int processes_ = 0;
};

}  // namespace caisson::session
