"""Claude Code finds what `caisson install` wrote, in each scope, and no more after uninstall."""
import json
import os
import subprocess

import harness
from fake_api import call, say
from harness import ClaudeTest

SCOPES = ("user", "project", "local")


class Registered(ClaudeTest):
    def found(self):
        """How Claude Code describes the server, or None."""
        ended = self.claude("mcp", "get", "rlm")
        return ended.stdout if ended.returncode == 0 else None

    def test_a_written_file_is_read(self):
        """Without claude in PATH caisson writes the files itself: the client must read them."""
        for scope in SCOPES:
            with self.subTest(scope):
                self.assertIsNone(self.found())
                self.caisson("install", "claude-code", "--scope", scope)
                text = self.found()
                self.assertIsNotNone(text)
                self.assertRegex(text, rf"(?i)scope: {scope}")
                self.assertRegex(text, r"Command: \S*caisson\b")
                self.assertRegex(text, r"Args: mcp\b")
                self.caisson("uninstall", "claude-code")
                self.assertIsNone(self.found())

    def test_claude_s_own_command_registers_it(self):
        self.with_claude_in_path()
        for scope in SCOPES:
            with self.subTest(scope):
                outcome = json.loads(
                    self.caisson("install", "claude-code", "--scope", scope, "--json").stdout)
                self.assertEqual(outcome["notes"], [])
                self.assertEqual(outcome["ran"][1:3], ["mcp", "add"])
                self.assertRegex(self.found(), rf"(?i)scope: {scope}")
                again = json.loads(
                    self.caisson("install", "claude-code", "--scope", scope, "--json").stdout)
                self.assertFalse(again["changed"])
                self.caisson("uninstall", "claude-code")
                self.assertIsNone(self.found())

    def test_the_server_answers_the_health_check(self):
        self.caisson("install", "claude-code")
        self.assertRegex(self.claude("mcp", "list").stdout, r"(?m)^rlm: .*Connected")

    def test_the_rules_reach_the_model_once(self):
        for scope in SCOPES:
            with self.subTest(scope):
                self.api.requests.clear()
                self.caisson("install", "claude-code", "--scope", scope)
                self.converse([say("done")], words=["--no-session-persistence"])
                self.assertEqual(self.api.told().count("Where to run code and read large files"), 1)
                self.assertNotIn("caisson:begin", self.api.told())
                self.caisson("uninstall", "claude-code")


class Plugin(ClaudeTest):
    def test_it_is_valid_to_the_letter(self):
        for folder in (harness.PLUGIN, harness.PLUGIN + "/.."):
            ended = self.claude("plugin", "validate", "--strict", folder)
            self.assertEqual(ended.returncode, 0, ended)

    def test_its_server_skill_and_reminder_work(self):
        long = self.write("project/long.txt", "line\n" * 201)
        short = self.write("project/short.txt", "line\n" * 200)
        server = "mcp__plugin_caisson_rlm__"
        self.converse([call("Read", file_path=long), call("Read", file_path=short)],
                      [call(server + "rlm_exec", code="print(6 * 7)")], [say("done")],
                      words=["--plugin-dir", harness.PLUGIN],
                      allow=f"Read,{server}rlm_exec")
        conversation = json.dumps(self.api.requests[-1]["messages"])
        self.assertIn("long.txt has more than 200 lines", conversation)
        self.assertNotIn("short.txt has more than", conversation)
        self.assertIn("42", json.dumps(self.result(1)))
        self.assertIn("caisson:large-files", json.dumps(self.api.requests[0]))

    def test_the_reminder_can_be_turned_off(self):
        long = self.write("project/long.txt", "line\n" * 300)
        self.write("home/.claude/settings.json", json.dumps(
            {"pluginConfigs": {"caisson@inline": {"options": {"suggest_over_lines": 0}}}}))
        self.converse([call("Read", file_path=long)], [say("done")],
                      words=["--plugin-dir", harness.PLUGIN], allow="Read")
        self.assertNotIn("has more than", json.dumps(self.api.requests[-1]["messages"]))

    def test_the_reminder_never_stands_in_the_way(self):
        long = self.write("project/long.txt", "line\n" * 300)
        binary = self.write("project/image", "\0\n" * 300)
        os.mkfifo(f"{self.project}/pipe")
        for arguments in ({"file_path": long, "limit": 10}, {"file_path": long, "offset": 5}, {},
                          {"file_path": binary}, {"file_path": f"{self.project}/pipe"},
                          {"file_path": self.project}, {"file_path": "/nonexistent"},
                          {"file_path": 7}):
            with self.subTest(arguments):
                done = subprocess.run([f"{harness.PLUGIN}/hooks/suggest-rlm-load"], text=True,
                                      input=json.dumps({"tool_input": arguments}), env=self.env,
                                      capture_output=True, timeout=harness.DEADLINE)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
