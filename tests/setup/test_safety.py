"""What can't be edited safely is left alone, and said."""
import os
import stat

import harness
from harness import NAME, SetupTest, snapshot


class LeftAlone(SetupTest):
    def test_a_file_that_is_not_json(self):
        for text in ("{", '{"a": 1,}', "// c\n{}", "[]", '{"mcpServers": []}', "\x00", "nonsense"):
            with self.subTest(text):
                self.write("home/.claude.json", text)
                self.refused("install", "claude-code", part="/.claude.json: ")

    def test_a_file_that_is_not_toml(self):
        for text in ("a = [1\n", "= 1\n", "mcp_servers = {}\n",
                     '[mcp_servers]\nrlm.command = "x"\n'):
            with self.subTest(text):
                self.write("home/.codex/config.toml", text)
                self.refused("install", "codex", part="/config.toml: ")

    def test_somebody_else_s_entry_of_the_name(self):
        text = '{"mcpServers": {"rlm": {"command": "python", "args": ["-m", "server"]}}}'
        self.write("home/.claude.json", text)
        self.refused("install", "claude-code", part="not caisson's")
        ended = self.ok("uninstall", "claude-code")
        self.assertIn("is not caisson's and stays", ended.stderr)
        self.assertEqual(self.read("home/.claude.json"), text)

    def test_damaged_rules_stop_the_whole(self):
        self.write("home/.claude/rules/caisson.md", "<!-- caisson:begin -->\nx\n")
        self.refused("install", "claude-code", part="caisson.md")

    def test_a_link_of_a_project_leads_nowhere_else(self):
        """A repository from a stranger must not choose which of our files is edited."""
        victim = self.write("home/.profile", "echo hello\n")
        os.symlink(victim, f"{self.project}/CLAUDE.local.md")
        self.refused("install", "claude-code", "--scope", "local", part="leads out of the project")
        os.symlink(self.home, f"{self.project}/.vscode")
        self.refused("install", "vscode", "--scope", "project", part="leads out of the project")
        os.symlink("/nonexistent/x", f"{self.project}/.mcp.json")
        self.refused("install", "claude-code", "--scope", "project", part="leads nowhere")

    def test_a_link_of_one_s_own_stays_a_link(self):
        dotfiles = self.write("home/dotfiles/claude.json", "{}")
        os.symlink(dotfiles, f"{self.home}/.claude.json")
        self.ok("install", "claude-code")
        self.assertTrue(os.path.islink(f"{self.home}/.claude.json"))
        self.assertIn(NAME, self.json("home/dotfiles/claude.json")["mcpServers"])
        self.ok("uninstall", "claude-code")
        self.assertEqual(self.read("home/dotfiles/claude.json"), "{}")

    def test_what_is_no_file(self):
        os.mkfifo(f"{self.home}/.claude.json")
        ended = self.caisson("install", "claude-code")
        self.assertEqual(ended.returncode, 125, ended)
        self.assertIn("is not a file", ended.stderr)

    def test_the_backup_is_for_its_owner_alone(self):
        self.write("home/.claude.json", '{"oauth": "hush"}', 0o600)
        outcome = self.ok_json("install", "claude-code")
        backup = outcome["files"][0]["backup"]
        self.assertEqual(self.read(backup), '{"oauth": "hush"}')
        self.assertEqual(stat.S_IMODE(os.stat(backup).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(backup)).st_mode), 0o700)

    def test_nothing_is_left_beside_the_files(self):
        self.write("home/.claude.json", "{}")
        self.ok("install", "claude-code")
        self.assertEqual(sorted(os.listdir(self.home)), [".claude", ".claude.json"])
        self.assertEqual(os.listdir(self.project), [])


class Words(SetupTest):
    def test_a_dry_run_shows_and_touches_nothing(self):
        self.write("home/.claude.json", '{\n  "key": "hush",\n  "a": 1,\n  "b": 2\n}\n')
        before = snapshot(self.top)
        ended = self.ok("install", "claude-code", "--dry-run")
        self.assertEqual(snapshot(self.top), before)
        self.assertIn(f"+++ {self.home}/.claude.json\n", ended.stdout)
        self.assertIn('\n+    "rlm": {\n', ended.stdout)
        self.assertIn("--- /dev/null\n", ended.stdout)
        self.assertNotIn("hush", ended.stdout)
        self.ok("install", "claude-code")
        before = snapshot(self.top)
        ended = self.ok("uninstall", "claude-code", "--dry-run")
        self.assertIn('\n-    "rlm": {\n', ended.stdout)
        self.assertEqual(snapshot(self.top), before)

    def test_a_dry_run_shows_what_claude_would_be_told(self):
        self.write("bin/claude", f"#!/bin/sh\ntouch {self.top}/ran\n", 0o755)
        ended = self.ok("install", "claude-code", "--dry-run")
        self.assertIn(f"would run: {self.bin}/claude mcp add --scope user rlm -- ", ended.stdout)
        self.assertFalse(self.there("ran"))

    def test_json_says_what_was_done(self):
        outcome = self.ok_json("install", "cursor")
        self.assertEqual(outcome, {
            "client": "cursor", "scopes": ["user"], "dry_run": False, "changed": True,
            "command": [harness.BINARY, "mcp"], "ran": [], "notes": [],
            "files": [{"path": f"{self.home}/.cursor/mcp.json", "holds": "server",
                       "change": "created"}]})
        self.assertEqual(self.ok_json("uninstall", "cursor")["files"][0]["change"], "removed")

    def test_uninstall_of_nothing_is_no_error(self):
        for client in ("claude-code", "codex", "zed"):
            self.assertIn("nothing to do", self.ok("uninstall", client).stdout)
        self.assertEqual(os.listdir(self.home), [])

    def test_bad_words(self):
        for words, part in ((["install"], "which client"),
                            (["install", "claudecode"], "claude-code"),
                            (["install", "zed", "--scope", "local"], "no local scope"),
                            (["install", "zed", "--scope"], "no such scope"),
                            (["uninstall", "zed", "--scop"], "--scope"),
                            (["install", "zed", "cursor"], "unknown word")):
            with self.subTest(words):
                self.refused(*words, part=part)

    def test_help_fits(self):
        for verb in ("install", "uninstall"):
            text = self.ok(verb, "--help").stdout
            self.assertTrue(text.startswith(f"caisson {verb} "))
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
            for client in ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "zed",
                           "gemini"):
                self.assertIn(f"  {client} ", text)
