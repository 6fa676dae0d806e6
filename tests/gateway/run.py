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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runner")]
sys.path.append(os.path.join(os.path.dirname(HERE), "mcp"))  # the intruder
sys.dont_write_bytecode = True

import harness  # noqa: E402
import runner  # noqa: E402
import watch  # noqa: E402
import world  # noqa: E402

INSIDE = "--inside-near"  # said by this script to itself


def arguments():
    parser = runner.parser()
    parser.add_argument("--as", dest="identity", choices=("root", "user", "both"), default="both")
    parser.add_argument("--shell", action="store_true")
    parser.add_argument("--mutants", action="store_true",
                        help="BINARY is caisson of the preset `mutant`: each control of "
                             "controls.txt is taken away once, and its tests must notice")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_half(options, identity):
    """All tests as root or as an ordinary user: (passed, failed)."""
    harness.use_identity(identity)
    print(f"-- as {identity}", flush=True)
    return runner.run_half(HERE, options)


def stop_early(*_):
    raise KeyboardInterrupt  # the one thing that a test's runner lets through


def run_near(options):
    place = world.World(options.binary)
    signal.signal(signal.SIGTERM, stop_early)
    try:
        watch.begin(600)  # compilers, on a new machine
        place.start()
        watch.end()
        harness.use_world(place)
        if options.shell:
            return subprocess.run([os.environ.get("SHELL", "/bin/sh")], cwd=place.folder).returncode
        if options.mutants:
            harness.use_identity("root")
            return runner.last_line(*runner.run_mutants(HERE, harness.use_mutant, options.k))
        identities = ("root", "user") if options.identity == "both" else (options.identity,)
        counts = [run_half(options, identity) for identity in identities]
    finally:
        place.stop()
    return runner.last_line(*(sum(column) for column in zip(*counts)))


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
