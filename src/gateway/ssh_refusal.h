// What ssh hears where a reset would tell it nothing: a server that ends the connection, with
// words.
#pragma once

#include <stdint.h>

#include <string>
#include <string_view>

namespace caisson {

constexpr uint16_t kSshPort = 22;

// The banner and one SSH_MSG_DISCONNECT (RFC 4253, 4.2, 6 and 11.1), in the clear as before the
// exchange of keys. Every client shows its text.
std::string ssh_refusal(std::string_view text);

}  // namespace caisson
