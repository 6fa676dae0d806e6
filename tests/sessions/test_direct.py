"""Calls that go to the interpreter without the keeper: what the code in it can do to that, and that
the keeper knows what it has to know."""
import time

from harness import Refused, SessionTest

# The frames below the code have the request and the nonce of its own call.
OWN_CALL = ("import sys, struct, time\nf = sys._getframe()\n"
            "while 'nonce' not in f.f_locals: f = f.f_back\nl = f.f_locals\n")
FORGE = (
    "import os, socket, struct\nsent = 0\nfor fd in range(3, 1100):\n"
    "    try: copy = os.dup(fd)\n    except OSError: continue\n"
    "    try: s = socket.socket(fileno=copy)\n    except OSError: os.close(copy); continue\n"
    "    for kind in (2, 18, 66, 67, 73, 96, 97, 98, 101, 194, 225, 255):\n"
    "        for body in (b'', b'{}', b'\\xff' * 4, b'[' * 30000):\n"
    "            for fds in ([], [0], [0] * 20):\n"
    "                try:\n"
    "                    s.sendmsg([struct.pack('<BBIQ', kind, 255, %d, 12345) + body],\n"
    "                              [(1, 1, struct.pack('<%%di' %% len(fds), *fds))] if fds else [],\n"
    "                              socket.MSG_DONTWAIT); sent += 1\n"
    "                except OSError: pass\n"
    "    for junk in (b'\\0', b'x' * 13, b'y' * 40000):\n"
    "        try: s.send(junk, socket.MSG_DONTWAIT); sent += 1\n"
    "        except OSError: pass\n    s.close()\nassert sent")


class Resets(SessionTest):
    """They are answered when all that ran is killed, and before what takes its place has come up."""

    def test_the_call_after_it_is_in_the_new_one(self):
        s = self.session()
        for n in range(20):
            self.ok(s.exec("x = 1"))
            s.ask("reset")
            self.assertEqual(s.value("'x' in globals()"), False)
            s.ask("reset")
            s.ask("reset")

    def test_a_call_after_it_can_be_stopped_at_once(self):
        s = self.session()
        for n in range(10):
            s.ask("reset")
            endless = self.host.send("exec", s.name, code="while True: pass", timeout=60000)
            s.ask("interrupt")
            self.assertEqual(self.host.wait(endless)["status"], "interrupted")
            s.ask("reset")
            self.assertEqual(s.exec("while True: pass", timeout=1)["status"], "timeout")
            self.assertEqual(s.value("1 + 1"), 2)

    def test_an_interrupt_before_it_is_there_ends_the_call_alone(self):
        """Its own deadline is not the one of a call that has a short time."""
        s = self.session()
        for n in range(12):
            reset = self.host.send("reset", s.name)
            sleeper = self.host.send("exec", s.name, code="import time\ntime.sleep(9)", timeout=150)
            time.sleep(0.0005 * n)
            self.host.send("interrupt", s.name)
            self.host.wait(reset)
            self.assertIn(self.host.wait(sleeper)["status"], ("interrupted", "timeout"))
            self.assertEqual(s.value("1 + 1"), 2)

    def test_other_orders_after_it(self):
        s = self.session()
        self.ok(s.exec("x = 1"))
        s.ask("checkpoint", name="one")
        s.ask("reset")
        s.ask("restore", name="one")
        self.assertEqual(s.value("x"), 1)
        s.ask("reset")
        s.ask("checkpoint", name="bare")
        self.ok(s.exec("x = 2"))
        s.ask("restore", name="bare")
        self.assertEqual(s.value("'x' in globals()"), False)
        s.ask("reset")
        self.host.ask("branch", s.name, **{"as": s.name + "b"})
        self.addCleanup(self.end, s.name + "b")
        s.ask("reset")  # of one among two
        self.host.ask("reset", s.name + "b")
        self.assertEqual(s.value("'x' in globals()"), False)


class Direct(SessionTest):
    def begun(self, **spec):
        s = self.session(**spec)
        self.ok(s.exec("x = 1"))
        return s

    def still_right(self, s):
        for n in range(3):
            answer = self.ok(s.exec("%d + x" % n))
            self.assertEqual(answer["result"]["value"]["text/plain"], str(n + 1))

    def test_forged_messages_are_dropped(self):
        s = self.begun()
        for request in (0, 3, 4, 5):
            self.assertIn(s.exec(FORGE % request)["status"], ("ok", "killed"))
            self.still_right(s)

    def test_a_flood_ends_the_call_and_not_the_session(self):
        s = self.begun()
        answer = s.exec(OWN_CALL + "while True: l['self'].sock.send(b'z' * 20)", timeout=20000)
        self.assertEqual(answer["status"], "killed", answer)
        self.assertIn("flooded", " ".join(answer["notes"]))
        self.still_right(s)

    def test_a_forged_answer_is_only_the_answer_of_its_own_call(self):
        s = self.begun()
        answer = s.exec(OWN_CALL + "l['self'].sock.send(struct.pack('<BBIQ', 66, 1, l['request'],"
                        " l['nonce']) + b'{\"status\":\"ok\",\"lie\":1}')\ntime.sleep(.1)")
        self.assertEqual(answer["result"].get("lie"), 1)
        self.still_right(s)

    def test_a_left_over_child_can_not_answer_later_calls(self):
        s = self.begun()
        self.ok(s.exec(OWN_CALL + "import ctypes, os\nsock = l['self'].sock\n"
                       "request, nonce = l['request'], l['nonce']\n"
                       "if ctypes.CDLL(None).syscall(57) == 0:\n"  # fork(2), past Python's hooks
                       "    for n in range(3000):\n"
                       "        try: sock.send(struct.pack('<BBIQ', 66, 0, request + n % 40, nonce)"
                       " + b'{\"status\":\"ok\",\"lie\":1}', 64)\n"
                       "        except OSError: pass\n"
                       "        time.sleep(.0005)\n    os._exit(0)"))
        for n in range(30):
            answer = self.ok(s.exec("%d + x" % n))
            self.assertEqual(answer["result"].get("value"), {"text/plain": str(n + 1)})

    def test_a_left_over_thread_can_not_answer_later_calls(self):
        """It guesses the number of the call that runs, many times while each of them does."""
        s = self.begun()
        self.ok(s.exec(OWN_CALL + "import threading\nsock = l['self'].sock\n"
                       "request, nonce = l['request'], l['nonce']\n"
                       "def lie():\n    for n in range(6000):\n"
                       "        try: sock.send(struct.pack('<BBIQ', 66, 0, request + 1 + n % 5, nonce)"
                       " + b'{\"status\":\"ok\",\"lie\":1}', 64)\n"
                       "        except OSError: pass\n"
                       "        time.sleep(.0005)\nthreading.Thread(target=lie).start()"))
        for n in range(5):
            answer = self.ok(s.exec("time.sleep(.05); %d + x" % n))
            self.assertEqual(answer["result"].get("value"), {"text/plain": str(n + 1)})

    def test_a_left_over_child_that_takes_requests_can_not_answer_them(self):
        """It has the nonce then. The call is lost, the child has the socket of the one before."""
        s = self.begun()
        self.ok(s.exec(OWN_CALL + "import ctypes, os\nsock = l['self'].sock\n"
                       "if ctypes.CDLL(None).syscall(57) == 0:\n"
                       "    while True:\n"
                       "        data = sock.recvmsg(65536, 1024)[0]\n"
                       "        if not data: os._exit(0)\n"
                       "        sock.send(struct.pack('<BBIQ', 66, 1, *struct.unpack('<IQ', data[2:14]))"
                       " + b'{\"status\":\"ok\",\"lie\":1}')"))
        answers = [s.exec("%d + x" % n, timeout=700) for n in range(3)]
        self.assertEqual([one for one in answers if (one["result"] or {}).get("lie")], [])
        self.still_right(s)

    def test_checkpoints_that_are_none_cost_the_keeper_nothing(self):
        s = self.begun()
        taken = ("line, number = l['self'].line.sock, l['number']\nimport array, os, socket\n"
                 "head = lambda k, b: struct.pack('<BBIQ', k, b, l['request'], l['nonce'])\n"
                 "def take(fd):\n    line.send(head(101, 2) + number)\n"
                 "    line.sendmsg([head(97, 0)], [(1, 1, array.array('i', [fd]))])\n")
        for code in ("take(os.open('/dev/null', 0))", "take(socket.socket().detach())",
                     "for _ in range(300): take(socket.socketpair(1, 5)[0].detach())"):
            self.assertIn(s.exec(OWN_CALL + taken + code, timeout=20000)["status"],
                          ("ok", "killed"), code)
            self.still_right(s)

    def test_sockets_that_the_code_closes_are_told_and_the_state_is_back(self):
        s = self.begun()
        for code in ("import os; os.closerange(3, 2000)",
                     OWN_CALL + "l['self'].line.sock.close(); y = 2"):
            answer = s.exec(code, timeout=20000)
            self.assertEqual(answer["status"], "killed", answer)
            self.still_right(s)

    def test_descriptors_that_are_used_up_are_told_and_the_state_is_back(self):
        s = self.begun()
        self.ok(s.exec("import os\nheld = []\ntry:\n    while True: held.append(os.dup(0))\n"
                       "except OSError: pass"))
        answer = s.exec("x")
        self.assertEqual(answer["status"], "killed", answer)
        self.assertIn("used up", " ".join(answer["notes"]))
        self.still_right(s)

    def test_an_interpreter_that_ends_in_every_call_is_not_given_up(self):
        s = self.begun()
        for _ in range(9):
            answer = s.exec("import os; os._exit(3)")
            self.assertEqual(answer["status"], "killed", answer)
        self.still_right(s)

    def test_an_answer_before_the_end_counts(self):
        s = self.begun()
        answer = self.ok(s.exec("import threading, os, time\nx = 1\ndef end():\n"
                                "    while not os.path.exists('/workspace/go'): time.sleep(.01)\n"
                                "    os._exit(3)\nthreading.Thread(target=end).start()\n'told'"))
        self.assertEqual(answer["result"]["value"]["text/plain"], "'told'")
        answer = s.exec("open('/workspace/go', 'w').close()\ntime.sleep(40)", timeout=50000)
        self.assertEqual(answer["status"], "killed", answer)
        self.still_right(s)

    def test_the_keeper_knows_of_changes_that_went_past_it(self):
        s = self.begun()
        for n in range(5):
            self.ok(s.exec("y = %d" % n))
            self.ok(s.exec("y"))  # changes nothing
            s.ask("checkpoint", name="c%d" % n)
            self.ok(s.exec("y = 'later'"))
            s.ask("restore", name="c%d" % n)
            self.assertEqual(s.value("y"), n)
        killed = s.exec("import os; y = 'lost'; os._exit(0)")
        self.assertEqual(killed["status"], "killed")
        self.assertEqual(s.value("y"), 4)

    def test_the_calls_of_a_branch_are_its_own(self):
        s = self.begun()
        for n in range(6):
            self.ok(s.exec("y = %d" % n))
        self.host.ask("branch", s.name, **{"as": s.name + "b"})
        self.addCleanup(self.end, s.name + "b")
        self.ok(self.host.ask("exec", s.name + "b", code="y = 'branch'"))
        killed = self.host.ask("exec", s.name + "b", code="import os; os._exit(0)")
        self.assertIn("after call", " ".join(killed["notes"]))
        for name, value in ((s.name + "b", "'branch'"), (s.name, "5")):
            answer = self.ok(self.host.ask("exec", name, code="y"))
            self.assertEqual(answer["result"]["value"]["text/plain"], value)

    def test_numbers_that_are_lies_cost_nobody_but_the_liar(self):
        s = self.begun()
        s.exec(OWN_CALL + "for n in (0, 1, 2**32 - 1): l['self'].line.sock.send(struct.pack("
               "'<BBIQI', 101, 0, l['request'], l['nonce'], n))")
        self.still_right(s)
        self.ok(s.exec("y = 2"))
        s.ask("checkpoint", name="after")
        self.ok(s.exec("y = 3"))
        s.ask("restore", name="after")
        self.assertEqual(s.value("y"), 2)

    def test_sources_of_any_size(self):
        s = self.begun()
        for size in (32 * 1024 - 20, 32 * 1024, 40_000, 3_000_000):
            self.ok(s.exec("z = '%s'" % ("a" * size)))
            self.assertEqual(s.value("len(z)"), size)

    def test_bytes_of_any_size(self):
        s = self.begun()
        for size in (1, (1 << 20) - 1, 1 << 20, (8 << 20) + 5, 70_000_001):
            s.ask("set", name="data", kind="bytes", repeat=size)
            self.assertEqual(s.value("(len(data), data.count(b'x'))"), [size, size])

    def test_functions_of_the_host_go_by_the_keeper(self):
        s = self.begun(functions=True)
        self.assertEqual(s.value("double(21)"), 42)

    def test_bytes_that_do_not_fit_are_refused_inside(self):
        s = self.begun(memory=128 << 20)
        try:
            self.assertNotEqual(s.ask("set", name="data", kind="bytes", repeat=400 << 20)["status"], "ok")
        except Refused:
            pass
        self.still_right(s)
