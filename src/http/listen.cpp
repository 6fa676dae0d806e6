#include "http/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

namespace caisson::http {
namespace {

constexpr int kBacklog = 128;

Result<uint16_t> parse_listening_port(std::string_view text, std::string_view whole) {
  uint16_t port = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size())
    return Error::plain(fmt::format("{}: not a port", printable(whole)),
                        "write HOST:PORT, as in 127.0.0.1:8080; port 0 takes any that is free");
  return port;
}

socklen_t fill(const Address& address, sockaddr_storage& storage) {
  if (address.host.find(':') != std::string::npos) {
    auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
    six->sin6_family = AF_INET6;
    six->sin6_addr = in6addr_loopback;
    six->sin6_port = htons(address.port);
    return sizeof *six;
  }
  auto* four = reinterpret_cast<sockaddr_in*>(&storage);
  four->sin_family = AF_INET;
  four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  four->sin_port = htons(address.port);
  return sizeof *four;
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Error::plain(
        fmt::format("{}: too long for a unix socket's path", path),
        fmt::format("at most {} bytes; --socket names a shorter one", sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

// Whoever can write to the folder can put a socket of their own in this one's place.
Result<void> own_folder(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash ? slash : 1);
  if (::mkdir(folder.c_str(), 0700) < 0 && errno != EEXIST)
    return Error::system("make the folder " + folder);
  struct stat found {};
  if (::stat(folder.c_str(), &found) < 0) return Error::system("look at " + folder);
  if (found.st_uid != ::geteuid() || (found.st_mode & 022))
    return Error::plain(fmt::format("{} is not yours alone to write", folder),
                        "a socket for commands needs a folder that others can't change");
  return {};
}

bool somebody_answers(const sockaddr_un& address) {
  UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// "localhost:3000" to "localhost"; "[::1]:80" to "[::1]". Empty when the port isn't one.
std::string_view host_part(std::string_view text) {
  size_t colon = text.rfind(':');
  if (text.ends_with(']') || colon == text.npos) return text;
  std::string_view port = text.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos)
    return {};
  return text.substr(0, colon);
}

}  // namespace

Result<Address> parse_loopback(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == text.npos) return Address{.port = TRY(parse_listening_port(text, text))};
  std::string_view host = text.substr(0, colon);
  uint16_t port = TRY(parse_listening_port(text.substr(colon + 1), text));
  if (host == "127.0.0.1" || same_text(host, "localhost")) return Address{.port = port};
  if (host == "[::1]") return Address{.host = "::1", .port = port};
  return Error::plain(fmt::format("{}: not this machine's loopback", printable(text)),
                      "the API listens on 127.0.0.1, localhost or [::1] only; forward a port "
                      "(ssh -L) to use it from elsewhere");
}

Result<UniqueFd> listen_loopback(const Address& address) {
  sockaddr_storage storage{};
  socklen_t size = fill(address, storage);
  UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::system("make a TCP socket");
  int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), size) < 0 ||
      ::listen(fd.get(), kBacklog) < 0)
    return Error::system(fmt::format("listen on {} port {}", address.host, address.port))
        .with_hint("another program may have that port; port 0 takes any that is free");
  return fd;
}

Result<uint16_t> port_of(int listener) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&storage), &size) < 0)
    return Error::system("ask for the port");
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
}

Result<UniqueFd> listen_unix(const std::string& path) {
  sockaddr_un address = TRY(unix_address(path));
  TRY(own_folder(path));
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode) || found.st_uid != ::geteuid())
      return Error::plain(fmt::format("{} is there, and is no socket of yours", path),
                          "--socket names another place");
    if (somebody_answers(address))
      return Error::from_errno(fmt::format("listen on {}", path), EADDRINUSE)
          .with_hint("another `caisson serve` has it");
    ::unlink(path.c_str());
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::system("make a unix socket");
  // Linux gives the socket file the mode of the descriptor, less the umask, at bind(2).
  ::fchmod(fd.get(), 0600);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 ||
      ::listen(fd.get(), kBacklog) < 0)
    return Error::system("listen on " + path);
  return fd;
}

std::optional<Peer> peer_of(int connection) {
  int family = 0;
  socklen_t size = sizeof family;
  if (::getsockopt(connection, SOL_SOCKET, SO_DOMAIN, &family, &size) < 0) return std::nullopt;
  if (family != AF_UNIX) return Peer{};
  ucred who{};
  size = sizeof who;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0) return std::nullopt;
  return Peer{.is_unix = true, .uid = who.uid};
}

bool may_use_socket(const Peer& peer) {
  return peer.is_unix && (peer.uid == 0 || peer.uid == ::geteuid());
}

bool is_loopback_host(std::string_view host) {
  std::string_view name = host_part(host);
  return same_text(name, "localhost") || name == "127.0.0.1" || name == "[::1]";
}

bool is_loopback_origin(std::string_view origin) {
  for (std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return is_loopback_host(origin.substr(scheme.size()));
  return false;
}

// Differences gather in a volatile: nothing here ends the loop early, nor may the compiler.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.empty()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

std::string_view bearer_token(const Request& request) {
  const std::string* value = request.find("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (!value || value->size() < kScheme.size()) return {};
  std::string_view text(*value);
  if (!same_text(text.substr(0, kScheme.size()), kScheme)) return {};
  return trim(text.substr(kScheme.size()));
}

}  // namespace caisson::http
