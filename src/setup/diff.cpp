#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "setup/plan.h"

namespace caisson::setup {

namespace {

constexpr size_t kLongLine = 200;

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.empty()) return {};
  if (text.ends_with('\n')) text.remove_suffix(1);
  return split(text, '\n');
}

size_t common_front(auto from, auto from_end, auto to, auto to_end) {
  return static_cast<size_t>(std::mismatch(from, from_end, to, to_end).first - from);
}

// A file without line breaks is one line, with everybody's keys in it: of such a line only what
// differs from its counterpart is shown.
std::string shown_line(std::string_view line, std::string_view other) {
  if (line.size() <= kLongLine) return printable(line);
  size_t front = common_front(line.begin(), line.end(), other.begin(), other.end());
  std::string_view rest = line.substr(front), other_rest = other.substr(front);
  size_t back = common_front(rest.rbegin(), rest.rend(), other_rest.rbegin(), other_rest.rend());
  return "…" + printable(rest.substr(0, rest.size() - back)) + "…";
}

void add_lines(std::string& out, char sign, std::span<const std::string_view> lines,
               std::span<const std::string_view> others) {
  for (size_t i = 0; i < lines.size(); ++i)
    out += fmt::format("{}{}\n", sign, shown_line(lines[i], i < others.size() ? others[i] : ""));
}

}  // namespace

std::string diff_text(const Edit& edit) {
  if (edit.change() == Change::kNone) return {};
  auto old_lines = lines_of(edit.before ? std::string_view(*edit.before) : "");
  auto new_lines = lines_of(edit.after ? std::string_view(*edit.after) : "");
  size_t front =
      common_front(old_lines.begin(), old_lines.end(), new_lines.begin(), new_lines.end());
  std::span<const std::string_view> removed(old_lines), added(new_lines);
  removed = removed.subspan(front), added = added.subspan(front);
  size_t back = common_front(removed.rbegin(), removed.rend(), added.rbegin(), added.rend());
  removed = removed.first(removed.size() - back), added = added.first(added.size() - back);
  std::string path = printable(edit.target.path);
  std::string out = fmt::format("--- {}\n+++ {}\n@@ -{},{} +{},{} @@\n",
                                edit.before ? path : "/dev/null", edit.after ? path : "/dev/null",
                                front + 1, removed.size(), front + 1, added.size());
  add_lines(out, '-', removed, added);
  add_lines(out, '+', added, removed);
  return out;
}

}  // namespace caisson::setup
