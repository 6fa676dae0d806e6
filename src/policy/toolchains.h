// Commands that live in a home folder: which installation they belong to, and what of it a cell has
// to see. Everything else of the home folder stays out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/mounts.h"

namespace caisson {

// One kind of installation. Either `base` or `marker` says how it is known.
struct Installation {
  std::string_view name;
  // Where it lies: below a home folder, or absolute. A path in it starts with base/below/.
  std::string_view base = {};
  std::string_view below = {};          // "versions/node/*": '*' is one name, whichever it is
  std::string_view base_variable = {};  // the caller's variable that names another base
  // For one that may lie anywhere: X is one when the command is X/bin/… and X/marker exists.
  std::string_view marker = {};
  // What the cell sees, relative to base/below or X. An allow-list: what is not named stays out,
  // and so do files that may hold tokens (pip.conf, npmrc, credentials.toml, activate.d).
  // "" is the whole of it; no entry at all: the command's own file, alone.
  std::span<const std::string_view> expose = {};
  std::string_view also = {};  // another installation that it can't work without
  // Variables that are passed on when they are set and what they name is visible.
  std::span<const std::string_view> paths = {};
  // A version rather than a path: passed on when it is set.
  std::string_view version_variable = {};
  // Set to the base when the caller has not set it: the cell's home is another one.
  std::string_view home_variable = {};
  // Its Pythons are nobody's project: a file that a cell may have written can name one of them.
  bool is_base = false;
};

std::span<const Installation> installations();

struct Toolchain {
  std::vector<Mount> mounts;
  std::vector<Link> links;
  std::vector<std::pair<std::string, std::string>> variables;  // name, value
  std::vector<std::string> notes;
};

// What `command` needs beyond `mounts`, which are there already.
Toolchain find_toolchain(const std::string& command, const Scene&,
                         const std::vector<Mount>& mounts);

}  // namespace caisson
