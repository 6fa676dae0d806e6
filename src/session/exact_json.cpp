#include "session/exact_json.h"

#include <charconv>

#include <boost/json/basic_parser_impl.hpp>

namespace caisson::session {

namespace {

namespace json = boost::json;
using boost::system::error_code;

// What boost::json::parser does with what is read, but for on_double.
struct Builder {
  static constexpr size_t max_object_size = json::object::max_size();
  static constexpr size_t max_array_size = json::array::max_size();
  static constexpr size_t max_key_size = json::string::max_size();
  static constexpr size_t max_string_size = json::string::max_size();

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(size_t count, error_code&) {
    stack.push_object(count);
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(size_t count, error_code&) {
    stack.push_array(count);
    return true;
  }
  bool on_key_part(json::string_view text, size_t, error_code&) {
    stack.push_chars(text);
    return true;
  }
  bool on_key(json::string_view text, size_t, error_code&) {
    stack.push_key(text);
    return true;
  }
  bool on_string_part(json::string_view text, size_t, error_code&) {
    stack.push_chars(text);
    return true;
  }
  bool on_string(json::string_view text, size_t, error_code&) {
    stack.push_string(text);
    return true;
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(int64_t number, json::string_view, error_code&) {
    stack.push_int64(number);
    return true;
  }
  bool on_uint64(uint64_t number, json::string_view, error_code&) {
    stack.push_uint64(number);
    return true;
  }
  // The text is all of the number, since all of the document is there at once.
  bool on_double(double number, json::string_view text, error_code&) {
    double exact = 0;
    auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), exact);
    bool is_read = why == std::errc{} && end == text.data() + text.size();
    stack.push_double(is_read ? exact : number);  // 1e999 is as boost reads it
    return true;
  }
  bool on_bool(bool one, error_code&) {
    stack.push_bool(one);
    return true;
  }
  bool on_null(error_code&) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

  json::value_stack stack;
};

}  // namespace

json::value parse_exactly(std::string_view text, size_t most_depth, error_code& failed) {
  json::parse_options options;
  options.max_depth = most_depth;
  json::basic_parser<Builder> parser(options);
  Builder& builder = parser.handler();
  builder.stack.reset();
  size_t read = parser.write_some(false, text.data(), text.size(), failed);
  if (!failed && read < text.size()) failed = json::error::extra_data;
  return failed ? json::value() : builder.stack.release();
}

}  // namespace caisson::session
