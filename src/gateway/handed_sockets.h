// Connections that the supervisor makes on the gateway's behalf and hands over: to the Unix socket
// of a proxy, which the gateway could not open. The supervisor connects to the one socket that the
// policy names and to nothing else, so what is asked for has no address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/unique_fd.h"
#include "gateway/control_out.h"
#include "gateway/event.h"
#include "loop/task.h"

namespace caisson {

class HandedSockets {
 public:
  static constexpr size_t kMaxWaiting = 256;

  explicit HandedSockets(ControlOut& control) : control_(control) {}

  // The connection; none when the supervisor could not make it.
  Task<UniqueFd> ask(Loop& loop);
  // The supervisor's answer to one who asked.
  void take(uint32_t number, UniqueFd fd);

 private:
  struct Waiter {
    explicit Waiter(Loop& loop) : answered(loop) {}
    Event answered;
    UniqueFd fd;
  };
  ControlOut& control_;
  uint32_t next_ = 0;
  std::unordered_map<uint32_t, Waiter*> waiting_;
};

// The bodies of the frames.
std::string handed_question(uint32_t number);
std::optional<uint32_t> parse_handed_question(std::string_view body);
struct HandedAnswer {
  uint32_t number = 0;
  bool with_socket = false;  // a descriptor came with the frame
};
std::string handed_answer(HandedAnswer answer);
std::optional<HandedAnswer> parse_handed_answer(std::string_view body);

}  // namespace caisson
