"""What the tests share: caisson run in `near` with a deadline, and what it told."""
import hashlib
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import servers
import world as world_of

WORLD = None
IDENTITY = None
MUTANT = None
DEADLINE = 30      # seconds, of anything
QUICKLY = 3        # seconds, in which a refusal must be told
TEXT, PYTHON = servers.TEXT, servers.PYTHON
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WITHOUT_PROXIES = ["env", "-u", "http_proxy", "-u", "https_proxy", "-u", "HTTP_PROXY", "-u",
                   "HTTPS_PROXY"]
INSIDE = "/inside"  # where a cell finds the clients


def use_world(world):
    global WORLD
    WORLD = world


def use_mutant(name):
    """The control that caisson is to do without, of a binary that can; None: none."""
    global MUTANT
    MUTANT = name


def use_identity(name):
    """"root" or "user": who runs caisson from here on."""
    global IDENTITY
    IDENTITY = name


class Ended:
    """How one cell ended: its result object, and what caisson itself said."""

    def __init__(self, code, out, err, seconds):
        self.exit, self.said, self.seconds = code, err.decode("utf-8", "replace"), seconds
        try:
            self.result = json.loads(out)
        except ValueError:
            raise AssertionError(f"no result object: exit {code}, {out[-500:]!r}, {err[-2000:]!r}")
        self.code = self.result["returncode"]
        self.out, self.err = self.result.get("stdout", ""), self.result.get("stderr", "")
        self.denials = self.result.get("denials", [])
        self.usage = self.result.get("usage", {})

    def __repr__(self):
        return (f"exit {self.code} after {self.seconds:.2f} s\nstdout: {self.out[-600:]!r}\n"
                f"stderr: {self.err[-1500:]!r}\ndenials: {self.denials}\n"
                f"caisson: {self.result.get('status')}, {self.result.get('reason')} "
                f"{self.result.get('error')} {self.said[-1500:]!r}")


class Running:
    """A cell that still runs. `ask` gives its input a line and takes a line of its output."""

    def __init__(self, child):
        self.child, self.err, self.lines = child, [], queue.SimpleQueue()
        for target in (self.keep_errors, self.keep_lines):
            threading.Thread(target=target, daemon=True).start()

    def keep_errors(self):
        for line in self.child.stderr:
            self.err.append(line)

    def keep_lines(self):
        for line in self.child.stdout:
            self.lines.put(line.decode("utf-8", "replace").rstrip("\n"))
        self.lines.put("")

    def line(self, within=DEADLINE):
        """The next line of its output; "" when it has ended."""
        try:
            return self.lines.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"not a line in {within} s; it said {self.err[-5:]}") from None

    def ask(self, text, within=DEADLINE):
        self.child.stdin.write(text.encode() + b"\n")
        self.child.stdin.flush()
        return self.line(within)

    def finish(self):
        """Closes its input and waits; the exit code."""
        self.child.stdin.close()
        return self.child.wait(timeout=DEADLINE)


class GatewayTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.world = WORLD
        self.uid = 0 if IDENTITY == "root" else world_of.ORDINARY_USER
        self.top = tempfile.mkdtemp(prefix="test-", dir=self.world.folder)
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        for name in ("", "home", "project"):
            os.makedirs(os.path.join(self.top, name), exist_ok=True)
            os.chown(os.path.join(self.top, name), self.uid, self.uid)
        self.project = os.path.join(self.top, "project")
        self.env = {"PATH": SYSTEM_PATH, "HOME": os.path.join(self.top, "home"),
                    "LANG": "C.UTF-8"}
        if MUTANT:
            self.env["CAISSON_MUTANT"] = MUTANT
        self.hits_before = {port: one.hits() for port, one in self.world.canaries.items()}

    # -- files --------------------------------------------------------------------------------

    def copy(self, name, mode=0o600):
        """A file of the world as this identity's own."""
        path = shutil.copy(self.world.path(name), os.path.join(self.top, name))
        os.chown(path, self.uid, self.uid)
        os.chmod(path, mode)
        return path

    def digest(self, name):
        """SHA-256 of a file of the web server."""
        with open(self.world.path("site", name), "rb") as data:
            return hashlib.sha256(data.read()).hexdigest()

    def log(self, name):
        try:
            with open(self.world.path(name), encoding="utf-8", errors="replace") as text:
                return text.read()
        except FileNotFoundError:
            return ""

    # -- caisson ------------------------------------------------------------------------------

    def popen(self, words, env=None, through=(), **how):
        """`through`: a program that runs it. (Not preexec_fn: there are threads here, and a fork of
        one can wait for a lock that another had.)"""
        env = {**self.env, **(env or {})}
        return subprocess.Popen([*through, self.world.binary, "exec", *words], env=env, cwd=self.project,
                                user=self.uid, group=self.uid, extra_groups=[], umask=0o022,
                                start_new_session=True, **how)

    def cell(self, flags, command, env=None, stdin=b"", deadline=DEADLINE, **how):
        """Runs one cell to its end."""
        began = time.monotonic()
        child = self.popen(["--json-output", *self.clients(), *flags, "--", *command], env=env,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           **how)
        try:
            out, err = child.communicate(stdin, timeout=deadline)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate(timeout=DEADLINE)
            self.fail(f"not over after {deadline} s: {command}\n{out[-500:]!r}\n{err[-1500:]!r}")
        return Ended(child.returncode, out, err, time.monotonic() - began)

    def start(self, flags, command, env=None, **how):
        """Starts one cell and leaves it running; it ends with the test."""
        child = self.popen([*self.clients(), *flags, "--", *command], env=env,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           **how)

        def put_away():
            if child.poll() is None:
                child.kill()
            child.wait()
            child.stdin.close()
        self.addCleanup(put_away)
        return Running(child)

    def clients(self):
        return ["--mount", f"{self.world.path('inside')}:{INSIDE}"]

    @staticmethod
    def children(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as pids:
            return [int(child) for child in pids.read().split()]

    def script(self, flags, name, *words, **how):
        """Runs a Python script of tests/gateway/inside in a cell."""
        return self.cell(flags, [PYTHON, f"{INSIDE}/{name}", *words], **how)

    # -- what must hold -----------------------------------------------------------------------

    def assert_works(self, ended, output=None):
        self.assertEqual(ended.code, 0, ended)
        if output is not None and ended.out != output:
            self.fail(f"{len(ended.out)} characters of output and not the {len(output)} right "
                      f"ones\n{ended}")

    def assert_told(self, ended, resource, allow=None):
        """A denial names `resource`, and says how to allow it."""
        told = [one for one in ended.denials if resource in one["resource"]]
        self.assertTrue(told, f"no denial of {resource}\n{ended}")
        if allow is not None:
            self.assertIn(allow, "\n".join(one["how_to_allow"] for one in told), ended)

    def assert_quick(self, ended):
        """With a client's own start in it."""
        self.assertLess(ended.seconds, QUICKLY, ended)

    def assert_refused(self, ended, resource, allow=None):
        self.assertNotEqual(ended.code, 0, ended)
        self.assert_told(ended, resource, allow)
        self.assert_quick(ended)

    def assert_no_canary_hit(self):
        for port, canary in self.world.canaries.items():
            self.assertEqual(canary.hits(), self.hits_before[port],
                             f"near's own port {port} was hit")


