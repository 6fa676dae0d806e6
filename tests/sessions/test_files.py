"""Files of the host that a session loads, and snapshots that outlive it."""
import os
import time

from harness import DEADLINE, Host, Refused, SessionTest


class Load(SessionTest):
    denied = ("denied",)

    def test_kinds_by_suffix(self):
        s = self.session()
        self.ok(s.ask("load", path=self.path("in/a.json", '{"k": [1]}'), name="j"))
        self.assertEqual(s.value("j['k']"), [1])
        self.ok(s.ask("load", path=self.path("in/latin.txt", "né".encode("latin-1")), name="t"))
        self.assertEqual(s.value("t"), "né")
        path = self.path("in/b.bin", bytes(range(256)))
        self.ok(s.ask("load", path=path, name="b", **{"as": "bytes"}))
        self.assertEqual(s.value("b == bytes(range(256))"), True)

    def test_a_folder_and_a_glob_become_a_dict(self):
        s = self.session()
        for name in ("d/one.txt", "d/two.txt", "d/sub/three.txt"):
            self.path(name, name)
        self.ok(s.ask("load", path=self.path("d"), name="d"))
        self.assertEqual(s.value("sorted(d)"), ["one.txt", "sub/three.txt", "two.txt"])
        self.ok(s.ask("load", path=self.path("d/t*.txt"), name="g"))
        self.assertEqual(s.value("g"), {"two.txt": "d/two.txt"})

    def test_a_name_that_is_not_utf8_is_told_by_its_bytes(self):
        s = self.session()
        folder = os.path.dirname(self.path("bytes/one.txt", "1")).encode()
        os.mkdir(folder + b"/d\xfe")
        for name in (b"\xff.json", b"d\xfe/two", b"\xfe.json"):
            with open(folder + b"/" + name, "w") as file:
                file.write("[2]")
        self.ok(s.ask("load", path=os.fsdecode(folder), name="d"))
        self.assertEqual(s.value("d"), {"one.txt": "1", "\\xff.json": [2], "\\xfe.json": [2],
                                        "d\\xfe/two": "[2]"})
        self.ok(s.ask("load", path=os.fsdecode(folder) + "/*.json", name="g"))
        self.assertEqual(s.value("sorted(g)"), ["\\xfe.json", "\\xff.json"])

    def refused(self, path, words):
        with self.assertRaisesRegex(Refused, words):
            self.session().ask("load", path=path, name="x")

    def test_folders_of_keys_are_denied_whatever_they_are_called(self):
        home = self.host.home
        for folder in (".ssh", ".aws", ".config/gcloud", ".gnupg"):
            os.makedirs(os.path.join(home, folder), exist_ok=True)
            key = os.path.join(home, folder, "key")
            with open(key, "w") as file:
                file.write("secret")
            self.refused(key, "may not read")
            self.refused(os.path.join(home, folder), "may not read")
        link = self.path("link")
        os.symlink(os.path.join(home, ".ssh"), link)
        self.refused(os.path.join(link, "key"), "may not read")
        os.symlink(os.path.join(home, ".ssh", "key"), self.path("keylink"))
        self.refused(self.path("keylink"), "may not read")
        self.refused(os.path.join(home, ".aws", "..", ".ssh", "key"), "may not read")
        self.refused(os.path.join(home, ".s?h", "key"), "no such file")

    def test_more_that_the_policy_denies(self):
        self.refused(self.path("denied/x", "x"), "may not read")
        self.ok(self.session().ask("load", path=self.path("denied-not/x", "x"), name="x"))

    def test_a_link_in_the_workspace_can_not_lead_out_of_it(self):
        outside, folder = self.path("outside.txt", "outside"), self.path("work")
        os.makedirs(folder, exist_ok=True)
        s = self.session(workspace=folder)
        self.ok(s.exec("import os; os.symlink(%r, '/workspace/link')" % outside))
        with self.assertRaisesRegex(Refused, "leads out"):
            s.ask("load", path=os.path.join(folder, "link"), name="x")
        self.ok(s.exec("open('/workspace/plain', 'w').write('p')"))
        self.ok(s.ask("load", path=os.path.join(folder, "plain"), name="x"))
        self.ok(s.ask("load", path=outside, name="y"))

    def test_what_is_no_file_is_refused_at_once(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        self.refused(fifo, "not a regular file")
        self.refused("/dev/zero", "not a regular file")
        self.refused("relative", "absolute")
        self.refused(self.path("nothing"), "No such file")

    def test_the_file_itself_never_reaches_the_cell(self):
        """A descriptor of it could be opened again for writing."""
        path = self.path("precious", "precious")
        s = self.session()
        self.ok(s.exec(
            "import gc, os, builtins\nseen = []\nreal = os.fstat\n"
            "def look():\n    for fd in os.listdir('/proc/self/fd'):\n"
            "        try:\n            n = os.readlink('/proc/self/fd/' + fd); seen.append(n)\n"
            "        except OSError: pass\n"
            "import sys\nsys.setprofile(lambda *a: look())\n"
            "import threading; threading.setprofile(lambda *a: look())"))
        s.ask("load", path=path, name="x")
        self.assertEqual(s.value("[n for n in seen if 'precious' in n]"), [])


class Snapshots(SessionTest):
    def test_variables_outlive_the_process(self):
        host = Host(self.path("first"))
        s = host.session("keep")
        s.exec("x = {'a': [1, 2]}; gone = (i for i in range(3))")
        host.ask("end", "keep", save=True)
        host.close()
        path = os.path.join(host.state, "own", "keep.snapshot")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        host = Host(self.path("first"))
        self.addCleanup(host.close)
        s = host.session("keep", take_up=True)
        self.assertEqual(s.value("x"), {"a": [1, 2]})
        self.assertEqual(s.ask("get", name="gone")["status"], "missing")
        self.assertIn("gone", " ".join(s.info["notes"]))

    def test_what_ran_is_saved_by_itself(self):
        host = Host(self.path("auto"), env={"AUTOSAVE": "1"})
        self.addCleanup(host.close)
        s = host.session("auto")
        self.ok(s.exec("x = 'kept'"))
        path = os.path.join(host.state, "own", "auto.snapshot")
        until = time.monotonic() + DEADLINE
        while not os.path.exists(path) and time.monotonic() < until:
            time.sleep(0.02)
        s = host.session("other")
        self.ok(s.ask("unsave", path=path))
        self.assertEqual(s.value("x"), "kept")

    # What pickles it leaves a sign, and never comes back.
    HANGS = ("import os, threading, time\nclass Hangs:\n    def __reduce__(self):\n"
             "        open('/workspace/tried', 'a').write('x')\n        while True: pass\n"
             "x, hangs, y = 1, Hangs(), 2\n")

    def wait_until(self, condition):
        until = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def wait_for_a_try(self, s):
        sign = os.path.join(s.info["workspace"], "tried")
        if os.path.exists(sign):
            os.unlink(sign)
        self.wait_until(lambda: os.path.exists(sign))

    def test_a_call_does_not_wait_for_an_autosave(self):
        host = Host(self.path("hurry"), env={"AUTOSAVE": "1"})
        self.addCleanup(host.close)
        s = host.session("auto")
        self.ok(s.exec(self.HANGS))
        self.ok(s.exec("threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n"
                       "child = os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '100')"))
        self.wait_for_a_try(s)
        self.assertFalse(host.ask("info", "auto")["busy"])
        host.ask("interrupt", "auto")  # there is nothing of anybody's to be interrupted
        self.wait_for_a_try(s)
        begin = time.monotonic()
        answer = self.ok(s.exec("x"))
        self.assertLess(time.monotonic() - begin, 5)
        # It was not stopped, as a call is that takes too long, with all that was begun meanwhile.
        self.assertEqual((answer["notes"], answer["result"]["threads"]), ([], 1))
        self.assertEqual(s.value("os.waitpid(child, os.WNOHANG)"), [0, 0])
        # Between calls there is time for all but one.
        path = os.path.join(host.state, "own", "auto.snapshot")
        self.wait_until(lambda: os.path.exists(path))
        other = host.session("other")
        back = self.ok(other.ask("unsave", path=path))["result"]
        self.assertEqual([one["name"] for one in back["skipped"]], ["hangs"])
        self.assertEqual(other.value("(x, y)"), [1, 2])

    def test_an_end_does_not_wait_for_an_autosave_and_saves_what_it_can(self):
        host = Host(self.path("ending"), env={"AUTOSAVE": "1"})
        self.addCleanup(host.close)
        s = host.session("auto")
        self.ok(s.exec(self.HANGS))
        self.wait_for_a_try(s)
        host.ask("end", "auto", save=True)
        s = host.session("auto", take_up=True)
        self.assertEqual(s.value("(x, y, 'hangs' in globals())"), [1, 2, False])
        self.assertIn("hangs", " ".join(s.info["notes"]))

    def test_what_hangs_or_is_too_large_is_left_out_by_name(self):
        s = self.session()
        self.ok(s.exec(self.HANGS + "class Dies:\n    def __reduce__(self): os._exit(9)\n"
                       "dies, large, z = Dies(), bytes(600 << 20), 3"))
        path = self.path("most")
        result = self.ok(s.ask("save", path=path))["result"]
        left = {one["name"]: one["why"] for one in result["skipped"]}
        self.assertEqual(sorted(left), ["dies", "hangs", "large"])
        self.assertIn("10 s", left["hangs"])
        self.assertIn("code 9", left["dies"])
        self.assertIn("629145633 bytes", left["large"])
        other = self.session()
        self.ok(other.ask("unsave", path=path))
        self.assertEqual(other.value("(x, y, z)"), [1, 2, 3])

    def test_what_there_is_no_memory_for_is_left_out_and_the_session_lives(self):
        s = self.session(memory=512 << 20)
        self.ok(s.exec("import os, threading, time\nx, large, y = 1, [os.urandom(1 << 20) for _ in range(300)], 2\n"
                       "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()"))
        for _ in range(3):
            answer = self.ok(s.ask("save", path=self.path("tight")))
            left = {one["name"]: one["why"] for one in answer["result"]["skipped"]}
            self.assertEqual(answer["notes"], [])
            # (An ordinary user's sessions may have no limit on all of their processes together.)
            if os.geteuid() == 0 or left:
                self.assertEqual(list(left), ["large"])
                self.assertIn("memory", left["large"])
            self.assertEqual(s.value("(x, y, len(large), threading.active_count())"), [1, 2, 300, 2])

    def test_a_save_elsewhere_does_not_stand_for_the_autosave(self):
        host = Host(self.path("elsewhere"), env={"AUTOSAVE": "1"})
        self.addCleanup(host.close)
        s = host.session("auto")
        self.ok(s.exec("x = 'kept'"))
        self.ok(s.ask("save", path=self.path("by-hand")))
        self.wait_until(lambda: os.path.exists(os.path.join(host.state, "own", "auto.snapshot")))

    def test_a_damaged_one_is_refused(self):
        s = self.session()
        self.ok(s.exec("x = 1"))
        path = self.path("snap")
        answer = self.ok(s.ask("save", path=path))
        self.assertEqual(answer["result"]["saved"], ["x"])
        with open(path, "rb") as file:
            good = file.read()
        for bad in (good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b"", b"x" * 100):
            with open(path, "wb") as file:
                file.write(bad)
            with self.assertRaisesRegex(Refused, "damaged|not a snapshot"):
                s.ask("unsave", path=path)
        with open(path, "wb") as file:
            file.write(good)
        self.ok(s.ask("unsave", path=path))

    def test_nothing_is_unpickled_on_the_host(self):
        """T59: what a snapshot does, it does in a cell."""
        marker = self.path("marker")
        s = self.session()
        self.ok(s.exec("class Bomb:\n    def __reduce__(self):\n"
                       "        import subprocess\n"
                       "        return (subprocess.call, (['touch', '/tmp/inside', %r],))\n"
                       "b = Bomb()" % marker))
        path = self.path("bomb")
        saved = self.ok(s.ask("save", path=path))
        self.assertIn("b", saved["result"]["saved"])  # it is in the file
        other = self.session()
        self.ok(other.ask("unsave", path=path))
        self.assertEqual(other.value("__import__('os').listdir('/tmp')"), ["inside"])  # and goes off
        self.assertFalse(os.path.exists(marker))
