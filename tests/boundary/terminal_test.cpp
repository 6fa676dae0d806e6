// Claim: the caller's terminal is never in the cell's hands, and what is printed to it is text.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cell.h"

namespace caisson::boundary {
namespace {

Answer in_cell_on(Terminal& terminal, const Words& probe, const Words& options = {}) {
  Outcome outcome =
      run_cell(Words{"/probe/probe"} + probe, options, {.terminal = terminal.slave()});
  outcome.out += terminal.printed();
  Answer answer = parse_answer(outcome);
  EXPECT_GE(answer.error, 0) << "the probe said nothing: " << outcome.code << outcome.out;
  return answer;
}

Answer on_host_on(Terminal& terminal, const Words& probe) {
  Outcome outcome = run(Words{probe_folder() + "/probe"} + probe, {.terminal = terminal.slave()});
  outcome.out += terminal.printed();
  return parse_answer(outcome);
}

// Since Linux 6.2 a host can refuse TIOCSTI to all but root.
bool host_allows_typing() {
  return as_root() || read_file("/proc/sys/dev/tty/legacy_tiocsti") != "0\n";
}

TEST(TerminalInput, T41_NothingCanBeTypedIntoTheCallersTerminal) {
  for (const Words& options : {Words{}, Words{"--tty"}}) {
    for (const char* width : {"plain", "wide"}) {
      for (const char* target : {"0", "1", "2", "/dev/tty", "/dev/stdin", "/proc/1/fd/0"}) {
        Terminal terminal;
        EXPECT_TRUE(refused(in_cell_on(terminal, {"tiocsti", target, width, "id"}, options)))
            << target << " " << width;
        EXPECT_EQ(terminal.unread_input(), "") << target << " " << width;
      }
    }
  }
}

TEST(TerminalInput, T41_ControlOnTheHostItCan) {
  for (const char* width : {"plain", "wide"}) {
    for (const char* target : {"0", "/dev/tty"}) {
      Terminal terminal;
      Answer outside = on_host_on(terminal, {"tiocsti", target, width, "id"});
      if (!host_allows_typing()) {
        EXPECT_TRUE(refused(outside));
        continue;
      }
      EXPECT_TRUE(worked(outside)) << target << " " << width;
      EXPECT_EQ(terminal.unread_input(), "id") << target << " " << width;
    }
  }
}

// Its answer elsewhere is ENOTTY, so EPERM is the filter's.
TEST(TerminalInput, T41_TheConsolesPasteIsRefusedToo) {
  for (const char* width : {"plain", "wide"}) {
    Terminal terminal;
    EXPECT_TRUE(refused_with(in_cell_on(terminal, {"tioclinux", "0", width}, {"--tty"}), {EPERM}));
    EXPECT_TRUE(refused_with(on_host_on(terminal, {"tioclinux", "0", width}), {ENOTTY}));
  }
}

TEST(TerminalInput, T41_WithoutATerminalThereIsNone) {
  Terminal terminal;
  EXPECT_TRUE(refused_with(in_cell_on(terminal, {"open-tty"}), {ENXIO, EACCES}));
  for (const char* fd : {"0", "1", "2"})
    EXPECT_TRUE(refused(in_cell_on(terminal, {"isatty", fd}))) << fd;
  EXPECT_TRUE(worked(on_host_on(terminal, {"open-tty"})));
  EXPECT_TRUE(worked(on_host_on(terminal, {"isatty", "0"})));
}

// The kernel counts terminals for the whole host: without a bound of its own a cell could use them
// up.
TEST(TerminalInput, T55_TerminalsRunOutInTheCellAndNotOnTheHost) {
  Answer inside = in_cell({"ptys", "200"});
  EXPECT_TRUE(refused_with(inside, {ENOSPC}));
  EXPECT_LE(std::stol(inside.detail), 64);
  EXPECT_TRUE(worked(in_cell({"ptys", "16"})));
  EXPECT_TRUE(worked(on_host({"ptys", "200"})));
}

// Output that goes to a terminal waits for whoever looks at it; the time limit doesn't.
TEST(TerminalInput, T56_ATerminalThatNobodyReadsDoesNotHoldTheTimeLimitUp) {
  Terminal terminal;
  Outcome outcome = run_cell({"yes"}, {"--tty", "--timeout", "1s"}, {.terminal = terminal.slave()});
  EXPECT_FALSE(outcome.late);
  EXPECT_EQ(outcome.code, 124);
}

TEST(TerminalInput, T21_T41_TheTerminalInsideIsCaissonsOwn) {
  Terminal terminal;
  EXPECT_TRUE(worked(in_cell_on(terminal, {"open-tty"}, {"--tty"})));
  Answer inside = in_cell_on(terminal, {"isatty", "0"}, {"--tty"});
  EXPECT_EQ(inside.detail, "/dev/pts/0 80x24");  // the first of an instance of its own
  // The caller's terminal has a name; in the cell that name is absent, or another terminal.
  Answer names = in_cell_on(terminal, {"list", "/dev/pts"}, {"--tty"});
  for (const std::string& name : lines(names.detail))
    EXPECT_TRUE(name == "0" || name == "ptmx") << name;
  EXPECT_TRUE(worked(on_host({"stat", terminal.slave_name()})));
  EXPECT_NE(terminal.slave_name(), "");
}

TEST(TerminalInput, T21_ThereIsNoConsole) {
  EXPECT_TRUE(refused_with(in_cell({"stat", "/dev/console"}), {ENOENT}));
  Terminal terminal;
  EXPECT_TRUE(refused_with(in_cell_on(terminal, {"stat", "/dev/console"}, {"--tty"}), {ENOENT}));
  EXPECT_TRUE(worked(on_host({"stat", "/dev/console"})));
}

TEST(TerminalInput, T41_ATerminalOfTheCallerCannotBeTaken) {
  Terminal terminal;
  for (const char* target : {"0", "/dev/tty"})
    EXPECT_TRUE(refused(in_cell_on(terminal, {"tiocsctty", target}))) << target;
}

const char kClipboard[] = "\033]52;c;ZXZpbA==\007", kTitle[] = "\033]0;owned\007",
           kAnswer[] = "\033[6n\033[c\033Zq";

std::string print_command() {
  return "printf 'before \\033]52;c;ZXZpbA==\\007\\033]0;owned\\007\\033[6n\\033[c\\033[31mred"
         "\\033[0m after\\n'";
}

// OSC 52 writes the clipboard, a title can be read back as input, and a query makes the terminal
// type its answer into the shell that comes next.
TEST(TerminalOutput, T42_WhatIsPrintedToATerminalIsTextAndColour) {
  Terminal terminal;
  Outcome outcome =
      run_cell({"/bin/sh", "-c", print_command()}, {}, {.terminal = terminal.slave()});
  std::string printed = terminal.printed();
  EXPECT_TRUE(ended_with(outcome, 0));
  EXPECT_NE(printed.find("before "), std::string::npos) << printed;
  EXPECT_NE(printed.find("\033[31mred"), std::string::npos) << "colours pass";
  EXPECT_NE(printed.find(" after"), std::string::npos);
  for (const char* sequence : {kClipboard, kTitle, "\033[6n", "\033[c", "\033]"})
    EXPECT_EQ(printed.find(sequence), std::string::npos) << sequence + 1;
}

TEST(TerminalOutput, T42_NorDoesTheClipboardOpenWithATerminalOfItsOwn) {
  Terminal terminal;
  run_cell({"/bin/sh", "-c", print_command()}, {"--tty"}, {.terminal = terminal.slave()});
  std::string printed = terminal.printed();
  EXPECT_NE(printed.find(" after"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("\033]52"), std::string::npos) << printed;
}

TEST(TerminalOutput, T42_ControlBytesForAPipeAreUntouched) {
  Outcome outcome = run_cell({"/bin/sh", "-c", print_command()});
  EXPECT_NE(outcome.out.find(kClipboard), std::string::npos);
  EXPECT_NE(outcome.out.find(kTitle), std::string::npos);
  EXPECT_NE(outcome.out.find("\033[31mred"), std::string::npos);
  Terminal terminal;  // and without caisson the terminal gets them all
  run({"/bin/sh", "-c", print_command()}, {.terminal = terminal.slave()});
  EXPECT_NE(terminal.printed().find(kClipboard), std::string::npos);
}

TEST(TerminalOutput, T42_NamesInOurOwnMessagesAreEscaped) {
  const std::string evil = std::string("/no/such") + kClipboard + kAnswer;
  Outcome outcome = run_cell({evil});
  EXPECT_EQ(outcome.code, 127);
  EXPECT_EQ(outcome.err.find('\033'), std::string::npos) << outcome.err;
  Outcome flag = run({caisson_binary(), "exec", "--mount", evil + ":/x:ro", "--", "true"});
  EXPECT_EQ(flag.code, 125);
  EXPECT_EQ(flag.err.find('\033'), std::string::npos) << flag.err;
}

TEST(TerminalOutput, T42_TheLogShowsAnArgumentWithoutObeyingIt) {
  TempFolder state;
  RunOptions how{.environment = {{"XDG_STATE_HOME", state.path()}}};
  run_cell({"/bin/true", std::string("word") + kClipboard}, {}, how);
  Outcome shown = run({caisson_binary(), "log"}, how);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("word"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find('\033'), std::string::npos);
  EXPECT_EQ(read_file(state / "caisson/audit.jsonl").find('\033'), std::string::npos);
}

}  // namespace
}  // namespace caisson::boundary
