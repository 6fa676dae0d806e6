#include "session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace caisson::session {

namespace {

constexpr size_t kReadBytes = 64 * 1024;
// A pipe holds 64 KiB, at most 1 MiB when the other side has asked for it: 32 rounds empty any, and
// a process that goes on writing can't hold us at the drain.
constexpr int kDrainRounds = 32;

}  // namespace

CallOutput::CallOutput(Loop& loop, uint64_t most, Listener listener)
    : pipes_{LoopDescriptor(loop.get_executor()), LoopDescriptor(loop.get_executor())},
      left_(most),
      listener_(std::move(listener)) {}

Result<std::shared_ptr<CallOutput>> CallOutput::make(Loop& loop, uint64_t most, Listener listener) {
  auto output = std::make_shared<CallOutput>(loop, most, std::move(listener));
  for (size_t i = 0; i < 2; ++i) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) return Error::system("make a pipe for a call's output");
    UniqueFd reader{fds[0]};
    output->writers_[i].reset(fds[1]);
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);  // of this end only
    boost::system::error_code failed;
    output->pipes_[i].assign(reader.get(), failed);
    if (failed) return Error::plain("watch a call's output: " + failed.message());
    reader.release();
  }
  return output;
}

std::vector<UniqueFd> CallOutput::take_writers() {
  std::vector<UniqueFd> writers;
  for (UniqueFd& writer : writers_) writers.push_back(std::move(writer));
  return writers;
}

void CallOutput::start() {
  wait(0);
  wait(1);
}

void CallOutput::wait(size_t which) {
  if (!pipes_[which].is_open()) return;
  pipes_[which].async_wait(LoopDescriptor::wait_read, [self = shared_from_this(), which](
                                                          const boost::system::error_code& failed) {
    if (!failed && self->read(which, 4)) self->wait(which);
  });
}

bool CallOutput::read(size_t which, int rounds) {
  char bytes[kReadBytes];
  for (int i = 0; i < rounds && pipes_[which].is_open(); ++i) {
    ssize_t got = ::read(pipes_[which].native_handle(), bytes, sizeof bytes);
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    take(which, {bytes, static_cast<size_t>(got)});
  }
  return true;
}

void CallOutput::take(size_t which, std::string_view bytes) {
  std::string_view kept = bytes.substr(0, left_);
  left_ -= kept.size();
  Stream& stream = streams_[which];
  stream.cut += bytes.size() - kept.size();
  stream.text += kept;
  if (listener_ && !kept.empty()) listener_(static_cast<OutputStream>(which), kept);
}

void CallOutput::finish() {
  for (size_t i = 0; i < 2; ++i) {
    read(i, kDrainRounds);
    boost::system::error_code ignored;
    pipes_[i].close(ignored);
  }
  listener_ = nullptr;
}

}  // namespace caisson::session
