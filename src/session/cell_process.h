// CellProcess: one `caisson exec` that this process has started. Dropping it kills the cell.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/channel.h"
#include "session/event.h"
#include "session/refusals.h"
#include "session/session.h"

namespace caisson::session {

// What a session runs in, whichever way it was made. Dropping it ends all that is inside.
class Hold {
 public:
  virtual ~Hold() = default;
  virtual void kill() = 0;
  virtual bool alive() const = 0;
  // What is known about its end, as `caisson exec` would say it.
  virtual std::string last_words() const = 0;
  // Until it has ended, or the time is over.
  virtual Task<> ended(std::chrono::milliseconds patience) = 0;
  // Whether the kernel has ended something in it for want of memory since this was asked last;
  // nothing: nobody here can tell.
  virtual Task<std::optional<bool>> ran_out_of_memory() { co_return std::nullopt; }
  // What the network and the rules for files refused since this was asked last, where that is told.
  virtual std::vector<Refusal> take_refusals() { return {}; }
  // The pipe that they come by, for another process; none: there is no such pipe.
  virtual UniqueFd hand_over_refusals() { return {}; }
};

// What must be mounted there, whatever its path leads to by then.
struct MountedFolder {
  std::string target;
  UniqueFd folder;
};

struct CellStart {
  std::string caisson;                     // the program
  std::vector<std::string> words;          // options of `exec`, for all to see (proc(5), cmdline)
  std::vector<std::string> private_words;  // more of them, which win
  std::vector<std::string> command;
  std::vector<std::string> environment;  // of caisson itself
  std::vector<UniqueFd> descriptors;     // the command's 3, 4, …
  std::vector<MountedFolder> mounted;
};

class CellProcess final : public Hold, public std::enable_shared_from_this<CellProcess> {
 public:
  static Result<std::shared_ptr<CellProcess>> start(Loop&, CellStart);
  ~CellProcess() override;
  explicit CellProcess(Loop& loop);

  // SIGKILL to the supervisor takes its cell along (T29). Waits for the supervisor alone, which is
  // not the cell's to delay.
  void kill() override;
  bool alive() const override { return pid_ > 0; }
  // What it said on stderr, as it is, or how it ended; its first and its last words only.
  std::string last_words() const override;
  Task<> ended(std::chrono::milliseconds patience) override;
  std::vector<Refusal> take_refusals() override { return refusals_.take(); }
  UniqueFd hand_over_refusals() override { return refusals_.hand_over(); }

 private:
  void watch_end();
  void watch_errors();
  void hear();
  bool reap(int flags);

  Loop& loop_;
  pid_t pid_ = -1;
  int status_ = 0;
  LoopDescriptor pidfd_, errors_;
  std::string said_;
  RefusalPipe refusals_;
  std::vector<Event*> waiting_;
};

}  // namespace caisson::session
