"""`caisson session`: a thin client that starts its server when none runs."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import threading
import unittest

import harness
from harness import Server, ServerTest, wait_for


class Commands(ServerTest):
    WORDS = ()

    def run_ok(self, *words, **more):
        ended = self.server.cli(*words, **more)
        self.assertEqual(ended.code, 0, ended)
        return ended

    def fresh(self, *words):
        name = self.run_ok("new", *words).out.strip()
        self.addCleanup(self.server.cli, "kill", name)
        return name

    def test_state_lasts_between_commands(self):
        name = self.fresh()
        self.run_ok("exec", name, "-c", "x = 6 * 7")
        ended = self.run_ok("exec", name, "-c", "print('hello')\nx")
        self.assertEqual((ended.out, ended.err), ("hello\n42\n", ""))

    def test_code_from_a_file_and_from_stdin(self):
        name = self.fresh()
        path = os.path.join(self.server.project, "code.py")
        with open(path, "w") as out:
            out.write("print('from a file')\n")
        self.assertEqual(self.run_ok("exec", name, "code.py").out, "from a file\n")
        self.assertEqual(self.run_ok("exec", name, stdin=b"print('piped')").out, "piped\n")

    def test_exit_codes(self):
        name = self.fresh()
        raised = self.server.cli("exec", name, "-c", "print('before')\n1 / 0")
        self.assertEqual((raised.code, raised.out), (1, "before\n"), raised)
        self.assertIn("ZeroDivisionError", raised.err)
        self.assertNotIn("\x1b", raised.err)
        late = self.server.cli("exec", name, "--timeout", "200ms", "-c", "while True: pass")
        self.assertEqual(late.code, 124, late)
        nowhere = self.server.cli("exec", "nowhere", "-c", "1")
        self.assertEqual(nowhere.code, 125, nowhere)
        self.assertRegex(nowhere.err, r"^caisson: .*\nhint: .*\n$")

    def test_output_streams(self):
        """A line is there while the code still runs."""
        name = self.fresh()
        child = subprocess.Popen(
            [harness.BINARY, "session", "exec", name, "-c",
             "import time\nprint('early', flush=True)\ntime.sleep(30)"],
            env=self.server.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (child.kill(), child.communicate()))
        self.assertEqual(child.stdout.readline(), b"early\n")
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGINT)
        child.wait(timeout=harness.DEADLINE)
        # The client is gone, and its call with it: the next one need not wait 30 seconds.
        self.assertEqual(self.run_ok("exec", name, "-c", "1").out, "1\n")

    def test_json_of_everything_that_reports(self):
        name = self.fresh()
        self.run_ok("exec", name, "-c", "x = 1")
        answer = self.run_ok("exec", name, "--json", "-c", "print(1)\n2").json
        self.assertEqual((answer["status"], answer["output"]), ("ok", "1\n"))
        listed = {s["name"]: s for s in self.run_ok("list", "--json").json["sessions"]}
        line = next(line for line in self.run_ok("list").out.splitlines() if line.startswith(name + " "))
        self.assertEqual(line.split()[1:4], ["idle", listed[name]["python"], listed[name]["shell"]])
        self.assertEqual(self.run_ok("vars", name, "--json").json["variables"][0]["name"], "x")
        self.assertEqual(self.run_ok("get", name, "x", "--json").json["value"], 1)
        self.assertIn("checkpoint", self.run_ok("checkpoint", name, "c", "--json").out)
        json.loads(self.run_ok("reset", name, "--json").out)
        other = self.run_ok("new", "--json").json["name"]
        self.assertEqual(self.run_ok("kill", other, "--json").json["ended"], other)

    def test_values(self):
        name = self.fresh()
        self.run_ok("set", name, "text", "--text", "\U0001f600")
        self.assertEqual(self.run_ok("get", name, "text").out, '"\U0001f600"\n')
        self.run_ok("set", name, "data", "--as", "json", stdin=b'{"a": [1]}')
        self.assertEqual(self.run_ok("get", name, "-e", "data['a'][0] + 1").out, "2\n")
        self.assertIn("data: dict (1) = {'a': [1]}\n", self.run_ok("vars", name).out)
        for code, shown in (("1.5", "1.5"), ("[0.1, 100.0]", "[0.1,100.0]"), ("1e16", "1e+16"),
                            ("474.59380568556355", "474.59380568556355")):
            self.assertEqual(self.run_ok("get", name, "-e", code).out, shown + "\n")
        path = os.path.join(self.server.project, "loaded.txt")
        with open(path, "w") as out:
            out.write("from the host")
        self.run_ok("load", name, "loaded.txt", "loaded")
        self.assertEqual(self.run_ok("get", name, "loaded").out, '"from the host"\n')
        self.assertEqual(self.server.cli("get", name, "nowhere").code, 125)
        self.assertEqual(self.server.cli("get", name, "-e", "1/0").code, 1)

    def test_checkpoints_and_branches(self):
        name = self.fresh()
        self.run_ok("exec", name, "-c", "x = 1")
        self.run_ok("checkpoint", name, "one")
        self.assertEqual(self.run_ok("checkpoint", name, "--list").out, "one\n")
        branch = self.run_ok("branch", name, "cli-branch").out.strip()
        self.addCleanup(self.server.cli, "kill", branch)
        self.run_ok("exec", name, "-c", "x = 2")
        self.assertEqual(self.run_ok("get", branch, "x").out, "1\n")
        self.run_ok("restore", name, "one")
        self.assertEqual(self.run_ok("get", name, "x").out, "1\n")
        self.run_ok("checkpoint", name, "--drop", "one")
        self.assertEqual(self.run_ok("checkpoint", name, "--list").out, "")

    def test_a_checkpoint_that_could_not_be_named_again_is_not_made(self):
        name = self.fresh()
        for label in ("x/y", ".", "..", ".x", "a b", "é", "x" * 65):
            ended = self.server.cli("checkpoint", name, label)
            self.assertEqual(ended.code, 125, label)
            self.assertRegex(ended.err, r"^caisson: checkpoint \".*\": not a name\nhint: 1 to 64 of .*\n$")
        self.assertEqual(self.run_ok("checkpoint", name, "--list").out, "")
        self.run_ok("checkpoint", name, "x" * 64)
        self.run_ok("checkpoint", name, "--drop", "x" * 64)

    def test_snapshots_in_a_file(self):
        one, two = self.fresh(), self.fresh()
        self.run_ok("exec", one, "-c", "x = [1, 2]")
        self.run_ok("snapshot", "save", one, "file.snapshot")
        self.run_ok("snapshot", "restore", two, "file.snapshot")
        self.assertEqual(self.run_ok("get", two, "x").out, "[1,2]\n")

    def test_a_snapshot_as_large_as_one_may_be_comes_back(self):
        one, two = self.fresh(), self.fresh()
        self.run_ok("exec", one, "-c", "x, z = bytes(230 << 20), 3")
        self.assertIn("0 left out", self.run_ok("snapshot", "save", one, "large.snapshot").err)
        self.run_ok("snapshot", "restore", two, "large.snapshot")
        self.assertEqual(self.run_ok("get", two, "-e", "[len(x), z]").out, "[241172480,3]\n")
        self.run_ok("exec", one, "-c", "y = bytes(50 << 20)")
        saved = self.run_ok("snapshot", "save", one, "large.snapshot")
        self.assertRegex(saved.err, r"not in the snapshot: [xy] \(bytes\)")  # whichever takes longer
        self.assertIn("2 variables saved, 1 left out", saved.err)

    LOSERS = ("import socket, subprocess, threading\na, b = socket.socketpair()\n"
              "t = threading.Thread(target=threading.Event().wait, daemon=True)\nt.start()\n"
              "p = subprocess.Popen(['sleep', '1000'])")
    NOT_KEPT = r"not kept: 1 thread, \d pipes? (and|or) sockets?, 1 subprocess \(there, poll"

    def test_what_a_checkpoint_could_not_hold_is_told(self):
        name = self.fresh()
        self.run_ok("exec", name, "-c", self.LOSERS)
        self.assertRegex(self.run_ok("checkpoint", name, "c").err, "checkpoint c; " + self.NOT_KEPT)
        made = self.run_ok("branch", name)
        self.addCleanup(self.server.cli, "kill", made.out.strip())
        self.assertRegex(made.err, self.NOT_KEPT)
        self.assertRegex(self.run_ok("restore", name, "c").err, "back at c; " + self.NOT_KEPT)
        plain = self.fresh()
        self.assertEqual(self.run_ok("checkpoint", plain, "c").err, "caisson: checkpoint c\n")
        other = self.run_ok("branch", plain)
        self.addCleanup(self.server.cli, "kill", other.out.strip())
        self.assertEqual(other.err, "")

    def test_checkpoints_are_listed_as_a_tree(self):
        name = self.fresh()
        for label, back in (("one", None), ("two", None), ("three", "one"), ("four", None)):
            if back:
                self.run_ok("restore", name, back)
            self.run_ok("exec", name, "-c", f"x = {label!r}")
            self.run_ok("checkpoint", name, label)
        self.assertEqual(self.run_ok("checkpoint", name, "--list").out,
                         "one\n  two\n  three\n    four\n")

    def test_a_value_that_was_cut_is_told(self):
        name = self.fresh()
        self.run_ok("exec", name, "-c", "x = 'x' * 2_000_000")
        cut = self.run_ok("get", name, "x")
        self.assertEqual(len(cut.out), (1 << 20) + 1)
        self.assertRegex(cut.err, r"^caisson: the value is longer: 1048576 .*--max-bytes.*\n$")
        whole = self.run_ok("get", name, "x", "--max-bytes", "3M")
        self.assertEqual((len(whole.out), whole.err), (2_000_003, ""))

    def test_a_get_that_ran_out_of_time_is_told(self):
        name = self.fresh("--timeout", "1s")
        self.run_ok("exec", name, "-c", "class Q:\n    def __repr__(self):\n        while 1: pass\nq = Q()")
        late = self.server.cli("get", name, "q")
        self.assertEqual((late.code, late.out), (124, ""), late)
        self.assertIn("caisson: the call ran out of time", late.err)

    def test_what_a_snapshot_leaves_out_is_named(self):
        name = self.fresh()
        self.run_ok("exec", name, "-c", "x = 1\ndef forever():\n    yield\ng = forever()")
        saved = self.run_ok("snapshot", "save", name, "part.snapshot")
        self.assertRegex(saved.err, r"caisson: not in the snapshot: g \(generator\): .+\n")
        self.assertIn("left out", saved.err)
        back = self.run_ok("snapshot", "restore", self.fresh(), "part.snapshot")
        self.assertRegex(back.err, r"not in the snapshot: g \(generator\): .+\n")

    def test_a_file_that_is_no_snapshot_is_named(self):
        name = self.fresh()
        for data in (b"QUJD\n", b"not base64", b"\xff\xfe", b""):
            with open(os.path.join(self.server.project, "wrong.snapshot"), "wb") as out:
                out.write(data)
            ended = self.server.cli("snapshot", "restore", name, "wrong.snapshot")
            self.assertEqual(ended.code, 125, data)
            self.assertRegex(ended.err, r"^caisson: wrong\.snapshot: ", data)
            self.assertNotIn("passing", ended.err)
            self.assertNotIn("data", ended.err)

    def test_the_end_of_a_session_names_its_branches(self):
        name = self.fresh()
        for branch, of in (("twig-1", name), ("twig-2", "twig-1")):
            self.run_ok("branch", of, branch)
        self.assertEqual(self.run_ok("kill", name).err, f"caisson: ended {name}, and its branches: twig-1 twig-2\n")
        self.assertNotIn("twig", self.run_ok("list").out)
        again = self.fresh("twig-1")  # the name is free
        self.assertEqual(again, "twig-1")

    def test_a_branch_ends_alone(self):
        name = self.fresh()
        self.run_ok("branch", name, "alone")
        self.assertEqual(self.run_ok("kill", "alone").err, "caisson: ended alone\n")
        self.run_ok("exec", name, "-c", "1")

    def test_code_that_is_not_utf8_is_told_and_a_mark_is_taken_off(self):
        name = self.fresh()
        for data, code in ((b"print('\xe9')", 125), (b"\xef\xbb\xbfprint(1)", 0)):
            with open(os.path.join(self.server.project, "code.py"), "wb") as out:
                out.write(data)
            ended = self.server.cli("exec", name, "code.py")
            self.assertEqual(ended.code, code, ended)
        told = self.server.cli("exec", name, stdin=b"'\xff'")
        self.assertRegex(told.err, r"^caisson: stdin: not UTF-8\nhint: .*\n$")

    def test_what_is_given_twice_is_a_mistake(self):
        name = self.fresh()
        for words in (("exec", name, "-c", "1", "no.py"), ("get", name, "x", "-e", "1"),
                      ("set", name, "x", "no", "--text", "1")):
            ended = self.server.cli(*words)
            self.assertEqual((ended.code, ended.out), (125, ""), ended)
            self.assertRegex(ended.err, r"^caisson: session \w+: .* at once\nhint: one or the other\n$")

    def test_an_interrupt_of_nothing_says_so(self):
        name = self.fresh()
        self.assertEqual(self.run_ok("interrupt", name).err, f"caisson: nothing runs in {name}\n")
        running = threading.Thread(target=self.server.cli, args=("exec", name, "-c", "import time\ntime.sleep(60)"))
        running.start()
        wait_for(lambda: self.ask("GET", f"/v1/sessions/{name}").json["busy"], "a busy session")
        self.assertEqual(self.run_ok("interrupt", name).err, f"caisson: interrupted {name}\n")
        running.join()

    def test_a_name_of_nothing_is_a_mistake(self):
        name = self.fresh()
        for words in (("new", ""), ("get", name, ""), ("load", name, "", "v"), ("exec", "")):
            ended = self.server.cli(*words)
            self.assertEqual((ended.code, ended.out), (125, ""), ended)
            self.assertRegex(ended.err, r'^caisson: session \w+: "" names nothing\nhint: .*\n$')

    def test_what_is_no_module_and_no_python_is_told_with_a_way_out(self):
        for words, what, hint in ((("--preload", "numpy,pandas"), "not a module's name", "--preload numpy --preload"),
                                  (("--python", "/bin/ls"), "did not start", "is /bin/ls a Python?")):
            ended = self.server.cli("new", *words)
            self.assertEqual(ended.code, 125, ended)
            self.assertRegex(ended.err, rf"^caisson: .*{what}.*\nhint: .*{re.escape(hint)}.*\n$")

    def test_any_size_that_the_session_has_memory_for_is_set_and_loaded(self):
        path = os.path.join(self.server.project, "large")
        with open(path, "wb") as file:
            file.truncate(450 << 20)
        self.addCleanup(os.unlink, path)
        # Each in a session of its own: the value before it, and the checkpoint that has it, are memory too.
        for words in ("set {} x large --as bytes", "load {} large x --as bytes", "set {} x large",
                      "load {} large x --as text", "set {} x - --as bytes"):
            name = self.fresh("--memory", "500M")
            piped = ["sh", "-c", f'cat large | "$0" session {words.format(name)}', harness.BINARY]
            ran = subprocess.run(piped, cwd=self.server.project, env=self.server.env, capture_output=True, check=False)
            self.assertEqual(ran.returncode, 0, (words, ran))
            self.assertEqual(self.run_ok("exec", name, "-c", "len(x)").out, f"{450 << 20}\n", words)
            self.run_ok("kill", name)

    def test_a_value_that_is_larger_than_the_memory_is_refused_before_it_is_read(self):
        name = self.fresh("--memory", "100M")
        path = os.path.join(self.server.project, "larger")
        with open(path, "wb") as file:
            file.truncate(101 << 20)
        self.addCleanup(os.unlink, path)
        with open(path, "rb") as file:
            piped = file.read()
        for told in (self.server.cli("set", name, "x", "larger"), self.server.cli("set", name, "x", stdin=piped)):
            self.assertEqual(told.code, 125, told)
            self.assertIn(f"at most {100 << 20} bytes", told.err)
        self.assertEqual(self.server.cli("get", name, "x").code, 125)

    def test_a_large_value_for_a_session_that_is_not_there(self):
        told = self.server.cli("set", "nobody", "x", stdin=bytes(5 << 20))
        self.assertEqual((told.code, told.err.splitlines()[0]), (125, "caisson: there is no such session"))

    def test_a_guessed_encoding_is_told_and_can_be_settled(self):
        name = self.fresh()
        text = "Сегодня мы прочитали файл и записали результаты в таблицу."
        with open(os.path.join(self.server.project, "koi8.txt"), "wb") as file:
            file.write(text.encode("koi8-r"))
        for words in (("set", name, "x", "koi8.txt"), ("load", name, "koi8.txt", "x")):
            self.assertEqual(self.run_ok(*words).err,
                             "caisson: read as koi8_u, which is a guess: load takes an encoding\n")
            self.assertEqual(self.run_ok("exec", name, "-c", "print(x)").out, text + "\n")
        self.assertEqual(self.run_ok("load", name, "koi8.txt", "x", "--encoding", "koi8-r").err, "")
        with open(os.path.join(self.server.project, "chance.bin"), "wb") as file:
            file.write(bytes(range(256)))
        self.assertEqual(self.run_ok("load", name, "chance.bin", "x").err, "caisson: not text: loaded as bytes\n")
        wrong = self.server.cli("load", name, "koi8.txt", "x", "--encoding", "klingon")
        self.assertEqual((wrong.code, "no encoding of text is called 'klingon'" in wrong.err), (1, True), wrong)

    def test_a_folder_is_not_set(self):
        name = self.fresh()
        told = self.server.cli("set", name, "x", ".")
        self.assertEqual((told.code, told.err.splitlines()[0]), (125, "caisson: . is a folder"))

    def test_the_path_of_a_python_begins_where_the_command_is(self):
        name = self.fresh("--python", os.path.relpath("/usr/bin/python3", os.path.realpath(self.server.project)))
        self.assertIn("python3", self.run_ok("exec", name, "-c", "import sys; sys.executable").out)

    def test_a_session_that_had_nothing_comes_back_with_nothing(self):
        name = self.fresh("empty")
        self.run_ok("kill", name, "--save")
        self.assertIn("the snapshot had no variables", self.run_ok("new", "empty", "--resume").err)

    def test_mistakes_are_told(self):
        for words, part in ((["nwe"], "new"), ([], "--help"), (["exec"], "exec NAME"),
                            (["new", "--memry", "1G"], "--memory"), (["snapshot", "x"], "session"),
                            (["list", "surplus"], "list"), (["new", "--memory"], "value")):
            ended = self.server.cli(*words)
            self.assertEqual((ended.code, ended.out), (125, ""), ended)
            self.assertRegex(ended.err, r"^caisson: .*\nhint: .*\n$")
            self.assertIn(part, ended.err)

    def test_a_hint_is_a_command(self):
        """What the server answers is read by people at the command line, too."""
        name = self.fresh()
        for words, hint in ((("exec", "nowhere", "-c", "1"), "caisson session list"),
                            (("get", name, "nothing"), "caisson session vars")):
            self.assertIn(hint, self.server.cli(*words).err)

    def test_help_fits(self):
        for word in ("session", "serve"):
            text = subprocess.run([harness.BINARY, word, "--help"], env=self.server.env,
                                  stdout=subprocess.PIPE, check=True, timeout=10).stdout.decode()
            self.assertLessEqual(len(text.splitlines()), 60)
            self.assertEqual([line for line in text.splitlines() if len(line) > 100], [])
            self.assertIn(f"caisson {word}", text.splitlines()[0])

    def terminal(self, *words):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(harness.BINARY, [harness.BINARY, "session", *words], self.server.env)
        self.addCleanup(os.close, fd)
        return pid, fd

    def until(self, fd, text):
        got = b""
        while text not in got:
            self.assertTrue(select.select([fd], [], [], harness.DEADLINE)[0], got)
            try:
                piece = os.read(fd, 4096)
            except OSError:
                piece = b""
            if not piece:
                self.fail(f"{text!r} did not come: {got!r}")
            got += piece
        return got

    def test_attach_is_a_dialogue(self):
        name = self.fresh()
        pid, fd = self.terminal("attach", name)
        self.until(fd, b">>> ")
        os.write(fd, b"x = 20\n")
        self.until(fd, b">>> ")
        os.write(fd, b"for i in range(2):\n")
        self.until(fd, b"... ")
        os.write(fd, b"  print(x + i)\n\n")
        self.assertIn(b"20\r\n21\r\n", self.until(fd, b">>> "))
        os.write(fd, b"import time; time.sleep(60)\n")
        wait_for(lambda: self.ask("GET", f"/v1/sessions/{name}").json["busy"], "a busy session")
        while not select.select([fd], [], [], 0.2)[0] or b">>> " not in os.read(fd, 4096):
            os.write(fd, b"\x03")
        os.write(fd, b"print('still', x)\n")
        self.until(fd, b"still 20")
        os.write(fd, b"\x04")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_a_terminal_sees_no_commands(self):
        """Output of the code can't steer the terminal (T42)."""
        name = self.fresh()
        pid, fd = self.terminal("exec", name, "-c",
                                "print('a\\x1b]52;c;eA==\\x07b\\x1b[31mred\\x1b[0m end')")
        got = self.until(fd, b"end")
        os.waitpid(pid, 0)
        self.assertNotIn(b"52;c", got)
        self.assertIn(b"ab\x1b[31mred", got)


    def test_nor_does_a_value(self):
        """What `get` shows is the code's own text, too (T42)."""
        name = self.fresh()
        self.run_ok("exec", name, "-c",
                         "class Loud:\n  def __repr__(self): "
                         "return 'a\\x1b]52;c;eA==\\x07b\\x1b[2J\\x9b5nend'\nx = Loud()")
        for words in (["get", name, "x"], ["get", name, "x", "--json"]):
            pid, fd = self.terminal(*words)
            got = self.until(fd, b"end")
            os.waitpid(pid, 0)
            for steering in (b"\x1b]", b"\x1b[2J", b"\xc2\x9b"):
                self.assertNotIn(steering, got)


class OwnServer(unittest.TestCase):
    """Without a server, `new` starts one; two at once start one."""

    def setUp(self):
        self.server = Server(start=False)
        self.addCleanup(self.server.close)
        self.addCleanup(self.stop_servers)

    def stop_servers(self):
        for pid in self.servers():
            os.kill(pid, signal.SIGTERM)
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "the server's end")

    def servers(self):
        """The one that answers. (By their words they can't be counted: what a server clones has
        the same ones until it becomes something else.)"""
        try:
            return [self.server.ask("GET", "/v1/health").json["pid"]]
        except (FileNotFoundError, ConnectionRefusedError):
            return []

    def starts(self):
        with open(os.path.join(self.server.folder, "serve.log")) as log:
            return len(log.read().splitlines())

    def test_one_server_for_many_starters(self):
        self.assertEqual(self.server.cli("list").out, "")
        self.assertEqual(self.servers(), [])  # a question starts nothing
        names, threads = [], []
        for _ in range(4):
            thread = threading.Thread(target=lambda: names.append(self.server.cli("new")))
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()
        self.assertEqual([each.code for each in names], [0] * 4, names)
        self.assertEqual(len({each.out for each in names}), 4)
        self.assertEqual(self.starts(), 1)  # one line: "serving on …", nobody found it taken
        pid = self.servers()[0]
        self.assertEqual(os.getsid(pid), pid)  # not in the terminal's session
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
        self.assertEqual(os.readlink(f"/proc/{pid}/fd/0"), "/dev/null")
        for each in names:
            self.server.cli("kill", each.out.strip())

    def test_a_server_that_was_stopped_comes_back_with_its_sessions(self):
        name = self.server.cli("new").out.strip()
        self.assertEqual(self.server.cli("exec", name, "-c", "x = 7").code, 0)
        self.stop_servers()
        self.assertEqual(self.servers(), [])
        self.assertEqual(self.server.cli("exec", name, "-c", "x").out, "7\n")
        self.assertEqual(self.server.cli("kill", name).code, 0)
