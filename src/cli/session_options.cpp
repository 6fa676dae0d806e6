#include "cli/session_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "policy/units.h"

namespace caisson {

const std::string_view kSessionHelp =
    "caisson session: Python in a cell that keeps its state between calls\n"
    "\n"
    "  caisson session new [NAME]              a new session; prints its name\n"
    "  caisson session exec NAME [FILE]        run FILE, -c CODE, or what comes on stdin\n"
    "  caisson session attach NAME             line by line, on a terminal\n"
    "  caisson session list                    all sessions, their Python, and IPython or "
    "standard\n"
    "  caisson session vars NAME               its variables\n"
    "  caisson session get NAME VARIABLE       one, as JSON or text; -e EXPRESSION instead\n"
    "                                          1 MiB of it unless --max-bytes SIZE says more\n"
    "  caisson session set NAME VARIABLE [FILE]   from FILE, --text TEXT or stdin\n"
    "  caisson session load NAME PATH VARIABLE    a file, folder or glob, by its suffix\n"
    "  caisson session checkpoint NAME LABEL   name the present state; --list (a tree), --drop "
    "LABEL\n"
    "  caisson session restore NAME LABEL      go back to it\n"
    "  caisson session branch NAME NEW         a copy that goes its own way; --from LABEL\n"
    "  caisson session snapshot save|restore NAME FILE   variables in a file\n"
    "  caisson session interrupt|reset|kill NAME         stop a call, start over, end; kill "
    "--save\n"
    "\n"
    "For new:\n"
    "  --memory SIZE --cpu CORES --pids N     2G, 2 and 256 unless said\n"
    "  --timeout TIME                         of a call that names none: 30s\n"
    "  --workspace FOLDER                     at /workspace, writable; a private one unless said\n"
    "  --python PATH --preload MODULE (again for each) --no-ipython\n"
    "  --resume                               take up what a session of that name saved\n"
    "  -- OPTIONS                             more options of `caisson exec`, as --allow-domain H\n"
    "For exec:  --timeout TIME, exit 0 ok, 1 the code raised, 124 timeout, 125 caisson's own "
    "error\n"
    "For set:   --as json|text|bytes; for load: --as auto|text|bytes|dataframe\n"
    "           --encoding NAME (else it is found out)\n"
    "Any:       --json (reports as JSON), --socket PATH (of another server)\n"
    "\n"
    "A server is started in the background when none runs, and ends ten minutes after the last\n"
    "session; `caisson serve --help` tells more.\n";

namespace {

struct Verb {
  std::string_view name;
  size_t least, most;  // words behind it
  std::string_view usage;
};

constexpr Verb kVerbs[] = {
    {"new", 0, 1, "new [NAME]"},
    {"list", 0, 0, "list"},
    {"exec", 1, 2, "exec NAME [FILE]"},
    {"attach", 1, 1, "attach NAME"},
    {"vars", 1, 1, "vars NAME"},
    {"get", 1, 2, "get NAME VARIABLE"},
    {"set", 2, 3, "set NAME VARIABLE [FILE]"},
    {"load", 3, 3, "load NAME PATH VARIABLE"},
    {"checkpoint", 1, 2, "checkpoint NAME LABEL"},
    {"restore", 2, 2, "restore NAME LABEL"},
    {"branch", 1, 2, "branch NAME NEW"},
    {"snapshot save", 2, 2, "snapshot save NAME FILE"},
    {"snapshot restore", 2, 2, "snapshot restore NAME FILE"},
    {"interrupt", 1, 1, "interrupt NAME"},
    {"reset", 1, 1, "reset NAME"},
    {"kill", 1, 1, "kill NAME"},
};

constexpr std::string_view kSessionOptions[] = {
    "--json",     "--help",   "--list", "--save",   "--no-ipython", "--resume",    "--text",
    "--from",     "--as",     "--drop", "--socket", "--python",     "--workspace", "--preload",
    "--encoding", "--memory", "--cpu",  "--pids",   "--max-bytes",  "--timeout"};

std::string did_you_mean_option(std::string_view near) {
  return near.empty() ? "`caisson session --help` lists them"
                      : fmt::format("did you mean {}?", near);
}

class SessionParser {
 public:
  explicit SessionParser(std::span<const std::string> args) : args_(args) {}

  Result<SessionOptions> parse() {
    while (at_ < args_.size()) {
      const std::string& word = args_[at_++];
      if (word == "--") {
        options_.policy.assign(args_.begin() + static_cast<ptrdiff_t>(at_), args_.end());
        break;
      }
      bool is_option = word.size() > 1 && word.front() == '-';
      if (is_option)
        TRY(option(word));
      else
        TRY(plain(word));
    }
    if (!options_.help) TRY(check());
    return options_;
  }

 private:
  Result<void> plain(const std::string& word) {
    bool rest_of_verb = options_.verb == "snapshot";
    if (options_.verb.empty())
      options_.verb = word;
    else if (rest_of_verb)
      options_.verb += " " + word;
    else
      options_.words.push_back(word);
    return {};
  }

  Result<void> check() {
    std::vector<std::string_view> names;
    for (const Verb& verb : kVerbs) {
      if (verb.name == options_.verb) return check_words(verb);
      names.push_back(verb.name);
    }
    if (options_.verb.empty())
      return Error::plain("session: what to do is missing", "`caisson session --help` lists it");
    std::string_view near = nearest(options_.verb, names);
    return Error::plain(fmt::format("session: unknown word \"{}\"", options_.verb),
                        did_you_mean_option(near));
  }

  Result<void> check_words(const Verb& verb) {
    size_t count = options_.words.size();
    if (std::ranges::find(options_.words, "") != options_.words.end())
      return Error::plain(fmt::format("session {}: \"\" names nothing", verb.name),
                          fmt::format("caisson session {}", verb.usage));
    if (count >= verb.least && count <= verb.most) return one_source();
    return Error::plain(
        fmt::format("session {}: too {} words", verb.name, count < verb.least ? "few" : "many"),
        fmt::format("caisson session {}", verb.usage));
  }

  // What is to be run, shown or set is given once: the other would be ignored without a word.
  Result<void> one_source() const {
    struct Pair {
      std::string_view verb, word, option;
      size_t place;
      bool is_given;
    };
    for (const Pair& pair :
         {Pair{"exec", "FILE", "-c CODE", 1, options_.code.has_value()},
          Pair{"get", "VARIABLE", "-e EXPRESSION", 1, options_.expression.has_value()},
          Pair{"set", "FILE", "--text TEXT", 2, options_.text.has_value()}})
      if (pair.verb == options_.verb && pair.is_given && options_.words.size() > pair.place)
        return Error::plain(
            fmt::format("session {}: {} and a {} at once", pair.verb, pair.option, pair.word),
            "one or the other");
    return {};
  }

  bool flag(const std::string& name) {
    bool* place = name == "--json"         ? &options_.json
                  : name == "--help"       ? &options_.help
                  : name == "-h"           ? &options_.help
                  : name == "--list"       ? &options_.list
                  : name == "--save"       ? &options_.save
                  : name == "--no-ipython" ? &options_.no_ipython
                  : name == "--resume"     ? &options_.resume
                                           : nullptr;
    if (place) *place = true;
    return place;
  }

  Result<void> option(const std::string& word) {
    size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    std::string name = word.substr(0, equals);
    if (equals == std::string::npos && flag(name)) return {};
    bool short_name = name == "-c" || name == "-e";
    if (!short_name && std::ranges::find(kSessionOptions, name) == std::end(kSessionOptions))
      return Error::plain(fmt::format("session: unknown option \"{}\"", word),
                          did_you_mean_option(nearest(name, kSessionOptions)));
    std::optional<std::string> value;
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (at_ < args_.size())
      value = args_[at_++];
    if (!value)
      return Error::plain(fmt::format("session: {} needs a value", name),
                          "`caisson session --help` shows which");
    return set(name, *value);
  }

  Result<void> set(const std::string& name, const std::string& value) {
    if (name == "-c") options_.code = value;
    if (name == "-e") options_.expression = value;
    if (name == "--text") options_.text = value;
    if (name == "--from") options_.from = value;
    if (name == "--as") options_.as = value;
    if (name == "--encoding") options_.encoding = value;
    if (name == "--drop") options_.drop = value;
    if (name == "--socket") options_.socket = value;
    if (name == "--python") options_.python = value;
    if (name == "--workspace") options_.workspace = value;
    if (name == "--preload") options_.preload.push_back(value);
    if (name == "--memory") options_.memory = TRY(parse_size(value));
    if (name == "--cpu") options_.cpu_millis = TRY(parse_cpu(value));
    if (name == "--pids") options_.pids = TRY(parse_count(value, 8, 1'000'000));
    if (name == "--max-bytes") options_.max_bytes = TRY(parse_size(value));
    if (name == "--timeout") options_.timeout = TRY(parse_duration(value));
    return {};
  }

  std::span<const std::string> args_;
  size_t at_ = 0;
  SessionOptions options_;
};

}  // namespace

Result<SessionOptions> parse_session_options(std::span<const std::string> args) {
  return SessionParser(args).parse();
}

}  // namespace caisson
