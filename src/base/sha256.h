// SHA-256, for the audit chain and the policy digest.
#pragma once

#include <string>
#include <string_view>

namespace caisson {

std::string sha256_hex(std::string_view bytes);

}  // namespace caisson
