#include "setup/clients.h"

namespace caisson::setup {

namespace {

using enum Scope;
using enum Format;

// Local is Claude Code's word for "me, in this project": the same file as the user's, with the
// servers under projects.<repository>.mcpServers.
constexpr Place kClaudeCode[] = {
    {kUser, Base::kHome, "CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json", "mcpServers"},
    {kLocal, Base::kHome, "CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json", "mcpServers"},
    {kProject, Base::kProject, "", "", ".mcp.json", "mcpServers"},
};
constexpr RulesPlace kClaudeCodeRules[] = {
    {kUser, Base::kHome, "CLAUDE_CONFIG_DIR", "rules/caisson.md", ".claude/rules/caisson.md"},
    {kLocal, Base::kRepository, "", "", "CLAUDE.local.md"},
    {kProject, Base::kProject, "", "", ".claude/rules/caisson.md"},
};
constexpr Place kClaudeDesktop[] = {
    {kUser, Base::kConfigHome, "", "", "Claude/claude_desktop_config.json", "mcpServers"},
};
constexpr Place kCursor[] = {
    {kUser, Base::kHome, "", "", ".cursor/mcp.json", "mcpServers", kJsonComments},
    {kProject, Base::kProject, "", "", ".cursor/mcp.json", "mcpServers", kJsonComments},
};
constexpr Place kVsCode[] = {
    {kUser, Base::kConfigHome, "", "", "Code/User/mcp.json", "servers", kJsonComments},
    {kProject, Base::kProject, "", "", ".vscode/mcp.json", "servers", kJsonComments},
};
constexpr Place kCodex[] = {
    {kUser, Base::kHome, "CODEX_HOME", "config.toml", ".codex/config.toml", "mcp_servers", kToml},
    {kProject, Base::kProject, "", "", ".codex/config.toml", "mcp_servers", kToml},
};
constexpr Place kZed[] = {
    {kUser, Base::kConfigHome, "", "", "zed/settings.json", "context_servers", kJsonComments},
    {kProject, Base::kProject, "", "", ".zed/settings.json", "context_servers", kJsonComments},
};
constexpr Place kGemini[] = {
    {kUser, Base::kHome, "", "", ".gemini/settings.json", "mcpServers", kJsonComments},
    {kProject, Base::kProject, "", "", ".gemini/settings.json", "mcpServers", kJsonComments},
};

constexpr Client kClients[] = {
    {"claude-code", "Claude Code", true, kClaudeCode, kClaudeCodeRules,
     "start Claude Code anew; /mcp shows the server"},
    {"claude-desktop", "Claude Desktop", false, kClaudeDesktop, {}, "start Claude Desktop anew"},
    {"cursor", "Cursor", true, kCursor, {}, "Cursor asks once whether to turn the server on"},
    {"vscode", "VS Code", true, kVsCode, {}, "VS Code asks once whether to trust the server"},
    {"codex", "Codex", false, kCodex, {}, "start Codex anew; /mcp shows the server"},
    {"zed", "Zed", false, kZed, {}, "Zed reads its settings by itself"},
    {"gemini",
     "Gemini CLI",
     false,
     kGemini,
     {},
     "start Gemini CLI anew, in a folder that it trusts; /mcp shows the server"},
};

constexpr std::string_view kScopes[] = {"user", "project", "local"};

}  // namespace

std::span<const Client> clients() { return kClients; }

const Client* find_client(std::string_view name) {
  for (const Client& client : kClients)
    if (client.name == name) return &client;
  return nullptr;
}

const Place* find_place(const Client& client, Scope scope) {
  for (const Place& place : client.places)
    if (place.scope == scope) return &place;
  return nullptr;
}

std::string_view scope_name(Scope scope) { return kScopes[static_cast<size_t>(scope)]; }

std::optional<Scope> parse_scope(std::string_view text) {
  for (Scope scope : {kUser, kProject, kLocal})
    if (scope_name(scope) == text) return scope;
  return {};
}

}  // namespace caisson::setup
