#include "setup/plan.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "setup/json_text.h"
#include "setup/rules.h"
#include "setup/toml_text.h"

namespace caisson::setup {

namespace {

namespace json = boost::json;

std::string server_name() { return std::string(kServerName); }

JsonDialect dialect(const Target& target) {
  return target.format == Format::kJson ? JsonDialect::kStrict : JsonDialect::kComments;
}

Error in_file(const Target& target, Error error) {
  error.what = target.path + ": " + error.what;
  return error;
}

// Ours by what it runs, not by its name: somebody else may have an "rlm" too.
bool is_ours(std::string_view command, bool runs_mcp, const Server& server) {
  if (!runs_mcp) return false;
  size_t slash = command.rfind('/');
  std::string_view program = slash == std::string_view::npos ? command : command.substr(slash + 1);
  return program == "caisson" || command == server.command;
}

// An entry as it stands in the file.
struct Standing {
  enum class Kind { kAbsent, kOurs, kForeign } kind = Kind::kAbsent;
  std::string command;
};

std::string_view text_or_empty(const json::value* value) {
  const json::string* text = value ? value->if_string() : nullptr;
  return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

Result<Standing> json_standing(const Target& target, std::string_view text, const Server& server) {
  json::object document = TRY(read_json(text, dialect(target)));
  if (depth_of(document, target.container) != target.container.size()) return Standing{};
  const json::object* at = &document;
  for (const std::string& name : target.container) at = &at->at(name).get_object();
  const json::value* entry = at->if_contains(server_name());
  if (!entry) return Standing{};
  const json::object* object = entry->if_object();
  if (!object) return Standing{Standing::Kind::kForeign};
  const json::value* args = object->if_contains("args");
  const json::array* words = args ? args->if_array() : nullptr;
  bool runs_mcp = words && !words->empty() && text_or_empty(&words->front()) == "mcp";
  std::string command(text_or_empty(object->if_contains("command")));
  bool ours = is_ours(command, runs_mcp, server);
  return Standing{ours ? Standing::Kind::kOurs : Standing::Kind::kForeign, command};
}

Result<Standing> toml_standing(const Target& target, std::string_view text, const Server& server) {
  auto found = TRY(find_toml_server(text, target.container[0], server_name()));
  if (!found) return Standing{};
  bool runs_mcp = found->args.starts_with("[\"mcp\"") || found->args.starts_with("['mcp'");
  bool ours = is_ours(found->command, runs_mcp, server);
  return Standing{ours ? Standing::Kind::kOurs : Standing::Kind::kForeign, found->command};
}

Result<Standing> standing(const Target& target, std::string_view text, const Server& server) {
  return target.format == Format::kToml ? toml_standing(target, text, server)
                                        : json_standing(target, text, server);
}

json::object entry(const Server& server) {
  json::object object;
  if (server.says_type) object["type"] = "stdio";
  object["command"] = server.command;
  object["args"] = json::array{"mcp"};
  return object;
}

Result<JsonAdded> add(const Target& target, std::string_view text, const Server& server) {
  if (target.format == Format::kToml)
    return JsonAdded{
        TRY(add_toml_server(text, target.container[0], server_name(), server.command))};
  return add_member(text, dialect(target), target.container, server_name(), entry(server));
}

// The program lies elsewhere now; what a person added to the entry stays.
Result<std::string> move(const Target& target, std::string_view text, const Server& server) {
  if (target.format == Format::kToml) {
    auto found = TRY(find_toml_server(text, target.container[0], server_name()));
    return move_toml_server(text, *found, server.command);
  }
  std::vector<std::string> path = target.container;
  path.push_back(server_name());
  return replace_string(text, dialect(target), path, "command", server.command);
}

Result<std::string> remove(const Target& target, std::string_view text, size_t levels) {
  if (target.format == Format::kToml)
    return remove_toml_server(text, target.container[0], server_name());
  return remove_member(text, dialect(target), target.container, server_name(), levels);
}

Result<void> install_server(Edit& edit, std::string_view text, const Server& server) {
  Standing now = TRY(standing(edit.target, text, server));
  if (now.kind == Standing::Kind::kForeign)
    return Error::plain(fmt::format("an entry \"{}\" is there that is not caisson's", kServerName),
                        "it was left alone; rename it or take it out, then try again");
  if (now.kind == Standing::Kind::kAbsent) {
    JsonAdded added = TRY(add(edit.target, text, server));
    edit.after = std::move(added.text);
    edit.levels = added.levels;
  } else if (now.command != server.command) {
    edit.after = TRY(move(edit.target, text, server));
  }
  return {};
}

// Whether nothing but an empty document is left.
bool is_empty(const Target& target, std::string_view text) {
  std::string_view rest = trim(text);
  return rest.empty() ||
         (target.kind == Target::Kind::kServer && target.format != Format::kToml && rest == "{}");
}

Result<void> uninstall_structure(Edit& edit, const Server& server, const Receipt* receipt) {
  const std::string& text = *edit.before;
  if (edit.target.kind == Target::Kind::kRules) {
    edit.after = TRY(without_rules(text));
  } else {
    Standing now = TRY(standing(edit.target, text, server));
    if (now.kind == Standing::Kind::kForeign)
      edit.note = fmt::format("its \"{}\" is not caisson's and stays", kServerName);
    if (now.kind != Standing::Kind::kOurs) return {};
    edit.after = TRY(remove(edit.target, text, receipt ? receipt->levels : 0));
  }
  // A file of rules only was ours; a file of settings is only known to be by its receipt.
  bool made = receipt ? receipt->made : edit.target.kind == Target::Kind::kRules;
  if (made && *edit.after != text && is_empty(edit.target, *edit.after)) edit.after.reset();
  return {};
}

}  // namespace

Change Edit::change() const {
  if (before == after) return Change::kNone;
  if (!before) return Change::kCreate;
  return after ? Change::kEdit : Change::kDelete;
}

std::string_view change_name(Change change) {
  constexpr std::string_view kNames[] = {"unchanged", "created", "changed", "removed"};
  return kNames[static_cast<size_t>(change)];
}

Result<Edit> plan_install(const Target& target, std::optional<std::string> before,
                          const Server& server) {
  Edit edit{.target = target, .before = before, .after = before};
  std::string_view text = edit.before ? std::string_view(*edit.before) : std::string_view();
  if (target.kind == Target::Kind::kRules) {
    Result<std::string> after = with_rules(text);
    if (!after) return in_file(target, after.error());
    edit.after = std::move(*after);
    return edit;
  }
  Result<void> done = install_server(edit, text, server);
  if (!done) return in_file(target, done.error());
  return edit;
}

Result<Edit> plan_uninstall(const Target& target, std::optional<std::string> before,
                            const Server& server, const std::optional<Receipt>& receipt) {
  Edit edit{.target = target, .before = before, .after = before};
  if (!edit.before) return edit;
  if (receipt && receipt->exact && receipt->after == sha256_hex(*edit.before)) {
    edit.after.reset();
    if (receipt->existed) edit.after = receipt->original;
    return edit;
  }
  Result<void> done = uninstall_structure(edit, server, receipt ? &*receipt : nullptr);
  if (!done) return in_file(target, done.error());
  return edit;
}

}  // namespace caisson::setup
