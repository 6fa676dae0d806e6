// caisson exec: one command in a fresh cell.
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/explanation.h"
#include "cli/gateway_link.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/result_json.h"
#include "host/cgroup_probe.h"
#include "launch/cell.h"
#include "launch/cgroup_names.h"
#include "launch/supervise.h"
#include "launch/terminal_relay.h"
#include "policy/resolve.h"
#include "run/audit.h"
#include "run/audit_encode.h"
#include "sys/monotonic.h"
#include "sys/systemd_scope.h"

namespace caisson {

namespace {

namespace json = boost::json;

std::string random_hex(size_t bytes) {
  unsigned char raw[16]{};
  if (::getrandom(raw, sizeof raw, 0) != sizeof raw) ::abort();
  return hex(std::span<const unsigned char>(raw, bytes));
}

bool is_dev_null(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == ::makedev(1, 3);
}

class Execution {
 public:
  Execution(Job job, const ProcessStart& start)
      : job_(std::move(job)), start_(start), audit_id_(random_hex(8)) {}

  int run() {
    say_notes();
    ask_for_delegation();
    if (Result<void> started = start_gateway(); !started) return setup_error(started.error());
    Result<Plan> plan = make_plan(job_.policy, job_.command, job_.facts);
    if (!plan) return setup_error(plan.error());
    plan_ = std::move(*plan);
    if (job_.flags.dry_run) return dry_run();
    digest_ = digest(job_.policy);
    Result<Outcome> outcome = execute();
    return outcome ? finish(*outcome) : setup_error(outcome.error());
  }

 private:
  void say_notes() const {
    for (const std::string& note : job_.policy.notes) say(note);
    for (const Grant& grant : job_.policy.grants)
      say(fmt::format("granted: {} ({})", grant_name(grant.kind), grant.reason));
  }
  void say(const std::string& line) const { talk("caisson: " + printable(line) + "\n"); }

  // cgroup v2 in a login session: systemd's user manager gives a scope of our own for the asking.
  // When it doesn't, the plan says what can't be limited.
  void ask_for_delegation() {
    const CgroupFacts& cgroup = job_.facts.cgroup;
    if (!cgroup.slots.empty() || cgroup.user_manager.empty() || job_.flags.dry_run) return;
    if (Result<void> entered = enter_delegated_scope(cgroup.user_manager, ::getpid()); !entered) {
      if (job_.flags.verbosity) say(entered.error().what);
      return;
    }
    job_.facts.cgroup = probe_cgroups();
  }

  // Before the plan, which has the authority that it made for the cell in it.
  Result<void> start_gateway() {
    if (!job_.policy.network.needs_gateway() || job_.flags.dry_run) return {};
    GatewayTalk talk{job_.flags.control_fd, job_.flags.denials_fd,
                     [this](const std::string& line) { say(line); }};
    gateway_ = TRY(GatewayLink::start(job_, start_, std::move(talk)));
    return {};
  }

  int dry_run() const {
    if (job_.flags.json_output) return print(explanation_json(job_, plan_));
    std::string text;
    for (const std::string& line : describe(plan_)) text += printable(line) + "\n";
    return print(text);
  }

  Result<Outcome> execute() {
    AuditLog log =
        TRY(AuditLog::open(audit_path(job_.caller.env("XDG_STATE_HOME"), job_.caller.home)));
    log_ = std::make_unique<AuditLog>(std::move(log));
    for (const Degradation& one : plan_.degradations)
      if (job_.flags.verbosity || job_.policy.is_best_effort(one.field))
        say(fmt::format("weaker: {}: {} ({})", one.field, one.effect, one.reason));
    if (job_.flags.verbosity)
      for (const std::string& line : describe(plan_)) say(line);

    LaunchOptions options;
    options.name = new_cgroup_name();
    options.wipe_start = start_.words_start;
    options.wipe_size = start_.words_size;
    options.window = window_of_caller(STDIN_FILENO, STDOUT_FILENO);
    options.inside_cell = job_.caller.env("CAISSON") == "1";
    options.null_stdin = is_dev_null(STDIN_FILENO);
    if (gateway_) options.gateway = gateway_->cell_end();
    options.before_go = [this]() -> Result<void> {
      if (gateway_) TRY(gateway_->await_ready());
      return log_->append(start_event());
    };
    Cell cell = TRY(Cell::launch(plan_, std::move(options)));

    Supervision how;
    how.limits = plan_.limits;
    how.capture = job_.flags.json_output;
    how.terminal = plan_.terminal;
    how.start_ns = start_.ns;
    if (gateway_) gateway_->watch(how);
    Outcome outcome = supervise(std::move(cell), how);
    if (gateway_) gateway_->finish(outcome);
    if (outcome.unsteered) tell_unsteered();
    uint64_t before = monotonic_ns();
    TRY(log_->append(end_event(outcome)));
    outcome.phases.push_back(
        {"record of the end", static_cast<double>(monotonic_ns() - before) / 1e6});
    return outcome;
  }

  void tell_unsteered() {
    plan_.degradations.push_back(
        {"network", "this kernel has no nftables",
         "programs that don't use the proxy variables reach nothing, allowed or not"});
    const Degradation& one = plan_.degradations.back();
    say(fmt::format("weaker: {}: {} ({})", one.field, one.effect, one.reason));
  }

  json::object start_event() const {
    json::array argv, names;
    for (const std::string& word : job_.command.argv) argv.push_back(json::string(word));
    for (const auto& [name, value] : job_.policy.environment) names.push_back(json::string(name));
    json::array grants;
    for (const Grant& grant : job_.policy.grants)
      grants.push_back(json::object{{"name", grant_name(grant.kind)}, {"reason", grant.reason}});
    return {{"kind", "start"},
            {"id", audit_id_},
            {"who",
             json::object{
                 {"uid", job_.caller.uid}, {"user", job_.caller.user_name}, {"pid", ::getpid()}}},
            {"argv", std::move(argv)},
            {"cwd", job_.caller.cwd},
            {"policy_digest", digest_},
            {"tier", tier_name(plan_.tier)},
            {"grants", std::move(grants)},
            {"env_names", std::move(names)},
            {"degradations", degradations_json(plan_.degradations)}};
  }

  json::object end_event(const Outcome& outcome) const {
    return {{"kind", "end"},
            {"id", audit_id_},
            {"status", status_name(outcome.status)},
            {"reason", outcome.reason},
            {"returncode", outcome.exit_code},
            {"duration_ms", std::round(outcome.duration_ms * 1000) / 1000},
            {"usage", usage_json(outcome.usage)},
            {"denials", denials_json(outcome)}};
  }

  int finish(const Outcome& outcome) {
    int code = outcome.exit_code;
    if (job_.flags.json_output) {
      if (print(result_text({outcome, &plan_, digest_, audit_id_})) != 0) code = kOwnError;
    } else if (outcome.status != Status::kOk && outcome.status != Status::kExited) {
      report_end(outcome);
    }
    if (uint64_t cut = outcome.usage.stdout_cut + outcome.usage.stderr_cut;
        cut && !job_.flags.json_output)
      say(fmt::format("{} bytes of output beyond the limit were cut; --output-limit raises it",
                      cut));
    if (job_.flags.timing) print_timing(outcome);
    return code;
  }

  void report_end(const Outcome& outcome) const {
    if (outcome.status == Status::kSignalled && !job_.flags.verbosity)
      return;  // the exit code tells
    std::string text = fmt::format("caisson: {}\n", printable(outcome.reason));
    if (!outcome.hint.empty()) text += fmt::format("hint: {}\n", printable(outcome.hint));
    talk(text);
  }

  int setup_error(const Error& error) {
    if (job_.flags.json_output) print(setup_error_text(error, &plan_, digest_));
    return report(error);
  }

  void print_timing(const Outcome& outcome) const {
    std::string text;
    double total = 0;
    for (const Phase& phase : outcome.phases) {
      text += fmt::format("{:8.3f} ms  {}\n", phase.milliseconds, phase.name);
      if (!phase.name.starts_with(' ')) total += phase.milliseconds;
    }
    text += fmt::format("{:8.3f} ms  in all, since main()\n", total);
    talk(text);
  }

  Job job_;
  const ProcessStart& start_;
  std::string audit_id_, digest_;
  Plan plan_;
  std::unique_ptr<AuditLog> log_;
  std::unique_ptr<GatewayLink> gateway_;
};

// For an error in the options themselves: asked for before the command, as far as that can be told.
bool wants_json(std::span<const std::string> args) {
  for (const std::string& word : args) {
    if (word == "--json-output" || word == "--json") return true;
    if (word == "--") break;
  }
  return false;
}

}  // namespace

int exec_command(std::span<const std::string> args, const ProcessStart& start) {
  Result<Job> job = make_job(args, start, Look::kAndMake);
  if (!job) {
    if (wants_json(args)) print(setup_error_text(job.error(), nullptr, ""));
    return report(job.error());
  }
  if (job->flags.help) {
    return print(exec_help());
  }
  return Execution(std::move(*job), start).run();
}

}  // namespace caisson
