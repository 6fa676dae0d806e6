#include "srt/json_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "policy/units.h"

namespace caisson::srt {

namespace {

namespace json = boost::json;

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostDepth = 16;

// The text is fed line by line: the line being fed is the line of each event.
class TreeMaker {
 public:
  static constexpr size_t max_array_size = 100'000;
  static constexpr size_t max_object_size = 4096;
  static constexpr size_t max_string_size = kMostBytes;
  static constexpr size_t max_key_size = 4096;

  void set_line(size_t line) { line_ = line; }
  Node take() { return std::move(root_); }
  const std::optional<std::string>& twice() const { return twice_; }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return open(Node::Kind::kObject); }
  bool on_object_end(size_t, json::error_code&) { return close(); }
  bool on_array_begin(json::error_code&) { return open(Node::Kind::kArray); }
  bool on_array_end(size_t, json::error_code&) { return close(); }
  bool on_key_part(json::string_view part, size_t, json::error_code&) { return keep(part); }
  bool on_key(json::string_view part, size_t, json::error_code& ec) {
    keep(part);
    key_ = std::exchange(text_, {});
    // Two answers to one question: whichever wins, a reader of the file may believe the other.
    if (!open_.back()->find(key_)) return true;
    twice_ = key_;
    ec = json::make_error_code(json::error::syntax);
    return false;
  }
  bool on_string_part(json::string_view part, size_t, json::error_code&) { return keep(part); }
  bool on_string(json::string_view part, size_t, json::error_code&) {
    return scalar(Node::Kind::kString, part);
  }
  bool on_number_part(json::string_view part, json::error_code&) { return keep(part); }
  bool on_int64(int64_t, json::string_view part, json::error_code&) {
    return scalar(Node::Kind::kNumber, part);
  }
  bool on_uint64(uint64_t, json::string_view part, json::error_code&) {
    return scalar(Node::Kind::kNumber, part);
  }
  bool on_double(double, json::string_view part, json::error_code&) {
    return scalar(Node::Kind::kNumber, part);
  }
  bool on_bool(bool value, json::error_code&) {
    return scalar(Node::Kind::kBool, value ? "true" : "false");
  }
  bool on_null(json::error_code&) { return scalar(Node::Kind::kNull, "null"); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  bool keep(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }

  // Pointers into the vectors of nodes that are open stay good: only the innermost one grows.
  Node& add(Node::Kind kind) {
    Node node;
    node.kind = kind;
    node.line = line_;
    if (open_.empty()) return root_ = std::move(node);
    if (open_.back()->kind == Node::Kind::kArray)
      return open_.back()->items.emplace_back(std::move(node));
    std::vector<Node::Member>& members = open_.back()->members;
    members.push_back({std::exchange(key_, {}), std::move(node)});
    return members.back().value;
  }
  bool open(Node::Kind kind) {
    open_.push_back(&add(kind));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool scalar(Node::Kind kind, json::string_view part) {
    keep(part);
    std::string text = std::exchange(text_, {});
    add(kind).text = std::move(text);
    return true;
  }

  Node root_;
  std::vector<Node*> open_;
  std::string key_, text_;
  std::optional<std::string> twice_;
  size_t line_ = 1;
};

Result<void> feed_lines(json::basic_parser<TreeMaker>& parser, std::string_view text,
                        std::string_view name) {
  json::error_code ec;
  size_t line = 1;
  for (size_t start = 0; start < text.size(); ++line) {
    size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
    parser.handler().set_line(line);
    size_t taken = parser.write_some(end < text.size(), text.data() + start, end - start, ec);
    std::string where = fmt::format("{}:{}", name, line);
    if (parser.handler().twice())
      return Error::plain(
          fmt::format("{}: the key {} is there twice", where, in_quotes(*parser.handler().twice())),
          "keep one of them");
    if (!ec && taken < end - start) ec = json::make_error_code(json::error::extra_data);
    if (ec == json::error::incomplete)
      return Error::plain(fmt::format("{}: the file ends too early", where),
                          "a bracket or a quote is left open");
    if (ec)
      return Error::plain(fmt::format("{}: not JSON: {}", where, ec.message()),
                          "settings are strict JSON: no comments, no trailing commas");
    start = end;
  }
  return {};
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (const auto& [key, value] : members)
    if (key == name) return &value;
  return nullptr;
}

const char* kind_name(Node::Kind kind) {
  constexpr const char* kNames[] = {"null",     "true or false", "a number",
                                    "a string", "an array",      "an object"};
  return kNames[static_cast<int>(kind)];
}

Result<Node> parse_json(std::string_view text, std::string_view name) {
  if (text.size() > kMostBytes)
    return Error::plain(fmt::format("{}: more than 1 MiB", name), "settings are shorter than that");
  if (trim(text).empty())
    return Error::plain(fmt::format("{}: the file is empty", name),
                        R"(write {"network": {…}, "filesystem": {…}}, or take it away)");
  json::parse_options options;
  options.max_depth = kMostDepth;  // the parser recurses: brackets must not find the stack's end
  json::basic_parser<TreeMaker> parser(options);
  std::string lines(text);
  if (!lines.ends_with('\n')) lines += '\n';
  TRY(feed_lines(parser, lines, name));
  return parser.handler().take();
}

}  // namespace caisson::srt
