// The network namespace is the dearest part of a cell (0.4 ms of kernel time). A thread of the
// cell's first process makes it while the mounts are made, then leads it to the gateway, and lets
// go of the old root while the program's process confines itself; see docs/decisions/0004.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

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

// A socket in a namespace of its own, or -errno.
long make_network() {
  long result = sys_call(SYS_unshare, long{CLONE_NEWNET});
  if (result < 0) return result;
  return sys_call(SYS_socket, long{AF_UNIX}, long{SOCK_DGRAM | SOCK_CLOEXEC}, 0L);
}

// The namespace's descriptor, or -errno. Asked of a socket and not of /proc, which is being covered
// meanwhile.
long namespace_of(long socket) {
  return sys_call(SYS_ioctl, socket, static_cast<long>(kGetNamespaceOfSocket), 0L);
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

int masks_taken, masks_done, mask_error;

// The names of /proc that are not the cell's business. There are some thirty, and who has time puts
// them on: the thread when it is done with the network, the first process when all else is mounted.
void put_masks(SpareMask& spare) {
  const ChildProgram& program = *cell->program;
  int count = static_cast<int>(program.mask_count);
  if (count) wait_until_set(&proc_is_mounted);
  for (;;) {
    int next = __atomic_fetch_add(&masks_taken, 1, __ATOMIC_RELAXED);
    if (next >= count) break;
    long result = put_mask(*cell, program.mask_steps[next], spare);
    if (result < 0) __atomic_store_n(&mask_error, static_cast<int>(result), __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&masks_done, 1, __ATOMIC_ACQ_REL) == count)
      sys_call(SYS_futex, &masks_done, long{FUTEX_WAKE_PRIVATE}, 1L, 0L, 0L, 0L);
  }
  drop(spare);
}

long await_masks() {
  put_masks(cell->spare_mask);
  int count = static_cast<int>(cell->program->mask_count);
  for (int done; (done = __atomic_load_n(&masks_done, __ATOMIC_ACQUIRE)) < count;)
    sys_call(SYS_futex, &masks_done, long{FUTEX_WAIT_PRIVATE}, long{done}, 0L, 0L, 0L);
  return mask_error;
}

int old_root_is_covered;
// 0: the network is being made; then one of these, or -errno.
constexpr int kDone = 1, kDetaching = 2;
int thread_state;

// For a test's cell without a control: long enough for the program to be there first.
void take_time() {
  timespec long_enough{0, 20000000};
  sys_call(SYS_nanosleep, &long_enough, 0L);
}

// What remains when the namespace is there, while the first process goes on to its pivot: before
// the program's exec all of it is waited for. Leading connections to the gateway takes as long as
// making the namespace: the kernel patches its own code for the first hook of a kind.
long finish_network(long socket) {
  if (cell->program->hurry) take_time();
  long result = bring_up_loopback(socket);
  sys_call(SYS_close, socket);
  if (result >= 0) result = prepare_gateway(*cell);
  if (result < 0) return result;
  SpareMask spare;
  put_masks(spare);
  wait_until_set(&old_root_is_covered);
  set_and_wake(&thread_state, kDetaching);
  if (cell->program->trust_thread) take_time();
  return detach_old_root(*cell);
}

// All of it, for one who does not wait for this thread later.
long make_whole_network(long socket) {
  long result = bring_up_loopback(socket);
  if (result >= 0) result = prepare_gateway(*cell);
  if (result >= 0) result = namespace_of(socket);
  sys_call(SYS_close, socket);
  return result;
}

int network_thread(void*) {
  long socket = make_network(), made = socket;
  bool goes_on = cell->program->thread_detaches;
  if (socket >= 0) made = goes_on ? namespace_of(socket) : make_whole_network(socket);
  set_and_wake(&network_state, static_cast<int>(made < 0 ? made : made + 1));
  if (made < 0 || !goes_on) return 0;
  long result = finish_network(socket);
  set_and_wake(&thread_state, static_cast<int>(result < 0 ? result : kDone));
  return 0;
}

// The scheduler likes to keep a new thread where its creator runs, and there it waits until that
// one sleeps: half a millisecond, with a core idle beside it. Moved by its creator, before it has
// run, it begins at once. Then it may go where it likes: when it is woken for its last work, that
// core may be taking another cell's network apart.
void move_beside(long thread) {
  unsigned char mask[128]{};
  unsigned core = 0;
  long size = sys_call(SYS_sched_getaffinity, 0L, long{sizeof mask}, mask);
  if (sys_call(SYS_getcpu, &core, 0L, 0L) < 0) return;
  if (size <= 0 || core / 8 >= static_cast<unsigned long>(size)) return;
  unsigned char here = static_cast<unsigned char>(1u << core % 8);
  mask[core / 8] &= static_cast<unsigned char>(~here);
  if (sys_call(SYS_sched_setaffinity, thread, size, mask) < 0) return;  // there is no other core
  mask[core / 8] |= here;
  sys_call(SYS_sched_setaffinity, thread, size, mask);
}

}  // namespace

void announce_proc() { set_and_wake(&proc_is_mounted, 1); }

void announce_pivot() { set_and_wake(&old_root_is_covered, 1); }

// 0 when it can't be told.
static uint64_t mount_id_of(const char* path) {
  constexpr long kMountId = 0x1000;  // STATX_MNT_ID, since 5.8
  struct statx found;
  long result = sys_call(SYS_statx, long{AT_FDCWD}, path, 0L, kMountId, &found);
  return result >= 0 && (found.stx_mask & kMountId) ? found.stx_mnt_id : 0;
}

// The old root is the one thing that could lie over ours, and "/.." the one path that leads there.
// Where that is our own root again, umount2(2) has taken the tree apart, and waits for a grace
// period to free it: 0.2 ms that are nobody's business.
static bool old_root_is_gone() {
  if (cell->program->trust_thread) return true;
  uint64_t ours = mount_id_of("/");
  return ours && ours == mount_id_of("/..");
}

// Taking it apart is a matter of microseconds, unless all of the host's mounts are waited for.
static bool see_old_root_go() {
  constexpr int kLooks = 32;
  for (int i = 0; i < kLooks && __atomic_load_n(&thread_state, __ATOMIC_ACQUIRE) == kDetaching;
       ++i) {
    if (old_root_is_gone()) return true;
    if (cell->program->crowded) return false;  // what is offered is taken, for milliseconds
    sys_call(SYS_sched_yield);
  }
  return false;
}

// Asked by the program's process, which shares this memory until its exec.
long await_network_thread() {
  if (cell->program->hurry) return 0;
  wait_until_set(&thread_state);
  if (cell->program->leave_thread && see_old_root_go()) return 0;
  while (__atomic_load_n(&thread_state, __ATOMIC_ACQUIRE) == kDetaching)
    sys_call(SYS_futex, &thread_state, long{FUTEX_WAIT_PRIVATE}, long{kDetaching}, 0L, 0L, 0L);
  return thread_state < 0 ? thread_state : 0;
}

long start_network_thread(ChildState& state) {
  cell = &state;
  long tid = caisson_clone_call(
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
      thread_stack + sizeof thread_stack, network_thread, nullptr);
  if (tid < 0) return tid;
  if (!state.program->crowded) move_beside(tid);
  return 0;
}

long join_network_thread() {
  if (long result = await_masks(); result < 0) return result;
  wait_until_set(&network_state);
  int state = network_state;
  if (state < 0) return state;
  long result = sys_call(SYS_setns, static_cast<long>(state - 1), long{CLONE_NEWNET});
  sys_call(SYS_close, static_cast<long>(state - 1));
  return result;
}

}  // namespace caisson
