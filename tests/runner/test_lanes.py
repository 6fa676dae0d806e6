#!/usr/bin/env python3
"""What runs the parts of a test run, with parts that are a line of shell. Each run is a process of its own,
since it takes signals."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE = 60


class Lanes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="caisson-lanes-")
        self.addCleanup(self.folder.cleanup)

    def start(self, *parts, lanes=2):
        """Parts are Python: ("name", "shell", more=…)."""
        code = ("import sys; sys.dont_write_bytecode = True; from lanes import Part, Run\n"
                "def part(name, shell, **how): return Part(name, 'sh', '-c', shell, **how)\n"
                f"sys.exit(Run([{', '.join('part' + one for one in parts)}], {lanes}).all())")
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                                cwd=self.folder.name, env={**os.environ, "PYTHONPATH": HERE})

    def run_all(self, *parts, lanes=2):
        """(exit code, lines)."""
        child = self.start(*parts, lanes=lanes)
        return child.communicate(timeout=DEADLINE)[0].splitlines(), child.returncode

    def test_what_a_part_says_is_in_one_piece_and_failures_are_named_at_the_end(self):
        """Each waits for the other in the middle of what it says."""
        meet = "echo {0} one; : > {0}; until [ -e {1} ]; do sleep .01; done; echo {0} two; exit {2}"
        lines, code = self.run_all(f"('a', '{meet.format('a', 'b', 0)}')",
                                   f"('b', '{meet.format('b', 'a', 3)}')")
        for name, verdict in (("a", "passed"), ("b", "FAILED")):
            at = lines.index(f"== {name}")
            self.assertEqual(lines[at + 1:at + 3], [f"{name} one", f"{name} two"])
            self.assertTrue(lines[at + 3].startswith(f"== {name}: {verdict} ("), lines)
        self.assertEqual((lines[-3:], code),
                         (["failed at first: b", "failed: b", "1 passed, 1 failed"], 1))

    def test_what_fails_beside_another_is_run_again_alone(self):
        """Once; and one that needs nobody beside it to pass is told all the same."""
        beside = ": > a; until [ -e b ]; do sleep .01; done; [ -e again ] || { : > again; exit 1; }"
        lines, code = self.run_all(f"('a', '{beside}')",
                                   "('b', ': > b; until [ -e a ]; do sleep .01; done; sleep .3')")
        self.assertEqual((lines[-2:], code), (["failed at first: a", "2 passed, 0 failed"], 0))
        self.assertEqual(sum(line.startswith("-- a begins") for line in lines), 2)

    def other_each_time(self, *failing):
        """A part whose runs fail in these tests, one after the other, beside one that only waits."""
        says = "".join(f"if [ ! -e {i} ]; then : > {i}; echo FAIL: {name}; exit 1; fi; "
                       for i, name in enumerate(failing))
        lines, code = self.run_all(f"('a', ': > a; until [ -e b ]; do sleep .01; done; {says}')",
                                   "('b', ': > b; until [ -e a ]; do sleep .01; done; sleep .3')")
        return sum(line.startswith("-- a begins") for line in lines), code

    def test_tests_that_fail_once_each_get_a_third_run_and_those_that_fail_again_do_not(self):
        self.assertEqual(self.other_each_time("one", "two"), (3, 0))
        os.unlink(os.path.join(self.folder.name, "a"))
        os.unlink(os.path.join(self.folder.name, "b"))
        for i in range(2):
            os.unlink(os.path.join(self.folder.name, str(i)))
        self.assertEqual(self.other_each_time("one", "one"), (2, 1))

    def test_a_third_failure_is_one(self):
        self.assertEqual(self.other_each_time("one", "two", "three"), (3, 1))

    def test_all_passed_is_zero(self):
        lines, code = self.run_all("('a', 'true')")
        self.assertEqual((lines[-1], code), ("1 passed, 0 failed", 0))

    def test_a_part_waits_for_what_it_needs_and_is_a_failure_without(self):
        lines, code = self.run_all("('c', 'cat made', needs=('a',))", "('d', 'true', needs=('b',))",
                                   "('e', 'true', needs=('d',))", "('a', 'sleep .2; echo x > made')",
                                   "('b', 'false')")
        self.assertIn("x", lines)
        self.assertEqual(lines[-4:], ["failed: b", "failed: d", "failed: e", "2 passed, 3 failed"])
        self.assertEqual(code, 1)

    def test_what_shares_and_what_is_alone_has_nobody_beside_it(self):
        own = "mkdir only && sleep .2 && rmdir only"
        lines, code = self.run_all(f"('a', '{own}', alone=True)", f"('b', '{own}', shares='x')",
                                   f"('c', '{own}', shares='x')", f"('d', '{own}', alone=True)", lanes=4)
        self.assertEqual((lines[-1], code), ("4 passed, 0 failed", 0))

    def test_each_lane_is_another_user(self):
        meet = "echo $TEST_UID > {0}; until [ -e {1} ]; do sleep .01; done; cat {0}"
        lines, _ = self.run_all(f"('a', '{meet.format('a', 'b')}')", f"('b', '{meet.format('b', 'a')}')")
        said = [lines[lines.index(f"== {name}") + 1] for name in "ab"]
        self.assertEqual(sorted(said), ["54321", "54322"])

    def test_a_part_that_takes_too_long_is_ended_with_all_that_it_started(self):
        lines, code = self.run_all("('a', 'setsid sleep 99 & echo $! > pid; exec sleep 99', seconds=1)")
        self.assertIn("== a: FAILED, it took more than 1 s", " ".join(lines))
        self.assertEqual((lines[-1], code), ("0 passed, 1 failed", 1))
        self.assert_gone("pid")

    def test_a_signal_ends_everything(self):
        child = self.start("('a', 'sleep 99 & echo $! > pid; : > up; wait')", "('b', 'sleep 99')")
        while not os.path.exists(os.path.join(self.folder.name, "up")):
            self.assertIsNone(child.poll())
            time.sleep(0.01)
        child.send_signal(signal.SIGTERM)
        self.assertIn("ended by SIGTERM", child.communicate(timeout=DEADLINE)[0])
        self.assertEqual(child.returncode, 128 + signal.SIGTERM)
        self.assert_gone("pid")

    def assert_gone(self, name):
        with open(os.path.join(self.folder.name, name), encoding="ascii") as file:
            pid = int(file.read())
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                self.assertEqual(stat.read().rpartition(")")[2].split()[0], "Z")
        except FileNotFoundError:
            pass


if __name__ == "__main__":
    unittest.main()
