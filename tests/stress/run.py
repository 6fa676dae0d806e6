#!/usr/bin/env python3
"""run.py BINARY [--quick] [--only NAME]: the end of a cell is certain, also under load.

Cells are killed at random moments, run ten thousand times in a row and two hundred at once; then
the host must look as it did before. As root the cases run twice: as root and as an ordinary user.
Started as an ordinary user they run as that one. --quick does a twentieth of it.
"""

import argparse
import json
import os
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True  # no __pycache__ in the checkout

import cases  # noqa: E402
import cells  # noqa: E402

ORDINARY_USER = 54321  # a uid that owns nothing on any machine


class TooLate(Exception):
    pass


def on_alarm(_signal, _frame):
    raise TooLate


def run_case(place, case, seconds, scale):
    """None when the promises hold, else what is wrong."""
    place.fresh(case.__name__)
    signal.alarm(seconds)
    try:
        case(place, scale)
        return None
    except cells.Failure as failure:
        return str(failure)
    except TooLate:
        return f"not done after {seconds} s"
    except Exception:  # pylint: disable=broad-except
        return traceback.format_exc().strip()
    finally:
        signal.alarm(0)
        cells.end_children()


def run_half(options, user, report):
    """All cases as this user; the numbers of passed and failed ones go to `report`."""
    signal.signal(signal.SIGALRM, on_alarm)
    is_root = os.geteuid() == 0
    binary = os.open(options.binary, os.O_RDONLY)  # the view of our own may hide its path
    if is_root:
        cells.take_own_view()
    uid = user if is_root else os.getuid()
    place = cells.Place(f"/proc/self/fd/{binary}", uid, owns_view=is_root)
    os.close(binary)
    if is_root and uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.chdir(place.path("work"))
    cells.adopt_orphans()
    try:
        counts = run_cases(place, options)
    finally:
        place.remove()
    os.write(report, json.dumps(counts).encode())


def run_cases(place, options):
    """How many passed and failed; a line for each as it ends."""
    counts = {"passed": 0, "failed": 0}
    for case, seconds in cases.ALL:
        if options.only and options.only not in case.__name__:
            continue
        begin = time.monotonic()
        problem = run_case(place, case, seconds, options.scale)
        counts["failed" if problem else "passed"] += 1
        who = "root" if place.uid == 0 else "user"
        took = time.monotonic() - begin
        print(f"{'FAIL' if problem else 'ok  '} {who}: {case.__name__} ({took:.1f} s)", flush=True)
        if problem:
            print(f"     {problem}", flush=True)
    return counts


def half_in_a_child(options, user):
    """Runs a half in a process of its own, which may change its view and its ids."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        try:
            run_half(options, user, write_end)
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(write_end)
    text = os.read(read_end, 4096)
    os.close(read_end)
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"passed": 0, "failed": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the work")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    options = parser.parse_args()
    options.scale = (lambda n: max(1, n // 20)) if options.quick else (lambda n: n)
    users = (0, ORDINARY_USER) if os.geteuid() == 0 else (os.getuid(),)
    halves = [half_in_a_child(options, user) for user in users]
    passed, failed = (sum(half[key] for half in halves) for key in ("passed", "failed"))
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
