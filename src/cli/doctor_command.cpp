// caisson doctor: what this host can enforce, and the exact fix for what it can't.
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/doctor_report.h"
#include "cli/output.h"
#include "host/probe.h"
#include "launch/cell.h"
#include "launch/cgroup_names.h"
#include "launch/supervise.h"
#include "policy/resolve.h"
#include "run/audit.h"

namespace caisson {

namespace {

constexpr std::string_view kDoctorHelp =
    "caisson doctor [--json]   tell what this host can enforce, and how to fix the rest\n"
    "\n"
    "Tries the parts of a cell out in children that are gone a moment later, starts one cell, and\n"
    "changes nothing but this: empty cgroups that a crash left behind are removed. In a login\n"
    "session it asks systemd for a scope of its own, as exec does.\n"
    "\n"
    "  --json   one object: ok, checks (name, status, found, why, fix), tiers\n"
    "\n"
    "Exit: 0 if the default policy can be enforced in full, 1 if not, 125 for caisson's own "
    "errors.\n";

struct DoctorFlags {
  bool json = false, help = false;
};

Result<DoctorFlags> read_doctor_flags(std::span<const std::string> args) {
  constexpr std::string_view kFlags[] = {"--json", "--help"};
  DoctorFlags flags;
  for (const std::string& word : args) {
    if (word == "--json") {
      flags.json = true;
    } else if (word == "--help" || word == "-h") {
      flags.help = true;
    } else {
      std::string_view near = nearest(word, kFlags);
      return Error::plain(fmt::format("doctor: unknown option \"{}\"", word),
                          near.empty() ? "`caisson doctor --help` lists the options"
                                       : fmt::format("did you mean {}?", near));
    }
  }
  return flags;
}

Result<Outcome> run_one_cell(const Caller& caller, const HostFacts& host,
                             const ProcessStart& start) {
  Command command{{"/bin/sh", "-c", ":"}};
  Policy policy = TRY(resolve(Settings{}, caller, command, RealHostFiles()));
  Plan plan = TRY(make_plan(policy, command, host));
  LaunchOptions options;
  options.name = new_cgroup_name();
  options.wipe_start = start.words_start;
  options.wipe_size = start.words_size;
  options.null_stdin = true;
  Cell cell = TRY(Cell::launch(plan, std::move(options)));
  Supervision how;
  how.limits = plan.limits;
  how.limits.wall = std::chrono::seconds(10);
  how.capture = true;
  how.start_ns = start.ns;
  return supervise(std::move(cell), how);
}

// The parts may work one by one and not together.
Check try_a_cell(const Checks& checks, const Caller& caller, const HostFacts& host,
                 const ProcessStart& start) {
  constexpr const char* kName = "a whole cell";
  if (!enforced_in_full(checks))
    return {kName, CheckStatus::kInfo, "not tried: it would fail, for the reasons above"};
  Result<Outcome> outcome = run_one_cell(caller, host, start);
  constexpr const char* kWhy = "the parts of the boundary work one by one, but not together";
  if (!outcome)
    return {kName, CheckStatus::kFail, outcome.error().what, kWhy, {"# " + outcome.error().hint}};
  if (outcome->status != Status::kOk)
    return {
        kName,
        CheckStatus::kFail,
        outcome->reason.empty() ? fmt::format("exit code {}", outcome->exit_code) : outcome->reason,
        kWhy,
        {"# " + outcome->hint}};
  return {kName, CheckStatus::kOk, "a program ran in one, by the default policy"};
}

Check sweep(const HostFacts& host) {
  CgroupPlan plan;
  plan.version = host.cgroup.version;
  plan.slots = host.cgroup.slots;
  size_t removed = sweep_stale_cgroups(plan);
  return {"stale cgroups", CheckStatus::kInfo,
          removed ? fmt::format("{} removed that a crash had left behind", removed) : "none"};
}

// https://no-color.org: set and not empty.
Colour choose_colour(const Caller& caller) {
  bool wanted =
      ::isatty(STDOUT_FILENO) && caller.env("NO_COLOR").empty() && caller.env("TERM") != "dumb";
  return wanted ? Colour::kAlways : Colour::kNever;
}

}  // namespace

int doctor_command(std::span<const std::string> args, const ProcessStart& start) {
  Result<DoctorFlags> flags = read_doctor_flags(args);
  if (!flags) return report(flags.error());
  if (flags->help) return write_all(STDOUT_FILENO, kDoctorHelp) ? 0 : kOwnError;

  Caller caller = current_caller(start.environment);
  DeepFacts facts =
      gather_deep_facts(caller, audit_path(caller.env("XDG_STATE_HOME"), caller.home));
  DoctorReport found{check_all(facts), landlock_tier_lacks(facts)};
  found.checks.push_back(sweep(facts.host));
  found.checks.push_back(try_a_cell(found.checks, caller, facts.host, start));

  std::string text = flags->json ? report_json(found) : report_text(found, choose_colour(caller));
  if (!write_all(STDOUT_FILENO, text)) return kOwnError;
  return found.ok() ? 0 : 1;
}

}  // namespace caisson
