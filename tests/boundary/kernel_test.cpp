// Claim: the kernel's surface is an allow-list. No namespaces, mounts, handles or rare doors.
#include <errno.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

TEST(Kernel, T31_NoNamespaceCanBeMade) {
  for (const char* call : {"unshare", "clone", "clone3"}) {
    for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"}) {
      EXPECT_TRUE(refused_with(in_cell({call, kind}), {EPERM, ENOSYS})) << call << " " << kind;
      EXPECT_TRUE(worked(in_own_namespaces({call, kind}))) << call << " " << kind;
    }
  }
}

TEST(Kernel, T31_NoNamespaceCanBeJoined) {
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    EXPECT_TRUE(refused(in_cell({"setns", "self", kind}))) << kind;
    EXPECT_TRUE(refused(in_cell({"setns", "1", kind}))) << kind;
  }
  EXPECT_TRUE(worked(in_own_namespaces({"setns", "self", "mnt"})));
}

TEST(Kernel, T32_NothingCanBeMountedMovedOrTakenAway) {
  TempFolder host;
  make_folder(host / "a");
  make_folder(host / "b");
  const Words mine = mount(host.path(), "/m", "rw");
  struct {
    Words inside, control;
  } tries[] = {
      {{"mount", "tmpfs", "/m/a"}, {"mount", "tmpfs", host / "a"}},
      {{"mount", "proc", "/m/a"}, {"mount", "tmpfs", host / "a"}},
      {{"bind", "/m/a", "/m/b"}, {"bind", host / "a", host / "b"}},
      {{"bind", "/usr", "/m/b"}, {"bind", "/usr", host / "b"}},
      {{"remount-rw", "/usr"}, {"remount-rw", "/"}},
      {{"remount-rw", "/proc"}, {"remount-rw", "/"}},
      {{"remount-rw", "/"}, {"remount-rw", "/"}},
      {{"mount-setattr", "/usr"}, {"mount-setattr", "/"}},
      {{"mount-setattr", "/"}, {"mount-setattr", "/"}},
      {{"umount", "/m"}, {"after-mount", "tmpfs", host / "a", "umount", host / "a"}},
      {{"umount", "/proc"}, {"after-mount", "tmpfs", host / "a", "umount", host / "a"}},
      {{"umount", "/etc/passwd"}, {"after-mount", "tmpfs", host / "a", "umount", host / "a"}},
      {{"move-mount", "/m", "/tmp"},
       {"after-mount", "tmpfs", host / "a", "move-mount", host / "a", host / "b"}},
      {{"pivot-root", "/m", "/m"},
       {"after-mount", "tmpfs", host / "a", "pivot-root", host / "a", host / "a"}},
      {{"fsopen", "tmpfs"}, {"fsopen", "tmpfs"}},
      {{"open-tree", "/usr"}, {"open-tree", "/usr"}},
      {{"chroot", "/m"}, {"chroot", host / "a"}},
  };
  for (const auto& [inside, control] : tries) {
    EXPECT_TRUE(refused_with(in_cell(inside, mine), {EPERM, ENOSYS, EACCES}))
        << inside[0] << inside[1];
    EXPECT_TRUE(worked(in_own_namespaces(control))) << control[0] << control[1];
  }
}

TEST(Kernel, T33_ControlGroupsAreOutOfReach) {
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs", "/sys/kernel"})
    EXPECT_TRUE(refused(in_cell({"list", path}))) << path;
  for (const char* type : {"cgroup", "cgroup2", "sysfs"})
    EXPECT_TRUE(refused(in_cell({"mount", type, "/tmp"}))) << type;
  EXPECT_TRUE(refused(in_cell({"open-write", "/sys/fs/cgroup/memory/release_agent"})));
  EXPECT_TRUE(worked(on_host({"list", "/sys/fs/cgroup"})));
}

TEST(Kernel, T34_NoFileCanBeOpenedByItsHandle) {
  TempFolder host;
  write_file(host / "file", "x");
  Words given = mount(host.path(), "/given", "rw");
  for (const char* path : {"/given/file", "/given", "/probe/probe", "/usr/bin/env", "/tmp"})
    EXPECT_TRUE(refused_with(in_cell({"handle", path}, given), {EPERM, ENOSYS})) << path;
  // Control: it takes CAP_DAC_READ_SEARCH in the first user namespace, so only root can show it.
  if (as_root()) {
    EXPECT_TRUE(worked(on_host({"handle", host / "file"})));
  }
}

// How the host answers the same call: the proof that the probe knocks at the right door.
enum class Outside {
  kOpenToAll,    // works for anybody
  kOpenToRoot,   // works for root
  kHeardByAll,   // refused for its arguments, which are nonsense on purpose: it was looked at
  kHeardByRoot,  // the same, for root
  kMayBeAbsent,  // many kernels are built without it
};

struct Door {
  const char* name;
  Outside outside;
};

constexpr Door kDoors[] = {
    {"bpf", Outside::kOpenToRoot},
    {"perf_event_open", Outside::kOpenToRoot},
    {"userfaultfd", Outside::kOpenToRoot},
    {"keyctl", Outside::kOpenToAll},
    {"add_key", Outside::kOpenToAll},
    {"request_key", Outside::kHeardByAll},
    {"io_uring_setup", Outside::kOpenToRoot},
    {"io_uring_enter", Outside::kHeardByAll},
    {"io_uring_register", Outside::kHeardByAll},
    {"kexec_load", Outside::kMayBeAbsent},
    {"init_module", Outside::kMayBeAbsent},
    {"finit_module", Outside::kMayBeAbsent},
    {"delete_module", Outside::kMayBeAbsent},
    {"quotactl", Outside::kHeardByAll},
    {"swapon", Outside::kHeardByRoot},
    {"swapoff", Outside::kHeardByRoot},
    {"acct", Outside::kHeardByRoot},
    {"reboot", Outside::kHeardByRoot},
    {"syslog", Outside::kOpenToRoot},
    {"vmsplice", Outside::kOpenToAll},
    {"personality", Outside::kOpenToAll},
    {"fanotify_init", Outside::kOpenToAll},
    {"name_to_handle_at", Outside::kOpenToAll},
    {"kcmp", Outside::kOpenToAll},
    {"lookup_dcookie", Outside::kMayBeAbsent},
    {"mbind", Outside::kOpenToAll},
    {"migrate_pages", Outside::kOpenToAll},
    {"move_pages", Outside::kOpenToAll},
    {"process_madvise", Outside::kHeardByAll},
    {"settimeofday", Outside::kHeardByAll},
    {"clock_settime", Outside::kHeardByAll},
    {"adjtimex", Outside::kHeardByRoot},
    {"sethostname", Outside::kHeardByRoot},
    {"setdomainname", Outside::kHeardByRoot},
#if defined(__x86_64__)
    {"iopl", Outside::kMayBeAbsent},
    {"ioperm", Outside::kMayBeAbsent},
    {"modify_ldt", Outside::kOpenToAll},
    {"kexec_file_load", Outside::kMayBeAbsent},
#endif
};

testing::AssertionResult was_heard(const Answer& answer) {
  bool heard = answer.error != EPERM && answer.error != ENOSYS && answer.error >= 0;
  if (heard) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the kernel did not look at it: " << answer.name;
}

TEST(Kernel, T35_T36_T40_T63_RareDoorsAreShut) {
  for (const Door& door : kDoors)
    EXPECT_TRUE(refused_with(in_cell({"kernel", door.name}), {EPERM, ENOSYS})) << door.name;
}

TEST(Kernel, T35_T36_T40_T63_ControlTheDoorsAreThereOnTheHost) {
  for (const Door& door : kDoors) {
    Answer outside = on_host({"kernel", door.name});
    if (door.outside == Outside::kOpenToAll ||
        (door.outside == Outside::kOpenToRoot && as_root())) {
      EXPECT_TRUE(worked(outside)) << door.name;
    }
    if (door.outside == Outside::kHeardByAll ||
        (door.outside == Outside::kHeardByRoot && as_root())) {
      EXPECT_TRUE(was_heard(outside)) << door.name;
    }
  }
}

TEST(Kernel, T35_RareDoorsStayShutUnderEveryGrant) {
  for (const char* grant : {"--allow-network", "--allow-nested"})
    for (const char* door : {"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "add_key",
                             "keyctl", "request_key", "vmsplice", "reboot", "syslog"})
      EXPECT_TRUE(refused_with(in_cell({"kernel", door}, {grant}), {EPERM, ENOSYS}))
          << grant << " " << door;
}

// A filter of its own with a listener is the program's business; it decides for itself alone, and
// the cell's filter stays below it.
TEST(Kernel, T39_AProgramsOwnListenerDoesNotOpenTheCellsFilter) {
  EXPECT_GE(in_cell({"kernel", "seccomp_listener"}).error, 0);
  EXPECT_TRUE(
      refused(in_cell({"kernel", "seccomp_listener"}, {"--no-exec"})));  // one listener: ours
  EXPECT_TRUE(worked(on_host({"kernel", "seccomp_listener"})));
}

}  // namespace
}  // namespace caisson::boundary
