"""How it is known that nobody of a session is left: parts of the inside."""

import os
import select
import signal
import socket
import subprocess
import sys
import unittest
from unittest import mock

from case import kernel_module

class Spared:
    def __init__(self, pid):
        self.pid = pid


class Over(unittest.TestCase):
    def is_leaving(self, state, flags, size):
        fields = [b"0"] * 50
        fields[0], fields[6], fields[20] = state, b"%d" % flags, size
        return bool(kernel_module("endings").is_leaving(fields))

    def test_one_that_leaves_is_over_when_it_has_let_go_of_its_memory(self):
        exiting = kernel_module("endings").PF_EXITING
        for state, flags, size, over in ((b"R", 0, b"4096", False), (b"R", exiting, b"4096", False),
                                         (b"R", exiting, b"0", True), (b"R", 0, b"0", False),
                                         (b"Z", exiting, b"0", True)):
            with self.subTest(state=state, flags=flags, size=size):
                self.assertIs(self.is_leaving(state, flags, size), over)

    def test_one_that_does_not_end_is_told(self):
        endings = kernel_module("endings")
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        for step in (child.stdin.close, child.wait, child.kill):
            self.addCleanup(step)
        with mock.patch.object(endings, "OVER_SECONDS", 0.01):
            self.assertFalse(endings.see_over({child.pid}))
        child.kill()
        self.assertTrue(endings.see_over({child.pid}))


class Gates(unittest.TestCase):
    def test_it_opens_when_the_keeper_lets_go(self):
        gates = kernel_module("gates")
        gate = gates.Gate()
        theirs = os.dup(gate.waits)
        self.addCleanup(os.close, theirs)
        gate.hand_over()
        watcher = select.poll()
        watcher.register(theirs, select.POLLIN)
        self.assertEqual(watcher.poll(0), [])
        gate.open()
        self.assertEqual(watcher.poll(0), [(theirs, select.POLLHUP)])

    def test_the_word_of_a_kill_does_not_open_it(self):
        gate = kernel_module("gates").Gate(is_told=True)
        watcher = select.poll()
        watcher.register(gate.waits, kernel_module("freezing").ONLY_THE_END)
        gate.tell_killed()
        self.assertEqual(watcher.poll(0), [])
        gate.open()
        self.assertEqual([fd for fd, _ in watcher.poll(0)], [gate.waits])

    def test_one_that_nobody_holds_is_open_and_leaves_no_descriptor(self):
        gates = kernel_module("gates")
        before = os.listdir("/proc/self/fd")
        gates.Gate()
        self.assertEqual(os.listdir("/proc/self/fd"), before)


class StandingBack(unittest.TestCase):
    def test_who_is_killed_has_its_share_of_the_processor(self):
        """As SCHED_IDLE it would not come to its end while two dozen processes of another session spin, and the
        keeper, which waits for that, would give its own session up."""
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(1)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        kernel_module("endings").stand_back([child])
        self.assertEqual(os.sched_getscheduler(child), os.SCHED_BATCH)


class Newcomers(unittest.TestCase):
    def test_a_flag_on_who_looks_is_no_harm(self):
        """In a child: without a capability nobody is rid of it again."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.sched_setscheduler(0, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))
                newcomer = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
                harmed = kernel_module("endings").is_harmed(newcomer.pid)
                os.sched_setscheduler(newcomer.pid, os.SCHED_BATCH, os.sched_param(0))
                code = 0 if (harmed, kernel_module("endings").is_harmed(newcomer.pid)) == (False, True) else 2
                newcomer.kill()
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class Reports(unittest.TestCase):
    def test_one_that_waits_to_be_read_is_seen_and_left(self):
        """A call that is relayed meanwhile must not have the keeper read what the host waits for."""
        frames, checkpoints = kernel_module("frames"), kernel_module("checkpoints")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        for pid, seen in ((os.getpid(), True), (1, False)):
            live = checkpoints.Live(ours, None, Spared(pid), {})
            self.assertFalse(live.has_report())
            theirs.send(frames.PRIVATE.pack(frames.READY, 0, 0, 0) + b"{}")
            self.assertEqual((live.has_report(), live.has_report()), (seen, seen))
            self.assertEqual(frames.receive_message(ours)[0], frames.READY)
        theirs.send(frames.PRIVATE.pack(frames.RESULT, 0, 0, 0))
        self.assertFalse(live.has_report())


class Hunts(unittest.TestCase):
    def hunt(self, listed, lasts, living, dead=frozenset(), own=1):
        """Whom it kills, in each round, when processes and ids are these."""
        endings = kernel_module("endings")
        killed, listed = [], iter(listed)
        fakes = {"strangers": lambda spared, own: next(listed) - spared,
                 "kill_each": lambda pids: killed.append(set(pids)), "dead_among": lambda pids: dead & pids,
                 "last_made": mock.Mock(side_effect=lasts), "living": mock.Mock(side_effect=living),
                 "getpid": lambda: own}
        with mock.patch.multiple(endings, **fakes):
            endings.end_all_but([Spared(9)], [])
        return killed

    def test_it_ends_when_nobody_is_left(self):
        self.assertEqual(self.hunt([{5}, {5}], [b"10"] * 9, [{9}, set()] + [{9}] * 9),
                         [set(), {5}, set()])

    def test_one_that_is_dead_and_not_collected_is_no_reason_for_another_round(self):
        self.assertEqual(self.hunt([{5}, {5}], [b"10"] * 9, [{9}, set()] + [{9}] * 9, {5}), [set(), set()])

    def test_one_that_ended_in_a_child_which_was_on_no_list_does_not_hide_it(self):
        """The child, 6, had its number when the last one was asked for, and was still being made."""
        lists = [{5}, {5, 6}, {5, 6}]
        self.assertEqual(self.hunt(lists, [b"6"] * 9, [{9}, set()] + [{9}] * 9, {5}), [set(), {6}, set()])

    def test_where_the_dead_are_on_no_list_one_look_is_not_enough(self):
        lists = [set(), {6}, set(), set()]
        self.assertEqual(self.hunt(lists, [b"6"] * 19, [{9}, set()] + [{9}] * 19, own=7),
                         [set(), set(), {6}, set(), set()])

    def test_nor_are_many_while_its_session_makes_processes(self):
        """One that goes on in its child before it can be read about is on no list at all; where all numbers are
        the session's own, those that are given out tell of it."""
        endings = kernel_module("endings")
        lasts = [b"%d" % number for number in range(61)] + [b"61"] * 9
        for parent, goes_on in ((1, True), (4, False)):
            with self.subTest(parent=parent), mock.patch.object(endings, "getppid", lambda: parent):
                rounds = len(self.hunt([set()] * 99, lasts, [{9}] * 199, own=7))
                self.assertIs(rounds > endings.QUIET_LOOKS + 5, goes_on)

    def test_but_it_is_when_its_number_may_be_another_s(self):
        lasts = [b"10", b"10", b"11", b"11", b"11", b"11"]
        self.assertEqual(self.hunt([{5}, {5}, {5}, {5}], lasts, [{9}, set()] + [{9}] * 9, {5}),
                         [set(), set(), {5}, set()])

    def test_a_number_that_was_given_out_again_is_killed_again(self):
        lasts = [b"10", b"10", b"11", b"11", b"11", b"11"]
        self.assertEqual(self.hunt([{5}, {5}, {5}], lasts, [{9}, set()] + [{9}] * 9),
                         [set(), {5}, {5}, set()])

    def test_the_number_of_one_that_was_to_be_spared_and_died_is_not(self):
        living = [{9}, set(), {9}] + [set()] * 9
        self.assertEqual(self.hunt([{9}, {9}, {9}], [b"10"] * 9, living), [set(), set(), {9}, set()])
