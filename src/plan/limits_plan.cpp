#include "plan/limits_plan.h"

#include <sys/resource.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/control.h"

namespace caisson {

namespace {

constexpr uint32_t kCpuPeriodMicros = 100000;
constexpr uint32_t kWardenThreads = 49;                   // warden/state.h: kMostThreads, and one
constexpr const char* kNotAsked = "none: not asked for";  // a limit of 0, of the srt door alone

class LimitPlanner {
 public:
  LimitPlanner(const Policy& policy, const HostFacts& facts, Plan& plan)
      : policy_(policy), facts_(facts), plan_(plan), limits_(policy.limits) {
    plan_.cgroup.version = facts.cgroup.version;
  }

  Result<void> run() {
    always();
    private_space();
    TRY(memory());
    TRY(processes());
    TRY(cpu());
    TRY(cpu_shares());
    return {};
  }

 private:
  void rlimit(int resource, const char* name, uint64_t value) {
    if (control_enabled(fmt::format("rlimit-{}", name)))
      plan_.rlimits.push_back({resource, name, value});
  }
  void held_by(const char* limit, std::string mechanism) {
    plan_.enforcement.push_back({limit, std::move(mechanism)});
  }

  void always() {
    // Not 0: a core_pattern that is a pipe stops at exactly 1 (core(5)), and the filter keeps it
    // so.
    rlimit(RLIMIT_CORE, "core", 1);
    if (facts_.core_helper_is_open)
      plan_.degradations.push_back({"core",
                                    "the caller's hard core limit is 0, and core_pattern a pipe",
                                    "a crash inside starts the host's core helper"});
    if (limits_.files) rlimit(RLIMIT_NOFILE, "nofile", limits_.files);
    rlimit(RLIMIT_FSIZE, "fsize", limits_.file_bytes);
    rlimit(RLIMIT_RTPRIO, "rtprio", 0);  // T63
    rlimit(RLIMIT_NICE, "nice", 0);
    uint64_t most_locked = limits_.memory_bytes ? limits_.memory_bytes / 8 : UINT64_MAX;
    rlimit(RLIMIT_MEMLOCK, "memlock", std::min<uint64_t>(most_locked, 8 << 20));
    // Counted for each user of the host: without a bound one cell takes the timers and queues of
    // all the same user's programs (T55).
    rlimit(RLIMIT_SIGPENDING, "sigpending", 2048);
    rlimit(RLIMIT_MSGQUEUE, "msgqueue", 256 << 10);
    held_by("files", limits_.files ? "rlimit" : kNotAsked);
    held_by("file_size", "rlimit");
    held_by("timeout", "supervisor");
    held_by("output", "supervisor");
  }

  void private_space() {
    if (plan_.tier != Tier::kProcess) return;
    plan_.tmp_bytes = limits_.tmp_bytes;
    // One inode per 4 KiB page of the size, so that empty files can't eat kernel memory (T14).
    plan_.tmp_inodes = std::max<uint64_t>(1024, limits_.tmp_bytes / 4096);
    held_by("tmp_size", "tmpfs");
  }

  // Takes the controller's folder into the plan, once; false when this host has none to give.
  bool use_controller(const char* controller) {
    for (const CgroupSlot& slot : plan_.cgroup.slots)
      if (slot.controller == controller) return true;
    for (const CgroupSlot& slot : facts_.cgroup.slots) {
      if (slot.controller != controller) continue;
      plan_.cgroup.slots.push_back(slot);
      return true;
    }
    return false;
  }
  bool is_v2() const { return facts_.cgroup.version == CgroupFacts::Version::kV2; }
  std::string cgroup_name() const { return is_v2() ? "cgroup v2" : "cgroup v1"; }
  void cgroup_file(const char* controller, const char* v1, const char* v2, std::string value,
                   bool optional = false) {
    const char* file = is_v2() ? v2 : v1;
    if (file && control_enabled(fmt::format("cgroup-{}", controller)))
      plan_.cgroup.files.push_back({controller, file, std::move(value), optional});
  }

  Result<void> memory() {
    if (limits_.memory_bytes == 0) {
      held_by("memory", kNotAsked);
      return {};
    }
    if (use_controller("memory")) {
      std::string bytes = std::to_string(limits_.memory_bytes);
      cgroup_file("memory", "memory.limit_in_bytes", "memory.max", bytes);
      // Swap would be a way around the limit; hosts without swap accounting lack the file.
      cgroup_file("memory", "memory.memsw.limit_in_bytes", nullptr, bytes, true);
      // What waits in sockets, UDP's included, is counted apart there, and without a limit not at
      // all; v2 counts it with the rest.
      cgroup_file("memory", "memory.kmem.tcp.limit_in_bytes", nullptr, bytes, true);
      cgroup_file("memory", nullptr, "memory.swap.max", "0", true);
      cgroup_file("memory", nullptr, "memory.oom.group", "1", true);
      held_by("memory", cgroup_name());
      return {};
    }
    // RLIMIT_DATA counts private writable pages, not reservations: programs that reserve much and
    // touch little (Java, node, Go) keep working, as they would not under RLIMIT_AS.
    rlimit(RLIMIT_DATA, "data", limits_.memory_bytes);
    held_by("memory", "rlimit");
    plan_.degradations.push_back({"memory", facts_.cgroup.why_not,
                                  "private memory of each process is limited, not shared memory "
                                  "and not the cell as a whole"});
    return {};
  }

  Result<void> processes() {
    if (limits_.pids == 0) {
      held_by("pids", kNotAsked);
      return {};
    }
    // … and a warden with its threads, which are none of the program's.
    uint64_t with_init = uint64_t{limits_.pids} + 1 + (plan_.warden ? kWardenThreads : 0);
    if (use_controller("pids")) {
      cgroup_file("pids", "pids.max", "pids.max", std::to_string(with_init));
      held_by("pids", cgroup_name());
      return {};
    }
    // The host's uid 0 is never counted.
    if (facts_.is_host_root && !plan_.throwaway_ids)
      return weaker("pids", "the number of processes is not limited", "none");
    // Since Linux 5.14 RLIMIT_NPROC counts per user namespace, so this counts the cell alone.
    rlimit(RLIMIT_NPROC, "nproc", with_init);
    held_by("pids", "rlimit");
    return {};
  }

  Result<void> cpu() {
    uint32_t all = facts_.cpus * 1000;
    if (limits_.cpu_millis == 0 || limits_.cpu_millis >= all) {
      held_by("cpu", "all cores of this host");
      return {};
    }
    if (use_controller("cpu")) {
      uint64_t quota = uint64_t{limits_.cpu_millis} * kCpuPeriodMicros / 1000;
      cgroup_file("cpu", "cpu.cfs_quota_us", nullptr, std::to_string(quota));
      cgroup_file("cpu", nullptr, "cpu.max", fmt::format("{} {}", quota, kCpuPeriodMicros));
      held_by("cpu", cgroup_name());
      return {};
    }
    // Whole cores can be had by affinity, since the filter keeps the cell from changing it.
    plan_.pin_to_cpus = (limits_.cpu_millis + 999) / 1000;
    if (limits_.cpu_millis % 1000 == 0) {
      held_by("cpu", "affinity");
      return {};
    }
    return weaker("cpu", fmt::format("the cell may use {} whole core(s)", *plan_.pin_to_cpus),
                  "affinity");
  }

  Result<void> cpu_shares() {
    if (!limits_.cpu_shares) return {};
    if (use_controller("cpu")) {
      // v1 counts 2…262144 around 1024, v2 1…10000 around 100: the kernel's own conversion.
      uint64_t shares = std::clamp<uint64_t>(*limits_.cpu_shares, 2, 262144);
      uint64_t weight = 1 + (shares - 2) * 9999 / 262142;
      cgroup_file("cpu", "cpu.shares", "cpu.weight", std::to_string(is_v2() ? weight : shares));
      held_by("cpu_shares", cgroup_name());
      return {};
    }
    return weaker("cpu_shares", "the cell has the same weight as any other process", "none");
  }

  // Never silently weaker: an error, unless the policy calls the field best-effort.
  Result<void> weaker(const char* field, std::string effect, const char* mechanism) {
    if (!policy_.is_best_effort(field))
      return Error::plain(
          fmt::format("cannot limit {}: {}", field, facts_.cgroup.why_not),
          fmt::format("`--best-effort {}` accepts less ({}); `caisson doctor` shows how to get a "
                      "cgroup of your own",
                      field, effect));
    held_by(field, mechanism);
    plan_.degradations.push_back({field, facts_.cgroup.why_not, std::move(effect)});
    return {};
  }

  const Policy& policy_;
  const HostFacts& facts_;
  Plan& plan_;
  const Limits& limits_;
};

}  // namespace

Result<void> plan_limits(const Policy& policy, const HostFacts& facts, Plan& plan) {
  return LimitPlanner(policy, facts, plan).run();
}

}  // namespace caisson
