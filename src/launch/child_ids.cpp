// Taking on the cell's identity, when it was started by root.
#include <errno.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "launch/child_state.h"

namespace caisson {

long receive_descriptors(ChildState& state, int* fds, unsigned most) {
  char word = 0;
  iovec data{&word, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostMappedMounts * sizeof(int))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  long got =
      sys_call(SYS_recvmsg, long{state.program->control_fd}, &header, long{MSG_CMSG_CLOEXEC});
  if (got != 1) sys_call(SYS_exit_group, 0L);  // nobody is left to work for
  const cmsghdr* part = CMSG_FIRSTHDR(&header);
  if (!part || part->cmsg_type != SCM_RIGHTS) return 0;
  const int* sent = reinterpret_cast<const int*>(CMSG_DATA(part));
  unsigned count = static_cast<unsigned>((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  if (count > most) return -E2BIG;
  for (unsigned i = 0; i < count; ++i) fds[i] = sent[i];
  return count;
}

long send_with_descriptor(int socket, iovec data, int fd) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(part)) = fd;
  long sent = sys_call(SYS_sendmsg, long{socket}, &header, long{MSG_NOSIGNAL});
  return sent < 0 ? sent : 0;
}

long send_descriptor(ChildState& state, MessageKind kind, int fd) {
  ChildMessage message{};
  message.kind = kind;
  return send_with_descriptor(state.program->control_fd, {&message, sizeof message}, fd);
}

// Until here root was this process's saved id; from here on it is nobody outside.
long take_ids(ChildState& state, const Step& step) {
  long uid = static_cast<long>(step.a), gid = static_cast<long>(step.b);
  long result = sys_call(SYS_setresgid, gid, gid, gid);
  if (result >= 0) result = sys_call(SYS_setresuid, uid, uid, uid);
  if (result < 0) return result;
  // A change of ids clears the parent-death signal (prctl(2)).
  if (state.program->die_with_parent)
    sys_call(SYS_prctl, long{PR_SET_PDEATHSIG}, long{state.program->death_signal});
  ChildMessage mapped{};
  mapped.kind = MessageKind::kMapped;
  result = sys_call(SYS_write, long{state.program->control_fd}, &mapped, long{sizeof mapped});
  return result < 0 ? result : 0;
}

long await_mounts(ChildState& state) {
  long count = receive_descriptors(state, state.mapped_mounts, kMostMappedMounts);
  if (count < 0) return count;
  state.mapped_count = static_cast<unsigned>(count);
  return 0;
}

}  // namespace caisson
