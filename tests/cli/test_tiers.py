"""Tiers and nesting: the smaller boundary says what it lacks; what is not built says so."""
import os
import shutil
import subprocess

import harness
from harness import CliTest, Ended


class Landlock(CliTest):
    def test_it_runs_and_lists_what_it_can_not_do(self):
        result = self.exec_json("--tier", "landlock", "echo", "ran")
        self.assertEqual((result["tier"], result["stdout"]), ("landlock", "ran\n"))
        self.assertLessEqual({"processes", "end", "tmp", "proc"},
                             {one["field"] for one in result["degradations"]})
        for one in result["degradations"]:
            self.assertTrue(one["reason"] and one["effect"], one)

    def test_reads_are_an_allow_list(self):
        secret = self.file("other/secret", "secret")
        self.file("project/mine", "mine")
        ended = self.exec("--tier", "landlock", "sh", "-c", f"cat mine {secret} /etc/shadow")
        self.assertEqual(ended.out, "mine", ended)
        self.assertIn("Permission denied", ended.err)

    def test_writes_are_an_allow_list(self):
        more = self.folder("more")
        ended = self.exec("--tier", "landlock", "--allow-write", more, "sh", "-c",
                          f"touch new; touch {more}/x")
        self.assertIn("Permission denied", ended.err)
        self.assertEqual((os.listdir(self.project), os.listdir(more)), ([], ["x"]))

    def test_there_is_no_network(self):
        code = "import socket; socket.socket()"
        ended = self.exec("--tier", "landlock", harness.PYTHON, "-c", code)
        self.assertEqual(ended.code, 1, ended)
        self.assertRegex(ended.err, "Permission|not permitted|not supported")

    def test_limits_and_signals_work_the_same(self):
        self.assertEqual(self.exec("--tier", "landlock", "--timeout", "200ms", "sleep", "9").code,
                         124)
        self.assertEqual(self.exec("--tier", "landlock", "sh", "-c", "kill -9 $$").code, 137)
        self.assertEqual(self.exec("--tier", "landlock", "no-such-command").code, 127)

    def test_a_mount_elsewhere_is_an_error_that_says_why(self):
        data = self.folder("data")
        self.assert_refused(self.exec("--tier", "landlock", "--mount", f"{data}:/data", "true"),
                            data, "/data", "--tier process")

    def test_it_is_never_taken_by_itself(self):
        self.assertEqual(self.exec_json("true")["tier"], "process")


class NamespacesForbidden(CliTest):
    """A user namespace may forbid further ones in itself: as a hardened host does to everyone."""

    def forbidden(self, *words):
        script = ('echo 0 > /proc/sys/user/max_user_namespaces && '
                  'exec setpriv --ambient-caps=-all --inh-caps=-all "$0" "$@"')
        done = subprocess.run(["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
                               script, harness.BINARY, *words], env=self.environment(),
                              cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=harness.DEADLINE)
        return Ended(done.returncode, done.stdout, done.stderr)

    def test_it_is_a_clear_error_with_the_fix(self):
        self.assert_refused(self.forbidden("exec", "echo", "started"), "namespace", "doctor",
                            "--tier landlock")

    def test_doctor_says_the_fix(self):
        ended = self.forbidden("doctor", "--json")
        self.assertEqual(ended.code, 1, ended)
        check = next(one for one in ended.json["checks"] if one["name"] == "user namespaces")
        self.assertEqual(check["status"], "fail", check)
        self.assertTrue(any("max_user_namespaces" in line for line in check["fix"]), check)

    def test_the_smaller_boundary_works(self):
        ended = self.forbidden("exec", "--tier", "landlock", "echo", "ran")
        self.assertEqual((ended.code, ended.out), (0, "ran\n"), ended)


class NotBuilt(CliTest):
    def test_a_clear_error(self):
        for tier in ("container", "microvm"):
            with self.subTest(tier):
                self.assert_refused(self.exec("--tier", tier, "echo", "started"), tier,
                                    "--tier process")
                self.assert_nothing_left()


class Nested(CliTest):
    def setUp(self):
        super().setUp()
        shutil.copy(harness.BINARY, self.project + "/caisson")

    def test_it_works_when_the_outer_one_grants_it(self):
        ended = self.exec("--allow-nested", "./caisson", "exec", "echo", "inner")
        self.assertEqual((ended.code, ended.out), (0, "inner\n"), ended)
        self.assertIn("granted: nested (--allow-nested)", ended.err)

    def test_the_inner_one_is_a_cell_too(self):
        script = "./caisson exec sh -c 'touch new; ls /proc | grep -c \"^[0-9]\"'"
        ended = self.exec("--allow-nested", "sh", "-c", script)
        self.assertIn("Read-only", ended.err)
        self.assertLess(int(ended.out), 6)

    def test_it_works_twice_over(self):
        ended = self.exec("--allow-nested", "./caisson", "exec", "--allow-nested", "./caisson",
                          "exec", "echo", "innermost")
        self.assertEqual((ended.code, ended.out), (0, "innermost\n"), ended)

    def test_it_says_plainly_why_not_without_the_grant(self):
        ended = self.exec("./caisson", "exec", "echo", "inner")
        self.assertEqual((ended.code, ended.out), (125, ""), ended)
        self.assertEqual(len(ended.err.splitlines()), 2, ended)
        self.assertIn("--allow-nested", ended.err)

    def test_doctor_inside_says_so(self):
        ended = self.exec("./caisson", "doctor")
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("--allow-nested", ended.out)
