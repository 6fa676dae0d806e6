#include "cli/serve_launch.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/load_denials.h"
#include "cli/output.h"
#include "cli/serve_setup.h"
#include "cli/session_policy.h"
#include "cli/session_roots.h"
#include "cli/srt_small_root.h"
#include "host/probe.h"
#include "policy/places.h"
#include "run/audit.h"
#include "run/audit_files.h"
#include "web/files.h"
#include "web/sessions.h"

namespace caisson {
namespace {

// Sessions, zygotes and forks in reserve.
constexpr size_t kMostCells = 2 * web::kMostSessions;

std::string from_callers_folder(const Caller& caller, const std::string& path) {
  return path.starts_with('/') ? path : caller.cwd + "/" + path;
}

// A name without a slash is found by PATH.
std::string program(const Caller& caller, const std::string& path) {
  return path.find('/') == path.npos ? path : from_callers_folder(caller, path);
}

// Settings are read here for their errors, which a person should see at the start.
Result<session::SessionOffer> make_offer(const ServeOptions& options, const Caller& caller,
                                         std::vector<std::string>& environment, LoadDenials& load) {
  session::SessionOffer offer;
  offer.choice = clients_choose(options) ? session::Choice::kAnything : session::Choice::kWithin;
  for (const std::string& one : options.pythons) offer.pythons.push_back(program(caller, one));
  for (const std::string& one : options.workspaces)
    offer.workspaces.push_back(from_callers_folder(caller, one));
  if (!offer.pythons.empty()) offer.base.python = offer.pythons.front();
  offer.base.policy_words = TRY(whole_session_words(options.policy_words, caller, caller.cwd));
  load = load_denials_of(offer.base.policy_words, caller);
  if (!options.token_file.empty())
    load.paths.push_back(from_callers_folder(caller, options.token_file));
  std::string own = options.settings.empty() ? "" : from_callers_folder(caller, options.settings);
  std::string settings = TRY(settings_of_sessions(own, offer.base.policy_words));
  if (settings.empty()) return offer;
  SettingsForSessions found = TRY(settings_for_sessions(settings, caller.cwd));
  for (const std::string& note : found.notes) talk("caisson: " + printable(note) + "\n");
  std::vector<std::string>& words = offer.base.policy_words;
  words.insert(words.begin(), found.words.begin(), found.words.end());
  for (const std::string& name : found.variables)
    if (auto value = caller.environment.find(name); value != caller.environment.end())
      environment.push_back(name + "=" + value->second);
  load.add(std::move(found.load));
  return offer;
}

// Cells have an empty folder in the record's place; clients are given the files of a workspace by
// the host, which has not.
Result<void> keep_record_from_clients(const session::SessionOffer& offer, const Caller& caller) {
  RealHostFiles files;
  std::string record(parent_of(audit_path(caller.env("XDG_STATE_HOME"), caller.home)));
  record = files.canonical(record).value_or(record);
  for (const std::string& one : offer.workspaces)
    if (is_within(record, files.canonical(one).value_or(one)))
      return Error::plain(
          fmt::format("--workspace {}: caisson's record of what ran lies in it", printable(one)),
          "name a folder below it, or set XDG_STATE_HOME to another place");
  return {};
}

}  // namespace

Result<ServeLaunch> start_launchers(const ServeOptions& options, const Caller& caller,
                                    const std::string& top, const std::string& socket) {
  ServeLaunch launch;
  std::vector<std::string> environment = exec_environment(caller);
  LoadDenials load;
  launch.offer = TRY(make_offer(options, caller, environment, load));
  TRY(keep_record_from_clients(launch.offer, caller));
  launch.state = TRY(claim_state_of(launch.offer, top, socket));
  const std::string& state = launch.state.folder;
  launch.api_host = {.state_folder = state,
                     .state_top = top,
                     .home = caller.home,
                     .environment = std::move(environment)};
  load.give_to(launch.api_host);
  launch.reach = {load.hosts, load.folders};
  launch.api_host.written =
      TRY(check_roots({launch.offer.base.policy_words, launch.offer.workspaces}, caller));
  launch.api_host.known_words = launch.offer.base.policy_words;
  launch.api_host.hidden_by = [caller](const std::vector<std::string>& words) {
    return hidden_by_words(words, caller);
  };
  launch.api.emplace(TRY(session::Launcher::start({.offer = launch.offer,
                                                   .host = launch.api_host,
                                                   .most_cells = kMostCells,
                                                   .file_work = web::work_on_file,
                                                   .remove_at_end = socket})));
  if (!options.mcp) return launch;
  launch.mcp_host = launch.api_host;
  // Clients of the API may give their sessions any folder, and this launcher doesn't hear of it.
  if (launch.offer.choice == session::Choice::kAnything) launch.mcp_host.written = {""};
  launch.mcp_host.state_folder = state + "/mcp";
  launch.mcp_host.autosave = std::chrono::seconds(0);
  TRY(open_own_folder(launch.mcp_host.state_folder));
  launch.mcp.emplace(TRY(session::Launcher::start(launch.offer.base, launch.mcp_host)));
  return launch;
}

}  // namespace caisson
