// srt: the door that answers as Anthropic's sandbox-runtime does (docs/srt.md).
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include <optional>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/execution.h"
#include "cli/output.h"
#include "cli/srt_job.h"
#include "cli/srt_reports.h"
#include "srt/violations.h"

namespace caisson {

namespace {

namespace json = boost::json;

constexpr int kSrtError = 1;

int srt_report(const Error& error) {
  std::string text = "srt: " + printable(error.what) + "\n";
  if (!error.hint.empty()) text += "hint: " + printable(error.hint) + "\n";
  talk(text);
  return kSrtError;
}

class SrtRun {
 public:
  SrtRun(SrtJob job, SrtOptions options, const ProcessStart& start)
      : options_(std::move(options)),
        settings_(std::move(job.settings)),
        notes_(std::move(job.notes)),
        command_text_(std::move(job.command_text)),
        source_(std::move(job.source)),
        execution_(std::move(job.job), start, door()) {}

  int run() {
    if (options_.debug) say_notes();
    if (Result<void> ready = execution_.prepare(); !ready) return srt_report(ready.error());
    Result<Outcome> outcome = execution_.execute();
    if (!outcome) return srt_report(outcome.error());
    leave(finish(*outcome));
  }

 private:
  Door door() {
    Door door{.name = "srt", .quiet = true, .network_of_line = {}, .heard = {}};
    door.network_of_line = [this](std::string_view line) {
      return network_of_srt_line(line, options_, execution_.job());
    };
    if (options_.violations_fd >= 0) door.heard = [this](const Denial& one) { stream(one); };
    return door;
  }

  void say_notes() const {
    execution_.say(fmt::format("settings: {}", source_.name));
    for (const std::string& note : notes_) execution_.say(note);
  }

  int finish(const Outcome& outcome) const {
    report_end(outcome);
    execution_.say_lost_output(outcome);
    std::vector<std::string> lines;
    for (const Denial& denial : outcome.denials)
      if (std::optional<std::string> line = reported(denial)) lines.push_back(std::move(*line));
    std::string block = srt::violations_block(lines, outcome.denials_cut);
    if (!block.empty()) talk(block);
    bool own = outcome.status == Status::kSetupError || outcome.status == Status::kInternalError;
    return own && outcome.exit_code == kOwnError ? kSrtError : outcome.exit_code;
  }

  void report_end(const Outcome& outcome) const {
    bool plain = outcome.status == Status::kOk || outcome.status == Status::kExited ||
                 outcome.status == Status::kSignalled;
    if (plain && !options_.debug) return;
    if (plain) return execution_.say(fmt::format("ended: {}", outcome.reason));
    std::string text = fmt::format("srt: {}\n", printable(outcome.reason));
    if (!outcome.hint.empty()) text += fmt::format("hint: {}\n", printable(outcome.hint));
    talk(text);
  }

  std::optional<std::string> reported(const Denial& denial) const {
    std::string line = srt::violation_line({denial.rule, denial.resource, denial.how_to_allow});
    if (!srt::is_reported(line, command_text_, settings_.ignored)) return std::nullopt;
    return line;
  }

  // As it happens. A reader who doesn't read is not waited for: a pipe that can be written to takes
  // PIPE_BUF bytes.
  void stream(const Denial& denial) const {
    std::optional<std::string> line = reported(denial);
    if (!line) return;
    std::string text = json::serialize(json::object{{"line", *line},
                                                    {"rule", printable(denial.rule)},
                                                    {"resource", printable(denial.resource)},
                                                    {"hint", printable(denial.how_to_allow)}}) +
                       "\n";
    pollfd writable{options_.violations_fd, POLLOUT, 0};
    if (text.size() <= PIPE_BUF && ::poll(&writable, 1, 0) == 1)
      write_all(options_.violations_fd, text);
  }

  SrtOptions options_;
  srt::SrtSettings settings_;
  std::vector<std::string> notes_;
  std::string command_text_;
  SettingsText source_;
  Execution execution_;
};

}  // namespace

int srt_command(std::span<const std::string> args, const ProcessStart& start) {
  Result<SrtOptions> options = read_srt_options(args);
  if (!options) return srt_report(options.error());
  switch (options->verb) {
    case SrtOptions::Verb::kHelp:
      return print(srt_help());
    case SrtOptions::Verb::kVersion:
      return print(kSrtVersion);
    case SrtOptions::Verb::kKeys:
      return print(srt_keys());
    case SrtOptions::Verb::kValidate:
      return srt_validate(*options, start);
    case SrtOptions::Verb::kWrap:
    case SrtOptions::Verb::kRun:
      break;
  }
  settle_heap();
  bool wraps = options->verb == SrtOptions::Verb::kWrap;
  Result<SrtJob> job = make_srt_job(*options, start, wraps ? Look::kOnly : Look::kAndMake);
  if (!job) return srt_report(job.error());
  if (wraps) return print(srt_wrap(*job, *options));
  return SrtRun(std::move(*job), std::move(*options), start).run();
}

}  // namespace caisson
