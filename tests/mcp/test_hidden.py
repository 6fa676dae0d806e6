"""What the policy hides is hidden wherever the policy was written: in front of `--`, behind it, in a
file; from the cell, under each of its paths, and from rlm_load."""
import json
import os
import subprocess

import harness
from harness import McpTest

KEY = "the-real-key-of-the-service"
HOSTS = {"allowedDomains": ["api.example.com"], "deniedDomains": [], "tlsTerminate": {}}


class Hidden(McpTest):
    def settings(self, **keys):
        keys.setdefault("network", {"allowedDomains": [], "deniedDomains": []})
        keys["filesystem"] = {"denyRead": [], "allowWrite": [], "denyWrite": [],
                              **keys.get("filesystem", {})}
        return self.file("settings.json", json.dumps(keys))

    def refused(self, server, path):
        text = server.fails("rlm_load", path=path, var_name="k")
        self.assertTrue(text.startswith("Error: access denied"), f"{path}: {text}")
        self.assertNotIn(KEY, text)

    def loaded(self, server, path):
        self.assertIn("Loaded", server.text("rlm_load", path=path, var_name="k"))

    def refuse(self, *words):
        """What the server says when it doesn't start."""
        done = subprocess.run([harness.BINARY, "mcp", *words], env={**self.env, **harness.MUTANT},
                              cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=harness.DEADLINE, check=False)
        self.assertNotEqual(done.returncode, 0, f"{words}: it started")
        self.assertIn("hint: ", done.stderr)
        return done.stderr

    def starts(self, *words):
        self.server(*words).end()


class BehindTheDashes(Hidden):
    """Options of `caisson exec` for every session."""

    def test_settings_hide_the_same_from_loads(self):
        hidden = self.file("project/sub/secret.txt", KEY)
        masked = self.file("home/service.key", KEY)
        plain = self.file("project/sub/plain.txt", "plain")
        file = self.settings(
            network=HOSTS, filesystem={"denyRead": ["./sub/secret.txt"], "allowRead": [self.project]},
            credentials={"files": [{"path": masked, "mode": "mask"}]})
        near = os.path.relpath(file, self.project)
        for words in (("--settings", file), ("--", "--settings", file), ("--", "--settings=" + file),
                      ("--", "--settings", near), ("--settings", near, "--", "--pids", "100")):
            with self.subTest(words):
                server = self.server(*words)
                self.refused(server, hidden)
                self.refused(server, "sub/secret.txt")
                self.refused(server, masked)
                self.loaded(server, plain)
                server.fails("rlm_exec", code=f"open({hidden!r})")
                server.text("rlm_exec", code=f"open({plain!r})")
                server.end()

    def test_two_settings_are_an_error(self):
        file = self.settings()
        other = self.file("other.json", "{}")
        self.assertIn("two settings", self.refuse("--settings", file, "--", "--settings", other))
        self.starts("--settings", file, "--", "--settings", file)

    def test_errors_of_settings_are_told_at_the_start(self):
        self.assertIn("limits.timeout", self.refuse("--", "--settings", self.settings(limits={"timeout": "5s"})))
        self.assertIn("none.json", self.refuse("--", "--settings", "none.json"))

    def test_a_variable_that_they_mask_is_masked(self):
        self.env["SERVICE_KEY"] = KEY
        file = self.settings(network=HOSTS, credentials={"envVars": [{"name": "SERVICE_KEY", "mode": "mask"}]})
        for words in (("--settings", file), ("--", "--settings", file)):
            with self.subTest(words):
                server = self.server(*words)
                seen = server.text("rlm_exec", code="import os; os.environ['SERVICE_KEY']")
                self.assertNotIn(KEY, seen)

    def test_the_file_of_a_secret_is_the_one_that_is_not_loaded(self):
        """Cells are started in "/", and the words were written in the project."""
        for name in ("project/token", "project/etc/hostname"):
            self.file(name, KEY)
        for word in ("token", "etc/hostname", "../project/token"):
            with self.subTest(word):
                server = self.server("--", "--secret", f"TOKEN=file:{word}@api.example.com")
                self.refused(server, word)
                self.refused(server, os.path.join(self.project, word))
                # It is the one that the cell's gateway has: there is a placeholder for it.
                seen = server.text("rlm_exec", code="import os; os.environ['TOKEN']")
                self.assertNotIn(KEY, seen)
                self.loaded(server, "/etc/hostname")
                server.end()
        self.file("home/token", KEY)
        server = self.server("--", "--secret=TOKEN=file:~/token@api.example.com")
        self.refused(server, "~/token")
        server.text("rlm_exec", code="import os; os.environ['TOKEN']")

    def test_variables_of_exec_say_nothing(self):
        self.file("project/sub/plain.txt", "plain")
        server = self.server(env={"SANDBOX_WORK_DIR": self.project, "SANDBOX_MEMORY_LIMIT": "nonsense"})
        server.fails("rlm_exec", code="open('/workspace/sub/plain.txt')")

    def test_in_a_policy_file_it_is_named_from_the_root_on(self):
        def policy(path):
            return self.file("policy.json", json.dumps(
                {"network": {"secrets": [f"TOKEN=file:{path}@api.example.com"]}}))
        token = self.file("project/token", KEY)
        text = self.refuse("--", "--policy", policy("token"))
        self.assertIn("file:token", text)
        self.assertIn("from / on", text)
        server = self.server("--", "--policy", os.path.relpath(policy(token), self.project))
        self.refused(server, token)
        server.text("rlm_exec", code="import os; os.environ['TOKEN']")


class OtherPaths(Hidden):
    """A rule holds at a path. A workspace shows the same file at another one."""

    def setUp(self):
        super().setUp()
        self.secret = self.file("project/sub/secret.txt", KEY)
        self.file("project/sub/.env", KEY)

    def conflict(self, file, *words, inside="/workspace/sub/secret.txt"):
        text = self.refuse("--settings", file, *words)
        self.assertIn("is hidden", text)
        self.assertIn(inside, text)
        self.assertIn(self.top, text)

    def test_what_is_hidden_in_a_workspace_is_an_error(self):
        for rule in ("./sub/secret.txt", "./sub/*.txt", "./**/secret.txt", self.secret):
            with self.subTest(rule):
                file = self.settings(filesystem={"denyRead": [rule]})
                text = self.refuse("--settings", file, "--workspace", self.project)
                self.assertIn("/workspace/", text)
        os.symlink(self.project, os.path.join(self.top, "link"))
        file = self.settings(filesystem={"denyRead": [os.path.join(self.top, "link/sub/secret.txt")]})
        self.conflict(file, "--workspace", self.project)
        self.conflict(file, "--workspace", os.path.join(self.top, "link"))
        file = self.settings(filesystem={"denyRead": [self.project]})
        self.conflict(file, "--workspace", self.project, inside="/workspace")

    def test_so_is_a_credential(self):
        for mode in ("deny", "mask"):
            with self.subTest(mode):
                file = self.settings(network=HOSTS, credentials={"files": [{"path": self.secret, "mode": mode}]})
                self.conflict(file, "--workspace", self.project)
                self.conflict(file, "--", "--mount", f"{self.project}:/data:ro", inside="/data/sub/secret.txt")

    def test_and_what_a_mount_shows(self):
        file = self.settings(filesystem={"denyRead": ["./sub/secret.txt"]})
        for words in (("--mount", f"{self.project}:/data:ro"), ("--mount", f"{self.project}:/data:rw"),
                      (f"--mount={self.secret}:/data/sub/secret.txt",)):
            with self.subTest(words):
                self.conflict(file, "--", *words, inside="/data/sub/secret.txt")

    def test_what_goes_together(self):
        other = self.folder("other")
        file = self.settings(filesystem={"denyRead": ["./sub/secret.txt"], "allowRead": ["."]})
        self.starts("--settings", file, "--workspace", other)
        for words in (("--mount", f"{self.project}:{self.project}"), ("--allow-write", self.project),
                      ("--mount", f"{other}:/data")):
            self.starts("--settings", file, "--", *words)
        # A folder of what is hidden was named to be shown; and some rules hold under every path.
        file = self.settings(filesystem={"denyRead": [self.top, "/**/.env"]})
        server = self.server("--settings", file, "--workspace", self.project)
        server.text("rlm_exec", code="open('/workspace/sub/secret.txt')")
        server.fails("rlm_exec", code="open('/workspace/sub/.env')")
        server.end()

    def test_a_rule_for_both_paths(self):
        file = self.settings(filesystem={"denyRead": ["./sub/secret.txt", "/workspace/sub/secret.txt"]})
        server = self.server("--settings", file, "--workspace", self.project)
        server.fails("rlm_exec", code="open('/workspace/sub/secret.txt')")
        server.fails("rlm_exec", code="import os; os.rename('/workspace/sub', '/workspace/sub2')")
        self.refused(server, self.secret)
