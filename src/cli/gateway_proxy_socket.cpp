#include "cli/gateway_proxy_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fmt/format.h>

#include <cstring>

#include "base/control.h"

namespace caisson {

Result<ProxySocket> ProxySocket::hold(const std::string& path) {
  ProxySocket made;
  made.path_ = path;
  made.place_ = UniqueFd{::open(path.c_str(), O_PATH | O_CLOEXEC)};
  struct stat found {};
  if (!made.place_ || ::fstat(made.place_.get(), &found) != 0)
    return Error::system(fmt::format("the proxy's socket {}", path))
        .with_hint("start the proxy first");
  if (!S_ISSOCK(found.st_mode))
    return Error::plain(fmt::format("the proxy's socket {} is not a socket", path),
                        "name the Unix socket that the proxy listens on");
  return made;
}

UniqueFd ProxySocket::connect() const {
  // A path of at most 107 bytes is all that fits; that of a descriptor always does.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string through = fmt::format("/proc/self/fd/{}", place_.get());
  if (!control_enabled("gateway-proxy-held"))
    through = path_.substr(0, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, through.c_str(), through.size() + 1);
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (fd && ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    fd.reset();
  return fd;
}

}  // namespace caisson
