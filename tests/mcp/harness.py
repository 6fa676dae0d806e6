"""A client of `caisson mcp` over stdio, in either dialect, with a deadline on everything."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import unittest

BINARY = None
FIXTURES = None  # the program mcp_fixtures
MUTANT = {}
DEADLINE = 30  # seconds; nothing here takes long, so that a hang is told as one
IS_ROOT = os.getuid() == 0
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}


def use_binary(path):
    global BINARY
    BINARY = os.path.realpath(path)
    if not os.access(BINARY, os.X_OK):
        raise SystemExit(f"{path} is not a program")


def use_mutant(name):
    """The control that servers are started without, or None."""
    global MUTANT
    MUTANT = {"CAISSON_MUTANT": name} if name else {}


def without_notes(text):
    """What the code said, without what the session says about itself."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("[note] "))


class Server:
    """One `caisson mcp`, and what it has said that nobody has asked for yet."""

    def __init__(self, words, env, cwd):
        self.process = subprocess.Popen([BINARY, "mcp", *words], env=env, cwd=cwd,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.buffer = b""
        self.pending = []
        self.count = 0

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def read(self, deadline=DEADLINE):
        """The next message, whatever it is."""
        end = time.monotonic() + deadline
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"no message within {deadline} s; so far {self.buffer!r}")
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                raise AssertionError("the server ended: %r" % self.process.stderr.read())
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def wait_for(self, wanted, deadline=DEADLINE):
        """The first message that `wanted` takes; others stay in `pending`."""
        for i, message in enumerate(self.pending):
            if wanted(message):
                return self.pending.pop(i)
        while True:
            message = self.read(deadline)
            if wanted(message):
                return message
            self.pending.append(message)

    def answer(self, request, deadline=DEADLINE):
        return self.wait_for(lambda m: "method" not in m and m.get("id") == request, deadline)

    def start(self, method, params=None, **more):
        """Sends a request and returns its id."""
        self.count += 1
        self.send({"jsonrpc": "2.0", "id": self.count, "method": method,
                   "params": params or {}, **more})
        return self.count

    def request(self, method, params=None):
        return self.answer(self.start(method, params))

    def modern(self, method, params=None, meta=None):
        return self.request(method, {**(params or {}), "_meta": {**META, **(meta or {})}})

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def initialize(self, version="2025-11-25"):
        answer = self.request("initialize", {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"}})
        self.notify("notifications/initialized")
        return answer["result"]

    def start_call(self, tool, token=None, **arguments):
        params = {"name": tool, "arguments": arguments}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        return self.start("tools/call", params)

    def call(self, tool, **arguments):
        """The result of a tool's call."""
        answer = self.answer(self.start_call(tool, **arguments))
        if "result" not in answer:
            raise AssertionError(answer)
        return answer["result"]

    def text(self, tool, **arguments):
        """The text of a call that went well."""
        result = self.call(tool, **arguments)
        if result.get("isError"):
            raise AssertionError(result)
        return "".join(b["text"] for b in result["content"] if b["type"] == "text")

    def fails(self, tool, **arguments):
        """The text of a call that did not."""
        result = self.call(tool, **arguments)
        if not result.get("isError"):
            raise AssertionError(result)
        return "".join(b["text"] for b in result["content"] if b["type"] == "text")

    def end(self, deadline=DEADLINE):
        """EOF; returns the exit code."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.process.wait(deadline)

    def put_away(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


class McpTest(unittest.TestCase):
    """Each test has a home, a state and a project folder of its own, and a conversation's id."""

    maxDiff = None

    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="caisson-mcp-"))
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.home, self.state, self.project = (
            self.folder(name) for name in ("home", "state", "project"))
        self.env = {"PATH": SYSTEM_PATH, "HOME": self.home, "XDG_STATE_HOME": self.state,
                    "LANG": "C.UTF-8"}

    def folder(self, name):
        path = os.path.join(self.top, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def file(self, name, data):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data if isinstance(data, bytes) else data.encode())
        return path

    def server(self, *words, env=None, initialize=True):
        started = Server(words, {**self.env, **MUTANT, **(env or {})}, self.project)
        self.addCleanup(started.put_away)
        if initialize:
            started.initialize()
        return started

    def descendants(self, pid):
        """Processes below this one, by the kernel's own lists."""
        found, left = set(), [pid]
        while left:
            one = left.pop()
            try:
                for task in os.listdir(f"/proc/{one}/task"):
                    with open(f"/proc/{one}/task/{task}/children") as children:
                        for child in children.read().split():
                            if int(child) not in found:
                                found.add(int(child))
                                left.append(int(child))
            except OSError:
                continue
        return found

    def launcher(self, server):
        """The pid of the half of the server that starts cells."""
        for pid in self.descendants(server.process.pid):
            try:
                with open(f"/proc/{pid}/comm") as name:
                    if name.read() == "caisson-launch\n":
                        return pid
            except OSError:
                continue  # it has ended meanwhile
        return self.fail("there is no launcher")

    def cells(self, pid):
        """What was started below a server. Its launcher is a copy of it, and has its words."""
        def words(one):
            try:
                with open(f"/proc/{one}/cmdline", "rb") as file:
                    return file.read()
            except OSError:
                return words(pid)  # gone meanwhile
        return {one for one in self.descendants(pid) if words(one) != words(pid)}

    def descendants_named(self, pid, word, deadline=DEADLINE):
        """Those with this word on their command line. The kernel's lists may miss one while others
        come and go, so it is looked for until it is found."""
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            found = set()
            for one in self.descendants(pid):
                try:
                    with open(f"/proc/{one}/cmdline", "rb") as words:
                        if word in words.read():
                            found.add(one)
                except OSError:
                    continue
            if found:
                return found
            time.sleep(0.01)
        self.fail(f"nothing below {pid} is called {word!r}")

    def alive(self, pids):
        """Those that still run: a zombie holds nothing."""
        running = set()
        for pid in pids:
            try:
                with open(f"/proc/{pid}/stat") as stat:
                    if stat.read().rpartition(")")[2].split()[0] != "Z":
                        running.add(pid)
            except OSError:
                continue
        return running

    def wait_gone(self, pids, deadline=DEADLINE):
        end = time.monotonic() + deadline
        while self.alive(pids):
            if time.monotonic() > end:
                self.fail(f"still alive: {self.alive(pids)}")
            time.sleep(0.005)
