#include "cli/serve_launch.h"

#include <filesystem>

#include "base/text.h"
#include "cli/output.h"
#include "cli/serve_setup.h"
#include "cli/srt_small_root.h"
#include "run/audit_files.h"
#include "web/files.h"
#include "web/sessions.h"

namespace caisson {
namespace {

// Sessions, zygotes and forks in reserve.
constexpr size_t kMostCells = 2 * web::kMostSessions;

std::string absolute(const Caller& caller, const std::string& path) {
  return path.starts_with('/') ? path : caller.cwd + "/" + path;
}

// A name without a slash is found by PATH.
std::string program(const Caller& caller, const std::string& path) {
  return path.find('/') == path.npos ? path : absolute(caller, path);
}

// Settings are read here for their errors, which a person should see at the start.
Result<session::SessionOffer> make_offer(const ServeOptions& options, const Caller& caller,
                                         std::vector<std::string>& environment) {
  session::SessionOffer offer;
  offer.choice = clients_choose(options) ? session::Choice::kAnything : session::Choice::kWithin;
  for (const std::string& one : options.pythons) offer.pythons.push_back(program(caller, one));
  for (const std::string& one : options.workspaces)
    offer.workspaces.push_back(absolute(caller, one));
  std::vector<std::string> real;
  for (const std::string& one : offer.workspaces) {
    std::error_code none;  // what is not there yet is told when a session asks for it
    real.push_back(std::filesystem::weakly_canonical(one, none).string());
  }
  TRY(session::check_workspaces(real));
  if (!offer.pythons.empty()) offer.base.python = offer.pythons.front();
  offer.base.policy_words = options.policy_words;
  if (options.settings.empty()) return offer;
  SettingsForSessions found =
      TRY(settings_for_sessions(absolute(caller, options.settings), caller.cwd));
  for (const std::string& note : found.notes) talk("caisson: " + printable(note) + "\n");
  std::vector<std::string>& words = offer.base.policy_words;
  words.insert(words.begin(), found.words.begin(), found.words.end());
  for (const std::string& name : found.variables)
    if (auto value = caller.environment.find(name); value != caller.environment.end())
      environment.push_back(name + "=" + value->second);
  return offer;
}

}  // namespace

Result<ServeLaunch> start_launchers(const ServeOptions& options, const Caller& caller,
                                    const std::string& state, const std::string& socket) {
  ServeLaunch launch;
  std::vector<std::string> environment = exec_environment(caller);
  launch.offer = TRY(make_offer(options, caller, environment));
  launch.api_host = {
      .state_folder = state, .home = caller.home, .environment = std::move(environment)};
  launch.api.emplace(TRY(session::Launcher::start({.offer = launch.offer,
                                                   .host = launch.api_host,
                                                   .most_cells = kMostCells,
                                                   .file_work = web::work_on_file,
                                                   .remove_at_end = socket})));
  if (!options.mcp) return launch;
  launch.mcp_host = launch.api_host;
  launch.mcp_host.state_folder = state + "/mcp";
  launch.mcp_host.autosave = std::chrono::seconds(0);
  TRY(open_own_folder(launch.mcp_host.state_folder));
  launch.mcp.emplace(TRY(session::Launcher::start(launch.offer.base, launch.mcp_host)));
  return launch;
}

}  // namespace caisson
