#include "setup/json_spans.h"

#include <algorithm>
#include <boost/json/parse.hpp>

namespace caisson::setup {

namespace {

size_t end_of_comment(std::string_view text, size_t at) {
  bool line = text.substr(at, 2) == "//";
  size_t end = text.find(line ? "\n" : "*/", at + 2);
  if (end == std::string_view::npos) return text.size();
  return line ? end : end + 2;
}

size_t end_of_string(std::string_view text, size_t quote) {
  size_t at = quote + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// Counts brackets instead of calling itself: the depth is the file's to choose.
size_t end_of_value(std::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
    } else if (c == '/') {
      at = end_of_comment(text, at);
      continue;
    } else if (c == '{' || c == '[') {
      ++depth, ++at;
    } else if (c == '}' || c == ']') {
      --depth, ++at;
    } else if (depth > 0) {
      ++at;
      continue;
    } else {
      size_t end = text.find_first_of(" \t\r\n,}]/", at);
      return std::min(end, text.size());
    }
    if (depth == 0) return at;
  }
  return at;
}

std::string decode_key(std::string_view quoted) {
  boost::json::error_code problem;
  boost::json::value value = boost::json::parse({quoted.data(), quoted.size()}, problem);
  const boost::json::string* text = value.if_string();
  return text ? std::string(text->begin(), text->end()) : std::string();
}

}  // namespace

const JsonMember* JsonSpans::find(std::string_view key) const {
  for (const JsonMember& member : members)
    if (member.key == key) return &member;
  return nullptr;
}

size_t JsonSpans::count(std::string_view key) const {
  auto same = [&](const JsonMember& member) { return member.key == key; };
  return static_cast<size_t>(std::count_if(members.begin(), members.end(), same));
}

size_t skip_trivia(std::string_view text, size_t at) {
  for (;;) {
    while (at < text.size() && std::string_view(" \t\r\n").find(text[at]) != std::string::npos)
      ++at;
    if (at + 1 >= text.size() || text[at] != '/') return at;
    at = end_of_comment(text, at);
  }
}

JsonSpans object_spans(std::string_view text, size_t open) {
  JsonSpans spans{.open = open};
  size_t at = skip_trivia(text, open + 1);
  while (at < text.size() && text[at] == '"') {
    JsonMember member{.begin = at};
    size_t key_end = end_of_string(text, at);
    member.key = decode_key(text.substr(at, key_end - at));
    size_t colon = skip_trivia(text, key_end);
    member.value = skip_trivia(text, colon + 1);
    member.end = end_of_value(text, member.value);
    at = skip_trivia(text, member.end);
    if (at < text.size() && text[at] == ',') {
      member.comma = at;
      at = skip_trivia(text, at + 1);
    }
    spans.members.push_back(std::move(member));
  }
  spans.close = at;
  return spans;
}

}  // namespace caisson::setup
