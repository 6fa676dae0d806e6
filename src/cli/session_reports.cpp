#include "cli/session_reports.h"

#include <fmt/format.h>

#include "base/text.h"

namespace caisson {
namespace {

namespace json = boost::json;

constexpr size_t kMostNamed = 100, kDeepest = 64;

const json::value* member(const json::value& object, std::string_view name) {
  return object.is_object() ? object.get_object().if_contains(name) : nullptr;
}

int64_t whole_of(const json::value& object, std::string_view name, int64_t otherwise) {
  const json::value* found = member(object, name);
  return found && found->is_int64() ? found->get_int64() : otherwise;
}

void add_below(const json::array& all, int64_t parent, size_t depth, std::string& text) {
  if (depth == kDeepest) return;
  for (const json::value& each : all) {
    if (whole_of(each, "parent", -1) != parent) continue;
    json::array names = array_of(each, "names");
    for (const json::value& name : names)
      if (name.is_string())
        text += std::string(2 * depth, ' ') + printable(std::string_view(name.get_string())) + "\n";
    add_below(all, whole_of(each, "number", -2), depth + (names.empty() ? 0 : 1), text);
  }
}

// (1000, 2) of an array, (5) of a list or text.
std::string size_text(const json::value& entry) {
  json::array shape = array_of(entry, "shape");
  if (shape.empty()) {
    int64_t length = whole_of(entry, "length", -1);
    return length < 0 ? std::string() : fmt::format("({})", length);
  }
  std::vector<std::string> sides;
  for (const json::value& side : shape)
    if (side.is_int64()) sides.push_back(fmt::to_string(side.get_int64()));
  return fmt::format("({}{})", join(sides, ", "), sides.size() == 1 ? "," : "");
}

std::string left_out_line(const json::value& entry, std::string_view what) {
  std::string name = member_text(entry, "name"), type = member_text(entry, "type");
  if (!type.empty()) name += fmt::format(" ({})", type);
  return printable(fmt::format("{}: {}: {}", what, name, member_text(entry, "why")));
}

}  // namespace

std::string member_text(const json::value& object, std::string_view name) {
  const json::value* found = member(object, name);
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

json::array array_of(const json::value& object, std::string_view name) {
  const json::value* found = member(object, name);
  return found && found->is_array() ? found->get_array() : json::array();
}

bool flag_of(const json::value& object, std::string_view name) {
  const json::value* found = member(object, name);
  return found && found->is_bool() && found->get_bool();
}

std::string variable_line(const json::value& entry) {
  std::string line = member_text(entry, "name") + ": " + member_text(entry, "type");
  for (const std::string& part : {size_text(entry), member_text(entry, "dtype")})
    if (!part.empty()) line += " " + part;
  return printable(line + " = " + member_text(entry, "summary"));
}

std::string checkpoint_tree(const json::value& answer) {
  std::string text;
  add_below(array_of(answer, "checkpoints"), -1, 0, text);  // the start has no parent
  return text;
}

std::vector<std::string> left_out_lines(const json::value& answer) {
  std::vector<std::string> lines;
  for (const json::value& entry : array_of(answer, "failed"))
    lines.push_back(left_out_line(entry, "not back"));
  for (const json::value& entry : array_of(answer, "skipped"))
    lines.push_back(left_out_line(entry, "not in the snapshot"));
  if (lines.size() > kMostNamed) {
    size_t more = lines.size() - kMostNamed;
    lines.resize(kMostNamed);
    lines.push_back(fmt::format("and {} more: --json names all", more));
  }
  return lines;
}

std::string cut_line(const json::value& answer) {
  if (!flag_of(answer, "cut")) return {};
  return fmt::format(
      "the value is longer: {} characters of it are here; --max-bytes 64M gives more",
      member_text(answer, "text").size());
}

}  // namespace caisson
