#include "host/cgroup_tree.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/unique_fd.h"

namespace caisson {

bool has_word(std::string_view list, char separator, std::string_view word) {
  for (size_t start = 0; start <= list.size();) {
    size_t end = std::min(list.find(separator, start), list.size());
    if (list.substr(start, end - start) == word) return true;
    start = end + 1;
  }
  return false;
}

const std::string* OwnCgroups::path_of(std::string_view controller) const {
  for (const Line& line : lines)
    if (has_word(line.controllers, ',', controller)) return &line.path;
  return nullptr;
}

const std::string* OwnCgroups::unified_path() const {
  for (const Line& line : lines)
    if (line.controllers.empty()) return &line.path;
  return nullptr;
}

// "4:memory:/a/b" per line; the path may hold colons of its own (cgroups(7)).
OwnCgroups parse_own_cgroups(std::string_view text) {
  OwnCgroups own;
  for (std::string_view line : split(text, '\n')) {
    size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    own.lines.push_back({std::string(line.substr(first + 1, second - first - 1)),
                         std::string(line.substr(second + 1))});
  }
  return own;
}

// Blanks, newlines and backslashes are octal in mountinfo: "\040".
static std::string unescape(std::string_view text) {
  std::string out;
  auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
        octal(text[i + 3])) {
      out +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// "35 31 0:32 ROOT POINT rw,relatime [optional…] - TYPE SOURCE OPTIONS" (proc_pid_mountinfo(5)).
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  for (std::string_view line : split(mountinfo, '\n')) {
    size_t dash = line.find(" - cgroup");
    if (dash == std::string_view::npos) continue;
    std::vector<std::string_view> front = split(line.substr(0, dash), ' ');
    std::vector<std::string_view> back = split(line.substr(dash + 3), ' ');
    if (front.size() < 6 || back.size() < 3) continue;
    CgroupFs type = back[0] == "cgroup"    ? CgroupFs::kV1
                    : back[0] == "cgroup2" ? CgroupFs::kV2
                                           : CgroupFs::kOther;
    if (type == CgroupFs::kOther) continue;
    mounts.push_back({type, unescape(front[3]), unescape(front[4]), std::string(back[2])});
  }
  return mounts;
}

std::string CgroupTree::read(const std::string& path) const {
  UniqueFd fd{::open((view_.prefix + path).c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return {};
  constexpr size_t kEnough = 1 << 20;  // a mountinfo of thousands of lines fits
  std::string text;
  char buffer[4096];
  for (ssize_t got; text.size() < kEnough && (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

bool CgroupTree::exists(const std::string& path) const {
  return ::access((view_.prefix + path).c_str(), F_OK) == 0;
}

bool CgroupTree::writable(const std::string& path) const {
  std::string full = view_.prefix + path;
  return view_.writable ? view_.writable(full) : ::access(full.c_str(), W_OK) == 0;
}

CgroupFs CgroupTree::filesystem(const std::string& path) const {
  std::string full = view_.prefix + path;
  if (view_.filesystem) return view_.filesystem(full);
  struct statfs info;
  if (::statfs(full.c_str(), &info) != 0) return CgroupFs::kOther;
  if (info.f_type == CGROUP_SUPER_MAGIC) return CgroupFs::kV1;
  if (info.f_type == CGROUP2_SUPER_MAGIC) return CgroupFs::kV2;
  return CgroupFs::kOther;
}

const std::vector<CgroupMount>& CgroupTree::mounts() {
  if (!mounts_) mounts_ = parse_cgroup_mounts(read("/proc/self/mountinfo"));
  return *mounts_;
}

// A path that climbs ("/../x") is one outside of our cgroup namespace: never followed.
static bool climbs(std::string_view path) {
  return path.starts_with("/..") && (path.size() == 3 || path[3] == '/');
}

CgroupTree::Place CgroupTree::place(const std::string& mount, const std::string& path,
                                    CgroupFs type) const {
  if (path != "/" && !climbs(path) && filesystem(mount + path) == type)
    return {mount, mount + path};
  if (filesystem(mount) == type) return {mount, mount};
  return {};
}

// A mount of a part of the hierarchy (a container's) shows what lies below that part.
static std::string below_root(const std::string& path, const std::string& root) {
  if (root == "/") return path;
  if (!path.starts_with(root) || path[root.size()] != '/') return "/";
  return path.substr(root.size());
}

CgroupTree::Place CgroupTree::place_by_mountinfo(CgroupFs type, std::string_view controller,
                                                 const std::string& path) {
  for (const CgroupMount& mount : mounts()) {
    if (mount.type != type) continue;
    if (!controller.empty() && !has_word(mount.options, ',', controller)) continue;
    Place found = place(mount.point, below_root(path, mount.root), type);
    if (!found.own.empty()) return found;
  }
  return {};
}

CgroupTree::Place CgroupTree::find_v1(std::string_view controller, const std::string& path) {
  std::string usual = "/sys/fs/cgroup/";
  usual += controller;
  Place found = place(usual, path, CgroupFs::kV1);
  return found.own.empty() ? place_by_mountinfo(CgroupFs::kV1, controller, path) : found;
}

CgroupTree::Place CgroupTree::find_v2(const std::string& path) {
  for (const char* usual : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    Place found = place(usual, path, CgroupFs::kV2);
    if (!found.own.empty()) return found;
  }
  return place_by_mountinfo(CgroupFs::kV2, {}, path);
}

}  // namespace caisson
