#!/usr/bin/env python3
"""The host view and the names in it: black box, as root and as an ordinary user.

    python3 tests/files/run.py BINARY [-k PATTERN]... [--as root|user] [-v] [--mutants]

Started by root it runs both halves. Everything happens below one folder of its own, which goes with
it. With --mutants, BINARY is caisson of the preset `mutant`: each control of controls.txt is taken
away once, and its tests must notice. The last line is "N passed, M failed".
"""
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runner")]
sys.dont_write_bytecode = True

import cell  # noqa: E402
import runner  # noqa: E402


def arguments():
    words = runner.parser()
    words.add_argument("--as", dest="identity", choices=("root", "user", "both"), default="both")
    words.add_argument("--mutants", action="store_true")
    return words.parse_args()


def identities(options):
    if os.geteuid() != 0:
        return ["user"]
    return ["root", "user"] if options.identity == "both" else [options.identity]


def use_mutant(name):
    cell.MUTANT = name


def run_as(identity, options):
    cell.IDENTITY = identity
    print(f"-- as {identity}", flush=True)
    if options.mutants:
        return runner.run_mutants(HERE, use_mutant, options.k)
    return runner.run_half(HERE, options)


def main():
    options = arguments()
    stage = tempfile.mkdtemp(prefix="caisson-files-")
    os.chmod(stage, 0o755)
    try:
        cell.stage_at(stage, options.binary)
        counts = [run_as(identity, options) for identity in identities(options)]
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return runner.last_line(*(sum(column) for column in zip(*counts)))


if __name__ == "__main__":
    sys.exit(main())
