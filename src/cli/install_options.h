// The words of `caisson install` and `caisson uninstall`.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "setup/clients.h"

namespace caisson {

struct InstallOptions {
  const setup::Client* client = nullptr;
  std::optional<setup::Scope> scope;
  bool dry_run = false, json = false, help = false;
};

// `verb` is "install" or "uninstall", for the messages.
Result<InstallOptions> parse_install_options(std::string_view verb,
                                             std::span<const std::string> args);
std::string install_help(std::string_view verb);

}  // namespace caisson
