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

    def test_others_are_not(self):
        file = self.settings("./sub/secret", self.top + "/**/never")
        ended = self.caisson("exec", "--settings", file, "--mount", f"{self.project}:{self.project}", "--",
                             "/bin/cat", os.path.join(self.project, "sub/plain"))
        self.assertEqual((ended.code, ended.out), (0, "plain"), ended)
        ended = self.caisson("exec", "--settings", file, "--workspace", self.folder("other"), "--", "/bin/true")
        self.assertEqual(ended.code, 0, ended)
