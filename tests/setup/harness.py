"""What the tests share: a home and a project per test, and caisson run in them."""
import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

BINARY = None
DEADLINE = 30
NAME = "rlm"


def use_binary(path):
    global BINARY
    BINARY = os.path.realpath(path)
    if not os.access(BINARY, os.X_OK):
        raise SystemExit(f"{path} is not a program")


def snapshot(folder):
    """{path: (mode, content or link target)} of everything below."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(top, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                content = os.readlink(path)
            elif stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    content = file.read()
            else:
                content = None
            found[os.path.relpath(path, folder)] = (mode, content)
    return found


class SetupTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="caisson-setup-"))
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.home, self.project, self.state, self.bin = (
            self.folder(name) for name in ("home", "project", "state", "bin"))
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8",
                    "XDG_STATE_HOME": self.state}

    def folder(self, name):
        path = os.path.join(self.top, name)
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, path, text, mode=0o644):
        """A path below the test's own folder."""
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def read(self, path):
        with open(os.path.join(self.top, path), newline="") as file:
            return file.read()

    def json(self, path):
        return json.loads(self.read(path))

    def there(self, path):
        return os.path.lexists(os.path.join(self.top, path))

    def caisson(self, *words, env=None, cwd=None):
        return subprocess.run([BINARY, *words], env={**self.env, **(env or {})},
                              cwd=cwd or self.project, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE)

    def ok(self, *words, **how):
        ended = self.caisson(*words, **how)
        self.assertEqual(ended.returncode, 0, ended)
        return ended

    def ok_json(self, *words, **how):
        return json.loads(self.ok(*words, "--json", **how).stdout)

    def refused(self, *words, part, **how):
        """One line that names the thing, one that says what to do; nothing is touched."""
        before = snapshot(self.top)
        ended = self.caisson(*words, **how)
        self.assertEqual((ended.returncode, ended.stdout), (125, ""), ended)
        lines = ended.stderr.splitlines()
        self.assertEqual(len(lines), 2, ended)
        self.assertTrue(lines[0].startswith("caisson: "), ended)
        self.assertTrue(lines[1].startswith("hint: "), ended)
        self.assertIn(part, ended.stderr)
        self.assertEqual(snapshot(self.top), before)
        return ended
