#include <errno.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "host/checks.h"

namespace caisson {

namespace {

constexpr long kFew = 256;

std::vector<std::string> fix_namespace(const NamespaceFacts& one, const DeepFacts& facts) {
  if (one.made.errnum == ENOSPC)
    return {fmt::format("sudo sysctl -w user.max_{}_namespaces=65536", one.limit_name)};
  if (one.made.errnum == EINVAL)
    return {"# boot a kernel that is built with it (CONFIG_NAMESPACES and its parts)"};
  if (facts.inside_cell)
    return {"# grant it to the outer one:", "caisson exec --allow-nested … caisson exec …"};
  return container_fix(facts.container);
}

Check check_one(const NamespaceFacts& one, const DeepFacts& facts) {
  std::string name = one.name + " namespace";
  if (one.made.failed())
    return {std::move(name), CheckStatus::kFail, errno_text(one.made.errnum),
            "a cell has one of its own of each kind", fix_namespace(one, facts)};
  if (!one.made.worked())
    return {std::move(name), CheckStatus::kInfo, "not tried: it needs a user namespace"};
  if (one.name == "network" && facts.loopback.failed())
    return {std::move(name), CheckStatus::kFail,
            fmt::format("{}: {}", facts.loopback.step, errno_text(facts.loopback.errnum)),
            "programs in a cell talk to themselves over loopback", container_fix(facts.container)};
  return {std::move(name), CheckStatus::kOk, "can be made"};
}

// A limit of 0 fails above. A small one is met later, when many cells run at once.
Check check_limits(const DeepFacts& facts) {
  std::vector<std::string> small, fix;
  auto look = [&](const std::string& name, std::optional<long> limit) {
    if (!limit || *limit >= kFew) return;
    small.push_back(fmt::format("user.max_{}_namespaces is {}", name, *limit));
    fix.push_back(fmt::format("sudo sysctl -w user.max_{}_namespaces=65536", name));
  };
  look("user", facts.user_limit);
  for (const NamespaceFacts& one : facts.namespaces) look(one.limit_name, one.limit);
  constexpr const char* kName = "namespace limits";
  if (small.empty()) return {kName, CheckStatus::kOk, "room for many cells at once"};
  return {kName, CheckStatus::kWarn, join(small, ", "),
          "each cell takes one of each kind; no more than that many run at once", std::move(fix)};
}

}  // namespace

void check_namespaces(const DeepFacts& facts, Checks& checks) {
  for (const NamespaceFacts& one : facts.namespaces) checks.push_back(check_one(one, facts));
  checks.push_back(check_limits(facts));
}

}  // namespace caisson
