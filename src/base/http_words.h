// What a name and a value of HTTP are made of (RFC 9110), for whoever reads a head.
#pragma once

#include <string_view>

namespace caisson {

bool is_http_token(std::string_view);
inline bool is_http_value_char(unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); }

}  // namespace caisson
