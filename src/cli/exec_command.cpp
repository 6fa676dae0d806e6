// caisson exec: one command in a fresh cell.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/execution.h"
#include "cli/explanation.h"
#include "cli/output.h"
#include "cli/result_json.h"

namespace caisson {

namespace {

class ExecDoor {
 public:
  ExecDoor(Job job, const ProcessStart& start) : execution_(std::move(job), start) {}

  int run() {
    if (Result<void> ready = execution_.prepare(); !ready) return setup_error(ready.error());
    if (flags().dry_run) return dry_run();
    Result<Outcome> outcome = execution_.execute();
    if (!outcome) return setup_error(outcome.error());
    leave(finish(*outcome));
  }

 private:
  const ExecFlags& flags() const { return execution_.job().flags; }

  int dry_run() const {
    if (flags().json_output) return print(explanation_json(execution_.job(), execution_.plan()));
    std::string text;
    for (const std::string& line : describe(execution_.plan())) text += printable(line) + "\n";
    return print(text);
  }

  int finish(const Outcome& outcome) {
    int code = outcome.exit_code;
    if (flags().json_output) {
      if (print(result_text({outcome, &execution_.plan(), execution_.policy_digest(),
                             execution_.audit_id()})) != 0)
        code = kOwnError;
    } else if (outcome.status != Status::kOk && outcome.status != Status::kExited) {
      report_end(outcome);
    }
    execution_.say_lost_output(outcome);
    if (uint64_t cut = outcome.usage.stdout_cut + outcome.usage.stderr_cut;
        cut && !flags().json_output)
      execution_.say(fmt::format(
          "{} bytes of output beyond the limit were cut; --output-limit raises it", cut));
    if (flags().timing) print_timing(outcome);
    return code;
  }

  void report_end(const Outcome& outcome) const {
    if (outcome.status == Status::kSignalled && !flags().verbosity) return;  // the exit code tells
    std::string text = fmt::format("caisson: {}\n", printable(outcome.reason));
    if (!outcome.hint.empty()) text += fmt::format("hint: {}\n", printable(outcome.hint));
    talk(text);
  }

  int setup_error(const Error& error) {
    if (flags().json_output)
      print(setup_error_text(error, &execution_.plan(), execution_.policy_digest()));
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

  Execution execution_;
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
  settle_heap();
  Result<Job> job = make_job(args, start, Look::kAndMake);
  if (!job) {
    if (wants_json(args)) print(setup_error_text(job.error(), nullptr, ""));
    return report(job.error());
  }
  if (job->flags.help) {
    return print(exec_help());
  }
  return ExecDoor(std::move(*job), start).run();
}

}  // namespace caisson
