#include "cli/session_exec.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/control.h"
#include "base/terminal_filter.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "http/plain_json.h"

namespace caisson {
namespace {

namespace json = boost::json;

constexpr size_t kLargestCode = 7 << 20;
constexpr int kRaised = 1, kTimeout = 124, kInterrupted = 130;

std::string answer_text(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

const json::object* object_of(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found && found->is_object() ? &found->get_object() : nullptr;
}

// Output of code that nobody trusts: a terminal sees only what is harmless (T42).
class Shown {
 public:
  explicit Shown(int fd)
      : fd_(fd), is_terminal_(::isatty(fd) && control_enabled("session-terminal")) {}
  void put(std::string_view text) {
    if (!text.empty()) last_ = text.back();
    write_all(fd_, is_terminal_ ? filter_.feed(text) : std::string(text));
  }
  void put_line(std::string_view text) {
    if (text.empty()) return;
    if (last_ != '\n') put("\n");
    put(text);
    if (!text.ends_with('\n')) put("\n");
  }
  void finish() {
    if (is_terminal_) write_all(fd_, filter_.finish());
  }

 private:
  int fd_;
  bool is_terminal_;
  char last_ = '\n';
  TerminalFilter filter_{TerminalFilter::Mode::kPlain, charset_of_caller()};
};

}  // namespace

int exit_code_of(const json::object& answer) {
  std::string status = answer_text(answer, "status");
  if (status == "ok" || status == "final") return 0;
  if (status == "timeout") return kTimeout;
  if (status == "interrupted") return kInterrupted;
  const json::value* code = answer.if_contains("exit");
  if (status != "exit" || !code) return kRaised;
  if (code->is_null()) return 0;
  if (!code->is_int64()) return kRaised;
  return static_cast<int>(code->get_int64() & 0xff);
}

void tell_notes(const json::object& answer) {
  const json::value* notes = answer.if_contains("notes");
  if (!notes || !notes->is_array()) return;
  for (const json::value& note : notes->get_array())
    if (note.is_string()) talk("caisson: " + printable(std::string_view(note.get_string())) + "\n");
}

namespace {

void show_bundle(Shown& out, const json::value& bundle) {
  if (bundle.is_object()) out.put_line(answer_text(bundle.get_object(), "text/plain"));
}

class Call {
 public:
  Result<int> run(SessionClient& client, const std::string& name, const json::value& body) {
    TRY(client.events(
        session_target(name, "/exec"), body,
        [this](std::string_view event, const json::object& data) { on_event(event, data); }));
    out_.finish();
    err_.finish();
    if (!failed_.what.empty()) return failed_;
    if (!answered_) return Error::plain("the server gave no answer to the call");
    return code_;
  }

 private:
  void on_event(std::string_view event, const json::object& data) {
    if (event == "stdout") out_.put(answer_text(data, "text"));
    if (event == "stderr") err_.put(answer_text(data, "text"));
    if (event == "error")
      failed_ = Error::plain(answer_text(data, "what"), answer_text(data, "hint"));
    if (event == "result") on_result(data);
  }
  void on_result(const json::object& answer) {
    answered_ = true;
    code_ = exit_code_of(answer);
    const json::value* displays = answer.if_contains("displays");
    if (displays && displays->is_array())
      for (const json::value& each : displays->get_array()) show_bundle(out_, each);
    if (const json::value* value = answer.if_contains("value")) show_bundle(out_, *value);
    if (const json::object* error = object_of(answer, "error"))
      err_.put_line(answer_text(*error, "traceback"));
    tell_notes(answer);
  }

  Shown out_{STDOUT_FILENO}, err_{STDERR_FILENO};
  Error failed_;
  bool answered_ = false;
  int code_ = kOwnError;
};

json::value body_of(std::string code, const SessionOptions& options) {
  json::object body{{"code", std::move(code)}};
  if (options.timeout) body["timeout_ms"] = options.timeout->count();
  return body;
}

Result<std::string> code_of(const SessionOptions& options) {
  std::string path = options.words.size() > 1 ? options.words[1] : "-";
  std::string code = options.code ? *options.code : TRY(read_input(path, kLargestCode));
  constexpr std::string_view kMark = "\xef\xbb\xbf";  // of UTF-8, which some editors put there
  if (code.starts_with(kMark)) code.erase(0, kMark.size());
  if (is_valid_utf8(code)) return code;
  std::string_view name = options.code ? "-c" : path == "-" ? "stdin" : std::string_view(path);
  return Error::plain(fmt::format("{}: not UTF-8", printable(name)),
                      "code is UTF-8; `iconv -f latin1 -t utf-8` makes it of an older text");
}

volatile sig_atomic_t was_interrupted = 0;
void on_interrupt(int) { was_interrupted = 1; }

// Without SA_RESTART: a read that waits is woken, and the call is stopped.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
}

// One line from the terminal in its own line mode; nothing at its end.
std::optional<std::string> read_line(std::string_view prompt) {
  write_all(STDOUT_FILENO, prompt);
  std::string line;
  for (char byte;;) {
    ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) {
      was_interrupted = 0;
      write_all(STDOUT_FILENO, "\n");
      return "";
    }
    if (got <= 0) return line.empty() ? std::nullopt : std::optional(line);
    if (byte == '\n') return line;
    if (line.size() < kLargestCode) line += byte;
  }
}

// A block goes on to its empty line; brackets and strings are the interpreter's to judge.
bool opens_block(std::string_view line) {
  std::string_view text = trim(line);
  return text.ends_with(':') || text.ends_with('\\') || text.starts_with('@');
}

std::optional<std::string> read_block() {
  std::optional<std::string> code = read_line(">>> ");
  if (!code || !opens_block(*code)) return code;
  for (;;) {
    std::optional<std::string> line = read_line("... ");
    if (!line || trim(*line).empty()) return code;
    *code += "\n" + *line;
  }
}

}  // namespace

Result<UniqueFd> open_input(const std::string& path) {
  bool is_stdin = path == "-";
  UniqueFd fd{is_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                       : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return Error::system("open " + (is_stdin ? "stdin" : path));
  struct stat found;
  if (::fstat(fd.get(), &found) == 0 && S_ISDIR(found.st_mode))
    return Error::plain(path + " is a folder", "`caisson session load` takes folders");
  return fd;
}

Result<std::string> read_input(const std::string& path, size_t limit) {
  UniqueFd input = TRY(open_input(path));
  std::string text;
  char bytes[65536];
  for (;;) {
    ssize_t got = ::read(input.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read " + path);
    if (got == 0) return text;
    if (text.size() + static_cast<size_t>(got) > limit)
      return Error::plain(fmt::format("{} is too large", path),
                          fmt::format("at most {} bytes", limit));
    text.append(bytes, static_cast<size_t>(got));
  }
}

Result<int> exec_in_session(SessionClient& client, const SessionOptions& options) {
  json::value body = body_of(TRY(code_of(options)), options);
  if (!options.json) return Call().run(client, options.words[0], body);
  json::value answer = TRY(client.json("POST", session_target(options.words[0], "/exec"), &body));
  int failed = print_foreign(http::plain_json(answer) + "\n");
  if (failed) return failed;
  return answer.is_object() ? exit_code_of(answer.get_object()) : kOwnError;
}

Result<int> attach_to_session(SessionClient& client, const SessionOptions& options) {
  if (!::isatty(STDIN_FILENO))
    return Error::plain("session attach: stdin is no terminal",
                        "`caisson session exec NAME` reads code from a pipe");
  const std::string& name = options.words[0];
  TRY(client.json("GET", session_target(name)));
  catch_interrupts();
  // A second connection carries the interrupt: the first one waits for the call.
  client.http().on_signal = [&] {
    if (!was_interrupted) return true;
    was_interrupted = 0;
    Result<http::Client> second = http::Client::connect_unix(client.socket());
    if (second.ok()) (void)second->ask({"POST", session_target(name, "/interrupt")});
    return true;
  };
  while (std::optional<std::string> code = read_block()) {
    if (trim(*code).empty()) continue;
    Result<int> done = Call().run(client, name, body_of(*code, options));
    if (!done.ok()) return done;
  }
  write_all(STDOUT_FILENO, "\n");
  return 0;
}

}  // namespace caisson
