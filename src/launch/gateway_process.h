// The process of a cell's gateway: beside the supervisor, on the host's network, and confined to
// it. It parses what a cell sends, so it has nothing that a cell could want but the connections: no
// files, no capabilities, no other processes, and as root an id that owns nothing.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson {

// What the gateway's process runs, confined; the descriptors are its ends. Its value is its exit
// code.
using GatewayMain = std::function<int(int control_fd, int cell_fd)>;

struct GatewayStart {
  GatewayMain run;
  std::vector<int> keep;      // further descriptors that it has: listeners of published ports
  bool throwaway_id = false;  // started by root: it goes by a number that owns nothing
  int landlock_abi = 0;
  char* wipe_start = nullptr;  // caisson's own argv and environment strings
  uint64_t wipe_size = 0;
  uint64_t turn_ns = 0;  // that it has, where ours were made shorter: see sys/short_turns.h
};

// Move-only; dropping it ends the process.
class GatewayProcess {
 public:
  static Result<GatewayProcess> start(GatewayStart);
  GatewayProcess(GatewayProcess&& other) noexcept;
  GatewayProcess& operator=(GatewayProcess&&) = delete;
  ~GatewayProcess();

  int control() const { return control_.get(); }
  // The end of the socket by which the cell hands over its sockets. Given to the cell's child.
  UniqueFd take_cell_end() { return std::move(cell_end_); }
  void kill() const;
  // Tells it to end by closing its socket, waits a little, ends it.
  void finish();

 private:
  GatewayProcess() = default;
  pid_t pid_ = -1;
  UniqueFd pidfd_, control_, cell_end_;
};

}  // namespace caisson
