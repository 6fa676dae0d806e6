// base64 (RFC 4648 §4), read strictly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace caisson::web {

std::optional<std::string> base64_decode(std::string_view text);

}  // namespace caisson::web
