"""The defects of srt 0.0.83 that were shown, by their numbers. Each test shows that one is closed."""
import ctypes
import os
import pty
import signal
import subprocess

from srt_harness import PYTHON, SrtTest, settings

HERE_WRITABLE = settings(write=["."])


class Defects(SrtTest):
    def left_in_project(self):
        return sorted(os.listdir(self.project))

    def test_d1_ten_instances_in_one_folder_start(self):
        said = self.settings_file(HERE_WRITABLE)
        for _ in range(2):
            children = [self.start_srt("-s", said, "sh", "-c", "echo > out.$0", str(i))
                        for i in range(10)]
            for child in children:
                ended = self.finish(child)
                self.assertEqual((ended.code, ended.err), (0, ""), ended)
        self.assertEqual(self.left_in_project(), [f"out.{i}" for i in range(10)])

    def test_d2_one_that_ends_takes_no_protection_from_another(self):
        said = self.settings_file(settings(write=["."], filesystem={"denyWrite": ["secret.cfg"]}))
        first = self.start_srt("-s", said, "sh", "-c", "echo ready; read x",
                               stdin=subprocess.PIPE)
        self.assertEqual(first.stdout.readline(), b"ready\n")
        second = self.start_srt("-s", said, "sh", "-c",
                                "echo ready; read x; echo evil > .bashrc; echo evil > secret.cfg; "
                                "echo done", stdin=subprocess.PIPE)
        self.assertEqual(second.stdout.readline(), b"ready\n")
        first.stdin.write(b"\n")
        self.finish(first)
        out, _ = second.communicate(b"\n", timeout=30)
        self.assertEqual(out, b"done\n")
        self.assertEqual(self.left_in_project(), [])

    def test_d3_sigkill_leaves_nothing_and_the_command_dies(self):
        child = self.start_srt("sh", "-c", "echo ready; while :; do date +%s%N > beat; done",
                               said=HERE_WRITABLE)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        child.kill()
        child.wait()
        beat = os.path.join(self.project, "beat")
        # Dead when its standard output, which it had to itself, has no writer any more.
        self.assertEqual(child.stdout.read(), b"")
        before = os.stat(beat).st_mtime_ns if os.path.exists(beat) else 0
        self.assertIn(self.left_in_project(), ([], ["beat"]))
        if before:
            self.assertEqual(os.stat(beat).st_mtime_ns, before)

    def test_d4_no_secret_in_the_environment_of_pid_1(self):
        said = settings(network={"allowAllUnixSockets": True},
                        credentials={"envVars": [{"name": "TOKEN", "mode": "deny"}]})
        ended = self.sh("tr '\\0' '\\n' < /proc/1/environ; cat /proc/*/environ", said=said,
                        env={"TOKEN": "s3cret-value"})
        self.assertNotIn("s3cret-value", ended.out)

    def test_d5_no_token_in_any_command_line(self):
        child = self.start_srt("sh", "-c", "env | grep -i proxy; echo ready; read x",
                               said=settings(["example.com"]), stdin=subprocess.PIPE)
        lines = []
        while not lines or lines[-1] != "ready":
            lines.append(child.stdout.readline().decode().strip())
        # The proxies need no secret: there is none to be read.
        self.assertTrue(any("proxy" in line.lower() for line in lines))
        self.assertFalse([line for line in lines if "@" in line], lines)
        child.communicate(b"\n", timeout=30)

    def test_d6_ipc_of_its_own(self):
        libc = ctypes.CDLL(None, use_errno=True)
        segment = libc.shmget(0, 4096, 0o1666)
        self.assertGreaterEqual(segment, 0)
        self.addCleanup(libc.shmctl, segment, 0, None)
        ended = self.python("import ctypes; libc = ctypes.CDLL(None); libc.shmat.restype = "
                            f"ctypes.c_long; print(libc.shmat({segment}, None, 0))")
        self.assertIn(ended.out, ("-1\n", ""), ended)

    def test_d7_inherited_descriptors_stay_outside(self):
        secret = self.file("home/secret", "s3cret")
        end = os.open(secret, os.O_RDONLY)
        os.dup2(end, 200)
        try:
            ended = self.sh("head -c15 <&200; ls /proc/self/fd | wc -l",
                            said=settings(read=[secret]), pass_fds=[200])
        finally:
            os.close(end)
            os.close(200)
        self.assertNotIn("s3cret", ended.out)

    def test_d8_the_temporary_folder_exists_and_is_its_own(self):
        for said in (settings(), settings(write=["."])):
            ended = self.sh_ok("f=$(mktemp) && echo x > $f && cat $f && ls $TMPDIR | wc -l",
                               said=said)
            self.assertEqual(ended.out.split(), ["x", "1"], ended)

    def test_d9_options_of_the_command_are_the_commands(self):
        self.assertEqual(self.srt_ok(PYTHON, "-c", "print(1)").out, "1\n")
        self.assertIn("--all", self.srt_ok("ls", "--help").out)
        self.assertIn("Python", self.srt_ok(PYTHON, "--version").out)
        self.project_file("f", "abcdef")
        self.assertEqual(self.srt_ok("tail", "-c", "3", "f").out, "def")
        self.assertEqual(self.srt_ok("grep", "-d", "skip", "abc", "f").out, "abcdef\n")
        self.assertIn("Connection blocked", self.srt("curl", "-sS", "http://example.com").out)

    def test_d10_a_killed_run_is_no_success(self):
        child = self.start_srt("sh", "-c", "trap 'echo trapped; exit 143' TERM; echo ready; "
                                           "while :; do sleep 0.05; done")
        self.assertEqual(child.stdout.readline(), b"ready\n")
        child.send_signal(signal.SIGTERM)
        ended = self.finish(child)
        self.assertEqual((ended.code, ended.out), (143, "trapped\n"), ended)

    def test_d11_allowed_localhost_and_private_hosts_are_reached(self):
        port = self.web_server()
        for allow in (f"localhost:{port}", "localhost", "127.0.0.1"):
            host = allow.split(":")[0]
            with self.subTest(allow=allow):
                ended = self.srt("curl", "-sS", f"http://{host}:{port}/", said=settings([allow]))
                self.assertEqual((ended.code, ended.out), (0, "hello from the host"), ended)

    def test_key_is_not_the_path_of_one(self):
        """It looks like a rule, and nobody would read it."""
        network = '"network": {"allowedDomains": [], "deniedDomains": []%s}'
        files = '"filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []%s}'
        lines = {f'{{{network % ""}, {files % ""}, "filesystem.denyRead": ["x"]}}':
                 '"filesystem": {"denyRead": …}',
                 f'{{{network % ""}, {files % ""}, "network.tlsTerminate.excludeDomains": []}}':
                 '"network": {"tlsTerminate": {"excludeDomains": …}}',
                 f'{{{network % """, "tlsTerminate.excludeDomains": []"""}, {files % ""}}}':
                 '"tlsTerminate": {"excludeDomains": …}',
                 f'{{{network % ""}, {files % ""}, "credentials.files[].path": "x"}}':
                 "keys of their own"}
        for text, hint in lines.items():
            with self.subTest(text):
                self.assert_srt_refused(self.srt("true", said=text), "unknown key", hint)
                path = self.settings_file(text)
                checked = self.srt("validate", path)
                self.assertEqual(checked.code, 1, checked)
                self.assertIn("unknown key", checked.out + checked.err)
        # Without the dot it is one; and the original's way is to pass over what it does not know.
        self.srt_ok("true", said=f'{{{network % ""}, {files % ""}}}')
        self.srt_ok("--lenient", "true", said=next(iter(lines)))

    def test_d12_unknown_keys_and_dead_patterns(self):
        ended = self.srt("true", said=settings(network={"bogus": 1}))
        self.assert_srt_refused(ended, 'unknown key "bogus"')
        self.project_file("x.pem", "s3cret")
        ended = self.sh("cat x.pem", said=settings(read=["/**/*.pem"]))
        self.assertNotIn("s3cret", ended.out)

    def test_d13_a_denied_folder_takes_no_writes_and_late_files_are_covered(self):
        self.project_file("hidden/x", "x")
        said = settings(read=["hidden", "**/*.pem"], write=["."])
        ended = self.sh("echo lost > hidden/new", said=said)
        self.assertNotEqual(ended.code, 0, ended)
        child = self.start_srt("sh", "-c", "echo ready; read x; cat late.pem", said=said,
                               stdin=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        self.project_file("late.pem", "s3cret")
        out, _ = child.communicate(b"\n", timeout=30)
        self.assertEqual(out, b"")

    def test_d14_unix_sockets_of_its_own_work(self):
        ended = self.python("import multiprocessing as m\n"
                            "with m.Manager() as g: l = g.list([1]); l.append(2); print(list(l))")
        self.assertEqual(ended.out, "[1, 2]\n", ended)

    def test_d15_a_terminal_and_job_control(self):
        master, slave = pty.openpty()
        child = self.start_srt("bash", "-c", "tty; set -m; sleep 0 & wait; ps -o tty= -p $$",
                               stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        text = b""
        while True:
            try:
                got = os.read(master, 4096)
            except OSError:
                break
            if not got:
                break
            text += got
        os.close(master)
        self.assertEqual(child.wait(timeout=30), 0, text)
        self.assertIn(b"/dev/pts/", text)
        self.assertIn(b"pts/", text.split(b"\n", 1)[1])
        self.assertNotIn(b"?", text)

    def test_d16_limits_can_be_had(self):
        ended = self.srt("sleep", "30", said=settings(limits={"timeout": "100ms"}))
        self.assertEqual(ended.code, 124)
        ended = self.sh("echo x > big", said=settings(write=["."], limits={"file_size": "1"}))
        self.assertNotEqual(ended.code, 0)

    def test_d17_root_is_as_confined(self):
        ended = self.sh_ok("grep CapEff /proc/self/status; ls -d /proc/[0-9]* | wc -l")
        self.assertIn("0000000000000000", ended.out)
        self.assertLessEqual(int(ended.out.split()[-1]), 6)
        for text in ("unshare -m true", "mount -t tmpfs x /mnt", "chroot / true"):
            self.assertNotEqual(self.sh(text).code, 0, text)

    def test_every_defect_has_a_test(self):
        shown = {int(name[6:].split("_")[0]) for name in dir(self) if name.startswith("test_d")}
        self.assertEqual(shown, set(range(1, 19)))

    def test_d18_reads_can_be_an_allow_list(self):
        said = settings(filesystem={"readMode": "allowlist"})
        self.assertNotEqual(self.sh("cat /etc/shadow", said=said).code, 0)
        self.assertNotEqual(self.sh(f"ls {self.home}", said=said).code, 0)
        self.assertEqual(self.sh("cat /etc/shadow", said=settings(read=["/etc/shadow"])).out, "")
