#include "session/feed.h"

#include <errno.h>
#include <sys/socket.h>

namespace caisson::session {

namespace {

constexpr int kRoom = 1 << 20;  // that the kernel may hold of it
constexpr size_t kFeedPiece = 256 << 10;
constexpr int kPieces = 16;  // at once, so that others have their turn

}  // namespace

Feed::Feed(Loop& loop, std::string bytes)
    : socket_(loop.get_executor()), bytes_(std::move(bytes)) {}

Result<std::shared_ptr<Feed>> Feed::make(Loop& loop, std::string bytes) {
  SocketPair sockets = TRY(make_control_sockets());
  ::setsockopt(sockets.ours.get(), SOL_SOCKET, SO_SNDBUF, &kRoom, sizeof kRoom);
  // Nothing comes back: what a cell puts into our queue would be ours to close (foreign_fd.h).
  ::shutdown(sockets.ours.get(), SHUT_RD);
  auto feed = std::make_shared<Feed>(loop, std::move(bytes));
  boost::system::error_code failed;
  feed->socket_.assign(sockets.ours.get(), failed);
  if (failed) return Error::plain("watch what is sent into a session: " + failed.message());
  sockets.ours.release();
  feed->reader_ = std::move(sockets.theirs);
  return feed;
}

void Feed::write_some() {
  for (int i = 0; i < kPieces && socket_.is_open(); ++i) {
    size_t size = std::min(kFeedPiece, bytes_.size() - sent_);
    if (size == 0) return close();  // its end
    ssize_t sent =
        ::send(socket_.native_handle(), bytes_.data() + sent_, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent <= 0) return close();
    sent_ += static_cast<size_t>(sent);
  }
  if (!socket_.is_open()) return;
  socket_.async_wait(LoopDescriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& failed) {
                       if (!failed) self->write_some();
                     });
}

void Feed::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace caisson::session
