// The plan in words, one line per operation, in the order in which it happens.
#include <sched.h>

#include <fmt/format.h>

#include "base/text.h"
#include "plan/plan.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

namespace caisson {

namespace {

std::string flags_text(const MountFlags& flags) {
  std::string text = flags.read_only ? "ro,nosuid" : "rw,nosuid";
  if (!flags.devices) text += ",nodev";
  if (flags.no_exec) text += ",noexec";
  return text;
}

struct RootStepText {
  std::string operator()(const MakeDirectory& s) const {
    return fmt::format("folder    {} ({:o})", s.path, s.mode);
  }
  std::string operator()(const MakeFile& s) const {
    return fmt::format("file      {} ({} bytes)", s.path, s.content.size());
  }
  std::string operator()(const MakeLink& s) const {
    return fmt::format("link      {} -> {}", s.path, s.target);
  }
  std::string operator()(const BindHost& s) const {
    return fmt::format("mount     {} at {} ({})", s.source, s.target, flags_text(s.flags));
  }
  std::string operator()(const BindOwn& s) const {
    return fmt::format("private   {} (rw,nosuid,nodev, memory only)", s.path);
  }
  std::string operator()(const PinDirectory& s) const {
    return fmt::format("hold      {}", s.path);
  }
  std::string operator()(const MountProc& s) const {
    return fmt::format("proc      {} (own pid namespace, {},nosuid,nodev,noexec)", s.target,
                       s.read_only ? "ro" : "rw");
  }
  std::string operator()(const MountDevpts& s) const {
    return fmt::format("devpts    {} (own instance)", s.target);
  }
  std::string operator()(const CoverFile& s) const {
    return fmt::format("cover     {} with {} (ro)", s.path, s.with);
  }
  std::string operator()(const CoverFolder& s) const {
    return fmt::format("cover     {} with an empty folder (ro)", s.path);
  }
  std::string operator()(const PlaceOwn& s) const {
    return fmt::format("own       {} ({})", s.target, flags_text(s.flags));
  }
  std::string operator()(const CoverInView& s) const {
    return fmt::format("cover     {}{} with {} (ro)", kViewFolder, s.path, s.with);
  }
  std::string operator()(const MaskPath& s) const { return fmt::format("mask      {}", s.path); }
};

std::string namespaces_text(uint64_t flags) {
  struct Name {
    uint64_t flag;
    const char* name;
  };
  constexpr Name kNames[] = {{CLONE_NEWUSER, "user"},    {CLONE_NEWNS, "mount"},
                             {CLONE_NEWPID, "pid"},      {CLONE_NEWNET, "network"},
                             {CLONE_NEWIPC, "ipc"},      {CLONE_NEWUTS, "uts"},
                             {CLONE_NEWCGROUP, "cgroup"}};
  std::vector<std::string> names;
  for (const Name& one : kNames)
    if (flags & one.flag) names.push_back(one.name);
  return names.empty() ? "none" : join(names, ", ");
}

const char* filter_text(Filter filter) {
  switch (filter) {
    case Filter::kNested:
      return "nested (the standard one and what a cell in a cell needs)";
    case Filter::kNoSockets:
      return "no-sockets (the standard one without sockets)";
    case Filter::kNames:
      return "names (the standard one; calls that make or open names for writing ask the warden)";
    case Filter::kNamesAndReads:
      return "names-and-reads (the same, and every other opening asks too)";
    case Filter::kStandard:
      break;
  }
  return "standard";
}

}  // namespace

std::string describe(const RootStep& step) { return std::visit(RootStepText{}, step); }

std::vector<std::string> describe(const Plan& plan) {
  std::vector<std::string> lines;
  auto add = [&](std::string line) { lines.push_back(std::move(line)); };
  add(fmt::format("clone     new namespaces: {}", namespaces_text(plan.namespaces)));
  if (plan.namespaces & CLONE_NEWUSER)
    add(fmt::format("ids       uid {} and gid {} alone are mapped{}", plan.uid, plan.gid,
                    plan.throwaway_ids ? ", to a throwaway number outside" : ""));
  if (!plan.root.empty())
    add(fmt::format("root      a tmpfs of {} bytes and {} inodes", plan.tmp_bytes,
                    plan.tmp_inodes));
  for (const RootStep& step : plan.root) add(describe(step));
  if (!plan.root.empty()) {
    add("seal      the root is read-only");
    add(plan.host_view ? fmt::format("pivot     {} is the root", kViewFolder)
                       : "pivot     the host's files are gone");
  }
  if (plan.gateway) {
    add("network   loopback; every other TCP connection and every look-up goes to the gateway");
    for (uint16_t port : plan.gateway->forward)
      add(fmt::format("forward   localhost:{} is the host's", port));
  } else if (plan.bring_up_loopback) {
    add("network   loopback only");
  }
  for (const CgroupSlot& slot : plan.cgroup.slots)
    add(fmt::format("cgroup    a folder of the cell's own below {}", slot.directory));
  for (const CgroupFile& file : plan.cgroup.files)
    add(fmt::format("limit     {} = {}", file.file, file.value));
  add(fmt::format("workdir   {}", plan.workdir));
  add("drop      every capability, bounding set included; no_new_privs");
  for (const ResourceLimit& limit : plan.rlimits)
    add(fmt::format("rlimit    {} = {}", limit.name, limit.value));
  if (plan.pin_to_cpus) add(fmt::format("affinity  {} core(s)", *plan.pin_to_cpus));
  if (plan.landlock)
    add(fmt::format("landlock  ABI {}, {} rules, scopes {}", plan.landlock->abi,
                    plan.landlock->rules.size(),
                    plan.landlock->scoped ? "signals and abstract sockets" : "none"));
  if (plan.warden)
    add(fmt::format("warden    judges names: {} not to be written, {} not to be read",
                    plan.warden->deny_write.size(), plan.warden->deny_read.size()));
  add(fmt::format("seccomp   {}{}", filter_text(plan.filter),
                  plan.exec == Exec::kProgramOnly ? ", every further execve refused" : ""));
  std::vector<std::string> words;
  for (const std::string& word : plan.argv) words.push_back(shell_quote(word));
  add(fmt::format("exec      {}", printable(join(words, " "))));
  return lines;
}

}  // namespace caisson
