#include "base/descriptor_message.h"

namespace caisson {

void put_descriptors(msghdr& message, char* space, std::span<const int> descriptors) {
  if (descriptors.empty()) return;
  message.msg_control = space;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  ::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
}

}  // namespace caisson
