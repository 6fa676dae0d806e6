#include "cli/job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/session_roots.h"
#include "cli/srt_small_root.h"
#include "host/probe.h"
#include "policy/places.h"
#include "policy/resolve.h"
#include "policy/schema.h"
#include "policy/units.h"
#include "run/audit.h"
#include "run/audit_files.h"

namespace caisson {

namespace {

constexpr size_t kMostPolicyBytes = 1 << 20, kMostArgsBytes = 4 << 20;

constexpr std::string_view kOtherFlags[] = {
    "--policy",   "--json-output",     "--json",       "--dry-run", "--timing",   "--verbose",
    "--help",     "--control-fd",      "--denials-fd", "--pass-fd", "--die-with", "--survive-oom",
    "--settings", "--settings-folder", "--mount-is",   "--args-fd"};

// A descriptor that the caller left open for us, beyond the three that everybody has.
Result<int> inherited_fd(std::string_view flag, FlagCursor& cursor) {
  std::string text = TRY(cursor.value_for(flag));
  Result<uint32_t> number = parse_count(text, 3, 1 << 20);
  if (!number || ::fcntl(static_cast<int>(*number), F_GETFD) < 0)
    return Error::plain(fmt::format("{} {}: no such descriptor is open", flag, in_quotes(text)),
                        "leave one open for caisson, as in: caisson exec … 3<rules");
  int fd = static_cast<int>(*number);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

// TARGET:FD
Result<KnownMount> known_mount(std::string_view flag, FlagCursor& cursor) {
  std::string text = TRY(cursor.value_for(flag));
  std::vector<std::string_view> parts = split(text, ':');
  Result<uint32_t> number = parse_count(std::string(parts.back()), 3, 1 << 20);
  struct stat found;
  if (parts.size() != 2 || !number || ::fstat(static_cast<int>(*number), &found) != 0)
    return Error::plain(
        fmt::format("{} {}: not TARGET:FD of an open descriptor", flag, in_quotes(text)));
  ::fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC);
  return KnownMount{std::string(parts[0]), found.st_dev, found.st_ino};
}

// From here on the launch goes by the identity (T03, T04); before, it went by a path.
Result<void> check_known_mounts(const std::vector<KnownMount>& known, const Policy& policy) {
  for (const KnownMount& one : known) {
    auto mount = std::ranges::find(policy.mounts, one.target, &Mount::target);
    bool is_same =
        mount != policy.mounts.end() && mount->device == one.device && mount->inode == one.inode;
    if (!is_same)
      return Error::plain(fmt::format("--mount-is {}: something else stands there", one.target),
                          "the folder was moved or replaced since the caller opened it");
  }
  return {};
}

// What is being read, and what it came to.
struct FlagReading {
  Settings& settings;
  ExecFlags flags;
  bool from_fd = false;  // words of --args-fd, among which there is no other
};

// Options as words with a NUL behind each. A command line is everybody's to read (proc(5)), and the
// value of a variable may be a secret. Read anew each time: options are read twice with a policy.
Result<std::vector<std::string>> words_in(int fd) {
  std::string text;
  char piece[4096];
  for (ssize_t got; text.size() <= kMostArgsBytes; text.append(piece, static_cast<size_t>(got))) {
    got = ::pread(fd, piece, sizeof piece, static_cast<off_t>(text.size()));
    if (got < 0) return Error::system(fmt::format("--args-fd {}: read it", fd));
    if (got == 0) break;
  }
  if (text.size() > kMostArgsBytes || (!text.empty() && text.back() != '\0'))
    return Error::plain(fmt::format("--args-fd {}: not words with a NUL behind each", fd),
                        "4 MiB at most, as in: printf '%s\\0' --env A=1 > words");
  std::vector<std::string> words;
  for (std::string_view word : split(text, '\0')) words.emplace_back(word);
  words.pop_back();  // behind the last NUL
  return words;
}

Result<bool> take_other_flag(void* context, std::string_view flag, FlagCursor& cursor);

Result<void> take_words_from(int fd, FlagReading& reading) {
  std::vector<std::string> words = TRY(words_in(fd));
  FlagCursor cursor{.args = words};
  reading.from_fd = true;
  TRY(apply_flags(reading.settings, cursor, take_other_flag, &reading, kOtherFlags));
  reading.from_fd = false;
  bool is_whole = cursor.at == words.size() && (words.empty() || words.back() != "--");
  if (is_whole) return {};
  return Error::plain(fmt::format("--args-fd {}: options only, and no command", fd),
                      "the command goes behind the options, on the command line");
}

Result<bool> take_other_flag(void* context, std::string_view flag, FlagCursor& cursor) {
  FlagReading& reading = *static_cast<FlagReading*>(context);
  ExecFlags& flags = reading.flags;
  if (flag == "--args-fd" && !reading.from_fd) {
    TRY(take_words_from(TRY(inherited_fd(flag, cursor)), reading));
    return true;
  }
  if (flag == "--policy") {
    flags.policy_file = TRY(cursor.value_for(flag));
    return true;
  }
  if (flag == "--settings" || flag == "--settings-folder") {
    (flag == "--settings" ? flags.settings_file : flags.settings_folder) =
        TRY(cursor.value_for(flag));
    return true;
  }
  if (flag == "--json-output" || flag == "--json") return flags.json_output = true;
  if (flag == "--control-fd" || flag == "--denials-fd") {
    (flag == "--control-fd" ? flags.control_fd : flags.denials_fd) =
        TRY(inherited_fd(flag, cursor));
    return true;
  }
  if (flag == "--pass-fd") {
    int fd = TRY(inherited_fd(flag, cursor));
    if (std::ranges::find(flags.pass_fds, fd) != flags.pass_fds.end())
      return Error::plain(fmt::format("--pass-fd {}: given twice", fd), "duplicate it first");
    flags.pass_fds.push_back(fd);
    return true;
  }
  if (flag == "--mount-is") {
    flags.mounts.push_back(TRY(known_mount(flag, cursor)));
    return true;
  }
  if (flag == "--die-with") {
    std::string text = TRY(cursor.value_for(flag));
    Result<uint32_t> number = parse_count(text, 1, 1 << 22);
    if (!number)
      return Error::plain(fmt::format("--die-with {}: not a process id", in_quotes(text)),
                          "the id of the process that starts caisson, as in: --die-with $$");
    flags.parent = static_cast<int>(*number);
    return true;
  }
  if (flag == "--survive-oom") return flags.survive_oom = true;
  if (flag == "--dry-run") return flags.dry_run = true;
  if (flag == "--timing") return flags.timing = true;
  if (flag == "--help" || flag == "-h") return flags.help = true;
  if (flag == "-v" || flag == "--verbose") {
    ++flags.verbosity;
    return true;
  }
  return false;
}

Result<void> read_log_level(const Caller& caller, ExecFlags& flags) {
  std::string level = caller.env("SANDBOX_LOG_LEVEL");
  if (level.empty() || level == "error" || level == "warn" || level == "info") return {};
  if (level == "debug" || level == "trace") {
    ++flags.verbosity;
    return {};
  }
  return Error::plain(fmt::format("SANDBOX_LOG_LEVEL: \"{}\" is no level", level),
                      "use error, warn, info, debug or trace");
}

}  // namespace

Result<std::string> read_policy_file(const std::string& path) {
  RealHostFiles files;
  std::optional<std::string> text = files.read(path, kMostPolicyBytes + 1);
  if (!text)
    return Error::plain(fmt::format("--policy {}: cannot read it as a file", path),
                        "name a JSON file; docs/policy.md has the keys, policies/ examples");
  if (text->size() > kMostPolicyBytes)
    return Error::plain(fmt::format("--policy {}: larger than 1 MiB", path), "make it smaller");
  return std::move(*text);
}

Result<ExecFlags> read_flags(std::span<const std::string> args, Settings& settings,
                             Command& command) {
  FlagReading reading{.settings = settings, .flags = {}};
  FlagCursor cursor{.args = args};
  TRY(apply_flags(settings, cursor, take_other_flag, &reading, kOtherFlags));
  command.argv.assign(args.begin() + static_cast<long>(cursor.at), args.end());
  return std::move(reading.flags);
}

void keep_record_out(const Caller& caller, Look look, Settings& settings) {
  std::string path = audit_path(caller.env("XDG_STATE_HOME"), caller.home);
  if (!path.starts_with('/')) return;  // nor can it be opened
  settings.record_folder = parent_of(path);
  // In the host's view only what is there can be hidden; elsewhere it is made with the record. What
  // can't be made holds no record, and nothing runs without one.
  const FileRules& rules = settings.file_rules;
  if (rules.host_view && !rules.unlimited && look == Look::kAndMake)
    (void)open_own_folder(settings.record_folder);
}

static Result<Job> read_job(std::span<const std::string> args, const ProcessStart& start,
                            Look look) {
  Job job;
  job.caller = current_caller(start.environment);
  Settings settings;
  TRY(apply_environment(settings, job.caller.environment));
  job.flags = TRY(read_flags(args, settings, job.command));
  if (job.flags.help) return job;
  if (!job.flags.policy_file.empty()) {  // it comes first, so that variables and flags win over it
    std::string text = TRY(read_policy_file(job.flags.policy_file));
    settings = {};
    TRY(apply_policy_json(settings, text, job.flags.policy_file));
    TRY(apply_environment(settings, job.caller.environment));
    TRY(read_flags(args, settings, job.command));
  }
  if (!job.flags.settings_file.empty()) {
    if (!job.flags.policy_file.empty())
      return Error::plain("--settings and --policy exclude each other", "give one of them");
    settings = TRY(settings_in_small_root(job.flags, job.caller));
    TRY(apply_environment(settings, job.caller.environment));
    TRY(read_flags(args, settings, job.command));
    // The workspace of a session's cell is made by us, below the home of who wrote the rules; what
    // its words show was checked by its server.
    HiddenBy which = job.flags.survive_oom ? HiddenBy::kNameInside : HiddenBy::kAny;
    TRY(check_shown_parts(settings, job.caller, which));
  }
  TRY(read_log_level(job.caller, job.flags));
  if (job.command.argv.empty() || job.command.argv[0].empty())
    return Error::plain("no command given", "caisson exec [options] [--] command…");
  bool may_make = look == Look::kAndMake && !job.flags.dry_run;
  keep_record_out(job.caller, may_make ? Look::kAndMake : Look::kOnly, settings);
  job.policy = may_make ? TRY(resolve(settings, job.caller, job.command, RealHostFiles()))
                        : TRY(resolve(settings, job.caller, job.command, PretendingHostFiles()));
  TRY(check_known_mounts(job.flags.mounts, job.policy));
  job.facts = probe_host_for(job.policy);
  if (job.policy.tier == Tier::kLandlock) job.facts.lists_children = kernel_lists_children();
  return job;
}

Result<Job> make_job(std::span<const std::string> args, const ProcessStart& start, Look look) {
  Result<Job> job = read_job(args, start, look);
  if (!job && job.error().hint.empty())
    return Error(job.error())
        .with_hint(
            "`caisson exec --help` lists the options, docs/policy.md has "
            "every key and its form");
  return job;
}

std::string exec_help() {
  std::string text =
      "caisson exec [options] [--] command…   run one command in a fresh cell\n"
      "Options end at the first word that is none. docs/policy.md has the whole reference.\n";
  std::string_view group;
  for (const SettingSpec& spec : setting_specs()) {
    if (spec.flag.empty()) continue;
    if (spec.group != group) text += fmt::format("\n{}\n", group = spec.group);
    std::string left = spec.metavar.empty() ? std::string(spec.flag)
                                            : fmt::format("{} {}", spec.flag, spec.metavar);
    text += fmt::format("  {:<26} {}{}\n", left, spec.help,
                        spec.fallback.empty() ? "" : fmt::format(" [{}]", spec.fallback));
  }
  text +=
      "\noutput\n"
      "  --policy FILE              a policy file; variables and flags win over it\n"
      "  --settings FILE            srt's settings; --settings-folder DIR: where they start\n"
      "  --json-output              one JSON object with the result\n"
      "  --dry-run                  stop before anything runs; print the plan\n"
      "  --timing                   where the time went, by phase, on stderr\n"
      "  -v                         say more on stderr\n"
      "  --control-fd N             new rules of the network, a line of JSON each, while it runs\n"
      "  --denials-fd N             what was refused, network and files, a line of JSON each\n"
      "  --args-fd N                more options, a NUL behind each word: nobody else reads them\n"
      "  --pass-fd N                an open descriptor for the program: the first is its 3, then "
      "4, …\n"
      "Exit: the program's code; 124 timeout, 125 own error, 126 not executable, 127 not found, "
      "128+n.\n";
  return text;
}

}  // namespace caisson
