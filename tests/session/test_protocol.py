"""The protocol from the host's side: wrong frames, ends, the zygote, the bundle, IPython."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import host
from case import SessionCase, is_gone, kernel_module


class Frames(SessionCase):
    def test_calls_before_the_start_are_refused(self):
        session = host.Session(start=False)
        self.assertEqual(session.call(host.VARS, {}).kind, host.REFUSED)
        self.assertEqual(session.ask(host.RESET).kind, host.REFUSED)
        session.close()

    def test_a_frame_out_of_bounds_ends_the_session(self):
        for data in (host.HEADER.pack(host.MAX_BODY + 1, host.VARS, 1), host.HEADER.pack(0, 200, 1),
                     host.HEADER.pack(0, host.EXEC, 1), host.HEADER.pack(0, 50, 1)):
            session = host.Session()
            session.send_raw(data)
            self.assertIsNone(session.receive())
            session.close()
            self.assertTrue(is_gone(session.hello.json["pid"]))

    def test_frames_that_come_in_pieces(self):
        body = host.PREFIX.pack(0, 0, 0, 0) + b"{}"
        data = host.HEADER.pack(len(body), host.VARS, 4242) + body
        for at in range(len(data)):
            self.session.send_raw(data[at:at + 1])
        self.assertEqual(self.session.wait(4242).kind, host.RESULT)

    def test_several_frames_in_one_piece(self):
        one = host.HEADER.pack(0, host.CHECKPOINTS, 7001)
        two = host.HEADER.pack(0, host.CHECKPOINTS, 7002)
        self.session.send_raw(one + two)
        self.assertEqual(self.session.wait(7001).kind, host.DONE)
        self.assertEqual(self.session.wait(7002).kind, host.DONE)

    def test_a_body_that_is_not_json_is_refused(self):
        for body in (b"{", b"[1]", b"\xff", b"{}x", b"[" * 5000):
            request = self.session.send(host.CHECKPOINT, body)
            self.assertEqual(self.session.wait(request).kind, host.REFUSED, body[:10])

    def test_end_closes_the_lane(self):
        with host.Session() as session:
            self.assertEqual(session.ask(host.END).kind, host.DONE)
            self.assertIsNone(session.receive())

    def test_a_host_that_vanishes_leaves_nothing(self):
        session = host.Session()
        session.exec("import subprocess\np = subprocess.Popen(['sleep', '63.5'])")
        pid = session.hello.json["pid"]
        body = host.PREFIX.pack(0, 0, 0, 2) + b"while True: pass"
        session.send(host.EXEC, body, [1, 1])
        session.close()
        self.assertTrue(is_gone(pid))
        self.assertEqual(subprocess.run("ps ax | grep '[s]leep "
                                        "63.5'", shell=True, capture_output=True).stdout, b"")


class OldPython(unittest.TestCase):
    def test_it_is_told_before_anything_that_it_could_not_import(self):
        boot = os.path.join(os.path.dirname(host.KERNEL), "boot.py")
        code = ("import runpy, sys\nsys.version_info = (3, 8, 1)\nsys.argv = ['boot', 'keeper', '3']\n"
                f"runpy.run_path({boot!r}, run_name='__main__')")
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"caisson: Python 3.8 is too old for a session\n"
                                      b"hint: --python names one of 3.9 or later\n")


class Zygotes(unittest.TestCase):
    def test_sessions_by_fork(self):
        with host.Zygote(modules=["decimal", "no_such_module"]) as zygote:
            self.assertEqual(zygote.facts["missing"], ["no_such_module: ModuleNotFoundError"])
            lanes = [zygote.session(functions=[]) for _ in range(5)]
            for number, lane in enumerate(lanes):
                self.assertEqual(lane.receive().kind, host.HELLO)
                self.assertEqual(lane.value("import sys\nx = %d\n"
                                            "'decimal' in sys.modules, x" % number),
                                 "(True, %d)" % number)
            self.assertEqual(lanes[0].exec("import os\nos._exit(1)").kind, host.ENDED)
            self.assertEqual([lane.value("x") for lane in lanes], list("01234"[:1]) + list("1234"))
            for lane in lanes:
                lane.sock.close()


    def test_a_keeper_in_reserve_has_its_interpreter_ready(self):
        with host.Zygote() as zygote:
            lane = zygote.reserve()
            self.assertEqual(lane.call(host.VARS, {}).kind, host.REFUSED)
            hello = lane.ask(host.START, {"functions": [{"name": "ask"}], "final": ["FINAL"]})
            self.assertEqual((hello.kind, hello.json["functions"]), (host.HELLO, ["ask"]))
            lane.functions["ask"] = lambda x: x + 1
            self.assertEqual(lane.value("ask(1)"), "2")
            self.assertEqual(lane.exec("FINAL(3)").json["status"], "final")
            lane.exec("x = 1")
            self.assertEqual(lane.ask(host.RESET).kind, host.DONE)
            self.assertEqual(lane.value("ask(2), 'x' in globals()"), "(3, False)")
            lane.sock.close()
            unused = zygote.reserve()
            unused.sock.close()


    def test_pages_that_a_first_call_writes_are_copied_in_reserve(self):
        """With IPython's shell a first call writes some 700 of them."""
        with host.Zygote(python=os.environ.get("CAISSON_SCIENCE"), modules=["+ipython"]) as zygote:
            first = zygote.reserve()
            if first.ask(host.START, {"ipython": True}).json["shell"] != "ipython":
                self.skipTest("no IPython")
            zygote.lane.receive()
            lane = zygote.reserve()
            keeper = zygote.lane.receive().json["pid"]
            before = settled_faults(keeper)
            lane.ask(host.START, {"ipython": True})
            self.assertEqual(lane.value("1"), "1")
            after = settled_faults(keeper)
            self.assertLess(after - before, 250)
            for one in (first, lane):
                one.sock.close()


def settled_faults(keeper, deadline=20):
    """How many pages the interpreter of a keeper has written, once it waits."""
    until, seen = time.monotonic() + deadline, -1
    while time.monotonic() < until:
        with open("/proc/%d/task/%d/children" % (keeper, keeper)) as children:
            pids = children.read().split()
        if pids:
            with open("/proc/%s/stat" % pids[0]) as stat:
                fields = stat.read().rpartition(")")[2].split()
            if fields[0] == "S" and seen == int(fields[7]):
                return seen
            seen = int(fields[7])
        time.sleep(0.05)
    raise AssertionError("the interpreter does not come to rest")


class Embedded(unittest.TestCase):
    def test_a_zygote_with_a_door_makes_no_fork_that_nothing_binds(self):
        """Who orders forks says neither what binds them nor that nothing does."""
        for body in (b"{}", b'{"start": {}}', b'{"confine": {"workspace": "x", "tmp_bytes": 1}}'):
            door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            number = theirs.fileno()
            with host.Zygote(modules=["+joins=%d" % number], pass_fds=[number]) as zygote:
                theirs.close()
                door.close()
                ours, other = socket.socketpair()
                zygote.lane.send(1, body, [other.fileno(), 0])
                other.close()
                self.assertEqual(zygote.process.wait(20), 0)
                self.assertEqual(ours.recv(100), b"", body)
                ours.close()

    def test_the_bundle_is_one_file_that_starts_by_itself(self):
        folder = os.path.dirname(host.KERNEL)
        command = [sys.executable, os.path.join(folder, "bundle.py")]
        text, again = (
            subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2))
        self.assertEqual(text, again)
        with tempfile.NamedTemporaryFile(suffix=".py") as file:
            file.write(text)
            file.flush()
            real, host.KERNEL = host.KERNEL, file.name
            try:
                with host.Session() as session:
                    self.assertEqual(session.value("6 * 7"), "42")
            finally:
                host.KERNEL = real

    def test_modules_come_compiled_where_the_version_fits_and_as_text_elsewhere(self):
        bundle = os.path.join(os.path.dirname(host.KERNEL), "bundle.py")
        text = subprocess.run([sys.executable, bundle], capture_output=True, check=True, text=True).stdout
        scope = {"__name__": "boot"}
        exec(text, scope)
        version, packed = scope["COMPILED"]
        codes = scope["unpack_compiled"](version, packed)
        self.assertEqual(set(codes), set(scope["SOURCES"]))
        self.assertEqual(scope["unpack_compiled"]("0" * len(version), packed), {})
        for sources, compiled in (({name: "1/0" for name in codes}, codes), (scope["SOURCES"], {})):
            words = scope["make_loader"](sources, compiled)("words")
            self.assertEqual(words.__file__, "<caisson>/words.py")
        plain = {"__name__": "boot"}
        exec(subprocess.run([sys.executable, bundle, "--plain"], capture_output=True, check=True,
                            text=True).stdout, plain)
        self.assertEqual((plain["SOURCES"], plain["COMPILED"]), (scope["SOURCES"], ("", "")))

    def test_the_bundle_starts_from_a_memfd(self):
        folder = os.path.dirname(host.KERNEL)
        text = subprocess.run([sys.executable, os.path.join(folder, "bundle.py")],
                              capture_output=True, check=True).stdout
        fd = host.memfd(text)
        self.addCleanup(os.close, fd)
        ours, theirs = socket.socketpair()
        with subprocess.Popen(
                [os.environ.get("CAISSON_SESSION_PYTHON", sys.executable), "-I",
                 "/proc/self/fd/%d" % fd, "keeper", str(theirs.fileno())],
                pass_fds=[fd, theirs.fileno()]):
            theirs.close()
            lane = host.Lane(ours)
            self.assertEqual(lane.ask(host.START, {}).kind, host.HELLO)
            self.assertEqual(lane.value("6 * 7"), "42")
            ours.close()


class IPython(unittest.TestCase):
    def test_ipython_when_it_is_there_and_the_standard_library_otherwise(self):
        with host.Session(ipython=True, flags=("-I",)) as session:
            there = session.exec("import IPython").json["status"] == "ok"
            self.assertEqual(session.hello.json["shell"], "ipython" if there else "standard")
            self.assertEqual(session.value("x = 20\nx + 1"), "21")
            answer = session.exec("print('a')\n!echo b\nx")
            self.assertEqual((answer.out, answer.err, answer.text), (b"a\nb\n", b"", "20"))
            answer = session.exec("def f(): return 1 / 0\nf()")
            self.assertEqual((answer.json["status"], answer.out, answer.err), ("error", b"", b""))
            self.assertEqual(answer.json["error"]["type"], "ZeroDivisionError")
            self.assertNotIn("\x1b", answer.json["error"]["traceback"])
            self.assertEqual(session.exec("if if").json["error"]["type"], "SyntaxError")
            self.assertEqual(session.value("import asyncio\nawait asyncio.sleep(0, 3)"), "3")
            self.assertEqual(session.exec("import os\nos._exit(1)").kind, host.ENDED)
            self.assertEqual(session.value("x"), "20")


class Units(unittest.TestCase):
    def test_plain_copies_are_bounded(self):
        jsonio = kernel_module("jsonio")
        self.assertEqual(jsonio.Plain(1000).copy({"a": (1, [True])}), {"a": [1, [True]]})
        deep = []
        for _ in range(100):
            deep = [deep]
        for value in ("x" * 2000, [0] * 2000, deep, {1: object()}, {(1, 2): 3}, float("nan"),
                      1 << 9000):
            with self.assertRaises(jsonio.NotJson):
                jsonio.Plain(1000).copy(value)

    def test_json_reads_what_the_json_package_reads(self):
        jsonio = kernel_module("jsonio")
        for text in ('{"a": [1, 2.5, "\\u00e9\\ud83d\\ude00", null, '
                     'true]}', ' [] ', '"x"', "-0.5e3"):
            self.assertEqual(jsonio.loads(text), json.loads(text))
            self.assertEqual(json.loads(jsonio.dumps(json.loads(text))), json.loads(text))
        for text in ("", "{", "[1,]", "NaN", "1 2", '{"a" 1}', "\x00"):
            with self.assertRaises(ValueError):
                jsonio.loads(text)

    def test_a_family_never_holds_a_stranger(self):
        processes = kernel_module("processes")
        parents = {1: (0, 0), 2: (0, 0), 5: (1, 5), 9: (5, 5), 10: (9, 10), 11: (10, 10),
                   12: (11, 12), 13: (1, 10), 20: (9, 20), 21: (20, 20), 30: (1, 30), 31: (9, 31)}
        table = {pid: (*entry, 0) for pid, entry in parents.items()}
        self.assertEqual(processes.family(10, None, frozenset({20}), table, 9), {10, 11, 12, 13})
        self.assertEqual(processes.family(10, 9, frozenset({20}), table, 9), {10, 11, 12, 13, 31})
        self.assertEqual(processes.family(10, None, frozenset({20}), table, 9, 20), {10, 11, 12, 13, 21})
        for strange in (0, 1, 5, 9, 777):
            found = processes.family(strange, None, frozenset(), table, 9)
            self.assertEqual(found - {777}, set(), strange)

    def test_purity_doubts(self):
        purity = kernel_module("purity")
        namespace = {"n": 1, "s": "a", "o": [], "len": 3}
        pure = ("1 + n", "s * 3", "abs(n)", "print(n)", "n if n else s", "f'{n}'", "")
        doubtful = ("o", "n.real", "f()", "len(s)", "print(o)", "print(n, file=s)", "unknown",
                    "n = 1", "lambda: 1", "[n]", "n[0]", "del n", "await n", "(yield)")
        for source in pure + doubtful:
            tree = compile(source, "", "exec", 0x400 | 0x2000)
            self.assertEqual(purity.changes_nothing(tree, namespace), source in pure, source)

    def test_a_code_without_calls_is_doubted_by_its_names(self):
        purity = kernel_module("purity")
        namespace = {"n": 1, "s": "a", "o": [], "real": object()}
        pure = ("1 + n", "s * 3", "n if n else s", "f'{n}'", "[n]", "s[0]")
        doubtful = ("o", "n.real", "o.n", "unknown", "lambda: 1", "await n", "[o for n in s]", "-real")
        for source in pure + doubtful:
            code = compile(source, "", "eval", 0x2000)
            self.assertEqual(purity.reads_only(code, namespace), source in pure, source)

    def test_what_is_compiled_in_one_step_is_told_as_any_other(self):
        with host.Session() as session:
            self.assertEqual(session.value("1 + 1"), "2")
            self.assertNotIn("value", session.exec("None").json)
            self.assertEqual(session.exec(" 1").json["error"]["type"], "IndentationError")
            self.assertEqual(session.exec("1 +").json["error"]["type"], "SyntaxError")
            told = session.exec("1 / 0").json["error"]
            self.assertEqual(told["type"], "ZeroDivisionError")
            self.assertIn("1 / 0", told["traceback"])
            self.assertEqual(session.exec("o.n").json["status"], "error")
            session.exec("class O:\n  n = property(lambda self: seen.append(1))\nseen, o = [], O()")
            session.exec("o.n")
            self.assertEqual(session.value("len(seen)"), "1")

    def test_the_control_socket_is_nowhere_in_reach(self):
        look = ("import os\nfound = []\nfor n in os.listdir('/proc/self/fd'):\n"
                "    try: found.append(os.readlink('/proc/self/fd/' + n))\n"
                "    except OSError: pass\n"
                "sorted(f for f in found if f.startswith(('socket', 'anon')))")
        with host.Session() as session:
            first = eval(session.value(look))
            self.assertEqual(len(first), 2, first)  # the two private ones, and nothing else
            session.ask(host.RESET)
            self.assertEqual(len(eval(session.value(look))), 2)
            session.ask(host.CHECKPOINT, {"name": "a"})
            session.ask(host.RESTORE, {"name": "a"})
            self.assertEqual(len(eval(session.value(look))), 2)
            branch = session.branch("b")
            self.assertEqual(len(eval(branch.value(look))), 2)
            branch.sock.close()
            answer = session.exec("import sys\npid = os.fork()\nif pid == 0:\n    for n in "
                                  "os.listdir('/proc/self/fd'):\n        try: print(os.readlink("
                                  "'/proc/self/fd/' + n))\n        except OSError: pass\n"
                                  "    sys.stdout.flush(); os._exit(0)\nos.waitpid(pid, 0);")
            self.assertNotIn(b"socket", answer.out)
            self.assertIn(b"pipe", answer.out)
            answer = session.exec("os.system('ls -l /proc/self/fd | grep -c socket');")
            self.assertEqual(answer.out, b"0\n")
