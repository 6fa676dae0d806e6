#include "setup/json_text.h"

#include <fmt/format.h>
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>

#include "base/text.h"
#include "setup/json_spans.h"

namespace caisson::setup {

namespace {

namespace json = boost::json;
using Path = std::span<const std::string>;

constexpr size_t kMaxDepth = 128;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// How this document is laid out.
struct Layout {
  std::string unit = "  ", newline = "\n";
};

Layout layout_of(std::string_view text) {
  Layout layout;
  if (text.find("\r\n") != std::string_view::npos) layout.newline = "\r\n";
  size_t line = text.find('\n');
  if (line == std::string_view::npos) return layout;
  size_t end = text.find_first_not_of(" \t", line + 1);
  if (end != std::string_view::npos && end > line + 1 && text[end] == '"')
    layout.unit = text.substr(line + 1, end - line - 1);
  return layout;
}

std::string indent_at(std::string_view text, size_t at) {
  size_t newline = at ? text.rfind('\n', at - 1) : std::string_view::npos;
  size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  size_t end = std::min(text.find_first_not_of(" \t", begin), text.size());
  return std::string(text.substr(begin, std::min(end, at) - begin));
}

std::string json_quoted(std::string_view text) {
  return json::serialize(json::string(json::string_view(text.data(), text.size())));
}

// Several lines for an object, one for everything else.
std::string pretty(const json::value& value, const Layout& layout, const std::string& indent) {
  const json::object* object = value.if_object();
  if (!object || object->empty()) return json::serialize(value);
  std::string inner = indent + layout.unit, out = "{", comma;
  for (const auto& [key, member] : *object) {
    out += comma + layout.newline + inner + json_quoted(key) + ": " + pretty(member, layout, inner);
    comma = ",";
  }
  return out + layout.newline + indent + "}";
}

// One line, with a space behind every colon and comma.
std::string in_line(const json::value& value) {
  const json::object* object = value.if_object();
  if (!object) return json::serialize(value);
  std::string out, comma;
  for (const auto& [key, member] : *object) {
    out += comma + json_quoted(key) + ": " + in_line(member);
    comma = ", ";
  }
  return "{" + out + "}";
}

// The end of the line when only blanks and comments stand between here and there, so that a
// remark stays with the member that it remarks on; else `at`.
size_t behind_remark(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size()) {
    char c = text[end];
    if (c == '\n' || text.substr(end, 2) == "\r\n") return end;
    if (c == ' ' || c == '\t') {
      ++end;
    } else if (text.substr(end, 2) == "//") {
      end = std::min(text.find('\n', end), text.size());
      if (text[end - 1] == '\r') --end;
    } else if (text.substr(end, 2) == "/*") {
      size_t close = text.find("*/", end);
      if (text.substr(end, close - end).find('\n') != std::string_view::npos) return at;
      end = close + 2;
    } else {
      return at;
    }
  }
  return at;
}

std::string insert_first(std::string_view text, const JsonSpans& object, const std::string& key,
                         const json::value& value, const Layout& layout) {
  std::string outer = indent_at(text, object.open), inner = outer + layout.unit;
  std::string member =
      layout.newline + inner + json_quoted(key) + ": " + pretty(value, layout, inner);
  std::string out(text.substr(0, object.open + 1));
  std::string_view within = text.substr(object.open + 1, object.close - object.open - 1);
  out += member;
  if (is_blank(within))
    out += layout.newline + outer;
  else
    out += within;  // a comment alone: it stays
  return out + std::string(text.substr(object.close));
}

std::string insert_last(std::string_view text, const JsonSpans& object, const std::string& key,
                        const json::value& value, const Layout& layout) {
  const JsonMember& last = object.members.back();
  std::string_view before_first = text.substr(object.open, object.members[0].begin - object.open);
  if (before_first.find('\n') == std::string_view::npos) {
    std::string out(text.substr(0, last.end));
    out += ", " + json_quoted(key) + ": " + in_line(value);
    return out + std::string(text.substr(last.end));
  }
  std::string indent = indent_at(text, last.begin);
  std::string member =
      layout.newline + indent + json_quoted(key) + ": " + pretty(value, layout, indent);
  bool trailing = last.comma != std::string::npos;
  size_t at = behind_remark(text, trailing ? last.comma + 1 : last.end);
  std::string out(text.substr(0, last.end));
  if (!trailing) out += ",";
  out += text.substr(last.end, at - last.end);
  out += member;
  if (trailing) out += ",";
  return out + std::string(text.substr(at));
}

std::string insert(std::string_view text, const JsonSpans& object, const std::string& key,
                   const json::value& value) {
  Layout layout = layout_of(text);
  return object.members.empty() ? insert_first(text, object, key, value, layout)
                                : insert_last(text, object, key, value, layout);
}

// From the line break in front of the member to its comma, or, for the last one, with the comma
// of the member before it.
std::string erase(std::string_view text, const JsonSpans& object, const JsonMember& member) {
  size_t begin = member.begin, end = member.end;
  while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) --begin;
  if (begin > 0 && text[begin - 1] == '\n') --begin;
  if (begin > 0 && text[begin - 1] == '\r') --begin;
  if (member.comma != std::string::npos) end = member.comma + 1;
  std::string out(text.substr(0, begin));
  out += text.substr(end);
  size_t index = static_cast<size_t>(&member - object.members.data());
  bool last = index + 1 == object.members.size();
  if (last && index > 0 && member.comma == std::string::npos)
    out.erase(object.members[index - 1].comma, 1);
  if (object.members.size() == 1) {
    size_t close = object.close - (end - begin);
    std::string_view within =
        std::string_view(out).substr(object.open + 1, close - object.open - 1);
    if (is_blank(within)) out.erase(object.open + 1, within.size());
  }
  return out;
}

struct Walk {
  JsonSpans object;  // the innermost that is there
  size_t depth = 0;  // how many names of the path led to it
};

Result<Walk> walk(std::string_view text, Path path) {
  Walk at{.object = object_spans(text, skip_trivia(text, 0))};
  for (const std::string& name : path) {
    // JSON.parse takes the last of two, others the first: an edit could go to the wrong one.
    if (at.object.count(name) > 1)
      return Error::plain(fmt::format("the key \"{}\" stands there twice", printable(name)),
                          "take one of the two out, then try again");
    const JsonMember* member = at.object.find(name);
    if (!member) return at;
    if (text[member->value] != '{')
      return Error::plain(fmt::format("\"{}\" is not an object", printable(name)),
                          "it should hold servers by name; mend it, then try again");
    at = {object_spans(text, member->value), at.depth + 1};
  }
  return at;
}

json::object* object_at(json::object& document, Path path, bool make) {
  json::object* at = &document;
  for (const std::string& name : path) {
    if (!at->contains(name)) {
      if (!make) return nullptr;
      at->emplace(name, json::object());
    }
    at = (*at)[name].if_object();
    if (!at) return nullptr;
  }
  return at;
}

// The text was cut and pasted by position: what it says now must be what was meant.
Result<void> must_say(std::string_view text, JsonDialect dialect, const json::object& meant) {
  Result<json::object> says = read_json(text, dialect);
  if (says && *says == meant) return {};
  return Error::plain("the edit would have changed something else too; nothing was written",
                      "put the entry in by hand: --dry-run --json shows it");
}

}  // namespace

Result<json::object> read_json(std::string_view text, JsonDialect dialect) {
  if (text.size() > kMaxConfigBytes) return Error::plain("larger than any settings file");
  if (is_blank(text)) return json::object();
  json::parse_options options;
  options.max_depth = kMaxDepth;
  options.allow_comments = options.allow_trailing_commas = dialect == JsonDialect::kComments;
  json::stream_parser parser({}, options);
  json::error_code problem;
  // Boost 1.81 may count past the end of a text that stops too early.
  size_t read = std::min(parser.write_some({text.data(), text.size()}, problem), text.size());
  // What stands behind the value: white space, and comments where they are allowed.
  if (!problem && read < text.size() && skip_trivia(text, read) < text.size())
    problem = json::error::extra_data;
  if (!problem) parser.finish(problem);
  if (problem) {
    auto line = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(read), '\n') + 1;
    return Error::plain(fmt::format("not valid JSON: {} in line {}", problem.message(), line),
                        "it was left alone; mend it, then try again");
  }
  json::value value = parser.release();
  if (json::object* object = value.if_object()) return std::move(*object);
  return Error::plain("not a JSON object", "it was left alone; mend it, then try again");
}

size_t depth_of(const json::object& document, Path path) {
  const json::object* at = &document;
  size_t depth = 0;
  for (const std::string& name : path) {
    const json::value* next = at->if_contains(name);
    at = next ? next->if_object() : nullptr;
    if (!at) return depth;
    ++depth;
  }
  return depth;
}

Result<JsonAdded> add_member(std::string_view text, JsonDialect dialect, Path path,
                             const std::string& key, const json::value& value) {
  json::object meant = TRY(read_json(text, dialect));
  std::string from = is_blank(text) ? "{}\n" : std::string(text);
  Walk at = TRY(walk(from, path));
  json::value inner = value;
  for (size_t i = path.size(); i > at.depth; --i)
    inner = json::object{{i == path.size() ? key : path[i], std::move(inner)}};
  const std::string& name = at.depth == path.size() ? key : path[at.depth];
  JsonAdded added{insert(from, at.object, name, inner), path.size() - at.depth};
  json::object* holder = object_at(meant, path, true);
  if (!holder || holder->contains(key)) return Error::plain("\"" + key + "\" is there already");
  holder->emplace(key, value);
  TRY(must_say(added.text, dialect, meant));
  return added;
}

Result<std::string> replace_string(std::string_view text, JsonDialect dialect, Path path,
                                   const std::string& key, const std::string& value) {
  json::object meant = TRY(read_json(text, dialect));
  Walk at = TRY(walk(text, path));
  json::object* holder = object_at(meant, path, false);
  const JsonMember* member = at.object.find(key);
  if (at.depth != path.size() || !holder || !member)
    return Error::plain("\"" + printable(key) + "\" is not there");
  std::string out(text.substr(0, member->value));
  out += json_quoted(value);
  out += text.substr(member->end);
  (*holder)[key] = value;
  TRY(must_say(out, dialect, meant));
  return out;
}

Result<std::string> remove_member(std::string_view text, JsonDialect dialect, Path path,
                                  const std::string& key, size_t levels) {
  json::object meant = TRY(read_json(text, dialect));
  std::string out(text);
  std::string name = key;
  levels = std::min(levels, path.size());
  for (size_t removed = 0;; ++removed) {
    Walk at = TRY(walk(out, path));
    json::object* holder = object_at(meant, path, false);
    const JsonMember* member = at.object.find(name);
    if (at.depth != path.size() || !holder || !member) break;
    out = erase(out, at.object, *member);
    holder->erase(name);
    // A comment that somebody left in there keeps the object.
    JsonSpans emptied = TRY(walk(out, path)).object;
    std::string_view within = std::string_view(out).substr(emptied.open + 1);
    if (removed == levels || !is_blank(within.substr(0, emptied.close - emptied.open - 1))) break;
    name = path.back();
    path = path.first(path.size() - 1);
  }
  TRY(must_say(out, dialect, meant));
  return out;
}

}  // namespace caisson::setup
