"""Runs the parts of a test run side by side: a few lanes, each with one part at a time.

What a part says is kept in a file and shown in one piece when it ends, so that two parts never mix.
On a terminal, the last line tells what runs.
"""
import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time

FIRST_USER = 54321  # a uid that owns nothing on any machine; each lane has one of its own
PATIENCE = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)  # how a part is ended, and again, and again
BETWEEN = 5  # seconds
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
FAILED_TEST = re.compile(rb"^(?:(?:FAIL|ERROR): |\[  FAILED  \] |FAIL )(\S+)", re.MULTILINE)


class Part:
    """One command of the run. It begins when what it `needs` has passed, and never beside a part that
    has the same word in `shares`. One that is `alone` runs when nothing else does."""

    def __init__(self, name, *words, needs=(), shares="", alone=False, seconds=1800):
        self.name, self.words, self.needs = name, words, needs
        self.shares, self.alone, self.seconds = shares, alone, seconds
        self.verdict = ""  # "passed", or what is wrong
        self.was_beside = False
        self.failed_tests, self.failed_before = set(), set()

    def begin(self, lane):
        self.lane, self.began, self.out = lane, time.monotonic(), tempfile.TemporaryFile()
        # A session of its own: Ctrl-C comes to the run alone, which then ends its parts in order.
        # And where the scheduler groups by session, a part with many processes does not starve another.
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT,
            env={**os.environ, "TEST_UID": str(FIRST_USER + lane)}, start_new_session=True,
            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0))
        self.pidfd = os.pidfd_open(self.process.pid)

    def took(self):
        return time.monotonic() - self.began

    def is_late(self):
        return self.took() > self.seconds

    def finish(self):
        """After its process has ended: the verdict, and the seconds of its own and of processors."""
        os.close(self.pidfd)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if not self.verdict:
            self.verdict = "passed" if self.process.returncode == 0 else "FAILED"
        return f"{self.took():.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of processors"

    def show(self, times):
        print(f"\n== {self.name}", flush=True)
        self.out.seek(0)
        self.failed_tests = set(FAILED_TEST.findall(self.out.read()))
        self.out.seek(0)
        while piece := self.out.read(1 << 16):
            sys.stdout.buffer.write(piece)
        self.out.close()
        print(f"== {self.name}: {self.verdict} ({times})", flush=True)


# -- ending a part with all that it started -------------------------------------------------------


def family(pid):
    """Descriptors of a process and of all below it. Numbers may be given anew while they are ended."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        todo += children.get(one, [])
        try:
            found.append(os.pidfd_open(one))
        except OSError:
            pass  # gone meanwhile
    return found


def wait_for_all(descriptors, seconds):
    """Whether all of these processes have ended in this time."""
    with selectors.DefaultSelector() as selector:
        for one in descriptors:
            selector.register(one, selectors.EVENT_READ)
        end = time.monotonic() + seconds
        while selector.get_map() and (left := end - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                selector.unregister(key.fd)
        return not selector.get_map()


def end(parts):
    """SIGINT first, as from a terminal: a suite removes what it made. Then less kindly, with what has
    lost its parent meanwhile."""
    known = []
    for number in PATIENCE if parts else ():
        known += [one for part in parts for one in family(part.process.pid)]
        for one in known:
            try:
                signal.pidfd_send_signal(one, number)
            except OSError:
                pass  # gone, or root's: sudo passes on what it was sent itself
        if wait_for_all(known, BETWEEN):
            break
    for one in known:
        os.close(one)


# -- the run --------------------------------------------------------------------------------------


class Run:
    def __init__(self, parts, lanes):
        self.waiting, self.lanes = list(parts), lanes
        self.running, self.done, self.repeated = [], [], []
        self.is_terminal = sys.stdout.isatty()
        self.wakes, self.wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.stopped_by = 0

    def verdict_of(self, name):
        return next((one.verdict for one in self.done if one.name == name), "")

    def drop_hopeless(self):
        """A part whose needs have failed is a failure of its own, told at once."""
        for part in list(self.waiting):
            lacks = [need for need in part.needs if self.verdict_of(need) not in ("", "passed")]
            if lacks:
                self.waiting.remove(part)
                part.verdict = f"NOT RUN, it needs: {', '.join(lacks)}"
                self.done.append(part)
                print(f"\n== {part.name}: {part.verdict}", flush=True)

    def may_begin(self, part):
        if part.alone:  # the last ones, in their order
            return not self.running and all(one.alone for one in self.waiting)
        return (not any(one.alone for one in self.running) and
                not any(part.shares and part.shares == one.shares for one in self.running) and
                all(self.verdict_of(need) == "passed" for need in part.needs))

    def begin_what_can(self):
        self.drop_hopeless()
        for part in list(self.waiting):
            free = set(range(self.lanes)) - {one.lane for one in self.running}
            if free and self.may_begin(part):
                self.waiting.remove(part)
                part.begin(min(free))
                self.running.append(part)
                for one in self.running:
                    one.was_beside = one.was_beside or len(self.running) > 1
                self.clear_line()
                others = [one.name for one in self.running if one is not part]
                print(f"-- {part.name} begins" + (f", beside {', '.join(others)}" if others else ""),
                      flush=True)

    def wait(self):
        """Until a part ends, a signal comes, or a second is over."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.wakes, selectors.EVENT_READ)
            for part in self.running:
                selector.register(part.pidfd, selectors.EVENT_READ, part)
            return [key.data for key, _ in selector.select(1) if key.data]

    def finish(self, ended):
        for part in ended:
            self.running.remove(part)
            times = part.finish()
            self.clear_line()
            part.show(times)
            if part.verdict == "FAILED" and not self.is_needed(part) and self.may_be_chance(part):
                self.repeat(part)
            else:
                self.done.append(part)

    def is_needed(self, part):
        return any(part.name in one.needs for one in self.waiting)

    def may_be_chance(self, part):
        """It failed beside another, or alone in tests of which none had failed before: one that is
        unsteady fails here and there, one that is broken fails again."""
        if part.was_beside:
            return True
        runs = self.repeated.count(part.name)
        return runs == 1 and bool(part.failed_tests) and not part.failed_tests & part.failed_before

    def repeat(self, part):
        """At the end, with nothing beside it: what fails then has failed by itself."""
        print(f"== {part.name}: will be run again, alone", flush=True)
        part.failed_before |= part.failed_tests
        part.verdict, part.alone, part.was_beside = "", True, False
        self.repeated.append(part.name)
        self.waiting.append(part)

    def end_late(self):
        for part in self.running:
            if part.is_late() and not part.verdict:
                part.verdict = f"FAILED, it took more than {part.seconds} s"
                end([part])

    def clear_line(self):
        if self.is_terminal:
            print("\r\033[K", end="", flush=True)

    def show_line(self):
        if self.is_terminal:
            total = len(self.done) + len(self.running) + len(self.waiting)
            parts = ", ".join(f"{one.name} ({one.took():.0f} s)" for one in self.running)
            print(f"\r\033[K{len(self.done)} of {total} done; {parts}"[:os.get_terminal_size()[0] + 4],
                  end="", flush=True)

    def on_signal(self, number, _frame):
        self.stopped_by = number
        os.write(self.wake, b"!")

    def all(self):
        """Runs everything; the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.on_signal)
        try:
            while (self.running or self.waiting) and not self.stopped_by:
                self.begin_what_can()
                if not self.running:
                    break  # what waits can never begin; told below
                self.show_line()
                self.finish(self.wait())
                self.end_late()
        finally:
            end(self.running)
        self.clear_line()
        if self.stopped_by:
            print(f"ended by {signal.Signals(self.stopped_by).name}", flush=True)
            return 128 + self.stopped_by
        return self.tell()

    def tell(self):
        failed = [one for one in self.done + self.waiting if one.verdict != "passed"]
        print()
        for name in self.repeated:
            print(f"failed at first: {name}")
        for part in failed:
            print(f"failed: {part.name}")
        print(f"{len(self.done) + len(self.waiting) - len(failed)} passed, {len(failed)} failed",
              flush=True)
        return 1 if failed else 0
