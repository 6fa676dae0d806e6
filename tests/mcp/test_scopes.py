"""What a server that was taken over can do to the sessions of other projects and conversations."""
import errno
import glob
import os
import time

from harness import DEADLINE
from intruder import AT_FDCWD, Intruder, socket_of_packets
from taken_over import (DONE, DROP, FAILED, FILE, KEEP, LOAD, NOTE, O_CREAT, O_RDONLY, O_WRONLY,
                        TAKE_UP, TAKEN_UP, TakenOver)


class Scopes(TakenOver):
    def await_files(self, pattern):
        end = time.monotonic() + DEADLINE
        while not (found := glob.glob(pattern)):
            self.assertLess(time.monotonic(), end, f"nothing is {pattern}")
            time.sleep(0.01)
        return found

    def victim(self):
        """A living session of another project, with a snapshot and a file; and its full name."""
        server = self.server("--session", "victim", "--", "--env", "OWN=1")  # a cell of its own
        server.text("rlm_exec", code="token = 'of the victim'; open('secret', 'w').write(token)")
        snapshot, = self.await_files(os.path.join(self.place(server), "own", "*.snapshot"))
        self.project = self.folder("another")
        return server, snapshot, os.path.basename(snapshot)[:-len(".snapshot")]

    def intruders(self):
        """One that keeps its state, and one that doesn't."""
        for words in (("--session", "mine"), ()):
            server = self.server(*words)
            server.text("rlm_exec", code="1")
            yield server

    def test_no_file_of_another_scope_can_be_opened(self):
        victim, snapshot, _ = self.victim()
        new = self.own(victim, "new")
        for server in self.intruders():
            answers = self.ask(
                server,
                ("openat", AT_FDCWD, snapshot.encode(), O_RDONLY),
                ("openat", AT_FDCWD, snapshot.encode(), O_WRONLY),
                ("openat", AT_FDCWD, new, O_WRONLY | O_CREAT, 0o600),
                ("unlinkat", AT_FDCWD, snapshot.encode(), 0),
                ("openat", AT_FDCWD, os.path.dirname(self.place(victim)).encode(), O_RDONLY),
                ("openat", AT_FDCWD, self.own(server, "new"), O_WRONLY | O_CREAT, 0o600))
            self.assertEqual(answers[:5], [-errno.EACCES] * 5)
            self.assertGreaterEqual(answers[5], 0)  # the call itself is a good one

    def rooms(self, server):
        """Of its own, as its launcher knows them: those in reserve are empty."""
        top = self.place(server)
        found = glob.glob(top + "/forks/*-*/*/files") + glob.glob(top + "/rooms/*/files")
        self.assertTrue(found)
        return [os.path.relpath(os.path.dirname(one), top).encode() for one in found]

    def test_no_order_reaches_a_session_of_another_scope(self):
        victim, snapshot, name = self.victim()
        files = os.path.join(self.place(victim), "workspaces", name)
        name = name.encode()
        for server in self.intruders():
            rooms = self.rooms(server)
            socket = socket_of_packets(server.process.pid)
            with Intruder(server.process.pid) as intruder:
                for room in rooms:
                    self.order(intruder, socket, TAKE_UP, (room, name), answers=(TAKEN_UP, FAILED))
                for workspace in (files, os.path.dirname(files)):
                    kind, text, _ = self.order(
                        intruder, socket, LOAD, ((files + "/secret").encode(), workspace.encode()),
                        answers=(FILE, FAILED))
                    self.assertEqual(kind, FAILED, text)
                self.order(intruder, socket, NOTE, (rooms[0], name))
                self.order(intruder, socket, KEEP, (rooms[0], name))
                self.order(intruder, socket, DROP, (name,), answers=(DONE, FAILED))
            self.assertEqual(victim.text("rlm_exec", code="token, open('secret').read()"),
                             "('of the victim', 'of the victim')")
            self.assertEqual(os.listdir(files), ["secret"])
            self.assertEqual(glob.glob(self.place(server) + "/**/secret", recursive=True), [])

    def test_the_orders_themselves_are_good_ones(self):
        """The control: they take up what was kept in the same scope."""
        server = self.server("--session", "mine")
        server.text("rlm_exec", code="1")
        kept = os.path.join(self.place(server), "workspaces", "kept")
        os.mkdir(kept, mode=0o700)
        with open(os.path.join(kept, "secret"), "w") as out:
            out.write("its own")
        socket = socket_of_packets(server.process.pid)
        with Intruder(server.process.pid) as intruder:
            for room in self.rooms(server):
                self.order(intruder, socket, TAKE_UP, (room, b"kept"), answers=(TAKEN_UP, FAILED))
        self.assertFalse(os.path.exists(kept))
        self.assertEqual(len(glob.glob(self.place(server) + "/**/secret", recursive=True)), 1)

    def test_what_a_killed_server_left_to_nobody_is_cleared_away(self):
        server = self.server()
        server.text("rlm_exec", code="open('f', 'w').write('x')")
        place = self.place(server)
        server.process.kill()
        server.process.wait(DEADLINE)
        self.wait_gone(self.cells(server.process.pid))
        kept = self.server("--session", "kept")
        self.assertTrue(os.path.isdir(place))
        kept.text("rlm_exec", code="1")
        self.assertFalse(os.path.exists(place))
        self.assertFalse(os.path.exists(place + ".lock"))
        other = self.server()  # one that lives is left alone
        other.text("rlm_exec", code="x = 1")
        self.server().text("rlm_exec", code="1")
        self.assertEqual(other.text("rlm_exec", code="x"), "1")
        self.assertTrue(os.path.isdir(self.place(other)))

    def test_state_of_an_earlier_version_is_left_alone(self):
        top = "state/caisson/mcp/"
        old = [self.file(top + name, "old") for name in
               ("own/0123456789abcdef.main.snapshot", "own/0123456789abcdef.lock",
                "workspaces/0123456789abcdef.main/f", "forks/fedcba9876543210-1/room/files/f")]
        for folder, _, _ in os.walk(self.state):
            os.chmod(folder, 0o700)
        server = self.server("--session", "new")
        self.assertEqual(server.text("rlm_vars"), "(no variables)")
        self.assertEqual(server.end(), 0)
        for path in old:
            with open(path) as text:
                self.assertEqual(text.read(), "old", path)
