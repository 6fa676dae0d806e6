"""The evaluation of srt that the project started from (seed 004), each test as it was written."""
import os

from srt_harness import FETCH, SrtTest, settings


class Files(SrtTest):
    """Filesystem isolation tests 1 to 9: a workspace, and a folder outside of it."""

    def setUp(self):
        super().setUp()
        self.project_file("workspace/test.txt", "inside-file-content\n")
        self.project_file("outside/secret.txt", "secret\n")
        self.said = settings(write=["./workspace"])

    def test_1_read_inside_workspace(self):
        ended = self.srt_ok("cat", "workspace/test.txt", said=self.said)
        self.assertEqual(ended.out, "inside-file-content\n")

    def test_2_write_inside_workspace(self):
        ended = self.sh_ok('echo "data" > workspace/new.txt && cat workspace/new.txt',
                           said=self.said)
        self.assertEqual(ended.out, "data\n")
        self.assertEqual(self.read(os.path.join(self.project, "workspace/new.txt")), "data\n")

    def test_3_write_outside_workspace(self):
        ended = self.srt("bash", "-c", 'echo "escape" > outside/hack.txt', said=self.said)
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("outside/hack.txt: Read-only file system", ended.err)
        self.assertFalse(os.path.exists(os.path.join(self.project, "outside/hack.txt")))

    def test_4_write_to_tmp(self):
        name = f"/tmp/escape-{os.getpid()}.txt"
        ended = self.srt("bash", "-c", f'echo "escape" > {name}', said=self.said)
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("Read-only file system", ended.err)
        self.assertFalse(os.path.exists(name))

    def test_5_write_to_home_directory(self):
        ended = self.srt("bash", "-c", 'echo "escape" > ~/escape.txt', said=self.said)
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("Read-only file system", ended.err)
        self.assertEqual(os.listdir(self.home), [])

    def test_6_mkdir_outside_workspace(self):
        ended = self.srt("mkdir", os.path.join(self.home, "escape_dir"), said=self.said)
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("Read-only file system", ended.err)
        self.assertEqual(os.listdir(self.home), [])

    def test_7_read_denied_path(self):
        ended = self.srt("cat", "outside/secret.txt", said=settings(read=["./outside"]))
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("outside/secret.txt: No such file or directory", ended.err)
        self.srt_ok("cat", "outside/secret.txt", said=settings())  # the rule it was

    def test_8_read_ssh_when_denied(self):
        key = self.file("home/.ssh/id_ed25519.pub", "key\n")
        ended = self.srt("cat", key, said=settings(read=["~/.ssh"]))
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("No such file or directory", ended.err)
        ended = self.srt_ok("ls", os.path.dirname(key), said=settings(read=["~/.ssh"]))
        self.assertEqual(ended.out, "")

    def test_9_default_read_of_etc_passwd(self):
        ended = self.srt_ok("head", "-1", "/etc/passwd", said=settings())
        self.assertIn(":0:0:", ended.out)


class Network(SrtTest):
    def test_deny_all(self):
        ended = self.srt("curl", "-sS", "http://example.com", said=settings())
        self.assertIn("Connection blocked by network allowlist", ended.out)
        ended = self.srt("curl", "-v", "https://example.com", said=settings())
        self.assertEqual(ended.code, 56, ended)
        self.assertIn("X-Proxy-Error: blocked-by-allowlist", ended.err)

    def test_allow_list_with_specific_domain(self):
        port, asked = self.parent_proxy()
        said = settings(["example.com"], network={"parentProxy": {
            "http": f"http://127.0.0.1:{port}", "https": f"http://127.0.0.1:{port}"}})
        ended = self.srt("curl", "-sS", "http://example.com/", said=said)
        self.assertEqual((ended.code, ended.out), (0, "proxy"), ended)
        self.assertEqual(len(asked), 1)

    def test_allow_list_blocks_other_domain(self):
        ended = self.srt("curl", "-v", "https://google.com", said=settings(["example.com"]))
        self.assertEqual(ended.code, 56, ended)
        self.assertIn("403", ended.err)
        self.assertIn("X-Proxy-Error: blocked-by-allowlist", ended.err)

    def test_wildcard_domain(self):
        port, asked = self.parent_proxy()
        proxy = f"http://127.0.0.1:{port}"
        said = settings(["*.github.com"], network={"parentProxy": {"http": proxy, "https": proxy}})
        ended = self.srt("curl", "-v", "-m", "5", "https://api.github.com", said=said)
        self.assertRegex(ended.err, r"HTTP/1.1 200")  # of CONNECT: the tunnel was made
        self.assertTrue(asked[0].startswith("CONNECT "), asked)
        ended = self.srt("curl", "-sS", "-m", "5", "https://github.com", said=said)
        self.assertEqual(ended.code, 56, ended)  # never the apex
        said["network"]["allowedDomains"].append("github.com")
        ended = self.srt("curl", "-v", "-m", "5", "https://github.com", said=said)
        self.assertRegex(ended.err, r"HTTP/1.1 200")

    def test_raw_tcp_connection(self):
        ended = self.python('import socket; s = socket.socket(); s.settimeout(5)\n'
                            'try: s.connect(("93.184.216.34", 80)); print(s.recv(1) or "refused")\n'
                            'except OSError as e: print("refused")', said=settings())
        self.assertEqual(ended.out, "refused\n")

    def test_dns_resolution(self):
        ended = self.python('import socket\n'
                            'try: print(socket.getaddrinfo("example.com", 80))\n'
                            'except OSError as e: print("no name")', said=settings())
        self.assertEqual(ended.out, "no name\n")

    def test_local_server(self):
        port = self.web_server(b"from the host")
        ended = self.python(FETCH.replace("sys.argv[1]", f"'http://localhost:{port}/'"),
                            said=settings([f"localhost:{port}"]))
        self.assertEqual(ended.out.strip(), "from the host", ended)


class Processes(SrtTest):
    def test_pid_namespace(self):
        ended = self.srt_ok("ps", "aux")
        self.assertLess(len(ended.out.splitlines()), 8, ended)

    def test_namespaces_are_all_its_own(self):
        kinds = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
        ended = self.sh_ok("for n in %s; do readlink /proc/self/ns/$n; done" % " ".join(kinds))
        inside = ended.out.split()
        self.assertEqual(len(inside), len(kinds))
        for name, kind in zip(inside, kinds):
            self.assertNotEqual(name, os.readlink(f"/proc/self/ns/{kind}"))

    def test_privilege_escalation(self):
        ended = self.srt("mount", "-t", "tmpfs", "tmpfs", "/mnt")
        self.assertNotEqual(ended.code, 0, ended)

    def test_capabilities(self):
        ended = self.sh_ok("grep ^Cap /proc/self/status")
        self.assertEqual(len(ended.out.splitlines()), 5)
        for line in ended.out.splitlines():
            self.assertEqual(line.split()[1], "0" * 16, ended)

    def test_signal_host_processes(self):
        ended = self.sh(f"kill -0 {os.getpid()}")
        self.assertNotEqual(ended.code, 0)
        self.assertIn("No such process", ended.err)

    def test_nsenter_escape(self):
        ended = self.srt("nsenter", "--target", "1", "--mount", "--pid", "true")
        self.assertNotEqual(ended.code, 0, ended)

    def test_seccomp_filtering(self):
        ended = self.sh_ok("grep ^Seccomp: /proc/self/status")
        self.assertEqual(ended.out.split()[1], "2")  # a filter

    def test_environment_of_pid_1(self):
        ended = self.srt("cat", "/proc/1/environ", env={"HOST_SECRET": "visible"})
        self.assertNotIn("visible", ended.out)

    def test_sandbox_detection(self):
        self.assertEqual(self.sh_ok("echo $SANDBOX_RUNTIME").out, "1\n")

    def test_nested(self):
        said = settings(allowNestedUserNamespaces=True, write=[self.state])
        inner = self.settings_file(settings(), "inner.json")
        ended = self.srt(self.srt_path, "-s", inner, "echo", "nested", said=said)
        self.assertEqual((ended.code, ended.out), (0, "nested\n"), ended)

    def test_ten_instances(self):
        children = []
        for i in range(10):
            name = f"w{i}"
            os.mkdir(os.path.join(self.project, name))
            said = self.settings_file(settings(write=[name]), f"{name}.json")
            children.append(self.start_srt("-s", said, "sh", "-c", f"echo {i} > {name}/out"))
        for i, child in enumerate(children):
            self.assertEqual(self.finish(child).code, 0)
            self.assertEqual(self.read(os.path.join(self.project, f"w{i}/out")), f"{i}\n")

    def test_cross_instance_reads(self):
        """The warning of the evaluation: shut when reads are an allow-list."""
        self.project_file("one/own", "mine")
        self.project_file("two/other", "theirs")
        one = os.path.join(self.project, "one")
        said = settings(write=["."], filesystem={"readMode": "allowlist"})
        ended = self.sh("cat own; cat ../two/other", said=said, cwd=one)
        self.assertEqual(ended.out, "mine", ended)
        self.assertNotEqual(ended.code, 0)
