// The network namespace is the dearest part of a cell (0.4 ms of kernel time). A thread of the
// cell's first process makes it while the mounts are made, and lets go of the old root while the
// program's process confines itself; see docs/decisions/0004.
#include <errno.h>
#include <linux/futex.h>
#include <linux/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "launch/child_state.h"

namespace caisson {

namespace {

constexpr unsigned long kGetNamespaceOfSocket = 0x894c;  // SIOCGSKNS
constexpr unsigned long kSetInterfaceFlags = 0x8914;     // SIOCSIFFLAGS

alignas(16) char thread_stack[16384];
ChildState* cell;
int network_state;  // 0: under way; else the namespace's descriptor + 1, or -errno

long bring_up_loopback(long socket) {
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  return sys_call(SYS_ioctl, socket, static_cast<long>(kSetInterfaceFlags), &request);
}

long make_network() {
  long result = sys_call(SYS_unshare, long{CLONE_NEWNET});
  if (result < 0) return result;
  long socket = sys_call(SYS_socket, long{AF_UNIX}, long{SOCK_DGRAM | SOCK_CLOEXEC}, 0L);
  if (socket < 0) return socket;
  result = bring_up_loopback(socket);
  if (result >= 0) result = prepare_gateway(*cell);
  // Asked of a socket and not of /proc, which is being covered meanwhile.
  if (result >= 0)
    result = sys_call(SYS_ioctl, socket, static_cast<long>(kGetNamespaceOfSocket), 0L);
  sys_call(SYS_close, socket);
  return result;
}

int proc_is_mounted;

void wait_until_set(int* word) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0)
    sys_call(SYS_futex, word, long{FUTEX_WAIT_PRIVATE}, 0L, 0L, 0L, 0L);
}

void set_and_wake(int* word, int value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  sys_call(SYS_futex, word, long{FUTEX_WAKE_PRIVATE}, 1L, 0L, 0L, 0L);
}

// The names of /proc that are not the cell's business, while the first process mounts the rest.
long mask_proc() {
  const ChildProgram& program = *cell->program;
  if (program.mask_count) wait_until_set(&proc_is_mounted);
  for (uint32_t i = 0; i < program.mask_count; ++i)
    if (long result = run_mount_step(*cell, program.mask_steps[i]); result < 0) return result;
  drop_spare_mask(cell->spare_file_mask);
  drop_spare_mask(cell->spare_folder_mask);
  return 0;
}

int old_root_is_covered;
int detached;  // 0: under way; else 1, or -errno

int network_thread(void*) {
  long result = make_network();
  long masked = result < 0 ? result : mask_proc();
  set_and_wake(&network_state, static_cast<int>(masked < 0 ? masked : result + 1));
  if (masked < 0 || !cell->program->thread_detaches) return 0;
  wait_until_set(&old_root_is_covered);
  long gone = detach_old_root(*cell);
  set_and_wake(&detached, static_cast<int>(gone < 0 ? gone : 1));
  return 0;
}

// The scheduler likes to keep a new thread where its creator runs, and there it waits until that
// one sleeps: half a millisecond, with a core idle beside it. Moved by its creator, before it has
// run, it begins at once. It ends with its work, so nobody inherits the mask.
void move_beside(long thread) {
  unsigned char mask[128]{};
  unsigned core = 0;
  long size = sys_call(SYS_sched_getaffinity, 0L, long{sizeof mask}, mask);
  if (sys_call(SYS_getcpu, &core, 0L, 0L) < 0) return;
  if (size <= 0 || core / 8 >= static_cast<unsigned long>(size)) return;
  mask[core / 8] &= static_cast<unsigned char>(~(1u << core % 8));
  sys_call(SYS_sched_setaffinity, thread, size, mask);  // fails where there is no other core: fine
}

}  // namespace

void announce_proc() { set_and_wake(&proc_is_mounted, 1); }

void announce_pivot() { set_and_wake(&old_root_is_covered, 1); }

// Asked by the program's process, which shares this memory until its exec.
long await_detached() {
  wait_until_set(&detached);
  return detached < 0 ? detached : 0;
}

long start_network_thread(ChildState& state) {
  cell = &state;
  long tid = caisson_clone_call(
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
      thread_stack + sizeof thread_stack, network_thread, nullptr);
  if (tid < 0) return tid;
  move_beside(tid);
  return 0;
}

long join_network_thread() {
  wait_until_set(&network_state);
  int state = network_state;
  if (state < 0) return state;
  long result = sys_call(SYS_setns, static_cast<long>(state - 1), long{CLONE_NEWNET});
  sys_call(SYS_close, static_cast<long>(state - 1));
  return result;
}

}  // namespace caisson
