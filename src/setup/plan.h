// What would be written where: texts of files in, texts out. Nothing here touches a disk.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "setup/clients.h"

namespace caisson::setup {

// The folders that the table's paths count from.
struct Surroundings {
  std::string home, config_home, state_home;
  std::string project;          // the current folder, without links
  std::string repository;       // the folder at or above it that holds .git, or the project
  std::string main_repository;  // of a linked worktree: the repository that it belongs to
  std::map<std::string, std::string> variables;
};

// One file that takes part.
struct Target {
  enum class Kind { kServer, kRules } kind = Kind::kServer;
  std::string path;
  std::string within;  // a folder that the file must lie in once links are followed; "" is any
  Format format = Format::kJson;
  std::vector<std::string> container;  // the keys that lead to the servers
};
std::vector<Target> targets(const Client&, Scope, const Surroundings&);

struct Server {
  std::string command;
  bool says_type = false;
};

// What an earlier install did to a file, so that it can be undone to the byte.
struct Receipt {
  std::string path;
  std::vector<std::string> container;
  bool existed = false;              // the file was there
  bool made = false;                 // we made it, for this entry or for another one of ours
  bool exact = false;                // `original` may be put back while the file is as we left it
  size_t levels = 0;                 // objects of the container that we made
  std::string after;                 // sha256 of what we left
  std::vector<std::string> folders;  // that we made, outermost first
  std::string original;
};
std::string to_json(const Receipt&);  // without `original`, which has a file of its own
Result<Receipt> parse_receipt(std::string_view text);

enum class Change { kNone, kCreate, kEdit, kDelete };
std::string_view change_name(Change);  // "unchanged", "created", "changed", "removed"

struct Edit {
  Target target;
  std::optional<std::string> before, after;  // nothing: no such file
  size_t levels = 0;
  std::string note;  // why nothing is done, when a person might wonder

  Change change() const;
};

Result<Edit> plan_install(const Target&, std::optional<std::string> before, const Server&);
Result<Edit> plan_uninstall(const Target&, std::optional<std::string> before, const Server&,
                            const std::optional<Receipt>&);

// The receipt of an edit that has been made, given the one of an edit before it.
Receipt make_receipt(const Edit&, const std::optional<Receipt>& earlier);

// The edit as a person reads it: the lines that differ. Never the lines around them, which may
// hold other servers' keys.
std::string diff_text(const Edit&);

}  // namespace caisson::setup
