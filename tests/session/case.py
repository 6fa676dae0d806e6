"""What the tests share: one session per class, fresh at the start of each test."""

import os
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host  # noqa: E402


class SessionCase(unittest.TestCase):
    options = {}
    functions = {}

    @classmethod
    def setUpClass(cls):
        cls.session = host.Session(functions=dict(cls.functions), **cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.session.close()

    def setUp(self):
        self.session.notes.clear()
        frame = self.session.ask(host.RESET)
        self.assertEqual(frame.kind, host.DONE, frame)

    def path(self):
        """Of a file that is not there yet: who waits for it waits for no clock."""
        folder = tempfile.mkdtemp(prefix="caisson-session-")
        self.addCleanup(shutil.rmtree, folder)
        return os.path.join(folder, "sign")

    def pid(self):
        """Of the interpreter, which is the host's to see here."""
        return int(self.ok("import os\nos.getpid()").text)

    def ok(self, source, **more):
        answer = self.session.exec(source, **more)
        self.assertEqual(answer.kind, host.RESULT, answer)
        self.assertEqual(answer.json["status"], "ok", answer)
        return answer

    def error(self, source, kind=None, **more):
        answer = self.session.exec(source, **more)
        self.assertEqual(answer.kind, host.RESULT, answer)
        self.assertEqual(answer.json["status"], "error", answer)
        if kind:
            self.assertEqual(answer.json["error"]["type"], kind, answer)
        return answer

    def ended(self, source, **more):
        answer = self.session.exec(source, **more)
        self.assertEqual(answer.kind, host.ENDED, answer)
        self.assertTrue(answer.json["restored"], answer)
        return answer


def wait_until(condition, seconds=30):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.002)


def is_gone(pid):
    """No such process, or only its entry that nobody has collected yet."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def kernel_module(name):
    """A module of the session's inside, loaded the way boot.py does."""
    folder = os.path.dirname(os.path.abspath(host.KERNEL))
    global loader
    if loader is None:
        scope = {"__name__": "boot", "__file__": os.path.join(folder, "boot.py")}
        with open(scope["__file__"], encoding="utf-8") as file:
            exec(compile(file.read(), scope["__file__"], "exec"), scope)
        scope["read_folder"]()
        loader = scope["make_loader"](scope["SOURCES"])
    return loader(name)


loader = None
