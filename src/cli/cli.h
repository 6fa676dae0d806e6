// The doors of the command line: one file per subcommand.
#pragma once

#include <span>
#include <string>

#include "base/error.h"

namespace caisson {

// caisson's own process: where the memory of argv and environment lies, and when it began.
struct ProcessStart {
  char** environment = nullptr;
  char* words_start = nullptr;  // the kernel's block of argv and environment strings
  size_t words_size = 0;
  uint64_t ns = 0;               // CLOCK_MONOTONIC
  uint64_t callers_turn_ns = 0;  // what the program gets back, see sys/short_turns.h
};

int run_cli(int argc, char** argv);

// Each takes the words behind its own name and returns the exit code.
int exec_command(std::span<const std::string> args, const ProcessStart&);
int explain_command(std::span<const std::string> args, const ProcessStart&);
int doctor_command(std::span<const std::string> args, const ProcessStart&);
int log_command(std::span<const std::string> args);
int serve_command(std::span<const std::string> args);
int session_command(std::span<const std::string> args);
int srt_command(std::span<const std::string> args, const ProcessStart&);
int mcp_command(std::span<const std::string> args);
int install_command(std::span<const std::string> args, const ProcessStart&);
int uninstall_command(std::span<const std::string> args, const ProcessStart&);

// Ends the process, once the cell has ended and all is told. Nothing is taken apart first: each
// page of it would be copied to be freed, since the cell's first process was forked with it.
[[noreturn]] void leave(int code);
// For a process of one cell: its heap grows in few steps, and nothing of it is given back piece by
// piece. Before the first of the policy is read.
void settle_heap();

constexpr int kOwnError = 125;  // of caisson itself; what the program says passes through

// "caisson: what" and "hint: …" on stderr; returns kOwnError.
int report(const Error&);

}  // namespace caisson
