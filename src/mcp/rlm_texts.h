// What the product says about itself: instructions, tools, prompts.
#pragma once

#include <span>
#include <string_view>

#include "mcp/tool_table.h"

namespace caisson::mcp {

// The routing rules; clients show a model at most 2 KB of them.
extern const std::string_view kInstructions;
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
