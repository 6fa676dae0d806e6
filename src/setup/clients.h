// Where each client keeps its MCP servers: one table, checked against the clients' own documents in
// November 2026.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace caisson::setup {

enum class Scope { kUser, kProject, kLocal };
enum class Format { kJson, kJsonComments, kToml };

// The folder that a path counts from.
enum class Base {
  kHome,
  kConfigHome,  // $XDG_CONFIG_HOME, or ~/.config
  kProject,     // the current folder
  kRepository,  // the folder above it that holds .git, or the current one
};

struct Place {
  Scope scope;
  Base base;
  std::string_view override_variable;  // names another folder when it is set
  std::string_view override_path;      // the path inside that one
  std::string_view path;               // inside the base
  std::string_view servers;            // the key that holds the servers
  Format format = Format::kJson;
};

// Text that the client gives to its model at every start.
struct RulesPlace {
  Scope scope;
  Base base;
  std::string_view override_variable, override_path;
  std::string_view path;
};

struct Client {
  std::string_view name, title;
  bool says_type;  // entries carry "type": "stdio"
  std::span<const Place> places;
  std::span<const RulesPlace> rules;  // none: the server's own instructions carry them
  std::string_view afterwards;        // what a person does next
};

std::span<const Client> clients();
const Client* find_client(std::string_view name);
const Place* find_place(const Client&, Scope);

std::string_view scope_name(Scope);
std::optional<Scope> parse_scope(std::string_view);

// The name of the entry: tools are then called mcp__rlm__rlm_exec and so on.
constexpr std::string_view kServerName = "rlm";

}  // namespace caisson::setup
