#!/usr/bin/env python3
"""The real Claude Code client, offline, with caisson as its MCP server.

    python3 tests/claude/run.py BINARY (--client CLAUDE | --install FOLDER) [-k PATTERN]... [-v]

--install puts the npm package into FOLDER unless it is there, and ends well, saying so, where npm
can't. The model is a script (fake_api.py). The last line is "N passed, M failed".
"""
import argparse
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

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


class Result(unittest.TextTestResult):
    """Counts tests, not their parts."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.failed_ids = set()

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.failed_ids.add(test.id())

    def addError(self, test, err):
        super().addError(test, err)
        self.failed_ids.add(test.id())

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.failed_ids.add(test.id())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--client")
    where.add_argument("--install", metavar="FOLDER")
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    client = options.client or installed(options.install)
    if not client:
        return

    import harness
    harness.use(options.binary, client)
    loader = unittest.TestLoader()
    if options.k:
        loader.testNamePatterns = [k if "*" in k else f"*{k}*" for k in options.k]
    suite = loader.discover(HERE, pattern="test_*.py", top_level_dir=HERE)
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result,
                                     verbosity=2 if options.v else 1)
    result = runner.run(suite)
    failed = len(result.failed_ids)
    print(f"{result.testsRun - failed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or result.testsRun == 0 else 0)


if __name__ == "__main__":
    main()
