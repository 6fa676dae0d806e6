// What the kernel tells about cgroups, read through a CgroupView: own paths, mounts, files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/cgroup_probe.h"

namespace caisson {

// /proc/self/cgroup, taken apart.
struct OwnCgroups {
  struct Line {
    std::string controllers;  // "cpu,cpuacct"; empty: the v2 hierarchy
    std::string path;
  };
  std::vector<Line> lines;

  const std::string* path_of(std::string_view controller) const;  // v1
  const std::string* unified_path() const;
};
OwnCgroups parse_own_cgroups(std::string_view text);

struct CgroupMount {
  CgroupFs type = CgroupFs::kOther;
  std::string root;     // the folder of the hierarchy that is mounted
  std::string point;    // where
  std::string options;  // v1: "rw,cpu,cpuacct"
};
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);

bool has_word(std::string_view list, char separator, std::string_view word);

class CgroupTree {
 public:
  explicit CgroupTree(const CgroupView& view) : view_(view) {}

  std::string read(const std::string& path) const;  // empty when it can't be read
  bool exists(const std::string& path) const;
  bool writable(const std::string& path) const;
  CgroupFs filesystem(const std::string& path) const;

  // The folder of our own cgroup in the hierarchy of a v1 controller, or in the v2 one. When the
  // mount does not show it (a container's mount, a cgroup namespace): the top of the mount. Empty
  // when the hierarchy is not mounted.
  struct Place {
    std::string mount, own;
  };
  Place find_v1(std::string_view controller, const std::string& path);
  Place find_v2(const std::string& path);

 private:
  const std::vector<CgroupMount>& mounts();
  Place place(const std::string& mount, const std::string& path, CgroupFs type) const;
  Place place_by_mountinfo(CgroupFs type, std::string_view controller, const std::string& path);

  const CgroupView& view_;
  std::optional<std::vector<CgroupMount>> mounts_;  // read at most once, and mostly never
};

}  // namespace caisson
