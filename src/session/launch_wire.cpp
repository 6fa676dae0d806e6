#include "session/launch_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/descriptor_message.h"

namespace caisson::session {

namespace {

constexpr size_t kHeadBytes = 16;
constexpr size_t kMostPacketText = (kMostPacket - kHeadBytes) / kMostPacketTexts - 4;

template <typename T>
void put_field(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);  // both ends are one machine
}

template <typename T>
T take(std::string_view& from) {
  T value;
  ::memcpy(&value, from.data(), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

Error broken_packet() { return Error::plain("a packet that breaks the launcher's protocol"); }

}  // namespace

std::string encode_packet(const LaunchPacket& packet) {
  std::string bytes;
  put_field(bytes, static_cast<uint32_t>(packet.word));
  put_field(bytes, packet.id);
  put_field(bytes, packet.number);
  for (size_t i = 0; i < std::min(packet.texts.size(), kMostPacketTexts); ++i) {
    std::string_view text = std::string_view(packet.texts[i]).substr(0, kMostPacketText);
    put_field(bytes, static_cast<uint32_t>(text.size()));
    bytes += text;
  }
  return bytes;
}

Result<LaunchPacket> decode_packet(std::string_view bytes) {
  if (bytes.size() < kHeadBytes || bytes.size() > kMostPacket) return broken_packet();
  LaunchPacket packet;
  packet.word = static_cast<LaunchWord>(take<uint32_t>(bytes));
  packet.id = take<uint32_t>(bytes);
  packet.number = take<uint64_t>(bytes);
  while (!bytes.empty()) {
    if (bytes.size() < sizeof(uint32_t) || packet.texts.size() == kMostPacketTexts)
      return broken_packet();
    auto size = take<uint32_t>(bytes);
    if (size > bytes.size()) return broken_packet();
    packet.texts.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return packet;
}

Sent send_packet(int socket, const std::string& bytes, const std::vector<UniqueFd>& descriptors) {
  if (descriptors.size() > kMostPacketDescriptors) return Sent::kNever;
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  std::vector<int> fds;
  for (const UniqueFd& one : descriptors) fds.push_back(one.get());
  DescriptorSpace<kMostPacketDescriptors> space;
  msghdr header{.msg_iov = &data, .msg_iovlen = 1};
  put_descriptors(header, space.bytes, fds);
  for (;;) {
    ssize_t sent = ::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return Sent::kYes;
    // ETOOMANYREFS: more descriptors are under way than one user may have at once; they arrive.
    if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS) return Sent::kLater;
    if (errno != EINTR) return Sent::kNever;
  }
}

Result<std::optional<LaunchPacket>> receive_packet(int socket) {
  std::string bytes(kMostPacket, '\0');
  alignas(cmsghdr) char space[CMSG_SPACE(kMostPacketDescriptors * sizeof(int))];
  iovec data{bytes.data(), bytes.size()};
  msghdr header{.msg_iov = &data, .msg_iovlen = 1};
  header.msg_control = space;
  header.msg_controllen = sizeof space;
  ssize_t got = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::optional<LaunchPacket>();
  if (got <= 0) return Error::plain("the other side is gone");
  std::vector<UniqueFd> descriptors = take_descriptors<UniqueFd>(header);
  if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) return broken_packet();
  LaunchPacket packet = TRY(decode_packet({bytes.data(), static_cast<size_t>(got)}));
  packet.descriptors = std::move(descriptors);
  return std::optional<LaunchPacket>(std::move(packet));
}

}  // namespace caisson::session
