// What a call writes: two pipes that are read as they fill, kept up to a bound and counted beyond.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/channel.h"
#include "session/crash_lines.h"
#include "session/event.h"
#include "session/output_pipes.h"
#include "session/session.h"

namespace caisson::session {

class CallOutput : public std::enable_shared_from_this<CallOutput> {
 public:
  using Listener = std::function<void(OutputStream, std::string_view)>;
  // The write ends, once: they go to the interpreter.
  std::vector<UniqueFd> take_writers();
  // Read as they fill, from a moment after this on: most calls are over by then.
  void start();
  // All that is in the pipes by now; what comes later has no reader.
  void finish();
  void close();

  struct Stream {
    std::string text;
    uint64_t cut = 0;
  };
  Stream& stream(OutputStream which) { return streams_[static_cast<size_t>(which)]; }

  CallOutput(Loop& loop, OutputPipes, uint64_t most, Listener listener);

 private:
  void watch();
  void wait(size_t which);
  // False: the pipe has ended. `rounds` bounds how much is read at once.
  bool read(size_t which, int rounds);
  void take(size_t which, std::string_view bytes);
  void keep(size_t which, std::string_view bytes);

  LoopTimer unwatched_;
  LoopDescriptor pipes_[2];
  OutputPipes made_;  // a reader is here until the loop has it
  Stream streams_[2];
  CrashLines crash_;
  uint64_t left_;
  bool is_over_ = false;
  Listener listener_;
};

}  // namespace caisson::session
