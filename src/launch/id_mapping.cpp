#include "launch/id_mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"
#include "base/scope_exit.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson {

namespace {

constexpr uint64_t kMountIdMap = 0x00100000;  // MOUNT_ATTR_IDMAP

Result<void> write_map(const std::string& path, const std::string& content) {
  UniqueFd file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!file || ::write(file.get(), content.data(), content.size()) < 0)
    return Error::system("write " + path);
  return {};
}

// The pid is a child of ours and not yet reaped, so its number can't have passed to another
// process.
Result<void> write_maps(pid_t pid, uid_t uid, gid_t gid, uint32_t outside) {
  TRY(write_map(fmt::format("/proc/{}/uid_map", pid), fmt::format("{} {} 1", uid, outside)));
  return write_map(fmt::format("/proc/{}/gid_map", pid), fmt::format("{} {} 1", gid, outside));
}

Result<UniqueFd> open_user_namespace(pid_t pid) {
  UniqueFd user{::open(fmt::format("/proc/{}/ns/user", pid).c_str(), O_RDONLY | O_CLOEXEC)};
  if (!user) return Error::system("open a user namespace");
  return user;
}

// A namespace for mounts alone, when the cell's own doesn't have the right map: a child that only
// sleeps gives it its life until it is opened.
Result<UniqueFd> make_mapping_namespace(uint32_t outside) {
  long parent = ::getpid();
  clone_args args{};
  args.flags = CLONE_NEWUSER;
  args.exit_signal = SIGCHLD;
  long pid = sys_call(kernel::kClone3, &args, long{sizeof args});
  if (pid < 0) return Error::from_errno("make a user namespace for mounts", static_cast<int>(-pid));
  if (pid == 0) {
    sys_call(kernel::kCloseRange, 0L, 0xffffffffL, 0L);
    sys_call(SYS_prctl, long{PR_SET_PDEATHSIG}, long{SIGKILL});
    if (sys_call(SYS_getppid) != parent) sys_call(SYS_exit_group, 0L);
    for (;;) sys_call(SYS_ppoll, 0L, 0L, 0L, 0L, 0L);
  }
  ScopeExit end_child([pid] {
    ::kill(static_cast<pid_t>(pid), SIGKILL);
    ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  });
  TRY(write_maps(static_cast<pid_t>(pid), 0, 0, outside));
  return open_user_namespace(static_cast<pid_t>(pid));
}

}  // namespace

// 0x70000000…0x77ffffff: given to nobody in systemd's table of ids, nor by useradd or subuid.
Result<uint32_t> throwaway_id() {
  uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    return Error::system("get random bytes");
  return 0x70000000u | (random & 0x07ffffffu);
}

Result<BorrowedId> BorrowedId::take(uint32_t id) {
  BorrowedId borrowed;
  int count = ::getgroups(0, nullptr);
  borrowed.groups_.resize(static_cast<size_t>(std::max(count, 0)));
  if (count < 0 || ::getgroups(count, borrowed.groups_.data()) != count)
    return Error::system("read the groups");
  ::prctl(PR_GET_PDEATHSIG, &borrowed.death_signal_);
  borrowed.parent_ = ::getppid();
  borrowed.taken_ = true;
  if (::setgroups(0, nullptr) != 0 || ::setresgid(id, id, 0) != 0 || ::setresuid(id, id, 0) != 0)
    return Error::system("take on the cell's ids");
  return borrowed;
}

BorrowedId::~BorrowedId() {
  if (!taken_) return;
  if (::setresuid(0, 0, 0) != 0 || ::setresgid(0, 0, 0) != 0 ||
      ::setgroups(groups_.size(), groups_.data()) != 0)
    ::abort();
  if (!death_signal_ || !control_enabled("callers-death-signal")) return;
  ::prctl(PR_SET_PDEATHSIG, death_signal_);
  if (::getppid() != parent_) ::kill(::getpid(), death_signal_);  // it died in between
}

Result<UniqueFd> mapping_namespace(pid_t cell, const Plan& plan, uint32_t outside) {
  if (plan.uid == 0 && plan.gid == 0) return open_user_namespace(cell);
  return make_mapping_namespace(outside);
}

Result<UniqueFd> open_mapped_mount(const Step& bind, int user_namespace) {
  using namespace kernel;
  auto failed = [&](long error) {
    return Error::from_errno(fmt::format("cannot mount {} at /{}", bind.other, bind.path),
                             static_cast<int>(-error));
  };
  long opened = sys_call(kOpenTree, long{AT_FDCWD}, bind.other,
                         long{kOpenTreeClone | kOpenTreeCloexec | kAtRecursive});
  if (opened < 0) return failed(opened);
  UniqueFd mount{static_cast<int>(opened)};
  struct stat found;
  if (::fstat(mount.get(), &found) != 0) return Error::system("look at a mount");
  bool same = found.st_dev == bind.b && found.st_ino == bind.c;
  if (!same && control_enabled("mount-identity"))  // T03, T04
    return Error::plain(
        fmt::format("cannot mount {}: it was replaced while the cell was being made", bind.other),
        "somebody else changes that path; try again, or mount a folder that is "
        "yours alone");
  // The copy of a shared mount is its peer, in whatever namespace it is attached: what the cell
  // mounts on it (a cover, another mount of the policy's) would show on the host, and stay (T32).
  uint64_t propagation = control_enabled("mapped-mounts-private") ? MS_PRIVATE : 0;
  MountAttr attributes{bind.a | kMountIdMap, 0, propagation, static_cast<uint64_t>(user_namespace)};
  long result = sys_call(kMountSetattr, opened, "", long{kAtEmptyPath | kAtRecursive}, &attributes,
                         long{sizeof attributes});
  if (result < 0) return failed(result);
  return mount;
}

}  // namespace caisson
