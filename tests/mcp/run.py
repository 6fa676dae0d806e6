#!/usr/bin/env python3
"""Black-box tests of `caisson mcp`.

    python3 tests/mcp/run.py BINARY [--fixtures MCP_FIXTURES] [-k PATTERN]... [-v]
    python3 tests/mcp/run.py BINARY --mutants       BINARY is caisson of the preset `mutant`: each control
                                                    of controls.txt is taken away once, and its tests must
                                                    notice; needs root

With the program mcp_fixtures, the tests of Streamable HTTP are run, too.

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
    WORDS = runner.parser()
    WORDS.add_argument("--fixtures")
    WORDS.add_argument("--mutants", action="store_true")
    OPTIONS = WORDS.parse_args()
    harness.use_binary(OPTIONS.binary)
    harness.FIXTURES = OPTIONS.fixtures and os.path.realpath(OPTIONS.fixtures)
    if OPTIONS.mutants:
        sys.exit(runner.last_line(*runner.run_mutants(HERE, harness.use_mutant, OPTIONS.k)))
    FILES = ("test_*.py", "http_*.py") if OPTIONS.fixtures else ("test_*.py",)
    sys.exit(runner.run(HERE, OPTIONS, FILES))
