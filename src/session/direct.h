// Direct: the interpreter's own socket, held by the host. A call that goes past the keeper saves
// two wake-ups each way. At the other end is user code: a message is believed only with the nonce
// of the call that runs, and everything else that is wrong with it is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/channel.h"
#include "session/frames.h"

namespace caisson::session {

// Why the keeper is to stop a call; the numbers are the protocol's.
enum class StopReason : uint8_t { kTimeout, kInterrupt, kBroken };

// Of a call that was sent directly: what the keeper has to know when it takes it over.
struct DirectCall {
  uint32_t request = 0, number = 0;
  uint64_t nonce = 0;
};
std::string encode_stop(const DirectCall&, uint32_t generation, uint32_t elapsed_ms,
                        uint32_t grace_ms, StopReason);

struct DirectMessage {
  // kForeign: with a descriptor that is no sealed memory. Each of these costs us more than it costs
  // the sender, so that the first is the last one.
  enum class Kind { kNothing, kEnded, kForeign, kNonsense, kReady, kResult } kind = Kind::kNothing;
  pid_t sender = 0;
  uint8_t bits = 0;
  uint32_t request = 0;
  uint64_t nonce = 0;
  std::string body;
  ForeignFd spilled;
};

class Direct : public std::enable_shared_from_this<Direct> {
 public:
  // An error when it is no socket of the right kind, or when something else than a report is there.
  static Result<std::shared_ptr<Direct>> take(Loop&, ForeignFd, uint32_t generation);
  Direct(Loop&, uint32_t generation);
  ~Direct() { close(); }

  uint32_t generation() const { return generation_; }
  // False: it was not taken, and the keeper has to carry it. The descriptors stay the caller's.
  bool send(FrameType, const DirectCall&, std::string_view body,
            const std::vector<UniqueFd>& descriptors);
  // True until whoever is at the other end has told that it is there: no call goes before that.
  // (The keeper, which would listen to a call that has to stop, could take the report for itself.)
  bool awaits_report();
  DirectMessage receive();  // never waits
  // The call is over: what was lent for it is taken back.
  void finish();
  // Once, when there is something to receive.
  void when_ready(std::function<void()>);
  void close();

 private:
  LoopDescriptor socket_;
  uint32_t generation_;
  pid_t interpreter_ = 0;   // whose report came first; a process that holds its socket is another
  bool is_broken_ = false;  // it ended without a report
  UniqueFd lent_;           // the body of the call, if it is large
  std::function<void()> ready_;
  bool waiting_ = false;
};

}  // namespace caisson::session
