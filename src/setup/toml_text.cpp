#include "setup/toml_text.h"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

namespace caisson::setup {

namespace {

using Kind = TomlStatement::Kind;

bool starts_with(const std::vector<std::string>& path, const std::string& parent,
                 const std::string& name) {
  return path.size() >= 2 && path[0] == parent && path[1] == name;
}

bool is_header(const TomlStatement& one, const std::string& parent, const std::string& name) {
  return one.kind == Kind::kTable && one.path.size() == 2 && starts_with(one.path, parent, name);
}

Error in_another_way(const std::string& parent, const std::string& name) {
  return Error::plain(
      fmt::format("{}.{} is written in a way that can't be edited safely", parent, name),
      fmt::format("write it as a table, [{}.{}], or take it out; then try again", parent, name));
}

std::string toml_quoted(std::string_view text) {
  return boost::json::serialize(
      boost::json::string(boost::json::string_view(text.data(), text.size())));
}

std::string without_blanks(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') out += c;
  return out;
}

}  // namespace

Result<std::optional<TomlServer>> find_toml_server(std::string_view text, const std::string& parent,
                                                   const std::string& name) {
  std::optional<TomlServer> server;
  bool inside = false;
  for (const TomlStatement& one : TRY(toml_statements(text))) {
    if (one.kind != Kind::kKey) inside = starts_with(one.path, parent, name);
    if (is_header(one, parent, name)) {
      server.emplace();
    } else if (starts_with(one.path, parent, name)) {
      if (!server || !inside) return in_another_way(parent, name);
      if (one.kind != Kind::kKey || one.path.size() != 3) continue;
      std::string_view value = text.substr(one.value, one.value_end - one.value);
      if (one.path[2] == "command") {
        server->command = toml_string(value).value_or("");
        server->command_key = one;
      } else if (one.path[2] == "args") {
        server->args = without_blanks(value);
      }
    } else if (one.path == std::vector{parent} && one.kind != Kind::kTable) {
      return in_another_way(parent, name);
    }
  }
  return server;
}

Result<std::string> add_toml_server(std::string_view text, const std::string& parent,
                                    const std::string& name, const std::string& command) {
  size_t before = TRY(toml_statements(text)).size();
  std::string newline = text.find("\r\n") == std::string_view::npos ? "\n" : "\r\n";
  std::string out(text);
  if (!out.empty() && out.back() != '\n') out += newline;
  if (!out.empty()) out += newline;
  out += fmt::format("[{}.{}]{}command = {}{}args = [\"mcp\"]{}", parent, name, newline,
                     toml_quoted(command), newline, newline);
  if (TRY(toml_statements(out)).size() != before + 3)
    return Error::plain("the edit would have changed something else too; nothing was written");
  return out;
}

Result<std::string> move_toml_server(std::string_view text, const TomlServer& server,
                                     const std::string& command) {
  std::string out(text.substr(0, server.command_key.value));
  out += toml_quoted(command);
  out += text.substr(server.command_key.value_end);
  TRY(toml_statements(out));
  return out;
}

// From the header to the last statement of the table and its sub-tables: a comment behind that
// belongs to what comes next. The empty line in front is ours.
Result<std::string> remove_toml_server(std::string_view text, const std::string& parent,
                                       const std::string& name) {
  size_t begin = std::string::npos, end = 0;
  for (const TomlStatement& one : TRY(toml_statements(text))) {
    if (is_header(one, parent, name)) begin = one.begin;
    if (begin == std::string::npos) continue;
    if (!starts_with(one.path, parent, name)) break;
    end = one.end;
  }
  if (begin == std::string::npos) return std::string(text);
  std::string out(text.substr(0, begin));
  if (out.ends_with("\n\n"))
    out.pop_back();
  else if (out.ends_with("\n\r\n"))
    out.resize(out.size() - 2);
  out += text.substr(end);
  TRY(toml_statements(out));
  return out;
}

}  // namespace caisson::setup
