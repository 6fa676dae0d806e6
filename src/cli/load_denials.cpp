#include "cli/load_denials.h"

#include <algorithm>
#include <iterator>

#include "base/control.h"
#include "base/text.h"
#include "cli/session_policy.h"

namespace caisson {

namespace {

// As exec finds it, which is started in "/".
std::string whole_path(const std::string& path, const Caller& caller) {
  if (path.starts_with("~/")) return caller.home + path.substr(1);
  return path.starts_with('/') ? path : "/" + path;
}

}  // namespace

void LoadDenials::add(LoadDenials other) {
  std::ranges::move(other.paths, std::back_inserter(paths));
  std::ranges::move(other.patterns, std::back_inserter(patterns));
  hosts = hosts || other.hosts;
  folders = folders || other.folders;
}

void LoadDenials::give_to(session::SessionHostOptions& host) const {
  host.deny_load.insert(host.deny_load.end(), paths.begin(), paths.end());
  host.load_patterns.insert(host.load_patterns.end(), patterns.begin(), patterns.end());
}

void add_load_denials(const Settings& settings, const Caller& caller, LoadDenials& to) {
  auto keep = [&](const std::string& path) {
    if (!path.empty()) to.paths.push_back(whole_path(path, caller));
  };
  for (const auto& [spec, origin] : settings.secrets)
    if (spec.source == SecretSource::kFile) keep(spec.from);
  const NetworkDetails& details = settings.network_details;
  for (const MaskSpec& mask : details.masks)
    if (mask.source == SecretSource::kFile) keep(mask.from);
  if (details.end_tls) keep(details.end_tls->key_path);
  keep(settings.record_folder);
  auto add = [&](const std::vector<FilePattern>& list, bool allow) {
    for (const FilePattern& one : list) to.patterns.push_back({one.text, one.literal, allow});
  };
  add(settings.file_rules.deny_read, false);
  add(settings.file_rules.allow_read, true);
  bool whole = settings.allow_network && !settings.allow_network.value->empty();
  to.hosts = to.hosts || whole || !settings.allow_domains.empty() || !settings.requests.empty() ||
             !settings.forward.empty();
  to.folders = to.folders || !settings.mounts.empty() || settings.workspace;
}

LoadDenials load_denials_of(std::span<const std::string> words, const Caller& caller) {
  LoadDenials out;
  Result<std::optional<SessionPolicy>> policy = read_session_policy(words, caller);
  if (!policy || !*policy) {
    out.paths.push_back("/");
    return out;
  }
  bool is_known =
      (*policy)->flags.settings_file.empty() || control_enabled("session-load-settings");
  if (is_known) add_load_denials((*policy)->settings, caller, out);
  return out;
}

Result<session::HiddenFromLoad> hidden_by_words(std::span<const std::string> words,
                                                const Caller& caller) {
  std::optional<SessionPolicy> policy = TRY(read_session_policy(words, caller));
  if (!policy) {
    Settings settings;
    Command command;
    TRY(read_flags(words, settings, command));
    return Error::plain("--settings and --policy exclude each other", "give one of them");
  }
  LoadDenials out;
  add_load_denials(policy->settings, caller, out);
  return session::HiddenFromLoad{std::move(out.paths), std::move(out.patterns)};
}

}  // namespace caisson
