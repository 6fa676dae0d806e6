// The doors of the command line: one file per subcommand.
#pragma once

#include <span>
#include <string>

namespace caisson {

int run_cli(int argc, char** argv);

// Each takes the words behind its own name and returns the exit code.
int exec_command(std::span<const std::string> args);
int explain_command(std::span<const std::string> args);
int doctor_command(std::span<const std::string> args);
int log_command(std::span<const std::string> args);

}  // namespace caisson
