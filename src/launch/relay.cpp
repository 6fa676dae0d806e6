#include "launch/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/control.h"

namespace caisson {

constexpr size_t kChunk = 65536, kInputChunk = 4096;

short events_of(const std::vector<pollfd>& polls, int fd) {
  for (const pollfd& one : polls)
    if (one.fd == fd) return one.revents;
  return 0;
}

static void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

OutputRelay::OutputRelay(UniqueFd from, int to, bool capture, OutputBudget& budget)
    : from_(std::move(from)), to_(to), capture_(capture), budget_(budget) {
  if (from_) set_nonblocking(from_.get());  // our end of our own pipe; the cell's end is untouched
  if (!capture && to_.is_terminal() && control_enabled("terminal-filter"))
    filter_.emplace(TerminalFilter::Mode::kPlain, charset_of_caller());
}

void OutputRelay::add_to(std::vector<pollfd>& polls) const {
  if (!pending_.empty())
    polls.push_back({to_.fd(), POLLOUT, 0});
  else if (from_)
    polls.push_back({from_.get(), POLLIN, 0});
}

void OutputRelay::handle(const std::vector<pollfd>& polls) {
  if (!pending_.empty() && events_of(polls, to_.fd())) write_some();
  if (from_ && pending_.empty() && events_of(polls, from_.get())) {
    read_some();
    if (!pending_.empty() && to_.is_file()) write_some();
  }
}

bool OutputRelay::read_some() {
  static char buffer[kChunk];
  ssize_t got = ::read(from_.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    from_.reset();
    if (filter_) pending_ += filter_->finish();
    return false;
  }
  size_t size = static_cast<size_t>(got);
  size_t allowed = static_cast<size_t>(std::min<uint64_t>(size, budget_.left));
  seen_ += size;
  cut_ += size - allowed;
  budget_.left -= allowed;
  if (capture_)
    captured_.append(buffer, allowed);
  else if (filter_)
    pending_ += filter_->feed({buffer, allowed});
  else
    pending_.append(buffer, allowed);
  return true;
}

void OutputRelay::write_some() {
  ssize_t written = to_.write(pending_);
  if (written >= 0) {
    pending_.erase(0, static_cast<size_t>(written));
  } else if (errno != EAGAIN && errno != EINTR) {
    // Nobody takes it any more: closing our end gives the program its SIGPIPE.
    pending_.clear();
    from_.reset();
  }
}

// What the pipe held when the cell ended, and no more: a descriptor of it may have left the cell.
void OutputRelay::drain() {
  if (!from_) return;
  if (!drain_left_) {
    int size = ::fcntl(from_.get(), F_GETPIPE_SZ);
    drain_left_ = static_cast<uint64_t>(size > 0 ? size : static_cast<int>(kChunk));
  }
  while (from_ && *drain_left_ > 0 && pending_.size() < kChunk) {
    uint64_t before = seen_;
    if (!read_some()) break;
    *drain_left_ -= std::min(*drain_left_, seen_ - before);
  }
  if (from_ && (pending_.size() < kChunk || *drain_left_ == 0)) from_.reset();
}

InputRelay::InputRelay(int from, UniqueFd to) : from_(from), to_(std::move(to)) {
  if (to_) set_nonblocking(to_.get());
}

void InputRelay::add_to(std::vector<pollfd>& polls) const {
  if (!to_) return;
  if (pending_.empty()) {
    polls.push_back({from_.fd(), POLLIN, 0});
    polls.push_back({to_.get(), 0, 0});  // POLLERR tells that the program has closed its end
  } else {
    polls.push_back({to_.get(), POLLOUT, 0});
  }
}

void InputRelay::handle(const std::vector<pollfd>& polls) {
  if (!to_) return;
  if (events_of(polls, to_.get()) & POLLERR) return to_.reset();
  if (pending_.empty() && events_of(polls, from_.fd())) {
    char buffer[kInputChunk];
    ssize_t got = from_.read(buffer, sizeof buffer);
    if (got > 0)
      pending_.assign(buffer, static_cast<size_t>(got));
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
      return to_.reset();  // the end of the caller's input is the end of the program's
  }
  if (pending_.empty()) return;
  ssize_t written = ::write(to_.get(), pending_.data(), pending_.size());
  if (written > 0)
    pending_.erase(0, static_cast<size_t>(written));
  else if (written < 0 && errno != EAGAIN && errno != EINTR)
    to_.reset();
}

}  // namespace caisson
