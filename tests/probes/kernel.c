// The kernel's rare doors (T35, T36, T39, T40, T63): one harmless call each, named by the syscall.
// Where a call could change the machine, its arguments are such that the kernel refuses them after
// it has looked at the caller's rights.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <unistd.h>

#include "probe.h"

static long try_bpf(void) {
  union bpf_attr attr = {0};
  attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = 4, attr.max_entries = 1;
  return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr);
}

static long try_perf_event_open(void) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr};
  attr.config = PERF_COUNT_SW_TASK_CLOCK, attr.exclude_kernel = 1, attr.exclude_hv = 1;
  return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);
}

static long try_userfaultfd(void) {
  return syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode */);
}

// KEYCTL_GET_KEYRING_ID of the session keyring.
static long try_keyctl(void) { return syscall(SYS_keyctl, 0, -3, 1, 0, 0); }
static long try_add_key(void) {
  return syscall(SYS_add_key, "user", "caisson-probe", "x", 1UL, -2 /* the process keyring */);
}
static long try_request_key(void) {
  return syscall(SYS_request_key, "user", "caisson-no-such-key", NULL, 0);
}

static long try_io_uring_setup(void) {
  struct io_uring_params params = {0};
  return syscall(SYS_io_uring_setup, 2u, &params);
}
static long try_io_uring_enter(void) {
  return syscall(SYS_io_uring_enter, -1, 0u, 0u, 0u, NULL, 0);
}
static long try_io_uring_register(void) { return syscall(SYS_io_uring_register, -1, 0u, NULL, 0u); }

static long try_kexec_load(void) { return syscall(SYS_kexec_load, 0UL, 17UL, NULL, 0xffffUL); }
static long try_init_module(void) { return syscall(SYS_init_module, NULL, 0UL, ""); }
static long try_finit_module(void) { return syscall(SYS_finit_module, -1, "", 0); }
static long try_delete_module(void) { return syscall(SYS_delete_module, "caisson_no_such", 0); }
static long try_quotactl(void) { return syscall(SYS_quotactl, 0xffff, "/dev/null", 0, NULL); }
static long try_swapon(void) { return syscall(SYS_swapon, "/nonexistent/swap", 0); }
static long try_swapoff(void) { return syscall(SYS_swapoff, "/nonexistent/swap"); }
static long try_acct(void) { return syscall(SYS_acct, "/nonexistent/acct"); }
// Wrong magic: refused whoever asks, but only after the right to ask was checked.
static long try_reboot(void) { return syscall(SYS_reboot, 0, 0, 0, NULL); }
static long try_syslog(void) { return syscall(SYS_syslog, 10 /* size of the buffer */, NULL, 0); }
static long try_personality(void) {
  return syscall(SYS_personality, 0x0400000UL /* READ_IMPLIES_EXEC */);
}

static long try_vmsplice(void) {
  static char page[4096];
  int ends[2];
  struct iovec gift = {page, sizeof page};
  if (pipe(ends) < 0) return -1;
  return syscall(SYS_vmsplice, ends[1], &gift, 1UL, 0u);
}

static long try_fanotify_init(void) {
  return syscall(SYS_fanotify_init, 0x200u /* FAN_REPORT_FID */, 0u);
}
static long try_name_to_handle_at(void) {
  char room[160] = {0};
  int mount_id;
  *(unsigned*)room = 128;
  return syscall(SYS_name_to_handle_at, AT_FDCWD, "/", room, &mount_id, 0);
}
static long try_kcmp(void) { return syscall(SYS_kcmp, getpid(), getpid(), 2 /* files */, 0, 0); }
static long try_lookup_dcookie(void) { return syscall(SYS_lookup_dcookie, 0L, NULL, 0L); }
static long try_mbind(void) {
  char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return syscall(SYS_mbind, page, 4096UL, 0, NULL, 0UL, 0u);
}
static long try_migrate_pages(void) {
  unsigned long nodes = 1;
  return syscall(SYS_migrate_pages, getpid(), 8UL, &nodes, &nodes);
}
static long try_move_pages(void) { return syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0); }
static long try_process_madvise(void) { return syscall(SYS_process_madvise, -1, NULL, 0UL, 0, 0u); }
static long try_settimeofday(void) {
  struct timeval never = {0, 2000000};
  return syscall(SYS_settimeofday, &never, NULL);
}
static long try_clock_settime(void) {
  struct timespec never = {0, 2000000000};
  return syscall(SYS_clock_settime, 0, &never);
}
static long try_adjtimex(void) {
  struct timex change = {.modes = ADJ_TICK, .tick = 1};
  return syscall(SYS_adjtimex, &change);
}
static long try_sethostname(void) { return syscall(SYS_sethostname, "x", 1000UL); }
static long try_setdomainname(void) { return syscall(SYS_setdomainname, "x", 1000UL); }
#if defined(__x86_64__)
static long try_iopl(void) { return syscall(SYS_iopl, 3); }
static long try_ioperm(void) { return syscall(SYS_ioperm, 0x80UL, 1UL, 1); }
static long try_modify_ldt(void) {
  unsigned entry[4] = {0, 0, 0xfff, 0x51};
  return syscall(SYS_modify_ldt, 1, entry, sizeof entry);
}
static long try_kexec_file_load(void) {
  return syscall(SYS_kexec_file_load, -1, -1, 0UL, "", 0xffffUL);
}
#endif

// A filter of one's own with a listener: who holds it decides for the others.
static long try_seccomp_listener(void) {
  struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &allow};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

#define DOOR(name) \
  { #name, try_##name }
static const struct {
  const char* name;
  long (*call)(void);
} doors[] = {
    DOOR(bpf),
    DOOR(perf_event_open),
    DOOR(userfaultfd),
    DOOR(keyctl),
    DOOR(add_key),
    DOOR(request_key),
    DOOR(io_uring_setup),
    DOOR(io_uring_enter),
    DOOR(io_uring_register),
    DOOR(kexec_load),
    DOOR(init_module),
    DOOR(finit_module),
    DOOR(delete_module),
    DOOR(quotactl),
    DOOR(swapon),
    DOOR(swapoff),
    DOOR(acct),
    DOOR(reboot),
    DOOR(syslog),
    DOOR(personality),
    DOOR(vmsplice),
    DOOR(fanotify_init),
    DOOR(name_to_handle_at),
    DOOR(kcmp),
    DOOR(lookup_dcookie),
    DOOR(mbind),
    DOOR(migrate_pages),
    DOOR(move_pages),
    DOOR(process_madvise),
    DOOR(settimeofday),
    DOOR(clock_settime),
    DOOR(adjtimex),
    DOOR(sethostname),
    DOOR(setdomainname),
#if defined(__x86_64__)
    DOOR(iopl),
    DOOR(ioperm),
    DOOR(modify_ldt),
    DOOR(kexec_file_load),
#endif
    DOOR(seccomp_listener),
};

static int try_door(int argc, char** argv) {
  if (argc != 1) return PROBE_USAGE;
  for (size_t i = 0; i < sizeof doors / sizeof *doors; ++i) {
    if (!strcmp(doors[i].name, argv[0])) return answer(doors[i].call());
  }
  return PROBE_USAGE;
}

const struct Probe kernel_probes[] = {{"kernel", try_door, "SYSCALL"}, {NULL, NULL, NULL}};
