"""What a gateway could still do if somebody had taken it over: its calls are made by its own process."""
import errno
import os
import subprocess

import harness
from intruder import AT_FDCWD, Intruder
from test_stress import COME, WWW, GatewayProcess

O_RDONLY, O_WRONLY, O_CREAT = 0, 1, 0o100
AF_UNIX, AF_INET, AF_NETLINK, AF_PACKET = 1, 2, 16, 17
CLONE_SIGHAND = 0x800  # without CLONE_VM: nobody makes a process of it


class Confined(harness.GatewayTest):
    def begin(self):
        running = self.start(WWW, ["sh", "-c", f"{COME}; echo up; read x; true"])
        self.assertEqual(running.line(), "up")
        return GatewayProcess(self, running).pid

    @staticmethod
    def ask(pid, *calls):
        """What that process is answered, for each call."""
        with Intruder(pid) as intruder:
            return {one: intruder.call(*one) for one in calls}

    def calls(self):
        """Such as do no harm in a process that is free to make them: they look, or they fail."""
        new = os.path.join(self.project, "new").encode()
        return [("openat", AT_FDCWD, b"/etc/passwd", O_RDONLY),
                ("openat", AT_FDCWD, b"/proc/self/environ", O_RDONLY),
                ("openat", AT_FDCWD, b"/", O_RDONLY),
                ("openat", AT_FDCWD, new, O_WRONLY | O_CREAT, 0o600),
                ("mkdirat", AT_FDCWD, new + b"-folder", 0o700),
                ("symlinkat", b"/etc", AT_FDCWD, new + b"-link"),
                ("socket", AF_UNIX, 1, 0), ("socket", AF_NETLINK, 3, 0),
                ("memfd_create", b"x", 0),
                ("kill", os.getpid(), 0)]

    def failing_calls(self):
        """The kernel's own answer to a free process, beside which a refusal stands out."""
        return {("execve", b"/nobody/here", 0, 0): -errno.ENOENT,
                ("clone", CLONE_SIGHAND, 0, 0, 0, 0): -errno.EINVAL,
                ("io_uring_setup", 0, 0): -errno.EFAULT,
                ("ptrace", 0x4206, 0x7ffffff0, 0, 0): -errno.ESRCH}

    def test_no_file_no_process_and_no_socket_but_of_the_network(self):
        pid = self.begin()
        for call, answer in self.ask(pid, *self.calls()).items():
            with self.subTest(call=call):
                self.assertIn(answer, (-errno.EPERM, -errno.EACCES, -errno.ENOSYS))
        self.assertEqual(os.listdir(self.project), [])

    def test_no_program_and_none_of_the_kernels_rare_doors(self):
        pid = self.begin()
        for call, answer in self.ask(pid, *self.failing_calls()).items():
            with self.subTest(call=call):
                self.assertIn(answer, (-errno.EPERM, -errno.EACCES, -errno.ENOSYS))

    def test_what_it_is_there_for_it_can(self):
        pid = self.begin()
        call = ("socket", AF_INET, 1, 0)
        self.assertGreaterEqual(self.ask(pid, call)[call], 0)

    def test_the_intruder_himself_can(self):
        """The control: in a process without the gateway's bounds the same calls work."""
        free = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, cwd=self.project)
        self.addCleanup(free.wait)
        self.addCleanup(free.stdin.close)
        answers = self.ask(free.pid, *self.calls(), *self.failing_calls())
        for call in self.calls():
            with self.subTest(call=call):
                self.assertGreaterEqual(answers[call], 0)
        for call, answer in self.failing_calls().items():
            with self.subTest(call=call):
                self.assertIn(answers[call], (answer, -errno.ENOSYS, -errno.EPERM))
