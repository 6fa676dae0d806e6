"""Bad input: one line that names it, a suggestion, exit 125; nothing started, nothing left."""
import os
import socket

from harness import CliTest


class BadInput(CliTest):
    def refused(self, words, *parts):
        with self.subTest(" ".join(words)):
            self.assert_refused(self.exec(*words), *parts)
            self.assert_nothing_left()

    def test_an_unknown_flag_with_what_was_meant(self):
        for wrong, right in (("--timout", "--timeout"), ("--memmory", "--memory"),
                             ("--jsonoutput", "--json-output"), ("--dryrun", "--dry-run"),
                             ("--mounts", "--mount"), ("--no-netwrok", "--no-network")):
            self.refused([wrong, "1", "echo", "started"], wrong, f"did you mean {right}?")

    def test_an_unknown_flag_like_no_other(self):
        for wrong in ("--quantum-entangled", "-Z", "-vv8", "--="):
            self.refused([wrong, "echo", "started"], wrong.split("=")[0], "--help")

    def test_no_command(self):
        self.refused([], "no command")
        self.refused(["--pids", "9"], "no command")
        self.refused(["--"], "no command")
        self.refused([""], "no command")

    def test_a_flag_without_its_value(self):
        for flag in ("--timeout", "--mount", "--policy", "--env", "--tier"):
            self.refused([flag], flag, "needs a value")
            self.refused([flag, "--", "true"], flag, "needs a value")

    def test_a_value_where_none_belongs(self):
        for flag in ("--json-output", "--dry-run", "--timing"):
            self.refused([flag + "=1", "echo", "started"], flag)
        self.refused(["--tty=perhaps", "true"], "--tty", "perhaps")

    def test_sizes_that_are_none(self):
        for text in ("lots", "-1", "1X", "1.5", "", " 1M", "1M ", "1e9", "0x10", "1MB1", "٣M",
                     "99999999999T", "1.1234567G"):
            self.refused(["--memory", text, "echo", "started"], "--memory", "size")
            self.refused(["--fsize=" + text, "echo", "started"], "--fsize", "size")

    def test_sizes_that_are_too_small(self):
        self.refused(["--memory", "0", "true"], "--memory")
        self.refused(["--tmp-size", "0", "true"], "--tmp-size")

    def test_durations_that_are_none(self):
        for text in ("soon", "0", "-1s", "1 s", "s", "1s1h", "1y", "", "1h1h", "9999d", "1ss"):
            self.refused(["--timeout", text, "echo", "started"], "--timeout", "duration")

    def test_counts_that_are_none(self):
        for flag in ("--pids", "--files", "--cpu-shares"):
            for text in ("-1", "many", "1.5", "0", "99999999999", ""):
                self.refused([flag, text, "echo", "started"], flag, text)

    def test_cores_that_are_none(self):
        for text in ("-1", "half", "0.001", "", "1,5", "99999"):
            self.refused(["--cpu", text, "echo", "started"], "--cpu", "cores")

    def test_best_effort_of_nothing(self):
        self.refused(["--best-effort", "network", "true"], "--best-effort", "network", "memory")

    def test_mounts_that_are_none(self):
        data = self.folder("data")
        for text in ("", ":", "a", data, data + ":", ":/x", data + ":/x:rx", data + ":/x:ro:rw",
                     data + ":x", data + "::ro"):
            self.refused(["--mount", text, "echo", "started"], "--mount")

    def test_a_mount_source_that_is_missing(self):
        missing = self.top + "/missing"
        for words in (["--mount", missing + ":/data"], ["--workspace", missing],
                      ["--allow-write", missing]):
            self.refused([*words, "echo", "started"], words[0], missing, "mkdir")
        self.assertFalse(os.path.exists(missing))

    def test_mount_sources_that_carry_the_host_in(self):
        for source in ("/", "/proc", "/proc/1", "/sys", "/dev", "/dev/null", "/dev/shm"):
            self.refused(["--mount", source + ":/data", "true"], "--mount")
        path = self.top + "/socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            self.refused(["--mount", path + ":/data", "true"], "--mount", path)
        os.mkfifo(self.top + "/fifo")
        self.refused(["--mount", self.top + "/fifo:/data", "true"], "--mount", "fifo")

    def test_mount_targets_that_cover_the_system(self):
        data = self.folder("data")
        for target in ("/", "/usr", "/etc", "/proc", "/proc/self", "/dev", "/dev/null", "/bin",
                       "/data/../usr", "//usr", "/usr/", "/usr/lib/not-there"):
            self.refused(["--mount", f"{data}:{target}", "true"], "--mount")

    def test_two_mounts_on_one_target(self):
        one, two = self.folder("one"), self.folder("two")
        self.refused(["--mount", one + ":/x", "--mount", two + ":/x", "true"], "/x", "--mount")
        self.refused(["--mount", one + ":/x", "--mount", one + ":/x:rw", "true"], "/x")

    def test_a_workspace_that_is_a_file(self):
        self.refused(["--workspace", self.file("plain", ""), "true"], "--workspace", "folder")

    def test_a_workdir_that_is_not_there(self):
        self.refused(["--workdir", "/nowhere", "true"], "--workdir", "/nowhere")
        self.refused(["--workdir", "", "true"], "--workdir")

    def test_variables_that_are_none(self):
        for text in ("NAME", "=x", ""):
            self.refused(["--env", text, "true"], "--env")
        self.refused(["--env-pass", "A=B", "true"], "--env-pass", "--env NAME=VALUE")

    def test_a_value_given_to_env_pass_is_not_shown(self):
        self.assertNotIn("s3cret", self.exec("--env-pass", "A=s3cret", "true").err)

    def test_a_tier_that_is_none(self):
        self.refused(["--tier", "vm", "true"], "--tier", "vm", "process")

    def test_an_unknown_command(self):
        for wrong, right in (("exce", "exec"), ("explian", "explain"), ("docter", "doctor"),
                             ("logs", "log")):
            with self.subTest(wrong):
                self.assert_refused(self.caisson(wrong), wrong, f"did you mean `caisson {right}`?")
        self.assert_refused(self.caisson("frobnicate"), "frobnicate", "--help")

    def test_no_word_at_all_is_help_on_stderr(self):
        ended = self.caisson()
        self.assertEqual((ended.code, ended.out), (125, ""), ended)
        self.assertIn("caisson exec", ended.err)

    def test_bad_words_of_other_commands(self):
        for words in (["doctor", "--jsn"], ["log", "--jsn"], ["log", "verfy"],
                      ["log", "--status", "fine"], ["log", "--since", "yore"], ["log", "-n", "x"],
                      ["log", "--id"], ["log", "verify", "--follow"], ["explain"],
                      ["explain", "--timout", "1", "true"]):
            with self.subTest(words):
                self.assert_refused(self.caisson(*words), words[-1] if len(words) > 1 and
                                    words[-1].startswith("-") else "")

    def test_what_is_shown_of_bad_input_can_not_steer_a_terminal(self):
        for words in (["--\x1b[2Jx", "true"], ["--memory", "\x1b]0;t\x07", "true"],
                      ["--mount", "\x1b[2J/x:/y", "true"], ["--env-pass", "\x1b[2J", "true"],
                      ["--workdir", "/\x1b[2J", "true"], ["--policy", "\x1b[2J", "true"],
                      ["\x1b[2Jnot-there"]):
            with self.subTest(words):
                ended = self.exec(*words)
                self.assertIn(ended.code, (125, 127), ended)
                self.assertNotIn("\x1b", ended.err)
                self.assertEqual(len(ended.err.splitlines()), 2, ended)

    def test_an_unknown_command_can_not_steer_a_terminal(self):
        self.assertNotIn("\x1b", self.caisson("\x1b[2J").err)
        self.assertNotIn("\x1b", self.caisson("log", "\x1b[2J").err)
        self.assertNotIn("\x1b", self.caisson("doctor", "\x1b[2J").err)

    def test_a_newline_in_bad_input_makes_no_second_line(self):
        for words in (["--timeout", "1\nhint: fake", "true"], ["--mount", "/a\nb:/c", "true"],
                      ["a\nb"]):
            with self.subTest(words):
                self.assertEqual(len(self.exec(*words).err.splitlines()), 2)
