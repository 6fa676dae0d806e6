#!/usr/bin/env python3
"""checks.py CAISSON: what only a host with systemd, control groups v2 and Debian's kernel can show. As root, in the guest."""
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

CAISSON = sys.argv.pop(1)
USER = "tester"
GREEDY = "x = bytearray(200 << 20); print(len(x))"


def run(*words, seconds=120, **how):
    return subprocess.run(words, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, **how)


def as_user(*words):
    """In a login session of the ordinary user's, with a manager of systemd's own."""
    return run("systemd-run", "--quiet", "--wait", "--pipe", "--collect", f"--uid={USER}", "-p", "PAMName=login",
               "-p", "WorkingDirectory=~", *words)


def result_of(done):
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise AssertionError(f"exit {done.returncode}: {done.stdout} {done.stderr}") from None


def own_groups():
    return glob.glob("/sys/fs/cgroup/**/caisson-*", recursive=True)


def eventually(true, seconds=20):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(.05)
    return true()


class Limits(unittest.TestCase):
    """By control groups v2, for root and for who has a part of them by systemd."""

    def check(self, start):
        held = result_of(start(CAISSON, "exec", "--json-output", "--memory", "64M", "--", "python3", "-c", GREEDY))
        self.assertEqual(held["limits"]["enforced_by"]["memory"], "cgroup v2", held)
        self.assertEqual((held["status"], held["stdout"]), ("oom", ""), held)
        free = result_of(start(CAISSON, "exec", "--json-output", "--memory", "512M", "--", "python3", "-c", GREEDY))
        self.assertEqual((free["status"], free["stdout"]), ("ok", f"{200 << 20}\n"), free)
        forks = "import os\nfor i in range(40):\n    if os.fork() == 0:\n        os.read(os.pipe()[0], 1)"
        full = result_of(start(CAISSON, "exec", "--json-output", "--pids", "16", "--timeout", "60s", "--", "python3", "-c",
                               forks))
        self.assertEqual(full["limits"]["enforced_by"]["pids"], "cgroup v2", full)
        self.assertIn("Resource temporarily unavailable", full["stderr"])
        self.assertGreater(full["usage"]["pids_refused"], 0, full)
        busy = ("--json-output", "--timeout", "60s", "--", "python3", "-c",
                "import time\nwhile time.process_time() < 1: pass")
        slow = result_of(start(CAISSON, "exec", "--cpu", "0.2", *busy))
        self.assertIn("cgroup v2", slow["limits"]["enforced_by"]["cpu"], slow)
        self.assertGreater(slow["duration_ms"], 3 * slow["usage"]["cpu_ms"], slow)
        free = result_of(start(CAISSON, "exec", *busy))
        self.assertLess(free["duration_ms"], 2.5 * free["usage"]["cpu_ms"], free)
        self.assertTrue(eventually(lambda: not own_groups()), own_groups())

    def test_of_root(self):
        self.check(run)

    def test_of_a_user_by_the_manager_of_the_session(self):
        self.check(as_user)

    def test_a_killed_supervisor_leaves_no_group(self):
        cell = subprocess.Popen((CAISSON, "exec", "--memory", "64M", "sh", "-c", "echo here; sleep 60 & sleep 60"),
                                stdout=subprocess.PIPE)
        cell.stdout.readline()
        self.assertTrue(own_groups())
        cell.send_signal(signal.SIGKILL)
        cell.wait()
        self.assertTrue(eventually(lambda: not own_groups()), own_groups())


class Mounts(unittest.TestCase):
    def test_the_table_of_a_host_that_shares_its_mounts_is_left_alone(self):
        with open("/proc/self/mountinfo") as table:
            before = table.read()
        self.assertIn(" shared:", before)
        os.makedirs("/srv/project/below", exist_ok=True)
        for _ in range(2):
            done = run(CAISSON, "exec", "--workspace", "/srv/project", "--mount", "/srv/project/below:/workspace/below:ro",
                       "sh", "-c", "touch made; touch below/made")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("Read-only file system", done.stderr)
        self.assertTrue(os.path.exists("/srv/project/made"))
        with open("/proc/self/mountinfo") as table:
            self.assertEqual(table.read(), before)


class WithoutUserNamespaces(unittest.TestCase):
    """Each switch that forbids them to an ordinary user: a clear error with the fix, and the smaller tier by its name."""

    def check(self, switch, fix):
        with open(switch) as file:
            before = file.read()
        self.addCleanup(lambda: self.put(switch, before))
        self.put(switch, "0")
        done = as_user(CAISSON, "exec", "true")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("namespaces", done.stderr)
        self.assertIn("`caisson doctor` shows the fix", done.stderr)
        doctor = as_user(CAISSON, "doctor")
        self.assertNotEqual(doctor.returncode, 0)
        self.assertIn(fix, doctor.stdout)
        smaller = as_user(CAISSON, "exec", "--tier", "landlock", "echo", "held")
        self.assertEqual(smaller.stdout, "held\n", smaller.stderr)
        self.put(switch, before)
        self.assertEqual(as_user(CAISSON, "exec", "true").returncode, 0)

    @staticmethod
    def put(switch, value):
        with open(switch, "w") as file:
            file.write(value)

    def test_by_debians_switch(self):
        self.check("/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone")

    def test_by_their_number(self):
        self.check("/proc/sys/user/max_user_namespaces", "user.max_user_namespaces")


class Doctor(unittest.TestCase):
    def test_the_default_policy_can_be_enforced_in_full(self):
        for start in (run, as_user):
            done = start(CAISSON, "doctor")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("cgroup v2", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
