// What a cell can neither take from the host nor leave to it by calls that programs need.
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>

#include "seccomp/claims_fixture.h"

namespace caisson {
namespace {

// All filters under which a program runs that is not ours.
constexpr FilterName kForPrograms[] = {FilterName::kStandard,         FilterName::kNested,
                                       FilterName::kNoSockets,        FilterName::kNames,
                                       FilterName::kNamesAndRemovals, FilterName::kNamesAndReads};

class SeccompHostClaims : public SeccompClaims {
 protected:
  void programs(Verdict verdict, const char* call, Arguments arguments) {
    for (FilterName name : kForPrograms) expect(name, verdict, call, arguments);
  }
  // Upper bits of a 32-bit argument are dropped by the kernel (T41).
  void programs_by_lower_half(Verdict verdict, const char* call, Arguments arguments,
                              unsigned argument) {
    programs(verdict, call, arguments);
    arguments[argument] |= kUnread;
    programs(verdict, call, arguments);
  }
};

INSTANTIATE_TEST_SUITE_P(On, SeccompHostClaims, testing::ValuesIn(kArchs), arch_label);

// A snapshot makes a name, and shows what is hidden, by a call that has no path; a key of fscrypt
// is the filesystem's.
TEST_P(SeccompHostClaims, NoRequestChangesAFilesystemForOthers) {
  static_assert(FS_IOC_ADD_ENCRYPTION_KEY == 0xc0506617);
  for (uint64_t request : {uint64_t{FS_IOC_ADD_ENCRYPTION_KEY},
                           uint64_t{FS_IOC_REMOVE_ENCRYPTION_KEY},
                           uint64_t{FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS},
                           uint64_t{FS_IOC_SET_ENCRYPTION_POLICY},
                           uint64_t{FS_IOC_GET_ENCRYPTION_PWSALT},
                           uint64_t{FS_IOC_ENABLE_VERITY},
                           uint64_t{BTRFS_IOC_SNAP_CREATE},
                           uint64_t{BTRFS_IOC_SNAP_CREATE_V2},
                           uint64_t{BTRFS_IOC_SUBVOL_CREATE},
                           uint64_t{BTRFS_IOC_SUBVOL_CREATE_V2},
                           uint64_t{BTRFS_IOC_SNAP_DESTROY},
                           uint64_t{BTRFS_IOC_SNAP_DESTROY_V2},
                           uint64_t{BTRFS_IOC_SUBVOL_SETFLAGS},
                           uint64_t{BTRFS_IOC_SET_RECEIVED_SUBVOL},
                           uint64_t{BTRFS_IOC_DEFAULT_SUBVOL},
                           uint64_t{BTRFS_IOC_DEFRAG_RANGE},
                           uint64_t{FIFREEZE},
                           uint64_t{FITRIM},
                           uint64_t{FS_IOC_SETFSLABEL},
                           uint64_t{0x4020bc10} /* bcachefs: subvolumes */,
                           uint64_t{0x40186f04} /* ocfs2: reflink */,
                           uint64_t{0x40289702} /* ceph: layout */,
                           uint64_t{0xc018cf07} /* cifs: a message */})
    programs_by_lower_half(fail(ENOTTY), "ioctl", {0, request}, 1);
}

TEST_P(SeccompHostClaims, FilesSocketsAndTerminalsTakeTheirUsualRequests) {
  for (uint64_t request :
       {uint64_t{FICLONE}, uint64_t{FICLONERANGE}, uint64_t{FIDEDUPERANGE},
        uint64_t{FS_IOC_GETFLAGS}, uint64_t{FS_IOC_SETFLAGS}, uint64_t{FS_IOC_FSGETXATTR},
        uint64_t{FIONREAD}, uint64_t{FIONBIO}, uint64_t{FIOCLEX}, uint64_t{FIOASYNC},
        uint64_t{TCGETS}, uint64_t{TIOCGPTN}, uint64_t{TIOCSPTLCK}, uint64_t{TIOCGPTPEER},
        uint64_t{0x80045200} /* RNDGETENTCNT */, uint64_t{0x8912} /* SIOCGIFCONF */,
        uint64_t{0xc0502100} /* SECCOMP_IOCTL_NOTIF_RECV */, uint64_t{0xb701} /* NS_GET_USERNS */})
    programs(kAllow, "ioctl", {0, request});
}

TEST_P(SeccompHostClaims, NoLeasesAndNoOtherWatches) {
  constexpr uint64_t kLinux = 1024;
  for (uint64_t command : {uint64_t{F_SETLEASE}, uint64_t{F_NOTIFY}, kLinux + 15, kLinux + 16,
                           kLinux + 100, uint64_t{64}, uint64_t{0x80000001}})
    programs_by_lower_half(fail(EINVAL), "fcntl", {0, command}, 1);
  expect(FilterName::kWarden, fail(EINVAL), "fcntl", {0, F_SETLEASE});
  for (FilterName name : {FilterName::kGateway, FilterName::kServer, FilterName::kHttpServer})
    expect(name, fail(EPERM), "fcntl", {0, F_SETLEASE});
  for (uint64_t command :
       {F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETLK, F_SETLKW, F_GETLK, F_SETOWN, F_SETSIG,
        F_OFD_SETLKW, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_ADD_SEALS, F_GETLEASE, F_SET_RW_HINT})
    programs(kAllow, "fcntl", {0, command});
}

// T14, T55: an ACL of a tmpfs is memory that nobody counts.
TEST_P(SeccompHostClaims, AttributesAreSmall) {
  for (const char* call : {"setxattr", "lsetxattr", "fsetxattr"})
    for (FilterName name : kForPrograms) {
      bool has_none = name == FilterName::kNoSockets;
      for (uint64_t size : {0, 4, 255, 512, 900, 991})
        expect(name, has_none ? fail(EPERM) : kAllow, call, {0, 0, 0, size});
      for (uint64_t size : {992, 1000, 1023, 1024, 4096, 65536, 1 << 31})
        expect(name, fail(has_none ? EPERM : ENOSPC), call, {0, 0, 0, size});
    }
}

// The kernel drops nothing of a size: what has upper bits is beyond its own bound (E2BIG).
TEST_P(SeccompHostClaims, AnAttributeByAStructIsRefused) {
  constexpr uint32_t kSetxattrat = 463;
  for (FilterName name : kForPrograms) {
    auto program =
        GetParam() == Arch::kX86_64 ? x86_64_filter(name, false) : arm64_filter(name, false);
    Verdict verdict = fail(name == FilterName::kNoSockets ? EPERM : ENOSYS);
    EXPECT_EQ(evaluate(program, call_data(GetParam(), kSetxattrat)), verdict);
  }
}

// T55: the host's pool of huge pages is no part of the memory that is counted.
TEST_P(SeccompHostClaims, NoPagesOfTheHostsPool) {
  constexpr uint64_t kPlain = MAP_PRIVATE | MAP_ANONYMOUS, kOneGigabyte = 30u << 26;
  for (uint64_t flags : {kPlain | MAP_HUGETLB, kPlain | MAP_HUGETLB | kOneGigabyte,
                         uint64_t{MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB} | kUnread})
    for (FilterName name :
         {FilterName::kStandard, FilterName::kNested, FilterName::kNoSockets, FilterName::kNames,
          FilterName::kGateway, FilterName::kServer, FilterName::kHttpServer})
      expect(name, fail(ENOMEM), "mmap", {0, 4096, PROT_READ, flags});
  programs(kAllow, "mmap", {0, 4096, PROT_READ | PROT_EXEC, kPlain | MAP_NORESERVE | MAP_STACK});
  programs_by_lower_half(fail(EINVAL), "memfd_create", {0, MFD_HUGETLB | MFD_CLOEXEC}, 1);
  expect(FilterName::kServer, fail(EINVAL), "memfd_create", {0, MFD_HUGETLB});
  programs(kAllow, "memfd_create", {0, MFD_CLOEXEC | MFD_ALLOW_SEALING});
  for (FilterName name : {FilterName::kStandard, FilterName::kNested, FilterName::kNames}) {
    expect(name, fail(ENOMEM), "shmget", {0, 4096, IPC_CREAT | SHM_HUGETLB | kUnread});
    expect(name, kAllow, "shmget", {0, 4096, IPC_CREAT | 0600});
  }
}

// The third argument of mprotect is none: whatever is in its register must not matter.
TEST_P(SeccompHostClaims, AMappingIsChangedWhateverLiesInAnUnusedRegister) {
  for (FilterName name : {FilterName::kStandard, FilterName::kGateway, FilterName::kServer})
    expect(name, kAllow, "mprotect", {0, 4096, PROT_READ, MAP_HUGETLB});
}

// The host has so much memory for translated filters.
TEST_P(SeccompHostClaims, NoSocketHasAFilter) {
  for (uint64_t option :
       {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF}) {
    programs_by_lower_half(fail(EPERM), "setsockopt", {0, SOL_SOCKET, option}, 1);
    programs_by_lower_half(fail(EPERM), "setsockopt", {0, SOL_SOCKET, option}, 2);
    for (FilterName name : {FilterName::kGateway, FilterName::kServer, FilterName::kHttpServer})
      expect(name, fail(EPERM), "setsockopt", {0, SOL_SOCKET, option});
  }
  for (uint64_t option : {SO_REUSEADDR, SO_REUSEPORT, SO_RCVBUF, SO_DETACH_FILTER, SO_PASSCRED})
    programs(kAllow, "setsockopt", {0, SOL_SOCKET, option});
  programs(kAllow, "setsockopt", {0, 6 /* TCP */, 26});
}

}  // namespace
}  // namespace caisson
