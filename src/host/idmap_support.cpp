#include <stdlib.h>
#include <sys/vfs.h>

#include "host/probe.h"

namespace caisson {

namespace {

// Filesystems that the kernel lets be mounted with mapped ids, and since when (FS_ALLOW_IDMAP).
struct IdmapSupport {
  unsigned long magic;
  int major, minor;
};
constexpr IdmapSupport kSupport[] = {
    {0xef53, 5, 12},      // ext4
    {0x58465342, 5, 12},  // xfs
    {0x4d44, 5, 12},      // vfat
    {0x9123683e, 5, 15},  // btrfs
    {0xf2f52010, 5, 18},  // f2fs
    {0xe0f5e1e2, 5, 19},  // erofs
    {0x73717368, 6, 2},   // squashfs
    {0x01021994, 6, 3},   // tmpfs
};

bool at_least(const std::string& release, int major, int minor) {
  char* end = nullptr;
  long have_major = ::strtol(release.c_str(), &end, 10);
  long have_minor = *end == '.' ? ::strtol(end + 1, nullptr, 10) : 0;
  return have_major > major || (have_major == major && have_minor >= minor);
}

}  // namespace

std::vector<std::string> sources_without_idmap(const std::vector<Mount>& mounts,
                                               const std::string& kernel_release) {
  std::vector<std::string> without;
  for (const Mount& mount : mounts) {
    struct statfs info;
    bool supported = false;
    if (::statfs(mount.source.c_str(), &info) == 0)
      for (const IdmapSupport& one : kSupport)
        if (static_cast<unsigned long>(info.f_type) == one.magic)
          supported = at_least(kernel_release, one.major, one.minor);
    if (!supported) without.push_back(mount.source);
  }
  return without;
}

}  // namespace caisson
