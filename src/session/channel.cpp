#include "session/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <fmt/format.h>

namespace caisson::session {

namespace {

constexpr size_t kMostOutgoing = 64u << 20;  // to a keeper that doesn't read
constexpr size_t kReadBytes = 64 * 1024;

}  // namespace

Result<SocketPair> make_control_sockets() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return Error::system("make a session's control socket");
  return SocketPair{UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

Channel::Channel(Loop& loop, UniqueFd socket, Speaker speaker)
    : socket_(loop.get_executor()), reader_(speaker) {
  // Ours alone: the flag is the open file's, and the keeper's end is another one.
  ::fcntl(socket.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  boost::system::error_code failed;
  socket_.assign(socket.get(), failed);
  if (!failed) socket.release();
}

void Channel::listen(std::weak_ptr<ChannelListener> listener) {
  listener_ = std::move(listener);
  wait_readable();
}

void Channel::wait_readable() {
  if (!open()) return;
  socket_.async_wait(LoopDescriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& failed) {
                       if (!failed) self->read_some();
                     });
}

void Channel::read_some() {
  // A few at a time, so that a keeper that talks without end leaves the others their turn.
  for (int i = 0; i < 4; ++i)
    if (!receive_once()) return;
  wait_readable();
}

bool Channel::receive_once() {
  if (!open()) return false;
  char bytes[kReadBytes];
  alignas(cmsghdr) char space[CMSG_SPACE(kMostInOneMessage * sizeof(int))];
  iovec data{bytes, sizeof bytes};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof space;
  ssize_t got = ::recvmsg(socket_.native_handle(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    wait_readable();
    return false;
  }
  if (got <= 0) return end("the session's processes are gone"), false;
  std::vector<ForeignFd> descriptors = take_descriptors<ForeignFd>(header);
  if (header.msg_flags & MSG_CTRUNC || descriptors.size() > kMostFrameDescriptors)
    return end("the session sent too many descriptors"), false;
  Result<void> fed = reader_.feed({bytes, static_cast<size_t>(got)}, std::move(descriptors));
  if (!fed) return end(fed.error().what), false;
  while (open()) {
    Result<std::optional<Frame>> frame = reader_.next();
    if (!frame) return end(frame.error().what), false;
    if (!*frame) return true;
    std::shared_ptr<ChannelListener> listener = listener_.lock();
    if (!listener) return close(), false;
    listener->heard(std::move(**frame));
  }
  return false;
}

Result<void> Channel::send(FrameType type, uint32_t request, std::string_view head,
                           std::string_view body, std::vector<UniqueFd> descriptors) {
  if (!open()) return Error::plain("the session has ended");
  bool spill = head.size() + body.size() > kMostBody;
  std::string whole(head);
  if (spill) {
    UniqueFd lent = TRY(lent_memfd("caisson-frame", body));
    descriptors.emplace(descriptors.begin(), ::fcntl(lent.get(), F_DUPFD_CLOEXEC, 3));
    lent_.push_back(std::move(lent));
  } else {
    whole += body;
  }
  if (descriptors.size() > kMostFrameDescriptors)
    return Error::plain("too many descriptors for one frame");
  if (outgoing_bytes_ + whole.size() > kMostOutgoing) {
    end("the session does not read what it is sent");
    return Error::plain("the session does not read what it is sent");
  }
  outgoing_bytes_ += whole.size() + kHeaderBytes;
  outgoing_.push_back({encode_frame(type, spill, request, whole), 0, std::move(descriptors)});
  if (!waiting_to_write_ && !write_some()) wait_writable();
  if (!open()) return Error::plain("the session has ended");
  return {};
}

bool Channel::write_some() {
  while (open() && !outgoing_.empty()) {
    Outgoing& next = outgoing_.front();
    iovec data{next.bytes.data() + next.sent, next.bytes.size() - next.sent};
    DescriptorSpace<kMostFrameDescriptors> space;
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    std::vector<int> fds;
    for (const UniqueFd& one : next.descriptors) fds.push_back(one.get());
    put_descriptors(header, space.bytes, fds);
    ssize_t sent = ::sendmsg(socket_.native_handle(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return false;
    if (sent <= 0) {
      end("the session's processes are gone");
      return true;
    }
    next.descriptors.clear();
    next.sent += static_cast<size_t>(sent);
    if (next.sent < next.bytes.size()) continue;
    outgoing_bytes_ -= next.bytes.size();
    outgoing_.pop_front();
  }
  return true;
}

void Channel::wait_writable() {
  waiting_to_write_ = true;
  socket_.async_wait(LoopDescriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& failed) {
                       self->waiting_to_write_ = false;
                       if (!failed && !self->write_some()) self->wait_writable();
                     });
}

void Channel::take_back_bodies() {
  for (const UniqueFd& one : lent_) take_back(one);
  lent_.clear();
}

void Channel::close() {
  take_back_bodies();
  outgoing_.clear();
  if (socket_.is_open()) close_socket(UniqueFd(socket_.release()));
}

void Channel::end(std::string why) {
  if (!open()) return;
  close();
  if (std::shared_ptr<ChannelListener> listener = listener_.lock()) listener->ended(std::move(why));
}

}  // namespace caisson::session
