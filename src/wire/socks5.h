// SOCKS5 (RFC 1928, and RFC 1929 for names and passwords), the server's half. The three messages
// that a client sends are parsed from everything received so far of that message; `size` says how
// much of it was the message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rules/host.h"

namespace caisson {

inline constexpr uint8_t kSocksVersion = 5, kSocks4Version = 4;

enum class SocksState { kNeedMore, kDone, kBad };

enum class SocksMethod : uint8_t { kNone = 0, kPassword = 2, kNoneAcceptable = 0xff };

struct SocksGreeting {
  bool offers_none = false, offers_password = false;
  size_t size = 0;
  // No password is checked here, so the shorter way is taken when there is one.
  SocksMethod choice() const;
};

struct SocksLogin {
  std::string user, password;  // as sent
  size_t size = 0;
};

enum class SocksCode : uint8_t {
  kOk = 0,
  kFailed = 1,
  kNotAllowed = 2,  // by the rules
  kNetworkUnreachable = 3,
  kHostUnreachable = 4,
  kRefused = 5,
  kExpired = 6,
  kCommandNotSupported = 7,
  kAddressNotSupported = 8
};

// Where a CONNECT wants to go.
struct SocksRequest {
  std::string domain;                // as sent, for parse_host; "" when an address was given
  std::optional<IpAddress> address;  // IPv4 inside IPv6 is IPv4
  uint16_t port = 0;
  size_t size = 0;
  SocksCode refusal = SocksCode::kFailed;  // on kBad: what to answer
};

// On kBad, `why` is one line. `out` is whole only on kDone.
SocksState parse_socks_greeting(std::span<const uint8_t> so_far, SocksGreeting& out,
                                std::string& why);
SocksState parse_socks_login(std::span<const uint8_t> so_far, SocksLogin& out, std::string& why);
SocksState parse_socks_request(std::span<const uint8_t> so_far, SocksRequest& out,
                               std::string& why);

std::vector<uint8_t> socks_method_reply(SocksMethod method);
std::vector<uint8_t> socks_login_reply();  // always welcome
// The bound address is told as 0.0.0.0:0: where the gateway dials from is no business of a cell.
std::vector<uint8_t> socks_reply(SocksCode code);

// SOCKS4 and 4a are read only to be refused in their own words, so every command is a whole
// request.
SocksState parse_socks4_request(std::span<const uint8_t> so_far, SocksRequest& out,
                                std::string& why);
std::vector<uint8_t> socks4_refusal();

// The client's half, for a proxy of the host's: a greeting that offers no password, and a CONNECT.
std::vector<uint8_t> socks_client_hello();
std::vector<uint8_t> socks_client_request(const HostPort& where);
// How many bytes of a reply follow the first five, by its kind of address and the first byte of
// it. nullopt: there is no such kind.
std::optional<size_t> socks_bound_rest(uint8_t kind, uint8_t first);

}  // namespace caisson
