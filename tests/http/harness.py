"""What the tests share: a server of their own, and clients that say exactly what they are told to."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

BINARY = None
DEADLINE = 30  # seconds; nothing here takes long, so that a hang is told as one
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
JSON = {"Content-Type": "application/json"}


def use_binary(path):
    global BINARY
    BINARY = os.path.realpath(path)
    if not os.access(BINARY, os.X_OK):
        raise SystemExit(f"{path} is not a program")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers}\n{self.body[:2000]!r}"


class Server:
    """`caisson serve` in folders of its own."""

    def __init__(self, *words, top=None, env=None, start=True):
        self.top = top or os.path.realpath(tempfile.mkdtemp(prefix="caisson-http-"))
        self.made = top is None
        self.home, self.state, self.project = (
            os.path.join(self.top, name) for name in ("home", "state", "project"))
        for folder in (self.home, self.state, self.project):
            os.makedirs(folder, exist_ok=True)
        self.env = {"PATH": SYSTEM_PATH, "HOME": self.home, "XDG_STATE_HOME": self.state,
                    "LANG": "C.UTF-8", "TERM": "xterm", **(env or {})}
        if "CAISSON_MUTANT" in os.environ:
            self.env["CAISSON_MUTANT"] = os.environ["CAISSON_MUTANT"]
        self.folder = os.path.join(self.state, "caisson", "serve")
        self.socket = os.path.join(self.folder, "serve.sock")
        self.process, self.lines, self.ports = None, [], []
        if start:
            self.start(*words)

    def start(self, *words):
        self.lines, self.ports = [], []
        read, write = os.pipe()
        self.process = subprocess.Popen(
            [BINARY, "serve", "--ready-fd", str(write), *words], env=self.env, cwd=self.project,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(self.top, "stderr"), "ab"), pass_fds=[write])
        os.close(write)
        with os.fdopen(read) as ready:
            word = ready.read()
        self.lines = open(os.path.join(self.top, "stderr")).read().splitlines()
        if word != "ready\n":
            raise AssertionError(f"caisson serve did not start: {self.lines}")
        self.ports = [int(line.rsplit(":", 1)[1]) for line in self.lines
                      if "serving on http://" in line]

    @property
    def kept(self):
        """The state folder of what it offers: the lock beside it says who has it."""
        for name in os.listdir(self.folder):
            if name.endswith(".lock"):
                with open(os.path.join(self.folder, name)) as note:
                    if note.read().split(" ")[0] == str(self.process.pid):
                        return os.path.join(self.folder, name[:-len(".lock")])
        raise AssertionError(f"no state folder of {self.process.pid}: {os.listdir(self.folder)}")

    @property
    def token(self):
        with open(os.path.join(self.kept, "api-token")) as text:
            return text.read().strip()

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
        if self.process:
            self.process.wait(timeout=DEADLINE)
        return self.process.returncode if self.process else None

    def close(self):
        try:
            self.stop()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.made:
            shutil.rmtree(self.top, ignore_errors=True)

    def connection(self):
        return UnixConnection(self.socket)

    def tcp(self, which=0):
        return http.client.HTTPConnection("127.0.0.1", self.ports[which], timeout=DEADLINE)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """One request over the unix socket, or over a connection that is given. A dict is JSON."""
        own = connection is None
        connection = connection or self.connection()
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        answer = Answer(response.status, dict(response.getheaders()), response.read())
        if own:
            connection.close()
        return answer

    def raw(self, data, which=0, half_close=False):
        """Bytes as they are over TCP; all that comes back until the server ends."""
        with socket.create_connection(("127.0.0.1", self.ports[which]), timeout=DEADLINE) as sock:
            sock.sendall(data)
            if half_close:
                sock.shutdown(socket.SHUT_WR)
            got = b""
            while True:
                try:
                    piece = sock.recv(65536)
                except ConnectionResetError:
                    break
                if not piece:
                    break
                got += piece
            return got

    def events(self, session, body, connection=None):
        """Server-sent events of an exec, one by one."""
        connection = connection or self.connection()
        connection.request("POST", f"/v1/sessions/{session}/exec", body=json.dumps(body).encode(),
                           headers={**JSON, "Accept": "text/event-stream"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        name = None
        while line := response.readline():
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])
        connection.close()

    def cli(self, *words, stdin=b"", deadline=DEADLINE, **popen):
        done = subprocess.run([BINARY, "session", *words], env=self.env, cwd=self.project,
                              input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=deadline, **popen)
        return Ended(done.returncode, done.stdout, done.stderr)


class Ended:
    def __init__(self, code, out, err):
        self.code = code
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out[-2000:]!r}\nstderr: {self.err[-2000:]!r}"


class ServerTest(unittest.TestCase):
    """One server for all tests of a class."""

    WORDS = ("--api",)
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.WORDS)
        cls.addClassCleanup(cls.server.close)

    def ask(self, method, path, body=None, **more):
        return self.server.ask(method, path, body, **more)

    def ok(self, method, path, body=None, status=200, **more):
        answer = self.ask(method, path, body, **more)
        self.assertEqual(answer.status, status, answer)
        return answer

    def new(self, name=None, **spec):
        if name:
            spec["name"] = name
        made = self.ok("POST", "/v1/sessions", spec, status=201).json
        self.addCleanup(self.ask, "DELETE", f"/v1/sessions/{made['name']}")
        return made["name"]

    def exec(self, session, code, **more):
        return self.ok("POST", f"/v1/sessions/{session}/exec", {"code": code, **more}).json

    def assert_refused(self, answer, status, *parts):
        self.assertEqual(answer.status, status, answer)
        error = answer.json["error"]
        self.assertTrue(error["what"], answer)
        for part in parts:
            self.assertIn(part, json.dumps(error), answer)


def processes_with(text):
    """Processes whose environment or command line has this text."""
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        for part in ("cmdline", "environ"):
            try:
                with open(f"/proc/{pid}/{part}", "rb") as content:
                    if text.encode() in content.read():
                        found.append(int(pid))
                        break
            except OSError:
                continue
    return [pid for pid in found if pid != os.getpid()]


def wait_for(condition, what, deadline=DEADLINE):
    end = time.monotonic() + deadline
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline} s for {what}")
        time.sleep(0.01)
    return value
