#include "mcp/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/control.h"
#include "base/unique_fd.h"
#include "seccomp/filters.h"
#include "sys/kernel_numbers.h"
#include "sys/raw_syscall.h"

namespace caisson::mcp {

namespace {

// landlock(7), by the first ABI that knows it.
constexpr uint64_t kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3;
constexpr uint64_t kRemoveFolder = 1 << 4, kRemoveFile = 1 << 5, kMakeFolder = 1 << 7;
constexpr uint64_t kMakeFile = 1 << 8, kTruncate = 1 << 14;
// No link, no device, no socket and no move from folder to folder: what lies here is read by name
// again, by the next server. And no list of names: who may read a folder has a descriptor of it,
// which it could hand to a cell, and from there `..` leads to all that Landlock does not judge.
constexpr uint64_t kOwnFiles =
    kWriteFile | kReadFile | kRemoveFolder | kRemoveFile | kMakeFolder | kMakeFile | kTruncate;
constexpr uint64_t kKnown[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};

long landlock_abi() {
  long abi = sys_call(kernel::kLandlockCreateRuleset, 0L, 0L, long{kernel::kLandlockQueryVersion});
  return std::max(abi, 0L);
}

Result<void> allow(int ruleset, const std::string& path, uint64_t rights) {
  UniqueFd folder{::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!folder) return {};
  kernel::LandlockPathBeneath rule{rights, folder.get()};
  long added = sys_call(kernel::kLandlockAddRule, long{ruleset},
                        long{kernel::kLandlockRulePathBeneath}, &rule, 0L);
  if (added < 0) return Error::from_errno("add a Landlock rule", static_cast<int>(-added));
  return {};
}

Result<bool> shut_files(const std::vector<std::string>& folders) {
  long abi = landlock_abi();
  if (abi == 0) return false;
  uint64_t handled = kKnown[std::min<size_t>(static_cast<size_t>(abi), std::size(kKnown) - 1)];
  // Abstract sockets, but not signals (LANDLOCK_SCOPE_SIGNAL): the one by which a parent's death is
  // told (PR_SET_PDEATHSIG) is judged as if the dying parent had sent it, and a launcher that is at
  // work would outlive its server, with all cells. The filter has no call that sends any other.
  kernel::LandlockRuleset rules{handled, abi >= 4 ? uint64_t{3} : 0, abi >= 6 ? uint64_t{1} : 0};
  long size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  long made = sys_call(kernel::kLandlockCreateRuleset, &rules, size, 0L);
  if (made < 0) return Error::from_errno("make a Landlock ruleset", static_cast<int>(-made));
  UniqueFd ruleset{static_cast<int>(made)};
  uint64_t own = kOwnFiles | (control_enabled("mcp-own-listing") ? 0 : kReadFolder);
  for (const std::string& one : folders) TRY(allow(ruleset.get(), one, own & handled));
  long shut = sys_call(kernel::kLandlockRestrictSelf, long{ruleset.get()}, 0L);
  if (shut < 0) return Error::from_errno("enter a Landlock domain", static_cast<int>(-shut));
  return true;
}

Result<void> drop_capabilities() {
  for (int one = 0; one < 64; ++one)
    if (::prctl(PR_CAPBSET_DROP, one) != 0) break;  // an ordinary user has nothing to drop
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  if (::syscall(SYS_capset, &header, none) != 0) return Error::system("drop capabilities");
  return {};
}

Result<void> filter_calls(bool listens) {
  auto filter = filter_for(listens ? FilterName::kHttpServer : FilterName::kServer, false);
  sock_fprog program{static_cast<unsigned short>(filter.size()),
                     const_cast<sock_filter*>(filter.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return Error::system("install the server's filter");
  return {};
}

}  // namespace

Result<Confinement> confine_server(const std::vector<std::string>& folders, bool listens) {
  rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);  // what a client gave us in the environment stays in memory
  if (control_enabled("mcp-capabilities")) TRY(drop_capabilities());
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Error::system("give up new privileges");
  Confinement confined;
  if (control_enabled("mcp-files")) confined.files = TRY(shut_files(folders));
  // Last: it takes away the calls that the others are made of.
  if (control_enabled("mcp-filter")) TRY(filter_calls(listens));
  return confined;
}

}  // namespace caisson::mcp
