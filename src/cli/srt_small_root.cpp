#include "cli/srt_small_root.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/srt_job.h"
#include "host/probe.h"
#include "policy/places.h"
#include "policy/units.h"

namespace caisson {

namespace {

struct Read {
  SrtJob job;
  std::vector<std::string> notes;
};

// What is true of a command under srt, and can't be of a session in its small root.
Result<void> check_for_small_root(const srt::SrtSettings& said, const std::string& name) {
  if (said.filesystem.disabled)
    return Error::plain(name + ": filesystem.disabled: the files of a cell are never without rules",
                        "take it out, and name folders in filesystem.allowWrite");
  if (!said.network.publish.empty())
    return Error::plain(name + ": network.publish: several sessions can't have one port",
                        "take it out; `caisson srt` publishes ports");
  return {};
}

Result<Read> read(const std::string& file, const std::string& folder, Caller caller) {
  Read out;
  if (!folder.empty()) caller.cwd = folder;
  out.job.source = TRY(settings_in_file(file, caller));
  out.job.job.caller = std::move(caller);
  const std::string& name = out.job.source.name;
  srt::Reading reading = TRY(srt::read_settings(out.job.source.text, name, srt::Unknown::kError));
  for (const srt::Remark& one : reading.remarks)
    out.notes.push_back(fmt::format("{}: {}", one.path, one.text));
  out.job.settings = TRY(srt::usable(std::move(reading), name));
  TRY(check_for_small_root(out.job.settings, name));
  // Less than the host's whole tree, whatever readMode says: denyRead has nothing to hide then but
  // parts of what allowRead and allowWrite show.
  out.job.settings.filesystem.read_mode = srt::ReadMode::kAllowList;
  return out;
}

// srt has none, and a session has.
void put_limits_back(Settings& settings) {
  auto put_back = [](auto& setting) {
    if (setting.origin == "srt has no limits") setting = {};
  };
  put_back(settings.timeout);
  put_back(settings.memory);
  put_back(settings.pids);
  put_back(settings.files);
  put_back(settings.file_size);
  put_back(settings.cpu_millis);
  put_back(settings.output_limit);
  put_back(settings.tmp_size);
}

// The same path as a pattern that only a look at the name can answer. A path without wildcards is
// hidden by a mount in the host's view; in the small root there is none, so the warden is to judge
// it.
std::string judged_by_name(const FilePattern& one) {
  if (!one.literal && one.text.find_first_of("*?[") != std::string::npos) return one.text;
  size_t last = one.text.size();
  while (last > 0 && !std::isalnum(static_cast<unsigned char>(one.text[last - 1]))) --last;
  std::string out;
  for (size_t i = 0; i < one.text.size(); ++i) {
    char c = one.text[i];
    bool bracket = i + 1 == last || c == '*' || c == '?' || c == '[';
    out += bracket ? fmt::format("[{}]", c) : std::string(1, c);
  }
  return out;
}

// denyRead within what is shown. Elsewhere there is nothing to hide.
void hide_parts(Settings& settings) {
  for (FilePattern& one : settings.file_rules.deny_read) {
    bool shown = std::ranges::any_of(settings.mounts, [&](const MountRequest& mount) {
      return is_within(one.text, mount.source);
    });
    if (!shown) continue;
    one.text = judged_by_name(one);
    one.literal = false;
  }
}

// A writable folder in another one shows nothing new, and is a name that a session could turn
// elsewhere (session_roots.h).
void drop_what_is_within(std::vector<MountRequest>& mounts) {
  auto writes = [](const MountRequest& one) {
    return one.access == Access::kReadWrite && one.source == one.target;
  };
  std::vector<MountRequest> kept;
  for (MountRequest& one : mounts) {
    bool within = writes(one) && std::ranges::any_of(mounts, [&](const MountRequest& other) {
                    return writes(other) && other.source.size() < one.source.size() &&
                           is_within(one.source, other.source);
                  });
    if (!within) kept.push_back(one);
  }
  mounts = std::move(kept);
}

bool is_the_callers(const EnvironmentRequest& one) {
  return one.origin == "the caller's environment";
}

}  // namespace

Result<Settings> settings_in_small_root(const ExecFlags& flags, const Caller& caller) {
  Read read = TRY(caisson::read(flags.settings_file, flags.settings_folder, caller));
  RealHostFiles files;
  srt::Mapped mapped = TRY(mapped_settings(read.job, files));
  std::erase_if(mapped.settings.env_set, is_the_callers);
  put_limits_back(mapped.settings);
  drop_what_is_within(mapped.settings.mounts);
  hide_parts(mapped.settings);
  return std::move(mapped.settings);
}

Result<SettingsForSessions> settings_for_sessions(const std::string& file,
                                                  const std::string& folder) {
  Read read = TRY(caisson::read(file, folder, current_caller(environ)));
  RealHostFiles files;
  srt::Mapped mapped = TRY(mapped_settings(read.job, files));
  SettingsForSessions out;
  out.notes = std::move(read.notes);
  out.notes.insert(out.notes.end(), mapped.notes.begin(), mapped.notes.end());
  out.words = {"--settings", read.job.source.path, "--settings-folder", folder};
  // A session has limits of its own; those of the file come behind them, and win.
  for (const auto& [name, text] : read.job.settings.limits) {
    if (name == "timeout" || name == "output")
      return Error::plain(
          fmt::format("{}: limits.{}: of a whole command, and a session is none", file, name),
          "rlm_exec has a timeout, and long output is cut");
    std::string flag = name == "file_size" ? "fsize" : name == "tmp_size" ? "tmp-size" : name;
    out.words.push_back("--" + flag);
    out.words.push_back(text);
  }
  for (const srt::Credential& one : read.job.settings.credentials)
    if (one.mask && one.spec.source == SecretSource::kEnvironment)
      out.variables.push_back(one.spec.from);
  add_load_denials(mapped.settings, read.job.job.caller, out.load);
  return out;
}

}  // namespace caisson
