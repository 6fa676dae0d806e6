"""Help fits a screen; versions are versions; stdout is data."""
import subprocess

import harness
from harness import CliTest


class Help(CliTest):
    COMMANDS = (["--help"], ["-h"], ["help"], ["exec", "--help"], ["exec", "-h"],
                ["explain", "--help"], ["doctor", "--help"], ["log", "--help"],
                ["log", "verify", "--help"])

    def test_each_fits(self):
        for words in self.COMMANDS:
            with self.subTest(words):
                ended = self.caisson(*words)
                self.assertEqual((ended.code, ended.err), (0, ""), ended)
                lines = ended.out.splitlines()
                self.assertLessEqual(len(lines), 60)
                self.assertGreater(len(lines), 3)
                self.assertEqual([line for line in lines if len(line) > 100], [])

    def test_each_names_itself(self):
        for words in self.COMMANDS[3:]:
            self.assertIn(f"caisson {words[0]}", self.caisson(*words).out.splitlines()[0])

    def test_every_flag_of_the_issue_is_there(self):
        text = self.caisson("exec", "--help").out
        for flag in ("--timeout", "--memory", "--cpu", "--cpu-shares", "--pids", "--files",
                     "--fsize", "--tmp-size", "--output-limit", "--mount", "--workspace",
                     "--workdir", "--env", "--env-pass", "--read-only", "--allow-write",
                     "--no-network", "--allow-network", "--allow-nested", "--no-exec", "--tty",
                     "--json-output", "--dry-run", "--policy", "--tier", "-v", "--timing"):
            self.assertRegex(text, rf"(?m)^  {flag}\b")

    def test_exit_codes_are_told(self):
        text = self.caisson("exec", "--help").out
        for code in ("124", "125", "126", "127", "128"):
            self.assertIn(code, text)

    def test_help_starts_nothing(self):
        self.caisson("exec", "--help", "echo", "started")
        self.assert_nothing_left()

    def test_version(self):
        for word in ("--version", "-V"):
            ended = self.caisson(word)
            self.assertEqual((ended.code, ended.err), (0, ""), ended)
            self.assertRegex(ended.out, r"^caisson \d+\.\d+\.\d+\n$")

    def test_a_result_that_can_not_be_written_is_an_error(self):
        """Data that is lost is no success."""
        with open("/dev/full", "w") as full:
            for words in (["explain", "true"], ["exec", "--json-output", "true"],
                          ["doctor", "--json"]):
                with self.subTest(words):
                    done = subprocess.run([harness.BINARY, *words], stdout=full,
                                          stderr=subprocess.DEVNULL, env=self.environment(),
                                          timeout=harness.DEADLINE)
                    self.assertNotEqual(done.returncode, 0)
