"""What a session puts in the way of a Python that the launcher looks at for others: the launcher is
confined by nothing."""
import os
import shlex
import subprocess
import sys
import time
import unittest

import harness
from harness import Server, ServerTest, wait_for
from test_hostile import make_venv

DATA = b"all that it has to say"


class Writer:
    """Somebody who waits for the reader of a pipe."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        code = f"import os; print('now', flush=True); os.write(os.open({path!r}, os.O_WRONLY), {DATA!r})"
        self.process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.process.stdout.readline()
        wait_for(self.sleeps, "the writer to wait in open()")

    def sleeps(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "S"

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def heard(self):
        """What it says to us, unless somebody has opened the pipe before."""
        data = b""
        with open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
            wait_for(lambda: self.process.poll() is not None, "the writer")
            data = pipe.read()
        return data


class PythonWay(ServerTest):
    WORDS = ()

    def setUp(self):
        self.top = os.path.join(self.server.top, self.id().rpartition(".")[2])
        self.work = os.path.join(self.top, "w")
        os.makedirs(self.work)
        self.evil = self.new(workspace=self.work)
        self.run_in_evil("import os; os.makedirs('/workspace/venv/bin')\n"
                         "os.symlink('/usr/bin/python3', '/workspace/venv/bin/python3')")
        self.python = os.path.join(self.work, "venv", "bin", "python3")

    def run_in_evil(self, code):
        self.assertEqual(self.exec(self.evil, code)["status"], "ok")

    def ask_for_it(self):
        """A session by that Python; whatever comes of it, it is over then."""
        answer = self.ask("POST", "/v1/sessions", {"python": self.python})
        if answer.status == 201:
            self.addCleanup(self.ask, "DELETE", f"/v1/sessions/{answer.json['name']}")
            self.assertEqual(answer.json["cell"], "own", answer)

    def test_a_link_in_place_of_its_settings_is_not_opened(self):
        for place in ("venv", "venv/bin"):
            with self.subTest(place):
                writer = Writer(os.path.join(self.top, "pipe-" + place.replace("/", "-")))
                self.addCleanup(writer.close)
                self.run_in_evil(f"os.symlink({writer.path!r}, '/workspace/{place}/pyvenv.cfg')")
                self.ask_for_it()
                self.assertTrue(writer.sleeps(), "somebody has opened the pipe")
                self.assertEqual(writer.heard(), DATA)

    def test_a_deep_way_to_it_holds_nobody(self):
        depth = (4000 - len(self.work)) // 2 - 10
        self.run_in_evil(f"""
os.chdir('/workspace'); os.mkdir('d'); os.chdir('d')
for _ in range({depth}): os.mkdir('e'); os.chdir('e')
os.symlink('/usr/bin/python3', 'p')
os.chdir('/workspace')
os.unlink('/workspace/venv/bin/python3')
os.symlink({self.work!r} + '/d' + '/e' * {depth} + '/p', '/workspace/venv/bin/python3')""")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.work + "/d"], check=False)
        before = time.monotonic()
        self.ask_for_it()
        self.new()
        # 80 s as root when each folder was looked up from the root on, for each folder above it.
        self.assertLess(time.monotonic() - before, 15)

    def test_links_without_end_hold_nobody(self):
        self.run_in_evil("os.unlink('/workspace/venv/bin/python3')\n"
                         "os.symlink('python3', '/workspace/venv/bin/python3')")
        self.ask_for_it()
        self.new()


@unittest.skipUnless(os.getuid() == 0, "mounts a folder")
class TwoNames(unittest.TestCase):
    """A folder that is mounted twice has two names, and what a session writes under the one is the
    other's."""

    def setUp(self):
        self.server = Server(start=False)
        self.addCleanup(self.server.close)
        self.python, self.alias = (os.path.join(self.server.top, name) for name in ("py", "alias"))
        self.packages = make_venv(self.python)
        os.mkdir(self.alias)
        os.chmod(self.server.top, 0o755)
        # Only the server and its cells have the second name.
        script = os.path.join(self.server.top, "server")
        with open(script, "w") as file:
            file.write("#!/bin/sh\nexec unshare -m sh -c 'mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"' sh "
                       f"{shlex.join([self.python, self.alias, harness.BINARY])} \"$@\"\n")
        os.chmod(script, 0o755)
        self.addCleanup(setattr, harness, "BINARY", harness.BINARY)
        harness.BINARY = script
        self.server.start()

    def new(self, **spec):
        answer = self.server.ask("POST", "/v1/sessions", spec)
        self.assertEqual(answer.status, 201, answer)
        return answer.json

    def test_a_python_that_a_session_writes_by_another_name_has_no_zygote(self):
        python = os.path.join(self.python, "bin", "python3")
        if self.new(python=python)["cell"] != "zygote":
            self.skipTest("no zygotes here")
        self.new(workspace=self.alias)
        made = self.new(python=python, preload=["json"])
        self.assertEqual(made["cell"], "own", made)
        self.assertIn("could write to its Python", " ".join(made["notes"]))
        self.assertEqual(self.new()["cell"], "zygote")  # others are as they were
