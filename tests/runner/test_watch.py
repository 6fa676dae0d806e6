#!/usr/bin/env python3
"""A test that hangs fails by itself, is told with what it waited for, and the next one runs."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
HANGING = """
import subprocess, time, unittest
class Some(unittest.TestCase):
    def test_1_waits_for_a_program(self):
        child = subprocess.Popen(["sleep", "71.5"])
        self.addCleanup(child.kill)
        child.wait()
    def test_2_waits_behind_itself(self):
        self.addCleanup(time.sleep, 60)
        time.sleep(60)
    def test_3_is_good(self):
        pass
"""


class Watch(unittest.TestCase):
    def run_suite(self, text, seconds):
        with tempfile.TemporaryDirectory(prefix="caisson-watch-") as folder:
            with open(os.path.join(folder, "test_some.py"), "w", encoding="utf-8") as out:
                out.write(text)
            return subprocess.run(
                [sys.executable, "-c", "import sys; sys.dont_write_bytecode = True; import runner, watch\n"
                 f"watch.AGAIN = 0.3; sys.exit(runner.run({folder!r}, runner.parser().parse_args(['x'])))"],
                env={**os.environ, "PYTHONPATH": HERE, "TEST_SECONDS": str(seconds)}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)

    def test_what_hangs_fails_and_is_told(self):
        done = self.run_suite(HANGING, 0.5)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 2 failed", done.stdout)
        self.assertIn("in test_1_waits_for_a_program", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^  \d+ S in .*: sleep 71\.5 $")

    def test_what_is_quick_is_left_alone(self):
        done = self.run_suite(HANGING.replace("71.5", "0").replace("60", "0"), 20)
        self.assertEqual((done.stdout.splitlines()[-1], done.returncode), ("3 passed, 0 failed", 0))


if __name__ == "__main__":
    unittest.main()
