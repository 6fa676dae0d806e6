#!/usr/bin/env python3
"""Black-box tests of `caisson install` and `caisson uninstall`.

    python3 tests/setup/run.py BINARY [-k PATTERN]... [-v]

Standard library only; runs as root and as an ordinary user. The last line is "N passed, M failed".
"""
import argparse
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True


class Result(unittest.TextTestResult):
    """Counts tests, not their parts: a test with several failing subtests is one failed test."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.failed_ids = set()
        self.slow = []

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def stopTest(self, test):
        self.slow.append((time.monotonic() - self.began, test.id()))
        super().stopTest(test)

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

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.failed_ids.add(test.id())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()

    import harness
    harness.use_binary(options.binary)
    loader = unittest.TestLoader()
    if options.k:
        loader.testNamePatterns = [k if "*" in k else f"*{k}*" for k in options.k]
    suite = loader.discover(HERE, pattern="test_*.py", top_level_dir=HERE)
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result,
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
