// The policy file: JSON with comments and trailing commas, read event by event, so that every value
// knows its line. The text is fed line by line: the line being fed is the line of each event.
#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/schema.h"
#include "policy/units.h"

namespace caisson {

namespace {

namespace json = boost::json;

constexpr size_t kMaxFile = 1 << 20;
constexpr size_t kMaxDepth = 16;

const SettingSpec* find_key(std::string_view key) {
  for (const SettingSpec& spec : setting_specs())
    if (!spec.key.empty() && spec.key == key) return &spec;
  return nullptr;
}

// The names that may stand in the section `path` ("" is the file itself).
std::vector<std::string_view> names_in(std::string_view path) {
  std::vector<std::string_view> names;
  for (const SettingSpec& spec : setting_specs()) {
    std::string_view rest = spec.key;
    if (rest.empty()) continue;
    if (!path.empty()) {
      if (!rest.starts_with(path) || rest.substr(path.size(), 1) != ".") continue;
      rest.remove_prefix(path.size() + 1);
    }
    names.push_back(rest.substr(0, rest.find('.')));
  }
  return names;
}

const char* wanted(Arity arity) {
  switch (arity) {
    case Arity::kSwitch:
      return "true or false";
    case Arity::kGrant:
      return "a string that gives the reason";
    case Arity::kValue:
      return "a string";
    case Arity::kQuantity:
      return "a string or a number";
    case Arity::kList:
      return "an array of strings";
    case Arity::kPairs:
      return "an object of strings";
  }
  return "something else";
}

// What an object or array under way is made of.
struct Frame {
  enum class Kind { kSection, kPairs, kList } kind;
  std::string path;  // "limits"; for a list or pairs, the key of its spec
  std::set<std::string> seen;
  std::string member = {};  // the key that was read last
};

enum class Shape { kString, kNumber, kBool, kNull, kArray, kObject };
constexpr const char* kShapeNames[] = {"a string", "a number", "true or false",
                                       "null",     "an array", "an object"};

// Where a value stands and which row of the table takes it.
struct Place {
  std::string path;
  const SettingSpec* spec = nullptr;
};

class Reader {
 public:
  static constexpr size_t max_array_size = 100'000;  // of rules; other lists are shorter
  static constexpr size_t max_object_size = 4096;
  static constexpr size_t max_string_size = kMaxFile;
  static constexpr size_t max_key_size = 4096;

  Reader(Settings& settings, std::string file) : settings_(settings), file_(std::move(file)) {}

  void set_line(size_t line) { line_ = line; }
  const std::optional<Error>& error() const { return error_; }
  Error error_here(std::string what, std::string hint = {}) const {
    return Error::plain(fmt::format("{}: {}", origin(), what), std::move(hint));
  }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code& ec) { return settle(begin_object(), ec); }
  bool on_object_end(size_t, json::error_code&) { return frames_.pop_back(), true; }
  bool on_array_begin(json::error_code& ec) { return settle(begin_array(), ec); }
  bool on_array_end(size_t, json::error_code&) { return frames_.pop_back(), true; }
  bool on_key_part(json::string_view part, size_t, json::error_code&) { return keep(part); }
  bool on_key(json::string_view part, size_t, json::error_code& ec) {
    keep(part);
    return settle(key(std::exchange(text_, {})), ec);
  }
  bool on_string_part(json::string_view part, size_t, json::error_code&) { return keep(part); }
  bool on_string(json::string_view part, size_t, json::error_code& ec) {
    keep(part);
    return settle(scalar(Shape::kString, std::exchange(text_, {})), ec);
  }
  bool on_number_part(json::string_view part, json::error_code&) { return keep(part); }
  // The digits as they were written: 0.1 stays 0.1.
  bool on_int64(int64_t, json::string_view part, json::error_code& ec) { return number(part, ec); }
  bool on_uint64(uint64_t, json::string_view part, json::error_code& ec) {
    return number(part, ec);
  }
  bool on_double(double, json::string_view part, json::error_code& ec) { return number(part, ec); }
  bool on_bool(bool value, json::error_code& ec) {
    return settle(scalar(Shape::kBool, value ? "true" : "false"), ec);
  }
  bool on_null(json::error_code& ec) { return settle(scalar(Shape::kNull, "null"), ec); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  Origin origin() const { return fmt::format("{}:{}", file_, line_); }

  bool keep(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool number(json::string_view part, json::error_code& ec) {
    keep(part);
    return settle(scalar(Shape::kNumber, std::exchange(text_, {})), ec);
  }
  // Our own error ends the parse; the parser's code is only the way to tell it so.
  bool settle(Result<void> done, json::error_code& ec) {
    if (done) return true;
    error_ = std::move(done).error();
    ec = json::make_error_code(json::error::syntax);
    return false;
  }

  Place place() const {
    const Frame& frame = frames_.back();
    if (frame.kind != Frame::Kind::kSection) return {frame.path, find_key(frame.path)};
    std::string path = frame.path.empty() ? frame.member : frame.path + "." + frame.member;
    return {path, find_key(path)};
  }

  Error wrong_type(const Place& at, Shape shape) const {
    const char* want = at.path.empty() || !at.spec ? "an object" : wanted(at.spec->arity);
    std::string name = at.path.empty() ? "the policy" : fmt::format("\"{}\"", at.path);
    return error_here(
        fmt::format("{} must be {}, not {}", name, want, kShapeNames[static_cast<int>(shape)]));
  }

  Result<void> begin_object();
  Result<void> begin_array();
  Result<void> key(std::string name);
  Result<void> scalar(Shape shape, std::string text);
  Error unknown_key(const std::string& section, const std::string& name) const;

  Settings& settings_;
  std::string file_;
  size_t line_ = 1;
  std::vector<Frame> frames_;
  std::string text_;  // of the key, string or number under way
  std::optional<Error> error_;
};

Result<void> Reader::begin_object() {
  if (frames_.empty()) {
    frames_.push_back({Frame::Kind::kSection, "", {}});
    return {};
  }
  Place at = place();
  if (!at.spec) {  // key() let only sections and settings in
    frames_.push_back({Frame::Kind::kSection, at.path, {}});
    return {};
  }
  if (at.spec->arity != Arity::kPairs || frames_.back().kind != Frame::Kind::kSection)
    return wrong_type(at, Shape::kObject);
  frames_.push_back({Frame::Kind::kPairs, at.path, {}});
  return {};
}

Result<void> Reader::begin_array() {
  if (frames_.empty()) return wrong_type({}, Shape::kArray);
  Place at = place();
  bool fits =
      at.spec && at.spec->arity == Arity::kList && frames_.back().kind == Frame::Kind::kSection;
  if (!fits) return wrong_type(at, Shape::kArray);
  frames_.push_back({Frame::Kind::kList, at.path, {}});
  return {};
}

Error Reader::unknown_key(const std::string& section, const std::string& name) const {
  std::vector<std::string_view> names = names_in(section);
  std::string hint;
  std::string_view near = nearest(name, names);
  if (!near.empty()) hint = fmt::format("did you mean \"{}\"?", near);
  for (const SettingSpec& spec : setting_specs()) {
    size_t dot = spec.key.rfind('.');
    if (dot != std::string_view::npos && spec.key.substr(dot + 1) == name)
      hint = fmt::format("\"{}\" stands in \"{}\"", name, spec.key.substr(0, dot));
  }
  if (hint.empty())
    hint = fmt::format("one of {}", fmt::join(std::set(names.begin(), names.end()), ", "));
  return error_here(fmt::format("unknown key {}", in_quotes(name)), hint);
}

Result<void> Reader::key(std::string name) {
  Frame& frame = frames_.back();
  // Two answers to one question: whichever wins, a reader of the file may believe the other.
  if (!frame.seen.insert(name).second)
    return error_here(fmt::format("the key {} is there twice", in_quotes(name)));
  if (frame.kind == Frame::Kind::kSection) {
    std::vector<std::string_view> names = names_in(frame.path);
    if (std::find(names.begin(), names.end(), name) == names.end())
      return unknown_key(frame.path, name);
  } else if (name.find('=') != std::string::npos) {
    return error_here(fmt::format("{} is not the name of a variable", in_quotes(name)));
  }
  frame.member = std::move(name);
  return {};
}

Result<void> Reader::scalar(Shape shape, std::string text) {
  if (frames_.empty()) return wrong_type({}, shape);
  Place at = place();
  if (!at.spec) return wrong_type(at, shape);
  Frame::Kind inside = frames_.back().kind;
  if (inside != Frame::Kind::kSection) {
    if (shape != Shape::kString) return wrong_type(at, shape);
    if (inside == Frame::Kind::kPairs) text = frames_.back().member + "=" + text;
    return apply_setting(*at.spec, settings_, text, origin());
  }
  Arity arity = at.spec->arity;
  bool fits = (shape == Shape::kBool && arity == Arity::kSwitch) ||
              (shape == Shape::kNumber && arity == Arity::kQuantity) ||
              (shape == Shape::kString &&
               (arity == Arity::kValue || arity == Arity::kQuantity || arity == Arity::kGrant));
  if (!fits) return wrong_type(at, shape);
  if (arity == Arity::kGrant && trim(text).empty())
    return error_here(fmt::format("\"{}\" has no reason", at.path),
                      "a grant is a hole in the boundary: say what it is for");
  return apply_setting(*at.spec, settings_, text, origin());
}

Result<void> feed_lines(json::basic_parser<Reader>& parser, std::string_view text) {
  json::error_code ec;
  size_t line = 1;
  for (size_t start = 0; start < text.size(); ++line) {
    size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
    parser.handler().set_line(line);
    size_t taken = parser.write_some(end < text.size(), text.data() + start, end - start, ec);
    if (parser.handler().error()) return *parser.handler().error();
    if (!ec && taken < end - start) ec = json::make_error_code(json::error::extra_data);
    if (ec == json::error::incomplete)
      return parser.handler().error_here("the file ends too early",
                                         "a bracket, a quote or a comment is left open");
    if (ec) return parser.handler().error_here(fmt::format("not JSON: {}", ec.message()));
    start = end;
  }
  return {};
}

}  // namespace

Result<void> apply_policy_json(Settings& settings, std::string_view text,
                               const std::string& file_name) {
  // An origin that starts with "--" is a flag, and a flag wins over a file.
  std::string name = file_name.starts_with('-') ? "./" + file_name : file_name;
  if (text.size() > kMaxFile)
    return Error::plain(fmt::format("{}: more than 1 MiB", name), "a policy is shorter than that");
  if (trim(text).empty())
    return Error::plain(fmt::format("{}: the file is empty", name), "{} is a policy");
  json::parse_options options;
  // The parser recurses: a file of brackets must not find the end of the stack.
  options.max_depth = kMaxDepth;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  json::basic_parser<Reader> parser(options, settings, name);
  // Boost 1.81 reads the byte behind a comment that began in an earlier piece without asking
  // whether there is one. With a newline at the very end there always is.
  std::string lines(text);
  if (!lines.ends_with('\n')) lines += '\n';
  return feed_lines(parser, lines);
}

}  // namespace caisson
