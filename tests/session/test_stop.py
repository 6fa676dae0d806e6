"""Stopping (T58): the interrupt, the kill, what is kept, what never shows again."""

import os
import signal

import host
from case import SessionCase, kernel_module


class Stop(SessionCase):
    def test_a_timeout_interrupts_and_state_is_kept(self):
        self.ok("x = 1")
        answer = self.session.exec("x = 2\nprint('so far')\nimport time\n"
                                   "time.sleep(60)", timeout_ms=600)
        self.assertEqual(answer.kind, host.RESULT, answer)
        self.assertEqual(answer.json["status"], "interrupted")
        self.assertTrue(answer.interrupted)
        self.assertIn("KeyboardInterrupt", answer.json["error"]["traceback"])
        self.assertEqual(answer.out, b"so far\n")
        self.assertEqual(self.ok("x").text, "2")

    def test_a_swallowed_interrupt_is_a_kill_and_the_state_before_the_call_is_back(self):
        self.ok("x = 1")
        answer = self.ended(
            "x = 2\nprint('so far', flush=True)\nimport time\nwhile True:\n    try:\n"
            "        time.sleep(60)\n"
            "    except BaseException:\n        pass", timeout_ms=600, grace_ms=200)
        self.assertEqual(answer.json["stopped"], "timeout")
        self.assertFalse(answer.json["calls_lost"])
        self.assertEqual(answer.out, b"so far\n")
        self.assertEqual(self.ok("x").text, "1")

    def test_the_second_interrupt_stops_nothing_when_the_first_one_has(self):
        """It is for what swallows the first. Here it meets what is put right after that."""
        answer = self.session.exec(
            "import asyncio, time\nasync def slow():\n    try:\n        await asyncio.sleep(60)\n"
            "    finally:\n        time.sleep(2)\ntask = asyncio.ensure_future(slow())\n"
            "await asyncio.sleep(0)\nx = 2\ntime.sleep(60)", timeout_ms=400, grace_ms=3000)
        self.assertEqual(answer.kind, host.RESULT, answer)
        self.assertEqual(answer.json["status"], "interrupted")
        self.assertIn("line 10, in <module>", answer.json["error"]["traceback"])
        self.assertEqual(self.ok("x").text, "2")

    def test_of_two_interrupts_the_one_that_stopped_the_code_is_told(self):
        errors = kernel_module("errors")
        try:
            try:
                exec(compile("raise KeyboardInterrupt", "<cell 1>", "exec"), {})
            finally:
                raise KeyboardInterrupt  # on the way out, where no code of the cell's runs
        except KeyboardInterrupt as error:
            told = errors.describe(errors.stopped_at(error))["traceback"]
        self.assertIn("<cell 1>", told)
        self.assertNotIn("another exception", told)

    def test_an_interrupt_that_nobody_can_catch_is_told_without_frames_of_the_kernel(self):
        answer = self.session.exec(
            "import time\nclass D:\n    def __del__(self):\n        time.sleep(60)\nd = D()\ndel d",
            timeout_ms=400, grace_ms=10000)
        self.assertIn(b"in __del__", answer.err)
        self.assertIn(b"KeyboardInterrupt", answer.err)
        self.assertNotIn(b"<caisson>", answer.err)

    def test_ignored_signals_do_not_help(self):
        self.ok("x = 1")
        self.ended(
            "import signal, time\nfor s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):\n"
            "    signal.signal(s, signal.SIG_IGN)\nsignal.pthread_sigmask(signal.SIG_BLOCK, [2])\n"
            "while True: time.sleep(1)", timeout_ms=400, grace_ms=150)
        self.assertEqual(self.ok("x").text, "1")

    def test_a_loop_in_c_is_killed(self):
        self.ended("sum(range(10**13))", timeout_ms=400, grace_ms=150)

    def test_a_shell_command_ends_with_its_call(self):
        answer = self.session.exec("!sleep 61.5", timeout_ms=150)
        self.assertEqual(answer.json["status"], "interrupted")
        answer = self.session.exec("import os\n"
                                   "os.system('sleep 61.5; true');", timeout_ms=300)
        self.assertEqual(answer.kind, host.RESULT, answer)
        self.assertEqual(self.ok("!ps ax | grep -c '[s]leep 61.5'").out, b"0\n")

    def test_the_host_can_interrupt(self):
        sent = []

        def during(run):
            if not sent and run.pipes[run.order[0]]:
                sent.append(run.lane.send(host.INTERRUPT, request=run.request))

        answer = self.session.exec("import time\nprint('go', flush=True)\n"
                                   "time.sleep(60)", during=during)
        self.assertEqual(answer.json["status"], "interrupted")
        self.assertTrue(answer.interrupted)

    def test_an_interrupt_for_a_call_that_is_over_does_nothing(self):
        self.ok("x = 1")
        self.session.send(host.INTERRUPT, request=self.session.requests)
        self.session.send(host.INTERRUPT, request=99999)
        self.assertEqual(self.ok("x").text, "1")

    def test_a_signal_between_calls_does_no_harm(self):
        self.ok("x = 1")
        os.kill(self.pid(), signal.SIGINT)
        self.assertEqual(self.ok("x").text, "1")
        self.assertEqual(self.session.notes, [])

    def test_an_await_can_be_interrupted_and_the_loop_lives_on(self):
        self.ok("import asyncio\nawait asyncio.sleep(0)")  # the import takes as long as it takes
        answer = self.session.exec("await asyncio.sleep(60)", timeout_ms=200)
        self.assertEqual(answer.json["status"], "interrupted", answer)
        self.assertEqual(self.ok("await asyncio.sleep(0, 5)").text, "5")

    def test_a_stopped_call_with_a_running_thread_has_not_stopped(self):
        self.ok("x = 1")
        answer = self.ended(
            "import threading, time\nx = 2\ndef tick():\n    while True:\n"
            "        print('tick'); time.sleep(.01)\n"
            "threading.Thread(target=tick, daemon=True).start()\ntime.sleep(60)", timeout_ms=600)
        self.assertIn("threads", answer.json["why"])
        answer = self.ok("import time\ntime.sleep(.1)\nx")
        self.assertEqual((answer.out, answer.text), (b"", "1"))

    def test_threads_that_went_with_what_was_stopped_are_not_counted(self):
        source = self.ok("import sys, threading, time\n"
                         "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()")
        self.assertEqual(source.json["threads"], 1)
        answer = self.ended("import os; os._exit(1)")
        self.assertEqual(answer.json["threads_lost"], 1)
        answer = self.ok("type(sys.stdout).__name__, threading.active_count()")
        self.assertEqual(answer.text, "('TextIOWrapper', 1)")  # nobody is there to be muted
        self.assertNotIn("threads", answer.json)

    def test_words_of_a_thread_never_show_in_a_later_call(self):
        answer = self.ok(
            "import threading, time, sys\nstop, ticks = False, 0\ndef tick():\n    global ticks\n"
            "    while not stop:\n        print('tick'); sys.stderr.write('tock\\n')\n"
            "        ticks += 1; time.sleep(.005)\n"
            "t = threading.Thread(target=tick)\nt.start()\nwhile ticks < 3: time.sleep(.005)")
        self.assertIn(b"tick", answer.out)
        self.assertEqual(answer.json["threads"], 1)
        answer = self.ok("time.sleep(.05)\nprint('mine')")
        self.assertEqual((answer.out, answer.err), (b"mine\n", b""))
        self.ok("stop = True\nt.join()")

    def test_a_stream_that_a_thread_holds_leads_nowhere_later(self):
        answer = self.ok(
            "import threading, time, sys\nstop, ticks = False, 0\nheld = sys.stdout\ndef tick():\n"
            "    global ticks\n    while not stop:\n"
            "        held.write('held\\n'); held.flush(); ticks += 1; time.sleep(.002)\n"
            "t = threading.Thread(target=tick)\nt.start()\nwhile ticks < 3: time.sleep(.002)")
        self.assertIn(b"held", answer.out)
        for _ in range(5):
            self.assertEqual(self.ok("time.sleep(.02)\nprint('mine')").out, b"mine\n")
        self.ok("stop = True\nt.join()")
        self.assertEqual(self.ok("print('after', sys.stdout.fileno())").out, b"after 1\n")

    def test_a_daemon_that_keeps_the_pipe_never_shows_in_a_later_call(self):
        spoke = self.path()
        answer = self.ok(
            "import os, subprocess, time\n"
            "p = subprocess.Popen(['sh', '-c', 'while sleep .01; do echo daemon; : > \"$0\"; done',"
            f" {spoke!r}])\nwhile not os.path.exists({spoke!r}): time.sleep(.005)")
        self.assertIn(b"daemon", answer.out)
        answer = self.ok("time.sleep(.1)\nprint('mine')")
        self.assertEqual((answer.out, answer.err), (b"mine\n", b""))
        self.ok("p.kill()\np.wait();")

    def test_two_calls_at_once_are_refused(self):
        refused = []

        def during(run):
            if not refused and run.pipes[run.order[0]]:
                body = host.PREFIX.pack(0, 0, 0, 0) + b"{}"
                refused.append(run.lane.send(host.VARS, body))
                frame = run.lane.wait(refused[0])
                run.lane.send(host.INTERRUPT, request=run.request)
                self.assertEqual(frame.kind, host.REFUSED)
                self.assertIn("busy", frame.json["error"])

        answer = self.session.exec("import time\nprint('go', flush=True)\ntime.sleep(60)",
                                   during=during)
        self.assertTrue(refused)
        self.assertEqual(answer.json["status"], "interrupted")
