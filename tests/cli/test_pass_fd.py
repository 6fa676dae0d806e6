"""Descriptors that are passed on by name, and the end of the process that started caisson."""
import os
import signal
import socket
import subprocess
import time

import harness
from harness import CliTest

SHOW = """
import os
for fd in range(3, 64):
    try:
        print(fd, os.fstat(fd).st_ino)
    except OSError:
        pass
"""


class PassFd(CliTest):
    def inherit(self, *fds):
        return {"pass_fds": fds}

    def pipe(self):
        ends = os.pipe()
        for fd in ends:
            self.addCleanup(self.close, fd)
        return ends

    def close(self, fd):
        try:
            os.close(fd)
        except OSError:
            pass

    def seen_inside(self, *flags, **how):
        """{number: inode} of what the program has above its stdio."""
        out = self.exec_ok(*flags, harness.PYTHON, "-c", SHOW, **how).out
        return dict(tuple(map(int, line.split())) for line in out.splitlines())

    def test_they_are_3_4_and_so_on_in_the_order_given(self):
        one, two = self.pipe()
        other, _ = self.pipe()
        inodes = [os.fstat(fd).st_ino for fd in (two, one, other)]
        seen = self.seen_inside("--pass-fd", str(two), "--pass-fd", str(one), "--pass-fd",
                                str(other), **self.inherit(one, two, other))
        self.assertEqual(seen, {3: inodes[0], 4: inodes[1], 5: inodes[2]})

    def test_all_others_stay_closed(self):
        named, unnamed = self.pipe()
        seen = self.seen_inside("--pass-fd", str(named), **self.inherit(named, unnamed))
        self.assertEqual(seen, {3: os.fstat(named).st_ino})
        self.assertEqual(self.seen_inside(**self.inherit(named, unnamed)), {})

    def test_any_number_of_the_callers_will_do(self):
        """Also those that caisson's own descriptors would take."""
        ends = [self.pipe()[0] for _ in range(4)]
        for lowest in (3, 5, 11, 40):
            fds = [os.dup2(fd, lowest + i + 100) for i, fd in enumerate(ends)]
            words = [word for fd in fds for word in ("--pass-fd", str(fd))]
            try:
                seen = self.seen_inside(*words, **self.inherit(*fds))
            finally:
                for fd in fds:
                    os.close(fd)
            self.assertEqual(list(seen.values()), [os.fstat(fd).st_ino for fd in ends])

    def test_bytes_go_both_ways(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            child = self.start("exec", "--pass-fd", str(theirs.fileno()), harness.PYTHON, "-c",
                               "import os; os.write(3, os.read(3, 99)[::-1])",
                               pass_fds=[theirs.fileno()])
            theirs.close()
            ours.sendall(b"stressed")
            self.assertEqual(ours.recv(99), b"desserts")
            self.assertEqual(ours.recv(99), b"")  # nobody else holds the other end
            self.assertEqual(child.wait(harness.DEADLINE), 0)

    def test_the_supervisor_lets_go_of_them(self):
        """The end of the program's copy is the end, while the cell lives on."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self.start("exec", "--pass-fd", str(theirs.fileno()), harness.PYTHON, "-c",
                       "import os, time; os.close(3); time.sleep(60)", pass_fds=[theirs.fileno()])
            theirs.close()
            ours.settimeout(harness.DEADLINE)
            self.assertEqual(ours.recv(1), b"")

    def test_what_is_not_open_is_an_error(self):
        for words in (["--pass-fd", "77"], ["--pass-fd", "2"], ["--pass-fd", "x"],
                      ["--pass-fd", "-1"]):
            with self.subTest(words):
                ended = self.exec(*words, "true")
                self.assertEqual(ended.code, 125, ended)
                self.assertIn("--pass-fd", ended.err)

    def test_a_mount_is_what_the_caller_has_open_or_there_is_no_cell(self):
        """A path may have come to lead elsewhere since he opened it."""
        meant, other = self.folder("meant"), self.folder("other")
        fd = os.open(meant, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, fd)
        words = ["--mount", f"{meant}:/in:ro", "--mount-is", f"/in:{fd}"]
        self.exec_ok(*words, "true", **self.inherit(fd))
        self.assertEqual(self.seen_inside(*words, **self.inherit(fd)), {})
        os.rename(meant, meant + ".old")
        for replace in (lambda: os.symlink(other, meant), lambda: os.mkdir(meant)):
            replace()
            ended = self.exec(*words, "true", **self.inherit(fd))
            self.assertEqual(ended.code, 125, ended)
            self.assertIn("something else stands there", ended.err)
            os.unlink(meant) if os.path.islink(meant) else os.rmdir(meant)
        for word in ("/in", "/in:77", "/in:x", f"/elsewhere:{fd}"):
            ended = self.exec("--mount", f"{other}:/in:ro", "--mount-is", word, "true",
                              **self.inherit(fd))
            self.assertEqual(ended.code, 125, ended)

    def test_twice_the_same_is_an_error(self):
        one, _ = self.pipe()
        ended = self.exec("--pass-fd", str(one), "--pass-fd", str(one), "true",
                          **self.inherit(one))
        self.assertEqual(ended.code, 125, ended)
        self.assertIn("twice", ended.err)

    def test_more_than_eight_is_an_error(self):
        fds = [self.pipe()[0] for _ in range(9)]
        words = [word for fd in fds for word in ("--pass-fd", str(fd))]
        ended = self.exec(*words, "true", **self.inherit(*fds))
        self.assertEqual(ended.code, 125, ended)
        self.assertEqual(len(self.seen_inside(*words[:16], **self.inherit(*fds))), 8)


class DieWith(CliTest):
    STARTER = """
import os, subprocess, sys
child = subprocess.Popen([sys.argv[1], "exec", "--die-with", str(os.getpid()), *sys.argv[2:]], stdin=subprocess.DEVNULL,
                         pass_fds=[int(os.environ["FD"])])
child.wait()
"""

    def put_away_group(self, starter):
        if starter.poll() is None:
            starter.kill()
        starter.wait()

    def test_the_cell_ends_with_the_starter_even_by_sigkill(self):
        starter, line = self.start_starter()
        self.assertEqual(line.recv(2), b"up")
        begin = time.monotonic()
        os.kill(starter.pid, signal.SIGKILL)
        self.assertEqual(line.recv(2), b"")
        self.assertLess(time.monotonic() - begin, harness.DEADLINE)

    def start_starter(self):
        """A process that has started caisson, and a socket whose other end is in the cell."""
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        script = self.file("starter.py", self.STARTER)
        fd = str(theirs.fileno())
        starter = subprocess.Popen(
            [harness.PYTHON, script, harness.BINARY, "--pass-fd", fd, harness.PYTHON, "-c",
             "import os, time; os.write(3, b'up'); time.sleep(60)"],
            env={**self.environment(), "FD": fd}, cwd=self.project,
            pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        theirs.close()
        self.addCleanup(self.put_away_group, starter)
        ours.settimeout(harness.DEADLINE)
        return starter, ours

    def test_a_parent_that_is_gone_already_is_noticed(self):
        ended = self.exec("--die-with", "1" if os.getpid() != 1 else "2", "echo", "started")
        self.assertEqual((ended.code, ended.out), (125, ""), ended)

    def test_the_right_parent_changes_nothing(self):
        self.assertEqual(self.exec_ok("--die-with", str(os.getpid()), "echo", "x").out, "x\n")

    def test_not_a_process_id(self):
        for word in ("0", "x", "-1", "99999999999"):
            ended = self.exec("--die-with", word, "true")
            self.assertEqual(ended.code, 125, ended)
            self.assertIn("--die-with", ended.err)
