// Events as JSON text that can't break out of its line, its size or a terminal.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace caisson {

// One line of valid UTF-8 JSON, at most `limit` bytes. Every control character is escaped, C1 and
// DEL among them, so that not even `cat audit.jsonl` steers a terminal (T42, T66). A byte that is
// no UTF-8 (argv may hold any) becomes the four characters \xNN. An event that is too large is cut:
// long strings and long arrays first, each saying how much is missing, and the event gains
// "cut":{"strings":n,"elements":n}.
std::string encode_event(const boost::json::object& event, size_t limit);

}  // namespace caisson
