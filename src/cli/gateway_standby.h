// A cell's sockets while nobody has come to them. Most programs of a cell that may reach something
// never try to: the gateway's process is started by the first who does, and waits for nobody else.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "gateway/handover_receive.h"

namespace caisson {

class GatewayStandby {
 public:
  static Result<GatewayStandby> make();

  // The end by which the cell hands its sockets over. Given to the cell's child.
  UniqueFd take_cell_end() { return std::move(cell_end_); }
  // Readable when there is something to look at.
  int fd() const { return epoll_.get(); }
  // Never accepts or reads what the cell sends: that is for the confined process. True: somebody is
  // at one of the sockets.
  bool look();
  // Passes the sockets on as the cell did, in one message. None of them stays here; from then on
  // fd() is readable when `control` is.
  Result<void> hand_over(int gateway, int control);
  // There is no gateway, and whoever came or comes is turned away.
  void close() { sockets_ = {}; }

 private:
  bool watch(int fd);
  void take_sockets();

  UniqueFd epoll_, handover_, cell_end_;
  CellSockets sockets_;
};

}  // namespace caisson
