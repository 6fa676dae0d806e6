"""Work in a fork that is thrown away: it can hang, crash or change things, and the session does not
feel it."""

from _signal import SIG_BLOCK, SIGKILL, pthread_sigmask, valid_signals
from posix import (
    CLD_EXITED,
    P_PID,
    WEXITED,
    WNOHANG,
    WNOWAIT,
    _exit,
    close,
    fork,
    getpid,
    kill,
    killpg,
    pipe,
    read,
    setpgid,
    waitid,
    waitpid,
    write,
)
from select import POLLIN, poll
from time import monotonic, sleep

LONGEST_LINE = 1 << 20
DYING_SECONDS = 0.2  # a process closes its pipes a little before it is dead


class Late(Exception):
    """It has not said anything in time."""


class Gone(Exception):
    """It has ended, or closed its pipe, or says what is no line."""


class GaveWay(Exception):
    """Another call wants the session; this one was not worth its time."""

    __module__ = "builtins"


class Apart:
    """One fork, which does work(tell), and what it tells."""

    def __init__(self, work, way=-1):
        """`way`: a pipe; when its other end is closed, there is no more time for this."""
        self.way = way
        self.rest = b""
        self.reader, writer = pipe()
        try:
            self.pid = fork()
        except OSError:
            close(self.reader)
            close(writer)
            raise
        if self.pid == 0:
            be_child(work, self.reader, writer)
        close(writer)
        self.watcher = poll()
        self.watcher.register(self.reader, POLLIN)
        if way >= 0:
            self.watcher.register(way, 0)  # its end is told unasked

    def more(self, until):
        """The next bytes of it; b"" at the end."""
        left = until - monotonic()
        ready = self.watcher.poll(int(left * 1000) + 1) if left > 0 else ()
        if any(fd == self.way for fd, _ in ready):
            raise GaveWay("saving gave way to another call")
        if not ready:
            raise Late
        return read(self.reader, 65536)

    def line(self, until):
        while b"\n" not in self.rest:
            part = self.more(until)
            if not part or len(self.rest) > LONGEST_LINE:
                raise Gone
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def end(self):
        """Ends it, with all that it has started. How it had ended by itself, as (exit code, signal); None when it
        had not."""
        found = self.wait_a_little() if self.has_closed() else None
        for send, to in ((killpg, self.pid), (kill, self.pid)):  # it may not have come to make its group
            try:
                send(to, SIGKILL)
            except OSError:
                pass
        try:
            waitpid(self.pid, 0)
        except OSError:
            pass  # a thread of the session waits for any child
        close(self.reader)
        return found

    def wait_a_little(self):
        until = monotonic() + DYING_SECONDS
        while monotonic() < until:
            try:
                found = waitid(P_PID, self.pid, WEXITED | WNOHANG | WNOWAIT)
            except OSError:
                return None
            if found is not None:
                exited = found.si_code == CLD_EXITED
                return (found.si_status, None) if exited else (None, found.si_status)
            sleep(0.001)
        return None

    def has_closed(self):
        watcher = poll()
        watcher.register(self.reader, 0)
        return bool(watcher.poll(0))


def manner(ended):
    """How a fork had ended, behind what is said of it."""
    if ended is None:
        return ""
    code, signal = ended
    if signal == 9:
        return " (by signal 9: there may not have been memory enough)"
    return " (by signal %d)" % signal if signal else " (with code %d)" % code


def be_child(work, reader, writer):
    try:
        pthread_sigmask(SIG_BLOCK, valid_signals())
        close(reader)
        setpgid(0, 0)
        own = getpid()

        def write_all(data):
            if getpid() != own:  # code that was run has forked
                _exit(0)
            view = memoryview(data)
            while len(view):
                view = view[write(writer, view):]

        work(write_all)
    finally:
        _exit(0)
