"""What the suites in Python share: their options, finding the tests of a folder, counting, and the last
line, "N passed, M failed"."""
import argparse
import fnmatch
import os
import sys
import time
import unittest

import watch


class Result(unittest.TextTestResult):
    """Counts tests, not their parts: a test with several failing subtests is one failed test."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ids, self.failed_ids = set(), set()
        self.slow = []

    def startTestRun(self):
        super().startTestRun()
        watch.begin()

    def stopTestRun(self):
        watch.end()
        super().stopTestRun()

    def startTest(self, test):
        super().startTest(test)
        self.ids.add(test.id())
        self.began = time.monotonic()
        watch.begin()

    def stopTest(self, test):
        self.slow.append((time.monotonic() - self.began, test.id()))
        watch.begin()  # for what a class makes and removes
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


class Loader(unittest.TestLoader):
    """Leaves out the tests whose names have one of these words."""

    def __init__(self, names, without):
        super().__init__()
        self.without = without
        if names:
            self.testNamePatterns = [name if "*" in name else f"*{name}*" for name in names]

    def getTestCaseNames(self, testCaseClass):  # pylint: disable=invalid-name
        names = super().getTestCaseNames(testCaseClass)
        return [name for name in names if not any(word in name for word in self.without)]


def tests_in(folder, names=(), files=("test_*.py",), without=()):
    loader = Loader(names, without)
    suite = unittest.TestSuite()
    for pattern in files:
        suite.addTests(loader.discover(folder, pattern=pattern, top_level_dir=folder))
    return suite


def run_half(folder, options, files=("test_*.py",)):
    """(passed, failed) of the tests of a folder, shown as they run."""
    result = unittest.TextTestRunner(
        stream=sys.stdout, resultclass=Result,
        verbosity=2 if options.v else 1).run(
            tests_in(folder, options.k, files, getattr(options, "without", ())))
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


def fitting(names, patterns):
    """Those of the tests' names that the loader would choose by these patterns."""
    return {name for name in names
            if any(fnmatch.fnmatchcase(name, one if "*" in one else f"*{one}*") for one in patterns)}


def run_quietly(folder, names):
    """The result of the tests that fit."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        return unittest.TextTestRunner(stream=nowhere, resultclass=Result).run(
            tests_in(folder, names))


def run_mutants(folder, use_mutant, only=(), without=()):
    """(passed, failed). A control that no test misses is a failure, and so is a test that fails
    without a cause. `use_mutant` is told the control to leave out, or None."""
    controls = [one for one in read_controls(folder)
                if (not only or one[0] in only) and one[0] not in without]
    if not controls:
        return 0, 0
    use_mutant(None)
    whole = run_quietly(folder, [one for _, patterns in controls for one in patterns])
    outside = whole.failed_ids - whole.ids  # what a class makes for its tests
    passed = failed = 0
    for name, patterns in controls:
        use_mutant(name)
        maimed = run_quietly(folder, patterns)
        use_mutant(None)
        tests = fitting(whole.ids, patterns)
        without_cause = len(tests & whole.failed_ids | outside)
        good = bool(tests) and not without_cause and bool(maimed.failed_ids)
        passed, failed = passed + good, failed + (not good)
        why = "" if good else (f": {without_cause} of {len(tests)} fail without a cause, "
                               f"{len(maimed.failed_ids)} with it")
        print(f"{'ok  ' if good else 'FAIL'} {name}{why}", flush=True)
    return passed, failed
