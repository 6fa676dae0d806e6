// What `caisson install` and `caisson uninstall` do, and what came of it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/install_options.h"
#include "policy/caller.h"
#include "setup/plan.h"

namespace caisson {

struct FileOutcome {
  setup::Edit edit;
  std::string backup;
};

struct InstallOutcome {
  const setup::Client* client = nullptr;
  std::vector<setup::Scope> scopes;
  std::string command;                    // how the clients start caisson
  std::vector<std::string> claude_words;  // Claude Code's own command: run, or to be run
  std::vector<FileOutcome> files;
  std::vector<std::string> notes;

  bool changed() const {
    for (const FileOutcome& file : files)
      if (file.edit.change() != setup::Change::kNone) return true;
    return false;
  }
};

Result<InstallOutcome> install(const InstallOptions&, const Caller&, char** environment);
Result<InstallOutcome> uninstall(const InstallOptions&, const Caller&, char** environment);

}  // namespace caisson
