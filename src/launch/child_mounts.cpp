// The mounts of a cell: nothing that others could change is looked up twice (T03, T20, T21).
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "launch/child_state.h"

namespace caisson {

using namespace kernel;

static long set_option(long context, const char* key, const char* value) {
  return sys_call(kFsconfig, context, long{kFsConfigSetString}, key, value, 0L);
}

// Decimal text without libc.
static const char* to_decimal(uint64_t value, char (&buffer)[24]) {
  char* at = buffer + 23;
  *at = 0;
  do *--at = static_cast<char>('0' + value % 10);
  while (value /= 10);
  return at;
}

static long finish_filesystem(long context, uint64_t attributes) {
  long result = sys_call(kFsconfig, context, long{kFsConfigCreate}, 0L, 0L, 0L);
  if (result >= 0)
    result = sys_call(kFsmount, context, 1L /* FSMOUNT_CLOEXEC */, static_cast<long>(attributes));
  sys_call(SYS_close, context);
  return result;
}

static long attach(long mount_fd, int directory, const char* path) {
  long result = sys_call(kMoveMount, mount_fd, "", long{directory}, path, long{kMoveFromEmptyPath});
  sys_call(SYS_close, mount_fd);
  return result;
}

// The root being built is put over /proc of the copied tree: a directory that every system has and
// that no bind source lies below.
static long new_root(ChildState& state, const Step& step) {
  long context = sys_call(kFsopen, "tmpfs", 1L);
  if (context < 0) return context;
  char number[24];
  long result = set_option(context, "size", to_decimal(step.a, number));
  if (result >= 0) result = set_option(context, "nr_inodes", to_decimal(step.b, number));
  if (result >= 0) result = set_option(context, "mode", "0755");
  if (result < 0) {
    sys_call(SYS_close, context);
    return result;
  }
  long root = finish_filesystem(context, step.c);
  if (root < 0) return root;
  state.root_fd = static_cast<int>(root);
  result = sys_call(kMoveMount, root, "", long{AT_FDCWD}, "/proc", long{kMoveFromEmptyPath});
  return result < 0 ? result : sys_call(SYS_fchdir, root);  // where put_mask() is at home
}

static long make_file(ChildState& state, const Step& step) {
  if (step.size == 0)  // a place for a mount: one call instead of two
    return sys_call(SYS_mknodat, long{state.root_fd}, step.path,
                    static_cast<long>(S_IFREG | step.a), 0L);
  long fd = sys_call(SYS_openat, long{state.root_fd}, step.path,
                     long{O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW}, 0644L);
  if (fd < 0) return fd;
  long written = step.size ? sys_call(SYS_write, fd, step.data, long{step.size}) : 0;
  sys_call(SYS_close, fd);
  return written < 0 ? written : 0;
}

static long make_directory(ChildState& state, const Step& step) {
  long result = sys_call(SYS_mkdirat, long{state.root_fd}, step.path, 0755L);
  if (result < 0 || step.a == 0755) return result;
  return sys_call(SYS_fchmodat, long{state.root_fd}, step.path, static_cast<long>(step.a));
}

static long set_attributes(long mount_fd, uint64_t attributes, uint64_t propagation = 0) {
  MountAttr attr{attributes, 0, propagation, 0};
  return sys_call(kMountSetattr, mount_fd, "", long{kAtEmptyPath | kAtRecursive}, &attr,
                  long{sizeof attr});
}

// What stood at the path when the policy was resolved must be what was cloned: a folder swapped for
// a link in between is refused, not followed (T03, T04).
static long check_identity(long mount_fd, const Step& step) {
  struct stat found;
  long result = sys_call(SYS_newfstatat, mount_fd, "", &found, long{AT_EMPTY_PATH});
  if (result < 0) return result;
  return found.st_dev == step.b && found.st_ino == step.c ? 0 : -ESTALE;
}

// Below a user's mount the path is made of names that nobody has vouched for: no links are
// followed.
static long attach_below_user_mount(const ChildState& state, long mount_fd, const char* path) {
  OpenHow how{O_PATH | O_CLOEXEC, 0, kResolveBeneath | kResolveNoSymlinks | kResolveNoMagicLinks};
  long target = sys_call(kOpenat2, long{state.root_fd}, path, &how, long{sizeof how});
  if (target < 0) {
    sys_call(SYS_close, mount_fd);
    return target;
  }
  long result =
      sys_call(kMoveMount, mount_fd, "", target, "", long{kMoveFromEmptyPath | kMoveToEmptyPath});
  sys_call(SYS_close, mount_fd);
  sys_call(SYS_close, target);
  return result;
}

static long bind_received(ChildState& state, const Step& step) {
  if (state.mapped_taken >= state.mapped_count) return -EBADF;
  long mount_fd = state.mapped_mounts[state.mapped_taken++];
  if (step.flags & kBindBelowUserMount) return attach_below_user_mount(state, mount_fd, step.path);
  return attach(mount_fd, state.root_fd, step.path);
}

// Folders of the system and devices: nobody but the host's root can change a name on the way, and
// the place is the cell's own. Two calls by path in place of four by descriptor, for which the
// kernel makes and frees a namespace of its own around every mount.
static long bind_system(ChildState& state, const Step& step) {
  long result =
      sys_call(SYS_mount, step.other, step.path, 0L, static_cast<long>(MS_BIND | MS_REC), 0L);
  if (result < 0) return (step.flags & kBindOptional) && result == -ENOENT ? 0 : result;
  MountAttr attr{step.a, 0, 0, 0};
  return sys_call(kMountSetattr, long{state.root_fd}, step.path, long{kAtRecursive}, &attr,
                  long{sizeof attr});
}

static long bind_host(ChildState& state, const Step& step) {
  if (step.flags & kBindReceived) return bind_received(state, step);
  if (step.flags & kBindSystem) return bind_system(state, step);
  // Recursive: in a user namespace a single mount can't be taken off what lies below it.
  long mount_fd = sys_call(kOpenTree, long{AT_FDCWD}, step.other,
                           long{kOpenTreeClone | kOpenTreeCloexec | kAtRecursive});
  if (mount_fd < 0) return (step.flags & kBindOptional) && mount_fd == -ENOENT ? 0 : mount_fd;
  long result = 0;
  if (step.flags & kBindCheckIdentity) result = check_identity(mount_fd, step);
  uint64_t propagation = step.flags & kBindAlone ? MS_PRIVATE : 0;
  if (result >= 0) result = set_attributes(mount_fd, step.a, propagation);
  if (result < 0) {
    sys_call(SYS_close, mount_fd);
    return result;
  }
  if (step.flags & kBindBelowUserMount) return attach_below_user_mount(state, mount_fd, step.path);
  return attach(mount_fd, state.root_fd, step.path);
}

static long bind_own(ChildState& state, const Step& step) {
  long mount_fd =
      sys_call(kOpenTree, long{state.root_fd}, step.path, long{kOpenTreeClone | kOpenTreeCloexec});
  if (mount_fd < 0) return mount_fd;
  return attach(mount_fd, state.root_fd, step.path);
}

// The mount that is there already, once more over its own folder: with its flags and its ids.
static long pin(ChildState& state, const Step& step) {
  OpenHow how{O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
              kResolveBeneath | kResolveNoSymlinks | kResolveNoMagicLinks};
  long folder = sys_call(kOpenat2, long{state.root_fd}, step.path, &how, long{sizeof how});
  if (folder < 0) return folder;
  long mount_fd =
      sys_call(kOpenTree, folder, "", long{kOpenTreeClone | kOpenTreeCloexec | kAtEmptyPath});
  long result = mount_fd;
  if (mount_fd >= 0) {
    result =
        sys_call(kMoveMount, mount_fd, "", folder, "", long{kMoveFromEmptyPath | kMoveToEmptyPath});
    sys_call(SYS_close, mount_fd);
  }
  sys_call(SYS_close, folder);
  return result;
}

static long mount_proc(ChildState& state, const Step& step) {
  long context = sys_call(kFsopen, "proc", 1L);
  if (context < 0) return context;
  long mount_fd = finish_filesystem(context, step.a);
  return mount_fd < 0 ? mount_fd : attach(mount_fd, state.root_fd, step.path);
}

static long mount_devpts(ChildState& state, const Step& step) {
  long context = sys_call(kFsopen, "devpts", 1L);
  if (context < 0) return context;
  long result = set_option(context, "ptmxmode", "0666");
  if (result >= 0) result = set_option(context, "mode", "0620");
  if (result >= 0 && step.flags)
    result = set_option(context, "max", "64");  // they are counted for the whole host
  if (result < 0) {
    sys_call(SYS_close, context);
    return result;
  }
  long mount_fd = finish_filesystem(context, step.a);
  return mount_fd < 0 ? mount_fd : attach(mount_fd, state.root_fd, step.path);
}

void drop(SpareMask& spare) {
  if (spare.fd >= 0) sys_call(SYS_close, long{spare.fd});
  spare.fd = -1;
}

static long make_folder_mask(const ChildState& state) {
  long mount_fd =
      sys_call(kOpenTree, long{state.root_fd}, "run", long{kOpenTreeClone | kOpenTreeCloexec});
  if (mount_fd < 0) return mount_fd;
  long result = set_attributes(mount_fd, kMountReadOnly | kMountNoSuid | kMountNoDev);
  if (result >= 0) return mount_fd;
  sys_call(SYS_close, mount_fd);
  return result;
}

// The empty /run over a folder of the cell's own proc. What this kernel lacks needs no mask: the
// one that was made for it is kept for the next, since a clone that is thrown away waits for a
// grace period. The plan ends with names that every kernel has. One that lies in its place is the
// source of the others, by one call each as for files: a bind has the flags of what it shows.
static long mask_folder(const ChildState& state, const Step& step, SpareMask& spare) {
  if (spare.placed) {
    long result = sys_call(SYS_mount, spare.placed, step.path, 0L, long{MS_BIND}, 0L);
    return result == -ENOENT ? 0 : result;
  }
  if (spare.fd < 0) {
    long made = make_folder_mask(state);
    if (made < 0) return made;
    spare.fd = static_cast<int>(made);
  }
  long result = sys_call(kMoveMount, long{spare.fd}, "", long{state.root_fd}, step.path,
                         long{kMoveFromEmptyPath});
  if (result == -ENOENT) return 0;
  if (result >= 0) spare.placed = step.path;
  drop(spare);
  return result;
}

// The same over a folder in a user's mount. What is not there, or is a link by now, ends the cell:
// without the cover it would be seen.
static long cover_folder(const ChildState& state, const Step& step) {
  long made = make_folder_mask(state);
  return made < 0 ? made : attach_below_user_mount(state, made, step.path);
}

// /dev/null over a file of it. Both names are the cell's own, and nobody else's code runs here yet:
// one call of the older kind, from the root being built, in place of three by descriptors. Some
// twenty files make that 0.1 ms.
static long mask_file(const Step& step) {
  long result = sys_call(SYS_mount, "dev/null", step.path, 0L, long{MS_BIND}, 0L);
  return result == -ENOENT ? 0 : result;
}

long put_mask(const ChildState& state, const Step& step, SpareMask& spare) {
  return step.a ? mask_folder(state, step, spare) : mask_file(step);
}

// A file that the cell's root holds, over one that came with a mount.
static long cover(ChildState& state, const Step& step) {
  if (sys_call(SYS_faccessat, long{state.root_fd}, step.path, 0L) == -ENOENT) return 0;
  long mount_fd =
      sys_call(kOpenTree, long{state.root_fd}, step.other, long{kOpenTreeClone | kOpenTreeCloexec});
  if (mount_fd < 0) return mount_fd;
  long result =
      set_attributes(mount_fd, kMountReadOnly | kMountNoSuid | kMountNoDev | kMountNoExec);
  if (result < 0) {
    sys_call(SYS_close, mount_fd);
    return result;
  }
  return attach(mount_fd, state.root_fd, step.path);
}

// Recursive: /dev has its devices mounted in it. The attributes are for the top alone.
static long place_own(ChildState& state, const Step& step) {
  long mount_fd = sys_call(kOpenTree, long{state.root_fd}, step.other,
                           long{kOpenTreeClone | kOpenTreeCloexec | kAtRecursive});
  if (mount_fd < 0) return mount_fd;
  MountAttr attr{step.a, 0, 0, 0};
  long result = sys_call(kMountSetattr, mount_fd, "", long{kAtEmptyPath}, &attr, long{sizeof attr});
  if (result >= 0) return attach_below_user_mount(state, mount_fd, step.path);
  sys_call(SYS_close, mount_fd);
  return result;
}

// /etc/resolv.conf is a link on many hosts, often an absolute one: what it leads to is looked up in
// the view. One that leads nowhere is left alone.
static long cover_in_view(ChildState& state, const Step& step) {
  OpenHow at_view{O_PATH | O_DIRECTORY | O_CLOEXEC, 0, kResolveBeneath | kResolveNoSymlinks};
  long view = sys_call(kOpenat2, long{state.root_fd}, "view", &at_view, long{sizeof at_view});
  if (view < 0) return view;
  OpenHow how{O_PATH | O_CLOEXEC, 0, kResolveInRoot | kResolveNoMagicLinks};
  long target = sys_call(kOpenat2, view, step.path, &how, long{sizeof how});
  sys_call(SYS_close, view);
  if (target < 0) return target == -ENOENT || target == -ELOOP ? 0 : target;
  long mount_fd =
      sys_call(kOpenTree, long{state.root_fd}, step.other, long{kOpenTreeClone | kOpenTreeCloexec});
  long result = mount_fd;
  if (result >= 0)
    result = set_attributes(mount_fd, kMountReadOnly | kMountNoSuid | kMountNoDev | kMountNoExec);
  if (result >= 0)
    result =
        sys_call(kMoveMount, mount_fd, "", target, "", long{kMoveFromEmptyPath | kMoveToEmptyPath});
  if (mount_fd >= 0) sys_call(SYS_close, mount_fd);
  sys_call(SYS_close, target);
  return result;
}

static long seal_root(ChildState& state) {
  MountAttr attr{kMountReadOnly, 0, 0, 0};
  return sys_call(kMountSetattr, long{state.root_fd}, "", long{kAtEmptyPath}, &attr,
                  long{sizeof attr});
}

static long make_private() {
  MountAttr attr{0, 0, MS_PRIVATE, 0};
  return sys_call(kMountSetattr, long{AT_FDCWD}, "/", long{kAtRecursive}, &attr, long{sizeof attr});
}

// The old root lies over the new one, where no path leads but "/.." (no step has one); umount2
// alone looks at what is mounted on the place that it is given.
long detach_old_root(const ChildState& state) {
  if (state.program->keep_old_root) return 0;
  return sys_call(SYS_umount2, "/", long{MNT_DETACH});
}

// pivot_root(".", "."): the old root lies over the new one and is detached with all its mounts.
// The kernel waits for a grace period then, 0.25 ms in which nothing is done: the thread's, if
// there is one, while this process goes on.
static long pivot(ChildState& state, const Step& step) {
  long result = sys_call(SYS_fchdir, long{state.root_fd});
  if (result >= 0 && step.path) result = sys_call(SYS_chdir, step.path);  // the host view, in it
  if (result >= 0) result = sys_call(SYS_pivot_root, ".", ".");
  if (result >= 0) result = sys_call(SYS_chdir, "/");
  if (result < 0) return result;
  if (step.flags & kPivotByThread)
    announce_pivot();
  else
    result = detach_old_root(state);
  if (result < 0) return result;
  sys_call(SYS_close, long{state.root_fd});
  state.root_fd = -1;
  // Clones of the host's mounts still receive what the host mounts below them later: not any more.
  return step.flags & kPivotPrivate ? make_private() : 0;
}

long run_mount_step(ChildState& state, const Step& step) {
  switch (step.kind) {
    case StepKind::kPrivateTree:
      return make_private();
    case StepKind::kNewRoot:
      return new_root(state, step);
    case StepKind::kDirectory:
      return make_directory(state, step);
    case StepKind::kFile:
      return make_file(state, step);
    case StepKind::kLink:
      return sys_call(SYS_symlinkat, step.other, long{state.root_fd}, step.path);
    case StepKind::kBind:
      return bind_host(state, step);
    case StepKind::kBindOwn:
      return bind_own(state, step);
    case StepKind::kPin:
      return pin(state, step);
    case StepKind::kProc:
      return mount_proc(state, step);
    case StepKind::kDevpts:
      return mount_devpts(state, step);
    case StepKind::kMask:
      return put_mask(state, step, state.spare_mask);
    case StepKind::kCover:
      return cover(state, step);
    case StepKind::kCoverFolder:
      return cover_folder(state, step);
    case StepKind::kPlaceOwn:
      return place_own(state, step);
    case StepKind::kCoverInView:
      return cover_in_view(state, step);
    case StepKind::kSealRoot:
      return seal_root(state);
    case StepKind::kPivot:
      return pivot(state, step);
    default:
      return -ENOSYS;
  }
}

}  // namespace caisson
