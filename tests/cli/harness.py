"""What the tests share: folders of their own, and caisson run in them with a deadline."""
import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

BINARY = None
DEADLINE = 30  # seconds; nothing here takes long, so that a hang is told as one
IS_ROOT = os.getuid() == 0
PYTHON = "/usr/bin/python3"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def use_binary(path):
    global BINARY
    BINARY = os.path.realpath(path)
    if not os.access(BINARY, os.X_OK):
        raise SystemExit(f"{path} is not a program")


class Ended:
    """How a run of caisson ended, with text where the bytes are text."""

    def __init__(self, code, out, err):
        self.code, self.out_bytes, self.err_bytes = code, out, err
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out[-2000:]!r}\nstderr: {self.err[-2000:]!r}"

    @property
    def json(self):
        return json.loads(self.out)


class CliTest(unittest.TestCase):
    """Each test has a home folder, a state folder and a project folder, and starts in the last."""

    maxDiff = None

    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="caisson-cli-"))
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.home, self.state, self.project = (
            self.folder(name) for name in ("home", "state", "project"))
        self.env = {"PATH": SYSTEM_PATH, "HOME": self.home, "XDG_STATE_HOME": self.state,
                    "LANG": "C.UTF-8", "TERM": "xterm"}
        self.audit = os.path.join(self.state, "caisson", "audit.jsonl")

    def folder(self, name):
        path = os.path.join(self.top, name)
        os.makedirs(path, exist_ok=True)
        return path

    def file(self, name, text, mode=0o644):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
        os.chmod(path, mode)
        return path

    def read(self, path):
        with open(path) as text:
            return text.read()

    def environment(self, more=None):
        """The tests' environment with `more` on top; a value of None takes a variable away."""
        env = {**self.env, **(more or {})}
        return {name: value for name, value in env.items() if value is not None}

    def caisson(self, *words, env=None, cwd=None, stdin=b"", deadline=DEADLINE, **popen):
        """Runs caisson to its end. `stdin` is bytes, or whatever Popen takes."""
        feed = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        done = subprocess.run([BINARY, *words], env=self.environment(env),
                              cwd=cwd or self.project, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=deadline, **feed, **popen)
        return Ended(done.returncode, done.stdout, done.stderr)

    def exec(self, *words, **how):
        return self.caisson("exec", *words, **how)

    def exec_ok(self, *words, **how):
        ended = self.exec(*words, **how)
        self.assertEqual(ended.code, 0, ended)
        return ended

    def exec_json(self, *words, **how):
        """The result object; the exit code is checked against it."""
        ended = self.exec("--json-output", *words, **how)
        self.assertEqual(ended.out.count("\n"), 1, ended)
        result = ended.json
        self.assertEqual(result["returncode"], ended.code, ended)
        self.assertEqual(result["success"], ended.code == 0, ended)
        return result

    def start(self, *words, env=None, cwd=None, **popen):
        """Starts caisson and leaves it running; it is ended with the test."""
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        child = subprocess.Popen([BINARY, *words], env=self.environment(env),
                                 cwd=cwd or self.project, **popen)
        self.addCleanup(self.put_away, child)
        return child

    def put_away(self, child):
        if child.poll() is None:
            child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream:
                stream.close()

    def finish(self, child, deadline=DEADLINE):
        out, err = child.communicate(timeout=deadline)
        return Ended(child.returncode, out or b"", err or b"")

    def wait_for(self, condition, what, deadline=DEADLINE):
        """Polls until `condition()` is true: for states that nobody announces."""
        end = time.monotonic() + deadline
        while not (value := condition()):
            if time.monotonic() > end:
                self.fail(f"waited {deadline} s for {what}")
            time.sleep(0.01)
        return value

    def events(self):
        """The record, line by line."""
        if not os.path.exists(self.audit):
            return []
        with open(self.audit) as lines:
            return [json.loads(line) for line in lines]

    def assert_refused(self, ended, *parts, code=125, hint=True):
        """One line that names the thing, one line that says what to do, and nothing else."""
        self.assertEqual(ended.code, code, ended)
        self.assertEqual(ended.out, "", ended)
        lines = ended.err.splitlines()
        self.assertTrue(lines and lines[0].startswith("caisson: "), ended)
        self.assertEqual(len(lines), 2 if hint else 1, ended)
        if hint:
            self.assertRegex(lines[1], r"^hint: \S", ended)
        for part in parts:
            self.assertIn(part, ended.err, ended)

    def assert_network_granted(self, said, origin):
        """Before Linux 6.12 the host's abstract sockets come with it, and that is told, too."""
        granted, *more = said.splitlines()
        self.assertEqual(granted, f"caisson: granted: network ({origin})")
        scopes = ctypes.CDLL(None).syscall(444, None, 0, 1) >= 6  # landlock_create_ruleset: which ABI
        self.assertEqual(len(more), 0 if scopes else 1, more)
        for line in more:
            self.assertIn("weaker: network: with the host's network come its abstract sockets", line)

    def assert_nothing_left(self):
        """An error before the start leaves no record and no file."""
        self.assertEqual(os.listdir(self.state), [])
        self.assertEqual(os.listdir(self.home), [])
