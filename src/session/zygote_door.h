// ZygoteDoor: by which a zygote gets what binds its forks (the filter, the ways into their
// cgroups), from whoever has made it. Not with the order for the fork: that one comes from a
// server, who is to have neither.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/channel.h"

namespace caisson::session {

class ZygoteDoor : public std::enable_shared_from_this<ZygoteDoor> {
 public:
  ZygoteDoor(Loop& loop, UniqueFd socket);

  // `ways`: the filter, then where a process of one thread writes "0" to be in the cgroup. It never
  // waits: what the socket doesn't take goes later, and the zygote waits for it.
  Result<void> let_in(std::string room, std::vector<UniqueFd> ways);

 private:
  struct Entry {
    std::string room;
    std::vector<UniqueFd> ways;
  };
  void flush();

  LoopDescriptor socket_;
  std::deque<Entry> entries_;
  bool waits_ = false;
};

}  // namespace caisson::session
