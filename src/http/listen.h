// Where a server listens, and who may come: this machine's loopback, or a unix socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/message.h"

namespace caisson::http {

struct Address {
  std::string host = "127.0.0.1";  // or "::1"
  uint16_t port = 0;               // 0: any that is free
};

// "127.0.0.1:8080", "localhost:0", "[::1]:8080", "8080". Anything but loopback is refused.
Result<Address> parse_loopback(std::string_view text);
Result<UniqueFd> listen_loopback(const Address& address);
Result<uint16_t> port_of(int listener);

// A socket for the caller alone: in a folder that is the caller's and nobody else's to write (0700
// when it is made here), mode 0600. A stale socket at that path is replaced; a living one is not.
Result<UniqueFd> listen_unix(const std::string& path);

// The peer's uid is told by the kernel, as it was at connect(2).
std::optional<Peer> peer_of(int connection);
// The same user as ours, or root.
bool may_use_socket(const Peer& peer);

// Whether a Host header names this machine's loopback. A web page that rebinds its own name to
// 127.0.0.1 sends that name.
bool is_loopback_host(std::string_view host);
// Whether an Origin is a page of this machine's loopback: "http://localhost:3000".
bool is_loopback_origin(std::string_view origin);

// Equal, in a time that doesn't depend on where they differ.
bool same_secret(std::string_view a, std::string_view b);
// The token of "Authorization: Bearer …"; "" when there is none.
std::string_view bearer_token(const Request& request);

}  // namespace caisson::http
