// ChildProgram: all that a cell's first process does, flattened to plain data before clone. After
// clone there are bytes and system calls only; the child walks the arrays below.
#pragma once

#include <linux/filter.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include <type_traits>

#include "warden/rules.h"

namespace caisson {

enum class StepKind : uint8_t {
  kWriteFile,     // path ← data            (id maps)
  kTakeIds,       // uid a, gid b: nothing is left of who made us (root only)
  kAwaitMounts,   // the supervisor sends the id-mapped mounts (root only)
  kPrivateTree,   // nothing that is mounted here shows on the host (only without a user namespace)
  kNewRoot,       // a tmpfs of `a` bytes and `b` inodes becomes the root being built
  kDirectory,     // path, mode a
  kFile,          // path ← data
  kLink,          // path → other
  kBind,          // other (host) → path, mount attributes a, kBind… flags, identity {b, c}
  kBindOwn,       // path, a writable window onto the root's own tmpfs
  kPin,           // path, mounted onto itself, so that it can't be renamed
  kProc,          // a fresh proc at path, mount attributes a
  kDevpts,        // a fresh devpts at path
  kMask,          // path, covered by nothingness; a: it is a directory
  kCover,         // path, covered by the root's own file `other`
  kCoverFolder,   // path below a user's mount, covered by an empty folder
  kPlaceOwn,      // path ← `other` of the root's own, with what is mounted in it; attributes a
  kCoverInView,   // path of the view, covered by the root's own file `other`
  kSealRoot,      // the root becomes read-only
  kStartNetwork,  // begin making the network namespace beside the mounts
  kPivot,         // the new root becomes /, the old one goes (flags: kPivot…)
  kPrepare,       // what can be done while the network is made
  kJoinNetwork,   // enter the network namespace
  kHostname,      // path is the name
  kAwaitGo,       // the supervisor has set limits and written the record
  kClock,         // after `a` ms pid 1 ends the cell, whatever its supervisor does
  kCgroupNamespace,
  kKeyring,           // a session keyring of the cell's own
  kWatch,             // the covers named in `other`, one after the other, each NUL-ended; a of them
  kOpenTerminal,      // a pty of the cell's own; its master goes to the supervisor
  kWorkdir,           // chdir(path), and it must lie below the root
  kDropCapabilities,  // all but those of the set a, which stay permitted
  kNoNewPrivileges,
  // From here on in the program's own process:
  kStdio,
  kPassed,   // descriptors of the caller's take the numbers 3, 4, …
  kRlimit,   // resource a, value b
  kTurns,    // at the processor, of `a` ns: as the caller had them, see sys/short_turns.h
  kPinCpus,  // the first `a` cores of those allowed
  kLandlock,
  kSeccomp,
  kAwaitNetworkThread,  // the way to the gateway stands, the old root is gone: before others' code
  kExec,
};

enum : uint8_t {
  kBindOptional = 1,
  kBindCheckIdentity = 2,
  kBindBelowUserMount = 4,
  kBindReceived = 8,
  kBindAlone = 16,  // nothing that the host mounts meanwhile comes along
  kBindSystem = 32  // a folder of the system or a device, at a place of the cell's own
};

enum : uint8_t {
  kPivotPrivate = 1,   // no mount of the host's comes later
  kPivotByThread = 2,  // the network thread lets go of the old root, see kAwaitNetworkThread
};

struct Step {
  StepKind kind;
  uint8_t flags = 0;
  const char* path = nullptr;  // relative to the new root while it is built, else absolute
  const char* other = nullptr;
  const void* data = nullptr;
  uint32_t size = 0;
  uint64_t a = 0, b = 0, c = 0;
};

struct ChildLandlockRule {
  const char* path;
  uint64_t access;
  uint64_t device, inode;  // 0: not checked
};

struct PageRange {
  void* start;
  uint64_t size;
};

constexpr unsigned kMostPassed = 8;  // descriptors of the caller's that the program gets

struct ChildProgram {
  const Step* init_steps;  // done by pid 1 of the cell
  uint32_t init_count;
  const Step* enter_steps;  // done by the program's process, the last one is the exec
  uint32_t enter_count;

  const Step* mask_steps;  // by the network thread, and by who waits for it
  uint32_t mask_count;
  bool thread_detaches;  // then it waits for the pivot, and lets go of the old root
  bool leave_thread;     // the program need not wait for its end, once the old root is gone
  bool keep_old_root;    // for a test alone: a cell without that control
  bool trust_thread;     // the same: nobody looks whether it is gone, and the thread takes its time
  bool crowded;          // all cores have work: nobody is sent to another, or offers its own
  bool hurry;  // the same: nobody waits for the thread, which takes its time with the network

  const ChildLandlockRule* landlock_rules;
  uint32_t landlock_count;
  uint64_t landlock_handled, landlock_scoped;
  uint32_t landlock_size;  // of the ruleset struct this kernel knows

  const sock_filter* filter;
  uint32_t filter_count;
  const sock_filter* init_filter;
  uint32_t init_filter_count;
  bool notify_exec;
  const warden::Rules* warden;  // null: there is none
  const sock_filter* warden_filter;
  uint32_t warden_filter_count;
  int report_fd;  // the warden's, to the supervisor; -1: none

  const char* const* candidates;  // null-terminated
  const char* const* argv;
  const char** shell_argv;  // for a script without #!: sh, script, arguments
  const char* const* environment;

  int control_fd;        // SOCK_SEQPACKET to the supervisor
  int gateway_fd;        // SOCK_SEQPACKET to the cell's gateway; -1: there is none
  const void* steering;  // nftables messages that lead all traffic to the gateway
  uint32_t steering_size;
  const void* routes;  // one for each family, so that there is traffic to be led
  uint32_t routes_size;
  const uint16_t* forward_ports;
  uint32_t forward_count, pool_sockets;
  int stdio[3];             // -1: the terminal
  int passed[kMostPassed];  // of the caller's, all above kMostPassed + 2
  uint32_t passed_count;
  winsize window;                // of the cell's terminal
  const PageRange* clean_pages;  // of caisson's own file, see startup_pages.h
  uint32_t clean_count;
  char* wipe_start;  // caisson's own argv and environment strings
  uint64_t wipe_size;
  bool own_pid_namespace;
  int death_signal;  // of the supervisor: SIGKILL takes a pid namespace along, kEndSignal has pid 1
                     // do it
  bool drop_capabilities;
  bool wipe_environment, close_descriptors, die_with_parent, not_dumpable, filter_init;
  bool end_with_warden;
};
static_assert(std::is_trivially_copyable_v<ChildProgram>);
static_assert(std::is_trivially_destructible_v<Step>);

constexpr unsigned kMostCgroups = 8;         // that come with the supervisor's go
constexpr unsigned kMostMappedMounts = 100;  // that come with the ids; SCM_MAX_FD is 253
// To pid 1: end everything, wait for it, and tell what it used. From inside it is a way to die.
constexpr int kEndSignal = 62;
// The cell's own clock is the second one: the supervisor's, which gives the verdict, goes first.
constexpr uint64_t kClockLateMs = 1000;

// What the cell's first process tells the supervisor. Fixed size, no pointers, bounded.
enum class MessageKind : uint32_t {
  kFailed = 1,
  kExited,
  kTerminal,
  kListener,
  kMapped,
  kUnsteered,
  kWatch,
  kStopped  // SIGTSTP was obeyed
};
struct ChildMessage {
  MessageKind kind;
  uint32_t step;  // index into init_steps, or init_count + index into enter_steps
  int32_t value;  // errno, or the wait status
  uint32_t reserved;
  // kExited, which is told when nobody is left but pid 1: what all that it waited for used.
  uint64_t user_us, system_us, max_rss_kib;
  uint64_t
      stamp[6];  // CLOCK_MONOTONIC ns: first instruction, root built, pivoted, go, spawn, exec'd
};
enum { kStampFirst, kStampRoot, kStampPivot, kStampGo, kStampSpawn, kStampExec };

// Runs in the child of clone3 and never returns.
[[noreturn]] void run_child(const ChildProgram&);

}  // namespace caisson
