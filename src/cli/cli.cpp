#include "cli/cli.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <vector>

#include "base/text.h"
#include "cli/output.h"
#include "session/remover.h"
#include "sys/monotonic.h"
#include "sys/short_turns.h"

extern char** environ;

namespace caisson {

int report(const Error& error) {
  std::string text = "caisson: " + printable(error.what) + "\n";
  if (!error.hint.empty()) text += "hint: " + printable(error.hint) + "\n";
  talk(text);
  return kOwnError;
}

void leave(int code) { ::_exit(code); }

void settle_heap() {
  ::mallopt(M_TOP_PAD, 512 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

namespace {

constexpr std::string_view kHelp =
    "caisson: run code that nobody has read\n"
    "\n"
    "  caisson exec [options] [--] command…   run one command in a fresh cell\n"
    "  caisson explain [options] command…     print what exec would do, and why\n"
    "  caisson session new|exec|vars|…        Python that keeps its state between calls\n"
    "  caisson serve [--api]                  the same over HTTP, on this machine only\n"
    "  caisson doctor                         what this host can enforce, and how to fix the rest\n"
    "  caisson log [verify]                   the record of every execution\n"
    "  caisson srt [options] command…         as sandbox-runtime, with its settings files\n"
    "  caisson install CLIENT                 the MCP server for Claude Code and others; "
    "uninstall\n"
    "  caisson mcp                            an MCP server on stdio: sandboxed Python sessions\n"
    "  caisson --version\n"
    "\n"
    "`caisson exec --help` lists the options. Default: no network, reads are an allow-list, "
    "writes\n"
    "go to a private /tmp, the environment starts empty, every limit has a value.\n";

// A program started with stdin, stdout or stderr closed would hand its next file out under that
// number; they are opened on nothing first.
void open_missing_stdio() {
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
      ::_exit(kOwnError);
}

// The strings of argv and environment lie in one block at the top of the stack (execve(2)).
ProcessStart describe_start(int argc, char** argv, char** environment) {
  ProcessStart start;
  start.ns = monotonic_ns();
  start.environment = environment;
  if (argc == 0) return start;
  char* end = argv[0];
  for (int i = 0; i < argc; ++i) end = argv[i] + ::strlen(argv[i]) + 1;
  for (char** entry = environment; *entry; ++entry) end = *entry + ::strlen(*entry) + 1;
  start.words_start = argv[0];
  start.words_size = static_cast<size_t>(end - argv[0]);
  return start;
}

// The multi-call name: a link called srt is Anthropic's sandbox-runtime to whoever calls it.
bool called_srt(std::string_view name) { return name.substr(name.rfind('/') + 1) == "srt"; }

// For the doors that end with the one cell they make: somebody waits for each of their steps.
template <typename Command>
int in_short_turns(Command command, std::span<const std::string> words, ProcessStart& start) {
  start.callers_turn_ns = take_short_turns();
  return command(words, start);
}

int unknown_command(const std::string& word) {
  constexpr std::string_view kCommands[] = {"exec",    "explain",   "doctor", "log",     "srt",
                                            "install", "uninstall", "mcp",    "session", "serve"};
  std::string_view near = nearest(word, kCommands);
  return report(Error::plain("unknown command \"" + word + "\"",
                             near.empty() ? "`caisson --help` lists the commands"
                                          : "did you mean `caisson " + std::string(near) + "`?"));
}

}  // namespace

int run_cli(int argc, char** argv) {
  open_missing_stdio();
  ProcessStart start = describe_start(argc, argv, environ);
  std::vector<std::string> words(argv + (argc > 0), argv + argc);
  if (argc > 0 && called_srt(argv[0])) return in_short_turns(srt_command, words, start);
  if (words.empty()) {
    talk(kHelp);
    return kOwnError;
  }
  std::string command = words[0];
  std::span<const std::string> rest(words.data() + 1, words.size() - 1);
  if (command == "exec") return in_short_turns(exec_command, rest, start);
  if (command == "explain") return explain_command(rest, start);
  if (command == "doctor") return doctor_command(rest, start);
  if (command == "log") return log_command(rest);
  if (command == "serve") return serve_command(rest);
  if (command == "session") return session_command(rest);
  if (command == "srt") return in_short_turns(srt_command, rest, start);
  if (command == "install") return install_command(rest, start);
  if (command == "uninstall") return uninstall_command(rest, start);
  if (command == "mcp") return mcp_command(rest);
  if (command == "empty-trash") return session::empty_trash_command();  // started by sessions
  if (command == "--version" || command == "-V") {
    write_all(STDOUT_FILENO, "caisson " CAISSON_VERSION "\n");
    return 0;
  }
  if (command == "--help" || command == "-h" || command == "help") {
    write_all(STDOUT_FILENO, kHelp);
    return 0;
  }
  return unknown_command(command);
}

}  // namespace caisson
