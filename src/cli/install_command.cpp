// caisson install, caisson uninstall: the MCP server in the settings of its clients.
#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/install_work.h"
#include "cli/output.h"
#include "host/probe.h"

namespace caisson {

namespace {

namespace json = boost::json;
using setup::Scope;
using setup::Target;

std::string as_json(const InstallOutcome& outcome, const InstallOptions& options) {
  json::array files, notes, scopes, command, claude;
  for (const FileOutcome& file : outcome.files) {
    json::object one{{"path", file.edit.target.path},
                     {"holds", file.edit.target.kind == Target::Kind::kRules ? "rules" : "server"},
                     {"change", setup::change_name(file.edit.change())}};
    if (!file.backup.empty()) one["backup"] = file.backup;
    if (options.dry_run) one["diff"] = setup::diff_text(file.edit);
    files.push_back(std::move(one));
  }
  for (const std::string& note : outcome.notes) notes.push_back(json::string(note));
  for (Scope scope : outcome.scopes) scopes.push_back(json::string(setup::scope_name(scope)));
  for (const std::string& word : outcome.claude_words) claude.push_back(json::string(word));
  return json::serialize(json::object{{"client", outcome.client->name},
                                      {"scopes", std::move(scopes)},
                                      {"dry_run", options.dry_run},
                                      {"changed", outcome.changed()},
                                      {"command", json::array{outcome.command, "mcp"}},
                                      {"ran", std::move(claude)},
                                      {"files", std::move(files)},
                                      {"notes", std::move(notes)}}) +
         "\n";
}

std::string change_text(const InstallOutcome& outcome, const InstallOptions& options,
                        bool installing) {
  std::string text;
  if (options.dry_run && !outcome.claude_words.empty()) {
    std::string words;
    for (const std::string& word : outcome.claude_words) words += " " + shell_quote(word);
    text += "would run:" + words + "\nwhich amounts to:\n";
  }
  for (const FileOutcome& file : outcome.files) {
    if (options.dry_run) {
      text += setup::diff_text(file.edit);
      continue;
    }
    bool rules = file.edit.target.kind == Target::Kind::kRules;
    text += fmt::format("{:<10} {} ({})\n", setup::change_name(file.edit.change()),
                        printable(file.edit.target.path), rules ? "rules" : "server");
    if (!file.backup.empty()) text += fmt::format("{:<10} {}\n", "  backup", file.backup);
  }
  if (!outcome.changed())
    text += fmt::format("{}: nothing to do\n", outcome.client->title);
  else if (installing && !options.dry_run)
    text += fmt::format("{}: {}\n", outcome.client->title, outcome.client->afterwards);
  return text;
}

int run(std::string_view verb, std::span<const std::string> args, const ProcessStart& start) {
  bool installing = verb == "install";
  Result<InstallOptions> options = parse_install_options(verb, args);
  if (!options) return report(options.error());
  if (options->help) return print(install_help(verb));
  Caller caller = current_caller(start.environment);
  Result<InstallOutcome> outcome = installing ? install(*options, caller, start.environment)
                                              : uninstall(*options, caller, start.environment);
  if (!outcome) return report(outcome.error());
  if (options->json) return print(as_json(*outcome, *options));
  for (const std::string& note : outcome->notes) talk("caisson: " + printable(note) + "\n");
  return print(change_text(*outcome, *options, installing));
}

}  // namespace

int install_command(std::span<const std::string> args, const ProcessStart& start) {
  return run("install", args, start);
}

int uninstall_command(std::span<const std::string> args, const ProcessStart& start) {
  return run("uninstall", args, start);
}

}  // namespace caisson
