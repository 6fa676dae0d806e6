// caisson mcp: the tools for MCP clients, over stdio.
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/control.h"
#include "base/text.h"

#include "cli/cli.h"
#include "cli/load_denials.h"
#include "cli/output.h"
#include "cli/session_policy.h"
#include "cli/session_roots.h"
#include "cli/srt_small_root.h"
#include "host/probe.h"
#include "mcp/confine.h"
#include "mcp/rlm_offer.h"
#include "mcp/scope.h"
#include "mcp/stdio.h"
#include "session/launcher.h"
#include "session/remote_maker.h"
#include "session/state_claim.h"
#include "session/state_folders.h"

namespace caisson {

namespace {

constexpr std::string_view kMcpHelp =
    "caisson mcp [options] [-- options of `caisson exec`…]\n"
    "\n"
    "An MCP server on stdin and stdout: rlm_exec, rlm_load, rlm_get, rlm_vars, rlm_sub_agent,\n"
    "rlm_reset, rlm_checkpoint, rlm_restore, rlm_branch. Nothing is started before the first "
    "call.\n"
    "\n"
    "  --session NAME     keep the state under this name; by default it is kept per project and\n"
    "                     Claude Code session, and for other clients not beyond the server's end\n"
    "  --python PATH      the interpreter (default: python3 of PATH)\n"
    "  --workspace DIR    a folder that the code sees, and may write, as /workspace\n"
    "  --preload MODULE   import it once for all sessions; may be repeated\n"
    "  --state DIR        where snapshots are kept (default: $XDG_STATE_HOME/caisson/mcp)\n"
    "  --settings FILE    srt's settings (files, hosts, credentials) for every session\n"
    "\n"
    "Words behind -- are added to the policy of every session: --tier, --memory, --allow-domain, "
    "…\n";

// The end of a server: what is saved within this is saved. Everything is gone within 200 ms.
constexpr auto kSaveTime = std::chrono::milliseconds(100);

// Where this server's state lies, in the folder of all of them.
struct McpPlace {
  std::string scope;  // empty: nobody comes back to it
  session::StateClaim state;
  std::optional<Error> missing;  // why there is none
  bool is_passing = false;
};

struct McpOptions {
  std::string session, state, settings, project;
  std::vector<std::string> variables;  // for the launches, beyond the usual ones
  session::SessionSpec spec;
  LoadDenials load;                  // what rlm_load must not bring in
  std::vector<std::string> written;  // by sessions, of the host's folders
  McpPlace place;
  bool help = false;
};

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

std::string home_folder() {
  std::string home = variable("HOME");
  return home.starts_with('/') ? home : "/";
}

std::string state_folder() {
  std::string base = variable("XDG_STATE_HOME");
  if (!base.starts_with('/')) base = home_folder() + "/.local/state";
  return base + "/caisson/mcp";
}

std::string current_folder() {
  char* current = ::getcwd(nullptr, 0);
  std::string folder = current ? current : "/";
  ::free(current);
  return folder;
}

std::string absolute(const std::string& path) {
  return path.starts_with('/') ? path : current_folder() + "/" + path;
}

// Where the client works. The variable is the client's own word for it; the folder is that of most
// others.
std::string project_folder() {
  if (std::string told = variable("CLAUDE_PROJECT_DIR"); told.starts_with('/')) return told;
  return current_folder();
}

Result<McpOptions> parse_options(std::span<const std::string> args) {
  McpOptions options;
  options.state = state_folder();
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      options.spec.policy_words.assign(args.begin() + static_cast<long>(i) + 1, args.end());
      break;
    }
    if (args[i] == "--help" || args[i] == "-h") {
      options.help = true;
      return options;
    }
    constexpr std::string_view kKnown[] = {"--session", "--python",   "--workspace", "--preload",
                                           "--state",   "--settings", "--help"};
    size_t equals = args[i].find('=');
    std::string name = args[i].substr(0, equals), value;
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) {
      std::string_view near = nearest(name, kKnown);
      return Error::plain(fmt::format("unknown option \"{}\" of mcp", name),
                          near.empty() ? "`caisson mcp --help` lists the options; those of exec go "
                                         "behind --"
                                       : fmt::format("did you mean {}?", near));
    }
    if (equals != std::string::npos)
      value = args[i].substr(equals + 1);
    else if (++i < args.size())
      value = args[i];
    if (value.empty())
      return Error::plain(fmt::format("{} needs a value", name), "`caisson mcp --help` shows it");
    if (name == "--session") options.session = value;
    if (name == "--python") options.spec.python = value;
    if (name == "--workspace") options.spec.workspace = absolute(value);
    if (name == "--preload") options.spec.preload.push_back(value);
    if (name == "--state") options.state = absolute(value);
    if (name == "--settings") options.settings = absolute(value);
  }
  return options;
}

// `caisson exec` gets what it needs to make a cell, and no key of the client's: the server inherits
// the client's whole environment.
std::vector<std::string> launch_environment(const std::vector<std::string>& more) {
  std::vector<std::string> kept;
  constexpr const char* kNames[] = {
      "PATH",
      "HOME",
      "USER",
      "LANG",
      "TMPDIR",
      "XDG_STATE_HOME",
      "XDG_RUNTIME_DIR",
      "DBUS_SESSION_BUS_ADDRESS",
#ifdef CAISSON_MUTANTS
      "CAISSON_MUTANT",
#endif
  };
  for (const char* name : kNames)
    if (const char* value = ::getenv(name)) kept.push_back(fmt::format("{}={}", name, value));
  for (const std::string& name : more)
    if (const char* value = ::getenv(name.c_str()))
      kept.push_back(fmt::format("{}={}", name, value));
  return kept;
}

Result<void> make_folders(const std::string& path) {
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return Error::system("make " + part);
  }
  return {};
}

session::SessionHostOptions host_options(const McpOptions& options) {
  session::SessionHostOptions host;
  host.state_folder = options.place.state.folder;
  host.state_top = options.state;
  host.home = home_folder();
  host.environment = launch_environment(options.variables);
  options.load.give_to(host);
  host.written = options.written;
  host.known_words = options.spec.policy_words;
  return host;
}

std::string server_folder(const McpOptions& options) {
  return session::own_folder(options.place.state.folder);
}

// Each session takes a few descriptors; the usual soft limit of 1,024 would end at 140 of them.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// What one server process is made of, once it is confined.
struct McpProcess {
  McpProcess(McpOptions told, UniqueFd launcher)
      : options(std::move(told)),
        project(options.project),
        maker(session::RemoteMaker::make(loop, options.place.state.folder, std::move(launcher))),
        sessions(
            loop, [this](Loop& on) { return make_host(on); }, options.spec),
        offer(sessions, places(), [this](mcp::Client& client) { settle(client); }),
        server(loop, offer) {}

  mcp::RlmPlaces places() const {
    bool folders = options.load.folders || !options.spec.workspace.empty();
    return {project, home_folder(), {options.load.hosts, folders}};
  }

  Result<std::unique_ptr<session::SessionHost>> make_host(Loop& on) {
    if (options.place.missing) return *options.place.missing;
    session::SessionHostOptions host = host_options(options);
    host.maker = maker;
    // What nobody can take up again is not saved.
    host.autosave = std::chrono::seconds(keeps ? 30 : 0);
    // The end has little time: then it has little to save.
    host.idle_save = std::chrono::milliseconds(keeps ? 300 : 0);
    return session::SessionHost::make(on, std::move(host));
  }

  void settle(mcp::Client& client) {
    const std::string& scope = options.place.scope;
    client.scope = mcp::random_scope();
    if (scope.empty()) return;
    Result<std::optional<UniqueFd>> held = mcp::lock_scope(server_folder(options), scope);
    if (held && *held) {
      lock = std::move(**held);
      client.scope = scope;
      keeps = true;
      sessions.keep_state();
      return;
    }
    client.notice =
        "another server holds the kept state of this session; this one starts with none, and keeps "
        "none";
  }

  Task<> serve() {
    auto client = std::make_shared<mcp::Client>();
    sessions.tell_person(
        [](const std::string& note) { talk("caisson: --preload: " + printable(note) + "\n"); });
    mcp::StdioOptions stdio;
    stdio.at_end = [this] { return sessions.end_all(kSaveTime); };
    co_await mcp::serve_stdio(server, client, std::move(stdio));
    loop.stop();
  }

  McpOptions options;
  std::string project;
  bool keeps = false;
  UniqueFd lock;
  Loop loop{1};
  std::shared_ptr<session::RemoteMaker> maker;
  mcp::Sessions sessions;
  mcp::RlmOffer offer;
  mcp::Server server;
};

// Read here for its errors, which a person should see at the start and not a model at the first
// call.
Result<void> take_settings(McpOptions& options) {
  options.spec.policy_words =
      TRY(whole_session_words(options.spec.policy_words, current_caller(environ), options.project));
  options.settings = TRY(settings_of_sessions(options.settings, options.spec.policy_words));
  if (options.settings.empty()) return {};
  SettingsForSessions found = TRY(settings_for_sessions(options.settings, options.project));
  for (const std::string& note : found.notes) talk("caisson: " + printable(note) + "\n");
  std::vector<std::string>& words = options.spec.policy_words;
  words.insert(words.begin(), found.words.begin(), found.words.end());
  options.variables = std::move(found.variables);
  options.load = std::move(found.load);
  return {};
}

Result<void> check_folders(McpOptions& options) {
  SessionRoots roots{options.spec.policy_words, {}};
  if (!options.spec.workspace.empty()) roots.workspaces.push_back(options.spec.workspace);
  options.written = TRY(check_roots(roots, current_caller(environ)));
  return {};
}

void hide_from_load(McpOptions& options) {
  options.load.add(load_denials_of(options.spec.policy_words, current_caller(environ)));
}

std::string scope_of(const McpOptions& options) {
  mcp::ScopeKey key{options.project, "claude-code", variable("CLAUDE_CODE_SESSION_ID")};
  if (!options.session.empty()) key = {options.project, "name", options.session};
  return key.id.empty() ? std::string() : mcp::scope_of(key);
}

Result<session::StateClaim> claim_place(const McpOptions& options, const std::string& scope) {
  TRY(make_folders(options.state));
  bool apart = control_enabled("mcp-scope-folder");
  std::string parent = options.state + (scope.empty() && apart ? "/passing" : "/scopes");
  TRY(make_folders(parent));
  if (scope.empty() && apart) return session::claim_passing_state(parent);
  std::optional<session::StateClaim> claim =
      TRY(session::claim_state(parent, apart ? scope : "all", session::Sharing::kTogether));
  if (!claim) return Error::plain("the kept state of this session is being cleared away");
  return std::move(*claim);
}

// Whose sessions they will be is known before anything is read, and so the launcher and Landlock
// get the folder of this scope alone: whoever takes this server over has no other project's, and no
// other conversation's, snapshots and files (C32).
void take_place(McpOptions& options) {
  McpPlace& place = options.place;
  place.scope = scope_of(options);
  place.is_passing = place.scope.empty() && control_enabled("mcp-scope-folder");
  Result<session::StateClaim> claim = claim_place(options, place.scope);
  if (claim) {
    place.state = std::move(*claim);
    return;
  }
  place.missing = claim.error();  // the first call says so
  place.state.folder = options.state + "/none";
}

// All that the server itself may reach: not the folders of cells, beside its own.
std::string reach(const McpOptions& options) {
  return control_enabled("mcp-own-folder") ? server_folder(options) : options.place.state.folder;
}

Result<session::Launcher> start_launcher(const McpOptions& options) {
  session::LauncherOptions launch{.offer = {.base = options.spec}, .host = host_options(options)};
  launch.is_passing = options.place.is_passing;
  launch.no_state = options.place.missing;
  return session::Launcher::start(std::move(launch));
}

// Somebody who tries it by hand sees nothing otherwise, and waits.
void greet_a_person() {
  if (::isatty(STDIN_FILENO))
    talk(
        "caisson: this is an MCP server, which speaks JSON on stdin and stdout to the client that "
        "starts it\nhint: `caisson install` registers it with a client; Ctrl-D ends it\n");
}

// The order is the point: the launcher is made while this process can still make one, and nothing
// that a client sent has been read when this process can do nothing more.
int serve_mcp_client(McpOptions options) {
  options.project = project_folder();
  if (Result<void> taken = take_settings(options); !taken) return report(taken.error());
  greet_a_person();
  if (Result<void> fit = check_folders(options); !fit) return report(fit.error());
  if (!options.spec.policy_words.empty()) hide_from_load(options);
  raise_file_limit();
  take_place(options);
  Result<session::Launcher> launcher = start_launcher(options);
  if (!launcher) return report(launcher.error());
  // The last list of names that this process reads.
  if (!options.place.scope.empty()) mcp::drop_old_state(server_folder(options), ::time(nullptr));
  Result<mcp::Confinement> confined = mcp::confine_server({reach(options)});
  if (!confined) return report(confined.error());
  if (!confined->files)
    talk(
        "caisson: this kernel has no Landlock: what files the server itself may open is not "
        "held\n");
  McpProcess process(std::move(options), launcher->take_socket());
  spawn(process.loop, process.serve());
  process.loop.run();
  process.maker->say_goodbye();
  launcher->finish();
  return 0;
}

}  // namespace

int mcp_command(std::span<const std::string> args) {
  Result<McpOptions> options = parse_options(args);
  if (!options) return report(options.error());
  if (options->help) {
    write_all(STDOUT_FILENO, kMcpHelp);
    return 0;
  }
  return serve_mcp_client(std::move(*options));
}

}  // namespace caisson
