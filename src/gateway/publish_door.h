// --publish: a port of the cell, reachable on the host's loopback. The gateway isn't in the cell's
// network namespace, so it uses sockets that were made there and handed out; a socket keeps its
// namespace, and can be connected again and again.
#pragma once

#include <deque>

#include "gateway/core.h"

namespace caisson {

class PublishPool {
 public:
  PublishPool(Core& core, std::vector<UniqueFd> sockets);

  // A client of a published port.
  Task<> serve(Socket client, uint16_t cell_port);

 private:
  Task<UniqueFd> take();
  void give_back(UniqueFd socket);

  Core& core_;
  std::deque<UniqueFd> free_;  // the one that rested longest first: its old port is free again
};

}  // namespace caisson
