"""Each verdict, made for real, and the exit code that goes with it."""
import os

from harness import PYTHON, CliTest


class Status(CliTest):
    def verdict(self, *words, **how):
        result = self.exec_json(*words, **how)
        self.assertTrue(result["reason"])
        return result["status"], result["returncode"]

    def memory_is_a_cgroup(self):
        held = self.caisson("explain", "--json", "true").json["limits"]["enforced_by"]["memory"]
        return held.startswith("cgroup")

    def test_ok(self):
        self.assertEqual(self.verdict("true"), ("ok", 0))

    def test_exited(self):
        for code in (1, 3, 77, 255):
            self.assertEqual(self.verdict("sh", "-c", f"exit {code}"), ("exited", code))

    def test_the_programs_own_124_to_127_are_its_own(self):
        for code in (124, 125, 126, 127):
            self.assertEqual(self.verdict("sh", "-c", f"exit {code}"), ("exited", code))

    def test_signalled(self):
        for number in (9, 15, 6, 11, 2):
            with self.subTest(number):
                self.assertEqual(self.verdict("sh", "-c", f"kill -{number} $$"),
                                 ("signalled", 128 + number))

    def test_timeout(self):
        self.assertEqual(self.verdict("--timeout", "200ms", "sleep", "60"), ("timeout", 124))

    def test_a_timeout_keeps_the_output_so_far(self):
        result = self.exec_json("--timeout", "1500ms", "sh", "-c", "echo early; sleep 60")
        self.assertEqual((result["status"], result["stdout"]), ("timeout", "early\n"))

    def test_oom(self):
        code = "x = []\nwhile True: x.append(bytearray(1 << 20))"
        verdict = self.verdict("--memory", "40M", PYTHON, "-c", code)
        if self.memory_is_a_cgroup():
            self.assertEqual(verdict, ("oom", 137))
        else:  # without a cgroup the kernel refuses, and the program says so itself
            self.assertEqual(verdict, ("exited", 1))

    def test_oom_of_a_child_is_the_cells(self):
        code = ("import os\nif os.fork() == 0:\n  x = []\n"
                "  while True: x.append(bytearray(1 << 20))\n"
                "os.wait(); print('went on')")
        result = self.exec_json("--memory", "40M", PYTHON, "-c", code)
        if self.memory_is_a_cgroup():
            self.assertEqual((result["status"], result["stdout"]), ("oom", ""), result)
            self.assertGreaterEqual(result["usage"]["oom_kills"], 1)
        else:
            self.assertEqual(result["status"], "ok", result)

    def test_oom_is_told(self):
        ended = self.exec("--memory", "40M", PYTHON, "-c", "x = bytearray(400 << 20)")
        if self.memory_is_a_cgroup():
            self.assertEqual(ended.code, 137, ended)
            self.assertEqual(ended.err, "caisson: the memory limit was reached\n"
                                        "hint: --memory raises it\n")
        else:
            self.assertIn("MemoryError", ended.err)

    def test_limit_by_file_size(self):
        verdict = self.verdict("--fsize", "1M", "dd", "if=/dev/zero", "of=/tmp/x", "bs=1M",
                               "count=3")
        self.assertEqual(verdict, ("limit", 128 + 25))

    def test_a_limit_is_told_with_the_flag_that_raises_it(self):
        ended = self.exec("--fsize", "1M", "dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=3")
        self.assertRegex(ended.err, r"^caisson: .*file size limit.*\nhint: .*--fsize")
        ended = self.exec("--output-limit", "10K", "--timeout", "20s", "yes")
        self.assertRegex(ended.err, r"(?s)caisson: .*flooded.*\nhint: .*--output-limit")

    def test_limit_by_a_flood_of_output(self):
        status, code = self.verdict("--output-limit", "10K", "--timeout", "20s", "yes")
        self.assertEqual((status, code), ("limit", 137))

    def test_setup_error(self):
        self.assertEqual(self.verdict("--mount", "/nowhere:/x", "true"), ("setup_error", 125))
        self.assertEqual(self.verdict("not-a-command"), ("setup_error", 127))
        self.assertEqual(self.verdict("/usr"), ("setup_error", 126))

    def test_the_first_verdict_wins(self):
        """A program that is out of time and dies of it by a signal is out of time."""
        script = "trap 'exit 0' TERM; sleep 60 & wait"
        self.assertEqual(self.verdict("--timeout", "300ms", "sh", "-c", script), ("timeout", 124))


class ExitCodes(CliTest):
    def test_the_programs_own(self):
        for code in (0, 1, 42, 255):
            self.assertEqual(self.exec("sh", "-c", f"exit {code}").code, code)

    def test_124_is_a_timeout(self):
        self.assertEqual(self.exec("--timeout", "100ms", "sleep", "60").code, 124)

    def test_125_is_a_cell_that_could_not_be_made(self):
        self.assertEqual(self.exec("--pids", "none", "true").code, 125)
        os.chmod(self.state, 0o777)  # others could write the record: not used
        os.mkdir(self.state + "/caisson", 0o777)
        os.chmod(self.state + "/caisson", 0o777)
        self.assert_refused(self.exec("echo", "started"), "caisson")

    def test_126_is_found_but_not_executable(self):
        self.file("project/data", "text", 0o644)
        for word in ("./data", "/usr", "/etc/passwd"):
            with self.subTest(word):
                ended = self.exec(word)
                self.assertEqual((ended.code, ended.out), (126, ""), ended)
                self.assertEqual(len(ended.err.splitlines()), 2, ended)
                self.assertIn(word, ended.err)

    def test_a_script_without_a_first_line_runs_as_execvp_runs_it(self):
        self.file("project/plain", "echo plain \"$1\"; exit 4\n", 0o755)
        ended = self.exec("./plain", "x")
        self.assertEqual((ended.code, ended.out), (4, "plain x\n"), ended)

    def test_127_is_not_found(self):
        for word in ("no-such-command", "./no-such-file", "/no/such/path"):
            with self.subTest(word):
                ended = self.exec(word)
                self.assertEqual((ended.code, ended.out), (127, ""), ended)
                self.assertEqual(len(ended.err.splitlines()), 2, ended)
                self.assertIn(word, ended.err)

    def test_127_is_a_script_whose_interpreter_is_missing(self):
        self.file("project/script", "#!/no/such/interpreter\n", 0o755)
        ended = self.exec("./script")
        self.assertIn(ended.code, (126, 127), ended)
        self.assertIn("script", ended.err)

    def test_128_and_the_signal(self):
        for number in (1, 2, 9, 15):
            self.assertEqual(self.exec("sh", "-c", f"kill -{number} $$").code, 128 + number)

    def test_a_signal_is_told_by_the_code_alone(self):
        self.assertEqual(self.exec("sh", "-c", "kill -9 $$").err, "")

    def test_the_way_a_command_is_looked_up(self):
        self.file("project/bin/tool", "#!/bin/sh\necho tool \"$@\"\n", 0o755)
        self.assertEqual(self.exec("bin/tool", "a").out, "tool a\n")
        path = self.project + "/bin:" + self.env["PATH"]
        self.assertEqual(self.exec("tool", "b", env={"PATH": path}).out, "tool b\n")
        self.assertEqual(self.exec("tool").code, 127)

    def test_the_first_word_that_is_no_option_ends_them(self):
        self.assertEqual(self.exec("echo", "--timeout", "x").out, "--timeout x\n")
        self.assertEqual(self.exec("--pids", "50", "--", "echo", "--", "-v").out, "-- -v\n")
        self.assertEqual(self.exec("--", "--timeout").code, 127)
