// What a path is, by its name alone: below what, the system's, a home folder, private.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/caller.h"
#include "policy/host_files.h"

namespace caisson {

// `folder` itself, or anything below it.
bool is_within(std::string_view path, std::string_view folder);
std::string_view parent_of(std::string_view path);  // of "/a": "/"
std::string_view name_of(std::string_view path);
// `name` below `folder`, either of which may end the path: ("/", "a") → "/a", ("/a", "") → "/a".
std::string join_path(std::string_view folder, std::string_view name);

// The folders below "/" that every cell sees read-only (plan/ puts them there).
std::span<const std::string_view> system_folders();
// In one of them, or in the one folder of /etc that system programs are linked through.
bool is_system_path(std::string_view path);

// Where people keep what is theirs. Each as it is named and as it is when its links are resolved.
struct Homes {
  std::vector<std::string> folders;  // the caller's, /root
  std::vector<std::string> parents;  // /home: each of its children is a home folder

  // The home folder that `path` is or lies in; "" if none.
  std::string of(std::string_view path) const;
  // A home folder or a folder above one.
  bool reaches(std::string_view path) const;
};
Homes find_homes(const Caller&, const HostFiles&);

// A folder of a home where programs keep keys and tokens (~/.ssh, ~/.config, …), or in one.
bool keeps_secrets(std::string_view path, const Homes&);

}  // namespace caisson
