#include "cli/serve_options.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "policy/units.h"
#include "run/audit.h"

namespace caisson {

const std::string_view kServeHelp =
    "caisson serve: Python sessions over HTTP, on this machine only\n"
    "\n"
    "  caisson serve                       on a unix socket, for you alone\n"
    "  caisson serve --api [HOST:PORT]     on loopback TCP too, with a token\n"
    "\n"
    "Where:\n"
    "  --api [HOST:PORT]     127.0.0.1 and a free port unless said; the address is told on stderr\n"
    "  --socket PATH         another socket than $XDG_RUNTIME_DIR/caisson/serve.sock\n"
    "  --mcp                 the MCP server too, at /mcp (Streamable HTTP), with the same token; "
    "on\n"
    "                        loopback TCP as with --api\n"
    "  --compat-open[=HOST:PORT]\n"
    "                        127.0.0.1:8080 without a token, for /exec /vars /var/NAME /health\n"
    "                        and /snapshot/… only: every program on this machine can use it\n"
    "Who:\n"
    "  --token-file PATH     the token, from a file that only you can read; otherwise one is made\n"
    "                        and written to api-token in the state folder, told on stderr\n"
    "What sessions may be:\n"
    "  --settings FILE       srt's settings (files, hosts, credentials) for every session\n"
    "  --python PATH         an interpreter that sessions may have; the first is that of those "
    "who\n"
    "                        name none. May be repeated\n"
    "  --workspace DIR       a folder that sessions may have as /workspace; may be repeated\n"
    "  --any-policy          clients choose policies, folders and interpreters by request. That "
    "is\n"
    "                        how it is without the options above and without --mcp\n"
    "  -- WORDS…             options of `caisson exec` for every session\n"
    "How long:\n"
    "  --idle TIME           end by itself after so long without a session and a request\n"
    "\n"
    "SIGTERM ends it cleanly, with a snapshot of each session; after a crash, too, sessions come\n"
    "back from their newest snapshot. GET /v1/openapi.json describes the API; docs/api.md tells "
    "it.\n"
    "`caisson session` is a client of the unix socket.\n";

namespace {

constexpr std::string_view kServeWords[] = {
    "--api",  "--socket",   "--compat-open", "--token-file", "--idle",      "--mcp",
    "--help", "--settings", "--python",      "--workspace",  "--any-policy"};
constexpr size_t kMostOffered = 256;
constexpr uint16_t kOpenPort = 8080;

class ServeParser {
 public:
  explicit ServeParser(std::span<const std::string> args) : args_(args) {}

  Result<ServeOptions> parse() {
    while (at_ < args_.size() && args_[at_] != "--") TRY(word(args_[at_++]));
    for (size_t i = at_ + 1; i < args_.size(); ++i) options_.policy_words.push_back(args_[i]);
    if (options_.mcp && !options_.api) options_.api = http::Address{};
    if (!options_.token_file.empty() && !options_.api)
      return Error::plain("serve: --token-file without --api", "the unix socket needs no token");
    if (options_.mcp && options_.idle)
      return Error::plain("serve: --idle with --mcp",
                          "a client of MCP may be silent for hours; leave --idle out");
    ServeOptions without = options_;
    without.any_policy = without.mcp = false;
    if (options_.any_policy && !clients_choose(without))
      return Error::plain("serve: --any-policy with what sessions may be",
                          "leave one out: clients choose, or --settings, --python, --workspace and "
                          "the words behind -- say");
    return options_;
  }

 private:
  Result<void> word(const std::string& word) {
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    if (name == "--help" || name == "-h") {
      options_.help = true;
    } else if (name == "--mcp" && !value) {
      options_.mcp = true;
    } else if (name == "--any-policy" && !value) {
      options_.any_policy = true;
    } else if (name == "--api") {
      bool next = !value && at_ < args_.size() && !args_[at_].starts_with('-');
      if (next) value = args_[at_++];
      options_.api = value ? TRY(http::parse_loopback(*value)) : http::Address{};
    } else if (name == "--compat-open") {
      http::Address usual{.port = kOpenPort};
      options_.open = value ? TRY(http::parse_loopback(*value)) : usual;
    } else {
      return with_value(name, word, value);
    }
    return {};
  }

  Result<void> with_value(const std::string& name, const std::string& word,
                          std::optional<std::string> value) {
    constexpr std::string_view kKnown[] = {"--socket",   "--token-file", "--idle",     "--ready-fd",
                                           "--settings", "--python",     "--workspace"};
    if (std::ranges::find(kKnown, name) == std::end(kKnown)) {
      std::string_view near = nearest(name, kServeWords);
      return Error::plain(
          fmt::format("serve: unknown {} \"{}\"", word.starts_with('-') ? "option" : "word", word),
          near.empty() ? "`caisson serve --help` lists them"
                       : fmt::format("did you mean {}?", near));
    }
    if (!value && at_ < args_.size()) value = args_[at_++];
    if (!value || value->empty())
      return Error::plain(fmt::format("serve: {} needs a value", name),
                          "`caisson serve --help` shows which");
    if (name == "--socket") options_.socket = *value;
    if (name == "--token-file") options_.token_file = *value;
    if (name == "--settings") options_.settings = *value;
    if (name == "--python") options_.pythons.push_back(*value);
    if (name == "--workspace") options_.workspaces.push_back(*value);
    if (std::max(options_.pythons.size(), options_.workspaces.size()) > kMostOffered)
      return Error::plain(fmt::format("serve: too many of {}", name), "256 are the most");
    if (name == "--idle") options_.idle = TRY(parse_duration(*value));
    if (name == "--ready-fd")
      options_.ready_fd = static_cast<int>(TRY(parse_count(*value, 3, 1023)));
    return {};
  }

  std::span<const std::string> args_;
  size_t at_ = 0;
  ServeOptions options_;
};

}  // namespace

bool clients_choose(const ServeOptions& options) {
  return options.any_policy ||
         (!options.mcp && options.settings.empty() && options.pythons.empty() &&
          options.workspaces.empty() && options.policy_words.empty());
}

Result<ServeOptions> parse_serve_options(std::span<const std::string> args) {
  return ServeParser(args).parse();
}

std::string serve_state_folder(const Caller& caller) {
  std::string audit = audit_path(caller.env("XDG_STATE_HOME"), caller.home);
  return audit.substr(0, audit.rfind('/')) + "/serve";
}

std::string serve_socket_path(const Caller& caller) {
  std::string runtime = caller.env("XDG_RUNTIME_DIR");
  if (runtime.starts_with('/')) return runtime + "/caisson/serve.sock";
  return serve_state_folder(caller) + "/serve.sock";
}

}  // namespace caisson
