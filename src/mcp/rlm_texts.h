// What the product says about itself: instructions, tools, prompts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mcp/tool_table.h"

namespace caisson::mcp {

// What a policy lets the code of a session reach.
struct Reach {
  bool hosts = false;    // some of the network
  bool folders = false;  // some of the host's files
};

// The routing rules; clients show a model at most 2 KB of them.
std::string instructions_for(Reach reach);
// The recipe of the prompt "explore".
extern const std::string_view kRecipe;

enum ToolNumber {
  kExec,
  kLoad,
  kGet,
  kVars,
  kSubAgent,
  kReset,
  kCheckpoint,
  kRestore,
  kBranch,
  kToolCount
};
extern const ToolText kTools[kToolCount];

}  // namespace caisson::mcp
