"""What a start does not do: walk a tree, or start a gateway for a program that asks for nothing."""
import ctypes
import os
import struct
import subprocess

from harness import PYTHON
from srt_harness import FETCH, SrtTest, settings

IN_OPEN = 0x20


class Watched:
    """Which of these folders are opened: to list one it has to be (inotify(7))."""

    def __init__(self, folders):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.names = {}
        for folder in folders:
            number = self.libc.inotify_add_watch(self.fd, os.fsencode(folder), IN_OPEN)
            if number < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch", folder)
            self.names[number] = folder

    def opened(self):
        found = []
        while True:
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                number, _, _, size = struct.unpack_from("iIII", data, at)
                if size == 0:  # of the folder itself, and not of one in it
                    found.append(self.names.get(number))
                at += 16 + size

    def close(self):
        os.close(self.fd)


class Start(SrtTest):
    def large_project(self):
        """800 repositories and 250 worktrees; the folders that a search would have to list."""
        folders = [os.path.join(self.project, f"d{n % 20}", f"r{n}", ".git", "hooks")
                   for n in range(800)]
        folders += [os.path.join(self.project, ".git", "worktrees", f"w{n}") for n in range(250)]
        for folder in folders:
            os.makedirs(folder)
        for n in range(250):
            tree = os.path.join(self.project, "trees", f"w{n}")
            os.makedirs(tree)
            with open(os.path.join(tree, ".git"), "w", encoding="utf-8") as file:
                file.write(f"gitdir: {self.project}/.git/worktrees/w{n}\n")
        return [folder for folder, _, _ in os.walk(self.project) if folder != self.project]

    def test_start_looks_into_no_folder_of_a_large_project(self):
        watched = Watched(self.large_project())
        self.addCleanup(watched.close)
        self.srt_ok("true", said=settings(write=["."], read=["~/.ssh", "**/*.secret"]))
        self.assertEqual(watched.opened(), [])
        os.listdir(os.path.join(self.project, "d7", "r7"))  # the watch works
        self.assertEqual(watched.opened(), [os.path.join(self.project, "d7", "r7")])

    def children_of(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
            return text.read().split()

    def test_gateway_is_started_by_the_first_who_comes(self):
        script = f"echo ready; read x; {PYTHON} -c \"$FETCH\" http://no.example/; echo; read x"
        child = self.start_srt("sh", "-c", script, said=settings(allow=["yes.example"]),
                               env={"FETCH": FETCH}, stdin=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        before = self.children_of(child.pid)
        child.stdin.write(b"\n")
        child.stdin.flush()
        self.assertTrue(child.stdout.readline().startswith(b"403 "))
        after = self.children_of(child.pid)
        self.assertEqual(len(after), len(before) + 1, (before, after))
        out, err = child.communicate(b"\n", timeout=30)
        self.assertEqual(child.returncode, 0, err)
        self.assertIn(b"no.example", err)  # what was refused is told

    def test_connection_of_a_program_that_has_ended_is_told_as_well(self):
        # It reached nothing: whoever ended before the gateway had started is still heard of.
        for _ in range(3):
            ended = self.python("import socket\n"
                                "s=socket.create_connection(('203.0.113.7',80))\n"
                                "try: s.sendall(b'GET / HTTP/1.1\\r\\nHost: no.example\\r\\n\\r\\n')\n"
                                "except ConnectionResetError: pass",
                                said=settings(allow=["yes.example"]))
            self.assertEqual(ended.code, 0, ended)
            self.assertTrue(any("203.0.113.7" in one or "no.example" in one
                                for one in self.violations(ended)), ended)
