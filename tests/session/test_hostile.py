"""Hostile code (T57, T59): the session answers or is restored, and the call after it is right."""

import os
import resource
import shutil
import signal
import unittest

import host
from case import SessionCase


class Hostile(SessionCase):
    functions = {"none": "later"}  # never answered

    def setUp(self):
        super().setUp()
        self.ok("x = 1")

    def tearDown(self):
        self.assertEqual(self.session.exec("x").text, "1")

    def test_closed_descriptors(self):
        answer = self.ok("import os\nos.closerange(3, 1000)\nprint('out')\n5")
        self.assertEqual((answer.text, answer.out), ("5", b"out\n"))
        answer = self.ended("os.closerange(3, 65536)\nprint('out')")
        self.assertIn("closed the session's channel", answer.json["why"])

    def test_closed_standard_streams(self):
        self.session.exec("import os\nos.close(0); os.close(1); os.close(2)")
        self.assertEqual(self.ok("print('back')").out, b"back\n")
        self.session.exec("import sys\nsys.stdout.close(); sys.stderr.close(); sys.stdin.close()")
        self.assertEqual(self.ok("print('back')").out, b"back\n")
        self.session.exec("sys.stdout.detach()")
        self.assertEqual(self.ok("print('back')").out, b"back\n")

    def test_replaced_streams(self):
        self.ok("import io, sys\nsys.stdout = io.StringIO()\nsys.stderr = None\nprint('hidden')")
        self.assertEqual(self.ok("print('seen')").out, b"seen\n")
        self.ok("class Evil:\n    def write(self, t): raise SystemExit\n"
                "    def flush(self): raise SystemExit\n"
                "sys.stdout = Evil()")
        self.assertEqual(self.ok("print('seen')").out, b"seen\n")

    def test_descriptors_put_in_place_of_ours(self):
        answer = self.session.exec(
            "import os, socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "for n in range(900, 1100):\n    try: os.dup2(a.fileno(), n)\n    except OSError: pass")
        self.assertEqual(answer.kind, host.ENDED)
        self.assertTrue(answer.json["restored"])

    def test_patched_builtins(self):
        self.ok("import builtins\n"
                "for n in ('len', 'open', 'isinstance', 'str', 'type', 'getattr', 'range', "
                "'repr',\n"
                "          'bytes', 'dict', 'list', 'any', 'min', 'compile', 'exec', 'eval', "
                "'__import__', 'print'):\n"
                "    setattr(builtins, n, None)")
        self.assertEqual(self.ok("1 + 1").text, "2")
        self.assertEqual(self.error("1/0").json["error"]["type"], "ZeroDivisionError")
        self.assertEqual([e["name"] for e in self.session.vars()["variables"]],
                         ["x", "builtins", "n"])
        self.assertEqual(self.session.get("x")["value"], 1)

    def test_patched_modules(self):
        self.ok("import json, os, sys, traceback, linecache, signal, posix, _json, io\n"
                "for m in (json, traceback, linecache, _json, posix, signal, os):\n"
                "    for n in list(vars(m)):\n        if not n.startswith('__'):\n"
                "            setattr(m, n, lambda *a, **k: 1 / 0)\n"
                "sys.modules.clear()")
        self.assertEqual(self.ok("1 + 1").text, "2")
        self.assertEqual(self.error("x.nothing").json["error"]["type"], "AttributeError")

    def test_tracing(self):
        self.ok("import sys\ndef t(*a): raise SystemExit\nsys.settrace(t)")
        self.assertEqual(self.ok("2").text, "2")
        self.session.exec("sys.setprofile(lambda *a: 1/0)")
        self.assertEqual(self.ok("2").text, "2")
        self.ok("import threading\nthreading.settrace(t)")
        self.assertEqual(self.ok("def f(): return 5\nf()").text, "5")

    def test_a_low_recursion_limit(self):
        self.session.exec("import sys\nsys.setrecursionlimit(50)")
        self.assertEqual(self.ok("2").text, "2")

    def test_atexit_and_signal_handlers(self):
        self.ok("import atexit, os, signal\natexit.register(lambda: os._exit(9))\n"
                "signal.signal(signal.SIGTERM, lambda *a: 1/0)\n"
                "signal.signal(signal.SIGALRM, lambda *a: 1/0)")
        os.kill(self.pid(), signal.SIGALRM)  # between two calls
        self.assertEqual(self.ok("2").text, "2")

    def test_hooks_at_fork(self):
        self.ok("import os, time\n"
                "os.register_at_fork(before=lambda: 1/0, after_in_parent=lambda: 1/0, "
                "after_in_child=lambda: time.sleep(.05))")
        self.assertEqual(self.ok("2").text, "2")
        answer = self.ended("os._exit(1)")
        self.assertEqual(self.ok("2").text, "2")
        self.assertFalse(answer.json["calls_lost"])

    def test_a_checkpoint_that_is_held_up_is_not_believed(self):
        self.ok("import os\nos.register_at_fork(after_in_child=lambda: os._exit(0))")
        answer = self.ended("os._exit(1)")
        self.assertTrue(answer.json["calls_lost"], answer)
        self.assertIn("no_newer_checkpoint", answer.json)

    def test_forged_frames(self):
        forge = (
            "import os, socket, struct\nsent = 0\nfor fd in range(3, 1100):\n    try:\n"
            "        s = socket.socket(fileno=os.dup(fd))\n    except OSError: continue\n"
            "    for kind in (1, 2, 65, 66, 67, 68, 70, 96, 97, 98, 100, 194, 255):\n"
            "        for body in (b'', b'{}', b'\\xff' * 100, b'[' * 30000):\n"
            "            for fds in ([], [0], [0] * 20):\n"
            "                try:\n"
            "                    s.sendmsg([struct.pack('<BBIQ', kind, 255, %d, %d) + body],\n"
            "                              [(1, 1, struct.pack('<%%di' %% len(fds), *fds))] if "
            "fds else [],\n"
            "                              socket.MSG_DONTWAIT); sent += 1\n"
            "                except OSError: pass\n"
            "    for junk in (b'\\0', b'x' * 13, b'y' * 40000):\n"
            "        try: s.send(junk, socket.MSG_DONTWAIT); sent += 1\n"
            "        except OSError: pass\n"
            "    s.detach()\nsent > 0")
        for right in (False, True):  # the id of the call itself, too; never its nonce
            request = self.session.requests + 1 if right else 0
            answer = self.session.exec(forge % (request, 12345))
            self.assertEqual(answer.host_calls, [])
            self.assertIn(answer.kind, (host.RESULT, host.ENDED), answer)
            if answer.kind == host.ENDED:
                self.assertIn("flooded", answer.json["why"])
            self.assertEqual(self.ok("x").text, "1")

    def test_a_forged_answer_is_only_the_answer_of_its_own_call(self):
        # Code in the same process can find the nonce in the frames below it. What it wins is a lie
        # about its own call: the next one has another nonce.
        answer = self.session.exec(
            "import sys, struct\nf = sys._getframe()\nwhile f:\n"
            "    if 'nonce' in f.f_locals and 'request' in f.f_locals:\n"
            "        l = f.f_locals; break\n    f = f.f_back\n"
            "l['self'].sock.send(struct.pack('<BBIQ', 66, 1, l['request'], l['nonce']) + "
            "b'{\"status\":\"ok\",\"lie\":1}')\n"
            "import time; time.sleep(.1)")
        self.assertEqual(answer.json.get("lie"), 1)
        self.assertEqual(self.ok("x").text, "1")

    def test_a_forged_host_call_needs_the_nonce(self):
        forge = (
            "import sys, struct, time\nf = sys._getframe()\nwhile 'nonce' not in f.f_locals:\n"
            "    f = f.f_back\nl = f.f_locals\n"
            "l['self'].line.sock.send(struct.pack('<BBIQ', 68, 0, l['request'], l['nonce'] + %d)\n"
            "                         + b'{\"name\":\"none\",\"call\":1}')\ntime.sleep(.05)")
        self.assertEqual(self.session.exec(forge % 1).host_calls, [])
        # and the forging itself works
        self.assertEqual(len(self.session.exec(forge % 0).host_calls), 1)

    def test_a_left_over_child_cannot_speak_for_later_calls(self):
        self.ok("import os, time, ctypes\n"
                "pid = ctypes.CDLL(None).syscall(57) if os.uname().machine == 'x86_64' else "
                "os.fork()\n"
                "if pid == 0:\n    import struct\n"
                "    import socket\n    for fd in range(1000, 1003):\n"
                "        try: s = socket.socket(fileno=fd)\n        except OSError: continue\n"
                "        for i in range(300):\n"
                "            try: s.send(struct.pack('<BBIQ', 66, 0, i, 7) + b'{}', 64)\n"
                "            except OSError: pass\n"
                "            time.sleep(.001)\n    os._exit(0)")
        for n in range(20):
            self.assertEqual(self.ok("%d + x" % n).text, str(n + 1))

    def test_the_keeper_can_not_be_looked_into(self):
        if os.getuid() == 0:
            # Root may look anywhere unless a filter forbids it; what is checked is the mark.
            self.assertTrue(self.session.hello.json["hidden"])
        else:
            self.error("import os\nos.listdir('/proc/%d/fd' % os.getppid())", "PermissionError")

    def test_much_output(self):
        answer = self.ok("line = 'y' * 9999 + '\\n'\n"
                         "for _ in range(10_000): print(line, end='')", keep=1000)
        self.assertEqual(answer.out_bytes, 100_000_000)
        answer = self.ok("import os\nfor _ in range(100): os.write(2, b'z' * 1_000_000)\n"
                         "print('end')", keep=1000)
        self.assertEqual((answer.err_bytes, answer.out), (100_000_000, b"end\n"))

    def test_a_very_large_string(self):
        answer = self.ok("s = 'x' * 2_000_000_000\ns", flags=host.NO_CHECKPOINT)
        self.assertLess(len(answer.text), 70_000)
        entry = next(e for e in self.session.vars()["variables"] if e["name"] == "s")
        self.assertEqual(entry["length"], 2_000_000_000)
        self.ok("del s", flags=host.NO_CHECKPOINT)

    def test_exceptions_that_resist(self):
        self.error("class E(Exception):\n    def __str__(self): raise SystemExit\nraise E()", "E")
        self.error("class E(Exception):\n    def __str__(self): return 'x' * 100_000_000\n"
                   "raise E()", "E")
        self.error("class M(type):\n    def __getattribute__(c, n): raise SystemExit\n"
                   "class E(Exception, metaclass=M): pass\n"
                   "raise E()")
        answer = self.session.exec("class B(BaseException): pass\nraise B('base')")
        self.assertEqual(answer.json["error"]["message"], "base")
        answer = self.session.exec("raise KeyboardInterrupt")
        self.assertEqual((answer.json["status"], answer.interrupted), ("interrupted", False))

    def test_killing_its_own_group_and_children(self):
        answer = self.session.exec("import os\nos.killpg(0, 9)")
        self.assertEqual(answer.kind, host.ENDED)
        self.assertEqual(answer.json["signal"], 9)

    def test_a_stopped_interpreter_is_killed(self):
        self.ended("import os, signal\n"
                   "os.kill(os.getpid(), signal.SIGSTOP)", timeout_ms=400, grace_ms=150)

    def test_a_crash_in_c_says_where(self):
        answer = self.ended("def f():\n    import ctypes\n    ctypes.string_at(0)\nf()")
        self.assertEqual(answer.json["signal"], 11)
        self.assertIn(b"Segmentation fault", answer.err)
        self.assertIn(b'line 3 in f', answer.err)

    def test_names_of_variables_that_are_not_strings(self):
        self.ok("globals()[5] = 6\nglobals()['a b'] = 1")
        self.assertIn("x", [e["name"] for e in self.session.vars()["variables"]])
        self.ok("globals().clear()\nx = 1")
        self.assertEqual(self.ok("x").text, "1")

    def test_main_module_that_is_replaced(self):
        self.ok("import sys\nsys.modules['__main__'] = None\nsys.modules['sys'] = None")
        self.assertEqual(self.ok("x").text, "1")


class Bomb(unittest.TestCase):
    def test_a_fork_bomb_in_its_bounds_ends_with_the_call(self):
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
        # The limit counts all processes of a user: those of a suite beside this one have another.
        user = int(os.environ.get("TEST_UID", 54321))

        def before():
            try:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            except OSError:
                pass  # an ordinary user: the limit holds for them as they are
            resource.setrlimit(resource.RLIMIT_NPROC, (60, 60))

        with host.Session(python=python, before=before) as session:
            session.exec("x = 1")
            answer = session.exec(
                "import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                "while True:\n    try: os.fork()\n    except OSError: pass",
                timeout_ms=300, grace_ms=300)
            self.assertEqual(answer.kind, host.ENDED, answer)
            self.assertTrue(answer.json["restored"], answer)
            self.assertGreater(answer.json["processes_ended"], 10)
            # one whose first process does stop: the others are ended all the same
            answer = session.exec("import os, time\nfor _ in range(20):\n    try:\n"
                                  "        if os.fork() == 0: time.sleep(99)\n"
                                  "    except OSError: pass\ntime.sleep(99)", timeout_ms=300)
            self.assertEqual((answer.kind, answer.frame.flags & 4), (host.RESULT, 4), answer)
            self.assertEqual(session.value("x"), "1")
            answer = session.exec("import subprocess\nsubprocess.run(['echo', 'free'])")
            self.assertEqual(answer.out, b"free\n")
            # and one that leaves no process to be had: a reset makes room for itself
            session.exec("import os, time\nwhile True:\n    try:\n"
                         "        if os.fork() == 0: time.sleep(99); os._exit(0)\n"
                         "    except OSError: break", timeout_ms=5000)
            done = session.ask(host.RESET)
            self.assertEqual(done.kind, host.DONE, done)
            self.assertEqual(session.exec("x").json["error"]["type"], "NameError")
            answer = session.exec("import subprocess\nsubprocess.run(['echo', 'free'])")
            self.assertEqual(answer.out, b"free\n")
