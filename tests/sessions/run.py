#!/usr/bin/env python3
"""Tests of sessions in cells. Prints 'N passed, N failed'.

    tests/sessions/run.py CAISSON DRIVER [--own-cells] [-v] [-k WORD]

Sessions are forks of a zygote where that can be had; with --own-cells each is a cell of its own.
"""
import argparse
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import harness  # noqa: E402


def main():
    options = argparse.ArgumentParser()
    options.add_argument("caisson")
    options.add_argument("driver")
    options.add_argument("--own-cells", action="store_true")
    options.add_argument("-v", action="store_true")
    options.add_argument("-k", action="append")
    chosen = options.parse_args()
    harness.use(chosen.caisson, chosen.driver)
    harness.OWN_CELLS = chosen.own_cells
    loader = unittest.TestLoader()
    if chosen.k:
        loader.testNamePatterns = ["*%s*" % word for word in chosen.k]
    tests = loader.discover(HERE, "test_*.py")
    result = unittest.TextTestRunner(verbosity=2 if chosen.v else 1).run(tests)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print("%d passed, %d failed" % (result.testsRun - failed, failed))
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
