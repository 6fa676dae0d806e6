"""What a server could still do if somebody had taken it over: its calls are made by its own process."""
import errno
import os
import signal
import subprocess

from harness import McpTest
from intruder import AT_FDCWD, Intruder

O_RDONLY, O_WRONLY, O_CREAT = 0, 1, 0o100


def status_of(pid):
    with open(f"/proc/{pid}/status") as text:
        return dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)


class Confined(McpTest):
    def setUp(self):
        super().setUp()
        self.key = self.file("home/.ssh/id_x", "a key")
        self.note = self.file("project/note.txt", "a note")

    def ask(self, server, *calls):
        """What its process is answered, for each call."""
        with Intruder(server.process.pid) as intruder:
            return [intruder.call(*one) for one in calls]

    def own(self, name):
        return os.path.join(self.state, "caisson", "mcp", name).encode()

    def test_no_file_but_its_own_can_be_opened(self):
        server = self.server()
        server.text("rlm_exec", code="1")
        paths = [self.key, self.note, "/etc/passwd", "/proc/self/environ", self.home, "/"]
        answers = self.ask(server, *[("openat", AT_FDCWD, path.encode(), O_RDONLY)
                                     for path in paths])
        self.assertEqual(dict(zip(paths, answers)), {path: -errno.EACCES for path in paths})

    def test_the_intruder_himself_can(self):
        """The control: in a process without the server's bounds the same calls work."""
        free = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
        self.addCleanup(free.wait)
        self.addCleanup(free.stdin.close)
        while "Name" not in status_of(free.pid) or status_of(free.pid)["State"][0] != "S":
            pass
        with Intruder(free.pid) as intruder:
            self.assertGreaterEqual(
                intruder.call("openat", AT_FDCWD, self.key.encode(), O_RDONLY), 0)
            self.assertGreaterEqual(intruder.call("socket", 2, 1, 0), 0)

    def test_nothing_can_be_written_but_in_its_own_folder(self):
        server = self.server()
        server.text("rlm_exec", code="1")
        elsewhere = os.path.join(self.project, "new").encode()
        answers = self.ask(
            server,
            ("openat", AT_FDCWD, elsewhere, O_WRONLY | O_CREAT, 0o600),
            ("openat", AT_FDCWD, self.note.encode(), O_WRONLY),
            ("mkdirat", AT_FDCWD, elsewhere, 0o700),
            ("unlinkat", AT_FDCWD, self.note.encode(), 0),
            ("openat", AT_FDCWD, self.own("new"), O_WRONLY | O_CREAT, 0o600))
        self.assertEqual(answers[:4], [-errno.EACCES] * 4)
        self.assertGreaterEqual(answers[4], 0)
        self.assertFalse(os.path.exists(elsewhere))

    def test_no_link_leads_its_launcher_elsewhere(self):
        server = self.server()
        server.text("rlm_exec", code="1")
        made = self.ask(
            server,
            ("symlinkat", self.home.encode(), AT_FDCWD, self.own("link")),
            ("linkat", AT_FDCWD, self.note.encode(), AT_FDCWD, self.own("hard"), 0),
            ("renameat2", AT_FDCWD, self.own("forks"), AT_FDCWD, self.own("forks/x"), 0))
        self.assertLess(max(made), 0, made)

    def test_no_program_no_process_no_socket_no_mount(self):
        server = self.server()
        server.text("rlm_exec", code="1")
        calls = [("execve", b"/bin/true", 0, 0), ("clone", signal.SIGCHLD, 0, 0, 0, 0),
                 ("socket", 2, 1, 0), ("socket", 1, 2, 0), ("mount", b"/", b"/", 0, 0, 0),
                 ("ptrace", 16, self.launcher(server), 0, 0), ("io_uring_setup", 1, 0),
                 ("bpf", 0, 0, 0), ("kill", self.launcher(server), 0),
                 ("pidfd_getfd", 0, 0, 0)]
        self.assertEqual(self.ask(server, *calls), [-errno.EPERM] * len(calls))

    def test_it_has_no_capability_and_gets_none(self):
        server = self.server()
        status = status_of(server.process.pid)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        for kind in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)

    def test_a_server_that_has_lost_its_launcher_says_so(self):
        server = self.server()
        self.assertEqual(server.text("rlm_exec", code="1 + 1"), "2")
        os.kill(self.launcher(server), signal.SIGKILL)
        self.wait_gone(self.cells(server.process.pid))
        self.assertIn("launcher", server.fails("rlm_exec", code="1") +
                      server.fails("rlm_exec", code="1"))
        self.assertEqual(server.end(), 0)

    def test_files_are_loaded_by_the_launcher_and_its_rules(self):
        server = self.server()
        self.assertIn("Loaded", server.text("rlm_load", path=self.note, var_name="note"))
        self.assertEqual(server.text("rlm_exec", code="note"), "'a note'")
        os.symlink(self.key, os.path.join(self.project, "link"))
        for path in (self.key, os.path.join(self.project, "link")):
            self.assertIn("access denied", server.fails("rlm_load", path=path, var_name="key"))
        for i in range(40):
            self.file(f"project/many/{i}.txt", str(i))
        server.text("rlm_load", path=os.path.join(self.project, "many"), var_name="many")
        self.assertEqual(server.text("rlm_exec", code="len(many)"), "40")
