#include "session/direct.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/control.h"

namespace caisson::session {

namespace {

// As in py/frames.py: type, flags, request, nonce; then the body, at most so much of it.
constexpr size_t kHead = 14, kMostInline = 32 * 1024;
constexpr uint8_t kDirectFlag = 2, kReady = 96;

void put(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
}

uint64_t number_before(const char* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Who sent it, by the kernel's word (SO_PASSCRED, which the keeper has set).
pid_t sender_of(msghdr& header) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part))
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS &&
        part->cmsg_len == CMSG_LEN(sizeof(ucred))) {
      ucred who;
      ::memcpy(&who, CMSG_DATA(part), sizeof who);
      return who.pid;
    }
  return 0;
}

bool is_socket_of_messages(int fd) {
  int kind = 0, domain = 0;
  socklen_t size = sizeof kind;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_SEQPACKET &&
         ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

}  // namespace

std::string encode_stop(const DirectCall& call, uint32_t generation, uint32_t elapsed_ms,
                        uint32_t grace_ms, StopReason why) {
  std::string out;
  put(out, call.nonce, 8);
  for (uint32_t one : {call.number, generation, elapsed_ms, grace_ms}) put(out, one, 4);
  put(out, static_cast<uint8_t>(why), 1);
  return out;
}

Direct::Direct(Loop& loop, uint32_t generation)
    : socket_(loop.get_executor()), generation_(generation) {}

Result<std::shared_ptr<Direct>> Direct::take(Loop& loop, ForeignFd socket, uint32_t generation) {
  if (!is_socket_of_messages(socket.get()))
    return Error::plain("the session broke its protocol: an interpreter without a socket");
  auto made = std::make_shared<Direct>(loop, generation);
  boost::system::error_code failed;
  made->socket_.assign(socket.get(), failed);
  if (failed) return Error::plain("watch an interpreter: " + failed.message());
  socket.release().release();
  if (made->awaits_report() || !made->is_broken_) return made;
  return Error::plain("the session broke its protocol: an interpreter that did not report");
}

// The report that every interpreter begins with. The keeper has looked at it, and left it there; or
// it is still to come, of a fork of the keeper itself.
bool Direct::awaits_report() {
  if (interpreter_ || is_broken_) return false;
  DirectMessage report = receive();
  if (report.kind == DirectMessage::Kind::kNothing) return true;
  if (report.kind == DirectMessage::Kind::kReady)
    interpreter_ = report.sender;
  else
    is_broken_ = true;
  return false;
}

bool Direct::send(FrameType type, const DirectCall& call, std::string_view body,
                  const std::vector<UniqueFd>& descriptors) {
  if (!socket_.is_open() || !interpreter_ || descriptors.size() >= kMostFrameDescriptors)
    return false;
  finish();
  if (body.size() > kMostInline - 4) {
    Result<UniqueFd> made = lent_memfd("caisson-frame", body);
    if (!made) return false;
    lent_ = std::move(*made);
    body = {};
  }
  std::string bytes;
  bytes.reserve(kHead + 4 + body.size());
  bytes += static_cast<char>(static_cast<uint8_t>(type) | (lent_ ? kSpilledBit : 0));
  bytes += static_cast<char>(kDirectFlag);
  put(bytes, call.request, 4);
  put(bytes, call.nonce, 8);
  put(bytes, call.number, 4);
  bytes += body;
  std::vector<int> fds;
  if (lent_) fds.push_back(lent_.get());
  for (const UniqueFd& one : descriptors) fds.push_back(one.get());
  iovec data{bytes.data(), bytes.size()};
  DescriptorSpace<kMostFrameDescriptors> space;
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  put_descriptors(header, space.bytes, fds);
  ssize_t sent;
  do sent = ::sendmsg(socket_.native_handle(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

DirectMessage Direct::receive() {
  DirectMessage message;
  message.kind = DirectMessage::Kind::kEnded;
  if (!socket_.is_open()) return message;
  char bytes[kHead + kMostInline + 64];
  alignas(
      cmsghdr) char space[CMSG_SPACE(kMostInOneMessage * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
  iovec data{bytes, sizeof bytes};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof space;
  ssize_t got = ::recvmsg(socket_.native_handle(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) message.kind = DirectMessage::Kind::kNothing;
  if (got <= 0) return message;
  std::vector<ForeignFd> descriptors = take_descriptors<ForeignFd>(header);
  message.kind = DirectMessage::Kind::kForeign;
  if (!std::ranges::all_of(descriptors, &ForeignFd::is_sealed_memory)) return message;
  message.kind = DirectMessage::Kind::kNonsense;
  auto size = static_cast<size_t>(got);
  if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || size < kHead) return message;
  auto type = static_cast<uint8_t>(bytes[0]);
  message.sender = sender_of(header);
  if (!interpreter_ && type == kReady && message.sender > 0) {
    message.kind = DirectMessage::Kind::kReady;
    return message;
  }
  // A process that code has left behind can hold the socket, and take a request with its nonce.
  if (message.sender != interpreter_ && control_enabled("session-answerer")) return message;
  bool spilled = type & kSpilledBit;
  if ((type & ~kSpilledBit) != static_cast<uint8_t>(FrameType::kResult) ||
      descriptors.size() != (spilled ? 1 : 0))
    return message;
  message.kind = DirectMessage::Kind::kResult;
  message.bits = static_cast<uint8_t>(bytes[1]);
  message.request = static_cast<uint32_t>(number_before(bytes + 2, 4));
  message.nonce = number_before(bytes + 6, 8);
  message.body.assign(bytes + kHead, size - kHead);
  if (spilled) message.spilled = std::move(descriptors[0]);
  return message;
}

void Direct::finish() {
  take_back(lent_);
  lent_.reset();
}

void Direct::when_ready(std::function<void()> ready) {
  ready_ = std::move(ready);
  if (waiting_ || !socket_.is_open()) return;
  waiting_ = true;
  socket_.async_wait(LoopDescriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& failed) {
                       self->waiting_ = false;
                       std::function<void()> ready = std::exchange(self->ready_, nullptr);
                       if (!failed && ready) ready();
                     });
}

void Direct::close() {
  ready_ = nullptr;
  finish();
  // Released first: the keeper has the same open file, so that a close alone would leave it in the
  // loop's epoll set.
  if (socket_.is_open()) close_socket(UniqueFd(socket_.release()));
}

}  // namespace caisson::session
