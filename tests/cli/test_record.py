"""The record of what ran, in mounts that hold its folder: what a person is told, and the doors that show it."""
import fcntl
import json
import os

from harness import CliTest


class InMounts(CliTest):
    def setUp(self):
        super().setUp()
        self.exec_ok("true")
        self.folder_of_record = os.path.dirname(self.audit)

    ATTACK = "cat {0}/audit.jsonl; (: > {0}/audit.jsonl); rm {0}/audit.head; echo x > {0}/new; ls -A {0}; true"

    def attack(self, at, *words, **how):
        """What the cell found there; the record must have grown, and be whole."""
        before = self.read(self.audit)
        ended = self.exec(*words, "--", "sh", "-c", self.ATTACK.format(at), **how)
        self.assertEqual(ended.code, 0, ended)
        self.assertTrue(self.read(self.audit).startswith(before))
        self.assertGreater(len(self.events()), before.count("\n"))
        verified = self.caisson("log", "verify")
        self.assertEqual(verified.code, 0, verified)
        return ended.out

    def test_it_is_empty_and_stays_whole(self):
        self.assertEqual(self.attack("caisson", "--workspace", self.state), "")
        self.assertEqual(self.attack("/w/state/caisson", "--mount", f"{self.top}:/w:rw"), "")
        self.assertEqual(self.attack(self.folder_of_record, "--allow-write", self.top), "")
        self.assertEqual(self.attack("caisson", cwd=self.state), "")
        self.assertEqual(self.attack("caisson", cwd=self.state, env={"SANDBOX_ALLOW_FS_WRITE": "true"}), "")

    def test_the_attack_works_on_a_folder_that_is_nobodys_record(self):
        self.file("project/caisson/audit.jsonl", "line\n")
        ended = self.exec_ok("--workspace", ".", "--", "sh", "-c", self.ATTACK.format("caisson"))
        self.assertEqual(ended.out, "line\naudit.jsonl\nnew\n")

    def test_it_is_hidden_in_the_host_view(self):
        policy = self.file("policy.json", json.dumps({"host_view": {"on": True, "allow_write": [self.top]}}))
        self.assertEqual(self.attack(self.folder_of_record, "--policy", policy), "")

    def test_it_is_hidden_under_settings_of_srt(self):
        settings = self.file("settings.json", json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": [self.state], "denyWrite": []}}))
        self.assertEqual(self.attack(self.folder_of_record, "--settings", settings), "")
        self.assertEqual(self.attack("/w/caisson", "--settings", settings, "--mount", f"{self.state}:/w:rw"), "")

    def test_it_is_covered_before_there_is_one(self):
        fresh = self.folder("fresh")
        ended = self.exec_ok("--workspace", fresh, "--", "ls", "-A", "caisson", env={"XDG_STATE_HOME": fresh})
        self.assertEqual(ended.out, "")
        self.assertTrue(os.path.exists(fresh + "/caisson/audit.jsonl"))

    def test_explain_shows_it_and_makes_nothing(self):
        fresh = self.folder("fresh")
        words = ("--workspace", fresh, "true")
        told = self.caisson("explain", *words, env={"XDG_STATE_HOME": fresh}).out
        self.assertIn("-- an empty folder at /workspace/caisson", told)
        self.assertIn("cover     /workspace/caisson with an empty folder (ro)", told)
        policy = self.caisson("explain", "--json", *words, env={"XDG_STATE_HOME": fresh}).json["policy"]
        self.assertEqual(policy["covers"], [{"path": "/workspace/caisson"}])
        self.assertEqual(os.listdir(fresh), [])
        self.assertNotIn("empty folder", self.caisson("explain", "--workspace", ".", "true").out)

    def test_its_own_folder_is_refused(self):
        for words in (("--workspace", self.folder_of_record), ("--mount", self.folder_of_record + ":/x"),
                      ("--mount", self.audit + ":/x")):
            self.assert_refused(self.exec(*words, "true"), "keeps its record of what ran", "XDG_STATE_HOME")

    def test_as_the_current_folder_it_is_left_out_with_a_line(self):
        ended = self.exec("ls", "-A", self.folder_of_record, cwd=self.folder_of_record)
        self.assertNotEqual(ended.code, 0, ended)
        self.assertIn("keeps its record: left out", ended.err)

    def test_a_link_on_the_way_that_the_cell_could_turn_is_refused(self):
        os.symlink(self.state, self.project + "/link")
        env = {"XDG_STATE_HOME": self.project + "/link"}
        self.assert_refused(self.exec("--workspace", ".", "true", env=env), "turn elsewhere", "XDG_STATE_HOME")
        self.assertEqual(self.exec("true", env=env).code, 0)

    def test_tier_landlock_says_that_it_cant_hide_it(self):
        words = ("--tier", "landlock", "--best-effort", "memory", "--best-effort", "pids")
        ended = self.exec(*words, "--mount", f"{self.state}:{self.state}", "true")
        self.assert_refused(ended, "landlock")


class Locked(CliTest):
    def test_who_waits_for_the_lock_says_so_and_ends(self):
        self.exec_ok("true")
        with open(self.audit) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assert_refused(self.exec("true"), self.audit, "held its lock for 10 s", "fuser")
        self.exec_ok("true")
