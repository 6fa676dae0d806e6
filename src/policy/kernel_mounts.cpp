#include "policy/kernel_mounts.h"

#include <algorithm>

#include "base/text.h"
#include "policy/places.h"

namespace caisson {

namespace {

constexpr std::string_view kTypes[] = {"proc",    "sysfs",      "cgroup",   "cgroup2", "debugfs",
                                       "tracefs", "securityfs", "configfs", "bpf",     "efivarfs"};

// Blanks, newlines and backslashes are octal there: "\040".
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view digits = text.substr(std::min(i + 1, text.size()), 3);
    bool octal = text[i] == '\\' && digits.size() == 3 &&
                 digits.find_first_not_of("01234567") == std::string_view::npos;
    if (octal) {
      out += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + digits[2] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

// "35 31 0:32 ROOT POINT rw,relatime [optional…] - TYPE SOURCE OPTIONS" (proc_pid_mountinfo(5)).
std::vector<KernelMount> kernel_mounts(std::string_view mountinfo) {
  std::vector<KernelMount> mounts;
  for (std::string_view line : split(mountinfo, '\n')) {
    size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::vector<std::string_view> front = split(line.substr(0, dash), ' ');
    std::string_view type = line.substr(dash + 3);
    type = type.substr(0, type.find(' '));
    if (front.size() < 6 || std::ranges::find(kTypes, type) == std::end(kTypes)) continue;
    std::string path = unescaped(front[4]);
    if (is_within(path, "/proc") || is_within(path, "/dev")) continue;
    mounts.push_back({std::move(path), type == "proc"});
  }
  return mounts;
}

}  // namespace caisson
