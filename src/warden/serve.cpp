#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "warden/same_core.h"
#include "warden/state.h"
#include "warden/warden.h"

namespace caisson::warden {

constinit Warden warden{};

struct Thread {
  int state;  // 0: free; 1: taken
  int tid;
  uint64_t waits_for;  // the call that it waits on behalf of; 0: none
  int mask;            // its umask
  bool changes;        // has the order of changes
  Seen seen;
  Post post;
};

namespace {

constexpr unsigned kStackSize = 112 * 1024;
constexpr unsigned kMostIdle = 2;

constinit Thread threads[kMostThreads] = {};
alignas(16) char stacks[kMostThreads][kStackSize];
int listening, waiting;  // threads that do
int order;               // of changes: 0 free, 1 taken, 2 taken and waited for
int first_mask;

// Those whose callers have gone are called back from what they wait for.
void call_back_the_forsaken() {
  for (Thread& one : threads) {
    uint64_t id = __atomic_load_n(&one.waits_for, __ATOMIC_SEQ_CST);
    Call gone{};
    gone.id = id;
    if (id && !still_waiting(gone))
      sys_call(SYS_tgkill, long{warden.process}, long{one.tid}, long{SIGUSR1});
  }
}

int serve(void*);

void end_change(Thread& self) {
  if (!self.changes) return;
  self.changes = false;
  if (__atomic_exchange_n(&order, 0, __ATOMIC_SEQ_CST) == 2)
    sys_call(SYS_futex, &order, long{FUTEX_WAKE_PRIVATE}, 1L, 0L, 0L, 0L);
}

void start_thread() {
  for (unsigned i = 0; i < kMostThreads; ++i) {
    int free = 0;
    if (!__atomic_compare_exchange_n(&threads[i].state, &free, 1, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
      continue;
    __atomic_add_fetch(&listening, 1, __ATOMIC_SEQ_CST);
    // Not CLONE_FS: each has a umask of its own, the caller's for the time of a call.
    long tid =
        caisson_clone_call(CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
                           stacks[i] + kStackSize, serve, &threads[i]);
    if (tid > 0) return;
    __atomic_sub_fetch(&listening, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&threads[i].state, 0, __ATOMIC_SEQ_CST);
    return;
  }
}

void handle(Thread& self, const seccomp_notif& request) {
  Call call{request.id, static_cast<int>(request.pid), request.data.nr, {}, &self, &self.seen,
            &self.post};
  for (int i = 0; i < 6; ++i) call.args[i] = request.data.args[i];
  if (call.number == SYS_umask) {
    // Nothing of this depends on the caller's memory: it goes on and does it itself.
    umask_changes();
    seccomp_notif_resp response{};
    response.id = call.id;
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    sys_call(SYS_ioctl, long{warden.listener}, static_cast<long>(SECCOMP_IOCTL_NOTIF_SEND),
             &response);
    return;
  }
  take_call(call);
  end_change(self);
}

short listener_has(short events) {
  pollfd listener{warden.listener, events, 0};
  timespec now{};
  sys_call(SYS_ppoll, &listener, 1L, &now, 0L, 0L);
  return listener.revents;
}

// ENOENT is a caller that died meanwhile, or (since 6.11) that nobody has the filter any more: then
// each further question would be answered at once, and asked in vain until the cell is gone.
bool somebody_is_left() { return !(listener_has(0) & (POLLHUP | POLLERR | POLLNVAL)); }

// Another thread that listens could take the call that is seen here, and this one would sleep on
// its core: so only one that listens alone stays.
void leave_unless_asked(Post& post) {
  if (!post.is_taken()) return;
  bool alone = __atomic_load_n(&listening, __ATOMIC_RELAXED) == 1;
  if (!alone || !(listener_has(POLLIN) & POLLIN)) post.leave();
}

int serve(void* argument) {
  Thread& self = *static_cast<Thread*>(argument);
  __atomic_store_n(&self.tid, static_cast<int>(sys_call(SYS_gettid)), __ATOMIC_RELAXED);
  // The kernel clears the word when the thread is gone and its stack is free.
  sys_call(SYS_set_tid_address, &self.state);
  self.mask = first_mask;
  sys_call(SYS_umask, long{first_mask});
  for (;;) {
    leave_unless_asked(self.post);
    seccomp_notif request{};
    long result = sys_call(SYS_ioctl, long{warden.listener},
                           static_cast<long>(SECCOMP_IOCTL_NOTIF_RECV), &request);
    if (result == -EINTR || (result == -ENOENT && somebody_is_left())) continue;
    if (result < 0) break;
    handle(self, request);
    // One that had to wait for somebody comes back to find others in its place. The first stays:
    // /proc/self is its folder, and dies with it.
    if (&self != &threads[0] &&
        __atomic_load_n(&listening, __ATOMIC_SEQ_CST) > static_cast<int>(kMostIdle))
      break;
  }
  __atomic_sub_fetch(&listening, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&self.tid, 0, __ATOMIC_SEQ_CST);
  return 0;
}

long receive_listener(int socket) {
  char word = 0;
  iovec data{&word, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  long got = sys_call(SYS_recvmsg, long{socket}, &header, long{MSG_CMSG_CLOEXEC});
  if (got != 1) return -ECONNRESET;
  const cmsghdr* part = CMSG_FIRSTHDR(&header);
  if (!part || part->cmsg_type != SCM_RIGHTS) return -EBADMSG;
  return *reinterpret_cast<const int*>(CMSG_DATA(part));
}

void gather_first_names() {
  const Rules& rules = *warden.rules;
  auto add = [](const Pattern* patterns, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) warden.first_names.add(patterns[i]);
  };
  add(rules.deny_write, rules.deny_write_count);
  add(rules.deny_read, rules.deny_read_count);
  add(rules.allow_read, rules.allow_read_count);
}

void ignore(int) {}

#if defined(__x86_64__)
// The kernel leaves the way back from a handler to the C library there.
extern "C" void caisson_warden_return();
asm(".text\n.globl caisson_warden_return\n.type caisson_warden_return, @function\n"
    "caisson_warden_return:\n    mov $15, %eax\n    syscall\n");
#endif

// SIGUSR1 ends a wait, and nothing else.
void take_signal() {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
  } action{ignore, 0, nullptr, 0};
#if defined(__x86_64__)
  action.flags = 0x04000000;  // SA_RESTORER
  action.restorer = caisson_warden_return;
#endif
  sys_call(SYS_rt_sigaction, long{SIGUSR1}, &action, 0L, 8L);
  unsigned long all_but = ~(1ul << (SIGUSR1 - 1));
  sys_call(SYS_rt_sigprocmask, long{SIG_SETMASK}, &all_but, 0L, 8L);
}

}  // namespace

void begin_change(const Call& call) {
  Thread& self = *call.server;
  if (self.changes) return;
  int free = 0;
  if (!__atomic_compare_exchange_n(&order, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    while (__atomic_exchange_n(&order, 2, __ATOMIC_SEQ_CST) != 0)
      sys_call(SYS_futex, &order, long{FUTEX_WAIT_PRIVATE}, 2L, 0L, 0L, 0L);
  self.changes = true;
}

void take_umask_of(const Call& call) {
  long mask = caller_umask(call);
  if (mask < 0) mask = first_mask;
  Thread* self = call.server;
  if (self->mask == mask) return;
  self->mask = static_cast<int>(mask);
  sys_call(SYS_umask, mask);
}

bool begin_waiting(const Call& call) {
  if (__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST) > static_cast<int>(kMostBlocked)) {
    __atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    call_back_the_forsaken();
    return false;
  }
  end_change(*call.server);
  call.post->leave();  // and a thread that is started here would inherit it
  __atomic_store_n(&call.server->waits_for, call.id, __ATOMIC_SEQ_CST);
  if (__atomic_sub_fetch(&listening, 1, __ATOMIC_SEQ_CST) < 1) start_thread();
  return true;
}

void end_waiting(const Call& call) {
  __atomic_store_n(&call.server->waits_for, uint64_t{0}, __ATOMIC_SEQ_CST);
  __atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&listening, 1, __ATOMIC_SEQ_CST);
}

void run(const Start& start) {
  warden.rules = start.rules;
  gather_first_names();
  warden.process = static_cast<int>(sys_call(SYS_getpid));
  timespec now{};
  sys_call(SYS_clock_gettime, long{CLOCK_REALTIME}, &now);
  warden.start_sec = now.tv_sec;
  warden.start_nsec = now.tv_nsec;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  sys_call(SYS_capget, &header, sets);
  warden.may_look = sets[0].permitted & 1u << CAP_SYS_PTRACE;
  lower_sight();
  read_cores(0, warden.cores);
  warden.own_fds = static_cast<int>(sys_call(SYS_openat, long{AT_FDCWD}, "/proc/self/fd",
                                             long{O_PATH | O_DIRECTORY | O_CLOEXEC}));
  first_mask = static_cast<int>(sys_call(SYS_umask, 022L));
  sys_call(SYS_umask, long{first_mask});
  take_signal();
  long listener = warden.own_fds < 0 ? -EBADF : receive_listener(start.listener_socket);
  if (listener < 0) sys_call(SYS_exit_group, 1L);
  warden.listener = static_cast<int>(listener);
  // The answer is waited for by the one who asked: let it run where the question came from (6.6).
  sys_call(SYS_ioctl, listener, 0x40082104L /* SECCOMP_IOCTL_NOTIF_SET_FLAGS */, 1L);
  if (start.filter) {
    sock_fprog filter{static_cast<unsigned short>(start.filter_count),
                      const_cast<sock_filter*>(start.filter)};
    if (sys_call(SYS_seccomp, long{SECCOMP_SET_MODE_FILTER}, 0L, &filter) < 0)
      sys_call(SYS_exit_group, 1L);
  }
  threads[0].state = 1;
  listening = 1;
  serve(&threads[0]);
  sys_call(SYS_exit, 0L);
  __builtin_unreachable();
}

}  // namespace caisson::warden
