// A probe tries one forbidden thing and tells what the kernel answered: one line of JSON, exit 0.
// The tests decide whether the answer is right; a probe never does.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

// Returned by a probe whose words make no sense: the program prints a usage line and exits 2.
#define PROBE_USAGE (-1)

// `run` gets the words behind the probe's name. It returns 0 when the thing worked, else the errno.
struct Probe {
  const char* name;
  int (*run)(int argc, char** argv);
  const char* usage;
};

// Each file gives one table, ended by an empty entry.
extern const struct Probe compat_probes[], exec_probes[], fd_probes[], file_probes[], fill_probes[],
    ids_probes[], ipc_probes[], kernel_probes[], net_probes[], ns_probes[], peer_probes[],
    resource_probes[], shared_probes[], signal_probes[], tty_probes[];

// Appends to the "detail" of the answer; what does not fit is cut.
void detail(const char* format, ...) __attribute__((format(printf, 1, 2)));
void detail_bytes(const char* bytes, size_t size);

// -1 of a system call becomes errno, everything else 0.
static inline int answer(long result) { return result < 0 ? errno : 0; }

// A number word: "4096", "0x1000", "64K", "8M", "1G".
long number(const char* word);

// A process to aim at: a number, "self", "parent", or "child" (a sleeping child made for this).
pid_t target_process(const char* word);

// Waits until `pid` has ended and returns its wait status.
int wait_for(pid_t pid);
