#include "cli/install_work.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "setup/claude_cli.h"
#include "setup/json_text.h"
#include "setup/repository.h"
#include "setup/store.h"

namespace caisson {

namespace {

namespace json = boost::json;
using setup::Change;
using setup::Edit;
using setup::Receipt;
using setup::Scope;
using setup::Target;

Result<setup::Surroundings> look_around(const Caller& caller) {
  setup::Surroundings around;
  if (caller.home.empty()) return Error::plain("no home folder", "set HOME");
  if (caller.cwd.empty()) return Error::plain("the current folder is gone", "cd to another one");
  auto folder = [&](const char* variable, const char* otherwise) {
    std::string value = caller.env(variable);
    return value.starts_with('/') ? value : caller.home + otherwise;
  };
  around.home = caller.home;
  around.config_home = folder("XDG_CONFIG_HOME", "/.config");
  around.state_home = folder("XDG_STATE_HOME", "/.local/state");
  around.project = caller.cwd;
  setup::Repository repository = setup::find_repository(caller.cwd);
  around.repository = repository.top;
  around.main_repository = repository.main;
  around.variables = {caller.environment.begin(), caller.environment.end()};
  return around;
}

bool same_file(const std::string& path, const char* other) {
  struct stat a {
  }, b{};
  return ::stat(path.c_str(), &a) == 0 && ::stat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// How a client finds this program. The name in PATH outlives an update, where the file behind a
// link does not; a file that others get with the project names no folder of ours if it can.
Result<std::string> own_command(const Caller& caller, Scope scope) {
  char buffer[PATH_MAX];
  std::optional<std::string> found = setup::find_program(caller.env("PATH"), "caisson");
  std::string path;
  if (found && same_file(*found, "/proc/self/exe"))
    path = scope == Scope::kProject ? "caisson" : *found;
  else if (::realpath("/proc/self/exe", buffer))
    path = buffer;
  else
    return Error::system("find caisson's own file");
  if (!is_valid_utf8(path) || printable(path) != path)
    return Error::plain("the path of caisson can't be written into settings: " + path,
                        "move it to a folder with a plain name");
  return path;
}

class Setup {
 public:
  Setup(InstallOptions options, const Caller& caller, char** environment,
        setup::Surroundings around)
      : options_(options),
        caller_(caller),
        environment_(environment),
        around_(std::move(around)),
        receipts_(around_.state_home) {
    outcome_.client = options_.client;
  }

  // Everything is planned before anything is written: a file that can't be edited leaves the
  // others alone too.
  Result<InstallOutcome> install() {
    Scope scope = options_.scope.value_or(Scope::kUser);
    outcome_.scopes = {scope};
    setup::Server server = TRY(server_for(scope));
    for (Target& target : setup::targets(*options_.client, scope, around_)) {
      target.path = TRY(setup::resolve(target));
      auto text = TRY(setup::read_config(target.path));
      outcome_.files.push_back({TRY(setup::plan_install(target, std::move(text), server)), ""});
    }
    note_path(scope, server);
    TRY(choose_claude(scope, server));
    if (options_.dry_run) return std::move(outcome_);
    if (!outcome_.claude_words.empty()) TRY(let_claude_add(server));
    for (FileOutcome& file : outcome_.files) TRY(make(file));
    return std::move(outcome_);
  }

  Result<InstallOutcome> uninstall() {
    for (const setup::Place& place : options_.client->places)
      if (TRY(concerns(place.scope))) outcome_.scopes.push_back(place.scope);
    for (Scope scope : outcome_.scopes) TRY(plan_removal(scope));
    if (options_.dry_run) return std::move(outcome_);
    for (FileOutcome& file : outcome_.files) TRY(undo(file));
    return std::move(outcome_);
  }

 private:
  Result<setup::Server> server_for(Scope scope) {
    outcome_.command = TRY(own_command(caller_, scope));
    return setup::Server{outcome_.command, options_.client->says_type};
  }

  void note_path(Scope scope, const setup::Server& server) {
    if (scope == Scope::kProject && server.command != "caisson")
      outcome_.notes.push_back(
          "caisson is not in PATH, so the project's file names a folder of this machine");
  }

  // Only for an entry that is not there at all: `claude mcp add` refuses to change one.
  Result<void> choose_claude(Scope scope, const setup::Server& server) {
    if (options_.client->name != "claude-code") return {};
    const Edit& edit = outcome_.files[0].edit;
    auto claude = setup::find_program(caller_.env("PATH"), "claude");
    if (!claude || edit.change() == Change::kNone) return {};
    bool absent = !edit.before || edit.levels > 0;
    if (edit.before && !absent) {
      json::object document = TRY(setup::read_json(*edit.before, setup::JsonDialect::kStrict));
      const json::object* at = &document;
      for (const std::string& name : edit.target.container) at = &at->at(name).get_object();
      absent = !at->contains(setup::kServerName);
    }
    if (absent) outcome_.claude_words = setup::claude_add_words(*claude, scope, server.command);
    return {};
  }

  // What it wrote is read back. What it did not write is written here, and said.
  Result<void> let_claude_add(const setup::Server& server) {
    Edit& planned = outcome_.files[0].edit;
    Result<void> ran = setup::run_quietly(outcome_.claude_words, environment_);
    auto now = TRY(setup::read_config(planned.target.path));
    Edit rest = TRY(setup::plan_install(planned.target, now, server));
    if (rest.change() != Change::kNone) {
      outcome_.claude_words.clear();
      outcome_.notes.push_back(
          ran ? "claude mcp add wrote the entry elsewhere; it was put into the file directly"
              : ran.error().what + "; the entry was put into the file directly");
      planned = std::move(rest);
      return {};
    }
    planned.after = std::move(now);
    return {};
  }

  Result<void> make(FileOutcome& file) {
    const Edit& edit = file.edit;
    if (edit.change() == Change::kNone) return {};
    auto earlier = TRY(receipts_.find(edit.target));
    Receipt receipt = setup::make_receipt(edit, earlier);
    receipt.made |= TRY(made_for_another(edit.target));
    bool by_claude = edit.target.kind == Target::Kind::kServer && !outcome_.claude_words.empty();
    // Its own file holds more that it wrote at the same time; a project's holds servers only.
    if (by_claude && edit.target.within.empty()) receipt.exact = false;
    TRY(receipts_.keep(receipt));  // before the edit: a backup that comes later is none
    if (edit.before) file.backup = receipts_.backup_path(receipt);
    if (by_claude) return {};
    std::vector<std::string> folders = TRY(setup::apply_edit(edit, edit.target.path));
    if (folders.empty()) return {};
    receipt.folders = std::move(folders);
    return receipts_.keep(receipt);
  }

  // Claude Code keeps two scopes in one file; whichever goes last takes the file along.
  Result<bool> made_for_another(const Target& mine) {
    for (const setup::Place& place : options_.client->places)
      for (Target& target : setup::targets(*options_.client, place.scope, around_)) {
        Result<std::string> path = setup::resolve(target);
        if (!path || *path != mine.path || target.container == mine.container) continue;
        target.path = *path;
        auto receipt = TRY(receipts_.find(target));
        if (receipt && receipt->made) return true;
      }
    return false;
  }

  Result<bool> concerns(Scope scope) {
    if (options_.scope) return scope == *options_.scope;
    if (scope == Scope::kUser) return true;
    for (Target& target : setup::targets(*options_.client, scope, around_)) {
      target.path = TRY(setup::resolve(target));
      if (TRY(receipts_.find(target))) return true;
    }
    return false;
  }

  Result<void> plan_removal(Scope scope) {
    setup::Server server = TRY(server_for(scope));
    for (Target& target : setup::targets(*options_.client, scope, around_)) {
      target.path = TRY(setup::resolve(target));
      auto text = TRY(setup::read_config(target.path));
      auto receipt = TRY(receipts_.find(target));
      Edit edit = TRY(setup::plan_uninstall(target, std::move(text), server, receipt));
      if (!edit.note.empty()) outcome_.notes.push_back(target.path + ": " + edit.note);
      outcome_.files.push_back({std::move(edit), ""});
    }
    return {};
  }

  Result<void> undo(FileOutcome& file) {
    const Edit& edit = file.edit;
    if (edit.change() != Change::kNone) {
      // Two scopes can share one file: the second edit starts from what the first left.
      auto now = TRY(setup::read_config(edit.target.path));
      if (now != edit.before) {
        setup::Server server{outcome_.command, options_.client->says_type};
        auto receipt = TRY(receipts_.find(edit.target));
        file.edit = TRY(setup::plan_uninstall(edit.target, std::move(now), server, receipt));
      }
      TRY(setup::apply_edit(file.edit, file.edit.target.path));
    }
    if (auto receipt = TRY(receipts_.find(file.edit.target))) receipts_.drop(*receipt);
    return {};
  }

  InstallOptions options_;
  const Caller& caller_;
  char** environment_;
  setup::Surroundings around_;
  setup::Receipts receipts_;
  InstallOutcome outcome_;
};

}  // namespace

Result<InstallOutcome> install(const InstallOptions& options, const Caller& caller,
                               char** environment) {
  return Setup(options, caller, environment, TRY(look_around(caller))).install();
}

Result<InstallOutcome> uninstall(const InstallOptions& options, const Caller& caller,
                                 char** environment) {
  return Setup(options, caller, environment, TRY(look_around(caller))).uninstall();
}

}  // namespace caisson
