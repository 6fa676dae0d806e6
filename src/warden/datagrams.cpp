// socket and socketpair for the datagrams of AF_UNIX. A message of theirs can carry the address of
// any socket file, past whatever was judged when it connected, and in sendmsg that address lies in
// memory. So a pair is one of SOCK_SEQPACKET, which keeps messages apart as well and never sends to
// anybody but its other end; a single one is only for those who may reach every socket anyway.
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "warden/state.h"

namespace caisson::warden {

namespace {

constexpr uint64_t kTypeMask = 0xf;

bool reaches_all() {
  const Rules& rules = *warden.rules;
  for (uint32_t i = 0; i < rules.socket_count; ++i)
    if (same(rules.sockets[i], "/")) return true;
  return !rules.judge_sockets;
}

bool is_datagram(uint64_t type) {
  uint64_t kind = type & kTypeMask;
  return kind == SOCK_DGRAM || kind == SOCK_RAW;  // the kernel takes one for the other
}

long type_for(uint64_t type) {
  long kind = reaches_all() ? SOCK_DGRAM : SOCK_SEQPACKET;
  return kind | SOCK_CLOEXEC | static_cast<long>(type & SOCK_NONBLOCK);
}

// Its number there. Without SECCOMP_ADDFD_FLAG_SEND: there is more to do before the answer.
long give(const Call& call, int fd) {
  seccomp_notif_addfd put{};
  put.id = call.id;
  put.srcfd = static_cast<uint32_t>(fd);
  put.newfd_flags = call.args[1] & SOCK_CLOEXEC ? O_CLOEXEC : 0;
  return sys_call(SYS_ioctl, long{warden.listener}, static_cast<long>(SECCOMP_IOCTL_NOTIF_ADDFD),
                  &put);
}

// The place for the numbers is tried first: what has been given can't be taken back.
long give_both(const Call& call, const int (&pair)[2]) {
  int numbers[2] = {-1, -1};
  long result = write_memory(call, call.args[3], numbers, sizeof numbers);
  for (int i = 0; i < 2 && result >= 0; ++i) {
    result = give(call, pair[i]);
    numbers[i] = static_cast<int>(result);
  }
  if (result >= 0) result = write_memory(call, call.args[3], numbers, sizeof numbers);
  return result < 0 ? result : 0;
}

}  // namespace

void take_socket(const Call& call) {
  if (!is_datagram(call.args[1])) return answer(call, -ESOCKTNOSUPPORT);
  if (!reaches_all()) return answer(call, -EACCES);
  long fd = sys_call(SYS_socket, long{AF_UNIX}, type_for(call.args[1]),
                     static_cast<long>(static_cast<uint32_t>(call.args[2])));
  answer_with(call, fd, call.args[1] & SOCK_CLOEXEC);
}

void take_socketpair(const Call& call) {
  if (!is_datagram(call.args[1])) return answer(call, -ESOCKTNOSUPPORT);
  int pair[2];
  long result = sys_call(SYS_socketpair, long{AF_UNIX}, type_for(call.args[1]),
                         static_cast<long>(static_cast<uint32_t>(call.args[2])), pair);
  if (result < 0) return answer(call, result);
  result = still_waiting(call) ? give_both(call, pair) : -ESRCH;
  // Ours first: whoever holds an end keeps its other end from seeing it closed.
  close_fd(pair[0]);
  close_fd(pair[1]);
  answer(call, result);
}

}  // namespace caisson::warden
