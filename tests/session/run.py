#!/usr/bin/env python3
"""Tests of the inside of a session. Prints 'N passed, N failed'.

    tests/session/run.py [-v] [-k WORD] [--python PATH]

The whole run happens in a pid namespace of its own where that can be had, as a session's own life
does: no signal that a test (or a defect) sends can reach a process outside.
"""

import argparse
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runner")]
sys.dont_write_bytecode = True

import runner  # noqa: E402


def enter_namespace():
    """Runs this program again inside a new pid namespace, and ends with its status."""
    if os.environ.get("CAISSON_SESSION_TESTS") == "inside" or not shutil.which("unshare"):
        return
    inside = ["--pid", "--fork", "--mount-proc", "--kill-child"]
    ways = (["unshare", *inside], ["unshare", "--user", "--map-root-user", *inside])
    for way in ways:
        if subprocess.run([*way, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            os.environ["CAISSON_SESSION_TESTS"] = "inside"
            os.execvp(way[0], [*way, sys.executable, os.path.abspath(__file__), *sys.argv[1:]])


def be_init():
    """As the first process of the namespace: collects orphans while a child runs the tests."""
    child = os.fork()
    if child == 0:
        return
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("-v", action="store_true")
    options.add_argument("-k", action="append", default=[])
    options.add_argument("--python", default=sys.executable)
    chosen = options.parse_args()
    os.environ["CAISSON_SESSION_PYTHON"] = chosen.python
    return runner.run(HERE, chosen)


if __name__ == "__main__":
    enter_namespace()
    if os.getpid() == 1:
        be_init()
    sys.exit(main())
