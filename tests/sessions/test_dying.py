"""Processes of a session that take long to die. A killed process is gone when the kernel has taken its
memory apart, and code decides how long that takes; here they are frozen, which is for as long as the
test wants. The host has others to serve meanwhile."""
import os
import tempfile
import time
import unittest

from harness import DEADLINE, SessionTest, descendants

FREEZER = "/sys/fs/cgroup/freezer"
SOON = 20  # seconds; who waits for one of them waits for six at least, and there are five
SESSIONS = 5


class Freezer:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="caisson-test-", dir=FREEZER)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def state(self):
        with open(os.path.join(self.folder, "freezer.state")) as file:
            return file.read().strip()

    def freeze(self, pids):
        for pid in pids:
            self.write("cgroup.procs", str(pid))
        self.write("freezer.state", "FROZEN")
        return until(lambda: self.state() == "FROZEN")

    def remove(self):
        if os.path.exists(self.folder):
            self.write("freezer.state", "THAWED")
            until(self.is_gone)

    def is_gone(self):
        try:
            os.rmdir(self.folder)
        except OSError:
            return not os.path.exists(self.folder)
        return True


def until(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def named(name, below):
    found = []
    for pid in descendants(below):
        try:
            with open("/proc/%d/comm" % pid) as file:
                if file.read().strip() == name:
                    found.append(pid)
        except OSError:
            continue
    return found


def cgroups_of(pids):
    """The folders that these processes are in, of the hierarchies where cells have theirs."""
    folders = set()
    for pid in pids:
        with open("/proc/%d/cgroup" % pid) as file:
            for line in file:
                _, controllers, path = line.strip().split(":", 2)
                if controllers in ("memory", "pids"):
                    folders.add("/sys/fs/cgroup/%s%s" % (controllers, path))
    return folders


@unittest.skipIf(os.geteuid() != 0, "only root freezes processes")
@unittest.skipIf(not os.access(FREEZER, os.W_OK), "no freezer of cgroup v1 here")
class Dying(SessionTest):
    def test_sessions_that_take_long_to_die_hold_nobody(self):
        good = self.session()
        self.ok(good.exec("kept = 1"))
        bad = [self.session() for _ in range(SESSIONS)]
        for s in bad:
            self.ok(s.exec("import ctypes; ctypes.CDLL(None).prctl(15, b'slow-to-die')"))
        slow = named("slow-to-die", self.host.process.pid)
        self.assertGreaterEqual(len(slow), SESSIONS)
        folders = cgroups_of(slow)
        self.assertGreaterEqual(len(folders), SESSIONS)
        freezer = Freezer()
        self.addCleanup(freezer.remove)
        self.assertTrue(freezer.freeze(slow))
        for s in bad:
            self.host.send("end", s.name)
        number = self.host.send("exec", good.name, code="print(kept)")
        self.assertEqual(self.ok(self.host.wait(number, SOON))["output"], "1\n")
        self.assertEqual(freezer.state(), "FROZEN")
        self.assertTrue(any(map(os.path.exists, folders)))  # nobody is dead yet
        freezer.remove()
        self.assertTrue(until(lambda: not any(map(os.path.exists, folders))))
        self.assertEqual(good.value("kept"), 1)
