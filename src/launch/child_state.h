// Shared by the files that run inside the cell before exec (child*.cpp, init.cpp).
#pragma once

#include <sys/uio.h>

#include "launch/child_program.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

// For folders.
struct SpareMask {
  int fd = -1;                   // made, and not used yet
  const char* placed = nullptr;  // where one lies
};

struct ChildState {
  const ChildProgram* program;
  ChildMessage message;
  int root_fd = -1;      // the new root while it is built
  int terminal_fd = -1;  // the slave of the cell's own pty
  int program_pid = -1, warden_pid = -1;
  bool stopped = false;                  // all that runs here, by us
  int unsteered = 0;                     // why nothing leads to the gateway, or 0; by the thread
  int warden_sockets[2] = {-1, -1};      // its end, and the program's
  SpareMask spare_mask;                  // of the first thread
  int mapped_mounts[kMostMappedMounts];  // in the order of the steps that take them
  unsigned mapped_count = 0, mapped_taken = 0;
  // Written by the program's process, which shares this memory until its exec (CLONE_VFORK).
  volatile int enter_failed_step = -1;
  volatile int enter_errno = 0;
};

uint64_t monotonic_now();

// Each returns 0 or -errno.
long run_mount_step(ChildState&, const Step&);  // child_mounts.cpp
long put_mask(const ChildState&, const Step&, SpareMask&);
void drop(SpareMask&);
long detach_old_root(const ChildState&);
long start_network_thread(ChildState&);  // child_network.cpp
void announce_proc();                    // it is mounted: its masks can be put on
long join_network_thread();
void announce_pivot();  // the old root lies over the new one: it can be detached
long await_network_thread();
long prepare_gateway(ChildState&);  // child_gateway.cpp: in the new network namespace
long open_terminal(ChildState&);    // child_terminal.cpp
int enter_program(void* state);     // child_enter.cpp: fn of clone_call; returns on failure only
long restrict_by_landlock(const ChildProgram&);
long watch_covers(ChildState&, const Step&);  // child_warden.cpp
long spawn_warden(ChildState&);
long hand_to_warden(ChildState&, long listener);
[[noreturn]] void run_init(ChildState&);  // init.cpp

// One byte and up to `most` descriptors from the supervisor; their number, or -errno. A supervisor
// that is gone ends this process.
long receive_descriptors(ChildState&, int* fds, unsigned most);  // child_ids.cpp
long take_ids(ChildState&, const Step&);
long await_mounts(ChildState&);

long send_with_descriptor(int socket, iovec data, int fd);
// One descriptor to the supervisor, with a message around it.
long send_descriptor(ChildState&, MessageKind, int fd);

// For one that is about to wait for long: what only its start needed is nobody's memory then.
inline void give_back_clean_pages(const ChildProgram& program) {
  for (uint32_t i = 0; i < program.clean_count; ++i)
    sys_call(SYS_madvise, program.clean_pages[i].start,
             static_cast<long>(program.clean_pages[i].size), 4L /* MADV_DONTNEED */);
}

inline unsigned long text_length(const char* text) {
  unsigned long n = 0;
  while (text[n]) ++n;
  return n;
}

}  // namespace caisson
