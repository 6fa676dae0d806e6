#!/usr/bin/env python3
"""Tests of sessions in cells. Prints 'N passed, N failed'.

    tests/sessions/run.py CAISSON DRIVER [--own-cells] [--full] [-v] [-k WORD] [--without WORD]
    tests/sessions/run.py CAISSON DRIVER --mutants [-k CONTROL] [--without CONTROL]
                                         both of the preset `mutant`: each
                                         control of controls.txt is taken away once, and its tests
                                         must notice; needs forks of a zygote

Sessions are forks of a zygote where that can be had; with --own-cells each is a cell of its own.
With --full the tests of many sessions and of many calls are as large as docs/specification.md says.
"""
import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runner")]

import harness  # noqa: E402
import runner  # noqa: E402


BROKEN = []


def use_mutant(name):
    """A mutant that has no sessions at all would be noticed by everything."""
    harness.MUTANT = name
    if name is None:
        return
    with tempfile.TemporaryDirectory(prefix="caisson-mutant-") as top:
        host = harness.Host(top)
        try:
            session = host.session("canary")
            if session.info["cell"] != "zygote" or session.value("6 * 7") != 42:
                BROKEN.append(name)
        except (harness.Refused, EOFError, AssertionError):
            BROKEN.append(name)
        finally:
            host.close()


def run_mutants(only, without):
    passed, failed = runner.run_mutants(HERE, use_mutant, only, without)
    for name in BROKEN:
        print("FAIL %s: no session begins" % name)
    return runner.last_line(passed, failed + len(BROKEN))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("caisson")
    options.add_argument("driver")
    options.add_argument("--own-cells", action="store_true")
    options.add_argument("--full", action="store_true")
    options.add_argument("--mutants", action="store_true")
    options.add_argument("-v", action="store_true")
    options.add_argument("-k", action="append", default=[])
    options.add_argument("--without", action="append", default=[])
    chosen = options.parse_args()
    harness.use(chosen.caisson, chosen.driver)
    harness.OWN_CELLS = chosen.own_cells
    harness.FULL = chosen.full
    if chosen.mutants:
        return run_mutants(chosen.k, chosen.without)
    return runner.run(HERE, chosen)


if __name__ == "__main__":
    sys.exit(main())
