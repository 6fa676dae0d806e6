"""A terminal to run caisson on, driven as a person would: type, look, wait."""
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time

import harness

CTRL_C, CTRL_D, CTRL_Z, ESCAPE = b"\x03", b"\x04", b"\x1a", b"\x1b"


class Terminal:
    """The slave stays open here, so that its modes can be looked at when caisson is gone."""

    def __init__(self, test, *words, rows=24, columns=80, env=None):
        self.test, self.seen, self.code = test, b"", None
        self.master, self.slave = os.openpty()
        self.resize(rows, columns)
        self.before = self.modes()
        self.pid = os.fork()
        if self.pid == 0:
            self.become([harness.BINARY, *words], test.environment(env), test.project)
        test.addCleanup(self.close)

    def become(self, words, env, folder):
        try:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(self.slave, fd)
            os.closerange(3, 256)
            os.chdir(folder)
            os.execve(words[0], words, env)
        finally:
            os._exit(99)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self):
        return termios.tcgetattr(self.slave)

    def is_raw(self):
        return not self.modes()[3] & (termios.ICANON | termios.ECHO)

    def send(self, data):
        data = data.encode() if isinstance(data, str) else data
        while data:
            data = data[os.write(self.master, data[:2048]):]

    def pump(self, seconds):
        """Takes in what the terminal shows; False when nothing came."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            self.seen += os.read(self.master, 65536)
        except OSError:
            return False
        return True

    def expect(self, pattern, deadline=harness.DEADLINE):
        """Waits until the terminal shows it, and forgets all up to there."""
        end = time.monotonic() + deadline
        while not (found := re.search(pattern.encode(), self.seen, re.S)):
            if time.monotonic() > end or (not self.pump(0.1) and self.ended()):
                while self.pump(0):
                    pass
                if found := re.search(pattern.encode(), self.seen, re.S):
                    break
                self.test.fail(f"no {pattern!r} on the terminal, but {self.seen[-1500:]!r}"
                               f" (exit code {self.code})")
        self.seen = self.seen[found.end():]
        return found

    def ended(self):
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, deadline=harness.DEADLINE):
        end = time.monotonic() + deadline
        while not self.ended():
            if time.monotonic() > end:
                self.test.fail(f"still running after {deadline} s; terminal: {self.seen[-1500:]!r}")
            self.pump(0.02)
        while self.pump(0):
            pass
        return self.code

    def signal(self, number):
        os.kill(self.pid, number)

    def hang_up(self):
        """The window is closed."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def close(self):
        """Once or twice."""
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.master >= 0:
            self.hang_up()
