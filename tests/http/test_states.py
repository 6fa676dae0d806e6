"""Whose state is whose: it goes by what a server offers, and one server has it at a time."""
import errno
import json
import os
import signal
import unittest

import harness
from harness import Server
from intruder import AT_FDCWD, Intruder

O_RDONLY, O_WRONLY, O_CREAT = 0, 1, 0o100
BOMB = """
class Bomb:
    def __reduce__(self):
        return (exec, ("import os\\nif os.path.isdir('/h'): open('/h/found', 'w').close()",))
bomb = Bomb()
"""


class States(unittest.TestCase):
    def serve(self, *words, **more):
        server = Server(*words, **more)
        self.addCleanup(server.close)
        return server

    def new(self, server, name, **spec):
        made = server.ask("POST", "/v1/sessions", {"name": name, **spec})
        self.assertEqual(made.status, 201, made)

    def exec(self, server, name, code):
        answer = server.ask("POST", f"/v1/sessions/{name}/exec", {"code": code})
        self.assertEqual((answer.status, answer.json["status"]), (200, "ok"), answer)
        return answer.json

    def names(self, server):
        """All that are there, after those that come back have come."""
        return [each["name"] for each in server.ask("GET", "/v1/sessions").json["sessions"]]


class Offers(States):
    def test_what_one_offer_remembers_comes_back_under_no_other(self):
        """A server that was taken over writes what the next one reads: its own folder is its own."""
        server = self.serve("--mcp", "--api")
        private = os.path.join(server.home, "private")
        os.makedirs(private)
        policy = ["--mount", private + ":/h:rw"]
        refused = server.ask("POST", "/v1/sessions", {"name": "x", "policy": policy})
        self.assertEqual(refused.status, 403, refused)
        self.new(server, "x")
        self.exec(server, "x", BOMB)
        self.assertEqual(server.ask("DELETE", "/v1/sessions/x?save=1").status, 200)
        own = os.path.join(server.kept, "own")
        self.assertIn("x.snapshot", os.listdir(own))
        with open(os.path.join(own, "sessions.json"), "w") as out:
            json.dump({"sessions": [{"name": "x", "policy": policy}]}, out)
        server.stop(signal.SIGKILL)
        server.start()
        self.assertEqual(self.names(server), [])
        self.new(server, "x", policy=policy, resume=True)  # not even when it is asked for
        self.assertEqual(os.listdir(private), [])

    def test_the_same_offer_has_its_sessions_again(self):
        """The control: what was remembered is there, for who offers the same."""
        server = self.serve("--mcp")
        self.new(server, "kept")
        self.exec(server, "kept", "x = 42")
        self.assertEqual(server.stop(), 0)
        for words in ((), ("--mcp", "--python", "/usr/bin/python3"), ("--", "--env", "A=1")):
            server.start(*words)
            self.assertEqual(self.names(server), [], words)
            self.assertEqual(server.stop(), 0)
        server.start("--mcp", "--api", "--socket", server.socket)
        self.assertEqual(self.names(server), ["kept"])
        self.assertEqual(self.exec(server, "kept", "x")["value"]["text/plain"], "42")

    def test_nothing_of_another_offer_can_be_opened(self):
        server = self.serve()
        self.new(server, "free")
        other = server.kept
        self.assertEqual(server.stop(), 0)
        server.start("--mcp")
        self.assertNotEqual(server.kept, other)
        self.new(server, "bound")
        with Intruder(server.process.pid) as intruder:
            paths = [os.path.join(other, "own", name) for name in ("sessions.json", "free.snapshot")]
            answers = [intruder.call("openat", AT_FDCWD, path.encode(), how, 0o600)
                       for path in paths for how in (O_RDONLY, O_WRONLY)]
            answers += [intruder.call("openat", AT_FDCWD, (other + name).encode(),
                                      O_WRONLY | O_CREAT, 0o600) for name in ("/own/new", "/new")]
            self.assertEqual(answers, [-errno.EACCES] * 6)
            mine = os.path.join(server.kept, "own", "sessions.json").encode()
            self.assertGreaterEqual(intruder.call("openat", AT_FDCWD, mine, O_WRONLY), 0)


class OneServer(States):
    def beside(self, server):
        """Another one of the same user, with a socket of its own."""
        other = self.serve(top=server.top, start=False)
        folder = os.path.join(server.top, "second")
        os.makedirs(folder, mode=0o700)
        other.socket = os.path.join(folder, "x.sock")
        return other

    def test_two_servers_never_have_one_state(self):
        server = self.serve("--api")
        self.new(server, "mine")
        self.exec(server, "mine", "open('f', 'w').write('mine')")
        token = server.token
        other = self.beside(server)
        with self.assertRaises(AssertionError) as told:
            other.start("--api", "--socket", other.socket)
        self.assertEqual(other.process.wait(harness.DEADLINE), 125)
        for part in (server.socket, f"process {server.process.pid} ", "hint: "):
            self.assertIn(part, str(told.exception))
        self.assertEqual(server.token, token)
        self.assertEqual(self.exec(server, "mine", "open('f').read()")["value"]["text/plain"],
                         "'mine'")

    def test_with_another_offer_there_is_another_state_and_another_token(self):
        server = self.serve("--api")
        self.new(server, "mine")
        token = server.token
        other = self.beside(server)
        other.start("--api", "--python", "python3", "--socket", other.socket)
        self.assertEqual(self.names(other), [])
        self.new(other, "mine")
        self.exec(other, "mine", "open('f', 'w').write('of the other')")
        self.assertEqual(other.ask("DELETE", "/v1/sessions/mine").status, 200)
        self.exec(server, "mine", "1")
        self.assertEqual(server.token, token)
        self.assertNotEqual(other.token, token)

    def test_who_is_gone_has_nothing(self):
        server = self.serve()
        for how in (signal.SIGTERM, signal.SIGKILL):
            server.stop(how)
            server.start()  # at once
        self.new(server, "one")

    def test_state_of_an_earlier_version_is_left_alone(self):
        server = self.serve(start=False)
        old = {"own/sessions.json": '{"sessions":[{"name":"old"}]}', "own/old.snapshot": "x",
               "workspaces/old/f": "mine", "api-token": "of before"}
        for name, text in old.items():
            path = os.path.join(server.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as out:
                out.write(text)
        for folder, _, _ in os.walk(server.state):
            os.chmod(folder, 0o700)
        server.start("--api")
        self.assertEqual(self.names(server), [])
        self.new(server, "old")
        self.assertEqual(server.stop(), 0)
        for name, text in old.items():
            with open(os.path.join(server.folder, name)) as kept:
                self.assertEqual(kept.read(), text, name)
