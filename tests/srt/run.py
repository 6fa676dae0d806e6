#!/usr/bin/env python3
"""Black-box tests of the srt door.

    python3 tests/srt/run.py BINARY [-k PATTERN]... [-v]

Standard library only; runs as root and as an ordinary user. The last line is "N passed, M failed".
"""
import argparse
import importlib.util
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CLI = os.path.join(os.path.dirname(HERE), "cli")
sys.path[:0] = [HERE, CLI]
sys.dont_write_bytecode = True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()

    spec = importlib.util.spec_from_file_location("cli_run", os.path.join(CLI, "run.py"))
    cli_run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cli_run)
    sys.path.insert(0, HERE)  # before the other suite's, which has put itself in front
    import harness
    harness.use_binary(options.binary)
    loader = unittest.TestLoader()
    if options.k:
        loader.testNamePatterns = [k if "*" in k else f"*{k}*" for k in options.k]
    suite = loader.discover(HERE, pattern="test_*.py", top_level_dir=HERE)
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=cli_run.Result,
                                     verbosity=2 if options.v else 1)
    result = runner.run(suite)
    failed = len(result.failed_ids)
    if options.v:
        for seconds, name in sorted(result.slow, reverse=True)[:10]:
            print(f"{seconds:7.2f} s  {name}")
    print(f"{result.testsRun - failed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed or result.testsRun == 0 else 0)


if __name__ == "__main__":
    main()
