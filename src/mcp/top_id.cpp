#include "mcp/top_id.h"

namespace caisson::mcp {

namespace {

// An id with its quotes, each byte of it written as an escape at worst.
constexpr size_t kMaxWritten = 6 * kMaxId + 2;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

void keep(std::string& text, char c) {
  if (text.size() <= kMaxWritten) text += c;
}

}  // namespace

void TopId::feed(std::string_view bytes) {
  for (char c : bytes) take(c);
}

void TopId::in_text(char c) {
  if (escaped_)
    escaped_ = false;
  else if (c == '\\')
    escaped_ = true;
  else if (c == '"')
    in_text_ = false;
}

void TopId::take(char c) {
  if (place_ == Place::kAfter || (is_space(c) && !in_text_)) return;
  if (place_ == Place::kBefore) {
    // An array is a batch, whose messages have ids of their own.
    place_ = c == '{' ? Place::kKey : Place::kAfter;
    depth_ = 1;
    return;
  }
  bool outermost = depth_ == 1;
  if (in_text_) {
    in_text(c);
  } else if (c == '"') {
    in_text_ = true;
  } else if (outermost && place_ == Place::kKey && c == ':') {
    place_ = Place::kValue;
    return;
  } else if (outermost && (c == ',' || c == '}')) {
    end_of_member();
    if (c == '}') place_ = Place::kAfter;
    return;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if (c == '}' || c == ']') {
    --depth_;
  }
  if (outermost) keep(place_ == Place::kKey ? key_ : value_, c);
}

void TopId::end_of_member() {
  if (key_ == "\"id\"") {
    several_ = is_id_;
    is_id_ = true;
    id_ = value_;
  }
  key_.clear();
  value_.clear();
  place_ = Place::kKey;
}

json::value TopId::found() const {
  if (!is_id_ || several_ || id_.size() > kMaxWritten) return nullptr;
  boost::system::error_code error;
  json::value id = json::parse(id_, error);
  if (error || !is_id(id)) return nullptr;
  return id;
}

}  // namespace caisson::mcp
