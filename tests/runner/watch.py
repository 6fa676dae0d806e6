"""No test may hang: one that takes too long fails, and tells where it and all that it started stood.

A suite that hangs would be ended as a whole, with nothing said of the tests behind the one that hung.
"""
import faulthandler
import os
import signal
import tempfile

LONGEST = float(os.environ.get("TEST_SECONDS", 300))  # of one test; the longest takes a tenth of it
AGAIN = 20  # seconds, if what cleans up behind it hangs as well


class TookTooLong(AssertionError):
    pass


def begin(seconds=LONGEST):
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)


def end():
    signal.setitimer(signal.ITIMER_REAL, 0)


def on_alarm(_number, _frame):
    raise TookTooLong(f"it took too long\n{own_threads()}\n{descendants()}")


def own_threads():
    with tempfile.TemporaryFile("w+") as text:
        faulthandler.dump_traceback(text, all_threads=True)
        text.seek(0)
        return text.read()


def descendants():
    """A line for each process below this one: what it is, and what it waits for."""
    lines, todo = [], [(os.getpid(), 0)]
    while todo:
        pid, depth = todo.pop()
        lines.append(f"{'  ' * depth}{pid} {told(pid)}")
        todo += [(child, depth + 1) for child in children(pid)]
    return "\n".join(lines)


def children(pid):
    found = []
    for task in names_in(f"/proc/{pid}/task"):
        found += [int(one) for one in read(f"/proc/{pid}/task/{task}/children").split()]
    return found


def told(pid):
    words = read(f"/proc/{pid}/cmdline").replace("\0", " ")[:120] or read(f"/proc/{pid}/comm").strip()
    state = read(f"/proc/{pid}/stat").rpartition(")")[2][1:2]
    call = read(f"/proc/{pid}/syscall").split(" ")[:2]
    return f"{state} in {read(f'/proc/{pid}/wchan') or '?'}, call {' '.join(call).strip()}: {words}"


def names_in(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []  # it has ended


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as text:
            return text.read()
    except OSError:
        return ""

