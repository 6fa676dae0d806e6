// The srt door's file rules: patterns → what stands at which path in the cell.
#pragma once

#include "base/result.h"
#include "policy/mounts.h"
#include "policy/policy.h"

namespace caisson {

// Resolves the links in the heads of the patterns and lists the places that need a mount. Nothing
// below a path is looked at: the cost does not grow with the tree.
Result<void> resolve_files(const Scene&, Policy&);

// The same without the host view: the patterns alone, for names in what is mounted.
Result<void> resolve_file_patterns(const Scene&, Policy&);

// The components before the first one with a wildcard in it; all of them for a literal.
size_t literal_components(const FilePattern&);
bool has_wildcard(std::string_view text);

}  // namespace caisson
