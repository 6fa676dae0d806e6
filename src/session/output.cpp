#include "session/output.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>

#include "base/control.h"

namespace caisson::session {

namespace {

constexpr size_t kOutputBytes = 64 * 1024;
// A pipe holds 64 KiB, at most 1 MiB when the other side has asked for it: 32 rounds empty any, and
// a process that goes on writing can't hold us at the drain.
constexpr int kDrainRounds = 32;
// To have two pipes watched by the loop takes ten calls of the kernel. What a short call says fits
// into its pipes, and is read when it is over.
constexpr std::chrono::milliseconds kUnwatched{1};

}  // namespace

CallOutput::CallOutput(Loop& loop, OutputPipes made, uint64_t most, Listener listener)
    : unwatched_(loop.get_executor()),
      pipes_{LoopDescriptor(loop.get_executor()), LoopDescriptor(loop.get_executor())},
      made_(std::move(made)),
      left_(most),
      listener_(std::move(listener)) {}

std::vector<UniqueFd> CallOutput::take_writers() {
  std::vector<UniqueFd> writers;
  for (UniqueFd& writer : made_.writers) writers.push_back(std::move(writer));
  return writers;
}

// When the call is under way already: none of this has to be done before it.
void CallOutput::start() {
  unwatched_.expires_after(kUnwatched);
  unwatched_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (!cancelled && !self->is_over_) self->watch();
  });
}

void CallOutput::watch() {
  for (size_t i = 0; i < 2; ++i) {
    boost::system::error_code failed;
    pipes_[i].assign(made_.readers[i].get(), failed);
    if (failed) continue;  // for want of memory: what fits into the pipe is read at the end
    made_.readers[i].release();
    wait(i);
  }
}

void CallOutput::wait(size_t which) {
  if (!pipes_[which].is_open()) return;
  pipes_[which].async_wait(LoopDescriptor::wait_read, [self = shared_from_this(), which](
                                                          const boost::system::error_code& failed) {
    if (!failed && !self->is_over_ && self->read(which, 4)) self->wait(which);
  });
}

bool CallOutput::read(size_t which, int rounds) {
  char bytes[kOutputBytes];
  int fd = pipes_[which].is_open() ? pipes_[which].native_handle() : made_.readers[which].get();
  for (int i = 0; i < rounds && fd >= 0; ++i) {
    ssize_t got = ::read(fd, bytes, sizeof bytes);
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    take(which, {bytes, static_cast<size_t>(got)});
  }
  return true;
}

void CallOutput::take(size_t which, std::string_view bytes) {
  keep(which, which == static_cast<size_t>(OutputStream::kStderr) ? crash_.feed(bytes) : bytes);
}

void CallOutput::keep(size_t which, std::string_view bytes) {
  bool bounded = control_enabled("session-output");
  std::string_view kept = bounded ? bytes.substr(0, left_) : bytes;
  left_ -= std::min<uint64_t>(left_, kept.size());
  Stream& stream = streams_[which];
  stream.cut += bytes.size() - kept.size();
  stream.text += kept;
  if (listener_ && !kept.empty()) listener_(static_cast<OutputStream>(which), kept);
}

void CallOutput::finish() {
  unwatched_.cancel();
  for (size_t i = 0; i < 2; ++i) read(i, kDrainRounds);
  keep(static_cast<size_t>(OutputStream::kStderr), crash_.finish());
  listener_ = nullptr;
  left_ = 0;  // what comes after this is counted nowhere
  is_over_ = true;
}

void CallOutput::close() {
  for (UniqueFd& reader : made_.readers) reader.reset();
  for (LoopDescriptor& one : pipes_) {
    boost::system::error_code ignored;
    one.close(ignored);
  }
}

}  // namespace caisson::session
