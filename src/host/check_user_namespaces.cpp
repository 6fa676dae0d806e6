#include <errno.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "host/checks.h"

namespace caisson {

namespace {

using Refusal = UserNamespaceRefusal;
using Lines = std::vector<std::string>;

bool is_refusal(int errnum) { return errnum == EPERM || errnum == EACCES; }

Lines sysctl_fix(const DeepFacts& facts, const std::string& setting) {
  Lines lines;
  if (facts.container != ContainerKind::kNone)
    lines.push_back("# on the host, since a container can't set it:");
  lines.push_back(fmt::format("sudo sysctl -w {}", setting));
  lines.push_back("# and to keep it:");
  lines.push_back(fmt::format("echo '{}' | sudo tee /etc/sysctl.d/99-caisson.conf", setting));
  return lines;
}

Lines apparmor_fix(const DeepFacts& facts) {
  Lines lines = {"# the profile lifts the restriction for this one binary:"};
  for (std::string& line : apparmor_profile_fix(facts.program)) lines.push_back(std::move(line));
  if (!facts.program_is_roots)
    lines.push_back(
        fmt::format("# {} is not root's: whoever can write it gets what the profile gives; better "
                    "install it first (make install PREFIX=/usr/local)",
                    facts.program));
  return lines;
}

Lines used_up_fix(const DeepFacts& facts) {
  Lines lines = {
      "# inside another sandbox (bwrap --disable-userns, Flatpak): run caisson outside of it, or",
      "# let it go without that option; otherwise raise the limit:"};
  for (std::string& line : sysctl_fix(facts, "user.max_user_namespaces=65536"))
    lines.push_back(std::move(line));
  return lines;
}

struct Explanation {
  std::string found;
  Lines fix;
};

Explanation explain_limits(Refusal refusal, const DeepFacts& facts) {
  switch (refusal) {
    case Refusal::kLimitZero:
      return {"user.max_user_namespaces is 0", sysctl_fix(facts, "user.max_user_namespaces=65536")};
    case Refusal::kLimitUsedUp:
      return {"the number of user namespaces is used up, here or in a namespace above",
              used_up_fix(facts)};
    case Refusal::kTooDeep:
      return {"there are 32 user namespaces around this one already, and the kernel has no more",
              {"# run caisson further out"}};
    case Refusal::kNotInKernel:
      return {"this kernel has none", {"# boot a kernel with CONFIG_USER_NS=y"}};
    default:
      return {"no setting explains it", {}};
  }
}

Explanation explain_rules(Refusal refusal, const DeepFacts& facts) {
  switch (refusal) {
    case Refusal::kInsideCell:
      return {"this is a caisson cell, whose filter refuses them",
              {"# grant it to the outer one:", "caisson exec --allow-nested … caisson exec …"}};
    case Refusal::kContainerFilter:
      return {"the seccomp filter of a container or service refuses them",
              container_fix(facts.container)};
    case Refusal::kSwitchedOff:
      return {"kernel.unprivileged_userns_clone is 0",
              sysctl_fix(facts, "kernel.unprivileged_userns_clone=1")};
    case Refusal::kAppArmor:
      return {"AppArmor restricts them (kernel.apparmor_restrict_unprivileged_userns is 1)",
              apparmor_fix(facts)};
    case Refusal::kSelinux:
      return {"SELinux refuses them",
              {"# make a policy module of what was refused just now:",
               "sudo ausearch -m avc -ts recent | audit2allow -M caisson",
               "sudo semodule -i caisson.pp"}};
    default:
      return explain_limits(refusal, facts);
  }
}

Explanation explain(Refusal refusal, const DeepFacts& facts) {
  switch (refusal) {
    case Refusal::kChroot:
      return {"this process is in a chroot, where the kernel makes none",
              {"# enter the folder with a root that is a mount instead:",
               "sudo systemd-nspawn -D DIR"}};
    case Refusal::kUnmappedIds:
      return {"our uid or gid has no name in our own user namespace",
              {"# whoever made that namespace must map both (newuidmap(1), newgidmap(1))"}};
    case Refusal::kUnknown:
      return {"no setting explains it",
              {"# a security module may have written the reason down:", "sudo dmesg | tail",
               "# without one there, it is a chroot: the kernel makes none inside"}};
    default:
      return explain_rules(refusal, facts);
  }
}

}  // namespace

UserNamespaceRefusal why_no_user_namespace(const DeepFacts& facts) {
  int errnum = facts.user_namespace.errnum;
  if (facts.user_namespace.worked()) return Refusal::kNone;
  if (errnum == ENOSPC) return facts.user_limit == 0 ? Refusal::kLimitZero : Refusal::kLimitUsedUp;
  if (errnum == EUSERS) return Refusal::kTooDeep;
  if (facts.inside_cell) return Refusal::kInsideCell;
  bool at_clone = facts.user_namespace.step.starts_with("clone");
  if (errnum == EINVAL && at_clone)
    return facts.ids_mapped ? Refusal::kNotInKernel : Refusal::kUnmappedIds;
  // Ubuntu lets the clone pass and takes the capabilities away, so that the map can't be written; a
  // container's filter refuses the clone itself.
  if (is_refusal(errnum) && at_clone && facts.filtered) return Refusal::kContainerFilter;
  if (is_refusal(errnum) && facts.userns_switch == 0) return Refusal::kSwitchedOff;
  if (is_refusal(errnum) && facts.apparmor_userns == 1) return Refusal::kAppArmor;
  if (errnum == EACCES && facts.selinux_enforcing) return Refusal::kSelinux;
  if (errnum == EPERM && facts.chrooted) return Refusal::kChroot;
  if (errnum == EPERM && !facts.ids_mapped) return Refusal::kUnmappedIds;
  return Refusal::kUnknown;
}

void check_user_namespaces(const DeepFacts& facts, Checks& checks) {
  constexpr const char* kName = "user namespaces";
  if (facts.user_namespace.worked()) {
    checks.push_back({kName, CheckStatus::kOk, "can be made"});
    return;
  }
  Explanation why = explain(why_no_user_namespace(facts), facts);
  checks.push_back({kName, CheckStatus::kFail,
                    fmt::format("{}: {}: {}", facts.user_namespace.step,
                                errno_text(facts.user_namespace.errnum), why.found),
                    "every other part of the boundary is made inside one; `--tier landlock` is "
                    "what is left without",
                    std::move(why.fix)});
}

// Quoted when it has to be; patterns of apparmor.d(5) in a path stand for themselves.
static std::string apparmor_path(const std::string& path) {
  if (shell_quote(path) == path) return path;
  std::string quoted = "\"";
  for (char c : path) {
    if (std::string_view("*?[]{}^\"\\").find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::vector<std::string> apparmor_profile_fix(const std::string& program) {
  return {"sudo tee /etc/apparmor.d/caisson <<'EOF'",
          "abi <abi/4.0>,",
          "include <tunables/global>",
          "",
          fmt::format("profile caisson {} flags=(unconfined) {{", apparmor_path(program)),
          "  userns,",
          "",
          "  include if exists <local/caisson>",
          "}",
          "EOF",
          "sudo apparmor_parser -r /etc/apparmor.d/caisson"};
}

}  // namespace caisson
