#!/usr/bin/env python3
"""Black-box tests of `caisson serve` and `caisson session`.

    python3 tests/http/run.py BINARY [-k PATTERN]... [-v]
    python3 tests/http/run.py BINARY --mutants       BINARY is caisson of the preset `mutant`: each
                                                     control of controls.txt is taken away once, and
                                                     its tests must notice

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


def read_controls():
    """[(name, [patterns])] of controls.txt."""
    rows = []
    with open(os.path.join(HERE, "controls.txt"), encoding="utf-8") as text:
        for line in text:
            if line.strip() and not line.startswith("#"):
                name, tests, _ = (field.strip() for field in line.split(" | "))
                rows.append((name, tests.split()))
    return rows


def run_tests(patterns):
    """(run, failed) of the tests that fit, quietly."""
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*" for pattern in patterns]
    suite = loader.discover(HERE, pattern="test_*.py", top_level_dir=HERE)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        result = unittest.TextTestRunner(stream=nowhere, resultclass=Result).run(suite)
    return result.testsRun, len(result.failed_ids)


def run_mutants():
    """A control that no test misses is a failure, and so is a test that fails without a cause."""
    passed = failed = 0
    for name, patterns in read_controls():
        os.environ.pop("CAISSON_MUTANT", None)
        whole = run_tests(patterns)
        os.environ["CAISSON_MUTANT"] = name
        maimed = run_tests(patterns)
        good = whole[0] > 0 and whole[1] == 0 and maimed[1] > 0
        passed, failed = passed + good, failed + (not good)
        why = "" if good else f": {whole[1]} of {whole[0]} fail without a cause, {maimed[1]} with it"
        print(f"{'ok  ' if good else 'FAIL'} {name}{why}", flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()

    import harness
    harness.use_binary(options.binary)
    if options.mutants:
        sys.exit(run_mutants())
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
