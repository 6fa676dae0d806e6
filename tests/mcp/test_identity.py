"""Whose session is whose, what lasts beyond a server, and what never gets in."""
import glob
import os
import time

from harness import DEADLINE, McpTest

SEARCH = r'''
import os
found = []
def look(path):
    try:
        with open(path, "rb") as file:
            if b"CANARY" in file.read(1 << 20): found.append(path)
    except OSError: pass
for key, value in os.environ.items():
    if "CANARY" in value or "ANTHROPIC" in key: found.append(key)
for pid in os.listdir("/proc"):
    if pid.isdigit():
        for name in ("environ", "cmdline"): look(f"/proc/{pid}/{name}")
for folder, _, names in os.walk("/workspace"):
    for name in names: look(os.path.join(folder, name))
for folder, _, names in os.walk("/tmp"):
    for name in names: look(os.path.join(folder, name))
found
'''


class Identity(McpTest):
    def conversation(self, name, **how):
        return self.server(env={"CLAUDE_CODE_SESSION_ID": name,
                                "CLAUDE_PROJECT_DIR": self.project}, **how)

    def await_saved(self, count=1):
        """A state is saved when nothing runs for a moment; the end alone has too little time for it
        on a machine that is busy."""
        kept = os.path.join(self.state, "caisson", "mcp", "scopes", "*", "own", "*.snapshot")
        end = time.monotonic() + DEADLINE
        while len(glob.glob(kept)) < count:
            self.assertLess(time.monotonic(), end, "no snapshot")
            time.sleep(0.01)

    def test_state_survives_a_restart_of_the_same_conversation(self):
        server = self.conversation("one")
        server.text("rlm_exec", code="x = [1, 2, 3]\ny = 'text'")
        self.await_saved()
        server.end()
        again = self.conversation("one")
        self.assertIn("[1, 2, 3]", again.text("rlm_exec", code="x"))
        self.assertEqual(again.text("rlm_exec", code="y"), "'text'")

    def test_state_survives_a_signal(self):
        import signal
        server = self.conversation("one")
        server.text("rlm_exec", code="x = 5")
        self.await_saved()
        server.process.send_signal(signal.SIGINT)
        server.process.wait(DEADLINE)
        self.assertIn("5", self.conversation("one").text("rlm_exec", code="x"))

    def test_state_that_was_saved_survives_a_kill(self):
        server = self.conversation("one")
        server.text("rlm_exec", code="x = 5; open('f', 'w').write('kept')")
        self.await_saved()
        server.process.kill()
        server.process.wait(DEADLINE)
        self.assertIn("(5, 'kept')",
                      self.conversation("one").text("rlm_exec", code="x, open('f').read()"))

    def test_what_was_reset_does_not_come_back(self):
        server = self.conversation("one")
        server.text("rlm_exec", code="x = 1")
        server.text("rlm_exec", code="x = 1", session="named")
        self.await_saved(2)
        server.end()
        again = self.conversation("one")
        for session in ("main", "named"):
            self.assertIn(" x: int", again.text("rlm_vars", session=session))
        again.text("rlm_reset")
        again.text("rlm_reset", session="named")
        again.process.kill()  # the end can't do it any more
        again.process.wait(DEADLINE)
        third = self.conversation("one")
        for session in ("main", "named"):
            self.assertNotIn(" x: int", third.text("rlm_vars", session=session))

    def test_other_conversations_other_projects_and_strangers_have_their_own(self):
        server = self.conversation("one")
        server.text("rlm_exec", code="x = 'private'")
        server.end()
        self.assertEqual(self.conversation("two").text("rlm_vars"), "(no variables)")
        self.assertEqual(self.server().text("rlm_vars"), "(no variables)")
        elsewhere = self.server(env={"CLAUDE_CODE_SESSION_ID": "one",
                                     "CLAUDE_PROJECT_DIR": self.folder("other")})
        self.assertEqual(elsewhere.text("rlm_vars"), "(no variables)")

    def test_two_servers_of_one_conversation_do_not_share(self):
        first = self.conversation("one")
        first.text("rlm_exec", code="x = 1")
        second = self.conversation("one")
        self.assertIn("another server holds", second.text("rlm_exec", code="y = 2"))
        self.assertNotIn("x", second.text("rlm_vars"))
        first.end()
        second.end()
        third = self.conversation("one")
        self.assertIn("x", third.text("rlm_vars"))
        self.assertNotIn("y", third.text("rlm_vars"))

    def test_a_session_can_be_named_on_the_command_line(self):
        server = self.server("--session", "work")
        server.text("rlm_exec", code="x = 7")
        server.end()
        self.assertIn("7", self.server("--session=work").text("rlm_exec", code="x"))

    def test_state_is_for_its_owner_alone(self):
        server = self.conversation("one")
        server.text("rlm_exec", code="x = 1")
        server.end()
        kept = []
        for folder, _, names in os.walk(os.path.join(self.state, "caisson", "mcp")):
            self.assertEqual(os.stat(folder).st_mode & 0o077, 0, folder)
            kept += names
        self.assertTrue(any(name.endswith(".snapshot") for name in kept), kept)

    def test_no_variable_of_the_server_can_be_found_inside(self):
        secrets = {"ANTHROPIC_API_KEY": "CANARY-key", "AWS_SECRET_ACCESS_KEY": "CANARY-aws",
                   "CLAUDE_CODE_SESSION_ID": "CANARY-session", "ANY_OTHER": "CANARY-other"}
        server = self.server(env=secrets)
        self.assertEqual(server.text("rlm_exec", code=SEARCH), "[]")
        # The search itself works.
        server.text("rlm_exec", code="os.environ['PLANTED'] = 'CANARY'")
        self.assertEqual(server.text("rlm_exec", code=SEARCH), "['PLANTED']")

    def test_no_network_and_no_files_of_the_host(self):
        server = self.server()
        path = self.file("project/file.txt", "here")
        self.assertIn("FileNotFoundError", server.fails("rlm_exec", code=f"open({path!r})"))
        code = ("import socket\ns = socket.socket()\ns.settimeout(2)\n"
                "print(s.connect_ex(('1.1.1.1', 53)) != 0, s.connect_ex(('127.0.0.1', 22)) != 0)")
        self.assertEqual(server.text("rlm_exec", code=code), "True True")

    def test_a_workspace_can_be_given(self):
        folder = self.folder("work")
        self.file("work/in.txt", "from outside")
        server = self.server("--workspace", folder)
        code = "open('/workspace/out.txt', 'w').write('inside')\nopen('/workspace/in.txt').read()"
        self.assertEqual(server.text("rlm_exec", code=code), "'from outside'")
        with open(os.path.join(folder, "out.txt")) as out:
            self.assertEqual(out.read(), "inside")

    def test_words_behind_the_dashes_are_policy(self):
        server = self.server("--", "--env", "GREETING=hello")
        self.assertEqual(
            server.text("rlm_exec", code="import os; os.environ.get('GREETING')"), "'hello'")

    def test_a_policy_that_cannot_be_is_told_and_nothing_weaker_is_run(self):
        server = self.server("--", "--tier", "nonsense")
        self.assertTrue(server.fails("rlm_exec", code="1").startswith("Error: "))
