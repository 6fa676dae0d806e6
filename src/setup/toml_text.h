// Edits TOML by its text: one table is put at the end or taken out, every other byte stays. Reads
// as much TOML as it takes to know where each statement begins and ends and what it is called.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson::setup {

struct TomlStatement {
  enum class Kind { kTable, kTables, kKey } kind = Kind::kKey;  // [a], [[a]], a = 1
  std::vector<std::string> path;    // from the root, the table's name included
  size_t begin = 0, end = 0;        // whole lines
  size_t value = 0, value_end = 0;  // of a key
};

Result<std::vector<TomlStatement>> toml_statements(std::string_view text);

// A string of the file as it is meant, if it is one.
std::optional<std::string> toml_string(std::string_view value);

struct TomlServer {
  std::string command, args;  // args as it is written, without blanks
  TomlStatement command_key;
};

// The table [parent.name]: nothing when no statement speaks of it, an error when it is written in a
// way that can't be edited safely (dotted keys, an inline table).
Result<std::optional<TomlServer>> find_toml_server(std::string_view text, const std::string& parent,
                                                   const std::string& name);

Result<std::string> add_toml_server(std::string_view text, const std::string& parent,
                                    const std::string& name, const std::string& command);
Result<std::string> move_toml_server(std::string_view text, const TomlServer&,
                                     const std::string& command);
Result<std::string> remove_toml_server(std::string_view text, const std::string& parent,
                                       const std::string& name);

}  // namespace caisson::setup
