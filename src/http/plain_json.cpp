#include "http/plain_json.h"

#include "base/json_text.h"

namespace caisson::http {
namespace {

namespace json = boost::json;

// As deep as the value is, which every parser of ours bounds.
void write(JsonText& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return out.null();
    case json::kind::bool_:
      return out.value(value.get_bool());
    case json::kind::int64:
      return out.value(value.get_int64());
    case json::kind::uint64:
      return out.value(value.get_uint64());
    case json::kind::double_:
      return out.value(value.get_double());
    case json::kind::string:
      return out.value(std::string_view(value.get_string()));
    case json::kind::array:
      out.begin_array();
      for (const json::value& each : value.get_array()) write(out, each);
      return out.end_array();
    case json::kind::object:
      out.begin_object();
      for (const auto& [key, each] : value.get_object()) {
        out.key(key);
        write(out, each);
      }
      return out.end_object();
  }
}

}  // namespace

std::string plain_json(const json::value& value) {
  JsonText out;
  write(out, value);
  return out.take();
}

}  // namespace caisson::http
