#include "cli/log_options.h"

#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "policy/units.h"
#include "run/timestamp.h"

namespace caisson {

const std::string_view kLogHelp =
    "caisson log: the record of every execution\n"
    "\n"
    "  caisson log [options]          show executions, oldest first\n"
    "  caisson log verify [options]   check the chain: exit 0 if whole, 1 if not, and where\n"
    "\n"
    "Which:\n"
    "  --since WHEN     1h, 30m, 7d, or a point in time (2026-07-31, 2026-07-31T09:30:00Z)\n"
    "  --status STATUS  ok exited signalled timeout oom limit setup_error internal_error,\n"
    "                   running, no-end (killed before its end was recorded),\n"
    "                   tail_mended, chain_broken (what writers found at the end of the file)\n"
    "  --id PREFIX      by audit_id\n"
    "  -n N             the last N\n"
    "How:\n"
    "  --json           the events as stored, one JSON object per line; with verify, one object\n"
    "  -f, --follow     go on with new events until Ctrl-C\n"
    "  --file PATH      another file than $XDG_STATE_HOME/caisson/audit.jsonl\n"
    "\n"
    "verify compares the file with audit.head beside it, too: lines missing at the end show only\n"
    "there. Keep the hash that it prints elsewhere if you must know that nobody rewrote both.\n";

namespace {

constexpr std::string_view kStatuses[] = {"ok",      "exited", "signalled",   "timeout",
                                          "oom",     "limit",  "setup_error", "internal_error",
                                          "running", "no-end", "tail_mended", "chain_broken"};
constexpr std::string_view kWords[] = {"--since", "--status", "--id",     "-n",     "--json",
                                       "-f",      "--file",   "--follow", "--help", "verify"};

std::string did_you_mean(std::string_view near, std::string otherwise) {
  return near.empty() ? otherwise : fmt::format("did you mean {}?", near);
}

Result<int64_t> parse_since(const std::string& text, int64_t now_ms) {
  if (Result<int64_t> moment = parse_timestamp(text); moment.ok()) return *moment;
  constexpr int64_t kDay = 24 * 3600;
  bool days = text.ends_with('d');
  auto length = parse_duration(days ? text.substr(0, text.size() - 1) : text);
  if (!length || !*length)
    return Error::plain(fmt::format("--since {}: neither a duration nor a point in time", text),
                        "write 1h, 30m, 7d, 2026-07-31 or 2026-07-31T09:30:00Z");
  return now_ms - (*length)->count() * (days ? kDay : 1);
}

Result<std::string> parse_status(const std::string& text) {
  for (std::string_view status : kStatuses)
    if (text == status) return text;
  return Error::plain(fmt::format("--status {}: no such status", text),
                      did_you_mean(nearest(text, kStatuses), "`caisson log --help` lists them"));
}

Result<uint64_t> parse_last(const std::string& text) {
  uint64_t value = 0;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    return Error::plain(fmt::format("-n {}: not a number", text), "write how many, as in -n 20");
  return value;
}

class LogParser {
 public:
  LogParser(std::span<const std::string> args, int64_t now_ms) : args_(args), now_ms_(now_ms) {}

  Result<LogOptions> parse() {
    while (at_ < args_.size()) TRY(word(args_[at_++]));
    if (options_.verify && (options_.filters() || options_.follow))
      return Error::plain(options_.follow ? "log verify: --follow is not for it"
                                          : "log verify: takes --json and --file only",
                          "it always checks the whole chain");
    return options_;
  }

 private:
  Result<void> word(const std::string& word) {
    if (word == "verify" && !options_.verify) return set(options_.verify);
    if (word == "--json") return set(options_.json);
    if (word == "--follow" || word == "-f") return set(options_.follow);
    if (word == "--help" || word == "-h") return set(options_.help);
    return option_with_value(word);
  }
  Result<void> set(bool& flag) {
    flag = true;
    return {};
  }
  Result<void> option_with_value(const std::string& word) {
    size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    std::string name = word.substr(0, equals);
    if (name == "--since")
      options_.since_ms = TRY(parse_since(TRY(value(word, equals)), now_ms_));
    else if (name == "--status")
      options_.status = TRY(parse_status(TRY(value(word, equals))));
    else if (name == "--id")
      options_.id_prefix = TRY(value(word, equals));
    else if (name == "-n")
      options_.last = TRY(parse_last(TRY(value(word, equals))));
    else if (name == "--file")
      options_.file = TRY(value(word, equals));
    else
      return Error::plain(
          fmt::format("log: unknown {} \"{}\"", word.starts_with('-') ? "option" : "word", word),
          did_you_mean(nearest(name, kWords), "`caisson log --help` lists them"));
    return {};
  }
  Result<std::string> value(const std::string& word, size_t equals) {
    std::string value;
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (at_ < args_.size())
      value = args_[at_++];
    if (value.empty())
      return Error::plain(fmt::format("log: {} needs a value", word.substr(0, equals)),
                          "`caisson log --help` shows which");
    return value;
  }

  std::span<const std::string> args_;
  int64_t now_ms_;
  size_t at_ = 0;
  LogOptions options_;
};

}  // namespace

Result<LogOptions> parse_log_options(std::span<const std::string> args, int64_t now_ms) {
  return LogParser(args, now_ms).parse();
}

}  // namespace caisson
