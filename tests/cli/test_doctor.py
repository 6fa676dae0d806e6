"""doctor: what this host can enforce, the fix for what it can't, and an exit code that says it."""
import os

from harness import CliTest


class Doctor(CliTest):
    def test_the_json(self):
        ended = self.caisson("doctor", "--json")
        report = ended.json
        self.assertEqual(ended.code, 0 if report["ok"] else 1, ended)
        self.assertIsInstance(report["ok"], bool)
        names = {check["name"] for check in report["checks"]}
        self.assertLessEqual({"user namespaces", "seccomp filter", "landlock", "memory limit",
                              "pids limit", "cpu limit", "audit folder", "a whole cell"}, names)
        for check in report["checks"]:
            self.assertIn(check["status"], ("ok", "info", "warn", "fail"))
            self.assertTrue(check["found"], check)
            if check["status"] in ("warn", "fail"):
                self.assertTrue(check["why"], check)

    def test_what_fails_has_a_fix(self):
        for check in self.caisson("doctor", "--json").json["checks"]:
            if check["status"] in ("warn", "fail"):
                self.assertTrue(check["fix"], check)

    def test_exit_0_means_that_the_default_policy_is_enforced_in_full(self):
        ended = self.caisson("doctor")
        degradations = self.exec_json("true")["degradations"]
        self.assertEqual(ended.code == 0, degradations == [], (ended, degradations))

    def test_the_text_says_the_same(self):
        report, text = self.caisson("doctor", "--json").json, self.caisson("doctor").out
        for check in report["checks"]:
            self.assertRegex(text, rf"(?m)^{check['status']}\s+{check['name']}\s")
        self.assertEqual("can be enforced in full" in text, report["ok"])

    def test_it_lists_what_the_landlock_tier_can_not_do(self):
        report = self.caisson("doctor", "--json").json
        listed = {line.split(":")[0] for line in report["tiers"]["landlock"]["cannot"]}
        result = self.exec_json("--tier", "landlock", "true")
        self.assertLessEqual({one["field"] for one in result["degradations"]}, listed)

    def test_an_audit_folder_that_others_can_write_fails(self):
        os.mkdir(self.state + "/caisson")
        os.chmod(self.state + "/caisson", 0o777)
        ended = self.caisson("doctor", "--json")
        self.assertEqual((ended.code, ended.json["ok"]), (1, False))
        check = next(one for one in ended.json["checks"] if one["name"] == "audit folder")
        self.assertEqual(check["status"], "fail")
        self.assertTrue(any("chmod" in line for line in check["fix"]), check)

    def test_it_leaves_no_record(self):
        self.caisson("doctor")
        self.assertEqual(self.events(), [])

    def test_no_colour_in_a_pipe(self):
        self.assertNotIn("\x1b", self.caisson("doctor").out)
