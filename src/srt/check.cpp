#include "srt/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "policy/network.h"
#include "policy/units.h"
#include "rules/host_pattern.h"
#include "srt/check_rules.h"
#include "srt/keys.h"

namespace caisson::srt {

namespace {

using Kind = Node::Kind;

constexpr size_t kMostProblems = 100;

bool is_whole_number(const Node& node) {
  return node.kind == Kind::kNumber && node.text.size() <= 10 &&
         node.text.find_first_not_of("0123456789") == std::string::npos;
}

Result<void> check_domain(std::string_view text, PatternUse use) {
  HostPattern pattern = TRY(parse_host_pattern(text, use));
  bool has_dot = pattern.host.name.find('.') != std::string::npos;
  if (pattern.kind == HostPattern::Kind::kName && !has_dot && pattern.host.name != "localhost")
    return Error::plain(fmt::format("{} has no dot in it", in_quotes(text)),
                        "a whole name, such as db.example.com, or localhost, or an address");
  return {};
}

Result<void> check_address(std::string_view text) {
  if (parse_ip(text)) return {};
  TRY(parse_cidr(text));
  return {};
}

Result<void> check_path(std::string_view text) {
  if (text.empty() || text.find('\0') != std::string_view::npos)
    return Error::plain(fmt::format("{} is no path", in_quotes(text)));
  return {};
}

class Checker {
 public:
  explicit Checker(Unknown unknown) : unknown_(unknown) {}

  Checked run(const Node& root) {
    if (root.kind != Kind::kObject)
      wrong(root, "", fmt::format("settings are an object, not {}", kind_name(root.kind)));
    else
      members(root, "", "", Shape::kObject);
    if (out_.problems.empty()) check_rules(root, out_.problems);
    return std::move(out_);
  }

 private:
  void wrong(const Node& at, const std::string& path, std::string what, std::string hint = {}) {
    if (out_.problems.size() < kMostProblems)
      out_.problems.push_back({at.line, path, std::move(what), std::move(hint)});
  }
  void wrong_shape(const Node& at, const std::string& path, const Key& key) {
    wrong(at, path, fmt::format("must be {}, not {}", shape_text(key), kind_name(at.kind)));
  }

  static std::string below(const std::string& above, std::string_view name) {
    return above.empty() ? std::string(name) : fmt::format("{}.{}", above, name);
  }
  // A name with a dot in it would be found as the path of a key, and be read by nobody.
  static const Key* key_named(const std::string& pattern, std::string_view name) {
    if (name.find_first_of(".[") != std::string_view::npos) return nullptr;
    return find_key(below(pattern, name));
  }

  // `pattern` is the path as the table has it, `path` as a person finds it.
  void members(const Node& object, const std::string& pattern, const std::string& path,
               Shape shape) {
    for (const auto& [name, value] : object.members) {
      const Key* key = key_named(pattern, name);
      if (key)
        value_of(*key, value, below(path, printable(name)));
      else if (unknown_ == Unknown::kError || shape == Shape::kStrictObject)
        unknown_key(value, pattern, path, name);
    }
    for (std::string_view name : names_in(pattern))
      if (find_key(below(pattern, name))->required && !object.find(name))
        wrong(object, path, fmt::format("\"{}\" is missing", name),
              fmt::format("it is required: {}", shape_text(*find_key(below(pattern, name)))));
  }

  // "filesystem.denyRead": {"filesystem": {"denyRead": …}}
  static std::string nested_form(std::string_view name) {
    if (name.find('[') != std::string_view::npos)
      return "its parts are keys of their own, one in the other";
    std::string form, end;
    for (std::string_view part : split(name, '.')) {
      if (!form.empty()) end += "}";
      form += fmt::format("{}\"{}\": ", form.empty() ? "" : "{", part);
    }
    return fmt::format("write {}…{}", form, end);
  }

  void unknown_key(const Node& at, const std::string& pattern, const std::string& path,
                   const std::string& name) {
    std::vector<std::string_view> names = names_in(pattern);
    std::string hint;
    if (std::string_view near = nearest(name, names); !near.empty())
      hint = fmt::format("did you mean \"{}\"?", near);
    for (const Key& key : keys())  // in the wrong section
      if (size_t dot = key.path.rfind('.');
          dot != std::string_view::npos && key.path.substr(dot + 1) == name)
        hint = fmt::format("\"{}\" stands in \"{}\"", name, key.path.substr(0, dot));
    if (find_key(below(pattern, name)) || find_key(name)) hint = nested_form(name);
    if (hint.empty()) hint = fmt::format("one of {}", fmt::join(names, ", "));
    wrong(at, path, fmt::format("unknown key {}", in_quotes(name)), std::move(hint));
  }

  void value_of(const Key& key, const Node& value, const std::string& path) {
    size_t before = out_.problems.size();
    by_shape(key, value, path);
    bool speaks = key.standing != Standing::kWorks && key.standing != Standing::kOwn;
    bool inside = key.path.find('.') != std::string_view::npos &&
                  find_key(key.path.substr(0, key.path.rfind('.'))) &&
                  find_key(key.path.substr(0, key.path.rfind('.')))->standing == key.standing;
    if (speaks && !inside && out_.problems.size() == before)
      out_.remarks.push_back(
          {value.line, path,
           key.meaning.empty() ? std::string(standing_text(key.standing))
                               : fmt::format("{}: {}", standing_text(key.standing), key.meaning)});
  }

  void by_shape(const Key& key, const Node& value, const std::string& path) {
    switch (key.shape) {
      case Shape::kObject:
      case Shape::kStrictObject:
        if (value.kind != Kind::kObject) return wrong_shape(value, path, key);
        return members(value, std::string(key.path), path, key.shape);
      case Shape::kObjects:
      case Shape::kStrictObjects:
        return objects(key, value, path);
      case Shape::kBool:
        if (value.kind != Kind::kBool) wrong_shape(value, path, key);
        return;
      case Shape::kCount:
        return count(key, value, path);
      case Shape::kString:
      case Shape::kAbsolutePath:
      case Shape::kChoice:
        return text(key, value, path);
      case Shape::kQuantity:
        if (value.kind != Kind::kString && value.kind != Kind::kNumber)
          wrong_shape(value, path, key);
        return;
      case Shape::kReasons:
      case Shape::kIgnores:
        return map(key, value, path);
      case Shape::kAnything:
        return;
      default:
        return list(key, value, path);
    }
  }

  void objects(const Key& key, const Node& value, const std::string& path) {
    if (value.kind != Kind::kArray) return wrong_shape(value, path, key);
    Shape each = key.shape == Shape::kStrictObjects ? Shape::kStrictObject : Shape::kObject;
    for (size_t i = 0; i < value.items.size(); ++i) {
      std::string here = fmt::format("{}[{}]", path, i);
      if (value.items[i].kind != Kind::kObject)
        wrong(value.items[i], here,
              fmt::format("must be an object, not {}", kind_name(value.items[i].kind)));
      else
        members(value.items[i], fmt::format("{}[]", key.path), here, each);
    }
  }

  void count(const Key& key, const Node& value, const std::string& path) {
    if (value.kind != Kind::kNumber) return wrong_shape(value, path, key);
    size_t dash = key.detail.find('-');
    Result<uint32_t> low = parse_count(key.detail.substr(0, dash), 0, UINT32_MAX);
    Result<uint32_t> high = parse_count(key.detail.substr(dash + 1), 0, UINT32_MAX);
    if (!is_whole_number(value) || !parse_count(value.text, *low, *high))
      wrong(value, path, fmt::format("must be {}, not {}", shape_text(key), printable(value.text)));
  }

  void text(const Key& key, const Node& value, const std::string& path) {
    if (value.kind != Kind::kString) return wrong_shape(value, path, key);
    if (value.text.find('\0') != std::string::npos || value.text.empty())
      return wrong(value, path, "is empty, or has a NUL in it");
    if (key.shape == Shape::kAbsolutePath && !value.text.starts_with('/'))
      return wrong(value, path, fmt::format("{} is no absolute path", in_quotes(value.text)));
    if (key.shape != Shape::kChoice) return;
    std::vector<std::string_view> choices = split(key.detail, '|');
    if (std::ranges::find(choices, value.text) == choices.end())
      wrong(value, path, fmt::format("must be {}, not {}", shape_text(key), in_quotes(value.text)));
  }

  void map(const Key& key, const Node& value, const std::string& path) {
    if (value.kind != Kind::kObject) return wrong_shape(value, path, key);
    Kind want = key.shape == Shape::kReasons ? Kind::kString : Kind::kArray;
    for (const auto& [name, one] : value.members) {
      bool fits = one.kind == want && std::ranges::all_of(one.items, [](const Node& item) {
                    return item.kind == Kind::kString;
                  });
      if (!fits) wrong_shape(one, fmt::format("{}.{}", path, printable(name)), key);
    }
  }

  void list(const Key& key, const Node& value, const std::string& path) {
    if (value.kind != Kind::kArray) return wrong_shape(value, path, key);
    for (size_t i = 0; i < value.items.size(); ++i)
      item(key, value.items[i], fmt::format("{}[{}]", path, i));
    if (key.shape == Shape::kPortRange && value.items.size() != 2) wrong_shape(value, path, key);
  }

  void item(const Key& key, const Node& value, const std::string& path) {
    if (key.shape == Shape::kPortRange) {
      if (!is_whole_number(value) || !parse_count(value.text, 1, 65535))
        wrong(value, path, "must be a port");
      return;
    }
    if (key.shape == Shape::kPaths && value.kind == Kind::kObject) return literal(value, path);
    if (value.kind != Kind::kString)
      return wrong(value, path, fmt::format("must be a string, not {}", kind_name(value.kind)));
    if (Result<void> good = text_of(key.shape, value.text); !good)
      wrong(value, path, good.error().what, good.error().hint);
  }

  static Result<void> text_of(Shape shape, const std::string& text) {
    switch (shape) {
      case Shape::kDomains:
        return check_domain(text, PatternUse::kAllow);
      case Shape::kDeniedDomains:
        return check_domain(text, PatternUse::kDeny);
      case Shape::kAddresses:
        return check_address(text);
      case Shape::kPaths:
        return check_path(text);
      case Shape::kPorts:
        TRY(parse_published_port(text));
        return {};
      default:
        return text.find('\0') == std::string::npos ? Result<void>()
                                                    : Error::plain("has a NUL in it");
    }
  }

  // Strict for srt too: {"path": "a*b", "literal": true} and nothing else.
  void literal(const Node& value, const std::string& path) {
    const Node *name = value.find("path"), *literal = value.find("literal");
    bool fits = value.members.size() == 2 && name && name->kind == Kind::kString &&
                check_path(name->text) && literal && literal->text == "true";
    if (!fits)
      wrong(value, path, "must be a string or {\"path\": string, \"literal\": true}",
            "these two keys and no others");
  }

  Unknown unknown_;
  Checked out_;
};

}  // namespace

Checked check(const Node& root, Unknown unknown) { return Checker(unknown).run(root); }

std::string problem_text(const Problem& problem, const std::string& file) {
  std::string text = file;
  if (problem.line) text += fmt::format(":{}", problem.line);
  if (!problem.path.empty()) text += ": " + problem.path;
  return text + ": " + problem.what;
}

}  // namespace caisson::srt
