"""srt's settings in a cell of `caisson exec`: what they hide is not shown at another path."""
import json
import os

from harness import CliTest


class HiddenParts(CliTest):
    def settings(self, *rules):
        return self.file("settings.json", json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": list(rules), "allowRead": [], "allowWrite": [], "denyWrite": []}}))

    def setUp(self):
        super().setUp()
        self.file("project/sub/secret", "the secret")
        self.file("project/sub/plain", "plain")

    def test_a_workspace_around_what_is_hidden_is_refused(self):
        for rule in ("./sub/secret", "./**/secret", os.path.join(self.project, "sub")):
            for words in (("--workspace", "."), ("--mount", ".:/data"), ("--mount", self.project + ":/data:rw")):
                with self.subTest(rule=rule, words=words):
                    ended = self.caisson("exec", "--settings", self.settings(rule), *words, "--", "/bin/true")
                    self.assertEqual(ended.code, 125, ended)
                    self.assertIn("is hidden", ended.err)
                    self.assertIn("hint: ", ended.err)

    def test_what_a_pattern_from_above_hides_is_refused_too(self):
        above = self.top + "/**/secret"
        words = ("--mount", self.project + ":/data", "--", "/bin/cat", "/data/sub/secret")
        ended = self.caisson("exec", "--settings", self.settings(above), *words)
        self.assertEqual((ended.code, ended.out), (125, ""), ended)
        self.assertIn("would show it as /data/**/secret", ended.err)
        ended = self.caisson("exec", "--settings", self.settings(above, "/data/**/secret"), *words)
        self.assertNotIn(ended.code, (0, 125), ended)  # it starts, and the file is not there
        self.assertEqual(ended.out, "")

    def test_a_way_that_only_the_kernel_can_walk_is_refused(self):
        """A link in /proc, and one of another user's in a folder like /tmp."""
        ways = ["/proc/self/cwd/sub"]
        if os.geteuid() == 0:
            shared = self.folder("shared")
            os.chmod(shared, 0o1777)
            ways.append(os.path.join(shared, "link"))
            os.symlink(self.project + "/sub", ways[-1])
            os.lchown(ways[-1], 54399, 54399)
        for way in ways:
            with self.subTest(way):
                words = ("--mount", f"{way}:/data", "--", "/bin/cat", "/data/secret")
                ended = self.caisson("exec", "--settings", self.settings("./sub/secret"), *words)
                self.assertEqual((ended.code, ended.out), (125, ""), ended)
                self.assertIn("--mount", ended.err)

    def test_settings_are_a_file_and_nothing_that_holds_who_reads_it(self):
        pipe = os.path.join(self.project, "pipe")
        os.mkfifo(pipe)
        for path, why in ((pipe, "as a file"), (self.project, "as a file"), ("/nowhere", "No such file")):
            with self.subTest(path):
                ended = self.caisson("exec", "--settings", path, "--", "/bin/true")
                self.assertEqual(ended.code, 125, ended)
                self.assertIn(why, ended.err)
                self.assertIn("hint: ", ended.err)

    def test_others_are_not(self):
        file = self.settings("./sub/secret", self.project + "/**/never")
        ended = self.caisson("exec", "--settings", file, "--mount", f"{self.project}:{self.project}", "--",
                             "/bin/cat", os.path.join(self.project, "sub/plain"))
        self.assertEqual((ended.code, ended.out), (0, "plain"), ended)
        ended = self.caisson("exec", "--settings", file, "--workspace", self.folder("other"), "--", "/bin/true")
        self.assertEqual(ended.code, 0, ended)
