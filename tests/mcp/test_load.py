"""rlm_load opens what the policy lets a session read, and no credential: what a cell can't see does
not come in by another way."""
import json
import os
import signal
import time

from harness import DEADLINE, McpTest

KEY = "the-real-key-of-the-service"


class Load(McpTest):
    def settings(self, **keys):
        keys.setdefault("network", {"allowedDomains": [], "deniedDomains": []})
        keys["filesystem"] = {"denyRead": [], "allowWrite": [], "denyWrite": [],
                              **keys.get("filesystem", {})}
        return self.server("--settings", self.file("settings.json", json.dumps(keys)))

    def refused(self, server, path):
        text = server.fails("rlm_load", path=path, var_name="k")
        self.assertTrue(text.startswith("Error: access denied"), f"{path}: {text}")
        self.assertNotIn(KEY, text)

    def test_what_denyread_hides_is_not_loaded(self):
        for name in ("secret/k", "deep/a/b.pem", "deep/a/b.txt", "secret/open/note"):
            self.file("project/" + name, KEY)
        os.symlink(os.path.join(self.project, "secret"), os.path.join(self.project, "way"))
        server = self.settings(filesystem={"denyRead": ["./secret", "./deep/**/*.pem"],
                                           "allowRead": ["./secret/open"]})
        for path in ("secret/k", os.path.join(self.project, "secret/k"), "secret/../secret/k", "way/k",
                     "deep/a/b.pem", "secret/none"):
            with self.subTest(path):
                self.refused(server, path)
        # What is not hidden is loaded, and what allowRead shows again.
        for path in ("deep/a/b.txt", "secret/open/note", "way/open/note"):
            with self.subTest(path):
                self.assertIn("Loaded", server.text("rlm_load", path=path, var_name="k"))

    def link(self, to, name):
        os.makedirs(os.path.dirname(os.path.join(self.project, name)), exist_ok=True)
        os.symlink(to, os.path.join(self.project, name))

    def told(self, server, path, name):
        """The error without the name that was asked for."""
        text = server.fails("rlm_load", path=path, var_name="k")
        self.assertIn(f"/{name}", text)
        return text.replace(f"/{name}", "/NAME")

    def test_a_link_where_nothing_may_be_read_is_not_followed(self):
        """Keys are often links to where somebody keeps them (stow, home-manager): where such a way
        ends is no folder of keys."""
        self.file("home/dotfiles/key", KEY)
        self.file("home/dotfiles/plain/note", "plain")
        for folder in (".aws/sso", ".ssh", ".config"):
            os.makedirs(os.path.join(self.home, folder))
        self.link("../dotfiles/key", "../home/.aws/credentials")
        self.link(os.path.join(self.home, "dotfiles/key"), "../home/.ssh/id")
        self.link("../dotfiles", "../home/.ssh/all")
        self.link("round", "../home/.ssh/round")
        self.link("dotfiles/netrc", "../home/.netrc")
        self.file("home/dotfiles/netrc", KEY)
        self.link("../../home/dotfiles/key", "private/k")
        self.link("../../../home/dotfiles/plain", "private/open/way")
        self.link("../../home/dotfiles/key", "env/a.env")
        self.link("../private", "short/way")
        self.file("project/env/plain", "plain")
        server = self.settings(filesystem={"denyRead": ["./private", "./env/*.env"],
                                           "allowRead": ["~/dotfiles", "./private/open"]})
        for path in ("~/.aws/credentials", "~/.aws/cred*", "~/.ssh/id", "~/.ssh/all/key",
                     "~/.ssh/all/plain/note", "~/.ssh/all/*", "~/.ssh/round", "~/.netrc",
                     "~/.aws/../dotfiles/key", "~/.aws/sso/../../dotfiles/key", "~/.ssh/all/none",
                     "~/.ssh/id/../../dotfiles/key", "private/k", "private/../env/plain", "short/way/k",
                     "env/a.env", "short/way/../../env/plain"):
            with self.subTest(path):
                self.refused(server, path)
        # What is there, and whether it is a link, has the same words as what is not there.
        for folder in ("~/.aws", "~/.ssh", "private", "short/way"):
            for rest in ("", "/below", "/../x"):
                words = {self.told(server, f"{folder}/{name}{rest}", name)
                         for name in ("credentials", "sso", "id", "all", "round", "k", "none")}
                with self.subTest(folder + rest):
                    self.assertEqual(len(words), 1, words)
        for path in ("env", "env/*"):
            self.assertIn("(1 file, 5 chars)", server.text("rlm_load", path=path, var_name="d"))
        # What may be read is read, by links of the system and by those that are shown again.
        self.link("/bin/sh", "shell")  # /bin is a link, and most often sh as well
        for path in ("~/dotfiles/key", "private/open/way/note", "/usr/../etc/passwd", "shell"):
            with self.subTest(path):
                text = server.text("rlm_load", path=path, var_name="k", **{"as": "bytes"})
                self.assertIn("Loaded", text)

    def test_a_rule_is_what_it_was_when_the_server_started(self):
        """Whoever else writes the folder on the way of a rule may take the link away that it leads
        through; a cell may not."""
        key = self.file("home/private/key", KEY)
        self.link(os.path.join(self.home, "private"), "way")
        server = self.settings(filesystem={"denyRead": ["./way/key"], "allowRead": ["./"],
                                           "allowWrite": ["./"]})
        for path in ("way/key", key):
            self.refused(server, path)
        way = os.path.join(self.project, "way")
        refused = server.fails("rlm_exec", code=f"import os\nos.unlink({way!r})")
        self.assertIn(f"[denied] {way} is refused (file-write: ", refused)
        self.assertIn("): moved, it could be read by the next command", refused)
        os.unlink(way)
        self.refused(server, key)
        os.mkdir(way)
        self.refused(server, key)

    def test_a_pattern_does_not_tell_whether_a_denied_name_is_there(self):
        server = self.settings(filesystem={"denyRead": ["./*.pem"]})
        paths = ("~/.netr?", "~/.netr[c]", "~/.aw?/credentials", "~/.aw?/*", "~/*/../.netrc", "b?.pem",
                 os.path.join(self.home, ".[an]*"), os.path.join(self.project, "*.p*"))
        before = [server.fails("rlm_load", path=path, var_name="k") for path in paths]
        for name in ("home/.netrc", "home/.aws/credentials", "project/bc.pem"):
            self.file(name, KEY)
        for path, text in zip(paths, before):
            with self.subTest(path):
                self.assertEqual(server.fails("rlm_load", path=path, var_name="k"), text)

    def test_no_file_of_another_session_through_proc(self):
        """/proc/PID/root is a link of the kernel's own, to names that no rule here knows."""
        theirs = self.server()
        theirs.text("rlm_exec", code="import os\nopen('/workspace/mark', 'w').write('theirs')")
        ours = self.server()
        for pid in self.cells(theirs.process.pid):
            for path in (f"/proc/{pid}/root/workspace/mark", f"/proc/{pid}/cwd/mark"):
                self.assertNotIn("theirs", ours.fails("rlm_load", path=path, var_name="k"))
        for path in ("/proc/[0-9]*/root/workspace/mark", "/proc/*/cwd/*", "/proc/self/root/etc/passwd"):
            ours.fails("rlm_load", path=path, var_name="k")

    def test_names_in_a_denied_folder_are_told_to_nobody(self):
        self.file("home/.ssh/id_of_the_bank", KEY)
        self.file("home/notes.txt", "plain")
        server = self.settings(filesystem={"allowRead": ["~/"]})
        for path in ("~/.ssh/*", "~/.ssh/id_of_the_ban[k]", "~/.ss[h]/*"):
            self.assertNotIn("of_the_bank", server.fails("rlm_load", path=path, var_name="k")
                             .replace(path, ""))
        text = server.text("rlm_load", path="~", var_name="k")
        self.assertIn(".ssh", text)
        self.assertNotIn("of_the_bank", text)

    def test_a_pattern_of_a_client_holds_nobody(self):
        server = self.server()
        for path in ("/etc/*" + "/." * 1900 + "/nothing", "/usr/share/*/*" + "/./x/.." * 400 + "/nothing",
                     "/" + "*a" * 1500 + "b", "/*/*/*/*/*/*/*/nothing"):
            server.fails("rlm_load", path=path, var_name="k")

    def test_hidden_files_are_left_out_of_a_folder_and_named(self):
        self.file("project/deep/b.pem", KEY)
        self.file("project/deep/b.txt", "plain")
        server = self.settings(filesystem={"denyRead": ["./deep/*.pem"]})
        for path in ("deep", "deep/*"):
            text = server.text("rlm_load", path=path, var_name="d")
            self.assertIn("(1 file, 5 chars)", text)
            self.assertIn("b.pem", text)
            self.assertIn("'b.txt'", server.text("rlm_exec", code="list(d)"))
            self.assertEqual(server.text("rlm_exec", code=f"{KEY[:8]!r} in str(d)"), "False")

    def test_a_masked_credential_stays_outside(self):
        self.file("home/service.key", KEY)
        self.file("home/denied.key", KEY)
        server = self.settings(
            network={"allowedDomains": ["api.example.com"], "deniedDomains": [], "tlsTerminate": {}},
            filesystem={"allowRead": ["~/"]},
            credentials={"files": [{"path": "~/service.key", "mode": "mask"},
                                   {"path": "~/denied.key", "mode": "deny"}]})
        for path in ("~/service.key", os.path.join(self.home, "service.key"), "~/denied.key"):
            with self.subTest(path):
                self.refused(server, path)
        self.assertEqual(server.fails("rlm_load", path="~/*.key", var_name="k"),
                         "Error: file not found: ~/*.key")

    def test_the_file_of_a_secret_stays_outside(self):
        path = self.file("project/token", KEY)
        other = self.file("project/other", "plain")
        server = self.server("--", "--secret", f"TOKEN=file:{path}@api.example.com")
        self.refused(server, path)
        self.refused(server, "token")
        self.assertIn("Loaded", server.text("rlm_load", path=other, var_name="k"))

    def test_files_of_credentials_are_refused_whatever_the_policy(self):
        names = (".netrc", ".git-credentials", ".docker/config.json", ".kube/config", ".npmrc",
                 ".pypirc", ".claude/.credentials.json", ".config/gh/hosts.yml", ".azure/tokens",
                 ".ssh/id", ".aws/credentials")
        for name in names:
            self.file("home/" + name, KEY)
        self.file("home/.config/other.txt", "plain")
        server = self.server()
        for name in names:
            with self.subTest(name):
                self.refused(server, "~/" + name)
        # Whether a name is there is not told either.
        self.refused(server, "~/.ssh/missing")
        self.refused(server, "~/.ssh/*.missing")
        text = server.text("rlm_load", path="~", var_name="all")
        self.assertIn("(1 file, 5 chars)", text)
        for name in names:  # of a folder that is denied as a whole, it alone is named
            folder = os.path.dirname(name) if name.split("/")[0] in (".kube", ".azure", ".ssh", ".aws") else name
            self.assertIn("/.config/gh" if "gh/" in name else f"/{folder}", text)

    def test_a_policy_that_is_no_policy_loads_nothing(self):
        path = self.file("project/plain", "plain")
        server = self.server("--", "--tier", "nonsense")
        self.assertTrue(server.fails("rlm_load", path=path, var_name="k").startswith("Error: "))

    def test_many_files_are_told_in_sum(self):
        self.file("project/many/a.txt", "x" * 100)
        self.file("project/many/b.txt", "y" * 7)
        server = self.server()
        self.assertEqual(server.text("rlm_load", path="many", var_name="d"),
                         "Loaded many into `d` (2 files, 107 chars)")
        self.assertEqual(server.text("rlm_load", path="many/*.txt", var_name="d"),
                         "Loaded *.txt into `d` (2 files, 107 chars)")


class LoadBesideOthers(McpTest):
    """One process opens the files of all sessions: whatever a cell puts in its folders and a client
    asks for, it has little work with each, and little memory."""

    def workspace(self, mark):
        """Where the host has the workspace that has this name in it."""
        for folder, folders, files in os.walk(self.state):
            if mark in folders or mark in files:
                return folder
        return self.fail(f"there is no {mark}")

    def cpu_seconds(self, pid):
        with open(f"/proc/{pid}/stat") as stat:
            ticks = stat.read().rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def peak_mb(self, pid):
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024

    def test_links_of_a_cell_and_a_long_path_are_little_work(self):
        server = self.server()
        server.text("rlm_exec", code="import os\nos.chdir('/workspace')\nos.mkdir('mark')\nos.mkdir('a')\n"
                                     "os.symlink('a/../' * 818 + '.', 'l')")
        # 19: the kernel may count each link twice, and gives up at 40.
        path = self.workspace("mark") + "/" + "l/" * 19
        path += "./" * ((3990 - len(path)) // 2) + "nothing"
        before = self.cpu_seconds(self.launcher(server))
        server.fails("rlm_load", path=path, var_name="k")
        self.assertLess(self.cpu_seconds(self.launcher(server)) - before, 0.7)

    def test_plain_parts_behind_a_wildcard_are_little_memory(self):
        server = self.server()
        server.text("rlm_exec", code="import os\nos.mkdir('/workspace/mark')\n"
                                     "for i in range(6000): os.mknod(f'/workspace/mark/{i}')")
        path = self.workspace("mark") + "/mark/*"
        path += ("/" + "x" * ((3990 - len(path)) // 40 - 1)) * 40
        before = self.peak_mb(self.launcher(server))
        server.fails("rlm_load", path=path, var_name="k")
        self.assertLess(self.peak_mb(self.launcher(server)) - before, 40)

    def test_paths_that_were_found_are_little_memory(self):
        """So deep in a folder, 5,000 names are more than 16 MiB."""
        server = self.server()
        server.text("rlm_exec", code="import os\nos.chdir('/workspace')\nos.mkdir('mark')\nos.chdir('mark')\n"
                                     "for i in range(14):\n    os.mkdir('d' * 240)\n    os.chdir('d' * 240)\n"
                                     "for i in range(6000): os.mkdir(str(i))\nos.chdir('/')")
        path = self.workspace("mark") + "/mark" + ("/" + "d" * 240) * 14 + "/*/x"
        self.assertIn("too many names", server.fails("rlm_load", path=path, var_name="k"))

    def test_others_have_their_turn_while_names_are_compared(self):
        """To compare one such name with such a pattern takes a millisecond."""
        server = self.server()
        server.text("rlm_exec", session="other", code="1")
        server.text("rlm_exec", code="import os\nos.mkdir('/workspace/mark')\nfor i in range(4000):\n"
                                     "    os.mknod('/workspace/mark/' + 'a' * 230 + str(i))")
        path = self.workspace("mark") + "/mark/*["
        path += "x" * (3900 - len(path)) + "a]b"
        search = server.start_call("rlm_load", path=path, var_name="k")
        server.text("rlm_load", session="other", path="/etc/passwd", var_name="k")
        self.assertEqual(server.pending, [])  # it goes on
        self.assertTrue(server.answer(search)["result"]["isError"])

    def with_a_stopped_session(self, *sizes):
        """({MiB: a file of nothing but a hole}, a server with sessions "a" and "b", the process of "a")."""
        holes = {size: self.file(f"project/{size}", "") for size in sizes}
        for size, path in holes.items():
            os.truncate(path, size << 20)
        server = self.server()
        server.text("rlm_exec", session="b", code="1")
        server.text("rlm_exec", session="a", code="import os, signal, threading\nthreading.Timer("
                                                  "0.3, os.kill, (os.getpid(), signal.SIGSTOP)).start()")
        return holes, server, self.wait_stopped(server)

    def test_all_loads_together_take_no_more_memory_than_one_may(self):
        """A session that does not take in what it was lent holds it: 1 GiB is what one may have.
        The files are holes: here nothing is as large as it looks."""
        holes, server, _stopped = self.with_a_stopped_session(1000, 100, 1)
        load = {"var_name": "k", "as": "bytes"}
        server.start_call("rlm_load", session="a", path=holes[1000], **load)
        text = server.fails("rlm_load", session="b", path=holes[100], **load)
        self.assertIn("other sessions", text)
        # A small one waits for nobody.
        self.assertIn("Loaded", server.text("rlm_load", session="b", path=holes[1], **load))

    def test_a_session_that_ends_in_a_load_gives_its_share_back(self):
        holes, server, stopped = self.with_a_stopped_session(1000, 100)
        load = {"var_name": "k", "as": "bytes"}
        dying = server.start_call("rlm_load", session="a", path=holes[1000], **load)
        time.sleep(0.5)  # it has its share by now
        os.kill(stopped, signal.SIGKILL)
        self.assertIn("Loaded", server.text("rlm_load", session="b", path=holes[100], **load))
        self.assertTrue(server.answer(dying)["result"]["isError"])

    def wait_stopped(self, server):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            for pid in self.descendants(server.process.pid):
                try:
                    with open(f"/proc/{pid}/stat") as stat:
                        if stat.read().rpartition(")")[2].split()[0] == "T":
                            return pid
                except OSError:
                    continue
            time.sleep(0.01)
        return self.fail("nothing was stopped")
