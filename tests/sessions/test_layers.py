"""The files of a session: with its checkpoints, in its branches, after its host."""
import os
import signal
import time

from harness import DEADLINE, Host, Refused, SessionTest

WRITE = "open(%r, 'w').write(%r) and None"


class Layers(SessionTest):
    def read(self, s, path):
        return s.value("open(%r).read()" % path)

    def branch(self, s, name, **how):
        self.addCleanup(self.end, name)
        return type(s)(self.host, name, self.host.ask("branch", s.name, **{"as": name}, **how))

    def test_restore_brings_the_files_back(self):
        s = self.session()
        self.assertTrue(s.info["layered"])
        self.ok(s.exec("import os; os.mkdir('d'); open('d/a', 'w').write('one'); x = 1"))
        self.ok(s.exec("os.symlink('/etc/passwd', 'link'); os.chmod('d/a', 0o640)"))
        taken = s.ask("checkpoint", name="c")
        self.assertEqual(taken["files"]["files"], 1)
        self.ok(s.exec("open('d/a', 'w').write('two'); os.unlink('link'); open('new', 'w'); x = 2"))
        self.assertEqual(s.ask("restore", name="c")["files"]["files"], 1)
        self.assertEqual(s.value("[open('/workspace/d/a').read(), os.readlink('link'), x, "
                                 "os.path.exists('new'), os.stat('d/a').st_mode & 0o777]"),
                         ["one", "/etc/passwd", 1, False, 0o640])

    def test_each_name_has_the_files_of_its_moment(self):
        """A call that is killed leaves the interpreter as it was, and not the files."""
        s = self.session()
        self.ok(s.exec(WRITE % ("f", "one")))
        s.ask("checkpoint", name="one")
        s.exec("import os; open('f', 'w').write('two') and os._exit(1)")
        s.ask("checkpoint", name="two")
        for name in ("one", "two", "one"):
            s.ask("restore", name=name)
            self.assertEqual(self.read(s, "f"), name)
        self.assertEqual(sorted(s.ask("checkpoints")["files"]), ["one", "two"])

    def test_who_writes_without_end_has_ended_before_the_files_are_back(self):
        s = self.session()
        self.ok(s.exec("import subprocess, sys; open('f', 'w').write('frozen')"))
        s.ask("checkpoint", name="c")
        for _ in range(3):
            self.ok(s.exec(
                "child = subprocess.Popen([sys.executable, '-c', "
                "\"while True: open('f', 'w').write('late')\"])\n"
                "while open('f').read() != 'late': pass"))
            s.ask("restore", name="c")
            for _ in range(5):
                self.assertEqual(self.read(s, "f"), "frozen")
        s.ask("drop", name="c")

    def test_an_open_file_is_the_one_that_is_put_back(self):
        s = self.session()
        self.ok(s.exec("f = open('f', 'w+'); f.write('one'); f.flush()"))
        s.ask("checkpoint", name="c")
        self.ok(s.exec("f.seek(0); f.truncate(); f.write('something else'); f.flush()"))
        s.ask("restore", name="c")
        self.assertEqual(s.value("(f.seek(0), f.read())[1]"), "one")

    def test_a_branch_has_files_of_its_own(self):
        s = self.session()
        self.ok(s.exec("import os; os.mkdir('d'); os.chdir('d'); open('f', 'w').write('parent')"))
        b = self.branch(s, s.name + "b")
        self.assertEqual(b.info["inside"], "/branches/" + b.name)
        self.assertEqual(b.value("os.getcwd()"), "/branches/%s/d" % b.name)
        self.assertEqual(self.read(b, "f"), "parent")
        self.ok(b.exec("open('f', 'w').write('branch'); open('more', 'w')"))
        self.assertEqual(self.read(s, "f"), "parent")
        self.assertEqual(s.value("os.listdir('/workspace/d')"), ["f"])
        self.ok(s.exec(WRITE % ("f", "later")))
        self.assertEqual(self.read(b, "f"), "branch")
        with open(os.path.join(b.info["workspace"], "d", "f")) as file:  # the host finds them
            self.assertEqual(file.read(), "branch")
        c = self.branch(b, b.name + "c")  # and a branch of a branch
        self.assertEqual(self.read(c, "f"), "branch")

    def test_a_branch_of_a_checkpoint_has_its_files(self):
        s = self.session()
        self.ok(s.exec(WRITE % ("f", "then")))
        s.ask("checkpoint", name="then")
        self.ok(s.exec(WRITE % ("f", "now")))
        b = self.branch(s, s.name + "b", **{"from": "then"})
        self.assertEqual(self.read(b, "f"), "then")
        self.ok(b.exec(WRITE % ("f", "other")))
        b.ask("restore", name="then")
        self.assertEqual([self.read(b, "f"), self.read(s, "f")], ["then", "now"])
        self.assertEqual(b.value("__import__('os').getcwd()"), "/branches/" + b.name)

    def test_a_branch_that_is_reset_or_killed_stays_in_its_files(self):
        s = self.session()
        self.ok(s.exec(WRITE % ("f", "mine")))
        b = self.branch(s, s.name + "b")
        b.ask("reset")
        self.assertEqual(b.value("__import__('os').getcwd()"), "/branches/" + b.name)
        b.exec("import os; os._exit(1)")
        self.assertEqual(self.read(b, "f"), "mine")

    def test_what_is_dropped_takes_no_room(self):
        s = self.session()
        self.ok(s.exec("open('f', 'wb').write(bytes(1 << 20)) and None"))
        b = self.branch(s, s.name + "b")
        layers = os.path.dirname(b.info["workspace"])
        s.ask("checkpoint", name="c")
        self.assertEqual(len(os.listdir(os.path.join(layers, ".frozen"))), 1)
        s.ask("drop", name="c")
        self.assertEqual(os.listdir(os.path.join(layers, ".frozen")), [])
        self.host.ask("end", b.name)
        until = time.monotonic() + DEADLINE  # the keeper hears of it when its turn comes
        while os.listdir(layers) != [".frozen"] and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(os.listdir(layers), [".frozen"])
        self.host.ask("end", s.name)
        self.assertFalse(os.path.exists(os.path.dirname(layers)))

    def test_more_than_may_be_copied_is_refused_and_nothing_is_left(self):
        s = self.session()
        self.ok(s.exec("import os\nfor i in range(70): os.mkdir('d'); os.chdir('d')\n"
                       "os.chdir('/workspace')"))
        with self.assertRaisesRegex(Refused, "more than 64 levels"):
            s.ask("checkpoint", name="c")
        with self.assertRaisesRegex(Refused, "more than 64 levels"):
            self.branch(s, s.name + "b")
        self.assertEqual(s.value("os.listdir('/branches/.frozen') + os.listdir('/branches')"),
                         [".frozen"])
        self.ok(s.exec("import shutil; shutil.rmtree('d')\n"
                       "with open('f', 'wb') as f: f.truncate(1 << 29)"))  # it holds nothing
        s.ask("checkpoint", name="c")

    def test_links_and_pipes_lead_the_copy_nowhere(self):
        s = self.session()
        self.ok(s.exec("import os; os.mkfifo('pipe'); os.symlink('/', 'root'); os.symlink('.', 'me')"))
        taken = s.ask("checkpoint", name="c")["files"]
        self.assertEqual(taken, {"files": 0, "bytes": 0, "left_out": 1})
        self.ok(s.exec("os.unlink('me'); os.mkdir('me')"))
        s.ask("restore", name="c")
        self.assertEqual(s.value("[os.readlink('me'), os.path.exists('pipe')]"), [".", True])

    def test_a_folder_that_was_given_is_shared_and_that_is_said(self):
        folder = self.path("given")
        os.makedirs(folder)
        s = self.session(workspace=folder)
        self.assertFalse(s.info["layered"])
        self.ok(s.exec(WRITE % ("f", "one")))
        self.assertEqual(s.ask("checkpoint", name="c")["files"], "shared")
        self.ok(s.exec(WRITE % ("f", "two")))
        self.assertEqual(s.ask("restore", name="c")["files"], "shared")
        self.assertEqual(self.read(s, "f"), "two")
        b = self.branch(s, s.name + "b")
        self.assertEqual(b.info["inside"], "/workspace")
        self.ok(b.exec(WRITE % ("f", "three")))
        self.assertEqual(self.read(s, "f"), "three")

    def test_a_branch_can_not_put_a_link_where_the_host_looks(self):
        """The folder of a branch is the cell's to replace: the host goes through no link of it."""
        secret = self.path("secret/key", "secret")
        s = self.session()
        b = self.branch(s, s.name + "b")
        self.ok(b.exec("import os; os.chdir('/'); os.rename('/branches/%s', '/branches/x')\n"
                       "os.symlink(%r, '/branches/%s')" % (b.name, os.path.dirname(secret), b.name)))
        with self.assertRaisesRegex(Refused, "leads out"):
            b.ask("load", path=os.path.join(b.info["workspace"], "key"), name="x")
        self.host.ask("end", b.name, save=True)
        kept = os.path.join(self.host.state, "branches", b.name)
        self.assertFalse(os.path.lexists(kept))
        with open(secret) as file:
            self.assertEqual(file.read(), "secret")


class Rooms(SessionTest):
    """What a host leaves behind, and what the next one does with it."""

    def begin(self, top):
        host = Host(self.path(top))
        self.addCleanup(host.close)
        return host

    def test_files_come_back_after_a_clean_end(self):
        host = self.begin("clean")
        s = host.session("keep")
        self.ok(s.exec("open('f', 'w').write('kept'); x = 1"))
        host.ask("branch", "keep", **{"as": "twig"})
        self.ok(host.ask("exec", "twig", code="open('f', 'w').write('twig')"))
        host.ask("end", "twig", save=True)
        host.ask("end", "keep", save=True)
        host.close()
        host = self.begin("clean")
        for name in ("keep", "twig"):
            s = host.session(name, take_up=True)
            self.assertEqual(s.value("[open('f').read(), x]"), [{"keep": "kept"}.get(name, name), 1])
        host.ask("end", "keep")
        host.ask("end", "twig")
        self.assertEqual(os.listdir(os.path.join(host.state, "workspaces")), [])

    def test_a_workspace_is_taken_up_whole(self):
        """In one step, however many files a session has left: it is the folder itself that moves."""
        host = self.begin("whole")
        s = host.session("keep")
        self.ok(s.exec("import os; os.mkdir('d'); open('d/f', 'w').write('kept')"))
        host.ask("end", "keep", save=True)
        kept = os.stat(os.path.join(host.state, "workspaces", "keep"))
        s = host.session("keep", take_up=True)
        self.assertEqual(os.stat(s.info["workspace"]).st_ino, kept.st_ino)
        self.assertEqual(s.value("open('d/f').read()"), "kept")

    def test_a_kept_branch_is_beyond_the_reach_of_the_session_it_came_from(self):
        """T24, T60: that one lives, and has descriptors of every folder and file of the branch."""
        host = self.begin("apart")
        s = host.session("first")
        self.ok(s.exec("import os; os.mkdir('sub'); open('sub/run.py', 'w').write('1')"))
        host.ask("branch", "first", **{"as": "twig"})
        self.ok(s.exec("top = os.open('/branches/twig', 0); sub = os.open('/branches/twig/sub', 0)\n"
                       "file = open('/branches/twig/sub/run.py', 'r+')"))
        host.ask("end", "twig", save=True)
        twig = host.session("twig", take_up=True)
        self.assertEqual(twig.value("open('sub/run.py').read()"), "1")
        self.ok(twig.exec("open('sub/private', 'w').write('of twig')"))
        self.ok(s.exec("file.write('2'); file.flush()"))
        for code in ("os.open('private', 0, dir_fd=sub)",
                     "os.open('sub/private', 0, dir_fd=top)"):
            self.assertEqual(s.exec(code)["status"], "error", code)
        self.assertEqual(twig.value("open('sub/run.py').read()"), "1")
        self.assertFalse(os.path.exists(os.path.join(host.state, "branches", "twig")))

    def test_a_host_that_ends_while_files_are_taken_up_loses_none(self):
        """They are in the room of a fork then, which is no session yet, and the room goes with it."""
        host = self.begin("early")
        self.ok(host.session("keep").exec("open('f', 'w').write('kept')"))
        host.ask("end", "keep", save=True)
        kept = os.path.join(host.state, "workspaces", "keep")
        host.close()
        for _ in range(3):
            host = self.begin("early")
            number = host.send("create", "keep", take_up=True)
            while os.path.exists(kept) and host.answers is not None and number not in host.answers:
                time.sleep(0.0005)
            host.close()
            with open(os.path.join(kept, "f")) as file:
                self.assertEqual(file.read(), "kept")

    def test_files_come_back_after_sigkill_and_no_others(self):
        host = self.begin("killed")
        forks = os.path.join(host.state, "forks")
        s = host.session("keep")
        if s.info["cell"] != "zygote":
            self.skipTest("cells of their own keep their workspace in place")
        self.ok(s.exec("import os; open('f', 'w').write('kept')"))
        host.ask("branch", "keep", **{"as": "twig"})
        self.ok(host.ask("exec", "twig", code="open('f', 'w').write('twig')"))
        # Names that the cell makes up are nobody's: the next session of that name must not get them.
        self.ok(s.exec("os.mkdir('/branches/other'); open('/branches/other/f', 'w').write('planted')"))
        host.process.send_signal(signal.SIGKILL)
        host.process.wait()
        self.assertGreater(len(os.listdir(forks)), 1)
        living = self.host.session("lives")  # of another host, elsewhere: it is not touched
        self.ok(living.exec(WRITE % ("f", "lives")))
        host = self.begin("killed")
        kept = os.path.join(host.state, "workspaces")
        for name, text in (("keep", "kept"), ("twig", "twig")):
            s = host.session(name, take_up=True)
            self.assertEqual(s.value("open('f').read()"), text)
            self.assertIn("files of the workspace are back", " ".join(s.info["notes"]))
        self.assertEqual(os.listdir(kept), [])
        s = host.session("other", take_up=True)
        self.assertEqual(s.value("__import__('os').listdir('.')"), [])
        self.host.ask("end", "lives")

    def test_the_folders_of_a_host_that_lives_are_left_alone(self):
        host = self.begin("two")
        s = host.session("first")
        self.ok(s.exec(WRITE % ("f", "first")))
        other = self.begin("two")
        other.session("second")
        self.assertEqual(s.value("open('f').read()"), "first")
        with open(os.path.join(s.info["workspace"], "f")) as file:
            self.assertEqual(file.read(), "first")
