// The first message of a TLS client (RFC 8446 4.1.2, RFC 6066), read far enough to know whom it
// asks for. Nothing is decrypted and nothing is changed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace caisson {

inline constexpr size_t kMaxClientHello = 16 * 1024;  // with the record headers

struct ClientHello {
  std::string server_name;  // as sent, "" when there is none; the rules say whether it is a name
  // encrypted_client_hello or the older ESNI: the name above may not be the one that is meant. What
  // browsers send as a decoy (GREASE) looks the same, and is meant to.
  bool has_ech = false;
  bool has_early_data = false;
  std::vector<std::string> alpn;
};

enum class HelloState { kNeedMore, kDone, kNotTls, kBad };

// Give it everything received so far, each time anew. kNotTls at the first byte that can't begin
// TLS; kBad (and `why`, one line) for TLS that is broken, ambiguous or too long. Bytes behind the
// message don't matter. `out` is whole only on kDone.
HelloState parse_client_hello(std::span<const uint8_t> so_far, ClientHello& out, std::string& why);

}  // namespace caisson
