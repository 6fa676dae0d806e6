#include "cli/srt_job.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/unique_fd.h"
#include "host/probe.h"
#include "policy/network.h"
#include "policy/places.h"
#include "policy/resolve.h"
#include "policy/units.h"
#include "srt/mapping.h"

namespace caisson {

namespace {

constexpr size_t kMostSettings = 1 << 20;
constexpr std::string_view kDefault =
    R"({"network":{"allowedDomains":[],"deniedDomains":[]},)"
    R"("filesystem":{"denyRead":[],"allowRead":[],"allowWrite":[],"denyWrite":[]}})";

Result<std::string> read_descriptor(int fd, const std::string& name) {
  std::string text;
  char buffer[65536];
  for (;;) {
    ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Error::system(fmt::format("{}: read it", name)).with_hint("name a settings file");
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMostSettings)
      return Error::plain(fmt::format("{}: more than 1 MiB", name),
                          "settings are shorter than that");
  }
}

// Found in the caller's PATH; the line is the shell's, so bash is what it was written for.
std::string shell_of(const Caller& caller, const HostFiles& files) {
  std::string path = caller.env("PATH");
  for (std::string_view folder : split(path, ':')) {
    if (!folder.starts_with('/')) continue;
    std::optional<FileIdentity> found = files.look(fmt::format("{}/bash", folder));
    if (found && found->kind == FileIdentity::Kind::kFile && found->executable) return "bash";
  }
  return "sh";
}

Result<void> choose_command(const SrtOptions& options, const HostFiles& files, SrtJob& out) {
  Job& job = out.job;
  if (options.has_shell_text) {
    if (!options.words.empty())
      return Error::plain("-c and a command exclude each other", "give one of them");
    job.command.argv = {shell_of(job.caller, files), "-c", options.shell_text};
    out.command_text = options.shell_text;
    return {};
  }
  job.command.argv = options.words;
  if (job.command.argv.empty() || job.command.argv[0].empty())
    return Error::plain("no command given", "srt [options] [--] command…, or srt -c STRING");
  out.command_text = join(options.words, " ");
  return {};
}

// A terminal of its own only where all three are one: else stdout and stderr would run together.
bool has_terminal() {
  return ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO) && ::isatty(STDERR_FILENO);
}

std::string default_settings_path(const Caller& caller) {
  return (caller.env("HOME").empty() ? caller.home : caller.env("HOME")) + "/.srt-settings.json";
}

// A command that could write them would choose the rules of the next run.
void keep_settings(const SrtJob& job, Settings& settings) {
  if (settings.file_rules.unlimited) return;
  for (const std::string& path : {job.source.path, default_settings_path(job.job.caller)}) {
    if (!path.starts_with('/')) continue;
    settings.file_rules.deny_write.push_back({.text = path,
                                              .literal = true,
                                              .origin = "srt's settings",
                                              .reason = "they are the rules of the next run"});
  }
}

}  // namespace

Result<srt::Mapped> mapped_settings(const SrtJob& from, const HostFiles& files) {
  srt::Mapped mapped = TRY(srt::map_settings({from.settings, from.job.caller, files}));
  keep_record_out(from.job.caller, Look::kAndMake, mapped.settings);
  keep_settings(from, mapped.settings);
  if (has_terminal()) mapped.settings.tty.set(true, "the caller's terminal");
  return mapped;
}

Result<SettingsText> find_settings(const SrtOptions& options, const Caller& caller) {
  if (options.settings_fd >= 0)
    return SettingsText{"--settings-fd", TRY(read_descriptor(options.settings_fd, "--settings-fd")),
                        ""};
  bool asked = !options.settings_file.empty();
  std::string path =
      TRY(clean_path(asked ? options.settings_file : default_settings_path(caller), caller.cwd));
  // Only a name that isn't there at all is "no settings": a link into nowhere or a file that can't
  // be read is a mistake, and must not mean the default.
  struct stat info;
  if (!asked && ::lstat(path.c_str(), &info) != 0 && errno == ENOENT)
    return SettingsText{"the built-in settings", std::string(kDefault), ""};
  UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
  if (!file)
    return Error::system(fmt::format("{}: open it", path))
        .with_hint(asked ? "-s names a settings file"
                         : "mend it or take it away: without it nothing may be written or reached");
  return SettingsText{path, TRY(read_descriptor(file.get(), path)), path};
}

Result<SettingsText> settings_in_file(const std::string& file, const Caller& caller) {
  constexpr const char* kHint = "--settings names a JSON file of srt's settings";
  std::string path = TRY(clean_path(file, caller.cwd));
  std::optional<std::string> text = RealHostFiles().read(path, kMostSettings + 1);
  if (!text && ::access(path.c_str(), R_OK) != 0)
    return Error::system(fmt::format("{}: open it", path)).with_hint(kHint);
  if (!text) return Error::plain(fmt::format("{}: cannot read it as a file", path), kHint);
  if (text->size() > kMostSettings)
    return Error::plain(fmt::format("{}: more than 1 MiB", path), "settings are shorter than that");
  return SettingsText{path, std::move(*text), path};
}

Result<SrtJob> make_srt_job(const SrtOptions& options, const ProcessStart& start, Look look) {
  RealHostFiles files;
  SrtJob out;
  Job& job = out.job;
  job.caller = current_caller(start.environment);
  job.flags.control_fd = options.control_fd;
  job.flags.verbosity = options.debug ? 1 : 0;
  job.flags.dry_run = look == Look::kOnly;
  TRY(choose_command(options, files, out));
  out.source = TRY(find_settings(options, job.caller));
  srt::Unknown unknown = options.lenient ? srt::Unknown::kLenient : srt::Unknown::kError;
  srt::Reading reading = TRY(srt::read_settings(out.source.text, out.source.name, unknown));
  for (const srt::Remark& one : reading.remarks)
    out.notes.push_back(fmt::format("{}: {}", one.path, one.text));
  out.settings = TRY(srt::usable(std::move(reading), out.source.name));
  srt::Mapped mapped = TRY(mapped_settings(out, files));
  out.notes.insert(out.notes.end(), mapped.notes.begin(), mapped.notes.end());
  job.policy = TRY(resolve(mapped.settings, job.caller, job.command, files));
  job.facts = probe_host_for(job.policy);
  return out;
}

Result<NetworkPolicy> network_of_srt_line(std::string_view line, const SrtOptions& options,
                                          const Job& job) {
  srt::Unknown unknown = options.lenient ? srt::Unknown::kLenient : srt::Unknown::kError;
  srt::Reading reading = TRY(srt::read_settings(line, "--control-fd", unknown));
  srt::SrtSettings settings = TRY(srt::usable(std::move(reading), "--control-fd"));
  RealHostFiles files;
  srt::Mapped mapped = TRY(srt::map_settings({settings, job.caller, files}));
  Policy policy;
  TRY(resolve_network(mapped.settings, policy));
  return policy.network;
}

}  // namespace caisson
