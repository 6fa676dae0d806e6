"""What the tests share: a driver with a SessionHost in it, and sessions of it."""
import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest

CAISSON = DRIVER = None
OWN_CELLS = False  # else sessions are forks of a zygote, where they can be
FULL = False  # the large tests as large as they are meant to be
MUTANT = None  # the control that the driver and its cells leave out
DEADLINE = 60  # seconds; nothing here takes long, so that a hang is told as one


def use(caisson, driver):
    global CAISSON, DRIVER
    CAISSON, DRIVER = os.path.realpath(caisson), os.path.realpath(driver)
    for path in (CAISSON, DRIVER):
        if not os.access(path, os.X_OK):
            raise SystemExit(f"{path} is not a program")


class Refused(Exception):
    """The host answered with an error."""


class Host:
    """One process with a SessionHost. Orders run beside each other; answers come by number."""

    def __init__(self, top, denied=(), env=None, programs=None, wrap=(), owner=None):
        self.home = os.path.join(top, "home")
        self.state = os.path.join(top, "state")
        os.makedirs(self.home, exist_ok=True)
        if owner is not None:  # whoever `wrap` makes of us
            os.chown(self.home, owner, owner)
        caisson, driver = programs or (CAISSON, DRIVER)
        environment = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8",
                       "XDG_STATE_HOME": os.path.join(top, "xdg"), **(env or {})}
        if OWN_CELLS:
            environment["OWN_CELLS"] = "1"
        if MUTANT:
            environment["CAISSON_MUTANT"] = MUTANT
        self.process = subprocess.Popen(
            [*wrap, driver, caisson, self.state, self.home, *denied], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=environment, cwd=top)
        self.count = 0
        self.answers, self.streams = {}, {}
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.changed:
                if "stream" in message:
                    self.streams.setdefault(message["id"], []).append(
                        (message["stream"], message["text"]))
                else:
                    self.answers[message["id"]] = message
                self.changed.notify_all()
        with self.changed:
            self.answers = None
            self.changed.notify_all()

    def send(self, do, session="", **order):
        self.count += 1
        order.update(id=self.count, do=do, session=session)
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        return self.count

    def wait(self, number, deadline=DEADLINE):
        with self.changed:
            done = self.changed.wait_for(
                lambda: self.answers is None or number in self.answers, deadline)
            if not done:
                raise TimeoutError("no answer to order %d" % number)
            if self.answers is None:
                raise EOFError("the driver has ended")
            message = self.answers.pop(number)
        if not message["ok"]:
            raise Refused(message["error"])
        self.wall_ms = message["wall_ms"]
        return message["answer"]

    def wait_for_stream(self, number, text, deadline=DEADLINE):
        """Whether this much output has come, while the call runs or with its answer."""
        def has_come():
            return text in "".join(t for _, t in self.streams.get(number, []))

        with self.changed:
            self.changed.wait_for(
                lambda: has_come() or self.answers is None or number in self.answers, deadline)
            return has_come()

    def ask(self, do, session="", **order):
        return self.wait(self.send(do, session, **order))

    def session(self, name, **spec):
        return Session(self, name, self.ask("create", name, **spec))

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(DEADLINE)
        self.reader.join(DEADLINE)
        self.process.stdout.close()


class Session:
    def __init__(self, host, name, info):
        self.host, self.name, self.info = host, name, info

    def ask(self, do, **order):
        return self.host.ask(do, self.name, **order)

    def exec(self, code, **how):
        return self.ask("exec", code=code, **how)

    def value(self, expression):
        answer = self.ask("evaluate", expression=expression)
        if answer["status"] != "ok":
            raise AssertionError(answer)
        result = answer["result"]
        return result["value"] if result["kind"] == "json" else result["text"]


class SessionTest(unittest.TestCase):
    """One host for the tests of a class; each test has sessions of its own."""

    maxDiff = None
    env = None
    denied = ()

    @classmethod
    def setUpClass(cls):
        cls.top = os.path.realpath(tempfile.mkdtemp(prefix="caisson-sessions-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        cls.host = Host(cls.top, cls.denied_paths(), cls.env)
        cls.addClassCleanup(cls.host.close)
        cls.names = 0

    @classmethod
    def denied_paths(cls):
        return [os.path.join(cls.top, name) for name in cls.denied]

    def session(self, **spec):
        type(self).names += 1
        name = "s%d" % self.names
        made = self.host.session(name, **spec)
        self.addCleanup(self.end, name)
        return made

    def end(self, name):
        try:
            self.host.ask("end", name)
        except (Refused, EOFError):
            pass

    def ok(self, answer):
        self.assertEqual(answer["status"], "ok", answer)
        return answer

    def path(self, name, content=None):
        path = os.path.join(self.top, name)
        if content is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        return path


def descendants(pid):
    """All processes below this one, by number."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry) as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found.extend(below)
        todo.extend(below)
    return found
