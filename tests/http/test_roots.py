"""Names of the host's files that a session could turn elsewhere, for the next session or for a load."""
import json
import os
import stat
import subprocess
import unittest

import harness
from harness import Server, ServerTest

# A keeper that says of itself what it wasn't told to be.
LIAR = """#!/usr/bin/python3
import os, sys
source = os.pread(4, 1 << 22, 0).decode()
true = 'facts["layers"] = self.keeper.layers is not None'
assert true in source
changed = os.memfd_create("kernel", 0)
os.write(changed, source.replace(true, 'facts["layers"] = True').encode())
os.dup2(changed, 4)
os.execv("/usr/bin/python3", ["python3", "-I", "/proc/self/fd/4", *sys.argv[3:]])
"""


def put(path, text="x"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    return path


class Roots(unittest.TestCase):
    """No name that is looked up for every session lies where sessions write."""

    def setUp(self):
        self.server = Server(start=False)
        self.addCleanup(self.server.close)
        self.top = os.path.join(self.server.top, "files")
        for folder in ("w/proj", "w/data", "other"):
            os.makedirs(os.path.join(self.top, folder))
        self.w, self.proj, self.data, self.other = (
            os.path.join(self.top, name) for name in ("w", "w/proj", "w/data", "other"))
        self.mounted = ("--mount", f"{self.w}:/w:rw")

    def refused(self, *words):
        with self.assertRaises(AssertionError, msg=words) as caught:
            self.server.start(*words)
        self.assertIn("where sessions write", str(caught.exception), words)
        self.assertIn("hint: ", str(caught.exception), words)
        os.truncate(os.path.join(self.server.top, "stderr"), 0)

    def starts(self, *words):
        self.server.start(*words)
        self.server.stop()

    def test_no_workspace_and_no_mount_in_a_folder_that_sessions_write(self):
        self.refused("--workspace", self.proj, "--", *self.mounted)
        self.refused("--workspace", self.proj, "--", "--allow-write", self.w)
        self.refused("--workspace", self.w, "--workspace", self.proj)
        self.refused("--", *self.mounted, "--mount", f"{self.data}:/data:ro")
        self.refused("--workspace", self.w, "--", f"--mount={self.data}:/data")
        self.refused("--workspace", self.w, "--", "--mount", f"{self.w}/not-yet:/data")

    def test_no_workspace_that_holds_the_record_of_what_ran(self):
        """A cell sees an empty folder there; a client asks the host for its files."""
        for folder in (self.server.top, self.server.state, os.path.join(self.server.state, "caisson")):
            with self.assertRaises(AssertionError) as caught:
                self.server.start("--workspace", folder)
            self.assertIn("record of what ran", str(caught.exception))
            self.assertIn("hint: ", str(caught.exception))
            os.truncate(os.path.join(self.server.top, "stderr"), 0)
        self.starts("--workspace", self.other)

    def test_nor_on_the_way_to_one(self):
        os.symlink(self.other, os.path.join(self.w, "link"))
        os.symlink(self.w, os.path.join(self.top, "same"))
        self.refused("--workspace", os.path.join(self.w, "link"), "--", *self.mounted)
        self.refused("--workspace", os.path.join(self.top, "same", "proj"), "--", *self.mounted)
        self.refused("--workspace", os.path.join(self.proj, "..", "..", "other"), "--", *self.mounted)

    def test_nor_a_file_that_the_host_reads_for_them(self):
        key = put(os.path.join(self.data, "key"), "a-key-of-16-bytes")
        self.refused("--workspace", self.w, "--", "--allow-domain", "example.com", "--secret",
                     f"KEY=file:{key}@example.com")
        policy = put(os.path.join(self.data, "policy.json"), "{}")
        self.refused("--workspace", self.w, "--", "--policy", policy)
        self.refused("--", "--policy", policy, "--mount", f"{policy}:/policy.json:rw")
        self.refused("--workspace", self.w, "--", "--allow-socket", os.path.join(self.data, "socket"))

    def test_settings_are_held_to_it_too(self):
        def settings(name, **lists):
            return put(os.path.join(self.top, name), json.dumps({
                "filesystem": {"allowRead": [], "denyRead": [], "allowWrite": [], "denyWrite": [], **lists},
                "network": {"allowedDomains": [], "deniedDomains": []}}))
        self.refused("--settings", settings("one", allowWrite=[self.w], allowRead=[self.data]))
        two = settings("w/two", allowWrite=[self.w])
        self.starts("--settings", two)  # guarded under its own path, and under no other
        self.refused("--settings", two, "--workspace", self.w)
        self.refused("--workspace", self.proj, "--settings", settings("three", allowWrite=[self.w]))
        # In a folder that can be written anyway it says nothing, and is no name of its own.
        self.starts("--settings", settings("four", allowWrite=[self.w, self.proj], allowRead=[self.other]))

    def test_an_mcp_server_is_held_to_it_too(self):
        def start(*words):
            return subprocess.run([harness.BINARY, "mcp", *words], env=self.server.env, cwd=self.server.project,
                                  input=b"", capture_output=True, timeout=harness.DEADLINE)
        for words in (("--workspace", self.proj, "--", *self.mounted),
                      ("--", *self.mounted, "--mount", f"{self.data}:/data:ro")):
            ended = start(*words)
            self.assertEqual(ended.returncode, 125, ended)
            self.assertIn(b"where sessions write", ended.stderr)
            self.assertEqual(ended.stdout, b"")
        self.assertEqual(start("--workspace", self.w).returncode, 0)

    def test_what_no_session_can_turn_is_taken(self):
        self.starts("--workspace", self.proj, "--workspace", self.data, "--", "--mount", f"{self.w}:/w:ro")
        self.starts("--workspace", self.w, "--", "--mount", f"{self.w}:/w", "--mount", f"{self.other}:/o:rw")
        self.starts("--", "--read-only", *self.mounted, "--mount", f"{self.data}:/data")


class Loading(ServerTest):
    """A link is the word of whoever can write its folder."""

    WORDS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.top = os.path.join(cls.server.top, "files")
        cls.private = put(os.path.join(cls.top, "private", "taxes.txt"), "private")

    def folder(self, name):
        path = os.path.join(self.top, name)
        os.makedirs(path)
        return path

    def server_of_its_own(self, *words):
        self.server = Server(*words)
        self.addCleanup(self.server.close)

    def load(self, session, path):
        return self.ask("POST", f"/v1/sessions/{session}/load", {"path": path, "name": "d", "as": "text"})

    def link(self, session, at):
        self.assertEqual(self.exec(session, f"import os; os.symlink({self.private!r}, {at!r})")["status"], "ok")

    def assert_led_out(self, session, path):
        self.assert_refused(self.load(session, path), 422, "leads out of it")

    def test_a_link_in_a_mount_of_the_policy(self):
        folder = self.folder("mounted")
        self.new("m", policy=["--mount", f"{folder}:/m:rw"])
        self.link("m", "/m/x")
        self.assert_led_out("m", os.path.join(folder, "x"))
        self.new("o")  # to which nothing was given
        self.assert_led_out("o", os.path.join(folder, "x"))
        self.ok("POST", "/v1/sessions/o/load", {"path": self.private, "name": "d", "as": "text"})

    def test_a_link_in_the_workspace_of_another(self):
        folder = self.folder("others")
        self.new("w", workspace=folder)
        self.link("w", "/workspace/x")
        self.new("n")
        self.assert_led_out("n", os.path.join(folder, "x"))
        self.ask("DELETE", "/v1/sessions/w")  # what was written stays
        self.assert_led_out("n", os.path.join(folder, "x"))
        self.assert_refused(self.load("n", folder), 422, "leads out of it")
        self.assert_refused(self.load("n", folder + "/*"), 422, "leads out of it")

    def test_by_a_link_of_the_users_into_the_middle_of_it(self):
        folder = self.folder("outer/inner")
        self.new("u", workspace=os.path.dirname(folder))
        self.link("u", "/workspace/inner/x")
        self.exec("u", "open('/workspace/inner/plain', 'w').write('p'); os.symlink('plain', '/workspace/inner/y')")
        short = os.path.join(self.top, "short")
        os.symlink(folder, short)
        self.assert_led_out("u", os.path.join(short, "x"))
        for name in ("plain", "y"):  # a link that stays within is one
            self.assertEqual(self.load("u", os.path.join(short, name)).status, 200)

    def test_a_policy_file_may_give_any_folder(self):
        folder = self.folder("anywhere")
        link = os.path.join(folder, "x")
        os.symlink(self.private, link)
        self.server_of_its_own()
        self.new("before")
        self.assertEqual(self.load("before", link).status, 200)  # a link of the user's
        self.new("any", policy=["--policy", put(os.path.join(self.top, "policy.json"), "{}")])
        self.assert_refused(self.load("before", link), 422, "name the file itself")
        self.assertEqual(self.load("before", "/etc/os-release").status, 200)

    def test_folders_on_offer_are_known_before_there_is_a_session(self):
        folder, given = self.folder("offered"), self.folder("given")
        for name in (folder, given):
            os.symlink(self.private, os.path.join(name, "x"))
        self.server_of_its_own("--workspace", folder, "--", "--mount", f"{given}:/given:rw")
        self.new("first")
        for name in (folder, given):
            self.assert_led_out("first", os.path.join(name, "x"))

    def test_a_keeper_can_not_say_where_its_files_are(self):
        folder = self.folder("lying")
        python = put(os.path.join(folder, "bin", "python3"), LIAR)
        os.chmod(python, os.stat(python).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        self.new("k", workspace=folder, python="/workspace/bin/python3")
        self.link("k", "/workspace/x")
        made = self.ok("POST", "/v1/sessions/k/branches", {"name": "kb"}, status=201).json
        self.addCleanup(self.ask, "DELETE", "/v1/sessions/kb")
        self.assertEqual(made["workspace"], folder, made)
        for name in ("k", "kb"):
            self.assert_led_out(name, os.path.join(folder, "x"))


class Words(ServerTest):
    WORDS = ()

    def test_nobody_reads_the_policy_of_a_session_in_a_command_line(self):
        name = self.new(policy=["--env", "API_KEY=mark-of-a-secret", "--env", "B=2"])
        answer = self.exec(name, "import os; print(os.environ['API_KEY'], os.environ['B'])")
        self.assertEqual(answer["output"], "mark-of-a-secret 2\n")
        shown = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as words:
                    shown.append(words.read())
            except OSError:
                pass
        self.assertTrue(any(b"--args-fd" in words for words in shown))
        self.assertFalse([words for words in shown if b"mark-of-a-secret" in words])

    def test_a_policy_is_options_and_no_command(self):
        for words in (["--", "sh"], ["sh"], ["--env", "A=1", "sh", "-c", "id"], ["--args-fd", "3"]):
            answer = self.ask("POST", "/v1/sessions", {"policy": words})
            self.assertGreaterEqual(answer.status, 400, answer)
