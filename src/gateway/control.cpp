#include "gateway/control.h"

#include <sys/socket.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <deque>

#include "base/descriptor_message.h"
#include "gateway/control_frames.h"
#include "gateway/live_rules.h"

namespace caisson {
namespace {

constexpr size_t kMaxHanded = 64;  // descriptors that came before their frames

using Descriptors = std::deque<UniqueFd>;

Result<void> take_rules(Core& core, std::string_view json) {
  return core.take(TRY(parse_live_rules(json)));
}

UniqueFd next_of(Descriptors& descriptors) {
  if (descriptors.empty()) return UniqueFd();
  UniqueFd fd = std::move(descriptors.front());
  descriptors.pop_front();
  return fd;
}

// Bytes, and descriptors that came with them.
Moved receive(int fd, std::span<uint8_t> into, Descriptors& descriptors) {
  alignas(cmsghdr) char room[CMSG_SPACE(8 * sizeof(int))];
  iovec bytes{into.data(), into.size()};
  msghdr message{
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  ssize_t got = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return {0, errno == EINTR ? EAGAIN : errno};
  for (UniqueFd& one : take_descriptors<UniqueFd>(message))
    if (descriptors.size() < kMaxHanded) descriptors.push_back(std::move(one));
  return {static_cast<size_t>(got), 0};
}

// False: it is over.
bool obey(Core& core, const ControlFrame& frame, Descriptors& descriptors) {
  switch (static_cast<ControlType>(frame.type)) {
    case ControlType::kRules:
      // Rules that can't be read change nothing: the old ones stay.
      if (auto taken = take_rules(core, frame.body); !taken.ok())
        core.control.send(ControlType::kFailed, taken.error().what);
      return true;
    case ControlType::kProxy:
      if (std::optional<HandedAnswer> told = parse_handed_answer(frame.body))
        core.handed.take(told->number, told->with_socket ? next_of(descriptors) : UniqueFd());
      return true;
    case ControlType::kEnd:
      core.denials.tell_counts();
      core.control.send(ControlType::kUsage, usage_json(core));
      core.control.flush_and_wait(1000);
      return false;
    default:
      return false;
  }
}

}  // namespace

std::string usage_json(const Core& core) {
  boost::json::object usage;
  usage["connections"] = core.traffic.connections;
  usage["up"] = core.traffic.up();
  usage["down"] = core.traffic.down();
  usage["denied"] = core.denials.total();
  usage["untold"] = core.denials.untold();
  usage["lost_count"] = core.denials.lost_count() ? 1u : 0u;
  return boost::json::serialize(usage);
}

Task<> serve_control(Core& core, Socket control) {
  std::string received;
  Descriptors descriptors;
  std::array<uint8_t, 4096> chunk;
  for (bool over = false; !over;) {
    Moved got = receive(control.fd(), chunk, descriptors);
    if (got.would_block()) {
      over = co_await control.readable() != 0;
      continue;
    }
    if (got.error || got.ended()) break;
    received.append(reinterpret_cast<const char*>(chunk.data()), got.bytes);
    bool broken = false;
    while (!over) {
      auto frame = take_control_frame(received, broken);
      if (!frame) break;
      over = !obey(core, *frame, descriptors);
    }
    over = over || broken;
  }
  core.control.set_fd(-1);
  core.loop.stop();
}

}  // namespace caisson
