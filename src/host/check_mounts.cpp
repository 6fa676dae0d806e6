#include <errno.h>

#include <fmt/format.h>

#include "base/error.h"
#include "host/checks.h"

namespace caisson {

namespace {

Check not_tried(const char* name) {
  return {name, CheckStatus::kInfo, "not tried: it needs a user, mount and pid namespace"};
}

std::string told(const Attempt& attempt) {
  return fmt::format("{}: {}", attempt.step, errno_text(attempt.errnum));
}

std::vector<std::string> fix_mount_calls(const Attempt& failed, const DeepFacts& facts) {
  if (failed.errnum == ENOSYS && facts.container == ContainerKind::kNone)
    return {"# boot a kernel of 5.12 or later"};
  return container_fix(facts.container);
}

Check mount_calls(const DeepFacts& facts) {
  constexpr const char* kName = "private mounts";
  for (const Attempt* attempt : {&facts.tmpfs, &facts.tree_copy, &facts.tree_attributes})
    if (attempt->failed())
      return {kName, CheckStatus::kFail, told(*attempt),
              "the root of a cell is made of these calls, all by descriptor",
              fix_mount_calls(*attempt, facts)};
  if (!facts.tree_attributes.worked() || !facts.tmpfs.worked()) return not_tried(kName);
  return {kName, CheckStatus::kOk, "tmpfs, open_tree, mount_setattr and move_mount work"};
}

// The kernel lets a user namespace mount a proc only where one is seen whole already
// (mount_too_revealing(), fs/namespace.c): the masks of container engines end that.
Check fresh_proc(const DeepFacts& facts) {
  constexpr const char* kName = "fresh proc";
  if (facts.proc.worked()) return {kName, CheckStatus::kOk, "can be mounted"};
  if (!facts.proc.failed()) return not_tried(kName);
  std::string found = told(facts.proc);
  std::vector<std::string> fix = container_fix(facts.container);
  if (facts.proc.errnum == EPERM) {
    found += ": parts of /proc are covered here, so the kernel gives no whole one";
    if (facts.container == ContainerKind::kNone)
      fix = {"# what covers it:", "findmnt -R /proc", "# in a Docker container:", fix.at(0)};
  }
  return {kName, CheckStatus::kFail, std::move(found),
          "a cell sees its own processes and not the host's", std::move(fix)};
}

Check own_devpts(const DeepFacts& facts) {
  constexpr const char* kName = "own devpts";
  if (facts.devpts.worked()) return {kName, CheckStatus::kOk, "can be mounted"};
  if (!facts.devpts.failed()) return not_tried(kName);
  return {kName,
          CheckStatus::kFail,
          told(facts.devpts),
          "terminals of a cell are its own",
          {"# boot a kernel with CONFIG_UNIX98_PTYS=y"}};
}

}  // namespace

void check_mounts(const DeepFacts& facts, Checks& checks) {
  checks.push_back(mount_calls(facts));
  checks.push_back(fresh_proc(facts));
  checks.push_back(own_devpts(facts));
}

}  // namespace caisson
