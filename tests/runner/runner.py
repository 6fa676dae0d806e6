"""What the suites in Python share: their options, finding the tests of a folder, counting, and the last
line, "N passed, M failed"."""
import argparse
import os
import sys
import time
import unittest


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


def parser():
    """The words of every suite: BINARY [-k PATTERN]… [-v]. A suite adds its own."""
    words = argparse.ArgumentParser()
    words.add_argument("binary")
    words.add_argument("-k", action="append", default=[], metavar="PATTERN")
    words.add_argument("-v", action="store_true")
    return words


def tests_in(folder, names=(), files=("test_*.py",)):
    loader = unittest.TestLoader()
    if names:
        loader.testNamePatterns = [name if "*" in name else f"*{name}*" for name in names]
    suite = unittest.TestSuite()
    for pattern in files:
        suite.addTests(loader.discover(folder, pattern=pattern, top_level_dir=folder))
    return suite


def run_half(folder, options, files=("test_*.py",)):
    """(passed, failed) of the tests of a folder, shown as they run."""
    result = unittest.TextTestRunner(
        stream=sys.stdout, resultclass=Result,
        verbosity=2 if options.v else 1).run(tests_in(folder, options.k, files))
    if options.v:
        for seconds, name in sorted(result.slow, reverse=True)[:15]:
            print(f"{seconds:7.2f} s  {name}")
    failed = len(result.failed_ids)
    return result.testsRun - failed, failed


def last_line(passed, failed):
    """Prints it and gives the exit code. No test at all is a failure."""
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


def run(folder, options, files=("test_*.py",)):
    return last_line(*run_half(folder, options, files))


# -- mutants: each control of controls.txt is taken away once, and its tests must notice -----------


def read_controls(folder):
    """[(name, [patterns])] of controls.txt: "name | patterns | what it is"."""
    with open(os.path.join(folder, "controls.txt"), encoding="utf-8") as text:
        rows = [line.split(" | ") for line in text if line.strip() and not line.startswith("#")]
    return [(row[0].strip(), row[1].split()) for row in rows]


def run_quietly(folder, names):
    """(run, failed) of the tests that fit."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        result = unittest.TextTestRunner(stream=nowhere, resultclass=Result).run(
            tests_in(folder, names))
    return result.testsRun, len(result.failed_ids)


def run_mutants(folder, use_mutant, only=()):
    """(passed, failed). A control that no test misses is a failure, and so is a test that fails
    without a cause. `use_mutant` is told the control to leave out, or None."""
    passed = failed = 0
    for name, patterns in read_controls(folder):
        if only and name not in only:
            continue
        use_mutant(None)
        whole = run_quietly(folder, patterns)
        use_mutant(name)
        maimed = run_quietly(folder, patterns)
        use_mutant(None)
        good = whole[0] > 0 and whole[1] == 0 and maimed[1] > 0
        passed, failed = passed + good, failed + (not good)
        why = "" if good else f": {whole[1]} of {whole[0]} fail without a cause, {maimed[1]} with it"
        print(f"{'ok  ' if good else 'FAIL'} {name}{why}", flush=True)
    return passed, failed
