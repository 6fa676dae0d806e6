#!/usr/bin/env python3
"""The host view and the names in it: black box, as root and as an ordinary user.

    python3 tests/files/run.py BINARY [-k PATTERN]... [--as root|user] [-v] [--mutants]

Started by root it runs both halves. Everything happens below one folder of its own, which goes with
it. With --mutants, BINARY is caisson of the preset `mutant`: each control of controls.txt is taken
away once, and its tests must notice. The last line is "N passed, M failed".
"""
import argparse
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import cell  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--as", dest="identity", choices=("root", "user", "both"), default="both")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--mutants", action="store_true")
    return parser.parse_args()


def identities(options):
    if os.geteuid() != 0:
        return ["user"]
    return ["root", "user"] if options.identity == "both" else [options.identity]


def run_tests(patterns, stream, verbosity=1):
    loader = unittest.TestLoader()
    if patterns:
        loader.testNamePatterns = [k if "*" in k else f"*{k}*" for k in patterns]
    suite = loader.discover(HERE, pattern="test_*.py", top_level_dir=HERE)
    result = unittest.TextTestRunner(stream=stream, verbosity=verbosity).run(suite)
    failed = {str(test) for test, _ in result.failures + result.errors}
    return result.testsRun, len(failed)


def read_controls():
    with open(os.path.join(HERE, "controls.txt"), encoding="utf-8") as text:
        rows = [line.split(" | ") for line in text if " | " in line and not line.startswith("#")]
    return [(row[0].strip(), row[1].split()) for row in rows]


def run_mutants(options):
    passed = failed = 0
    for name, patterns in read_controls():
        if options.k and name not in options.k:
            continue
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            cell.MUTANT = None
            whole = run_tests(patterns, nowhere)
            cell.MUTANT = name
            without = run_tests(patterns, nowhere)
        noticed = whole[0] > 0 and whole[1] == 0 and without[1] > 0
        print(f"{'noticed' if noticed else 'NOT NOTICED'}: {name} {whole} {without}", flush=True)
        passed, failed = passed + noticed, failed + (not noticed)
    return passed, failed


def main():
    options = arguments()
    stage = tempfile.mkdtemp(prefix="caisson-files-")
    os.chmod(stage, 0o755)
    passed = failed = 0
    try:
        cell.stage_at(stage, options.binary)
        for identity in identities(options):
            cell.IDENTITY = identity
            print(f"-- as {identity}", flush=True)
            if options.mutants:
                good, bad = run_mutants(options)
            else:
                run, bad = run_tests(options.k, sys.stdout, 2 if options.v else 1)
                good = run - bad
            passed, failed = passed + good, failed + bad
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
