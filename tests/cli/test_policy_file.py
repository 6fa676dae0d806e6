"""Policy files: JSON with comments, every key, and errors that name the line."""
import os
import re

from harness import CliTest

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "policies")

EVERY_KEY = """\
// Every key there is.
{
  "tier": "process",
  "limits": {
    "timeout": "10s", "memory": "128M", "cpu": 1, /* cores */ "cpu_shares": 1024,
    "pids": 99, "files": 77, "file_size": "1M", "tmp_size": "2M", "output": 1000000,
  },
  "filesystem": {
    "mounts": ["%(top)s/data:/data", "%(top)s/out:/out:rw"],
    "workspace": "%(top)s/work",
    "workdir": "/workspace/src",
    "read_only": false,
    "allow_write": ["%(top)s/more"],
  },
  "environment": {"set": {"CI": "1"}, "pass": ["TOKEN"]},
  "grants": {"network": "a test reaches out", "nested": "a test nests"},
  "process": {"no_exec": false, "tty": false},
  "best_effort": ["cpu", "cpu_shares"], // the trailing comma and this are in order
}
"""


class PolicyFile(CliTest):
    def with_policy(self, text, *words, name="project/policy.json", **how):
        self.policy = self.file(name, text)
        return self.exec("--policy", self.policy, *words, **how)

    def refused(self, text, *parts):
        with self.subTest(text[:60]):
            self.assert_refused(self.with_policy(text, "echo", "started"), *parts)
            self.assert_nothing_left()

    def test_comments_and_trailing_commas(self):
        ended = self.with_policy('// one\n{ /* two\n lines */ "limits": {"pids": 9,}, }\n// end\n',
                                 "echo", "ran")
        self.assertEqual((ended.code, ended.out), (0, "ran\n"), ended)

    def test_every_key(self):
        for name in ("data", "out", "work/src", "more"):
            self.folder(name)
        text = EVERY_KEY % {"top": self.top}
        told = self.caisson("explain", "--json", "--policy", self.file("p.json", text), "true",
                            env={"TOKEN": "t"})
        self.assertEqual(told.code, 0, told)
        limits = told.json["limits"]
        del limits["enforced_by"]
        self.assertEqual(limits, {
            "timeout_ms": 10000, "memory_bytes": 128 << 20, "cpu": 1, "cpu_shares": 1024,
            "pids": 99, "files": 77, "file_bytes": 1 << 20, "tmp_bytes": 2 << 20,
            "output_bytes": 1000000})
        policy = told.json["policy"]
        self.assertEqual(policy["workdir"], "/workspace/src")
        self.assertEqual({mount["target"]: mount["access"] for mount in policy["mounts"]},
                         {"/data": "ro", "/out": "rw", "/workspace": "rw",
                          self.top + "/more": "rw", self.project: "ro"})
        self.assertEqual({(grant["grant"], grant["reason"]) for grant in policy["grants"]},
                         {("network", "a test reaches out"), ("nested", "a test nests")})

    def test_each_field_says_the_line_that_it_came_from(self):
        for name in ("data", "out", "work/src", "more"):
            self.folder(name)
        path = self.file("p.json", EVERY_KEY % {"top": self.top})
        origins = self.caisson("explain", "--json", "--policy", path, "true",
                               env={"TOKEN": "t"}).json["origins"]
        self.assertEqual(origins["limits.memory"], path + ":5")
        self.assertEqual(origins["limits.files"], path + ":6")
        self.assertEqual(origins["grants.network"], path + ":16")
        self.assertEqual(origins["limits.output"], path + ":6")

    def test_an_unknown_key_is_named_with_its_line_and_a_suggestion(self):
        self.refused('{\n  "limits": {\n    "memroy": "1G"\n  }\n}', "policy.json:3", "memroy",
                     "did you mean", "memory")
        self.refused('{"limts": {}}', "policy.json:1", "limts", "limits")
        self.refused('{\n"grants": {"netwrok": "x"}}', "policy.json:2", "netwrok", "network")

    def test_a_key_like_no_other_lists_what_there_is(self):
        self.refused('{"zzzzzzzzzz": 1}', "policy.json:1", "zzzzzzzzzz", "limits")

    def test_wrong_types_and_values_name_their_line(self):
        self.refused('{\n\n"limits": {"memory": true}}', "policy.json:3", "limits.memory")
        self.refused('{"limits": {"timeout": "soon"}}', "policy.json:1", "soon")
        self.refused('{"limits": []}', "policy.json:1", "limits")
        self.refused('{"filesystem": {"mounts": "a:b"}}', "policy.json:1", "mounts")
        self.refused('{"filesystem": {\n"mounts": ["nothing-here:/b"]}}', "policy.json:2",
                     "nothing-here")
        self.refused('{"filesystem": {"mounts": [7]}}', "policy.json:1", "mounts")
        self.refused('{"environment": {"set": {"A": 1}}}', "policy.json:1", "environment.set")
        self.refused('{"process": {"tty": "yes"}}', "policy.json:1", "process.tty")
        self.refused('{"tier": "proces"}', "policy.json:1", "proces", "process")
        self.refused('{"best_effort": ["ram"]}', "policy.json:1", "ram", "memory")

    def test_a_key_that_is_there_twice(self):
        self.refused('{"limits": {"pids": 1,\n"pids": 2}}', "policy.json:2", "pids")

    def test_a_grant_needs_a_reason(self):
        self.refused('{"grants": {"network": ""}}', "policy.json:1", "grants.network", "reason")
        self.refused('{"grants": {"network": true}}', "policy.json:1", "grants.network")

    def test_what_is_no_json(self):
        self.refused('{"limits": {', "policy.json:1", "ends too early")
        self.refused('{\n"limits" {}}', "policy.json:2", "not JSON")
        self.refused('{} {}', "policy.json:1")
        self.refused("", "policy.json", "empty")
        self.refused("[]", "policy.json:1")
        self.refused('{"limits": ' + "[" * 3000, "policy.json:1")

    def test_bytes_that_steer_a_terminal_are_shown_not_sent(self):
        ended = self.with_policy('{"\\u001b[2Jlimits\\u0007": 1}', "true")
        self.assert_refused(ended, "policy.json:1")
        self.assertIsNone(re.search(r"[\x00-\x09\x0b-\x1f\x7f]", ended.err))

    def test_a_file_that_is_none(self):
        os.mkfifo(self.top + "/fifo")
        for path in (self.top + "/nowhere.json", self.project, self.top + "/fifo", "/dev/zero"):
            with self.subTest(path):
                self.assert_refused(self.exec("--policy", path, "echo", "started"), "--policy",
                                    path)
                self.assert_nothing_left()

    def test_a_file_that_is_too_large(self):
        self.assert_refused(self.with_policy("// " + "x" * (2 << 20) + "\n{}", "true"), "1 MiB")

    def test_the_examples_run(self):
        names = [name for name in sorted(os.listdir(EXAMPLES)) if name.endswith(".json")] \
            if os.path.isdir(EXAMPLES) else []
        for name in names:
            with self.subTest(name):
                ended = self.exec("--policy", os.path.join(EXAMPLES, name), "--best-effort", "cpu",
                                  "echo", "ran", env={"ANTHROPIC_API_KEY": "x"})
                self.assertEqual((ended.code, ended.out.split()), (0, ["ran"]), ended)
