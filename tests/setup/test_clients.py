"""Every client of the table: put in, found in, taken out to the byte."""
import json
import os
import tomllib

import harness
from harness import NAME, SetupTest, snapshot

# client, scope, file, key of the servers, whether the entry says its type
PLACES = (
    ("claude-code", "user", "home/.claude.json", "mcpServers", True),
    ("claude-code", "project", "project/.mcp.json", "mcpServers", True),
    ("claude-desktop", "user", "home/.config/Claude/claude_desktop_config.json", "mcpServers",
     False),
    ("cursor", "user", "home/.cursor/mcp.json", "mcpServers", True),
    ("cursor", "project", "project/.cursor/mcp.json", "mcpServers", True),
    ("vscode", "user", "home/.config/Code/User/mcp.json", "servers", True),
    ("vscode", "project", "project/.vscode/mcp.json", "servers", True),
    ("zed", "user", "home/.config/zed/settings.json", "context_servers", False),
    ("zed", "project", "project/.zed/settings.json", "context_servers", False),
    ("gemini", "user", "home/.gemini/settings.json", "mcpServers", False),
    ("gemini", "project", "project/.gemini/settings.json", "mcpServers", False),
)
CODEX = (("user", "home/.codex/config.toml"), ("project", "project/.codex/config.toml"))


class EachClient(SetupTest):
    def test_the_entry_is_written_where_the_client_reads_it(self):
        for client, scope, path, key, says_type in PLACES:
            with self.subTest(client=client, scope=scope):
                self.ok("install", client, "--scope", scope)
                expected = {"command": harness.BINARY, "args": ["mcp"]}
                if says_type:
                    expected["type"] = "stdio"
                self.assertEqual(self.json(path)[key], {NAME: expected})

    def test_the_entry_of_codex_is_a_table(self):
        for scope, path in CODEX:
            with self.subTest(scope):
                self.ok("install", "codex", "--scope", scope)
                self.assertEqual(tomllib.loads(self.read(path)), {"mcp_servers": {
                    NAME: {"command": harness.BINARY, "args": ["mcp"]}}})

    def test_uninstall_leaves_nothing_of_a_new_file(self):
        before = snapshot(self.top)
        for client, scope, *_ in PLACES + tuple(("codex", *place) for place in CODEX):
            with self.subTest(client=client, scope=scope):
                self.ok("install", client, "--scope", scope)
                self.assertNotEqual(snapshot(self.top), before)
                self.ok("uninstall", client)
                after = snapshot(self.top)
                after.pop("state/caisson", None)
                self.assertEqual(after, before)

    def test_uninstall_gives_an_old_file_back_to_the_byte(self):
        text = '{ "x" : [1,2],\n\n   "%s":{ "other": {"command":"a"} } }'
        for client, scope, path, key, _ in PLACES:
            with self.subTest(client=client, scope=scope):
                self.write(path, text % key, 0o600)
                before = snapshot(self.top)
                self.ok("install", client, "--scope", scope)
                self.assertEqual(sorted(self.json(path)[key]), ["other", NAME])
                self.assertEqual(os.stat(os.path.join(self.top, path)).st_mode & 0o777, 0o600)
                self.ok("uninstall", client, "--scope", scope)
                after = snapshot(self.top)
                after.pop("state/caisson", None), before.pop("state/caisson", None)
                self.assertEqual(after, before)

    def test_a_second_install_changes_nothing(self):
        for client, scope, *_ in PLACES + tuple(("codex", *place) for place in CODEX):
            with self.subTest(client=client, scope=scope):
                self.assertTrue(self.ok_json("install", client, "--scope", scope)["changed"])
                before = snapshot(self.top)
                self.assertFalse(self.ok_json("install", client, "--scope", scope)["changed"])
                self.assertEqual(snapshot(self.top), before)

    def test_comments_of_an_editor_s_settings_stay(self):
        text = ('// Zed settings\n{\n  "theme": "One", // dark\n  "context_servers": {\n'
                '    // mine\n    "a": {"command": "b"},\n  },\n}\n')
        path = self.write("home/.config/zed/settings.json", text)
        self.ok("install", "zed")
        added = ('    "rlm": {\n      "command": %s,\n      "args": ["mcp"]\n    },\n'
                 % json.dumps(harness.BINARY))
        self.assertEqual(self.read(path), text.replace("  },\n}", added + "  },\n}"))
        self.write(path, self.read(path).replace('"One"', '"Two"'))  # so that no backup helps
        self.ok("uninstall", "zed")
        self.assertEqual(self.read(path), text.replace('"One"', '"Two"'))

    def test_codex_keeps_its_other_settings(self):
        text = 'model = "gpt" # mine\n\n[mcp_servers.other]\ncommand = "x"\n\n# end\n'
        path = self.write("home/.codex/config.toml", text)
        self.ok("install", "codex")
        self.assertTrue(self.read(path).startswith(text))
        self.assertEqual(sorted(tomllib.loads(self.read(path))["mcp_servers"]), ["other", NAME])
        self.write(path, "a = 1\n" + self.read(path))
        self.ok("uninstall", "codex")
        self.assertEqual(self.read(path), "a = 1\n" + text)

    def test_variables_of_the_clients_are_followed(self):
        codex, config = self.folder("codex"), self.folder("config")
        self.ok("install", "codex", env={"CODEX_HOME": codex})
        self.ok("install", "zed", env={"XDG_CONFIG_HOME": config})
        self.ok("install", "claude-code", env={"CLAUDE_CONFIG_DIR": config})
        self.assertTrue(self.there("codex/config.toml"))
        self.assertTrue(self.there("config/zed/settings.json"))
        self.assertTrue(self.there("config/.claude.json"))
        self.assertTrue(self.there("config/rules/caisson.md"))
        self.assertEqual(os.listdir(self.home), [])
