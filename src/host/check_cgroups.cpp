// Which limit is held by what, and how to get a cgroup of one's own.
#include <fmt/format.h>

#include "base/text.h"
#include "host/checks.h"

namespace caisson {

namespace {

using Lines = std::vector<std::string>;
using Version = CgroupFacts::Version;

const CgroupSlot* slot_for(const DeepFacts& facts, std::string_view controller) {
  for (const CgroupSlot& slot : facts.host.cgroup.slots)
    if (slot.controller == controller) return &slot;
  return nullptr;
}

const char* version_name(Version version) {
  return version == Version::kV2 ? "cgroup v2" : "cgroup v1";
}

void append(Lines& lines, Lines more) {
  for (std::string& line : more) lines.push_back(std::move(line));
}

// Hands out what a cell needs: folders to make, processes to move, and no limit of the folder
// itself, which stay root's.
Lines v1_fix(const DeepFacts& facts) {
  Lines lines = {
      "# v1 can't be delegated without an administrator; in the shell that shall use it:",
      "for folder in \\"};
  for (const CgroupSlot& own : facts.own_cgroups)
    if (!slot_for(facts, own.controller))
      lines.push_back(fmt::format(
          "  {} \\",
          shell_quote(fmt::format("{}/caisson-user-{}", own.directory, facts.host.uid))));
  append(lines, {"; do", "  sudo mkdir -p \"$folder\"",
                 fmt::format("  sudo chown {} \"$folder\" \"$folder/cgroup.procs\" "
                             "\"$folder/tasks\"",
                             facts.host.uid),
                 "  echo $$ | sudo tee \"$folder/cgroup.procs\"", "done"});
  return lines;
}

Lines delegation_drop_in() {
  return {"sudo mkdir -p /etc/systemd/system/user@.service.d",
          "sudo tee /etc/systemd/system/user@.service.d/caisson.conf <<'EOF'",
          "[Service]",
          "Delegate=cpu memory pids",
          "EOF",
          "sudo systemctl daemon-reload   # then log out and in"};
}

// Without systemd: a folder that hands out controllers, and a leaf in it to live in, since on v2 no
// folder but the top does both.
Lines v2_by_hand(const DeepFacts& facts) {
  std::string top = "/sys/fs/cgroup";
  std::string folder = fmt::format("{}/caisson-user-{}", top, facts.host.uid);
  return {"# in the shell that shall use it:",
          fmt::format("echo '+cpu +memory +pids' | sudo tee {}/cgroup.subtree_control", top),
          fmt::format("sudo mkdir -p {}/shell", folder),
          fmt::format("echo '+cpu +memory +pids' | sudo tee {}/cgroup.subtree_control", folder),
          fmt::format("sudo chown {0} {1} {1}/cgroup.procs {1}/cgroup.subtree_control",
                      facts.host.uid, folder),
          fmt::format("echo $$ | sudo tee {}/shell/cgroup.procs", folder)};
}

Lines v2_fix(const DeepFacts& facts) {
  if (facts.host.cgroup.user_manager.empty()) return v2_by_hand(facts);
  Lines lines = {"systemd-run --user --scope -p Delegate=yes caisson exec …",
                 "# if a controller is missing there too, once, as an administrator:"};
  append(lines, delegation_drop_in());
  return lines;
}

Lines container_cgroup_fix(ContainerKind kind) {
  if (kind == ContainerKind::kPodman) return {"podman run --systemd=always --cgroupns=private …"};
  if (kind == ContainerKind::kKubernetes)
    return {"# containerd 2.1 and later: cgroup_writable = true for the runtime of this pod"};
  return {
      "docker run --cgroupns=private --security-opt writable-cgroups=true …   # recent engines"};
}

Lines fix(const DeepFacts& facts) {
  if (facts.inside_cell)
    return {"# a cell is given none; the limits of the outer one hold for all"};
  if (facts.cgroups_read_only && facts.container != ContainerKind::kNone)
    return container_cgroup_fix(facts.container);
  switch (facts.host.cgroup.version) {
    case Version::kV1:
      return v1_fix(facts);
    case Version::kV2:
      return v2_fix(facts);
    case Version::kNone:
      break;
  }
  return {"sudo mount -t cgroup2 none /sys/fs/cgroup",
          "# or, where v1 holds the controllers, each by itself:",
          "for name in memory pids cpu; do",
          "  sudo mkdir -p /sys/fs/cgroup/$name",
          "  sudo mount -t cgroup -o $name none /sys/fs/cgroup/$name",
          "done"};
}

std::string by_cgroup(const DeepFacts& facts, const CgroupSlot& slot) {
  return fmt::format("by {} below {}", version_name(facts.host.cgroup.version), slot.directory);
}

Check memory(const DeepFacts& facts) {
  constexpr const char* kName = "memory limit";
  if (const CgroupSlot* slot = slot_for(facts, "memory"))
    return {kName, CheckStatus::kOk, by_cgroup(facts, *slot)};
  return {kName,
          CheckStatus::kWarn,
          fmt::format("by rlimit only: {}", facts.host.cgroup.why_not),
          "each process of a cell is limited, not the cell as a whole",
          fix(facts),
          false};
}

Check processes(const DeepFacts& facts) {
  constexpr const char* kName = "pids limit";
  if (const CgroupSlot* slot = slot_for(facts, "pids"))
    return {kName, CheckStatus::kOk, by_cgroup(facts, *slot)};
  if (facts.process_limit.failed())
    return {kName, CheckStatus::kFail,
            fmt::format("no cgroup ({}), and RLIMIT_NPROC does not hold for the host's root",
                        facts.host.cgroup.why_not),
            "a fork bomb in a cell takes the host along", fix(facts)};
  if (facts.process_limit_alone.failed())
    return {kName, CheckStatus::kWarn, fmt::format("by rlimit only: {}", facts.host.cgroup.why_not),
            "before Linux 5.14 all processes of the user count, not those of the cell alone",
            fix(facts)};
  if (!facts.process_limit.worked())
    return {kName, CheckStatus::kInfo, "not tried: it needs a user namespace"};
  return {kName, CheckStatus::kOk, "by RLIMIT_NPROC, which counts the cell alone"};
}

Check cpu(const DeepFacts& facts) {
  constexpr const char* kName = "cpu limit";
  if (const CgroupSlot* slot = slot_for(facts, "cpu"))
    return {kName, CheckStatus::kOk, by_cgroup(facts, *slot)};
  return {kName, CheckStatus::kWarn,
          fmt::format("whole cores by affinity only: {}", facts.host.cgroup.why_not),
          "the default is all cores; --cpu 0.5 and --cpu-shares are errors here", fix(facts)};
}

Check swap(const DeepFacts& facts) {
  constexpr const char* kName = "swap accounting";
  if (!facts.swap.in_use) return {kName, CheckStatus::kOk, "this host has no swap in use"};
  if (!slot_for(facts, "memory"))
    return {kName, CheckStatus::kInfo, "memory is not limited by cgroup here"};
  if (!facts.swap.accounted) return {kName, CheckStatus::kInfo, "can't be told from here"};
  if (*facts.swap.accounted) return {kName, CheckStatus::kOk, "swap counts"};
  return {
      kName,
      CheckStatus::kWarn,
      "swap does not count",
      "a cell can use swap beyond its memory limit",
      {"# add swapaccount=1 to the kernel's command line and boot again, or:", "sudo swapoff -a"}};
}

}  // namespace

void check_cgroups(const DeepFacts& facts, Checks& checks) {
  checks.push_back(memory(facts));
  checks.push_back(processes(facts));
  checks.push_back(cpu(facts));
  checks.push_back(swap(facts));
}

}  // namespace caisson
