#include "wire/socks5.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "wire/byte_reader.h"

namespace caisson {

namespace {

constexpr uint8_t kLoginVersion = 1, kLoginOk = 0;
constexpr uint8_t kConnect = 1;
enum AddressKind : uint8_t { kIpv4 = 1, kDomain = 3, kIpv6 = 4 };

SocksState bad(std::string& why, std::string text) {
  why = std::move(text);
  return SocksState::kBad;
}

// The first byte is judged as soon as it is there: who doesn't speak SOCKS gets no second one.
bool wrong_version(std::span<const uint8_t> so_far, uint8_t version) {
  return !so_far.empty() && so_far[0] != version;
}

template <size_t kSize>
std::array<uint8_t, kSize> read_array(ByteReader& reader) {
  std::array<uint8_t, kSize> array{};
  std::ranges::copy(reader.take(kSize), array.begin());
  return array;
}

// False for an address of no known kind.
bool read_address(ByteReader& reader, SocksRequest& out) {
  uint8_t kind = reader.u8();
  if (!reader.good()) return true;  // not there yet
  switch (kind) {
    case kIpv4:
      out.address = IpAddress::v4(read_array<4>(reader));
      return true;
    case kIpv6:
      out.address = IpAddress::v6(read_array<16>(reader));
      return true;
    case kDomain:
      out.domain = reader.text(reader.u8());
      return true;
    default:
      return false;
  }
}

}  // namespace

SocksMethod SocksGreeting::choice() const {
  if (offers_none) return SocksMethod::kNone;
  return offers_password ? SocksMethod::kPassword : SocksMethod::kNoneAcceptable;
}

SocksState parse_socks_greeting(std::span<const uint8_t> so_far, SocksGreeting& out,
                                std::string& why) {
  out = {};
  if (wrong_version(so_far, kSocksVersion)) return bad(why, "greeting that isn't SOCKS5");
  ByteReader reader(so_far);
  reader.u8();
  for (uint8_t method : reader.take(reader.u8())) {
    out.offers_none |= method == static_cast<uint8_t>(SocksMethod::kNone);
    out.offers_password |= method == static_cast<uint8_t>(SocksMethod::kPassword);
  }
  if (!reader.good()) return SocksState::kNeedMore;
  out.size = reader.at();
  return SocksState::kDone;
}

SocksState parse_socks_login(std::span<const uint8_t> so_far, SocksLogin& out, std::string& why) {
  out = {};
  if (wrong_version(so_far, kLoginVersion)) return bad(why, "SOCKS login of an unknown version");
  ByteReader reader(so_far);
  reader.u8();
  out.user = reader.text(reader.u8());
  out.password = reader.text(reader.u8());
  if (!reader.good()) return SocksState::kNeedMore;
  out.size = reader.at();
  return SocksState::kDone;
}

SocksState parse_socks_request(std::span<const uint8_t> so_far, SocksRequest& out,
                               std::string& why) {
  out = {};
  if (wrong_version(so_far, kSocksVersion)) return bad(why, "request that isn't SOCKS5");
  ByteReader reader(so_far);
  reader.u8();
  uint8_t command = reader.u8(), reserved = reader.u8();
  if (reserved != 0) return bad(why, "SOCKS request with a reserved byte in use");
  if (!read_address(reader, out)) {
    out.refusal = SocksCode::kAddressNotSupported;
    return bad(why, "SOCKS request for an unknown kind of address");
  }
  out.port = reader.u16();
  if (!reader.good()) return SocksState::kNeedMore;
  // Only now, with all of it read: closing on unread bytes would reset the answer away.
  if (command != kConnect) {
    out.refusal = SocksCode::kCommandNotSupported;
    return bad(why, fmt::format("SOCKS command {}, where only CONNECT is served", command));
  }
  if (!out.address && out.domain.empty()) return bad(why, "SOCKS request for no host");
  out.size = reader.at();
  return SocksState::kDone;
}

std::vector<uint8_t> socks_method_reply(SocksMethod method) {
  return {kSocksVersion, static_cast<uint8_t>(method)};
}

std::vector<uint8_t> socks_login_reply() { return {kLoginVersion, kLoginOk}; }

std::vector<uint8_t> socks_reply(SocksCode code) {
  return {kSocksVersion, static_cast<uint8_t>(code), 0, kIpv4, 0, 0, 0, 0, 0, 0};
}

namespace {

// Up to the NUL that ends it, which is taken too; a text that is still coming fails the reader.
std::string text_to_nul(ByteReader& reader) {
  std::string out;
  for (uint8_t byte = reader.u8(); reader.good() && byte != 0; byte = reader.u8())
    out += static_cast<char>(byte);
  return out;
}

}  // namespace

SocksState parse_socks4_request(std::span<const uint8_t> so_far, SocksRequest& out,
                                std::string& why) {
  out = {};
  if (wrong_version(so_far, kSocks4Version)) return bad(why, "request that isn't SOCKS4");
  ByteReader reader(so_far);
  reader.take(2);
  out.port = reader.u16();
  std::array<uint8_t, 4> quad = read_array<4>(reader);
  text_to_nul(reader);  // who asks
  // 0.0.0.x with an x says that a name follows: 4a.
  bool named = quad[0] == 0 && quad[1] == 0 && quad[2] == 0 && quad[3] != 0;
  if (named)
    out.domain = text_to_nul(reader);
  else
    out.address = IpAddress::v4(quad);
  if (!reader.good()) return SocksState::kNeedMore;
  out.size = reader.at();
  return SocksState::kDone;
}

std::vector<uint8_t> socks4_refusal() { return {0, 0x5b, 0, 0, 0, 0, 0, 0}; }

std::vector<uint8_t> socks_client_hello() { return {kSocksVersion, 1, 0}; }

std::vector<uint8_t> socks_client_request(const HostPort& where) {
  std::vector<uint8_t> out{kSocksVersion, 1, 0};
  const Host& host = where.host;
  if (host.is_address()) {
    out.push_back(host.address->is_v6 ? 4 : 1);
    out.insert(out.end(), host.address->bytes.begin(),
               host.address->bytes.begin() + (host.address->is_v6 ? 16 : 4));
  } else {
    out.push_back(3);
    out.push_back(static_cast<uint8_t>(host.name.size()));  // parse_host: 253 at most
    out.insert(out.end(), host.name.begin(), host.name.end());
  }
  out.push_back(static_cast<uint8_t>(where.port >> 8));
  out.push_back(static_cast<uint8_t>(where.port));
  return out;
}

std::optional<size_t> socks_bound_rest(uint8_t kind, uint8_t first) {
  constexpr size_t kPort = 2;
  if (kind == 1) return 3 + kPort;
  if (kind == 4) return 15 + kPort;
  if (kind == 3) return first + kPort;
  return std::nullopt;
}

}  // namespace caisson
