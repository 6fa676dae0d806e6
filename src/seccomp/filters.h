// The seccomp filters: one array of instructions each, compiled from generate/*groups.cpp while
// building, so that starting a cell computes nothing.
#pragma once

#include <linux/filter.h>

#include <span>

namespace caisson {

enum class FilterName {
  kStandard,   // a program in a cell
  kNested,     // … that may make cells of its own (a grant)
  kNoSockets,  // the landlock tier: no namespaces, so nothing that reaches the host by another way
  kInit,       // pid 1 of a cell, once the program runs
  kGateway,    // the gateway of a cell: our own code on the host's network, without files
  kNames,      // kStandard, but what makes a name or opens one for writing asks the warden
  kNamesAndRemovals,  // … and what takes one away
  kNamesAndReads,     // … and every other opening
  kWarden,            // the warden: our own code, inside the cell
  kServer,            // the half of a server that parses: our own code, with the files of its state
  kHttpServer,        // … and that accepts connections on sockets that it has already
};

// With `notify_exec`, execve and execveat ask the listener (SECCOMP_RET_USER_NOTIF); without a
// listener the kernel answers them with ENOSYS. kInit, kGateway, kWarden, kServer and kHttpServer
// have no exec either way.
std::span<const sock_filter> filter_for(FilterName name, bool notify_exec);

// Both architectures are in the library, so that each can be tested on the other. The linker leaves
// the foreign one out of a program that doesn't ask for it.
enum class Arch { kX86_64, kArm64 };
#if defined(__x86_64__)
constexpr Arch kNativeArch = Arch::kX86_64;
#elif defined(__aarch64__)
constexpr Arch kNativeArch = Arch::kArm64;
#else
#error "caisson has seccomp filters for x86-64 and arm64 only"
#endif

std::span<const sock_filter> x86_64_filter(FilterName name, bool notify_exec);
std::span<const sock_filter> arm64_filter(FilterName name, bool notify_exec);

}  // namespace caisson
