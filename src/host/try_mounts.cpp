// The mounts of a cell, tried out in a mount namespace that ends with the child. In the mount
// namespace of a new user namespace nothing propagates to the host (mount_namespaces(7)).
#include <fcntl.h>
#include <sched.h>

#include "host/trial.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

using namespace kernel;

namespace {

enum { kTmpfs = kMapSteps, kTreeCopy, kTreeAttributes, kProc, kDevpts, kOverlay };

constexpr long kCloseOnExec = 1;  // FSOPEN_CLOEXEC, FSMOUNT_CLOEXEC
constexpr long kFsConfigSetFlag = 0;

long make_filesystem(const char* type) {
  long context = sys_call(kFsopen, type, kCloseOnExec);
  if (context < 0) return context;
  long result = sys_call(kFsconfig, context, long{kFsConfigCreate}, 0L, 0L, 0L);
  return result < 0 ? result : sys_call(kFsmount, context, kCloseOnExec, 0L);
}

// Over /proc, as the root of a cell is while it is built: a folder that every host has.
long mount_tmpfs() {
  long mount = make_filesystem("tmpfs");
  if (mount < 0) return mount;
  return sys_call(kMoveMount, mount, "", long{AT_FDCWD}, "/proc", long{kMoveFromEmptyPath});
}

long copy_tree() {
  constexpr long kFlags = kOpenTreeClone | kOpenTreeCloexec | kAtRecursive;
  long tree = sys_call(kOpenTree, long{AT_FDCWD}, "/usr", kFlags);
  return tree == -ENOENT ? sys_call(kOpenTree, long{AT_FDCWD}, "/", kFlags) : tree;
}

long make_read_only(long tree) {
  MountAttr attributes{kMountReadOnly | kMountNoSuid | kMountNoDev, 0, 0, 0};
  return sys_call(kMountSetattr, tree, "", long{kAtEmptyPath | kAtRecursive}, &attributes,
                  long{sizeof attributes});
}

long make_overlay() {
  for (const char* folder : {"/proc/lower", "/proc/upper", "/proc/work"})
    if (long result = sys_call(SYS_mkdirat, long{AT_FDCWD}, folder, 0755L); result < 0)
      return result;
  long context = sys_call(kFsopen, "overlay", kCloseOnExec);
  if (context < 0) return context;
  struct Option {
    const char *key, *value;
  };
  for (Option option : {Option{"lowerdir", "/proc/lower"}, Option{"upperdir", "/proc/upper"},
                        Option{"workdir", "/proc/work"}}) {
    long result =
        sys_call(kFsconfig, context, long{kFsConfigSetString}, option.key, option.value, 0L);
    if (result < 0) return result;
  }
  long result = sys_call(kFsconfig, context, kFsConfigSetFlag, "userxattr", 0L, 0L);
  return result < 0 ? result : sys_call(kFsconfig, context, long{kFsConfigCreate}, 0L, 0L, 0L);
}

void try_all(TrialSteps steps) {
  steps.take(kProc, [] { return make_filesystem("proc"); });
  steps.take(kDevpts, [] { return make_filesystem("devpts"); });
  long tree = steps.take(kTreeCopy, copy_tree);
  if (tree >= 0) steps.take(kTreeAttributes, [=] { return make_read_only(tree); });
  if (steps.take(kTmpfs, mount_tmpfs) >= 0) steps.take(kOverlay, make_overlay);
}

}  // namespace

void try_mounts(DeepFacts& facts) {
  if (!facts.user_namespace.worked()) return;
  uid_t uid = facts.host.uid;
  gid_t gid = facts.host.gid;
  // With a pid namespace: only from inside one of ours may its proc be mounted.
  Trial trial = run_trial(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, [=](TrialSteps steps) {
    if (write_id_maps(steps, 0, uid, gid)) try_all(steps);
  });
  if (!trial.born()) return;  // the check of the single namespaces says so
  facts.tmpfs = trial.attempt(kTmpfs, "mount a tmpfs");
  facts.tree_copy = trial.attempt(kTreeCopy, "open_tree");
  facts.tree_attributes = trial.attempt(kTreeAttributes, "mount_setattr");
  facts.proc = trial.attempt(kProc, "mount proc");
  facts.devpts = trial.attempt(kDevpts, "mount devpts");
  facts.overlay = trial.attempt(kOverlay, "mount an overlay");
}

}  // namespace caisson
