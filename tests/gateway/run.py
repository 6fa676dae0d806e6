#!/usr/bin/env python3
"""The gateway between real servers and real clients.

    python3 tests/gateway/run.py BINARY [-k PATTERN]... [--as root|user] [-v]

As root only: the servers run in a network namespace of the tests' own, caisson in another, both as
root and as an ordinary user. Nothing of it outlives this process. The last line is "N passed, M
failed". With --shell a shell is opened in the namespace where caisson would run.
"""
import argparse
import os
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import harness  # noqa: E402
import world  # noqa: E402

INSIDE = "--inside-near"  # said by this script to itself


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--as", dest="identity", choices=("root", "user", "both"), default="both")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--shell", action="store_true")
    parser.add_argument("--mutants", action="store_true",
                        help="BINARY is caisson of the preset `mutant`: each control of "
                             "controls.txt is taken away once, and its tests must notice")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_half(options, identity):
    """All tests as root or as an ordinary user: (passed, failed)."""
    harness.use_identity(identity)
    loader = unittest.TestLoader()
    if options.k:
        loader.testNamePatterns = [k if "*" in k else f"*{k}*" for k in options.k]
    suite = loader.discover(HERE, pattern="test_*.py", top_level_dir=HERE)
    print(f"-- as {identity}", flush=True)
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=harness.Counted,
                                     verbosity=2 if options.v else 1)
    result = runner.run(suite)
    if options.v:
        for seconds, name in sorted(result.times, reverse=True)[:15]:
            print(f"{seconds:7.2f} s  {name}")
    failed = len(result.failed_ids)
    return result.testsRun - failed, failed


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
        result = unittest.TextTestRunner(stream=nowhere, resultclass=harness.Counted).run(suite)
    return result.testsRun, len(result.failed_ids)


def run_mutants(only):
    """A control that no test misses is a failure, and so is a test that fails without a cause."""
    harness.use_identity("root")
    passed = failed = 0
    for name, patterns in read_controls():
        if only and name not in only:
            continue
        harness.use_mutant(None)
        whole = run_tests(patterns)
        harness.use_mutant(name)
        maimed = run_tests(patterns)
        harness.use_mutant(None)
        good = whole[0] > 0 and whole[1] == 0 and maimed[1] > 0
        passed, failed = passed + good, failed + (not good)
        why = "" if good else f": {whole[1]} of {whole[0]} fail without a cause, {maimed[1]} with it"
        print(f"{'ok  ' if good else 'FAIL'} {name}{why}", flush=True)
    return passed, failed


def stop_early(*_):
    raise KeyboardInterrupt  # the one thing that a test's runner lets through


def run_near(options):
    place = world.World(options.binary)
    signal.signal(signal.SIGTERM, stop_early)
    try:
        place.start()
        harness.use_world(place)
        if options.shell:
            return subprocess.run([os.environ.get("SHELL", "/bin/sh")], cwd=place.folder).returncode
        if options.mutants:
            passed, failed = run_mutants(options.k)
            print(f"{passed} passed, {failed} failed", flush=True)
            return 1 if failed or not passed else 0
        identities = ("root", "user") if options.identity == "both" else (options.identity,)
        counts = [run_half(options, identity) for identity in identities]
    finally:
        place.stop()
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


def main():
    options = arguments()
    if not os.access(options.binary, os.X_OK):
        sys.exit(f"{options.binary} is not a program")
    if missing := world.what_is_missing():
        print("the tests of the gateway need what is not here:", *missing, sep="\n  ")
        print("0 passed, 1 failed")
        sys.exit(1)
    if not options.inside_near:
        if not world.has_go():
            print("there is no go here: its client is left out")
        world.enter_near([os.path.abspath(__file__), INSIDE, *sys.argv[1:]])
    sys.exit(run_near(options))


if __name__ == "__main__":
    main()
