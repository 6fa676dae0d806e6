"""What a call that was stopped, or killed, leaves of its words, and nothing else of it."""

import sys
import unittest

import host
from case import SessionCase


class Words(SessionCase):
    def test_half_lines_are_there_though_the_process_was_killed(self):
        for end in ("os._exit(1)", "os.kill(os.getpid(), 11)", "sum(range(10**13))"):
            answer = self.ended("import os, sys\nfor i in range(300): print(i, end=' ')\n"
                                "sys.stderr.write('half')\n" + end, timeout_ms=700)
            self.assertEqual(answer.out, "".join(f"{i} " for i in range(300)).encode(), end)
            self.assertTrue(answer.err.startswith(b"half"), answer)

    def test_lines_of_c_code_stand_where_they_were_printed(self):
        answer = self.ok("from ctypes import CDLL\nlibc = CDLL(None)\n_ = libc.puts(b'first')\nprint('second')\n"
                         "_ = libc.puts(b'third')\nprint('fourth')")
        self.assertEqual(answer.out, b"first\nsecond\nthird\nfourth\n")

    def test_a_large_text_is_whole(self):
        answer = self.ok("print('x' * 600_000, end='')\nimport sys\nsys.stdout.buffer.write(b'y' * 300_000);")
        self.assertEqual(answer.out, b"x" * 600_000 + b"y" * 300_000)

    def test_a_pipe_that_does_not_wait_loses_nothing(self):
        answer = self.ok("import os\nos.set_blocking(1, False)\nprint('z' * 300_000)")
        self.assertEqual(answer.out, b"z" * 300_000 + b"\n")


class Helpers(SessionCase):
    """Threads of earlier calls that wait for work speak for the call that gives them some."""

    def test_a_pool_of_an_earlier_call(self):
        self.ok("from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\n"
                "list(pool.map(print, 'ab'));")
        for _ in range(3):
            answer = self.ok("list(pool.map(print, 'c'));")
            self.assertEqual((answer.out, answer.json.get("notes")), (b"c\n", None))

    def test_asyncio_to_thread(self):
        for text in ("one", "two"):
            self.assertEqual(self.ok(f"import asyncio\nawait asyncio.to_thread(print, {text!r})").out, text.encode() + b"\n")

    def test_a_queue_listener(self):
        self.ok("import queue, threading\nasked, told = queue.Queue(), queue.Queue()\n"
                "def listen():\n    while True:\n        print(asked.get()); told.put(1)\n"
                "threading.Thread(target=listen, daemon=True).start()")
        for text in ("one", "two"):
            self.assertEqual(self.ok(f"asked.put({text!r}); told.get();").out, text.encode() + b"\n")

    def test_a_job_that_waits_is_at_work(self):
        self.ok("from concurrent.futures import ThreadPoolExecutor\nfrom multiprocessing.pool import ThreadPool\nimport threading\n"
                "go, done = threading.Event(), []\n"
                "def job():\n    go.wait(); print('of the call before'); done.append(1)\n"
                "pool, other = ThreadPoolExecutor(1), ThreadPool(1)\npool.submit(job); other.apply_async(job)\n"
                "import time\nwhile threading.active_count() < 6: time.sleep(.001)\ntime.sleep(.05)")
        answer = self.ok("go.set()\nwhile len(done) < 2: time.sleep(.001)")
        self.assertEqual((answer.out, answer.json["notes"]),
                         (b"", ["what threads of earlier calls wrote meanwhile is left out"]))

    def test_a_new_thread_with_the_name_of_an_old_one_is_heard(self):
        self.ok("import threading, time\ndef stay():\n    while not stop: time.sleep(.001)\n"
                "stop = False\nt = threading.Thread(target=stay); t.start(); ident = t.ident")
        answer = self.ok("stop = True; t.join()\nimport _thread\n"
                         "def speak():\n    print('heard' if _thread.get_ident() == ident else 'another')\n"
                         "for _ in range(3):\n    t = threading.Thread(target=speak); t.start(); t.join()")
        self.assertEqual((answer.out.count(b"\n"), answer.json.get("notes")), (3, None), answer)
        self.assertIn(b"heard", answer.out)  # else this proves nothing

    def test_what_is_left_out_is_told(self):
        self.ok("import threading, time\nstop = False\ndef tick():\n    while not stop: print('tick'); time.sleep(.005)\n"
                "t = threading.Thread(target=tick); t.start()")
        answer = self.ok("time.sleep(.1)")
        self.assertEqual((answer.out, answer.json["notes"]),
                         (b"", ["what threads of earlier calls wrote meanwhile is left out"]))
        self.ok("stop = True; t.join()")
        self.assertNotIn("notes", self.ok("print('quiet')").json)

    def test_many_calls_beside_a_thread_use_nothing_up(self):
        self.ok("import os, sys, threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
                "held, count = [], lambda: len(os.listdir('/proc/self/fd'))")
        self.ok("held.append(sys.stderr)")
        before = self.ok("count()").text
        for _ in range(40):
            self.ok("held.append(sys.stdout); held.append(sys.stderr); held[0].write('lost'); held[-1].write('kept')")
        self.assertEqual(self.ok("count()").text, before)


class Ruined(SessionCase):
    """The call that does it, and those after it, are answered."""

    def test_streams_that_are_gone(self):
        self.ok("import sys\ndel sys.stdout")
        self.ok("import sys\ndel sys.stderr, sys.stdout, sys.stdin")
        self.assertEqual(self.ok("print('back')").out, b"back\n")

    def test_a_limit_on_descriptors_below_ours(self):
        self.ok("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (500, 500))")
        self.assertEqual(self.ok("print('still')").out, b"still\n")
        self.ok("resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))")
        for _ in range(5):
            self.assertEqual(self.ok("print('there')").out, b"there\n")

    def test_no_descriptors_at_all(self):
        self.session.exec("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))", timeout_ms=2000)
        answer = self.session.exec("print('?')", timeout_ms=2000)
        self.assertNotIn("interrupt", str(answer.json.get("status")), answer)


    def test_streams_whose_every_attribute_ends_the_program(self):
        self.session.exec("import sys\nclass Odd:\n    def __getattr__(self, name): raise SystemExit\n"
                          "sys.stdout = sys.stderr = Odd()")
        self.assertEqual(self.ok("print('back')").out, b"back\n")

    def test_a_loop_that_interrupts_who_asks(self):
        self.ok("import asyncio\nawait asyncio.sleep(0)\nloop = asyncio.get_running_loop()\n"
                "def odd(): raise KeyboardInterrupt\nloop.is_closed = odd")
        self.assertEqual(self.ok("x = 5\nprint(x)").out, b"5\n")

    def test_streams_with_something_in_front_of_their_methods(self):
        for ruin in ("sys.stdout.write = sys.stderr.write = len", "sys.stdout.buffer.write = len",
                     "vars(sys.stdout.buffer).clear()", "vars(sys.stdout.buffer).update(gone=True, number=7, fd=0)",
                     "vars(sys.stdout).clear()", "vars(sys.stdout)[5] = 5", "sys.stdout.flush = None",
                     "sys.stdout.reconfigure(encoding='utf-16', errors='strict', line_buffering=True, write_through=False)"):
            self.ok("import sys\n" + ruin)
            self.assertEqual(self.ok("print('é', sys.stdout.mode, sys.stdout.fileno())").out, "é w 1\n".encode(), ruin)
            answer = self.ended("import os\nprint('half', end='')\nos._exit(1)")
            self.assertEqual(answer.out, b"half", ruin)

    def test_asyncio_that_was_changed(self):
        for ruin in ("asyncio.all_tasks = None", "import sys\nsys.modules['asyncio'] = None", "del asyncio.all_tasks"):
            self.setUp()
            self.ok("import asyncio\nawait asyncio.sleep(0)\n" + ruin)
            self.assertEqual(self.ok("x = 5\nprint(x)").out, b"5\n", ruin)


class Wrapped(SessionCase):
    """What programs do to their own streams where these are pipes."""

    def test_in_another_text_stream(self):
        self.assertEqual(self.ok("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\n"
                                 "print('wrapped')").out, b"wrapped\n")
        self.assertEqual(self.ok("print('as before')").out, b"as before\n")

    def test_with_another_encoding(self):
        for encoding, text in (("latin-1", b"\xe9\n"), ("utf-8", "é\n".encode())):
            self.assertEqual(self.ok(f"import sys\nsys.stdout.reconfigure(encoding={encoding!r})\nprint('é')").out, text)
        self.assertEqual(self.ok("sys.stdout.seekable(), sys.stdout.buffer.seekable()").text, "(False, False)")


class Later(SessionCase):
    """Nothing of a stopped call shows in a later one."""

    def stopped(self, source):
        answer = self.session.exec(source, timeout_ms=400)
        self.assertNotEqual(answer.json.get("status"), "ok", answer)

    def test_tasks(self):
        self.ok("import asyncio\nasync def tick(text):\n    while True:\n        await asyncio.sleep(.005); print(text)\n"
                "await asyncio.sleep(0)")
        self.stopped("theirs = asyncio.get_running_loop().create_task(tick('theirs'))\nawait asyncio.sleep(60)")
        self.assertEqual(self.ok("await asyncio.sleep(.05)").out, b"")

    def test_a_task_of_a_call_that_ended_well_goes_on(self):
        self.ok("import asyncio\nseen = 0\nasync def count():\n    global seen\n    while True:\n"
                "        await asyncio.sleep(.005); seen += 1\n"
                "task = asyncio.get_running_loop().create_task(count())\nawait asyncio.sleep(.02)")
        self.stopped("await asyncio.sleep(60)")
        self.ok("before = seen\nawait asyncio.sleep(.05)\nassert seen > before")

    def test_a_task_that_will_not_end_takes_the_call_back(self):
        self.ok("x = 1\nimport asyncio")
        answer = self.session.exec(
            "x = 2\nasync def stay():\n    while True:\n        try:\n            await asyncio.sleep(.005); print('still')\n"
            "        except asyncio.CancelledError: pass\n"
            "task = asyncio.get_running_loop().create_task(stay())\nawait asyncio.sleep(60)", timeout_ms=400)
        self.assertTrue(answer.json.get("restored"), answer)
        answer = self.ok("await asyncio.sleep(.05)\nx")
        self.assertEqual((answer.out, answer.text), (b"", "1"))

    def test_callbacks(self):
        self.ok("import asyncio\nawait asyncio.sleep(0)")
        self.stopped("loop = asyncio.get_running_loop()\nloop.call_later(.5, print, 'late')\nawait asyncio.sleep(60)")
        self.assertEqual(self.ok("await asyncio.sleep(.6)").out, b"")

    def test_a_callback_of_a_call_that_ended_well_comes(self):
        self.ok("import asyncio\nawait asyncio.sleep(0)\nasyncio.get_running_loop().call_later(1, print, 'theirs')")
        self.stopped("await asyncio.sleep(60)")
        self.assertEqual(self.ok("await asyncio.sleep(1)").out, b"theirs\n")

    def test_of_one_that_caught_the_interrupt(self):
        self.ok("import asyncio, signal, time\nawait asyncio.sleep(0)\nsignal.signal(signal.SIGALRM, lambda *_: print('late'))")
        for begun in ("loop.call_later(.6, print, 'late')", "signal.setitimer(signal.ITIMER_REAL, .6)",
                      "loop.create_task(later())"):
            answer = self.session.exec(
                "async def later():\n    await asyncio.sleep(.1); print('late')\n"
                f"loop = asyncio.get_running_loop()\n{begun}\n"
                "try: time.sleep(60)\nexcept KeyboardInterrupt: print('caught')\nawait asyncio.sleep(0)", timeout_ms=300)
            self.assertEqual((answer.kind, answer.out), (host.RESULT, b"caught\n"), answer)
            self.assertEqual(self.ok("await asyncio.sleep(.7)").out, b"", begun)

    def test_of_one_that_has_its_own_handler_for_it(self):
        answer = self.session.exec("import signal, time\nx = 1\nstop = []\n"
                                   "signal.signal(signal.SIGINT, lambda *_: stop.append(1))\n"
                                   "signal.signal(signal.SIGALRM, lambda *_: print('late'))\n"
                                   "signal.setitimer(signal.ITIMER_REAL, .8)\n"
                                   "while not stop: time.sleep(.01)", timeout_ms=300)
        self.assertTrue(answer.json.get("restored"), answer)
        self.assertEqual(self.ok("import time\ntime.sleep(.9)").out, b"")

    def test_a_value_that_is_asked_for_is_no_call_that_puts_something_off(self):
        self.ok("import asyncio, time\nawait asyncio.sleep(0)\nloop = asyncio.get_running_loop()\nloop.call_later(60, print, 'theirs')\n"
                "class Slow:\n    def __repr__(self): time.sleep(60)\nslow = Slow()")
        answer = self.session.call(host.GET, {"name": "slow"}, timeout_ms=300)
        self.assertEqual((answer.kind, answer.json["status"]), (host.RESULT, "interrupted"), answer)

    def test_dumps_of_tracebacks(self):
        self.stopped("import faulthandler\nfaulthandler.dump_traceback_later(.6)\nwhile True: pass")
        self.assertEqual(self.ok("import time\ntime.sleep(.7)").err, b"")

    def test_alarms(self):
        self.stopped("import signal, time\nsignal.alarm(1)\ntime.sleep(60)")
        self.stopped("signal.signal(signal.SIGALRM, lambda *_: print('late'))\n"
                     "signal.setitimer(signal.ITIMER_REAL, 1, .01)\ntime.sleep(60)")
        self.assertEqual(self.ok("import time\ntime.sleep(1.2)\nprint('alive')").out, b"alive\n")


class ManyAtOnce(SessionCase):
    functions = {"double": lambda x: x * 2}

    def test_more_threads_than_calls_may_be_under_way(self):
        answer = self.ok("from concurrent.futures import ThreadPoolExecutor\n"
                         "with ThreadPoolExecutor(150) as pool: sums = sum(pool.map(double, range(600)))\nsums")
        self.assertEqual(answer.text, str(sum(range(600)) * 2))


