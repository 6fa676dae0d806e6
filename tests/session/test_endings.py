"""How it is known that nobody of a session is left: parts of the inside."""

import os
import signal
import subprocess
import sys
import unittest
from unittest import mock

from case import kernel_module

# Says so whenever it has been asked, and is at rest between.
ANSWERS = "import sys\nprint(1, flush=True)\nfor line in sys.stdin: print(2, flush=True)"
TWO_THREADS = "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\n" + ANSWERS


class Spared:
    def __init__(self, pid):
        self.pid = pid


class Looks(unittest.TestCase):
    def stopped(self, code):
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        for step in (child.stdin.close, child.stdout.close, child.wait, child.kill):
            self.addCleanup(step)
        self.assertEqual(child.stdout.readline(), b"1\n")
        self.stop(child)
        return child

    def stop(self, child):
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)

    def test_one_that_stays_at_its_stop_has_not_run(self):
        looks = kernel_module("looks")
        child = self.stopped(ANSWERS)
        look = looks.Look(child.pid, list)
        self.assertTrue(look.take())
        self.assertTrue(look.has_not_run(child.pid))
        self.assertFalse(look.has_not_run(os.getpid()))

    def test_one_that_was_awake_meanwhile_has_run(self):
        looks = kernel_module("looks")
        child = self.stopped(ANSWERS)
        look = looks.Look(child.pid, list)
        self.assertTrue(look.take())
        child.send_signal(signal.SIGCONT)
        child.stdin.write(b"\n")
        child.stdin.flush()
        self.assertEqual(child.stdout.readline(), b"2\n")
        self.assertIsNone(looks.runs_at_rest(child.pid))
        self.stop(child)
        self.assertFalse(look.has_not_run(child.pid))

    def test_nothing_is_said_of_one_with_more_threads(self):
        looks = kernel_module("looks")
        child = self.stopped(TWO_THREADS)
        self.assertFalse(looks.Look(child.pid, list).take())

    def test_ids_that_were_given_out_tell_of_others(self):
        looks = kernel_module("looks")
        look = looks.Look(7, list)
        # who lived besides, the last id before the look and now, and whether 42 is the only new one
        for others, last, now, is_all in ((set(), b"41", b"42", True), ({42}, b"42", b"42", True),
                                          (set(), b"41", b"43", False), (set(), b"40", b"42", False),
                                          ({9}, b"41", b"42", False), (None, b"41", b"42", False)):
            look.others, look.last = others, last
            with self.subTest(others=others, last=last), mock.patch.object(looks, "last_made",
                                                                           return_value=now):
                self.assertIs(look.shows_all(42), is_all)


class Hunts(unittest.TestCase):
    def hunt(self, listed, lasts, living):
        """Whom it kills, in each round, when processes and ids are these."""
        endings = kernel_module("endings")
        killed, listed = [], iter(listed)
        fakes = {"strangers": lambda spared, own: next(listed) - spared,
                 "kill_each": lambda pids: killed.append(set(pids)), "count_alive": len,
                 "last_made": mock.Mock(side_effect=lasts), "living": mock.Mock(side_effect=living),
                 "getpid": lambda: 1}
        with mock.patch.multiple(endings, **fakes):
            endings.end_all_but([Spared(9)], [])
        return killed

    def test_it_ends_when_nobody_is_left(self):
        self.assertEqual(self.hunt([{5}, {5}], [b"10"] * 9, [{9}, set()] + [{9}] * 9),
                         [set(), {5}, set()])

    def test_a_number_that_was_given_out_again_is_killed_again(self):
        lasts = [b"10", b"10", b"11", b"11", b"11", b"11"]
        self.assertEqual(self.hunt([{5}, {5}, {5}], lasts, [{9}, set()] + [{9}] * 9),
                         [set(), {5}, {5}, set()])

    def test_the_number_of_one_that_was_to_be_spared_and_died_is_not(self):
        living = [{9}, set(), {9}] + [set()] * 9
        self.assertEqual(self.hunt([{9}, {9}, {9}], [b"10"] * 9, living), [set(), set(), {9}, set()])
