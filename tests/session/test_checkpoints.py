"""Checkpoints (T60, T61): the implicit one, names, the tree, branches, reset, their limits."""

import os
import signal
import unittest

import host
from case import SessionCase, is_gone, wait_until

SCIENCE = os.environ.get("CAISSON_SCIENCE")


class CheckpointCase(SessionCase):
    def keep(self, name, kind=host.DONE):
        frame = self.session.ask(host.CHECKPOINT, {"name": name})
        self.assertEqual(frame.kind, kind, frame)
        return frame.json

    def tearDown(self):
        for entry in self.session.ask(host.CHECKPOINTS).json["checkpoints"]:
            for name in entry["names"]:
                self.session.ask(host.DROP, {"name": name})

    def draws_after_restores(self, make, draw):
        self.ok(make)
        self.keep("own")
        draws = set()
        for _ in range(3):
            self.session.ask(host.RESTORE, {"name": "own"})
            draws.add(self.ok(draw).text)
        self.session.ask(host.DROP, {"name": "own"})
        return draws


@unittest.skipUnless(SCIENCE, "CAISSON_SCIENCE names no interpreter")
class OfScience(CheckpointCase):
    options = {"python": SCIENCE, "flags": ("-I",)}

    def test_generators_of_numpy_that_are_variables_are_seeded_anew(self):
        make = ("import numpy as np\nrng = np.random.default_rng(42)\nold = np.random.RandomState(1)\n"
                "other = np.random.RandomState(np.random.PCG64(1))\nbits = np.random.Philox(1)")
        for draw in ("rng.random()", "rng.spawn(1)[0].random()", "old.rand()", "other.rand()",
                     "bits.random_raw()"):
            self.assertEqual(len(self.draws_after_restores(make, draw)), 3, draw)


class Checkpoints(CheckpointCase):
    def test_a_crash_loses_the_call_and_nothing_else(self):
        self.ok("x = [1]")
        answer = self.ended("x.append(2)\nimport os\nos._exit(3)")
        self.assertEqual((answer.json["exit"], answer.json["calls_lost"]), (3, False))
        self.assertEqual(self.ok("x").text, "[1]")
        answer = self.ended("import os\nos.kill(os.getpid(), 11)")
        self.assertEqual(answer.json["signal"], 11)
        self.assertEqual(self.ok("x").text, "[1]")

    def test_restore_goes_back_and_again(self):
        self.ok("x = 1")
        self.keep("one")
        for _ in range(3):
            self.ok("x += 1")
            self.assertEqual(self.ok("x").text, "2")
            self.assertEqual(self.session.ask(host.RESTORE, {"name": "one"}).kind, host.DONE)
            self.assertEqual(self.ok("x").text, "1")

    def test_the_tree(self):
        self.ok("x = 1")
        one = self.keep("one")["checkpoint"]
        self.ok("x = 2")
        two = self.keep("two")["checkpoint"]
        self.session.ask(host.RESTORE, {"name": "one"})
        self.ok("x = 3")
        three = self.keep("three")["checkpoint"]
        self.assertEqual((two["parent"], three["parent"]), (one["number"], one["number"]))
        found = self.session.ask(host.CHECKPOINTS).json
        self.assertEqual([e["name"] for e in found["checkpoints"]], ["", "one", "two", "three"])
        self.session.ask(host.DROP, {"name": "one"})
        found = {e["name"]: e for e in self.session.ask(host.CHECKPOINTS).json["checkpoints"]}
        self.assertEqual(found["two"]["parent"], one["parent"])
        for name, value in (("two", "2"), ("three", "3"), ("two", "2")):
            self.session.ask(host.RESTORE, {"name": name})
            self.assertEqual(self.ok("x").text, value)

    def test_names_are_checked(self):
        self.keep("one")
        self.keep("one", host.REFUSED)
        self.keep("", host.REFUSED)
        self.keep("a\nb", host.REFUSED)
        self.keep("x" * 200, host.REFUSED)
        for name in ("x/y", ".", "..", "-x", "a b", "é", "x" * 65, 1):  # no part of a path
            self.keep(name, host.REFUSED)
        self.keep("x" * 64)
        self.keep("1.a_b-C")
        self.assertEqual(self.session.ask(host.RESTORE, {"name": "none"}).kind, host.REFUSED)
        self.assertEqual(self.session.ask(host.DROP, {"name": "none"}).kind, host.REFUSED)
        self.assertEqual(self.session.ask(host.CHECKPOINT, ["one"]).kind, host.REFUSED)

    def test_there_is_a_bound_on_their_number(self):
        for number in range(64):
            self.keep(str(number))
        self.assertIn("drop one", self.keep("more", host.REFUSED)["error"])

    def test_reset_is_truly_clean(self):
        self.ok("import json, sys, builtins\nx = 1\njson.dumps = None\nbuiltins.extra = 1\n"
                "sys.path.append('/x')")
        self.assertEqual(self.session.ask(host.RESET).kind, host.DONE)
        self.assertEqual(
            self.ok("import builtins, sys, json\n"
                    "'x' in globals(), hasattr(builtins, 'extra'), '/x' in sys.path, "
                    "json.dumps(1)").text, "(False, False, False, '1')")

    def test_a_branch_lives_its_own_life(self):
        self.ok("x = [1]")
        branch = self.session.branch("try")
        try:
            self.assertEqual(branch.value("x.append(2)\nx"), "[1, 2]")
            self.assertEqual(self.ok("x.append(3)\nx").text, "[1, 3]")
            self.assertEqual(branch.value("x"), "[1, 2]")
            answer = branch.exec("import os\nos._exit(1)")
            self.assertEqual(answer.kind, host.ENDED)
            self.assertEqual(branch.value("x"), "[1, 2]")
            self.assertEqual(self.ok("x").text, "[1, 3]")
        finally:
            branch.sock.close()
        self.assertEqual(self.ok("x").text, "[1, 3]")

    def test_a_branch_from_a_name(self):
        self.ok("x = 1")
        self.keep("one")
        self.ok("x = 2")
        branch = self.session.branch("old", "one")
        try:
            self.assertEqual(branch.value("x"), "1")
        finally:
            branch.sock.close()
        self.assertEqual(self.session.branch("none", "nowhere").kind, host.REFUSED)

    def test_branches_run_side_by_side(self):
        branches = [self.session.branch(str(n)) for n in range(4)]
        try:
            sent = [(lane, host.Run(lane, "import time\ntime.sleep(.1)\n"
                                          "print(%d)" % n, 5000, 0, 0, None, 99))
                    for n, lane in enumerate(branches)]
            self.assertEqual([run.finish().out for _, run in sent],
                             [b"0\n", b"1\n", b"2\n", b"3\n"])
        finally:
            for lane in branches:
                lane.sock.close()

    def test_random_numbers_differ_after_a_restore_and_in_branches(self):
        self.ok("import random, uuid\nrandom.seed(1)")
        self.keep("seeded")
        draws = set()
        for _ in range(3):
            self.session.ask(host.RESTORE, {"name": "seeded"})
            draws.add(self.ok("random.random(), uuid.uuid1().hex, uuid.uuid4().hex").text)
        branch = self.session.branch("b", "seeded")
        draws.add(branch.value("random.random(), uuid.uuid1().hex, uuid.uuid4().hex"))
        branch.sock.close()
        self.assertEqual(len(draws), 4)

    def test_numpy_is_seeded_anew(self):
        self.ok("import sys, types\nseeds = []\nfake = types.ModuleType('numpy.random')\n"
                "fake.seed = seeds.append\nsys.modules['numpy.random'] = fake")
        self.keep("one")
        found = set()
        for _ in range(2):
            self.session.ask(host.RESTORE, {"name": "one"})
            found.add(self.ok("seeds").text)
        self.assertEqual(len(found), 2)
        self.assertNotIn("[]", found)

    def test_generators_that_are_variables_are_seeded_anew(self):
        make = ("import random\nclass Own(random.Random):\n    def seed(self, *a): pass\n"
                "one, two, safe = random.Random(1), Own(), random.SystemRandom()")
        self.assertEqual(len(self.draws_after_restores(make, "one.random()")), 3)
        self.assertEqual(len(self.draws_after_restores(make, "two.random()")), 3)

    def test_generators_elsewhere_are_copies_that_draw_the_same(self):
        # The control of the tests above, and a limit that docs/sessions.md names.
        draws = self.draws_after_restores("import random\nown = [random.Random(1)]", "own[0].random()")
        self.assertEqual(len(draws), 1)

    def test_a_seed_holds_between_calls(self):
        self.ok("import random\nrandom.seed(7)")
        self.assertEqual(self.ok("random.random()").text, "0.32383276483316237")

    def test_threads_and_processes_live_on_across_checkpoints(self):
        self.ok("import os, subprocess, threading, time\npid = os.getpid()\n"
                "p = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
                "go = threading.Event()\nt = threading.Thread(target=go.wait)\nt.start()")
        self.assertEqual(self.ok("os.getpid() == pid, t.is_alive(), "
                                 "p.poll()").text, "(True, True, None)")
        # A checkpoint that held the pipe would keep `cat` from ever seeing its end.
        self.assertEqual(self.ok("out = p.communicate(b'hello', timeout=15)\nout, p.returncode"
                                 ).text, "((b'hello', None), 0)")
        self.ok("go.set()\nt.join()")

    def test_what_is_not_copied_is_said(self):
        self.ok("import socket, threading\na, b = socket.socketpair()\nstop = threading.Event()\n"
                "threading.Thread(target=stop.wait, daemon=True).start()")
        entry = self.keep("one")["checkpoint"]
        self.assertEqual((entry["threads_not_kept"], entry["channels_not_kept"]), (1, 2))
        self.session.ask(host.RESTORE, {"name": "one"})
        self.assertEqual(self.ok("threading.active_count(), a.recv(1)").text, "(1, b'')")
        self.error("a.send(b'x')", "BrokenPipeError")

    def test_subprocesses_are_no_part_of_a_checkpoint_and_that_is_said(self):
        self.ok("import subprocess, threading\np = subprocess.Popen(['cat'], stdin=subprocess.PIPE)\n"
                "import concurrent.futures as f\nwith f.ThreadPoolExecutor() as pool:\n"
                "    q = pool.submit(subprocess.Popen, ['sleep', '100']).result()")
        for name in ("one", "two"):  # with another checkpoint before it, which is a child as well
            self.assertEqual(self.keep(name)["checkpoint"]["processes_not_kept"], 2)
            self.ok("x = 1")
        self.ok("p.communicate(b'')\nq.kill()\nq.wait()")
        self.assertEqual(self.keep("three")["checkpoint"]["processes_not_kept"], 0)

    def test_a_call_without_a_checkpoint_is_lost_with_the_next_one_and_that_is_said(self):
        self.ok("x = 1")
        self.ok("x = 2", flags=host.NO_CHECKPOINT)
        answer = self.ended("import os\nos._exit(0)")
        self.assertTrue(answer.json["calls_lost"])
        self.assertEqual(self.ok("x").text, "1")

    def test_calls_that_change_nothing_take_no_checkpoint_and_lose_nothing(self):
        self.ok("x = 5")
        before = self.session.ask(host.CHECKPOINTS).json["base"]
        for source in ("1 + 1", "x", "x * 2 + len('abc')", "print(x, "
                                                           "f'{x}')", "-x if x > 1 else 0"):
            self.ok(source)
        self.assertEqual(self.session.ask(host.CHECKPOINTS).json["base"], before)
        for source in ("x = x", "[].append(1)", "__import__('os')", "[y for y in 'a']", "(z := 1)"):
            self.ok(source)
            after = self.session.ask(host.CHECKPOINTS).json["base"]
            self.assertNotEqual(after, before, source)
            before = after

    def test_an_interpreter_that_dies_while_idle_comes_back(self):
        over, pid = self.path(), self.pid()
        self.ok("import os, threading, time\nx = 1\ndef end():\n"
                f"    while not os.path.exists({over!r}): time.sleep(.002)\n    os._exit(9)\n"
                "threading.Thread(target=end).start()")
        self.session.ask(host.CHECKPOINTS)  # after the copy that the call's end began
        open(over, "w").close()
        wait_until(lambda: is_gone(pid))
        self.assertEqual(self.ok("x").text, "1")
        self.assertEqual(self.session.notes[0]["exit"], 9)

    def test_a_call_that_comes_before_a_death_was_noticed_is_run(self):
        self.ok("x = 1")
        pid, keeper = self.pid(), self.session.process.pid
        self.session.ask(host.CHECKPOINTS)
        os.kill(keeper, signal.SIGSTOP)
        try:
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: is_gone(pid))
            run = host.Run(self.session, "x + 1", host.PATIENCE, host.GRACE, 0, None, 99)
        finally:
            os.kill(keeper, signal.SIGCONT)
        answer = run.finish()
        self.assertEqual((answer.kind, answer.text), (host.RESULT, "2"), answer)
        self.assertEqual(self.session.notes[0]["signal"], 9)

    def test_asyncio_works_after_a_restore(self):
        self.ok("import asyncio\nawait asyncio.sleep(0)")
        self.keep("one")
        self.session.ask(host.RESTORE, {"name": "one"})
        self.assertEqual(self.ok("await asyncio.sleep(.01, 3)").text, "3")

    def test_nothing_is_left_behind(self):
        import os
        with host.Session() as session:
            session.exec("import subprocess\nsubprocess.Popen(['sleep', '62.5'])")
            session.ask(host.CHECKPOINT, {"name": "a"})
            branch = session.branch("b")
            pids = [session.hello.json["pid"], branch.hello.json["pid"]]
        for pid in pids:
            self.assertTrue(is_gone(pid), pid)
        left = os.popen("ps ax | grep '[s]leep 62.5'").read()
        self.assertEqual(left, "")

    def test_many_crashes_in_a_row(self):
        self.ok("x = 1")
        for _ in range(30):
            self.ended("import os\nos._exit(1)")
        self.assertEqual(self.ok("x").text, "1")
        self.assertEqual(self.session.notes, [])
