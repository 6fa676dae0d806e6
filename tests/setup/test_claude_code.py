"""Claude Code: its three scopes, its rules, its own command line."""
import json
import os

import harness
from harness import NAME, SetupTest, snapshot

ENTRY = {"type": "stdio", "args": ["mcp"]}


class ClaudeCode(SetupTest):
    def entry(self):
        return {**ENTRY, "command": harness.BINARY}

    def fake_claude(self, body):
        return self.write("bin/claude", f"#!/bin/sh\n{body}\n", 0o755)

    def test_the_rules_go_where_they_are_loaded(self):
        self.ok("install", "claude-code")
        self.assertIn("`rlm_load`", self.read("home/.claude/rules/caisson.md"))
        self.ok("install", "claude-code", "--scope", "project")
        self.assertIn("`rlm_load`", self.read("project/.claude/rules/caisson.md"))
        self.ok("install", "claude-code", "--scope", "local")
        self.assertIn("`rlm_load`", self.read("project/CLAUDE.local.md"))

    def test_rules_of_one_s_own_stay(self):
        self.write("project/CLAUDE.local.md", "Mine.\n")
        self.ok("install", "claude-code", "--scope", "local")
        self.assertTrue(self.read("project/CLAUDE.local.md").startswith("Mine.\n\n<!--"))
        self.write("project/CLAUDE.local.md", self.read("project/CLAUDE.local.md") + "More.\n")
        self.ok("uninstall", "claude-code")
        self.assertEqual(self.read("project/CLAUDE.local.md"), "Mine.\nMore.\n")

    def test_local_is_under_the_repository(self):
        self.folder("project/.git")
        inner = self.folder("project/deep/er")
        self.ok("install", "claude-code", "--scope", "local", cwd=inner)
        self.assertEqual(self.json("home/.claude.json"),
                         {"projects": {self.project: {"mcpServers": {NAME: self.entry()}}}})
        self.assertTrue(self.there("project/CLAUDE.local.md"))
        self.ok("uninstall", "claude-code", cwd=inner)
        self.assertEqual(os.listdir(self.home), [])

    def test_a_worktree_counts_as_its_repository(self):
        main = self.folder("main/.git/worktrees/w")
        self.write("project/.git", f"gitdir: {main}\n")
        self.ok("install", "claude-code", "--scope", "local")
        self.assertEqual(list(self.json("home/.claude.json")["projects"]), [f"{self.top}/main"])
        self.assertTrue(self.there("project/CLAUDE.local.md"))

    def test_what_claude_wrote_later_stays(self):
        self.write("home/.claude.json", '{\n  "userID": "u"\n}')
        self.ok("install", "claude-code")
        now = self.json("home/.claude.json")
        now["numStartups"] = 7
        now["mcpServers"]["other"] = {"command": "x"}
        self.write("home/.claude.json", json.dumps(now, indent=2))
        self.ok("uninstall", "claude-code")
        self.assertEqual(self.json("home/.claude.json"), {
            "userID": "u", "mcpServers": {"other": {"command": "x"}}, "numStartups": 7})

    def test_two_scopes_in_one_file_are_both_taken_out(self):
        before = snapshot(self.home)
        for scopes in (("user", "local"), ("local", "user")):
            with self.subTest(scopes):
                for scope in scopes:
                    self.ok("install", "claude-code", "--scope", scope)
                self.ok("uninstall", "claude-code")
                self.assertEqual(snapshot(self.home), before)
                self.assertEqual(os.listdir(self.project), [])

    def test_the_later_of_two_scopes_alone_gives_the_earlier_back(self):
        for first, second in (("user", "local"), ("local", "user")):
            with self.subTest(first):
                self.ok("install", "claude-code", "--scope", first)
                before = snapshot(self.home)
                self.ok("install", "claude-code", "--scope", second)
                self.ok("uninstall", "claude-code", "--scope", second)
                self.assertEqual(self.read("home/.claude.json").encode(), before[".claude.json"][1])
                self.ok("uninstall", "claude-code")
                self.assertEqual(os.listdir(self.home), [])

    def test_a_scope_can_be_taken_out_alone(self):
        self.ok("install", "claude-code")
        self.ok("install", "claude-code", "--scope", "project")
        self.ok("uninstall", "claude-code", "--scope", "user")
        self.assertTrue(self.there("project/.mcp.json"))
        self.assertFalse(self.there("home/.claude.json"))

    def test_another_projects_entry_is_not_touched(self):
        self.ok("install", "claude-code", "--scope", "project")
        self.ok("uninstall", "claude-code", cwd=self.folder("elsewhere"))
        self.assertTrue(self.there("project/.mcp.json"))

    def test_claude_itself_is_asked_when_it_is_there(self):
        self.fake_claude(f'printf "%s\\n" "$@" > {self.top}/words; env > {self.top}/env\n'
                         'eval last=\\${$(($#-1))}\n'
                         'printf \'{"mcpServers":{"rlm":{"type":"stdio","command":"%s",'
                         '"args":["mcp"],"env":{}}},"x":1}\' "$last" > "$HOME/.claude.json"')
        outcome = self.ok_json("install", "claude-code")
        self.assertEqual(self.read("words").split(), [
            "mcp", "add", "--scope", "user", NAME, "--", harness.BINARY, "mcp"])
        self.assertEqual(outcome["ran"][0], f"{self.bin}/claude")
        self.assertIn("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\n", self.read("env"))
        self.ok("uninstall", "claude-code")  # without claude's help
        self.assertEqual(self.json("home/.claude.json"), {"x": 1})

    def test_a_claude_that_fails_is_told_and_done_without(self):
        self.fake_claude("echo no licence >&2; exit 1")
        ended = self.ok("install", "claude-code")
        self.assertIn("says: no licence; the entry was put into the file directly", ended.stderr)
        self.assertEqual(self.json("home/.claude.json")["mcpServers"], {NAME: self.entry()})

    def test_a_claude_of_the_project_is_never_run(self):
        self.write("project/claude", f"#!/bin/sh\ntouch {self.top}/ran\n", 0o755)
        self.ok("install", "claude-code", env={"PATH": f".::{self.bin}:/usr/bin:/bin"})
        self.assertFalse(self.there("ran"))

    def test_a_program_that_moved_is_followed(self):
        self.write("home/.claude.json", json.dumps({"mcpServers": {NAME: {
            "type": "stdio", "command": "/gone/caisson", "args": ["mcp"], "timeout": 5}}}))
        self.fake_claude("exit 9")  # it could not change an entry anyway
        self.assertEqual(self.ok("install", "claude-code").stderr, "")
        self.assertEqual(self.json("home/.claude.json")["mcpServers"][NAME],
                         {**self.entry(), "timeout": 5})

    def test_the_name_in_path_is_preferred(self):
        os.symlink(harness.BINARY, f"{self.bin}/caisson")
        self.ok("install", "claude-code")
        self.assertEqual(self.json("home/.claude.json")["mcpServers"][NAME]["command"],
                         f"{self.bin}/caisson")
        ended = self.ok("install", "claude-code", "--scope", "project")
        self.assertEqual(ended.stderr, "")
        self.assertEqual(self.json("project/.mcp.json")["mcpServers"][NAME]["command"], "caisson")

    def test_a_project_file_with_a_folder_of_ours_is_told(self):
        self.assertIn("not in PATH",
                      self.ok("install", "claude-code", "--scope", "project").stderr)
