// The multi-call switch (caisson · sandbox-runtime) and nothing else.
#include "cli/cli.h"

int main(int argc, char** argv) { return caisson::run_cli(argc, argv); }
