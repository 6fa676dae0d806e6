"""Whose session is whose, what lasts beyond a server, and what never gets in."""
import glob
import os
import subprocess
import time

from harness import DEADLINE, SYSTEM_PATH, McpTest, without_notes

SEARCH = r'''
import os, subprocess, sys, sysconfig
found = []
def look(path):
    try:
        with open(path, "rb") as file:
            if b"CANARY" in file.read(1 << 20): found.append(path)
    except OSError: pass
for key, value in os.environ.items():
    if "CANARY" in value or "ANTHROPIC" in key: found.append(key)
if any("CANARY" in text for text in (*sys.path, sys.executable, *sysconfig.get_paths().values())):
    found.append("sys")
for command in ("env", "set"):
    if b"CANARY" in subprocess.run(command, shell=True, stdout=-1).stdout: found.append(command)
for pid in os.listdir("/proc"):
    if pid.isdigit():
        for name in ("environ", "cmdline", "stat", "comm"): look(f"/proc/{pid}/{name}")
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
        on a machine that is busy. Until then there is a mark that it is not."""
        own = os.path.join(self.state, "caisson", "mcp", "scopes", "*", "own")
        end = time.monotonic() + DEADLINE
        while len(glob.glob(own + "/*.snapshot")) < count or glob.glob(own + "/*.unsaved"):
            self.assertLess(time.monotonic(), end, "no snapshot")
            time.sleep(0.01)

    def start_without_end(self, server, code, session="main"):
        """A call that never comes to an end has begun: while it runs, nothing is saved."""
        loop = "\nimport time\nwhile True:\n  print(1, flush=True)\n  time.sleep(0.01)"
        server.start_call("rlm_exec", token=1, code=code + loop, timeout=100, session=session)
        server.wait_for(lambda m: m.get("method") == "notifications/progress")

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

    def test_state_that_was_not_saved_is_told_once(self):
        server = self.conversation("one")
        server.text("rlm_exec", code="x = 1")
        self.await_saved()
        self.start_without_end(server, "x = 2")
        server.process.kill()
        server.process.wait(DEADLINE)
        again = self.conversation("one")
        text = again.text("rlm_exec", code="x")
        self.assertRegex(text, r"state since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC was not saved")
        self.assertIn("variables of the snapshot are back", text)
        self.assertEqual(without_notes(text), "1")
        self.assertEqual(again.text("rlm_exec", code="x"), "1")
        self.await_saved()
        again.process.kill()
        again.process.wait(DEADLINE)
        self.assertNotIn("state since", self.conversation("one").text("rlm_exec", code="x"))

    def test_a_session_of_which_nothing_was_saved_is_told(self):
        server = self.conversation("one")
        self.start_without_end(server, "x = 2")
        server.process.kill()
        server.process.wait(DEADLINE)
        again = self.conversation("one")
        self.assertIn("nothing of before either", again.text("rlm_exec", code="1"))
        self.assertEqual(again.text("rlm_vars"), "(no variables)")

    def test_state_that_takes_longer_than_the_end_is_told(self):
        slow = ("class Slow:\n  def __reduce__(self):\n    import time; time.sleep(20)\n"
                "    return int, ()\nx = Slow()")
        for name, end in (("eof", lambda server: server.process.stdin.close()),
                          ("term", lambda server: server.process.terminate())):
            with self.subTest(name):
                server = self.conversation(name)
                server.text("rlm_exec", code=slow)
                end(server)
                self.assertEqual(server.process.wait(DEADLINE), 0)
                self.assertIn("was not saved", self.conversation(name).text("rlm_exec", code="1"))

    def test_a_branch_is_saved_at_the_end_with_its_parent(self):
        server = self.conversation("one")
        server.text("rlm_exec", code="x = 1; open('f', 'w').write('of main')")
        server.text("rlm_branch", new_session="twig")
        server.text("rlm_exec", code="x = 2; open('f', 'w').write('of twig')", session="twig")
        self.await_saved(2)
        server.end()
        again = self.conversation("one")
        for session, value in (("main", 1), ("twig", 2)):
            text = again.text("rlm_exec", code="x, open('f').read()", session=session)
            self.assertIn(f"({value}, 'of {session}')", text)
            self.assertNotIn("was not saved", text)

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
        self.await_saved()
        first.end()
        second.end()
        third = self.conversation("one")
        self.assertIn("x", third.text("rlm_vars"))
        self.assertNotIn("y", third.text("rlm_vars"))

    def test_a_session_can_be_named_on_the_command_line(self):
        server = self.server("--session", "work")
        server.text("rlm_exec", code="x = 7")
        self.await_saved()
        server.end()
        self.assertIn("7", self.server("--session=work").text("rlm_exec", code="x"))

    def test_state_is_for_its_owner_alone(self):
        server = self.conversation("one")
        server.text("rlm_exec", code="x = 1")
        self.await_saved()
        server.end()
        kept = []
        for folder, _, names in os.walk(os.path.join(self.state, "caisson", "mcp")):
            self.assertEqual(os.stat(folder).st_mode & 0o077, 0, folder)
            kept += names
        self.assertTrue(any(name.endswith(".snapshot") for name in kept), kept)

    def test_no_variable_of_the_server_can_be_found_inside(self):
        secrets = {"ANTHROPIC_API_KEY": "CANARY-key", "AWS_SECRET_ACCESS_KEY": "CANARY-aws",
                   "CLAUDE_CODE_SESSION_ID": "CANARY-session", "ANY_OTHER": "CANARY-other"}
        # Those that the server itself, or `caisson exec`, has a use for.
        folder = self.folder("CANARY/bin")
        used = {"PATH": f"{folder}:{SYSTEM_PATH}:{folder}/more", "HOME": self.folder("CANARY/home"),
                "LANG": "CANARY.UTF-8", "LC_ALL": "CANARY.UTF-8", "LANGUAGE": "CANARY",
                "TZ": "CANARY", "TERM": "CANARY", "USER": "CANARY",
                "TMPDIR": self.folder("CANARY/tmp"), "XDG_RUNTIME_DIR": self.folder("CANARY/run")}
        for words in ((), ("--", "--memory", "1G")):  # a fork of the zygote, and a cell of its own
            with self.subTest(words):
                secrets["CLAUDE_CODE_SESSION_ID"] += str(len(words))
                server = self.server(*words, env={**secrets, **used})
                self.assertEqual(server.text("rlm_exec", code=SEARCH), "[]")
                self.assertNotIn("CANARY", server.text("rlm_exec", code="!env; echo $PATH"))
                # The search itself works.
                server.text("rlm_exec", code="os.environ['PLANTED'] = 'CANARY'")
                self.assertEqual(server.text("rlm_exec", code=SEARCH), "['PLANTED', 'env', 'set']")

    def test_the_interpreter_is_found_by_the_servers_path_and_its_folder_alone_is_inside(self):
        venv = os.path.join(self.home, "venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
        server = self.server(env={"PATH": f"{self.folder('CANARY')}:{venv}/bin:{SYSTEM_PATH}"})
        self.assertEqual(server.text("rlm_exec", code="import sys; sys.prefix"), repr(venv))
        self.assertEqual(server.text("rlm_exec", code="import os; os.environ['PATH']"),
                         repr(f"{venv}/bin:{SYSTEM_PATH}"))

    def test_a_path_that_the_policy_names_is_there(self):
        folder = self.folder("named")
        code = "import os; os.environ['PATH']"
        for words, path in ((("--env", f"PATH=/usr/bin:{folder}"), f"/usr/bin:{folder}"),
                            (("--env-pass", "PATH"), f"{SYSTEM_PATH}:{folder}")):
            with self.subTest(words):
                server = self.server("--", *words, env={"PATH": f"{SYSTEM_PATH}:{folder}"})
                self.assertEqual(server.text("rlm_exec", code=code), repr(path))

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
