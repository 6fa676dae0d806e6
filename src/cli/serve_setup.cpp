#include "cli/serve_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/control.h"
#include "base/text.h"
#include "run/audit_files.h"

namespace caisson {
namespace {

constexpr size_t kLongestToken = 4096, kShortestToken = 16;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

Result<UniqueFd> lock_beside(const std::string& socket_path, const char* ending) {
  TRY(open_own_folder(folder_of(socket_path)));
  std::string path = socket_path + ending;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::system("open " + path);
  return fd;
}

Result<session::StateClaim> claim_state_of(const session::SessionOffer& offer,
                                           const std::string& top, const std::string& socket) {
  std::string name = session::name_of(offer);
  bool alone = control_enabled("serve-state-lock");
  std::optional<session::StateClaim> claim = TRY(session::claim_state(
      top, name, alone ? session::Sharing::kAlone : session::Sharing::kTogether,
      fmt::format("{} {}\n", ::getpid(), socket)));
  if (claim) return std::move(*claim);
  std::string note = session::note_on_claim(top, name);
  std::string_view text = trim(note);
  size_t space = std::min(text.find(' '), text.size());
  std::string pid = printable(text.substr(0, space)), other = printable(trim(text.substr(space)));
  return Error{fmt::format("another `caisson serve` has the sessions in {}/{}: process {} on {}",
                           printable(top), name, pid, other),
               fmt::format("ask that one (--socket {}), or end it first", shell_quote(other)),
               EBUSY};
}

Result<std::string> read_token(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return Error::system("open the token file " + path);
  struct stat found {};
  if (::fstat(fd.get(), &found) < 0) return Error::system("look at " + path);
  if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & 077))
    return Error::plain(fmt::format("{}: others can read the token", path),
                        fmt::format("chmod 600 {}", shell_quote(path)));
  char bytes[kLongestToken];
  ssize_t got = ::read(fd.get(), bytes, sizeof bytes);
  if (got < 0) return Error::system("read " + path);
  std::string token(trim(std::string_view(bytes, static_cast<size_t>(got))));
  for (char c : token)
    if (c <= ' ' || c > '~')
      return Error::plain(path + ": a token is printable ASCII without spaces");
  if (token.size() < kShortestToken)
    return Error::plain(
        fmt::format("{}: the token is shorter than {} characters", path, kShortestToken),
        "openssl rand -hex 32 makes one");
  return token;
}

Result<std::string> make_token(const std::string& path) {
  unsigned char bytes[32];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return Error::system("make a token");
  std::string token = hex(bytes);
  ::unlink(path.c_str());
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::system("write the token to " + path);
  std::string line = token + "\n";
  if (::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return Error::system("write the token to " + path);
  return token;
}

std::vector<std::string> exec_environment(const Caller& caller) {
  std::vector<std::string> kept;
  constexpr const char* kNames[] = {"PATH",
                                    "HOME",
                                    "USER",
                                    "LANG",
                                    "LC_ALL",
                                    "TMPDIR",
#ifdef CAISSON_MUTANTS
                                    "CAISSON_MUTANT",
#endif
                                    "XDG_STATE_HOME",
                                    "XDG_RUNTIME_DIR",
                                    "DBUS_SESSION_BUS_ADDRESS"};
  for (const char* name : kNames) {
    auto found = caller.environment.find(name);
    if (found != caller.environment.end()) kept.push_back(found->first + "=" + found->second);
  }
  return kept;
}

}  // namespace caisson
