#include "setup/rules.h"

namespace caisson::setup {

namespace {

// Claude Code leaves HTML comments out of what it shows the model: the marks cost nothing.
constexpr std::string_view kBegin = "<!-- caisson:begin (written by `caisson install`) -->\n";
constexpr std::string_view kEnd = "<!-- caisson:end -->\n";

constexpr std::string_view kRules =
    "# Where to run code and read large files\n"
    "\n"
    "The `rlm` MCP server runs Python in a sandbox with no network and no access to the host's "
    "files,\nkeeps its variables between calls, and shows only what is printed.\n"
    "\n"
    "- A file of more than 200 lines: `rlm_load` it into a variable and look at it with "
    "`rlm_exec`.\n"
    "- Several files at once, logs, tables, counting, searching, plotting: `rlm_exec`.\n"
    "- A small file, or one that you are about to edit: Read.\n"
    "- git, builds, tests, anything that has to change the project: Bash.\n"
    "- Print results, not whole variables; `rlm_vars` lists what is there, `rlm_reset` starts "
    "over.\n";

struct Block {
  size_t begin = std::string_view::npos, end = 0;
  explicit operator bool() const { return begin != std::string_view::npos; }
};

Result<Block> find_block(std::string_view text) {
  constexpr std::string_view kMark = "<!-- caisson:begin", kEndMark = "<!-- caisson:end -->";
  size_t begin = text.find(kMark);
  size_t end = text.find(kEndMark);
  if (begin == std::string_view::npos && end == std::string_view::npos) return Block{};
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
    return Error::plain("the marks of caisson's rules are damaged",
                        "it was left alone; take the lines with \"caisson:\" out, then try again");
  end += kEndMark.size();
  if (text.substr(end, 2) == "\r\n") end += 2;
  if (text.substr(end, 1) == "\n") end += 1;
  return Block{begin, end};
}

std::string block() { return std::string(kBegin) + std::string(kRules) + std::string(kEnd); }

}  // namespace

std::string_view routing_rules() { return kRules; }

bool has_rules(std::string_view text) {
  Result<Block> found = find_block(text);
  return found && *found;
}

Result<std::string> with_rules(std::string_view text) {
  Block old = TRY(find_block(text));
  if (old)
    return std::string(text.substr(0, old.begin)) + block() + std::string(text.substr(old.end));
  std::string out(text);
  if (!out.empty() && out.back() != '\n') out += '\n';
  if (!out.empty()) out += '\n';
  return out + block();
}

Result<std::string> without_rules(std::string_view text) {
  Block old = TRY(find_block(text));
  if (!old) return std::string(text);
  std::string out(text.substr(0, old.begin));
  if (out.ends_with("\n\n")) out.pop_back();
  return out + std::string(text.substr(old.end));
}

}  // namespace caisson::setup
