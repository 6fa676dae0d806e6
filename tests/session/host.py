"""Drives a session the way the C++ side does: a socketpair, a fork, frames. It trusts nothing."""

import array
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = os.path.join(HERE, "..", "..", "src", "session", "py", "boot.py")
HEADER = struct.Struct("<IBI")
PREFIX = struct.Struct("<IIBB")
MAX_BODY = 1 << 20
PATIENCE = 90000  # ms, of anything; longer than code that waits to be interrupted sleeps
GRACE = 5000  # ms that code has after the interrupt; one that stops needs few, on a busy machine more
SPILLED = 0x80
(START, EXEC, INTERRUPT, VARS, GET, SET, LOAD, RESET, CHECKPOINT, RESTORE, BRANCH, CHECKPOINTS,
 DROP, SAVE, UNSAVE, HOST_REPLY, END) = range(1, 18)
HELLO, RESULT, ENDED, HOST_CALL, DONE, REFUSED, NOTE = range(65, 72)
NO_CHECKPOINT = 1


class Frame:
    def __init__(self, kind, request, body, fds):
        self.kind, self.request, self.fds = kind & ~SPILLED, request, fds
        if kind & SPILLED:
            body += read_sealed(fds.pop(0))
        self.flags = body[0] if self.kind == RESULT else 0
        self.body = body[1:] if self.kind == RESULT else body

    @property
    def json(self):
        return json.loads(self.body or b"{}")

    def __repr__(self):
        return "Frame(%d, %d, %r)" % (self.kind, self.request, self.body[:2000])


def read_sealed(fd):
    """A spilled body: only a sealed memfd, and within the bound."""
    import fcntl
    try:
        size = os.fstat(fd).st_size
        assert fcntl.fcntl(fd, fcntl.F_GET_SEALS) & 6 == 6 and size <= 1 << 30
        return os.pread(fd, size, 0)
    finally:
        os.close(fd)


def memfd(data):
    fd = os.memfd_create("test")
    view = memoryview(data)
    while len(view):
        view = view[os.write(fd, view):]
    return fd


class Answer:
    """What came of a call: the frame that ended it, and its output."""

    def __init__(self, frame, out, err, host_calls):
        self.frame, self.out, self.err, self.host_calls = frame, out, err, host_calls
        self.kind = frame.kind
        self.json = frame.json
        self.interrupted = bool(frame.flags & 1)

    def __repr__(self):
        return "Answer(%d, %r, out=%r, err=%r)" % (
            self.kind, self.json, self.out[:2000], self.err[:2000])

    @property
    def text(self):
        return self.json.get("value", {}).get("text/plain")


class Lane:
    """One control socket."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.fds = []
        self.requests = 0
        self.functions = {}
        self.notes = []
        self.hello = None

    def send(self, kind, body=b"", fds=(), request=None):
        if request is None:
            self.requests += 1
            request = self.requests
        own = []
        if len(body) > MAX_BODY:
            own = [memfd(body)]
            kind, body, fds = kind | SPILLED, b"", own + list(fds)
        self.send_raw(HEADER.pack(len(body), kind, request) + body, fds)
        for fd in own:
            os.close(fd)
        return request

    def send_raw(self, data, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.sock.sendmsg([data], control)
        if sent < len(data):
            self.sock.sendall(data[sent:])

    def receive(self, seconds=120.0):
        """The next frame; None at the end of the socket."""
        until = time.monotonic() + seconds
        while True:
            frame = self.parse()
            if frame is not None:
                return frame
            self.sock.settimeout(max(0.001, until - time.monotonic()))
            data, control, _, _ = self.sock.recvmsg(65536, socket.CMSG_SPACE(64))
            for level, kind, value in control:
                if kind == socket.SCM_RIGHTS:
                    self.fds.extend(array.array("i", value[:len(value) // 4 * 4]))
            if not data:
                return None
            self.buffer += data

    def parse(self):
        if len(self.buffer) < 9:
            return None
        length, kind, request = HEADER.unpack_from(self.buffer)
        assert length <= MAX_BODY, length
        if len(self.buffer) < 9 + length:
            return None
        body, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
        fds = [self.fds.pop(0)] if kind & SPILLED else []
        return Frame(kind, request, body, fds)

    def ask(self, kind, value=None, fds=(), seconds=120.0):
        """A request that the keeper answers itself."""
        request = self.send(kind, json.dumps(value).encode() if value is not None else b"", fds)
        return self.wait(request, seconds)

    def wait(self, request, seconds=120.0):
        while True:
            frame = self.receive(seconds)
            if frame is None:
                raise EOFError("the session is gone")
            if frame.kind == NOTE:
                self.notes.append(frame.json)
            elif frame.request == request:
                return frame

    def call(self, kind, value, fds=(), timeout_ms=PATIENCE, grace_ms=GRACE, flags=0):
        """A request that the interpreter answers: vars, get, set, load, save."""
        body = PREFIX.pack(timeout_ms, grace_ms, flags, len(fds)) + json.dumps(value).encode()
        return Answer(self.wait(self.send(kind, body, fds)), b"", b"", [])

    def exec(self, source, timeout_ms=PATIENCE, grace_ms=GRACE, flags=0, during=None, keep=1 << 20):
        return Run(self, source, timeout_ms, grace_ms, flags, during, keep).finish()

    # what the tests say most
    def value(self, source, **more):
        answer = self.exec(source, **more)
        assert answer.kind == RESULT and answer.json["status"] == "ok", answer
        return answer.text

    def vars(self, **more):
        return self.call(VARS, more).json

    def get(self, name=None, **more):
        if name is not None:
            more["name"] = name
        return self.call(GET, more).json

    def set(self, name, value):
        return self.call(SET, {"name": name, "value": value})

    def set_bytes(self, name, data, kind="bytes", **more):
        fd = memfd(data)
        try:
            return self.call(SET, dict(more, name=name, kind=kind), [fd])
        finally:
            os.close(fd)

    def load(self, name, filename, data, **more):
        fd = memfd(data)
        try:
            return self.call(LOAD, dict(more, name=name, filename=filename), [fd])
        finally:
            os.close(fd)

    def branch(self, name, source=None):
        ours, theirs = socket.socketpair()
        value = {"name": name}
        if source:
            value["from"] = source
        frame = self.ask(BRANCH, value, [theirs.fileno()])
        theirs.close()
        if frame.kind != DONE:
            ours.close()
            return frame
        lane = Lane(ours)
        lane.functions = self.functions
        lane.hello = lane.receive()
        assert lane.hello.kind == HELLO, lane.hello
        return lane


class Run:
    """One exec: its two pipes are read while it runs, and drained when it has ended."""

    def __init__(self, lane, source, timeout_ms, grace_ms, flags, during, keep):
        self.lane, self.during, self.keep = lane, during, keep
        source = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        out, out_writer = os.pipe()
        err, err_writer = os.pipe()
        self.pipes = {out: [], err: []}
        self.order = (out, err)
        self.seen = {out: 0, err: 0}
        for fd in self.order:
            os.set_blocking(fd, False)
        prefix = PREFIX.pack(timeout_ms, grace_ms, flags, 2)
        if len(source) + len(prefix) > MAX_BODY:
            self.request = self.send_large(prefix, source, out_writer, err_writer)
        else:
            self.request = lane.send(EXEC, prefix + source, [out_writer, err_writer])
        os.close(out_writer)
        os.close(err_writer)
        self.host_calls = []

    def send_large(self, prefix, source, out_writer, err_writer):
        fd = memfd(source)
        lane = self.lane
        lane.requests += 1
        head = HEADER.pack(len(prefix), EXEC | SPILLED, lane.requests)
        lane.send_raw(head + prefix, [fd, out_writer, err_writer])
        os.close(fd)
        return lane.requests

    def read(self, fd):
        while True:
            try:
                data = os.read(fd, 1 << 20)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.seen[fd] += len(data)
            if self.seen[fd] <= self.keep:
                self.pipes[fd].append(data)

    def finish(self, seconds=120.0):
        poll = select.poll()
        for fd in (self.lane.sock.fileno(), *self.order):
            poll.register(fd, select.POLLIN)
        until = time.monotonic() + seconds
        frame = self.step()
        while frame is None:
            for fd, _ in poll.poll(max(1, int((until - time.monotonic()) * 1000))):
                if fd in self.pipes:
                    if not self.read(fd):
                        poll.unregister(fd)
                else:
                    frame = self.step(block=True) or frame
            if time.monotonic() > until:
                raise TimeoutError("no answer")
            if self.during:
                self.during(self)
        for fd in self.order:
            self.read(fd)
            os.close(fd)
        out, err = (b"".join(self.pipes[fd]) for fd in self.order)
        answer = Answer(frame, out, err, self.host_calls)
        answer.out_bytes, answer.err_bytes = (self.seen[fd] for fd in self.order)
        return answer

    def step(self, block=False):
        """Handles frames that are here; the one that ends the call is returned."""
        lane = self.lane
        while True:
            frame = lane.parse()
            if frame is None:
                if not block:
                    return None
                frame = lane.receive()
                block = False
                if frame is None:
                    raise EOFError("the session is gone")
            if frame.kind == NOTE:
                lane.notes.append(frame.json)
            elif frame.request != self.request:
                continue
            elif frame.kind == HOST_CALL:
                self.serve(frame)
            else:
                return frame

    def serve(self, frame):
        call = frame.json
        self.host_calls.append(call)
        function = self.lane.functions.get(call["name"])
        if function == "later":
            return
        try:
            if "batch" in call:
                value = [function(*one, **call["kwargs"]) for one in call["batch"]]
            else:
                value = function(*call["args"], **call["kwargs"])
            reply = {"call": call["call"], "value": value}
        except Exception as error:
            reply = {"call": call["call"], "error": str(error)}
        self.lane.send(HOST_REPLY, json.dumps(reply).encode(), request=frame.request)


class Session(Lane):
    """A session in a process of its own, as cold as it can be."""

    def __init__(self, functions=None, python=None, before=None, flags=("-I", "-S"), start=True,
                 **options):
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        self.functions = functions or {}
        entries = [{"name": n} for n in self.functions if not n.endswith("_batched")]
        for entry in entries:
            if entry["name"] + "_batched" in self.functions:
                entry["batch"] = entry["name"] + "_batched"
        options.setdefault("functions", entries)
        python = python or os.environ.get("CAISSON_SESSION_PYTHON") or sys.executable
        self.process = subprocess.Popen(
            [python, *flags, KERNEL, "keeper", str(theirs.fileno())],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, preexec_fn=before,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/tmp"})
        theirs.close()
        if not start:
            return
        self.hello = self.ask(START, options)
        if self.hello.kind != HELLO:
            raise RuntimeError(repr(self.hello))

    def close(self):
        self.sock.close()
        self.process.wait(20)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Zygote:
    """A process that has everything loaded, and forks a session on request."""

    def __init__(self, python=None, modules=(), flags=("-I",), pass_fds=()):
        self.sock, theirs = socket.socketpair()
        python = python or os.environ.get("CAISSON_SESSION_PYTHON") or sys.executable
        self.process = subprocess.Popen(
            [python, *flags, KERNEL, "zygote", str(theirs.fileno()), *modules],
            pass_fds=[theirs.fileno(), *pass_fds], stdin=subprocess.DEVNULL)
        theirs.close()
        self.lane = Lane(self.sock)
        self.facts = self.lane.receive().json

    def session(self, **start):
        """A Lane on a session that is starting; its hello is still to be received."""
        ours, theirs = socket.socketpair()
        self.lane.send(1, json.dumps({"start": start}).encode(), [theirs.fileno()])
        theirs.close()
        return Lane(ours)

    def reserve(self):
        """A Lane on a keeper that waits for its START."""
        ours, theirs = socket.socketpair()
        self.lane.send(1, b"{}", [theirs.fileno()])
        theirs.close()
        return Lane(ours)

    def close(self):
        self.sock.close()
        self.process.wait(20)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
