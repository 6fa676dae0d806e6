#!/usr/bin/env python3
"""Black-box tests of caisson's command line.

    python3 tests/cli/run.py BINARY [-k PATTERN]... [-v]

Standard library only; runs as root and as an ordinary user. The last line is "N passed, M failed".
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runner")]
sys.dont_write_bytecode = True

import harness  # noqa: E402
import runner  # noqa: E402

if __name__ == "__main__":
    OPTIONS = runner.parser().parse_args()
    harness.use_binary(OPTIONS.binary)
    sys.exit(runner.run(HERE, OPTIONS))
