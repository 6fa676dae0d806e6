"""Snapshots: what can be saved comes back in another session; the rest is listed by name."""

import os

import host
from case import SessionCase


class Snapshot(SessionCase):
    def save(self, session=None, **options):
        fd = os.memfd_create("snapshot")
        self.addCleanup(os.close, fd)
        answer = (session or self.session).call(host.SAVE, options, [fd])
        self.assertEqual(answer.kind, host.RESULT, answer)
        return fd, answer.json

    def test_variables_functions_classes_and_modules_come_back(self):
        self.ok(
            "import math as m, dataclasses\nx = {'a': [1, 2], 'b': {3}}\n@dataclasses.dataclass\n"
            "class Point:\n"
            "    x: int\n    y: int = 2\n    def sum(self): return self.x + self.y\n"
            "def double(v, by=2):\n    return v * by\np = [Point(1), Point(5)]\nf = double\n"
            "big = 'z' * 100000")
        fd, report = self.save()
        self.assertEqual(report["skipped"], [])
        self.assertEqual(len(report["sha256"]), 64)
        with host.Session() as other:
            answer = other.call(host.UNSAVE, {}, [fd])
            self.assertEqual(answer.json["failed"], [], answer)
            self.assertEqual(other.value("x, p[1].sum(), double(4), m.floor(2.5), "
                                         "isinstance(p[0], Point), len(big)"),
                             "({'a': [1, 2], 'b': {3}}, 7, 8, 2, True, 100000)")
            # and once more, from what was restored
            again, report = self.save(other)
            self.assertEqual(report["skipped"], [])

    def test_what_cannot_be_saved_is_listed_by_name(self):
        self.ok("import threading, os\na = 1\nlock = threading.Lock()\ngen = (i for i in 'x')\n"
                "class Bad:\n    def __reduce__(self): os._exit(3)\nfile = open('/dev/null')\n"
                "b = 2")
        _, report = self.save()
        self.assertEqual(sorted(e["name"] for e in report["skipped"]), ["file", "gen", "lock"])
        self.assertIn("b", report["saved"])
        self.ok("bad = Bad()")
        fd = os.memfd_create("snapshot")
        answer = self.session.call(host.SAVE, {}, [fd])
        os.close(fd)
        self.assertEqual(answer.json["status"], "error")
        self.assertEqual(self.ok("a").text, "1")

    def test_bounds(self):
        self.ok("small = 1\nlarge = b'x' * 1_000_000\nother = 2")
        _, report = self.save(max_each=1000)
        self.assertEqual([e["name"] for e in report["skipped"]], ["large"])
        self.assertEqual(report["saved"], ["small", "other"])

    def test_a_changed_file_is_refused_before_it_is_unpickled(self):
        self.ok("x = 'payload'")
        fd, _ = self.save()
        data = bytearray(os.pread(fd, 1 << 20, 0))
        for at in (0, 30, len(data) - 40, len(data) - 1):
            changed = bytearray(data)
            changed[at] ^= 1
            other = host.memfd(bytes(changed))
            answer = self.session.call(host.UNSAVE, {}, [other])
            os.close(other)
            self.assertEqual(answer.json["error"]["type"], "BadSnapshot", at)
        for cut in (b"", data[:10], data[:-5]):
            other = host.memfd(bytes(cut))
            self.assertEqual(self.session.call(host.UNSAVE, {}, [other]).json["status"], "error")
            os.close(other)

    def test_saving_changes_nothing_in_the_session(self):
        self.ok("count = 0\nclass Touch:\n    def __getstate__(self):\n        global count\n"
                "        count += 1\n"
                "        return {}\nt = Touch()")
        self.save()
        self.assertEqual(self.ok("count").text, "0")

    def test_saving_can_be_stopped(self):
        self.ok("import time\nclass Slow:\n    def __getstate__(self): time.sleep(60)\ns = Slow()")
        fd = os.memfd_create("snapshot")
        answer = self.session.call(host.SAVE, {}, [fd], timeout_ms=150)
        os.close(fd)
        self.assertEqual(answer.json["status"], "interrupted")
        self.assertEqual(self.ok("1").text, "1")
