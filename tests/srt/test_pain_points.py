"""What users of srt asked for or ran into, by the numbers of the list; those that can't be shown on
Linux, or in one run of one program, are named in NOT_HERE with the reason."""
import json
import os
import re
import signal
import socket
import subprocess
import unittest

from srt_harness import PYTHON, SrtTest, settings

NOT_HERE = {
    9: "AppArmor's and container runtimes' own rules are of the host: `caisson doctor` tells them",
    10: "Go's TLS on macOS",
    28: "excludedCommands is of Claude Code, not of srt",
    30: "no helper is installed anywhere; the daemon's socket is one as in 6",
    31: "WSL2's 9p folders",
    33: "an NFS server would be needed",
}


class PainPoints(SrtTest):
    def git(self, *words, cwd=None):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                       cwd=cwd or self.project, env=self.environment(), capture_output=True)

    def test_01_no_ghost_files(self):
        self.git("init", "-q")
        ended = self.sh_ok("ls -A; git status --porcelain", said=settings(write=["."]))
        self.assertEqual(ended.out, ".git\n")
        self.assertEqual(os.listdir(self.project), [".git"])

    def test_02_sessions_side_by_side(self):
        said = self.settings_file(settings(write=["."]))
        long = self.start_srt("-s", said, "sh", "-c", "read x; echo alive", stdin=subprocess.PIPE)
        for _ in range(5):
            self.srt_ok("-s", said, "true")
        out, _ = long.communicate(b"\n", timeout=30)
        self.assertEqual(out, b"alive\n")

    def test_03_programs_that_ignore_proxies(self):
        port = self.web_server()
        program = ("import urllib.request as u; print(u.build_opener(u.ProxyHandler({}))"
                   f".open('http://localhost:{port}/', timeout=10).read().decode())")
        ended = self.python(program, said=settings([f"localhost:{port}"]))
        self.assertEqual(ended.out, "hello from the host\n", ended)

    def test_04_local_services(self):
        port = self.web_server()
        ended = self.srt("curl", "-sS", f"http://127.0.0.1:{port}/",
                         said=settings([f"127.0.0.1:{port}"]))
        self.assertEqual(ended.out, "hello from the host", ended)

    def test_05_servers_inside(self):
        """Binding needs no key; network.publish opens a port to the host (test_publish)."""
        ended = self.python("import socket,threading\n"
                            "s = socket.create_server(('127.0.0.1', 0))\n"
                            "threading.Thread(target=lambda: s.accept()[0].sendall(b'hi')).start()\n"
                            "print(socket.create_connection(s.getsockname()).recv(9))")
        self.assertEqual(ended.out, "b'hi'\n", ended)

    def test_06_unix_sockets_by_path(self):
        path = self.unix_server(os.path.join(self.top, "agent.sock"))
        other = self.unix_server(os.path.join(self.top, "other.sock"))
        program = ("import socket,sys\nfor p in sys.argv[1:]:\n  s = socket.socket(socket.AF_UNIX)\n"
                   "  try: s.connect(p); print('yes')\n  except OSError: print('no')\n")
        ended = self.srt(PYTHON, "-c", program, path, other,
                         said=settings(network={"allowUnixSockets": [path]}))
        self.assertEqual(ended.out.split(), ["yes", "no"], ended)

    def test_07_other_protocols_than_http(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        port = listener.getsockname()[1]
        child = self.start_srt(PYTHON, "-c",
                               "import socket\n"
                               f"print(socket.create_connection(('localhost', {port})).recv(99))",
                               said=settings([f"localhost:{port}"]))
        one, _ = listener.accept()
        one.sendall(b"raw bytes")
        one.close()
        self.assertEqual(self.finish(child).out, "b'raw bytes'\n")

    def test_08_agents(self):
        """A signing agent is a socket of the host that is allowed by its path (test_programs has gpg
        and ssh themselves)."""
        path = self.unix_server(os.path.join(self.home, "S.gpg-agent"))
        program = "import socket; s = socket.socket(1); s.connect('%s'); print(s.recv(9))" % path
        ended = self.python(program, said=settings(network={"allowUnixSockets": ["~/S.gpg-agent"]}))
        self.assertEqual(ended.out, "b'hello'\n", ended)

    def test_11_worktrees(self):
        main = self.folder("main")
        self.git("init", "-q", cwd=main)
        self.git("commit", "-q", "--allow-empty", "-m", "x", cwd=main)
        tree = os.path.join(self.top, "tree")
        self.git("worktree", "add", "-q", tree, cwd=main)
        said = settings(write=[".", main])
        self.sh_ok("git status --porcelain && echo x > f && git add f", said=said, cwd=tree)
        for text in ("echo > .git", f"echo > {main}/.git/hooks/post-commit",
                     f"git config user.name x"):
            self.assertNotEqual(self.sh(text, said=said, cwd=tree).code, 0, text)

    def test_12_many_rules(self):
        said = settings(read=[f"**/x{i}" for i in range(500)], write=["."],
                        filesystem={"denyWrite": [f"n{i}" for i in range(500)]})
        self.srt_ok("true", said=said)
        self.assertNotEqual(self.sh("echo > n499", said=said).code, 0)

    def test_13_no_search_at_the_start(self):
        """Folders that can't even be listed cost nothing and hide nothing."""
        for i in range(300):
            os.makedirs(os.path.join(self.project, f"r{i}", ".git", "hooks"))
        self.srt_ok("true", said=settings(read=["**/*.pem", "**/.env"], write=["."]))
        ended = self.sh("echo > r299/.git/hooks/x", said=settings(write=["."]))
        self.assertNotEqual(ended.code, 0)

    def test_14_links_in_the_place_of_protected_names(self):
        target = self.folder("dotfiles")
        self.file("dotfiles/bashrc", "x")
        os.symlink(os.path.join(target, "bashrc"), os.path.join(self.project, ".bashrc"))
        os.symlink("/nowhere/at/all", os.path.join(self.project, ".vscode"))
        os.symlink(".claude", os.path.join(self.project, ".claude"))
        said = settings(write=[".", target])
        self.sh_ok("echo fine > x", said=said)
        self.assertNotEqual(self.sh("echo evil > .bashrc", said=said).code, 0)

    def test_15_temporary_folder(self):
        own = self.folder("tmp")
        ended = self.sh_ok("echo $TMPDIR; mktemp > /dev/null && echo made",
                           env={"CLAUDE_CODE_TMPDIR": own}, said=settings(write=[own]))
        self.assertEqual(ended.out.split(), [own, "made"])
        self.assertEqual(len(os.listdir(own)), 1)

    def test_16_here_documents(self):
        self.assertEqual(self.srt_ok("-c", "cat <<E\nx\nE").out, "x\n")

    def test_17_nothing_else_has_to_be_installed(self):
        """Neither bwrap nor socat, rg, node or bash: and the rules hold all the same."""
        said = self.settings_file(settings())
        ended = self.srt("-s", said, "/bin/sh", "-c", "echo ran; echo > made",
                         env={"PATH": "/nowhere"})
        self.assertEqual((ended.code, ended.out), (2, "ran\n"), ended)
        self.assertEqual(os.listdir(self.project), [])

    def test_18_denied_tmp_leaves_the_network(self):
        port = self.web_server()
        said = settings([f"localhost:{port}"], read=["/tmp/.X11-unix", "/var/tmp"])
        ended = self.srt("curl", "-sS", f"http://localhost:{port}/", said=said)
        self.assertEqual(ended.out, "hello from the host", ended)

    def test_19_a_reader_who_leaves_ends_the_run(self):
        """Nothing is left that would spin on what nobody reads."""
        child = self.start_srt("yes")
        self.assertEqual(child.stdout.readline(), b"y\n")
        child.stdout.close()
        self.assertEqual(child.wait(timeout=30), 128 + signal.SIGPIPE)

    def test_20_denied_inside_allowed(self):
        self.project_file("a/c/b/secret", "x")
        self.project_file("a/c/ok", "ok")
        said = settings(read=["a", "a/c/b"], write=["a/c"], filesystem={"allowRead": ["a/c"]})
        self.assertEqual(self.sh_ok("cat a/c/ok && echo > a/c/new", said=said).out, "ok")
        self.assertNotEqual(self.sh("cat a/c/b/secret", said=said).code, 0)

    def test_21_denied_reads_are_reported(self):
        secret = self.project_file("secret", "s3cret")
        for read in ("secret", "**/secret"):
            with self.subTest(read=read):
                ended = self.srt("cat", "secret", said=settings(read=[read]))
                self.assertEqual(ended.out, "")
                self.assertTrue(any(secret in line and "filesystem.denyRead[0]" in line
                                    for line in self.violations(ended)), ended)
        end, start = os.pipe()
        self.srt("--violations-fd", str(start), "cat", "secret", said=settings(read=["secret"]),
                 pass_fds=[start])
        os.close(start)
        with os.fdopen(end) as told:
            text = told.read()
        self.assertIn(secret, text)
        self.assertIn("filesystem.denyRead[0]", text)

    def test_22_files_only(self):
        port = self.web_server()
        ended = self.srt("curl", "-sS", f"http://127.0.0.1:{port}/",
                         said=settings(network={"disabled": True}))
        self.assertEqual(ended.out, "hello from the host", ended)

    def test_23_rules_with_ports(self):
        port = self.web_server()
        other = self.web_server(b"other")
        said = settings([f"127.0.0.1:{port}"])
        ask = lambda p: self.srt("curl", "-s", f"http://127.0.0.1:{p}/", said=said).out
        self.assertEqual(ask(port), "hello from the host")
        self.assertNotEqual(ask(other), "other")

    def test_24_a_profile_that_can_be_taken_as_it_is(self):
        """docs/srt.md has one; with it a command works and the usual secrets are hidden."""
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/srt.md")
        with open(page) as text:
            said = re.search(r"```json\n(.*?)```", text.read(), re.DOTALL).group(1)
        key = self.file("home/.ssh/id_ed25519", "s3cret")
        ended = self.sh(f"echo > made; cat made {key}", said=json.loads(said))
        self.assertEqual(ended.out, "\n", ended)

    def test_25_environment_without_secrets(self):
        said = settings(credentials={"envVars": [{"name": "A", "mode": "deny"}]})
        ended = self.sh_ok("env", said=said, env={"A": "s3cret", "B": "kept"})
        self.assertNotIn("s3cret", ended.out)
        self.assertIn("B=kept", ended.out)

    def test_26_each_run_has_settings_of_its_own(self):
        """At once, from one program."""
        sayings = [self.settings_file(settings(write=[name]), f"{name}.json") for name in "ab"]
        for name in "ab":
            self.folder(f"project/{name}")
        children = [self.start_srt("-s", said, "sh", "-c", "echo ready; read go; "
                                   "for n in a b; do (echo > $n/f) 2>/dev/null && echo $n; done",
                                   stdin=subprocess.PIPE) for said in sayings]
        for child in children:
            self.assertEqual(child.stdout.readline(), b"ready\n")
        told = [child.communicate(b"go\n", timeout=30)[0] for child in children]
        self.assertEqual(told, [b"a\n", b"b\n"])

    def test_27_browsers_can_make_their_namespaces(self):
        said = settings(allowNestedUserNamespaces=True)
        self.sh_ok("unshare --user --map-root-user --pid --fork true", said=said)

    def test_29_no_way_around_the_list(self):
        """A relay inside reaches what the cell reaches, and a name may not lead elsewhere."""
        port = self.web_server()
        ended = self.srt("curl", "-sS", "-m", "5", "--connect-to", f"example.com:80:127.0.0.1:{port}",
                         "http://example.com/", said=settings(["example.com"]))
        self.assertNotIn("hello", ended.out)
        ended = self.srt("curl", "-sS", "-m", "5", "-x", "http://127.0.0.1:3128", "-p",
                         f"http://127.0.0.1:{port}/", said=settings(["example.com"]))
        self.assertNotIn("hello", ended.out)

    def test_32_stopping_and_going_on(self):
        child = self.start_srt("sh", "-c", "echo ready; read x; echo $x", stdin=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        out, _ = child.communicate(b"on\n", timeout=30)
        self.assertEqual(out, b"on\n")


    def test_34_the_project_does_not_choose_its_rules(self):
        """Settings that lie in it are not read, and a command can't write those that are."""
        self.project_file(".srt-settings.json", json.dumps(settings(write=["/"])))
        self.assertNotEqual(self.sh("echo > made").code, 0)
        self.file("home/.srt-settings.json", json.dumps(settings(write=["~"])))
        self.sh_ok("echo > ~/made; (echo '{}' > ~/.srt-settings.json) 2>/dev/null && exit 1; "
                   "rm -f ~/.srt-settings.json 2>/dev/null && exit 1; exit 0")


class TheList(unittest.TestCase):
    def test_every_number_is_a_test_or_named(self):
        shown = {int(name[5:7]) for name in dir(PainPoints) if name.startswith("test_")}
        self.assertEqual(shown | NOT_HERE.keys(), set(range(1, 35)))
        self.assertFalse(shown & NOT_HERE.keys())
