// Descriptors that go with a message over a socket of AF_UNIX (SCM_RIGHTS, unix(7)).
#pragma once

#include <string.h>
#include <sys/socket.h>

#include <span>
#include <vector>

namespace caisson {

// The alignment that the control part of a message wants, and its size for so many descriptors.
template <size_t kMost>
struct DescriptorSpace {
  alignas(cmsghdr) char bytes[CMSG_SPACE(kMost * sizeof(int))]{};
};

// To be sent with the message. `space` has room for them; none: nothing is put.
void put_descriptors(msghdr&, char* space, std::span<const int> descriptors);

// Each that came with it, in its order, to be owned at once: a message that is refused must not
// leave any behind.
template <typename Owner>
std::vector<Owner> take_descriptors(msghdr& message) {
  std::vector<Owner> taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      ::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      taken.emplace_back(fd);
    }
  }
  return taken;
}

}  // namespace caisson
