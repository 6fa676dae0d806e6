"""conformance.txt maps every key and every flag to its test; a key without one fails here."""
import os
import re

from srt_harness import SrtTest

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-d", "--debug", "-s", "--settings", "-c", "--control-fd", "-V", "--version", "-h",
         "--help", "--", "--settings-fd", "--violations-fd", "--lenient", "validate",
         "validate --json", "wrap --json", "keys", "proxy", "windows-install", "windows-uninstall"]


def tests_here():
    names = set()
    for file in os.listdir(HERE):
        if file.startswith("test_") and file.endswith(".py"):
            with open(os.path.join(HERE, file)) as text:
                names |= set(re.findall(r"^    def (test_\w+)", text.read(), re.M))
    return names


class Conformance(SrtTest):
    def rows(self):
        with open(os.path.join(HERE, "conformance.txt")) as lines:
            return [line.split() for line in lines if line.strip() and not line.startswith("#")]

    def test_every_key_and_flag_has_a_test_that_exists(self):
        listed = {" ".join(row[:-1]): row[-1] for row in self.rows()}
        table = {}
        for line in self.srt_ok("keys").out.splitlines():
            key, _, _, _, test = line.split("\t")
            table[key] = test
        keys = {name: test for name, test in listed.items() if name not in FLAGS}
        self.assertEqual(keys, table)
        self.assertEqual(set(FLAGS), listed.keys() - keys.keys())
        self.assertEqual(set(listed.values()) - tests_here(), set())

    def test_help_names_every_flag(self):
        text = self.srt_ok("--help").out
        for flag in re.findall(r"--[a-z-]+", text):
            self.assertIn(flag, FLAGS + ["--json"])

    def test_the_page_names_every_key(self):
        path = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "srt.md")
        with open(path) as page:
            text = page.read()
        for line in self.srt_ok("keys").out.splitlines():
            key, shape, standing, meaning, _ = line.split("\t")
            self.assertIn(f"| `{key}` | {shape} | {standing} | {meaning} |", text)
