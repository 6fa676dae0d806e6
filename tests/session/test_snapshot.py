"""Snapshots: what can be saved comes back in another session; the rest is listed by name."""

import os

import host
from case import SessionCase, wait_until


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

    def test_a_generator_is_left_out_for_what_it_is(self):
        self.ok("gen = (i for i in 'x')\nasync def a(): yield 1\nag = a()\nframe = gen.gi_frame\ncode = a.__code__")
        why = self.left_out(self.save()[1])
        self.assertIn("cannot pickle", why["gen"])
        self.assertEqual([name for name in why if "TooLarge" in why[name]], [])
        for entry in self.session.vars()["variables"]:
            self.assertLess(entry["size"], 1 << 20, entry)

    def left_out(self, report):
        return {entry["name"]: entry["why"] for entry in report["skipped"]}

    def test_what_ends_its_process_is_left_out_and_all_else_is_saved(self):
        self.ok("import os, signal\na = 1\nclass Bad:\n    def __init__(self, end): self.end = end\n"
                "    def __reduce__(self): self.end()\n"
                "one = Bad(lambda: os._exit(3))\nb = 2\ntwo = Bad(lambda: os.kill(os.getpid(), 9))\n"
                "three = Bad(lambda: os.close(3) or os.closerange(0, 2000))\nc = 3")
        fd, report = self.save()
        left = self.left_out(report)
        self.assertEqual(sorted(left), ["one", "three", "two"])
        self.assertIn("code 3", left["one"])
        self.assertIn("signal 9", left["two"])
        with host.Session() as other:
            back = other.call(host.UNSAVE, {}, [fd]).json
            self.assertEqual(([e["name"] for e in back["skipped"]], back["failed"]), (["one", "two", "three"], []))
            self.assertEqual(other.value("a, b, c"), "(1, 2, 3)")

    HANGS = ("import threading, time\nclass Hangs:\n    def __reduce__(self):\n        while True: pass\n"
             "class Sleeps:\n    def __init__(self, s): self.s = s\n"
             "    def __getstate__(self):\n        time.sleep(self.s)\n        return {'s': self.s}\n"
             "a = 1\nhangs = Hangs()\nb = 2\n")

    def test_what_hangs_is_left_out_and_all_else_is_saved(self):
        self.ok(self.HANGS + "slow = Sleeps(1.2)\nc = 3\nbig = bytearray(3 << 20)\n")
        fd, report = self.save(ms_each=2000)
        self.assertEqual(self.left_out(report), {"hangs": "it took longer than 2 s"})
        self.assertEqual(report["saved"], ["threading", "time", "Hangs", "Sleeps", "a", "b", "slow", "c", "big"])
        with host.Session() as other:
            self.assertEqual(other.call(host.UNSAVE, {}, [fd]).json["failed"], [])
            self.assertEqual(other.value("a, b, c, slow.s, len(big), any(big)"),
                             "(1, 2, 3, 1.2, 3145728, False)")
        self.ok("del slow")
        # Nobody waits for it again, unless he asks for that; another value of that name is another one.
        self.assertIn("asked for", self.left_out(self.save(ms_each=60000)[1])["hangs"])
        self.assertIn("2 s", self.left_out(self.save(ms_each=2000, again=True)[1])["hangs"])
        self.ok("hangs = 4")
        self.assertEqual(self.save(ms_each=60000)[1]["skipped"], [])

    def test_all_together_have_their_time(self):
        self.ok(self.HANGS + "more = Hangs()\nlast = Hangs()\nd = 4")
        _, report = self.save(ms=4000, ms_each=60000)
        left = self.left_out(report)
        self.assertEqual(sorted(left), ["hangs", "last", "more"])
        self.assertTrue(any("no time left" in why for why in left.values()), left)

    def test_what_is_too_large_is_not_pickled_first(self):
        self.ok("small = 1\nlarge = b'x' * 1_000_000\nother = 2\n"
                "class Liar(bytes):\n    def __sizeof__(self): return 1\nliar = Liar(1_000_000)\n"
                "many = [b'y' * 1000] * 2\nfor i in range(1000): many.append(bytes([i % 256]) * 1000)")
        fd, report = self.save(max_bytes=500_000)
        left = self.left_out(report)
        self.assertEqual(sorted(left), ["large", "liar", "many"])
        for why in left.values():
            self.assertIn("TooLarge", why)
        self.assertLess(os.fstat(fd).st_size, 500_000)

    def test_saving_gives_way(self):
        self.ok(self.HANGS)
        fd, (reader, writer) = os.memfd_create("snapshot"), os.pipe()
        self.addCleanup(os.close, fd)
        os.close(writer)
        answer = self.session.call(host.SAVE, {}, [fd, reader])
        os.close(reader)
        self.assertEqual((answer.json["status"], answer.json["error"]["type"]), ("error", "GaveWay"))

    def test_saving_that_has_to_give_way_when_all_else_is_saved_keeps_that(self):
        tried = self.path()
        self.ok("a = 1\nclass Hangs:\n    def __reduce__(self):\n"
                f"        open({tried!r}, 'a').write('x')\n        while True: pass\nhangs = Hangs()\nb = 2")
        fd, (reader, writer) = os.memfd_create("snapshot"), os.pipe()
        self.addCleanup(os.close, fd)
        body = host.PREFIX.pack(0, 0, 0, 2) + b"{}"
        request = self.session.send(host.SAVE, body, [fd, reader])
        os.close(reader)
        wait_until(lambda: os.path.exists(tried) and os.path.getsize(tried) == 2)  # the others are saved
        os.close(writer)
        report = self.session.wait(request).json
        self.assertIn("another call", self.left_out(report)["hangs"])
        self.assertEqual(report["saved"], ["a", "Hangs", "b"])
        # It may have been about to be done.
        self.assertIn("0.5 s", self.left_out(self.save(ms_each=500)[1])["hangs"])

    def test_code_that_forks_when_it_is_saved_is_saved_once(self):
        self.ok("import os\nclass Forks:\n    def __getstate__(self): return {'pid': os.fork()}\n"
                "a, forks, b = 1, Forks(), 2")
        fd, report = self.save()
        self.assertEqual(report["saved"], ["os", "Forks", "a", "forks", "b"])
        with host.Session() as other:
            self.assertEqual(other.call(host.UNSAVE, {}, [fd]).json["failed"], [])
            self.assertEqual(other.value("forks.pid > 0, a, b"), "(True, 1, 2)")

    def test_a_session_whose_forks_do_nothing_says_so(self):
        self.ok("import os\nx = 1\nos.register_at_fork(after_in_child=lambda: os._exit(7))")
        fd = os.memfd_create("snapshot")
        answer = self.session.call(host.SAVE, {}, [fd])
        os.close(fd)
        self.assertEqual(answer.json["error"]["type"], "CannotSave")
        self.assertIn("code 7", answer.json["error"]["message"])

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
