#!/usr/bin/env python3
"""The real Claude Code client, offline, with caisson as its MCP server.

    python3 tests/claude/run.py BINARY (--client CLAUDE | --install FOLDER) [-k PATTERN]... [-v]

--install puts the npm package into FOLDER unless it is there, and ends well, saying so, where npm
can't. The model is a script (fake_api.py). The last line is "N passed, M failed".
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runner")]
sys.dont_write_bytecode = True

import runner  # noqa: E402

PACKAGE = "@anthropic-ai/claude-code@2.1.325"  # the version that the tests were written with


def installed(folder):
    """The client's program in the folder, or None with a reason on stdout."""
    program = os.path.join(folder, "node_modules/.bin/claude")
    if not os.access(program, os.X_OK):
        os.makedirs(folder, exist_ok=True)
        try:
            subprocess.run(["npm", "install", "--prefix", folder, "--no-fund", "--no-audit",
                            "--loglevel=error", PACKAGE], check=True, timeout=600,
                           stdin=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError) as problem:
            print(f"Claude Code can't be installed here ({problem}): its tests are left out")
            return None
    return program


def main():
    parser = runner.parser()
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--client")
    where.add_argument("--install", metavar="FOLDER")
    options = parser.parse_args()
    client = options.client or installed(options.install)
    if not client:
        return

    import harness
    harness.use(options.binary, client)
    sys.exit(runner.run(HERE, options))


if __name__ == "__main__":
    main()
