"""One session against the host that serves all of them: what it does is its own loss, and the others
go on. Each test has a second session, whose calls must be answered while the attack lasts."""
import errno
import fcntl
import os
import signal
import time

from harness import Refused, SessionTest

SOON = 20  # seconds; the attacks last longer than that where they work

# The frames of the session's own code are below the code that runs: the nonce of the call is there.
FORGE = """
import array, fcntl, os, socket, struct, sys, threading, time
def place():
    frame = sys._getframe()
    while not (frame.f_code.co_name == 'serve' and 'nonce' in frame.f_locals):
        frame = frame.f_back
    return frame.f_locals
def forge(kind, body=b'', fds=(), line=False):
    found = place()
    sock = found['self'].line.sock if line else found['self'].sock
    head = struct.pack('<BBIQ', kind, 0, found['request'], found['nonce'])
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else []
    sock.sendmsg([head + body], rights)
def lingering(seconds=40):
    # Its last close waits, for nobody reads what it has sent.
    server = socket.create_server(('127.0.0.1', 0))
    one = socket.create_connection(server.getsockname())
    other = server.accept()[0]
    one.setblocking(False)
    try:
        while True: one.send(b'x' * 65536)
    except BlockingIOError: pass
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, seconds))
    peers.append(other)
    return one.detach()
peers = []
def sealed(*parts):
    fd = os.memfd_create('x', os.MFD_ALLOW_SEALING)
    for part in parts:
        view = memoryview(part)
        while len(view): view = view[os.write(fd, view):]
    fcntl.fcntl(fd, 1033, 15)
    return fd
"""


class Neighbours(SessionTest):
    def setUp(self):
        self.good, self.bad = self.session(), self.session(call_timeout=60000)
        self.ok(self.good.exec("kept = 1"))
        self.ok(self.bad.exec(FORGE))

    def assert_others_go_on(self):
        number = self.host.send("exec", self.good.name, code="print(kept)")
        self.assertEqual(self.ok(self.host.wait(number, SOON))["output"], "1\n")

    def attack(self, code, timeout=1000):
        """The answer of the session that attacks; the other one is asked while it runs, and after."""
        number = self.host.send("exec", self.bad.name, timeout=timeout, stream=True,
                                code=code + "\nprint('done', flush=True)\ntime.sleep(2)")
        self.host.wait_for_stream(number, "done", SOON)
        self.assert_others_go_on()
        answer = self.host.wait(number)
        self.assert_others_go_on()
        return answer

    def test_a_socket_that_lingers_holds_nobody(self):
        """The host gets the last one there is of a socket whose close takes longer than SOON."""
        for code in (
                "fd = lingering()\nforge(66 | 128, b'{}', [fd]); os.close(fd)",
                "fd = lingering()\nforge(1, b'', [fd]); os.close(fd)",  # nonsense
                "fds = [lingering() for _ in range(9)]\nforge(66, b'{}', fds)\n"
                "for fd in fds: os.close(fd)",  # more than a frame may have
                "one, two = socket.socketpair()\nfd = lingering()\n"  # in another socket
                "one.sendmsg([b'x'], [(1, 1, struct.pack('i', fd))]); os.close(fd)\n"
                "fd = two.detach(); forge(66 | 128, b'{}', [fd]); os.close(fd); one.close()",
                "fd = lingering()\nforge(68 | 128, b'{}', [fd], True); os.close(fd)"):
            self.attack(code, timeout=500)

    def test_a_socket_that_has_waited_for_the_next_call_holds_nobody(self):
        """Its sender has closed it by then, so that the close of the host is the last."""
        self.ok(self.bad.exec(
            "def later(sock):\n    time.sleep(.2)\n    fd = lingering()\n"
            "    sock.sendmsg([b'x' * 14], [(1, 1, struct.pack('i', fd))]); os.close(fd)\n"
            "    open('/workspace/sent', 'w').close()\n"
            "threading.Thread(target=later, args=(place()['self'].sock,)).start()"))
        until = time.monotonic() + SOON
        while not os.path.exists(os.path.join(self.bad.info["workspace"], "sent")):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        number = self.host.send("exec", self.bad.name, code="1", timeout=500)
        self.assert_others_go_on()
        self.host.wait(number)
        self.assert_others_go_on()

    def test_what_is_left_in_its_socket_holds_nobody(self):
        """Nobody has read it when its interpreter ends; the host closes the socket."""
        self.bad.exec("fd = lingering()\nplace()['self'].sock.send(b'')\nfor _ in range(5):\n"
                      "    forge(1, b'', [fd])\nos.close(fd)\nos._exit(1)")
        self.assert_others_go_on()
        number = self.host.send("exec", self.bad.name, timeout=300, stream=True, code=(
            "fd = lingering()\nprint('there', flush=True)\n"
            "threading.Thread(target=lambda s: [time.sleep(.01) or s.sendmsg([b'x' * 14],\n"
            "    [(1, 1, struct.pack('i', fd))]) for _ in range(200)],\n"
            "    args=(place()['self'].sock,), daemon=True).start()\ntime.sleep(60)"))
        self.host.wait_for_stream(number, "there", SOON)
        self.host.wait(number)
        self.end(self.bad.name)
        self.assert_others_go_on()

    def test_a_branch_from_the_root_has_no_way_to_the_host(self):
        """Code that holds a control socket speaks for its keeper, and so does what it leaves."""
        self.bad.ask("reset")
        self.bad.ask("checkpoint", name="root")
        look = ("import os, socket, stat\nfound = []\nfor fd in range(3, 4096):\n"
                "    try:\n        if stat.S_ISSOCK(os.fstat(fd).st_mode):\n"
                "            copy = socket.socket(fileno=os.dup(fd))\n"
                "            found.append(copy.type.name); copy.close()\n"
                "    except OSError: pass")
        for name in ("one", "two"):
            branch = self.bad.name + name
            self.host.ask("branch", self.bad.name, **{"as": branch, "from": "root"})
            self.addCleanup(self.end, branch)
            self.ok(self.host.ask("exec", branch, code=look))
            answer = self.host.ask("evaluate", branch, expression="found")
            self.assertEqual(answer["result"]["value"], ["SOCK_SEQPACKET"] * 2)

    def test_descriptors_under_way_are_its_own_loss(self):
        """unix(7), ETOOMANYREFS: they are counted for each user, and all sessions may be one."""
        answer = self.ok(self.bad.exec(
            "keep, sent, null = [], 0, os.open('/dev/null', 0)\ntry:\n    while sent < 20000:\n"
            "        one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
            "        keep += [one, two]; one.setblocking(False)\n        try:\n"
            "            while True:\n"
            "                one.sendmsg([b'x'], [(1, 1, array.array('i', [null] * 253))])\n"
            "                sent += 253\n        except BlockingIOError: pass\n"
            "except OSError as error: print(error.errno, sent > 1000)"))
        self.assertEqual(answer["output"], "109 True\n")  # it can send no more
        self.assert_others_go_on()
        # Checkpoints are taken all the same.
        self.ok(self.good.exec("kept = 1; more = 2"))
        self.assertEqual(self.good.exec("import os; os._exit(1)")["status"], "killed")
        self.assertEqual(self.good.value("more"), 2)
        fresh = self.session()
        self.assertEqual(self.ok(fresh.exec("print(6 * 7)"))["output"], "42\n")

    def test_an_answer_of_very_many_values_is_refused(self):
        """T59: three bytes of JSON are 54 in the host's memory."""
        before = peak_memory(self.host.process.pid)
        answer = self.attack(
            "fd = sealed(b'{\"status\":\"ok\",\"value\":[', b'[],' * (14 << 20), b'[]]}')\n"
            "forge(66 | 128, b'', [fd])", timeout=5000)
        self.assertEqual(answer["status"], "error", answer)
        self.assertIn("values; the bound is", " ".join(answer["notes"]))
        self.assertLess(peak_memory(self.host.process.pid) - before, 300 << 20)

    def test_an_answer_of_very_many_keys_is_refused(self):
        """T57: keys that meet in one bucket of the host's table take as many steps as their square."""
        answer = self.attack(
            "keys = b','.join(b'\"%06d\":1' % n for n in range(9000))\n"
            "forge(66 | 128, b'', [sealed(b'{\"status\":\"ok\",\"value\":{', keys, b'}}')])",
            timeout=5000)
        self.assertEqual(answer["status"], "error", answer)
        self.assertIn("too many keys", " ".join(answer["notes"]))
        # What is no attack is told as a text.
        self.ok(self.bad.exec("large = {str(n): n for n in range(9000)}\n"
                              "some = {str(n): n for n in range(5000)}"))
        kinds = [self.bad.ask("get", name=name, max_bytes=4 << 20)["result"]["kind"]
                 for name in ("large", "some")]
        self.assertEqual(kinds, ["text", "json"])

    def test_an_answer_beyond_the_bound_is_not_read(self):
        answer = self.attack(
            "fd = sealed(b'{\"status\":\"ok\",\"value\":\"', b'x' * (100 << 20), b'\"}')\n"
            "forge(66 | 128, b'', [fd])", timeout=5000)
        self.assertEqual(answer["status"], "error", answer)
        self.assertIn("the bound is", " ".join(answer["notes"]))
        # What was asked for is within it.
        self.ok(self.bad.exec("large = 'x' * (3 << 20)"))
        answer = self.bad.ask("get", name="large", max_bytes=4 << 20)
        self.assertEqual(len(answer["result"]["value"]), 3 << 20)

    def test_a_report_that_is_no_object_does_not_end_the_keeper(self):
        """What comes out of a checkpoint reports, and the code has shaped it."""
        for body in (b"[]", b"7", b"null"):
            bad = self.session()
            self.ok(bad.exec("kept = 2"))
            self.ok(bad.exec(FORGE + f"""
def report(self, sock):
    sock.sendmsg([struct.pack('<BBIQ', 96, 0, 0, 0) + {body!r}])
type(place()['self']).report = report
shaped = 1"""))
            with self.assertRaises(Refused):
                self.host.ask("branch", bad.name, **{"as": "from-" + bad.name})
            self.assertEqual(bad.value("kept"), 2, body)  # the keeper lives, and so does the session

    def test_functions_that_the_host_does_not_have_cost_it_nothing(self):
        before = peak_memory(self.host.process.pid)
        self.attack(
            "fd = sealed(b'{\"call\":1,\"name\":\"f\",\"args\":[', b'[],' * (12 << 20), b'[]]}')\n"
            "for _ in range(20): forge(68 | 128, b'', [fd], True)")
        self.assertLess(peak_memory(self.host.process.pid) - before, 30 << 20)

    def test_a_large_call_beyond_the_budget_is_not_read(self):
        s = self.session(functions=True, host_calls=1)
        before = peak_memory(self.host.process.pid)
        answer = self.ok(s.exec(
            "print(double(2))\ntry: double('x' * (40 << 20))\nexcept Exception as e: print(e)\n"
            "try: double(3)\nexcept Exception as e: print(e)"))
        spent = "the budget of 1 host calls in one exec is spent\n"
        self.assertEqual(answer["output"], "4\n" + 2 * spent)
        self.assertLess(peak_memory(self.host.process.pid) - before, 30 << 20)
        self.assertEqual(self.ok(s.exec("print(double(4))"))["output"], "8\n")

    def test_a_lease_on_a_file_holds_nobody(self):
        """open(2) waits for who holds one: for 45 seconds, and then for the next file. A session gets
        none (the filter); another program of the host may hold one."""
        self.ok(self.bad.exec("with open('/workspace/leased', 'w') as file: print('x', file=file)"))
        path = os.path.join(self.bad.info["workspace"], "leased")
        self.ok(self.bad.ask("load", path=path, name="before"))  # without one it can be had
        tried = self.ok(self.bad.exec(
            "try: fcntl.fcntl(open('/workspace/leased'), 1024, 0)  # F_SETLEASE, F_RDLCK\n"
            "except OSError as e: print(e.errno)"))
        self.assertEqual(tried["output"], f"{errno.EINVAL}\n")
        before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # how a holder is asked to let go
        try:
            with open(path, "rb") as held:
                fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                number = self.host.send("load", self.bad.name, path=path, name="x")
                with self.assertRaisesRegex(Refused, "in use"):
                    self.host.wait(number, SOON)
                self.assert_others_go_on()
        finally:
            signal.signal(signal.SIGIO, before)

    def test_a_snapshot_that_is_a_hole_is_refused(self):
        """Half a GiB that costs the session nothing would be read, hashed and written."""
        self.ok(self.bad.exec(
            "def watch(main):\n    end = time.time() + 50\n    while time.time() < end:\n"
            "        frame = sys._current_frames()[main]\n        while frame:\n"
            "            found = frame.f_locals\n"
            "            if frame.f_code.co_name == 'serve' and found.get('kind') == 14:\n"
            "                os.ftruncate(found['fds'][0], 400 << 20)\n"
            "                found['self'].sock.send(struct.pack('<BBIQ', 66, 0, found['request'],\n"
            "                    found['nonce']) + b'{\"status\":\"ok\"}')\n                return\n"
            "            frame = frame.f_back\n        time.sleep(0.001)\n"
            "class Slow:\n    def __reduce__(self):\n        time.sleep(20); return (int, ())\n"
            "slow = Slow()\n"
            "threading.Thread(target=watch, args=(threading.main_thread().ident,),\n"
            "                 daemon=True).start()"))
        path = self.path("hole.snapshot")
        with self.assertRaisesRegex(Refused, "of which the session wrote"):
            self.bad.ask("save", path=path)
        self.assertFalse(os.path.exists(path))
        self.assert_others_go_on()

    def test_bytes_that_it_was_lent_are_gone_when_the_call_is_over(self):
        """They are in the host's memory, whatever limit the session has."""
        hoard = ("kept = {}\ndef hoard():\n    while True:\n"
                 "        for name in os.listdir('/proc/self/fd'):\n"
                 "            try:\n                fd = int(name)\n"
                 "                if 'memfd:caisson-%s' in os.readlink('/proc/self/fd/' + name) \\\n"
                 "                        and os.fstat(fd).st_ino not in kept:\n"
                 "                    kept[os.fstat(fd).st_ino] = os.dup(fd)\n"
                 "            except OSError: pass\n        time.sleep(0.0005)\n"
                 "threading.Thread(target=hoard, daemon=True).start()")
        size = 8 << 20
        for what in ("set", "load"):
            with self.subTest(what):
                s = self.session()
                self.ok(s.exec(FORGE + hoard % what))
                path = self.path("large.txt", "x" * size)
                for _ in range(20):
                    if what == "set":
                        self.ok(s.ask("set", name="x", kind="text", repeat=size))
                    else:
                        self.ok(s.ask("load", path=path, name="x"))
                    if s.value("len(kept)") >= 2:
                        break
                self.assertGreaterEqual(s.value("len(kept)"), 2)  # the hoarding works
                self.assertEqual(s.value("len(x)"), size)
                self.assertEqual(s.value("sum(os.fstat(fd).st_blocks for fd in kept.values())"), 0)
                self.end(s.name)


def peak_memory(pid):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
