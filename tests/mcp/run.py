#!/usr/bin/env python3
"""Black-box tests of `caisson mcp`.

    python3 tests/mcp/run.py BINARY [--fixtures MCP_FIXTURES] [-k PATTERN]... [-v]

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
    OPTIONS = WORDS.parse_args()
    harness.use_binary(OPTIONS.binary)
    harness.FIXTURES = OPTIONS.fixtures and os.path.realpath(OPTIONS.fixtures)
    FILES = ("test_*.py", "http_*.py") if OPTIONS.fixtures else ("test_*.py",)
    sys.exit(runner.run(HERE, OPTIONS, FILES))
