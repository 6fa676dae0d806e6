// JSON written straight into one string, in the order of the calls and in the form that boost::json
// gives the same values: for texts of many kilobytes on the way to every cell's start, where a tree
// of values would be made only to be taken apart.
#pragma once

#include <stdint.h>

#include <string>
#include <string_view>

namespace caisson {

class JsonText {
 public:
  JsonText() = default;
  explicit JsonText(size_t expected) { out_.reserve(expected); }

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  void key(std::string_view name) {
    value(name);
    out_ += ':';
    first_ = true;
  }
  void value(std::string_view utf8);
  void value(const char* utf8) { value(std::string_view(utf8)); }
  void value(bool one) { raw(one ? "true" : "false"); }
  void value(uint64_t);
  void value(int64_t);
  // As Python and JavaScript write it: 1.5, 100.0, 1e+16. (boost::json writes 1.5E0.)
  void value(double);
  void null() { raw("null"); }
  void raw(std::string_view json);  // a value that is JSON already
  template <class Value>
  void member(std::string_view name, const Value& one) {
    key(name);
    value(one);
  }
  std::string take() { return std::move(out_); }

 private:
  void begin(char bracket) {
    raw({&bracket, 1});
    first_ = true;
  }
  void end(char bracket) {
    out_ += bracket;
    first_ = false;
  }

  std::string out_;
  bool first_ = true;  // nothing stands before the next value that a comma has to follow
};

}  // namespace caisson
