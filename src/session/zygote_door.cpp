#include "session/zygote_door.h"

#include "session/launch_wire.h"

namespace caisson::session {

namespace {

constexpr size_t kMostEntries = 8192;  // one that never reads has no more

}  // namespace

ZygoteDoor::ZygoteDoor(Loop& loop, UniqueFd socket) : socket_(loop.get_executor()) {
  boost::system::error_code failed;
  socket_.assign(socket.get(), failed);
  if (!failed) socket.release();
}

Result<void> ZygoteDoor::let_in(std::string room, std::vector<UniqueFd> ways) {
  if (!socket_.is_open() || entries_.size() >= kMostEntries)
    return Error::plain("the zygote takes no more forks");
  entries_.push_back({std::move(room), std::move(ways)});
  if (!waits_) flush();
  return {};
}

void ZygoteDoor::flush() {
  while (!entries_.empty()) {
    Sent sent = send_packet(socket_.native_handle(), entries_.front().room, entries_.front().ways);
    if (sent == Sent::kLater) break;
    if (sent == Sent::kNever) return entries_.clear();  // it is gone, and so will be its forks
    entries_.pop_front();
  }
  waits_ = !entries_.empty();
  if (!waits_) return;
  socket_.async_wait(LoopDescriptor::wait_write,
                     [weak = weak_from_this()](const boost::system::error_code& failed) {
                       std::shared_ptr<ZygoteDoor> self = weak.lock();
                       if (!self) return;
                       self->waits_ = false;
                       if (!failed) self->flush();
                     });
}

}  // namespace caisson::session
