// The names in the text of a pattern: which of them stand for themselves, and which path they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/file_rules.h"

namespace caisson {

using Components = std::vector<std::string_view>;  // parts of a text that outlives them

Components components_of(std::string_view text);
void add_to_path(std::string& path, std::string_view name);
std::string path_of(const Components& components, size_t count);

// The names that a pattern begins with, before the first part that may be several.
std::vector<std::string> leading_names(const FilePattern& pattern, std::string_view text);

// The one path that a pattern means, if there is one.
std::optional<std::string> only_path(const FilePattern& pattern, std::string_view text);

// "/**", "/**/**": the same as "/", which is a place.
bool means_everything(const FilePattern&);

}  // namespace caisson
