"""What a server could still do if somebody had taken it over: its calls are made by its own process."""
import errno
import glob
import os
import signal
import struct
import subprocess

from intruder import AT_FDCWD, Intruder, socket_of_packets
from taken_over import (FAILED, FILE, FORK_MADE, KEEP, LOAD, MAKE_FORK, NOTE, O_CREAT, O_DIRECTORY,
                        O_PATH, O_RDONLY, O_WRONLY, TAKE_UP, TAKEN_UP, TakenOver)


def status_of(pid):
    with open(f"/proc/{pid}/status") as text:
        return dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)


class Confined(TakenOver):
    def setUp(self):
        super().setUp()
        self.key = self.file("home/.ssh/id_x", "a key")
        self.note = self.file("project/note.txt", "a note")

    def test_no_file_but_its_own_can_be_opened(self):
        server = self.server()
        server.text("rlm_exec", code="1")
        paths = [self.key, self.note, "/etc/passwd", "/proc/self/environ", self.home, "/"]
        answers = self.ask(server, *[("openat", AT_FDCWD, path.encode(), O_RDONLY)
                                     for path in paths])
        self.assertEqual(dict(zip(paths, answers)), {path: -errno.EACCES for path in paths})

    def test_no_folder_can_be_opened_and_handed_to_a_cell(self):
        """By O_PATH Landlock lets anybody have one, and a cell that got it would go on by `..`."""
        server = self.server()
        server.text("rlm_exec", code="1")
        own = os.path.dirname(self.own(server, "x"))
        ways = [(path, flags) for path in (b"/", self.home.encode(), own, b".")
                for flags in (O_PATH, O_PATH | O_DIRECTORY, O_DIRECTORY, O_RDONLY)]
        answers = self.ask(server, *[("openat", AT_FDCWD, path, flags) for path, flags in ways])
        self.assertEqual({way: answer for way, answer in zip(ways, answers)
                          if answer not in (-errno.EPERM, -errno.EACCES)}, {})
        self.assertEqual(server.text("rlm_exec", code="2"), "2")

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
            self.assertGreaterEqual(
                intruder.call("openat", AT_FDCWD, b"/", O_PATH | O_DIRECTORY), 0)
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
            ("openat", AT_FDCWD, self.own(server, "new"), O_WRONLY | O_CREAT, 0o600))
        self.assertEqual(answers[:4], [-errno.EACCES] * 4)
        self.assertGreaterEqual(answers[4], 0)
        self.assertFalse(os.path.exists(elsewhere))

    def test_no_link_leads_its_launcher_elsewhere(self):
        server = self.server()
        server.text("rlm_exec", code="1")
        made = self.ask(
            server,
            ("symlinkat", self.home.encode(), AT_FDCWD, self.own(server, "link")),
            ("linkat", AT_FDCWD, self.note.encode(), AT_FDCWD, self.own(server, "hard"), 0),
            ("mkdirat", AT_FDCWD, self.beside(server, "new"), 0o700))
        self.assertLess(max(made), 0, made)

    def test_the_folders_of_cells_are_out_of_its_reach(self):
        """A cell's link in a kept workspace and one rename: then the launcher would look through it."""
        server = self.server()
        server.text("rlm_exec", code="import os; os.symlink('/', '/workspace/layers')")
        names = ("forks", "rooms", "workspaces", "branches", "../../trash")
        for name in names:
            self.assertTrue(os.path.isdir(self.beside(server, name)), name)
        moved = self.ask(server, *[("renameat2", AT_FDCWD, self.beside(server, name), AT_FDCWD,
                                    self.beside(server, "evil"), 0) for name in names])
        moved += self.ask(server, ("renameat2", AT_FDCWD, self.beside(server, "rooms"), AT_FDCWD,
                                   self.beside(server, "workspaces"), 2))
        moved += self.ask(server, ("renameat2", AT_FDCWD, self.own(server, ""), AT_FDCWD,
                                   self.beside(server, "evil"), 0))
        opened = self.ask(server, *[("openat", AT_FDCWD, self.beside(server, name), O_RDONLY)
                                    for name in names])
        made = self.ask(server, *[("mkdirat", AT_FDCWD, self.beside(server, name + "/x"), 0o700)
                                  for name in names])
        self.assertEqual(moved + opened + made, [-errno.EACCES] * 17)

    def test_no_way_into_a_cgroup_is_handed_to_it(self):
        """With one it could move any process of its user's there, and have it killed."""
        server = self.server()
        server.text("rlm_exec", code="1")
        key, = {name.split("-")[1] for name in os.listdir(self.beside(server, "forks").decode())
                if "-" in name}
        pid = server.process.pid
        socket = socket_of_packets(pid)
        limits = struct.pack("<QQQ", 2 << 30, 2000, 256)
        with Intruder(pid) as intruder:
            kind, text, descriptors = self.order(intruder, socket, MAKE_FORK,
                                                 (key.encode(), limits), answers=(FORK_MADE, FAILED))
            if kind != FORK_MADE:  # an ordinary user often has none to give
                self.assertIn(b"no cgroup", text)
            held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in descriptors]
        self.assertEqual([one for one in held if not one.endswith(".lock")], [])

    def test_links_of_a_cell_lead_its_launcher_nowhere(self):
        """What a session put into its workspace, and every order that has to do with folders."""
        document = self.file("home/Documents/secret", "a document")
        token = self.file("state/caisson/serve/token", "a token")
        server = self.server()
        server.text("rlm_exec", code=(
            "import os; open('/workspace/mark', 'w').close()\n"
            f"os.symlink({self.home!r}, '/workspace/layers')\n"
            f"os.symlink({os.path.join(self.state, 'caisson')!r}, '/workspace/w')\n"
            f"os.symlink({self.home!r}, '/branches/Documents')"))
        top = self.beside(server, "").decode()
        found, = glob.glob(top + "forks/*/*/files/mark") + glob.glob(top + "workspaces/*/mark")
        files = os.path.dirname(found)
        # A cell of its own has its workspace beside its room.
        room = os.path.relpath(os.path.dirname(files), top) if files.endswith("/files") else (
            "rooms/" + os.path.basename(files))
        pid = server.process.pid
        socket = socket_of_packets(pid)
        with Intruder(pid) as intruder:
            for workspace in (files + "/w", files, self.beside(server, "").decode(), "/"):
                kind, text, _ = self.order(intruder, socket, LOAD, (token.encode(), workspace.encode()),
                                           answers=(FILE, FAILED))
                self.assertEqual(kind, FAILED, (workspace, text))
            for place in (room + "/files", room + "/files/layers", "rooms/../..", room + "/layers"):
                self.order(intruder, socket, NOTE, (place.encode(), b"evil"))
                self.order(intruder, socket, KEEP, (place.encode(), b"Documents"), number=1)
            self.order(intruder, socket, KEEP, (room.encode(), b"Documents"), number=1)
            kind, text, _ = self.order(intruder, socket, TAKE_UP, ((room + "/files").encode(), b"x"),
                                       answers=(TAKEN_UP, FAILED))
            self.assertEqual(kind, FAILED, text)
        self.assertTrue(os.path.exists(document))
        self.assertEqual(sorted(os.listdir(self.home)), [".ssh", "Documents"])
        for name in ("workspaces", "branches"):
            self.assertNotIn("Documents", os.listdir(self.beside(server, name).decode()))

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
        cells = self.cells(server.process.pid)  # once it is gone, they are no longer below the server
        os.kill(self.launcher(server), signal.SIGKILL)
        self.wait_gone(cells)
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
