"""log verify: whole, or broken and where."""
import hashlib
import json
import os
import re

from harness import CliTest


class Verify(CliTest):
    def setUp(self):
        super().setUp()
        for word in ("one", "two", "three"):
            self.exec_ok("echo", word)
        self.lines = self.read(self.audit).splitlines(keepends=True)
        self.assertEqual(len(self.lines), 6)

    def write(self, lines):
        with open(self.audit, "w") as file:
            file.write("".join(lines))

    def findings(self):
        ended = self.caisson("log", "verify", "--json")
        self.assertEqual(ended.code, 0 if ended.json["whole"] else 1, ended)
        return [(one["kind"], one["line"]) for one in ended.json["findings"]]

    def assert_broken(self, *expected):
        """What is found; that the end is not where audit.head says may be told on top."""
        found = [one for one in self.findings() if one[0] != "head"]
        self.assertEqual(found, list(expected))
        ended = self.caisson("log", "verify")
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("chain broken", ended.out)
        for _, line in expected:
            self.assertRegex(ended.out, rf"\bline {line}\b")

    def test_whole(self):
        self.assertEqual(self.findings(), [])
        ended = self.caisson("log", "verify")
        self.assertRegex(ended.out, "^6 events, chain whole, head [0-9a-f]{64}\n$")
        self.assertEqual(ended.out.split()[-1], json.loads(self.lines[-1])["hash"])

    def test_nothing_on_record_is_whole(self):
        self.assertEqual(self.caisson("log", "verify", env={"XDG_STATE_HOME": self.top}).code, 0)

    def test_changed(self):
        self.lines[2] = self.lines[2].replace("two", "twx")
        self.write(self.lines)
        self.assert_broken(("changed", 3))

    def test_any_changed_byte(self):
        whole = "".join(self.lines)
        for at in range(0, len(whole), 211):
            if whole[at] == "\n":
                continue
            self.write(whole[:at] + chr(ord(whole[at]) ^ 1) + whole[at + 1:])
            found = self.findings()
            self.assertTrue(found, f"byte {at}")
            line = whole.count("\n", 0, at) + 1
            self.assertIn(line, {place for _, place in found} | {place - 1 for _, place in found})

    def test_missing(self):
        self.write(self.lines[:2] + self.lines[3:])
        self.assert_broken(("missing", 3))

    def test_missing_at_the_beginning(self):
        self.write(self.lines[1:])
        self.assert_broken(("missing", 1))

    def test_missing_at_the_end(self):
        self.write(self.lines[:4])
        self.assertEqual([kind for kind, _ in self.findings()], ["missing"])
        self.assertIn("cut at its end", self.caisson("log", "verify").out)

    def test_reordered(self):
        self.lines[2], self.lines[3] = self.lines[3], self.lines[2]
        self.write(self.lines)
        found = self.findings()
        self.assertIn("reordered", {kind for kind, _ in found})
        self.assertLessEqual({line for _, line in found}, {3, 4, 5})

    def test_cut(self):
        self.lines[2] = self.lines[2][:50] + "\n"
        self.write(self.lines)
        self.assert_broken(("unreadable", 3))

    def test_cut_at_the_end(self):
        self.write(self.lines[:5] + [self.lines[5][:50]])
        found = self.findings()
        self.assertIn(("unreadable", 6), found)

    def test_a_line_put_in(self):
        self.write(self.lines[:3] + [self.lines[2]] + self.lines[3:])
        self.assertIn(("reordered", 4), self.findings())

    def test_a_line_that_hashes_well_but_was_replaced(self):
        """Whoever rewrites a line and its hash breaks the link to the next."""
        text = self.lines[2].replace("two", "twx")
        body = re.sub(r',"hash":"[0-9a-f]{64}"\}\n$', "", text)
        for candidate in (body, body + "}"):
            digest = hashlib.sha256(candidate.encode()).hexdigest()
            self.write(self.lines[:2] + [body + ',"hash":"' + digest + '"}\n'] + self.lines[3:])
            self.assertTrue(self.findings())

    def test_the_file_is_gone(self):
        os.unlink(self.audit)
        ended = self.caisson("log", "verify")
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("gone", ended.out)

    def test_the_head_is_gone(self):
        os.unlink(self.state + "/caisson/audit.head")
        self.assertEqual(self.caisson("log", "verify").code, 1)

    def test_writers_go_on_after_a_break_and_it_stays_told(self):
        self.lines[2] = self.lines[2].replace("two", "twx")
        self.write(self.lines)
        self.exec_ok("echo", "four")
        self.assertIn(("changed", 3), self.findings())

    def test_a_crash_in_the_middle_of_a_line_is_mended_and_told(self):
        with open(self.audit, "a") as file:
            file.write('{"seq":7,"time":"20')
        self.assertEqual(self.caisson("log", "verify").code, 1)
        self.exec_ok("echo", "four")
        ended = self.caisson("log", "verify")
        self.assertEqual(ended.code, 0, ended)
        self.assertIn("mended", ended.err)
        self.assertIn("tail_mended", self.caisson("log").out)
        self.assertEqual(len(self.caisson("log", "--status", "tail_mended").out.splitlines()), 2)

    def test_a_file_cut_short_is_told_by_the_next_writer(self):
        self.write(self.lines[:4])
        self.exec_ok("echo", "four")
        self.assertEqual(self.caisson("log", "verify").code, 1)
        self.assertIn("chain_broken", self.caisson("log").out)

    def test_the_json(self):
        report = self.caisson("log", "verify", "--json").json
        self.assertEqual((report["whole"], report["events"], report["seq"]), (True, 6, 6))
        self.assertEqual(report["head"], json.loads(self.lines[-1])["hash"])
