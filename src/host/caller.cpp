#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "host/probe.h"

namespace caisson {

// /etc/passwd read by hand: a static binary has no NSS, and this must not load anything.
Account account_of(uid_t user) {
  std::optional<std::string> passwd = RealHostFiles().read("/etc/passwd", 1 << 20);
  if (!passwd) return {};
  std::string uid = std::to_string(user);
  for (std::string_view line : split(*passwd, '\n')) {
    std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() >= 7 && fields[2] == uid)
      return {std::string(fields[0]), std::string(fields[5])};
  }
  return {};
}

Caller current_caller(char** environment) {
  Caller caller;
  caller.uid = ::geteuid();
  caller.gid = ::getegid();
  for (char** entry = environment; *entry; ++entry)
    if (const char* equals = ::strchr(*entry, '='))
      caller.environment.emplace(std::string(*entry, static_cast<size_t>(equals - *entry)),
                                 equals + 1);
  Account account = account_of(caller.uid);
  caller.user_name = std::move(account.name);
  caller.home = std::move(account.home);
  if (caller.user_name.empty()) caller.user_name = std::to_string(caller.uid);
  if (std::string home = caller.env("HOME"); !home.empty() && home[0] == '/') caller.home = home;
  char cwd[PATH_MAX];
  // "(unreachable)/…" when the folder lies outside our root.
  if (::getcwd(cwd, sizeof cwd) && cwd[0] == '/') caller.cwd = cwd;
  return caller;
}

}  // namespace caisson
