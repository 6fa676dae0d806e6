"""What code in a session, or another user, does to the server and to other sessions."""
import fcntl
import glob
import http.client
import json
import os
import select
import socket
import subprocess
import time
import unittest

import harness
from harness import Server, ServerTest, wait_for

OWN = ["--env", "A=1"]  # a policy of its own: a cell of its own

# In a zygote, before anything confines a fork: notes what is to be seen there after each fork.
HOOK = """
import os
def look():
    seen = []
    for top, folders, files in os.walk('/workspace'):
        for name in files:
            try:
                seen.append(open(os.path.join(top, name)).read())
            except OSError:
                pass
    with open('/workspace/LOOT', 'a') as file:
        file.write(repr(seen))
if 'zygote' in open('/proc/self/cmdline').read():
    import signal
    signal.signal(signal.SIGALRM, lambda *_: look())
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
"""

TREE = """
import os
os.makedirs('wide')
for number in range(400):
    open('wide/%d' % number, 'w').close()
for number in range(200):
    os.mkdir('deep'); os.chdir('deep')
os.chdir('/workspace')
os.makedirs('locked/inside')
open('locked/inside/f', 'w').write('old')
os.chmod('locked/inside', 0)
os.chmod('locked', 0)
"""


def make_venv(path):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", path], check=True,
                   stdout=subprocess.DEVNULL)
    return glob.glob(os.path.join(path, "lib", "python3*", "site-packages"))[0]


class Pythons(ServerTest):
    WORDS = ()

    def loot(self):
        found = glob.glob(os.path.join(self.server.kept, "forks", "**", "LOOT"), recursive=True)
        return " ".join(open(path).read() for path in found)

    def test_one_that_a_session_could_write_has_no_zygote(self):
        folder = os.path.join(self.server.home, "project")
        os.makedirs(folder)
        venv = os.path.join(folder, ".venv")
        inside = os.path.relpath(make_venv(venv), folder)
        python = os.path.join(venv, "bin", "python3")
        name = self.new(python=python)
        if self.ok("GET", f"/v1/sessions/{name}").json["cell"] != "zygote":
            self.skipTest("no zygotes here")
        evil = self.new(workspace=folder)
        answer = self.exec(evil, f"for name, text in (('x.pth', 'import hook'), ('hook.py', {HOOK!r})):\n"
                                 f"  open('/workspace/{inside}/' + name, 'w').write(text)")
        self.assertEqual(answer["status"], "ok", answer)
        for word in (python, os.path.join(folder, ".venv", "bin", "..", "bin", "python3")):
            made = self.ok("POST", "/v1/sessions", {"python": word}, status=201).json
            self.addCleanup(self.ask, "DELETE", f"/v1/sessions/{made['name']}")
            self.assertEqual(made["cell"], "own", made)
            self.assertIn("could write to its Python", " ".join(made["notes"]))
        # Others are as they were.
        other = self.ok("GET", f"/v1/sessions/{self.new()}").json
        self.assertEqual(other["cell"], "zygote", other)

    def test_a_zygote_has_the_files_of_its_own_forks_only(self):
        """Whatever comes with a Python runs in its zygote; the sessions of others are not there."""
        venv = os.path.join(self.server.home, "tools", "venv")
        os.makedirs(os.path.dirname(venv))
        packages = make_venv(venv)
        for name, text in (("x.pth", "import hook\n"), ("hook.py", HOOK)):
            with open(os.path.join(packages, name), "w") as file:
                file.write(text)
        other = self.new()
        self.exec(other, "open('/workspace/f', 'w').write('SECRET of another')")
        if self.ok("GET", f"/v1/sessions/{other}").json["cell"] != "zygote":
            self.skipTest("no zygotes here")
        mine = self.new(python=os.path.join(venv, "bin", "python3"))
        self.exec(mine, "open('/workspace/f', 'w').write('OWN')")
        self.new(python=os.path.join(venv, "bin", "python3"))
        self.new(python=os.path.join(venv, "bin", "python3"))
        wait_for(lambda: "OWN" in self.loot(), "the hook to see its own")
        self.assertNotIn("SECRET", self.loot())


class Leavings(ServerTest):
    """The files of sessions that have ended."""
    WORDS = ()

    def trash(self):
        return os.path.join(self.server.folder, "trash")

    def left(self):
        return os.listdir(self.trash()) if os.path.isdir(self.trash()) else []

    def forks(self):
        return glob.glob(os.path.join(self.server.kept, "forks", "**", "wide"), recursive=True)

    def test_large_trees_are_removed_by_another_process(self):
        os.makedirs(self.trash(), mode=0o700, exist_ok=True)
        for policy in ([], OWN):
            with self.subTest(policy=policy):
                lock = os.open(self.trash(), os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX)  # as if one were at work: none is started
                    self.leave_tree(policy)
                    # The most of the tree is still to be removed, and others are served.
                    wait_for(self.left, "the tree in the trash")
                    count = sum(len(files) for _, _, files in os.walk(self.trash()))
                    self.assertGreater(count, 300)
                    self.assertEqual(self.forks(), [])
                finally:
                    os.close(lock)
                # The next that leaves something behind starts the process.
                self.leave_tree(policy)
                wait_for(lambda: not self.left(), "an empty trash")

    def leave_tree(self, policy):
        name = self.ok("POST", "/v1/sessions", {"policy": policy}, status=201).json["name"]
        listed = self.exec(name, "__import__('os').listdir('/workspace')")
        self.assertEqual(listed["value"]["text/plain"], "[]", listed)
        self.assertEqual(self.exec(name, TREE)["status"], "ok")
        self.ok("DELETE", f"/v1/sessions/{name}")

    def test_a_server_empties_what_is_left(self):
        server = Server()
        self.addCleanup(server.close)
        trash = os.path.join(server.folder, "trash")
        os.makedirs(os.path.join(trash, "x", "deep"), mode=0o700)
        os.chmod(trash, 0o700)
        answer = server.ask("POST", "/v1/sessions", {"name": "first"})
        self.assertEqual(answer.status, 201, answer)
        wait_for(lambda: not os.listdir(trash), "an empty trash")

    def test_nothing_of_an_ended_session_is_in_the_next_one_of_that_name(self):
        name = self.new("again", policy=OWN)
        self.exec(name, "import os; os.mkdir('d'); open('d/f', 'w').write('old'); os.chmod('d', 0)")
        self.ok("DELETE", "/v1/sessions/again")
        name = self.new("again", policy=OWN)
        listed = self.exec(name, "import os; os.listdir('/workspace')")
        self.assertEqual(listed["value"]["text/plain"], "[]", listed)

    def test_nor_of_one_that_died(self):
        name = self.new("dead", policy=OWN)
        answer = self.exec(name, "open('f', 'w').write('of the dead')\n"
                                 "import os, signal, time\n"
                                 "os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)")
        self.assertEqual(answer["status"], "lost", answer)
        name = self.new("dead", policy=OWN)
        listed = self.exec(name, "import os; os.listdir('/workspace')")
        self.assertEqual(listed["value"]["text/plain"], "[]", listed)


class Places(ServerTest):
    """Connections that say nothing."""

    PLACES = 256

    def setUp(self):
        super().setUp()
        self.held = select.poll()
        self.count = 0

    def hold(self, count):
        """Until the server has taken up all of them: those that found no place were closed."""
        for _ in range(count):
            held = socket.create_connection(("127.0.0.1", self.server.ports[0]),
                                            timeout=harness.DEADLINE)
            self.addCleanup(held.close)
            self.held.register(held, select.POLLIN)
        self.count += count
        until = time.monotonic() + harness.DEADLINE
        while len(self.held.poll(0)) < self.count - self.PLACES:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)

    def status(self, **how):
        """Of an answer, or None when there is none."""
        try:
            return self.ask("GET", "/health", **how).status
        except (OSError, http.client.HTTPException):
            return None

    def test_silent_ones_hold_no_place_of_others(self):
        self.hold(300)
        self.assertEqual(self.status(), 200)  # by the unix socket
        # With the token, by the port that is full.
        token = {"Authorization": f"Bearer {self.server.token}"}
        connection = self.server.tcp()
        self.addCleanup(connection.close)
        self.assertEqual(self.status(connection=connection, headers=token), 200)
        # One that has a right to be there is not sent away by those who have none.
        self.hold(300)
        self.assertEqual(self.status(connection=connection, headers=token), 200)


class Returns(unittest.TestCase):
    def test_a_snapshot_that_never_loads_keeps_nobody(self):
        server = Server()
        self.addCleanup(server.close)
        for name in ("bad", "good"):
            self.assertEqual(server.ask("POST", "/v1/sessions", {"name": name}).status, 201)
        code = "import time\nclass R:\n  def __reduce__(self): return (time.sleep, (1000,))\nx = R()"
        self.assertEqual(self.exec(server, "bad", code)["status"], "ok")
        self.assertEqual(self.exec(server, "good", "x = 42")["status"], "ok")
        self.assertEqual(server.stop(), 0)
        server.start()
        # It serves while the one is still coming; its name is taken, and it is not forgotten.
        self.assertEqual(self.exec(server, "good", "x")["value"]["text/plain"], "42")
        again = server.ask("POST", "/v1/sessions", {"name": "bad"})
        self.assertEqual(again.status, 409, again)
        other = server.ask("POST", "/v1/sessions", {"name": "other"})
        self.assertEqual(other.status, 201, other)
        server.stop()
        with open(os.path.join(server.kept, "own", "sessions.json")) as file:
            names = [each["name"] for each in json.load(file)["sessions"]]
        self.assertEqual(sorted(names), ["bad", "good", "other"])

    def exec(self, server, name, code):
        answer = server.ask("POST", f"/v1/sessions/{name}/exec", {"code": code})
        self.assertEqual(answer.status, 200, answer)
        return answer.json


class Loading(ServerTest):
    def test_what_is_of_the_kernel_or_of_caisson_is_not_loaded(self):
        name = self.new()
        workspace = self.ok("GET", f"/v1/sessions/{name}").json["workspace"]
        token = os.path.join(self.server.kept, "api-token")
        self.exec(name, "open('/workspace/own', 'w').write('mine')")
        other = self.new()
        self.exec(other, "open('/workspace/other', 'w').write('theirs')")
        theirs = self.ok("GET", f"/v1/sessions/{other}").json["workspace"]
        link = os.path.join(self.server.home, "link")
        os.symlink(token, link)
        for path in (token, link, self.server.folder, os.path.join(theirs, "other"),
                     "/proc/self/environ", "/proc/self/status", "/proc/version",
                     "/sys/kernel/mm/transparent_hugepage/enabled"):
            with self.subTest(path):
                answer = self.ask("POST", f"/v1/sessions/{name}/load", {"path": path, "name": "x"})
                self.assertGreaterEqual(answer.status, 400, answer)
                self.assertNotIn("Invalid argument", answer.json["error"]["what"])
        # The session's own files lie there as well.
        answer = self.ask("POST", f"/v1/sessions/{name}/load",
                          {"path": os.path.join(workspace, "own"), "name": "x"})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.exec(name, "x")["value"]["text/plain"], "'mine'")
