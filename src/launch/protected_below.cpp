#include "launch/protected_below.h"

#include <sys/stat.h>
#include <sys/vfs.h>

#include <string>

#include "base/text.h"
#include "policy/places.h"

namespace caisson {

namespace {

std::string head_of(const FilePattern& pattern) {
  std::string head;
  size_t left = pattern.literal_head;
  for (std::string_view word : split(pattern.text, '/'))
    if (!word.empty() && left > 0) head += "/" + std::string(word), --left;
  return head.empty() ? "/" : head;
}

bool has_wildcard_part(const FilePattern& pattern) {
  size_t parts = 0;
  for (std::string_view word : split(pattern.text, '/')) parts += !word.empty();
  return pattern.literal_head < parts;
}

// On these a folder has two links and one more for each folder in it. Others say 1, or 2 whatever
// they hold.
bool may_hold_folders(const std::string& path) {
  constexpr long kExt = 0xef53, kXfs = 0x58465342, kTmpfs = 0x01021994;
  struct statfs kind;
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || ::statfs(path.c_str(), &kind) != 0) return true;
  bool counts = kind.f_type == kExt || kind.f_type == kXfs || kind.f_type == kTmpfs;
  return !counts || info.st_nlink != 2;
}

// Outside of every folder, in the head itself: a path of its own that is protected is a mount.
bool may_be_in_head(const WardenPlan& plan, const FilePattern& pattern, const std::string& head) {
  std::string_view rest = pattern.text;
  std::string start = (head == "/" ? "" : head) + "/**/";
  if (!rest.starts_with(start)) return true;
  rest.remove_prefix(start.size());
  struct stat info;
  if (size_t wild = rest.find_first_of("*?["); wild != rest.npos) {
    size_t slash =
        rest.rfind('/', wild);  // of ".git/modules/**/hooks" there is ".git/modules", or nothing
    return slash == rest.npos ||
           ::lstat(join_path(head, rest.substr(0, slash)).c_str(), &info) == 0;
  }
  std::string path = join_path(head, rest);
  for (const FilePattern& one : plan.deny_write)
    if (one.text == path && !has_wildcard_part(one)) return false;
  return ::lstat(path.c_str(), &info) == 0;
}

// A link can't be covered by a mount.
bool is_link(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

}  // namespace

bool may_hold_protected(const WardenPlan& plan) {
  std::string flat;  // a head without folders
  for (const FilePattern& pattern : plan.deny_write) {
    if (!has_wildcard_part(pattern)) continue;
    std::string head = head_of(pattern);
    if (head != flat && may_hold_folders(head)) return true;
    if (may_be_in_head(plan, pattern, head)) return true;
    flat = std::move(head);
  }
  for (const FilePattern& pattern : plan.deny_write)
    if (!has_wildcard_part(pattern) && is_link(pattern.text)) return true;
  return false;
}

}  // namespace caisson
