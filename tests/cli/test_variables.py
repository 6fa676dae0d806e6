"""The SANDBOX_* variables, and who wins: flag, variable, file."""
import os

from harness import CliTest


class Variables(CliTest):
    def limits(self, env, *flags):
        return self.caisson("explain", "--json", *flags, "true", env=env).json["limits"]

    def test_timeout(self):
        self.assertEqual(self.exec("sleep", "60", env={"SANDBOX_TIMEOUT": "300ms"}).code, 124)
        self.assertEqual(self.limits({"SANDBOX_TIMEOUT": "30"})["timeout_ms"], 30000)

    def test_memory_limit(self):
        self.assertEqual(self.limits({"SANDBOX_MEMORY_LIMIT": "512M"})["memory_bytes"], 512 << 20)

    def test_cpu_limit_and_shares(self):
        limits = self.limits({"SANDBOX_CPU_LIMIT": "1.0", "SANDBOX_CPU_SHARES": "512"},
                             "--best-effort", "cpu_shares")
        self.assertEqual((limits["cpu"], limits["cpu_shares"]), (1, 512))

    def test_work_dir(self):
        work = self.folder("work")
        self.exec_ok("touch", "x", env={"SANDBOX_WORK_DIR": work})
        self.assertEqual(os.listdir(work), ["x"])

    def test_a_missing_work_dir_is_made_for_the_caller_alone(self):
        work = self.top + "/new"
        self.assertEqual(self.exec_ok("pwd", env={"SANDBOX_WORK_DIR": work}).out, "/workspace\n")
        self.assertEqual(os.stat(work).st_mode & 0o777, 0o700)

    def test_a_missing_workspace_flag_is_an_error(self):
        self.assert_refused(self.exec("--workspace", self.top + "/new", "true"), "--workspace")
        self.assertFalse(os.path.exists(self.top + "/new"))

    def test_allow_network(self):
        def namespace(value):
            return self.exec_ok("readlink", "/proc/self/ns/net",
                                env={"SANDBOX_ALLOW_NETWORK": value})
        mine = os.readlink("/proc/self/ns/net")
        self.assertNotEqual(namespace("false").out.strip(), mine)
        granted = namespace("true")
        self.assertEqual(granted.out.strip(), mine)
        self.assert_network_granted(granted.err, "SANDBOX_ALLOW_NETWORK")

    def test_allow_fs_write(self):
        self.exec_ok("touch", "x", env={"SANDBOX_ALLOW_FS_WRITE": "true"})
        self.assertEqual(os.listdir(self.project), ["x"])
        for value in ("false", None):
            with self.subTest(value):
                ended = self.exec("touch", "y", env={"SANDBOX_ALLOW_FS_WRITE": value})
                self.assertEqual(ended.code, 1, ended)
        work = self.folder("work")
        ended = self.exec("touch", "y", env={"SANDBOX_ALLOW_FS_WRITE": "false",
                                             "SANDBOX_WORK_DIR": work})
        self.assertEqual(ended.code, 1, ended)

    def test_allow_exec(self):
        words = ("sh", "-c", "/bin/echo ran")
        self.assertEqual(self.exec(*words, env={"SANDBOX_ALLOW_EXEC": "true"}).out, "ran\n")
        self.assertEqual(self.exec(*words, env={"SANDBOX_ALLOW_EXEC": "false"}).code, 126)

    def test_log_level(self):
        for level in ("error", "warn", "info"):
            self.assertEqual(self.exec_ok("true", env={"SANDBOX_LOG_LEVEL": level}).err, "")
        for level in ("debug", "trace"):
            self.assertIn("seccomp", self.exec_ok("true", env={"SANDBOX_LOG_LEVEL": level}).err)

    def test_a_variable_that_says_nothing_is_not_set(self):
        self.assertEqual(self.limits({"SANDBOX_TIMEOUT": ""}), self.limits({}))

    def test_a_variable_that_is_none_names_itself(self):
        for name, value in {"SANDBOX_TIMEOUT": "soon", "SANDBOX_MEMORY_LIMIT": "much",
                            "SANDBOX_CPU_LIMIT": "half", "SANDBOX_CPU_SHARES": "-1",
                            "SANDBOX_ALLOW_NETWORK": "perhaps", "SANDBOX_ALLOW_FS_WRITE": "2",
                            "SANDBOX_ALLOW_EXEC": "2", "SANDBOX_LOG_LEVEL": "loud",
                            "SANDBOX_WORK_DIR": "/nowhere/at/all"}.items():
            with self.subTest(name):
                self.assert_refused(self.exec("echo", "started", env={name: value}), name, value)
                self.assert_nothing_left()

    def test_variables_do_not_reach_the_program(self):
        ended = self.exec_ok("env", env={"SANDBOX_TIMEOUT": "30", "SANDBOX_MEMORY_LIMIT": "512M"})
        self.assertNotIn("SANDBOX_TIMEOUT", ended.out)


class WhoWins(CliTest):
    def pids_and_origin(self, *flags, **env):
        told = self.caisson("explain", "--json", *flags, "true", env=env).json
        return told["limits"]["timeout_ms"], told["origins"]["limits.timeout"]

    def test_a_flag_over_a_variable_over_a_file_over_the_default(self):
        policy = self.file("project/p.json", '{"limits": {"timeout": "3s"}}')
        file, variable, flag = ["--policy", policy], {"SANDBOX_TIMEOUT": "2s"}, ["--timeout", "1s"]
        self.assertEqual(self.pids_and_origin(), (600000, "default"))
        self.assertEqual(self.pids_and_origin(*file), (3000, policy + ":1"))
        self.assertEqual(self.pids_and_origin(*file, **variable), (2000, "SANDBOX_TIMEOUT"))
        self.assertEqual(self.pids_and_origin(*file, *flag, **variable), (1000, "--timeout"))
        self.assertEqual(self.pids_and_origin(*flag, *file), (1000, "--timeout"))

    def test_a_flag_takes_a_grant_of_a_variable_back(self):
        ended = self.exec_ok("--no-network", "readlink", "/proc/self/ns/net",
                             env={"SANDBOX_ALLOW_NETWORK": "true"})
        self.assertNotEqual(ended.out.strip(), os.readlink("/proc/self/ns/net"))
        self.assertEqual(ended.err, "")

    def test_a_flag_takes_a_switch_of_a_file_back(self):
        policy = self.file("p.json", '{"process": {"no_exec": true}}')
        words = ("sh", "-c", "/bin/echo ran")
        self.assertEqual(self.exec("--policy", policy, *words).code, 126)
        self.assertEqual(self.exec("--policy", policy, "--no-exec=false", *words).out, "ran\n")

    def test_lists_grow(self):
        policy = self.file("p.json", '{"environment": {"set": {"A": "file", "B": "file"}}}')
        ended = self.exec_ok("--policy", policy, "--env", "B=flag", "sh", "-c", "echo $A $B")
        self.assertEqual(ended.out, "file flag\n")
