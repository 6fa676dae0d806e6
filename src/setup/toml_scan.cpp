// Where the statements of a TOML file begin and end (TOML 1.0).
#include <fmt/format.h>
#include <algorithm>
#include <boost/json/parse.hpp>

#include "base/text.h"
#include "setup/toml_text.h"

namespace caisson::setup {

namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Result<std::vector<TomlStatement>> scan() {
    while (skip_empty_lines(), at_ < text_.size()) TRY(statement());
    return std::move(found_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  void skip_comment() {
    if (peek() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
  }
  void skip_empty_lines() {
    while (at_ < text_.size()) {
      line_ = at_;
      skip_blanks();
      skip_comment();
      if (peek() == '\r') ++at_;
      if (peek() != '\n') break;
      ++at_;
    }
    if (at_ >= text_.size()) line_ = at_;
  }
  Error problem(std::string_view what) const {
    auto line = std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(line_), '\n') + 1;
    return Error::plain(fmt::format("not valid TOML: {} in line {}", what, line),
                        "it was left alone; mend it, then try again");
  }

  Result<void> statement() {
    TomlStatement one{.begin = line_};
    if (peek() == '[') {
      bool many = peek(1) == '[';
      at_ += many ? 2 : 1;
      one.kind = many ? TomlStatement::Kind::kTables : TomlStatement::Kind::kTable;
      one.path = TRY(key());
      std::string_view close = many ? "]]" : "]";
      if (text_.substr(at_, close.size()) != close) return problem("a table's name does not end");
      at_ += close.size();
      table_ = one.path;
    } else {
      std::vector<std::string> own = TRY(key());
      one.path = table_;
      one.path.insert(one.path.end(), own.begin(), own.end());
      if (peek() != '=') return problem("a key without a value");
      ++at_;
      skip_blanks();
      one.value = at_;
      TRY(value());
      one.value_end = at_;
    }
    TRY(end_of_line());
    one.end = at_;
    found_.push_back(std::move(one));
    return {};
  }

  Result<void> end_of_line() {
    skip_blanks();
    skip_comment();
    if (peek() == '\r') ++at_;
    if (at_ >= text_.size()) return {};
    if (peek() != '\n') return problem("something behind the end of a statement");
    ++at_;
    return {};
  }

  Result<std::vector<std::string>> key() {
    std::vector<std::string> parts;
    for (;;) {
      skip_blanks();
      size_t begin = at_;
      if (peek() == '"' || peek() == '\'') {
        TRY(string());
        std::optional<std::string> name = toml_string(text_.substr(begin, at_ - begin));
        if (!name) return problem("a key that can't be read");
        parts.push_back(std::move(*name));
      } else {
        while (is_bare(peek())) ++at_;
        if (at_ == begin) return problem("a key was expected");
        parts.emplace_back(text_.substr(begin, at_ - begin));
      }
      skip_blanks();
      if (peek() != '.') return parts;
      ++at_;
    }
  }

  Result<void> string() {
    char quote = text_[at_];
    bool many = peek(1) == quote && peek(2) == quote;
    size_t length = many ? 3 : 1;
    std::string_view close = text_.substr(at_, length);
    at_ += length;
    while (at_ < text_.size() && text_.substr(at_, length) != close) {
      if (!many && peek() == '\n') break;
      at_ += quote == '"' && peek() == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size() || text_.substr(at_, length) != close)
      return problem("a string does not end");
    at_ += length;
    for (int extra = 0; many && extra < 2 && peek() == quote; ++extra) ++at_;  // """a"""""
    return {};
  }

  // Counts brackets instead of calling itself: the depth is the file's to choose.
  Result<void> value() {
    size_t begin = at_;
    std::string open;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '"' || c == '\'') {
        TRY(string());
      } else if (c == '[' || c == '{') {
        open += c == '[' ? ']' : '}';
        ++at_;
      } else if (!open.empty() && c == open.back()) {
        open.pop_back();
        ++at_;
        if (open.empty()) return {};
      } else if (open.empty() && (c == '#' || c == '\n' || c == '\r')) {
        break;
      } else if (!open.empty() && c == '#') {
        skip_comment();
      } else {
        ++at_;
      }
    }
    if (!open.empty()) return problem("a bracket does not close");
    while (at_ > begin && (text_[at_ - 1] == ' ' || text_[at_ - 1] == '\t')) --at_;
    if (at_ == begin) return problem("a key without a value");
    return {};
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 0;
  std::vector<std::string> table_;
  std::vector<TomlStatement> found_;
};

}  // namespace

// A basic string is a JSON string but for \U and \e, which no name of ours has.
std::optional<std::string> toml_string(std::string_view value) {
  if (value.size() < 2 || value.front() != value.back()) return {};
  if (value.front() == '\'') return std::string(value.substr(1, value.size() - 2));
  boost::json::error_code problem;
  boost::json::value read = boost::json::parse({value.data(), value.size()}, problem);
  const boost::json::string* text = read.if_string();
  if (problem || !text) return {};
  return std::string(text->begin(), text->end());
}

Result<std::vector<TomlStatement>> toml_statements(std::string_view text) {
  return Scanner(text).scan();
}

}  // namespace caisson::setup
