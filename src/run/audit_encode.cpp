#include "run/audit_encode.h"

#include <cmath>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "base/text.h"

namespace caisson {

namespace {

namespace json = boost::json;

constexpr unsigned kMaxDepth = 24;  // below what the reader takes

struct Cuts {
  size_t string_bytes = SIZE_MAX;
  size_t elements = SIZE_MAX;
};

// The length of the well-formed character at the front, 0 if there is none.
size_t character_length(std::string_view text) {
  for (size_t length = 1; length <= 4 && length <= text.size(); ++length)
    if (is_valid_utf8(text.substr(0, length))) return length;
  return 0;
}

// Some text cut to `limit` bytes, at the border of a character.
std::string_view cut_text(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t size = limit;
  for (int back = 0; back < 3 && size > 0 && (text[size] & 0xc0) == 0x80; ++back) --size;
  return text.substr(0, size);
}

class Encoder {
 public:
  Encoder(Cuts cuts, size_t limit) : cuts_(cuts), limit_(limit) {}

  void object(const json::object& object, bool top) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : object) {
      if (overflow()) return;
      if (!first) out_ += ',';
      first = false;
      string({key.data(), key.size()});
      out_ += ':';
      this->value(value);
    }
    if (top && cut_strings_ + cut_elements_ > 0)
      out_ += fmt::format("{}\"cut\":{{\"strings\":{},\"elements\":{}}}", first ? "" : ",",
                          cut_strings_, cut_elements_);
    out_ += '}';
  }
  bool overflow() const { return out_.size() > limit_; }
  std::string take() { return std::move(out_); }

 private:
  void value(const json::value& value) {
    switch (value.kind()) {
      case json::kind::null:
        out_ += "null";
        break;
      case json::kind::bool_:
        out_ += value.get_bool() ? "true" : "false";
        break;
      case json::kind::int64:
        out_ += fmt::format_int(value.get_int64()).str();
        break;
      case json::kind::uint64:
        out_ += fmt::format_int(value.get_uint64()).str();
        break;
      case json::kind::double_:
        number(value.get_double());
        break;
      case json::kind::string:
        string({value.get_string().data(), value.get_string().size()});
        break;
      case json::kind::array:
        nested([&] { array(value.get_array()); });
        break;
      case json::kind::object:
        nested([&] { object(value.get_object(), false); });
        break;
    }
  }
  template <typename F>
  void nested(F write) {
    if (depth_ == kMaxDepth) {
      out_ += "null";
      ++cut_elements_;
      return;
    }
    ++depth_;
    write();
    --depth_;
  }
  void number(double value) {
    out_ += std::isfinite(value) ? fmt::format("{}", value) : "null";  // JSON has no infinity
  }
  void array(const json::array& array) {
    out_ += '[';
    size_t written = 0;
    for (const json::value& element : array) {
      if (overflow()) return;
      if (written) out_ += ',';
      if (written++ == cuts_.elements) {
        size_t missing = array.size() - cuts_.elements;
        out_ += fmt::format("\"… {} more\"", missing);
        cut_elements_ += missing;
        break;
      }
      value(element);
    }
    out_ += ']';
  }
  void string(std::string_view text) {
    std::string_view kept = cut_text(text, cuts_.string_bytes);
    out_ += '"';
    if (is_valid_utf8(kept))
      escape(kept);
    else
      escape_bytes(kept);
    if (kept.size() < text.size()) {
      out_ += fmt::format("… {} more bytes", text.size() - kept.size());
      ++cut_strings_;
    }
    out_ += '"';
  }
  void escape(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      unsigned char c = text[i];
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += text[i];
      } else if (c == '\n') {
        out_ += "\\n";
      } else if (c == '\t') {
        out_ += "\\t";
      } else if (c < 0x20 || c == 0x7f) {
        unicode(c);
      } else if (c == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
        unicode(static_cast<unsigned char>(text[++i]));  // C1: U+0080 to U+009F
      } else {
        out_ += text[i];
      }
    }
  }
  void unicode(unsigned code) { out_ += fmt::format("\\u{:04x}", code); }
  void escape_bytes(std::string_view text) {
    while (!text.empty() && !overflow()) {
      size_t length = character_length(text);
      if (length)
        escape(text.substr(0, length));
      else
        out_ += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(length ? length : 1);
    }
  }

  Cuts cuts_;
  size_t limit_;
  std::string out_;
  unsigned depth_ = 0;
  size_t cut_strings_ = 0, cut_elements_ = 0;
};

}  // namespace

std::string encode_event(const json::object& event, size_t limit) {
  constexpr Cuts kLadder[] = {{}, {4096, 256}, {512, 64}, {64, 16}};
  for (Cuts cuts : kLadder) {
    Encoder encoder(cuts, limit);
    encoder.object(event, true);
    if (!encoder.overflow()) return encoder.take();
  }
  // An event with more members than fit: what it is and whose it is must still be on record.
  json::object rest{{"cut_members", event.size()}};
  for (const char* key : {"kind", "id"})
    if (const json::value* value = event.if_contains(key); value && value->is_string())
      rest[key] = *value;
  Encoder encoder({64, 16}, limit);
  encoder.object(rest, true);
  return encoder.take();
}

}  // namespace caisson
