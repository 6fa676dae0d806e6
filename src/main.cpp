// The multi-call switch (caisson · sandbox-runtime) and nothing else.
#include <unistd.h>

#include "cli/cli.h"

int main(int argc, char** argv) {
  // Nothing is buffered and nothing has to be given back: the kernel takes it all at once.
  ::_exit(caisson::run_cli(argc, argv));
}
