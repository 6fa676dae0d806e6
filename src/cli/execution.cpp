#include "cli/execution.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "base/scope_exit.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/result_json.h"
#include "host/delegation.h"
#include "launch/callers_stream.h"
#include "launch/cell.h"
#include "launch/cgroup_names.h"
#include "launch/supervise.h"
#include "launch/terminal_relay.h"
#include "policy/resolve.h"
#include "run/audit_encode.h"
#include "sys/monotonic.h"

namespace caisson {

namespace {

namespace json = boost::json;

// What the rules for files refused, in the form of --denials-fd. As with the network's, a caller
// who doesn't read must not hold up the cell's clock: a line that doesn't fit now is left out.
std::function<void(const Denial&)> stream_to(int fd) {
  return [fd](const Denial& one) {
    std::string line = json::serialize(json::object{{"denied", true},
                                                    {"rule", printable(one.rule)},
                                                    {"resource", printable(one.resource)},
                                                    {"how_to_allow", printable(one.how_to_allow)}});
    line += '\n';
    if (line.size() <= PIPE_BUF) CallersStream(fd).write(line);  // whole or not at all: pipe(7)
  };
}

std::string random_hex(size_t bytes) {
  unsigned char raw[16]{};
  if (::getrandom(raw, sizeof raw, 0) != sizeof raw) ::abort();
  return hex(std::span<const unsigned char>(raw, bytes));
}

bool is_dev_null(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == ::makedev(1, 3);
}

}  // namespace

Execution::Execution(Job job, const ProcessStart& start, Door door)
    : job_(*new Job(std::move(job))),
      start_(start),
      door_(std::move(door)),
      audit_id_(random_hex(8)),
      plan_(*new Plan) {}

void Execution::say(const std::string& line) const {
  talk(door_.name + ": " + printable(line) + "\n");
}

void Execution::say_lost_output(const Outcome& outcome) const {
  if (outcome.output_lost.empty() || outcome.output_lost == outcome.reason) return;
  talk(fmt::format("{}: {}\nhint: {}\n", door_.name, printable(outcome.output_lost),
                   kLostOutputHint));
}

void Execution::say_notes() const {
  if (door_.quiet && !job_.flags.verbosity) return;
  for (const std::string& note : job_.policy.notes) say(note);
  for (const Grant& grant : job_.policy.grants)
    say(fmt::format("granted: {} ({})", grant_name(grant.kind), grant.reason));
}

// The kernel ends us with our parent. Taking on another id for a moment clears that (prctl(2)), so
// it is asked for again once the cell stands; a parent that ended in between has been replaced.
void Execution::tie_to_parent() const {
  if (job_.flags.parent == 0) return;
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != job_.flags.parent)
    ::_exit(kOwnError);
}

// Where nobody delegates, the plan says what can't be limited.
void Execution::find_control_groups() {
  const Limits& limits = job_.policy.limits;
  if (!limits.memory_bytes && !limits.pids && !limits.cpu_millis) return;  // nothing to hold
  if (job_.flags.dry_run) return;
  Result<void> asked = ask_for_delegation(job_.facts.cgroup);
  if (!asked && job_.flags.verbosity) say(asked.error().what);
}

// Before the plan, which has the authority that it made for the cell in it.
Result<void> Execution::start_gateway() {
  if (!job_.policy.network.needs_gateway() || job_.flags.dry_run) return {};
  GatewayTalk talk{job_.flags.control_fd, job_.flags.denials_fd,
                   [this](const std::string& line) { say(line); }, door_.heard,
                   door_.network_of_line};
  // A signal to the whole process group (^C, timeout(1)) is for the program, which may go on: its
  // gateway starts with all of them blocked, and ends with us or when it is told.
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  ScopeExit restore([&] { ::sigprocmask(SIG_SETMASK, &before, nullptr); });
  gateway_ = TRY(GatewayLink::start(job_, start_, std::move(talk)));
  return {};
}

Result<void> Execution::prepare() {
  tie_to_parent();
  say_notes();
  find_control_groups();
  TRY(start_gateway());
  plan_ = TRY(make_plan(job_.policy, job_.command, job_.facts));
  // v2 would kill the whole cell for one process that asked for too much.
  if (job_.flags.survive_oom)
    std::erase_if(plan_.cgroup.files,
                  [](const CgroupFile& one) { return one.file == "memory.oom.group"; });
  return {};
}

const std::string& Execution::policy_digest() const {
  if (digest_.empty()) digest_ = digest(job_.policy);
  return digest_;
}

Result<Outcome> Execution::execute() {
  // Before the cell begins: what covers the record's folder has to find it.
  AuditLog log =
      TRY(AuditLog::open(audit_path(job_.caller.env("XDG_STATE_HOME"), job_.caller.home)));
  log_ = std::make_unique<AuditLog>(std::move(log));
  for (const Degradation& one : plan_.degradations)
    if (one.aloud || job_.flags.verbosity || job_.policy.is_best_effort(one.field))
      say(fmt::format("weaker: {}: {} ({})", one.field, one.effect, one.reason));
  if (job_.flags.verbosity)
    for (const std::string& line : describe(plan_)) say(line);

  LaunchOptions options;
  options.name = new_cgroup_name();
  options.wipe_start = start_.words_start;
  options.wipe_size = start_.words_size;
  options.turn_ns = start_.callers_turn_ns;
  options.window = window_of_caller(STDIN_FILENO, STDOUT_FILENO);
  options.inside_cell = job_.caller.env("CAISSON") == "1";
  options.null_stdin = is_dev_null(STDIN_FILENO);
  if (gateway_) options.gateway = gateway_->cell_end();
  for (int fd : job_.flags.pass_fds) options.passed.emplace_back(fd);
  options.before_go = [this]() -> Result<void> {
    if (gateway_) TRY(gateway_->await_ready());
    return log_->append(start_event());
  };
  Cell cell = TRY(Cell::launch(plan_, std::move(options)));
  tie_to_parent();

  Supervision how;
  how.limits = plan_.limits;
  how.capture = job_.flags.json_output;
  how.survive_oom = job_.flags.survive_oom;
  how.terminal = plan_.terminal;
  how.start_ns = start_.ns;
  how.heard = door_.heard;
  if (!how.heard && job_.flags.denials_fd >= 0) how.heard = stream_to(job_.flags.denials_fd);
  if (gateway_) gateway_->watch(how);
  Result<void> recorded;
  how.concluded = [&](Outcome& outcome) {
    if (gateway_) gateway_->finish(outcome);
    if (outcome.unsteered) tell_unsteered();
    recorded = log_->append(end_event(outcome));
  };
  Outcome outcome = supervise(std::move(cell), how);
  TRY(std::move(recorded));
  return outcome;
}

void Execution::tell_unsteered() {
  plan_.degradations.push_back(
      {"network", "this kernel has no nftables",
       "programs that don't use the proxy variables reach nothing, allowed or not"});
  const Degradation& one = plan_.degradations.back();
  say(fmt::format("weaker: {}: {} ({})", one.field, one.effect, one.reason));
}

json::object Execution::start_event() const {
  json::array argv, names;
  for (const std::string& word : job_.command.argv) argv.push_back(json::string(word));
  for (const auto& [name, value] : job_.policy.environment) names.push_back(json::string(name));
  json::array grants;
  for (const Grant& grant : job_.policy.grants)
    grants.push_back(json::object{{"name", grant_name(grant.kind)}, {"reason", grant.reason}});
  json::object event{{"kind", "start"},
                     {"id", audit_id_},
                     {"who", json::object{{"uid", job_.caller.uid},
                                          {"user", job_.caller.user_name},
                                          {"pid", ::getpid()}}},
                     {"argv", std::move(argv)},
                     {"cwd", job_.caller.cwd},
                     {"policy_digest", policy_digest()},
                     {"tier", tier_name(plan_.tier)},
                     {"grants", std::move(grants)},
                     {"env_names", std::move(names)},
                     {"degradations", degradations_json(plan_.degradations)}};
  if (door_.name != "caisson") event["door"] = door_.name;
  return event;
}

json::object Execution::end_event(const Outcome& outcome) const {
  return {{"kind", "end"},
          {"id", audit_id_},
          {"status", status_name(outcome.status)},
          {"reason", outcome.reason},
          {"returncode", outcome.exit_code},
          {"duration_ms", std::round(outcome.duration_ms * 1000) / 1000},
          {"usage", usage_json(outcome.usage)},
          {"denials", denials_json(outcome)},
          {"denials_left_out", outcome.denials_cut}};  // also where the list is cut
}

}  // namespace caisson
