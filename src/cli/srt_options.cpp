#include "cli/srt_options.h"

#include <fcntl.h>

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "policy/units.h"

namespace caisson {

namespace {

constexpr std::string_view kSrtHelp =
    R"(srt [options] [--] command…            run a command under rules for files and the network
srt [options] -c STRING                the same for a line of shell
srt validate FILE [--json]             what is wrong with a settings file, all of it
srt wrap --json [options] command…     the argv and environment that a program can start itself

Options end at the first word that is none.
  -s, --settings FILE    settings [~/.srt-settings.json; without it nothing may be written or reached]
      --settings-fd N    settings from a descriptor, so that nobody can change them meanwhile
  -c STRING              run it by bash -c
  -d, --debug            say on stderr what is done and why
      --control-fd N     new settings, one JSON object a line, while it runs: for the network
      --violations-fd N  what was refused, one JSON object a line
      --lenient          unknown keys are passed over, as the original does, instead of errors
  -V, --version   -h, --help
Exit: the command's own code; 1 an error of srt's own, 126 not executable, 127 not found, 128+n
signal. docs/srt.md has every key.
)";

constexpr std::string_view kFlags[] = {"--settings",   "--settings-fd",   "--debug",
                                       "--control-fd", "--violations-fd", "--lenient",
                                       "--version",    "--help",          "--json"};

struct Cursor {
  std::span<const std::string> args;
  size_t at = 0;
  std::optional<std::string> inline_value;

  Result<std::string> value_for(std::string_view flag) {
    if (inline_value) return *std::exchange(inline_value, std::nullopt);
    if (at >= args.size())
      return Error::plain(fmt::format("{}: its value is missing", flag), "`srt --help`");
    return args[at++];
  }
};

// A descriptor that the caller left open for us. It is ours alone: the command never has it.
Result<int> inherited_srt_fd(std::string_view flag, Cursor& cursor) {
  std::string text = TRY(cursor.value_for(flag));
  Result<uint32_t> number = parse_count(text, 3, 1 << 20);
  if (!number || ::fcntl(static_cast<int>(*number), F_GETFD) < 0)
    return Error::plain(fmt::format("{} {}: no such descriptor is open", flag, in_quotes(text)),
                        "3 or more, left open for srt, as in: srt … 3<settings");
  ::fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC);
  return static_cast<int>(*number);
}

Error unknown_option(std::string_view flag) {
  std::string_view near = nearest(flag, kFlags);
  return Error::plain(fmt::format("unknown option {}", in_quotes(flag)),
                      near.empty() ? "`srt --help` lists them; the command's own come behind it"
                                   : fmt::format("did you mean {}?", near));
}

Result<void> take_flag(std::string_view flag, Cursor& cursor, SrtOptions& out) {
  if (flag == "-d" || flag == "--debug") {
    out.debug = true;
  } else if (flag == "-s" || flag == "--settings") {
    out.settings_file = TRY(cursor.value_for(flag));
    if (out.settings_file.empty())
      return Error::plain(fmt::format("{}: the name is empty", flag), "name a settings file");
  } else if (flag == "-c") {
    out.shell_text = TRY(cursor.value_for(flag));
    out.has_shell_text = true;
  } else if (flag == "--settings-fd") {
    out.settings_fd = TRY(inherited_srt_fd(flag, cursor));
  } else if (flag == "--control-fd") {
    out.control_fd = TRY(inherited_srt_fd(flag, cursor));
  } else if (flag == "--violations-fd") {
    out.violations_fd = TRY(inherited_srt_fd(flag, cursor));
  } else if (flag == "--lenient") {
    out.lenient = true;
  } else if (flag == "--json") {
    out.json = true;
  } else if (flag == "-V" || flag == "--version") {
    out.verb = SrtOptions::Verb::kVersion;
  } else if (flag == "-h" || flag == "--help") {
    out.verb = SrtOptions::Verb::kHelp;
  } else {
    return unknown_option(flag);
  }
  if (cursor.inline_value)
    return Error::plain(fmt::format("{} takes no value", flag), "`srt --help`");
  return {};
}

// "--settings=FILE" and "-sFILE", as commander takes them.
std::string_view split_value(std::string_view word, Cursor& cursor) {
  if (word.starts_with("--")) {
    size_t equals = word.find('=');
    if (equals != std::string_view::npos) cursor.inline_value = word.substr(equals + 1);
    return word.substr(0, equals);
  }
  if (word.size() > 2 && (word[1] == 's' || word[1] == 'c')) {
    cursor.inline_value = word.substr(2);
    return word.substr(0, 2);
  }
  return word;
}

Result<void> take_options(Cursor& cursor, SrtOptions& out) {
  while (cursor.at < cursor.args.size()) {
    const std::string& word = cursor.args[cursor.at];
    if (word == "--") {
      ++cursor.at;
      out.no_more_options = true;
      return {};
    }
    if (word.size() < 2 || word[0] != '-') return {};
    ++cursor.at;
    std::string_view flag = split_value(word, cursor);
    TRY(take_flag(flag, cursor, out));
    if (out.verb == SrtOptions::Verb::kHelp || out.verb == SrtOptions::Verb::kVersion) return {};
  }
  return {};
}

Result<void> take_verb(Cursor& cursor, SrtOptions& out) {
  if (out.no_more_options || out.has_shell_text || cursor.at >= cursor.args.size()) return {};
  const std::string& word = cursor.args[cursor.at];
  if (word == "windows-install" || word == "windows-uninstall")
    return Error::plain(fmt::format("{}: this is not Windows", word), "it needs no installation");
  if (word == "proxy")
    return Error::plain("proxy: the gateway is a part of every run, and not to be had alone",
                        "srt -- proxy runs a program of that name");
  if (word == "validate") out.verb = SrtOptions::Verb::kValidate;
  if (word == "wrap") out.verb = SrtOptions::Verb::kWrap;
  if (word == "keys") out.verb = SrtOptions::Verb::kKeys;
  if (out.verb == SrtOptions::Verb::kRun) return {};
  ++cursor.at;
  return take_options(cursor, out);
}

}  // namespace

Result<SrtOptions> read_srt_options(std::span<const std::string> args) {
  SrtOptions out;
  Cursor cursor{.args = args};
  TRY(take_options(cursor, out));
  TRY(take_verb(cursor, out));
  out.words.assign(args.begin() + static_cast<long>(cursor.at), args.end());
  if (out.verb == SrtOptions::Verb::kValidate && !out.words.empty() &&
      out.words.back() == "--json") {
    out.json = true;
    out.words.pop_back();
  }
  if (out.settings_fd >= 0 && !out.settings_file.empty())
    return Error::plain("--settings and --settings-fd exclude each other", "give one of them");
  return out;
}

std::string srt_help() { return std::string(kSrtHelp); }

}  // namespace caisson
