"""Descriptors between a keeper and its interpreters: who holds which, and what is let through."""

import os
import resource
import shutil
import unittest

import host
from case import SessionCase

# (number, "kind:type") of every descriptor but the standard ones.
LIST = """
import os, socket, stat
found = []
for number in range(3, 5000):
    try: mode = os.fstat(number).st_mode
    except OSError: continue
    if stat.S_ISSOCK(mode):
        copy = socket.socket(fileno=os.dup(number))
        found.append(copy.type.name); copy.close()
    else:
        found.append(os.readlink('/proc/self/fd/%d' % number))
sorted(found)
"""
FIND = ("import sys, os, socket, struct, time\nf = sys._getframe()\n"
        "while 'nonce' not in f.f_locals: f = f.f_back\nl = f.f_locals\n"
        "def forge(kind, body, fds, line=False):\n"
        "    sock = l['self'].line.sock if line else l['self'].sock\n"
        "    sock.sendmsg([struct.pack('<BBIQ', kind, 0, l['request'], l['nonce']) + body],\n"
        "                 [(1, 1, struct.pack('<%di' % len(fds), *fds))])\n")


class OfTheKeeper(SessionCase):
    def test_an_interpreter_has_its_two_sockets_and_no_other(self):
        """User code that holds a control socket speaks for the keeper, and what it leaves behind
        goes on to do so after a reset."""
        first = self.session.value(LIST)
        self.assertEqual(first.count("SOCK_SEQPACKET"), 2)  # the way of looking works
        self.assertEqual(self.session.ask(host.RESET).kind, host.DONE)
        self.assertEqual(self.session.ask(host.CHECKPOINT, {"name": "root"}).kind, host.DONE)
        lanes = [self.session.branch("b%d" % n, "root") for n in range(3)]
        self.assertEqual(self.session.ask(host.DROP, {"name": "root"}).kind, host.DONE)
        for lane in (self.session, *lanes):
            found = lane.value(LIST)
            self.assertEqual(found.count("SOCK_SEQPACKET"), 2, found)
            self.assertNotIn("SOCK_STREAM", found)
        for lane in lanes:
            lane.sock.close()

    def test_a_branch_that_does_not_start_leaves_nothing_behind(self):
        self.session.value("import os\nos.register_at_fork(after_in_child=lambda: os._exit(0))\n1")
        self.session.ask(host.CHECKPOINT, {"name": "kept"})  # refused: it ends at once
        refused = self.session.branch("never")
        if isinstance(refused, host.Lane):  # the state before the hook still wakes
            refused.sock.close()
        self.assertEqual(self.session.ask(host.RESET).kind, host.DONE)
        self.assertEqual(self.session.value("1 + 1"), "2")

    def test_only_sealed_memory_is_passed_on(self):
        """The host would have to close whatever else it is, for as long as that takes."""
        made = {
            "a pipe": "os.pipe()[0]",
            "a socket": "socket.socketpair()[0].detach()",
            "a file": "os.open('/dev/null', 0)",
            "memory that can change": "os.memfd_create('x', 2)",
        }
        for name, source in made.items():
            for kind, line in ((66, False), (68, True)):
                with self.subTest(name, kind=kind):
                    answer = self.session.exec(
                        FIND + "forge(%d | 128, b'', [%s], %s)\n'its own'" % (kind, source, line))
                    self.assertEqual((answer.text, answer.host_calls), ("'its own'", []), answer)
        answer = self.session.exec(
            FIND + "import fcntl\nfd = os.memfd_create('x', 2)\nos.write(fd, b'{\"lie\": 1}')\n"
            "fcntl.fcntl(fd, 1033, 15)\nforge(66 | 128, b'', [fd])")
        self.assertEqual(answer.json, {"lie": 1})  # and the forging itself works


FILL = """
import array, os, resource, socket
keep, sent, null = [], 0, os.open('/dev/null', 0)
try:
    while sent < 20000:
        one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        keep += [one, two]
        one.setblocking(False)
        try:
            while True:
                one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                      array.array('i', [null] * 100))])
                sent += 100
        except BlockingIOError: pass
except OSError as error: why = error.errno
(why, sent > 1000, resource.getrlimit(resource.RLIMIT_NOFILE))
"""


class UnderWay(unittest.TestCase):
    """unix(7), ETOOMANYREFS: descriptors under way are counted for each user."""

    def test_code_that_fills_the_queues_leaves_the_keeper_room(self):
        def before():
            resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
            try:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)  # one that nobody else is: they would notice
            except OSError:
                pass

        user = 61000 + os.getpid() % 4000
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
        with host.Session(python=python, before=before) as session:
            session.value("kept = 1")
            # The limit of the code is lower than its keeper's, and for good.
            self.assertEqual(session.value(FILL), "(109, True, (1024, 1024))")
            self.assertEqual(session.value("kept = 2; kept"), "2")
            # A checkpoint was taken although the interpreter could not send its socket.
            answer = session.exec("kept = 3\nos._exit(1)")
            self.assertEqual((answer.kind, answer.json["calls_lost"]), (host.ENDED, False), answer)
            # In what has woken the sockets are dead, and what was in them is on its way no more.
            self.assertEqual(session.value("kept"), "2")

    def test_a_large_answer_that_can_not_be_sent_is_an_error_and_nothing_is_lost(self):
        def before():
            resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
            try:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            except OSError:
                pass

        user = 65000 + os.getpid() % 400
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
        with host.Session(python=python, before=before) as session:
            session.value(FILL)
            answer = session.exec("kept = 1\n'x' * 60000")
            self.assertEqual(answer.json["status"], "error", answer)
            self.assertIn("can't be handed over", answer.json["error"]["message"])
            self.assertEqual(session.value("kept"), "1")
            self.assertEqual(session.value("keep.clear(); del one, two; len('x' * 60000)"), "60000")
            self.assertEqual(len(session.value("'x' * 60000")), 60002)


if __name__ == "__main__":
    unittest.main()
