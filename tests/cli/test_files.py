"""What a cell sees and may write: mounts, workspace, working directory, read-only."""
import os

from harness import CliTest


class Mounts(CliTest):
    def test_a_mount_is_read_only_unless_it_says_rw(self):
        self.file("data/in", "content")
        for access, expected in (("", 1), (":ro", 1), (":rw", 0)):
            with self.subTest(access):
                ended = self.exec("--mount", f"{self.top}/data:/data{access}", "sh", "-c",
                                  "cat /data/in; touch /data/new")
                self.assertEqual(ended.out, "content")
                self.assertEqual(ended.code, expected, ended)
        self.assertTrue(os.path.exists(self.top + "/data/new"))

    def test_many_mounts(self):
        words = []
        for i in range(40):
            self.file(f"m{i}/n", f"{i} ")
            words += ["--mount", f"{self.top}/m{i}:/many/{i}"]
        ended = self.exec_ok(*words, "sh", "-c", "cat /many/*/n | tr ' ' '\\n' | sort -n | wc -l")
        self.assertEqual(ended.out, "40\n")

    def test_a_single_file(self):
        path = self.file("secret/only", "one file")
        ended = self.exec_ok("--mount", f"{path}:/config/only", "sh", "-c",
                             "cat /config/only; ls /config")
        self.assertEqual(ended.out, "one fileonly\n")

    def test_relative_sources_start_at_the_current_folder_and_tilde_at_home(self):
        self.file("project/sub/a", "relative")
        self.file("home/b", "home")
        ended = self.exec_ok("--mount", "sub:/one", "--mount", "~/b:/two", "cat", "/one/a", "/two")
        self.assertEqual(ended.out, "relativehome")

    def test_a_colon_in_a_name(self):
        self.file("with:colon/a", "colon")
        ended = self.exec_ok("--mount", f"{self.top}/with\\:colon:/data", "cat", "/data/a")
        self.assertEqual(ended.out, "colon")

    def test_one_mount_inside_another(self):
        self.file("outer/inner/old", "")
        self.file("other/new", "")
        ended = self.exec_ok("--mount", f"{self.top}/outer:/o", "--mount",
                             f"{self.top}/other:/o/inner:rw", "ls", "/o/inner")
        self.assertEqual(ended.out, "new\n")

    def test_a_link_as_source_is_what_it_leads_to(self):
        self.file("real/a", "behind a link")
        os.symlink(self.top + "/real", self.top + "/link")
        self.assertEqual(self.exec_ok("--mount", f"{self.top}/link:/data", "cat", "/data/a").out,
                         "behind a link")

    def test_a_mounted_home_folder_is_told(self):
        ended = self.exec_ok("--mount", "~:/h", "true")
        self.assertRegex(ended.err, r"^caisson: --mount: all of \S+ is visible, keys and tokens")


class Workspace(CliTest):
    def test_the_workspace_is_writable_and_the_working_directory(self):
        work = self.folder("work")
        ended = self.exec_ok("--workspace", work, "sh", "-c", "pwd; echo made > made")
        self.assertEqual(ended.out, "/workspace\n")
        self.assertEqual(self.read(work + "/made"), "made\n")
        self.assertEqual(os.stat(work + "/made").st_uid, os.getuid())

    def test_workdir(self):
        self.folder("work/src")
        for flags, expected in ((["--workdir", "/usr"], "/usr"), (["--workdir", "/tmp"], "/tmp"),
                                (["--workspace", self.top + "/work", "--workdir", "src"],
                                 "/workspace/src")):
            with self.subTest(flags):
                self.assertEqual(self.exec_ok(*flags, "pwd").out, expected + "\n")

    def test_read_only_is_the_last_word(self):
        work, data, more = (self.folder(name) for name in ("work", "data", "more"))
        ended = self.exec_ok(
            "--workspace", work, "--mount", f"{data}:/data:rw", "--allow-write", more,
            "--read-only", "sh", "-c",
            f"touch /workspace/x; touch /data/x; touch {more}/x; touch /tmp/x && echo tmp works")
        self.assertEqual(ended.out, "tmp works\n")
        self.assertEqual(ended.err.count("Read-only file system"), 3, ended)

    def test_allow_write_is_at_its_own_path(self):
        more = self.folder("more")
        self.exec_ok("--allow-write", more, "touch", more + "/x")
        self.assertEqual(os.listdir(more), ["x"])

    def test_the_current_folder_can_be_made_writable(self):
        self.exec_ok("--allow-write", ".", "touch", "x")
        self.assertEqual(os.listdir(self.project), ["x"])

    def test_what_is_written_to_tmp_is_gone(self):
        self.exec_ok("sh", "-c", "echo x > /tmp/caisson-cli-was-here")
        self.assertFalse(os.path.exists("/tmp/caisson-cli-was-here"))
        self.assertNotIn("was-here", self.exec_ok("ls", "-a", "/tmp").out)


class Grants(CliTest):
    def test_no_network_is_the_default(self):
        for flags in ([], ["--no-network"], ["--allow-network", "--no-network"]):
            with self.subTest(flags):
                ended = self.exec_ok(*flags, "sh", "-c", "tail -n +3 /proc/net/dev | cut -d: -f1")
                self.assertEqual(ended.out.split(), ["lo"])

    def test_the_host_network_is_a_grant_that_is_told(self):
        ended = self.exec_ok("--allow-network", "readlink", "/proc/self/ns/net")
        self.assertEqual(ended.out.strip(), os.readlink("/proc/self/ns/net"))
        self.assert_network_granted(ended.err, "--allow-network")

    def test_no_exec_lets_the_program_run_and_nothing_else(self):
        ended = self.exec("--no-exec", "sh", "-c", "echo built in; /bin/echo outside")
        self.assertEqual((ended.code, ended.out), (126, "built in\n"), ended)

    def test_no_exec_finds_the_program_that_is_found_without_it(self):
        self.folder("project/bin/echo")
        self.file("project/second/echo", "no program", 0o644)
        env = {"PATH": f"{self.project}/bin:{self.project}/second:/usr/bin:/bin"}
        for words in ((), ("--no-exec",)):
            ended = self.exec(*words, "echo", "found", env=env)
            self.assertEqual((ended.code, ended.out), (0, "found\n"), ended)
            ended = self.exec(*words, "echo", env={"PATH": self.project + "/bin"})
            self.assertEqual(ended.code, 126, ended)

    def test_no_exec_names_its_denials(self):
        result = self.exec_json("--no-exec", "sh", "-c", "/bin/echo outside")
        self.assertEqual(result["returncode"], 126)
        self.assertTrue(result["denials"])
        denial = result["denials"][0]
        self.assertIn("exec", denial["rule"])
        self.assertIn("no-exec", denial["how_to_allow"])
