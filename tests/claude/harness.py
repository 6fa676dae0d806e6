"""What the tests share: a home, a project, the scripted API, and the real Claude Code in them.

Nothing leaves the machine: the API is the scripted one on loopback, and every other address goes to
a proxy that is not there.
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from fake_api import FakeApi

BINARY = CLIENT = None
DEADLINE = 120  # seconds; the client alone takes a few to start
PLUGIN = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../integrations/claude-code"))
SECRET = "sk-ant-scripted-0123456789"


def use(binary, client):
    global BINARY, CLIENT
    BINARY, CLIENT = os.path.realpath(binary), os.path.realpath(client)
    for path in (BINARY, CLIENT):
        if not os.access(path, os.X_OK):
            raise SystemExit(f"{path} is not a program")


class ClaudeTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="caisson-claude-"))
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.home, self.project, self.bin = (
            self.folder(name) for name in ("home", "project", "bin"))
        os.symlink(BINARY, f"{self.bin}/caisson")
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        self.env = {
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin", "HOME": self.home,
            "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_BASE_URL": self.api.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1"}

    def folder(self, name):
        path = os.path.join(self.top, name)
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def run_program(self, *words, env=None, cwd=None):
        return subprocess.run(words, env={**self.env, **(env or {})}, cwd=cwd or self.project,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE)

    def caisson(self, *words, **how):
        ended = self.run_program(f"{self.bin}/caisson", *words, **how)
        self.assertEqual(ended.returncode, 0, ended)
        return ended

    def claude(self, *words, **how):
        return self.run_program(CLIENT, *words, **how)

    def with_claude_in_path(self):
        os.symlink(CLIENT, f"{self.bin}/claude")

    def converse(self, *script, words=(), allow="mcp__rlm", env=None):
        """Claude Code is asked one thing; the model answers by the script. Returns its messages."""
        self.api.script.extend(script)
        ended = self.claude("-p", "do as scripted", "--allowedTools", allow, "--output-format",
                            "stream-json", "--verbose", "--model", "claude-haiku-4-5", *words,
                            env=env)
        self.assertEqual(ended.returncode, 0, ended)
        messages = [json.loads(line) for line in ended.stdout.splitlines()]
        self.assertEqual(messages[-1]["type"], "result", ended)
        self.assertFalse(messages[-1]["is_error"], ended)
        return messages

    def result(self, turn, place=0):
        """What the model was told about a call of the script."""
        return self.api.results()[f"toolu_{turn:04}_{place:02}"]
