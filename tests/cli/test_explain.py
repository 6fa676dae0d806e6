"""explain and --dry-run: the policy, the host and the plan, and nothing runs."""
import os

from harness import CliTest


class Explain(CliTest):
    def told(self, *words, **how):
        ended = self.caisson("explain", "--json", *words, **how)
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        return ended.json

    def test_the_json_has_policy_origins_host_and_plan(self):
        told = self.told("--memory", "64M", "echo", "x")
        self.assertEqual(told["policy"]["limits"]["memory_bytes"], 64 << 20)
        self.assertEqual(told["origins"]["limits.memory"], "--memory")
        self.assertEqual(told["host"]["uid"], os.getuid())
        self.assertEqual(told["host"]["kernel"], os.uname().release)
        self.assertIn(told["host"]["cgroup"]["version"], ("v1", "v2", "none"))
        self.assertIsInstance(told["host"]["landlock_abi"], int)
        self.assertRegex(told["policy_digest"], "^[0-9a-f]{64}$")

    def test_every_field_says_where_it_came_from(self):
        origins = self.told("true")["origins"]
        for field in ("tier", "limits.timeout", "limits.memory", "limits.cpu", "limits.cpu_shares",
                      "limits.pids", "limits.files", "limits.file_size", "limits.tmp_size",
                      "limits.output", "grants.network", "grants.nested", "process.no_exec",
                      "process.tty", "filesystem.read_only", "filesystem.workdir", "hostname",
                      "environment.PATH"):
            self.assertTrue(origins.get(field), field)

    def test_the_digest_is_the_one_of_the_result(self):
        self.assertEqual(self.told("--pids", "9", "true")["policy_digest"],
                         self.exec_json("--pids", "9", "true")["policy_digest"])

    def test_the_plan_is_in_the_order_in_which_it_happens(self):
        plan = [line.split()[0] for line in self.told("true")["plan"]]
        order = ["clone", "root", "mount", "seal", "pivot", "drop", "landlock", "seccomp", "exec"]
        places = [plan.index(step) for step in order]
        self.assertEqual(places, sorted(places), plan)
        self.assertEqual(plan[-1], "exec")

    def test_the_text_says_the_same(self):
        words = ("--memory", "64M", "--allow-network", "echo", "two words")
        text, told = self.caisson("explain", *words).out, self.told(*words)
        self.assertIn(told["policy_digest"], text)
        for line in told["plan"]:
            self.assertIn(line, text)
        for field, origin in told["origins"].items():
            self.assertRegex(text, rf"(?m)^\s*{field.replace('.', '[.]')}\s.*{origin}")
        self.assertIn("exec      echo 'two words'", text)
        self.assertIn(os.uname().release, text)

    def test_the_text_gives_each_field_its_value(self):
        text = self.caisson("explain", "--tier", "process", "--allow-network", "--workdir", "/usr",
                            "--no-exec", "true").out
        for field, value in (("tier", r"process\b"), ("filesystem.workdir", "/usr"),
                             ("process.no_exec", r"\b(true|yes|on)\b"), ("hostname", "caisson"),
                             ("limits.memory", "2147483648|2 ?Gi?B?"),
                             ("limits.pids", "256"), ("limits.timeout", "600000|10m|600 ?s")):
            with self.subTest(field):
                lines = [line for line in text.splitlines() if line.split()[:1] == [field]]
                self.assertEqual(len(lines), 1)
                self.assertRegex(lines[0].split(field, 1)[1], value)

    def test_notes_are_told(self):
        self.assertTrue(self.told("true", cwd="/")["notes"])
        self.assertIn("left out", self.caisson("explain", "true", cwd="/").out)

    def test_nothing_runs_and_nothing_is_written(self):
        for words in (["explain"], ["explain", "--json"], ["exec", "--dry-run"]):
            with self.subTest(words):
                ended = self.caisson(*words, "--allow-write", self.project, "touch",
                                     self.project + "/ran")
                self.assertEqual(ended.code, 0, ended)
                self.assertEqual(os.listdir(self.project), [])
                self.assert_nothing_left()

    def test_explain_makes_no_work_dir(self):
        self.caisson("explain", "true", env={"SANDBOX_WORK_DIR": self.top + "/new"})
        self.assertFalse(os.path.exists(self.top + "/new"))

    def test_a_dry_run_prints_the_plan(self):
        ended = self.caisson("exec", "--dry-run", "true")
        self.assertEqual(ended.out.splitlines(), self.told("true")["plan"])

    def test_a_dry_run_says_it_in_json_too(self):
        ended = self.caisson("exec", "--dry-run", "--json-output", "true")
        self.assertEqual(ended.code, 0, ended)
        self.assertIn("plan", ended.json)

    def test_a_dry_run_finds_the_same_errors(self):
        for words in (["--mount", "/nowhere:/x", "true"], ["--tier", "container", "true"],
                      ["--timout", "1", "true"]):
            with self.subTest(words):
                self.assert_refused(self.exec("--dry-run", *words))
                self.assert_refused(self.caisson("explain", *words))

    def test_values_of_variables_are_not_shown(self):
        for words in (["explain"], ["explain", "--json"], ["exec", "--dry-run"], ["exec", "-v"]):
            ended = self.caisson(*words, "--env", "TOKEN=s3cret", "true")
            self.assertNotIn("s3cret", ended.out + ended.err)

    def test_it_can_not_steer_a_terminal(self):
        ended = self.caisson("explain", "--env", "\x1b[2J=x", "--mount",
                             self.folder("\x1b[2Jfolder") + ":/data", "printf", "\x1b[2J")
        self.assertEqual(ended.code, 0, ended)
        self.assertNotIn("\x1b", ended.out + ended.err)
        ended = self.caisson("exec", "--dry-run", "--mount",
                             self.folder("\x1b[2Jfolder") + ":/data", "printf", "\x1b[2J")
        self.assertNotIn("\x1b", ended.out + ended.err)


class Talk(CliTest):
    def test_timing_prints_the_phases(self):
        ended = self.exec_ok("--timing", "true")
        lines = ended.err.splitlines()
        self.assertGreater(len(lines), 8, ended)
        for line in lines:
            self.assertRegex(line, r"^ *\d+\.\d{3} ms  ")
        for phase in ("plan", "clone", "root built", "pivot", "seccomp", "the program", "teardown",
                      "in all"):
            self.assertIn(phase, ended.err)

    def test_verbose_prints_the_plan_on_stderr(self):
        ended = self.exec_ok("-v", "echo", "out")
        self.assertEqual(ended.out, "out\n")
        for word in ("clone", "pivot", "seccomp"):
            self.assertIn("caisson: " + word, ended.err)

    def test_verbose_tells_what_is_weaker(self):
        degradations = self.exec_json("true")["degradations"]
        ended = self.exec_ok("-v", "true")
        for one in degradations:
            self.assertIn("weaker: " + one["field"], ended.err)

    def test_silence_is_the_default(self):
        self.assertEqual(self.exec_ok("true").err, "")
