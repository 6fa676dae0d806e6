#include "session/foreign_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>

#include "base/control.h"
#include "base/descriptor_message.h"
#include "sys/raw_syscall.h"

namespace caisson::session {

namespace {

// What a memfd may hold to be closed here: giving its pages back takes about 0.1 ms for each MiB.
constexpr int64_t kMostMemory = 16 << 20;
constexpr int kMostMessages = 4096;  // in the queue of a socket; its buffer holds some hundred

// The thread below: one at a time until it has left its stack, which is at once.
alignas(16) constinit char stack[16 * 1024] = {};
constinit std::atomic<int> stack_in_use = 0, may_go = 0;

int wait_and_end(void*) {
  sys_call(SYS_set_tid_address, &stack_in_use);  // the kernel writes 0 there at the end
  while (may_go.load() == 0) sys_call(SYS_futex, &may_go, long{FUTEX_WAIT_PRIVATE}, 0L, 0L);
  return 0;
}

void await_stack() {
  timespec pause{0, 10'000'000};
  for (int used; (used = stack_in_use.load()) != 0;)
    sys_call(SYS_futex, &stack_in_use, long{FUTEX_WAIT}, static_cast<long>(used), &pause);
}

// A thread with a table of descriptors of its own, which has the last word on this one: it ends,
// and a task that ends never lingers (inet_release); whatever else the kernel has to do is done in
// its time. A process would do the same, but has to be waited for.
bool close_in_a_thread(UniqueFd& fd) {
  await_stack();
  stack_in_use = 1;
  may_go = 0;
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);  // no handler runs on that stack
  long made = caisson_clone_call(CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
                                 stack + sizeof stack, wait_and_end, nullptr);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (made < 0) {
    stack_in_use = 0;
    return false;
  }
  fd.reset();  // not the last: the thread has it still
  may_go = 1;
  sys_call(SYS_futex, &may_go, long{FUTEX_WAKE_PRIVATE}, 1L);
  return true;
}

void let_go(UniqueFd fd) {
  if (!fd) return;
  struct stat info;
  bool is_memory = ::fcntl(fd.get(), F_GET_SEALS) >= 0 && ::fstat(fd.get(), &info) == 0;
  if (is_memory && info.st_blocks * 512 <= kMostMemory) return;
  if (!control_enabled("session-foreign-close") || close_in_a_thread(fd)) return;
  linger none{0, 0};  // for want of a thread: at least not for as long as it says
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

}  // namespace

ForeignFd& ForeignFd::operator=(ForeignFd&& other) noexcept {
  let_go(std::move(fd_));
  fd_ = std::move(other.fd_);
  return *this;
}

ForeignFd::~ForeignFd() { let_go(std::move(fd_)); }

bool ForeignFd::is_sealed_memory() const {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  int seals = ::fcntl(fd_.get(), F_GET_SEALS);  // EINVAL for whatever is no memfd
  return seals >= 0 && (seals & kNeeded) == kNeeded;
}

void close_socket(UniqueFd socket) {
  if (!socket) return;
  ::shutdown(socket.get(), SHUT_RDWR);  // from here on nothing is added to its queue
  // An empty message looks like the end of the queue, but for the credentials that come with it.
  int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  for (int i = 0; i < kMostMessages; ++i) {
    char bytes[4096];  // of a stream the rest comes next, of a message it is gone
    alignas(cmsghdr) char
        space[CMSG_SPACE(kMostInOneMessage * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
    iovec data{bytes, sizeof bytes};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = space;
    header.msg_controllen = sizeof space;
    ssize_t got = ::recvmsg(socket.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || (got == 0 && header.msg_controllen == 0)) return;
    for (UniqueFd& one : take_descriptors<UniqueFd>(header)) let_go(std::move(one));
  }
  let_go(std::move(socket));  // it goes on and on: then with all that it holds
}

}  // namespace caisson::session
