"""The cell's environment: a short list, and what was passed by name."""
from harness import CliTest


class Environment(CliTest):
    def cell_env(self, *flags, **how):
        text = self.exec_ok(*flags, "env", "-0", **how).out
        return dict(entry.split("=", 1) for entry in text.split("\0") if entry)

    def test_it_starts_empty_but_for_a_short_list(self):
        inside = self.cell_env(env={"AWS_SECRET_ACCESS_KEY": "s3cret", "SSH_AUTH_SOCK": "/x",
                                    "LD_PRELOAD": "/nothing.so"})
        self.assertLessEqual(set(inside), {
            "PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "SHELL", "LANG", "TERM",
            "SANDBOX_RUNTIME", "CAISSON"})

    def test_the_path_is_the_callers(self):
        self.assertEqual(self.cell_env()["PATH"], self.env["PATH"])
        self.assertEqual(self.cell_env(env={"PATH": "/usr/bin:/nowhere:/bin"})["PATH"],
                         "/usr/bin:/nowhere:/bin")

    def test_home_and_tmpdir_are_the_private_folder(self):
        inside = self.cell_env()
        self.assertEqual((inside["HOME"], inside["TMPDIR"]), ("/tmp", "/tmp"))

    def test_locale_and_time_zone_are_the_callers(self):
        inside = self.cell_env(env={"LC_TIME": "C", "TZ": "Asia/Tokyo", "LANG": "C.UTF-8"})
        self.assertEqual((inside["LC_TIME"], inside["TZ"], inside["LANG"]),
                         ("C", "Asia/Tokyo", "C.UTF-8"))

    def test_env_sets(self):
        inside = self.cell_env("--env", "A=1", "--env", "B=x=y z\n", "--env=C=", "--env", "A=2")
        self.assertEqual((inside["A"], inside["B"], inside["C"]), ("2", "x=y z\n", ""))

    def test_env_pass_passes_by_name(self):
        inside = self.cell_env("--env-pass", "TOKEN", env={"TOKEN": "t", "OTHER": "o"})
        self.assertEqual(inside["TOKEN"], "t")
        self.assertNotIn("OTHER", inside)

    def test_env_wins_over_env_pass_and_the_list(self):
        inside = self.cell_env("--env", "TOKEN=set", "--env-pass", "TOKEN", "--env", "HOME=/usr",
                               env={"TOKEN": "passed"})
        self.assertEqual((inside["TOKEN"], inside["HOME"]), ("set", "/usr"))

    def test_a_variable_that_is_not_set_can_not_be_passed(self):
        self.assert_refused(self.exec("--env-pass", "NOT_SET_HERE", "true"),
                            "--env-pass", "NOT_SET_HERE")

    def test_an_environment_without_anything(self):
        """A service manager may start caisson so."""
        ended = self.exec("echo", "bare", env={name: None for name in self.env if
                                               name != "XDG_STATE_HOME"})
        self.assertEqual((ended.code, ended.out), (0, "bare\n"), ended)
