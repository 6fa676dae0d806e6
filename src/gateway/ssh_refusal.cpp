#include "gateway/ssh_refusal.h"

#include <stdint.h>

#include <algorithm>

#include "base/text.h"

namespace caisson {

namespace {

constexpr size_t kMostText = 512;
constexpr char kDisconnect = 1, kNotAllowed = 1;  // SSH_DISCONNECT_HOST_NOT_ALLOWED_TO_CONNECT

void put_number(std::string& to, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xff);
}

void put_text(std::string& to, std::string_view text) {
  put_number(to, text.size());
  to += text;
}

}  // namespace

std::string ssh_refusal(std::string_view text) {
  std::string payload(1, kDisconnect);
  put_number(payload, kNotAllowed);
  put_text(payload, printable(text.substr(0, kMostText)));
  put_text(payload, "");  // language
  // Length, its own size and the padding's make a multiple of 8, with 4 bytes of padding at least.
  size_t padding = 8 - (payload.size() + 5) % 8;
  if (padding < 4) padding += 8;
  std::string out = "SSH-2.0-caisson\r\n";
  put_number(out, 1 + payload.size() + padding);
  out += static_cast<char>(padding);
  return out + payload + std::string(padding, '\0');
}

}  // namespace caisson
