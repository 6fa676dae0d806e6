// Policy: complete, validated, printable data. What a cell may read, write, reach and use.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/file_rules.h"
#include "policy/network_policy.h"

namespace caisson {

enum class Tier { kProcess, kLandlock, kContainer, kMicrovm };
const char* tier_name(Tier tier);

enum class Access { kReadOnly, kReadWrite };

// A host file or folder that the cell sees at `target`.
struct Mount {
  std::string source;  // absolute, links resolved
  std::string target;  // absolute inside the cell, canonical
  Access access = Access::kReadOnly;
  std::string origin;  // "--mount", "policy.json:12", "the current folder", "toolchain: pyenv"
  // What the source was when it was looked at; the launch refuses another one in its place (T03,
  // T04).
  uint64_t device = 0, inode = 0;
  bool is_directory = true;
  bool operator==(const Mount&) const = default;
};

// A symbolic link that the cell sees at `path`, as the host has it there: the way into a toolchain
// (~/.local/bin/python3.12 → ~/.local/share/uv/…), which finds its own files by following it.
struct Link {
  std::string path;    // absolute inside the cell; never inside a mount
  std::string target;  // the link's text
  std::string origin;
  bool operator==(const Link&) const = default;
};

// A folder of the host that a mount would show and no cell sees: an empty one, read-only, stands in
// its place.
struct Cover {
  std::string path;  // absolute inside the cell, in a mount
  std::string origin;
  bool operator==(const Cover&) const = default;
};

struct Limits {
  std::optional<std::chrono::milliseconds> wall;  // absent: none, by an explicit "none" only
  uint64_t memory_bytes = 0;
  uint32_t cpu_millis = 0;             // 500 is half a core; 0 is "all cores of this host"
  std::optional<uint32_t> cpu_shares;  // 1024 is the default weight
  uint32_t pids = 0;
  uint32_t files = 0;
  uint64_t file_bytes = 0;    // the largest file that can be written
  uint64_t tmp_bytes = 0;     // all private writable space: /tmp, /dev/shm, the home folder
  uint64_t output_bytes = 0;  // stdout and stderr together
  bool operator==(const Limits&) const = default;
};

// A named hole in the boundary, with a reason. `grep Grant` lists every one.
enum class GrantKind { kHostNetwork, kNestedNamespaces };
struct Grant {
  GrantKind kind;
  std::string reason;  // where it came from, or what the policy file says
  bool operator==(const Grant&) const = default;
};
const char* grant_name(GrantKind kind);

enum class Exec { kAllowed, kProgramOnly };  // kProgramOnly: the program may run, nothing else
enum class Terminal { kNone, kOwnPty };

struct Policy {
  Tier tier = Tier::kProcess;
  Limits limits;
  std::vector<std::string> best_effort;  // fields that may be weaker than asked: "memory", "cpu", …
  std::vector<Mount> mounts;             // ordered by target, parents first
  std::vector<Link> links;               // ordered by path; made before the mounts
  std::vector<Cover> covers;             // put on after the mounts
  std::string workdir;                   // inside the cell
  std::vector<std::pair<std::string, std::string>> environment;  // sorted by name
  NetworkPolicy network;
  FileRules file_rules;  // of the srt door; empty elsewhere
  std::vector<Grant> grants;
  Exec exec = Exec::kAllowed;
  Terminal terminal = Terminal::kNone;
  std::string hostname;

  // Where each field came from, for `explain`: {"limits.memory", "--memory"}. Not part of ==.
  std::vector<std::pair<std::string, std::string>> origins;
  // Lines for a person that are no errors ("the current folder is your home: left out …").
  std::vector<std::string> notes;

  bool operator==(const Policy& other) const;
  bool has(GrantKind kind) const;
  bool is_best_effort(const std::string& field) const;
};

// What runs: not policy, but recorded beside it.
struct Command {
  std::vector<std::string> argv;
};

}  // namespace caisson
