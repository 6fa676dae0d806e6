// A tool as data: its name, its arguments and what clients are told about it. The schema and the
// check of a call's arguments both come from here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mcp/jsonrpc.h"

namespace caisson::mcp {

enum class ArgumentKind { kText, kName, kSession, kSeconds, kCount, kObject, kChoice };

struct Argument {
  std::string_view name;
  ArgumentKind kind;
  bool required;
  std::string_view description;
  std::string_view preset = {};   // told as the default: JSON
  std::string_view choices = {};  // of kChoice, separated by blanks
};

// What an annotation promises: a hint to the client about when to ask its user.
struct Annotations {
  bool read_only = false, destructive = false, idempotent = false;
};

struct ToolText {
  std::string_view name, title, description;
  std::span<const Argument> arguments;
  Annotations annotations;
  bool always_load = false;  // Claude Code shows it without a search
};

inline constexpr double kMaxSeconds = 24 * 3600;
inline constexpr int64_t kMaxCount = 1000;
inline constexpr size_t kMaxSessionName = 40;

bool is_session_name(std::string_view name);

json::object describe_tool(const ToolText& tool);

// What is wrong with the arguments and how to put it right, in one line; nullopt when nothing is.
std::optional<std::string> check_arguments(const ToolText& tool, const json::object& arguments);

}  // namespace caisson::mcp
