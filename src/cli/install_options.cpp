#include "cli/install_options.h"

#include <fmt/format.h>
#include <vector>

#include "base/text.h"

namespace caisson {

namespace {

using setup::Client;

constexpr std::string_view kOptions[] = {"--scope", "--dry-run", "--json", "--help"};

std::string scopes_of(const Client& client) {
  std::vector<std::string> names;
  for (const setup::Place& place : client.places) names.emplace_back(scope_name(place.scope));
  return join(names, ", ");
}

std::string client_names() {
  std::vector<std::string> names;
  for (const Client& client : setup::clients()) names.emplace_back(client.name);
  return join(names, ", ");
}

Result<const Client*> parse_client(std::string_view verb, const std::string& word) {
  if (const Client* client = setup::find_client(word)) return client;
  std::vector<std::string_view> names;
  for (const Client& client : setup::clients()) names.push_back(client.name);
  std::string_view near = nearest(word, names);
  return Error::plain(
      fmt::format("{}: no client is called \"{}\"", verb, word),
      near.empty() ? "known are " + client_names() : fmt::format("did you mean {}?", near));
}

Result<setup::Scope> parse_scope_word(std::string_view verb, const std::string& word) {
  if (auto scope = setup::parse_scope(word)) return *scope;
  return Error::plain(fmt::format("{}: --scope \"{}\": no such scope", verb, word),
                      "write user, project or local");
}

class InstallParser {
 public:
  InstallParser(std::string_view verb, std::span<const std::string> args)
      : verb_(verb), args_(args) {}

  Result<InstallOptions> parse() {
    while (at_ < args_.size()) TRY(word(args_[at_++]));
    if (options_.help) return options_;
    if (!options_.client)
      return Error::plain(fmt::format("{}: which client?", verb_), "one of " + client_names());
    if (options_.scope && !setup::find_place(*options_.client, *options_.scope))
      return Error::plain(fmt::format("{}: {} has no {} scope", verb_, options_.client->title,
                                      scope_name(*options_.scope)),
                          "it has: " + scopes_of(*options_.client));
    return options_;
  }

 private:
  Result<void> word(const std::string& word) {
    if (word == "--dry-run") return set(options_.dry_run);
    if (word == "--json") return set(options_.json);
    if (word == "--help" || word == "-h") return set(options_.help);
    if (word.starts_with("--scope=")) return scope(word.substr(8));
    if (word == "--scope") return scope(at_ < args_.size() ? args_[at_++] : "");
    if (!word.starts_with('-') && !options_.client) {
      options_.client = TRY(parse_client(verb_, word));
      return {};
    }
    std::string_view near = nearest(word, kOptions);
    return Error::plain(fmt::format("{}: unknown {} \"{}\"", verb_,
                                    word.starts_with('-') ? "option" : "word", word),
                        near.empty() ? fmt::format("`caisson {} --help` lists them", verb_)
                                     : fmt::format("did you mean {}?", near));
  }
  Result<void> set(bool& flag) {
    flag = true;
    return {};
  }
  Result<void> scope(const std::string& value) {
    options_.scope = TRY(parse_scope_word(verb_, value));
    return {};
  }

  std::string_view verb_;
  std::span<const std::string> args_;
  size_t at_ = 0;
  InstallOptions options_;
};

}  // namespace

Result<InstallOptions> parse_install_options(std::string_view verb,
                                             std::span<const std::string> args) {
  return InstallParser(verb, args).parse();
}

std::string install_help(std::string_view verb) {
  std::string text =
      fmt::format("caisson {} CLIENT [--scope user|project|local] [--dry-run] [--json]\n\n", verb);
  text +=
      verb == "install"
          ? "Registers the MCP server `caisson mcp` with a client. What is in its files stays; a\n"
            "backup is kept; a second time changes nothing.\n"
          : "Takes out what `caisson install` put in. Without --scope: wherever it was put for\n"
            "this user and this project.\n";
  text += "\nclients\n";
  for (const Client& client : setup::clients())
    text +=
        fmt::format("  {:<16} {:<16} scopes: {}\n", client.name, client.title, scopes_of(client));
  text +=
      "\noptions\n"
      "  --scope SCOPE    user: every project of yours (default); project: a file in this folder,\n"
      "                   for everybody who works on it; local: you, in this project\n"
      "  --dry-run        show the edits, make none\n"
      "  --json           the outcome as JSON\n";
  return text;
}

}  // namespace caisson
