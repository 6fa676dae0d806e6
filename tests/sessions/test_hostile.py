"""Code that fights: the session answers or is restored, the host never hangs."""
import os
import signal
import time

from harness import Host, SessionTest, descendants


class Stopped(SessionTest):
    def test_a_timeout_stops_the_call_and_keeps_the_state(self):
        s = self.session()
        self.ok(s.exec("x = 5"))
        answer = s.exec("print('before', flush=True)\nwhile True: pass", timeout=1000)
        self.assertEqual((answer["status"], answer["output"]), ("timeout", "before\n"))
        self.assertEqual(s.value("x"), 5)

    def test_nothing_of_a_stopped_call_shows_later(self):
        s = self.session()
        s.exec("import threading, time\n"
               "def tick():\n    while True:\n        print('tick'); time.sleep(0.01)\n"
               "threading.Thread(target=tick, daemon=True).start()\nwhile True: pass", timeout=300)
        for _ in range(3):
            answer = self.ok(s.exec("import time; time.sleep(0.1); print('mine')"))
            self.assertEqual(answer["output"], "mine\n")

    def test_swallowed_interrupts_end_in_a_kill_and_the_state_before(self):
        """T58."""
        for code in (
                "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
                "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
                "import ctypes\npause = ctypes.CDLL(None).pause\nwhile True: pause()"):
            with self.subTest(code):
                s = self.session()
                self.ok(s.exec("kept = 'yes'"))
                answer = s.exec(code, timeout=200)
                self.assertEqual(answer["status"], "timeout", answer)
                self.assertEqual(s.value("kept"), "yes")

    def test_the_answer_says_which_of_the_two_it_was(self):
        s = self.session()
        soft = s.exec("import time; time.sleep(30)", timeout=200)
        self.assertIn("stopped at the interrupt", " ".join(soft["notes"]))
        hard = s.exec("import signal; signal.signal(2, signal.SIG_IGN)\nwhile True: pass",
                      timeout=200)
        self.assertIn("killed", " ".join(hard["notes"]))
        self.assertIn("back at the state", " ".join(hard["notes"]))

    THREAD = ("import threading, time\nv = 'set'; base.append(2)\n"
              "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n"
              "time.sleep(30)")

    def test_a_thread_that_runs_on_has_not_stopped_and_the_state_before_is_back(self):
        s = self.session()
        self.ok(s.exec("base = [1]"))
        answer = s.exec(self.THREAD, timeout=500)
        self.assertEqual(answer["status"], "timeout", answer)
        self.assertEqual(answer["notes"], [
            "the call ran out of time and was killed: threads that it started did not stop",
            "the session is back at the state after call 1"])
        self.assertEqual(s.value("(base, 'v' in globals())"), [[1], False])

    def test_a_call_that_was_stopped_counts_once(self):
        s = self.session()
        self.ok(s.exec("x = 1"))
        for count in (3, 5):  # and the one before each of them
            self.assertEqual(s.exec("x += 1\nimport time; time.sleep(30)", timeout=300)["status"], "timeout")
            answer = s.exec("import os; os._exit(0)")
            self.assertIn("the session is back at the state after call %d" % (count - 1), answer["notes"])

    def test_threads_that_are_gone_are_not_counted(self):
        s = self.session()
        self.ok(s.exec("import os, threading, time\n"
                       "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()"))
        answer = s.exec("os._exit(0)")
        self.assertIn("1 threads of earlier calls are gone", answer["notes"])
        self.assertNotIn("threads", self.ok(s.exec("x = 1"))["result"])
        answer = self.ok(s.exec("threading.Thread(target=time.sleep, args=(100,), daemon=True).start()"))
        self.assertEqual(answer["result"]["threads"], 1)


class Hostile(SessionTest):
    ENDS = ("import os; os._exit(3)", "import os; os.kill(os.getpid(), 9)",
            "import os; os.abort()",
            "import ctypes; ctypes.string_at(0)")

    def test_an_interpreter_that_ends_is_restored(self):
        s = self.session()
        self.ok(s.exec("kept = 1"))
        for code in self.ENDS:
            with self.subTest(code):
                answer = s.exec("lost = 1\n" + code)
                self.assertEqual(answer["status"], "killed", answer)
                self.assertEqual(s.value("kept"), 1)
                self.assertEqual(s.ask("get", name="lost")["status"], "missing")

    def test_sys_exit_is_an_answer(self):
        answer = self.session().exec("import sys; sys.exit(4)")
        self.assertEqual((answer["status"], answer["result"]["exit"]), ("exit", 4))

    NASTY = (
        "import os\nfor fd in range(0, 1024):\n    try: os.close(fd)\n    except OSError: pass",
        "import sys; sys.stdout = sys.stderr = None; sys.__stdout__ = None",
        "import builtins\nfor n in ('print','len','open','repr','exec','compile'): "
        "setattr(builtins, n, None)",
        "import sys; sys.settrace(lambda *a: 1/0); sys.setprofile(lambda *a: 1/0)",
        "import sys; sys.setrecursionlimit(50)",
        "import signal\nfor n in range(1, 64):\n    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass",
        "import atexit, os; atexit.register(os._exit, 9)",
        "import sys; sys.modules.clear()",
        # Its sockets are above 1,000; what is written there the host reads, or its keeper.
        "import os\nfor fd in range(3, 1100):\n    try: os.write(fd, b'\\x00' * 64)\n"
        "    except OSError: pass",
        "import os\nforged = b'\\x02\\x00\\x00\\x00\\x42\\x01\\0\\0\\0\\0{}'\n"
        "for fd in range(3, 1100):\n    try: os.write(fd, forged)\n    except OSError: pass",
        "import os, struct\nfor fd in range(1000, 1100):\n    for kind in range(256):\n"
        "        try: os.write(fd, struct.pack('<BBIQ', kind, 255, kind, kind) + b'{}')\n"
        "        except OSError: break",
        "import os, socket, struct\nnull = os.open('/dev/null', 0)\nfor fd in range(1000, 1100):\n"
        "    try:\n        s = socket.socket(fileno=os.dup(fd))\n        for n in (1, 8, 9, 253):\n"
        "            s.sendmsg([b'B' * 14], [(1, 1, struct.pack('%di' % n, *[null] * n))], 64)\n"
        "    except OSError: pass",
        "class R:\n    def __repr__(self): raise SystemExit\nr = R()\nr",
        "class R:\n    def __repr__(self):\n        return 'x' * (1 << 30)\nr = R()\nr",
        "l = []\nfor _ in range(100000): l = [l]\nl",
        "'z' * (1 << 29)",
    )

    def test_whatever_it_does_the_next_call_is_right(self):
        """T57: forged frames, replaced builtins, closed descriptors, deep and huge values."""
        for code in self.NASTY:
            with self.subTest(code):
                s = self.session()
                answer = s.exec(code, timeout=10000)
                self.assertIn(answer["status"], ("ok", "error", "exit", "killed", "timeout"))
                s.ask("reset")
                self.assertEqual(self.ok(s.exec("print(len('right'))"))["output"], "5\n")
                self.end(s.name)

    def test_a_fork_bomb_is_bounded_and_others_do_not_notice(self):
        other, s = self.session(), self.session(pids=60)
        bomb = self.host.send("exec", s.name, timeout=2000, code=(
            "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"))
        for _ in range(5):
            self.assertEqual(self.ok(other.exec("print('fine')"))["output"], "fine\n")
        answer = self.host.wait(bomb)
        self.assertIn(answer["status"], ("timeout", "killed", "lost"), answer)

    def test_endless_output_is_read_and_dropped(self):
        s = self.session(output_bytes=1 << 20)
        answer = s.exec("import os\nwhile True: os.write(1, b'x' * 65536)", timeout=1000)
        self.assertEqual((answer["status"], len(answer["output"])), ("timeout", 1 << 20))
        self.assertGreater(answer["output_cut"], 0)

    def test_a_daemon_that_keeps_the_pipe_holds_nobody(self):
        s = self.session()
        answer = self.ok(s.exec(
            "import subprocess\np = subprocess.Popen(['sleep', '60'], start_new_session=True)"))
        self.assertLess(answer["ms"], 30000)
        self.assertEqual(self.ok(s.exec("print(1)"))["output"], "1\n")

    def test_too_much_memory_is_an_answer_and_the_state_is_kept(self):
        s = self.session(memory=400 << 20)
        self.ok(s.exec("kept = 3"))
        answer = s.exec("b = bytearray(1 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1",
                        timeout=20000)
        self.assertIn(answer["status"], ("killed", "error"), answer)
        self.assertEqual(s.value("kept"), 3)
        if answer["status"] == "killed":
            told = [note for note in answer["notes"] if "memory limit" in note]
            self.assertEqual(len(told), 1, answer)
            self.assertIn("400 MiB", told[0])
            self.assertIn("--memory", told[0])

    def test_the_memory_limit_is_blamed_for_its_own_kills_alone(self):
        s = self.session(memory=400 << 20)
        fork = s.info["cell"] == "zygote"
        eat = "b = bytearray(1 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1"
        for code, reached in (("import os; os.kill(os.getpid(), 9)", False), (eat, True),
                              ("import os; os.kill(os.getpid(), 9)", False)):
            answer = s.exec(code, timeout=20000)
            told = " ".join(note for note in answer["notes"] if "memory limit" in note)
            if fork and answer["status"] == "killed":  # else nobody here counts them
                self.assertEqual("was reached" in told, reached, answer)
            else:
                self.assertNotIn("was reached", told)
        crash = s.exec("import os; os.kill(os.getpid(), 11)")
        self.assertNotIn("memory limit", " ".join(crash["notes"]))

    def test_a_keeper_that_is_stopped_loses_its_session_and_nothing_else(self):
        """The host has a clock of its own."""
        other, s = self.session(), self.session()
        answer = s.exec("import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\n"
                        "time.sleep(600)", timeout=200)
        if s.info["cell"] == "zygote":  # there it is the first process, which no one inside stops
            self.assertEqual(answer["status"], "timeout", answer)
        else:
            self.assertEqual(answer["status"], "lost", answer)
            self.assertFalse(s.ask("info")["alive"])
        self.assertEqual(self.ok(other.exec("print('fine')"))["output"], "fine\n")


class Apart(SessionTest):
    def test_sessions_see_nothing_of_each_other(self):
        """T24, T25, T60: processes, files, shared memory, abstract sockets."""
        a, b = self.session(), self.session()
        self.ok(a.exec(
            "import os, socket\nopen('/tmp/secret', 'w').write('s')\n"
            "open('/dev/shm/secret', 'w').write('s') if os.path.isdir('/dev/shm') else None\n"
            "keep = socket.socket(socket.AF_UNIX); keep.bind('\\0secret'); keep.listen()\n"
            "tcp = socket.create_server(('127.0.0.1', 7777))\nimport subprocess\n"
            "child = subprocess.Popen(['sleep', '600'], env={'MARK': 'needle-' + 'in-a'})"))
        look = ("[os.path.exists('/tmp/secret'), os.path.exists('/dev/shm/secret'),"
                " connects(socket.AF_UNIX, '\\0secret'),"
                " connects(socket.AF_INET, ('127.0.0.1', 7777)),"
                " marked()]")
        define = ("import os, socket\ndef connects(family, where):\n"
                  "    try:\n        socket.socket(family).connect(where); return True\n"
                  "    except OSError: return False\n"
                  "def marked():\n    found = 0\n    for p in os.listdir('/proc'):\n"
                  "        try: found += p.isdigit() and b'needle-' + b'in-a' in open(\n"
                  "            '/proc/%s/environ' % p, 'rb').read()\n"
                  "        except OSError: pass\n    return found")
        self.ok(a.exec(define))
        self.ok(b.exec(define))
        self.assertEqual(a.value(look)[0], True)  # the look itself works
        self.assertEqual(a.value(look)[2:], [True, True, 1])
        self.assertEqual(b.value(look), [False, False, False, False, 0])
        # Not even the number of a process: there are its own few.
        numbers = "sorted(int(p) for p in os.listdir('/proc') if p.isdigit())"
        self.assertIn(a.value("child.pid"), a.value(numbers))
        self.assertLess(len(b.value(numbers)), 12)

    def test_sessions_are_what_they_are_said_to_be(self):
        """Without this, the tests of a fork would pass in cells of their own."""
        import harness

        s = self.session()
        if harness.OWN_CELLS or os.getuid() != 0:
            self.assertIn(s.info["cell"], ("own", "zygote"))
        else:
            self.assertEqual((s.info["cell"], s.info["notes"]), ("zygote", []))

    def test_a_session_can_neither_mount_nor_trace_nor_make_namespaces(self):
        s = self.session()
        self.ok(s.exec(
            "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "def call(name, *a):\n    ctypes.set_errno(0)\n"
            "    return getattr(libc, name)(*a), ctypes.get_errno()"))
        for order in ("'unshare', 0x10000000", "'unshare', 0x00020000",
                      "'mount', b'none', b'/tmp', b'tmpfs', 0, None", "'umount2', b'/workspace', 2",
                      "'umount2', b'/proc', 2", "'setns', 0, 0", "'ptrace', 16, 1, 0, 0",
                      "'ptrace', 0, 0, 0, 0",  # to be traced by its parent: nothing else denies it
                      "'chroot', b'/tmp'", "'sethostname', b'x', 1"):
            with self.subTest(order):
                self.assertEqual(s.value("call(%s)[0]" % order), -1)
        self.assertEqual(s.value("call('getpid')[0] > 0"), True)  # the way of asking works
        status = s.value("dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)")
        for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        self.assertEqual((status["Seccomp"].strip(), status["NoNewPrivs"].strip()), ("2", "1"))

    def test_a_session_has_no_descriptor_of_another(self):
        a, b = self.session(), self.session()
        for s in (a, b):
            self.ok(s.exec(
                "import os\nnames = []\nfor fd in range(3, 1024):\n"
                "    try: names.append(os.readlink('/proc/self/fd/%d' % fd))\n"
                "    except OSError: pass"))
        seen, other = a.value("names"), b.value("names")
        self.assertGreater(len(seen), 0)  # its own two sockets are there
        # Of no use to anybody: nothing, and the sealed text of the session's own program.
        harmless = ("/dev/null", "/memfd:caisson-session (deleted)")
        self.assertEqual([n for n in seen if n not in harmless and (
            n in other or not n.startswith(("socket:", "pipe:")))], [])

    def test_the_workspace_of_another_is_not_there(self):
        a, b = self.session(), self.session()
        self.ok(a.exec("open('/workspace/mine', 'w').write('a')"))
        self.ok(b.exec("import os, glob"))
        self.assertEqual(b.value("os.listdir('/workspace')"), [])
        self.assertEqual(b.value("os.listdir('/workspace/..').count('workspace')"), 1)
        self.assertEqual(b.value("glob.glob('/workspace/**/mine', recursive=True)"), [])
        self.assertEqual(a.value("__import__('os').listdir('/workspace')"), ["mine"])

    def test_no_network_and_no_home(self):
        s = self.session()
        self.ok(s.exec("import socket, os"))
        answer = s.exec("socket.create_connection(('192.0.2.1', 80), 2)")
        self.assertEqual(answer["status"], "error")
        self.assertEqual(s.value("os.path.exists(%r)" % self.host.home), False)


class Ends(SessionTest):
    def test_kill_all_leaves_no_process(self):
        host = Host(self.path("ends"))
        self.addCleanup(host.close)
        for i in range(3):
            host.session("k%d" % i)
        below = descendants(host.process.pid)
        self.assertGreater(len(below), 6)
        host.ask("kill_all")
        self.assert_gone(below)

    def test_sigkill_of_the_host_leaves_no_process(self):
        host = Host(self.path("killed"))
        self.addCleanup(host.close)
        s = host.session("k")
        host.send("exec", "k", code="import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n"
                                    "while True: pass", timeout=0, stream=True)
        self.assertTrue(s.info["alive"])
        below = descendants(host.process.pid)
        os.kill(host.process.pid, signal.SIGKILL)
        self.assert_gone(below)

    def assert_gone(self, pids):
        until = time.monotonic() + 20
        while time.monotonic() < until:
            left = [pid for pid in pids if os.path.exists("/proc/%d" % pid) and not zombie(pid)]
            if not left:
                return
            time.sleep(0.01)
        self.fail("still there: %s" % left)


def zombie(pid):
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
