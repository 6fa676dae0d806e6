"""Work in a fork that is thrown away: it can hang, crash or change things, and the session does not
feel it."""

from _signal import SIG_BLOCK, SIGKILL, pthread_sigmask, valid_signals
from posix import _exit, close, fork, kill, pipe, read, setpgid, waitpid, write
from select import POLLIN, poll
from time import monotonic


def run_apart(work, seconds, bound):
    """What work(write) wrote, up to a number of bytes, until it ends or the time is up."""
    reader, writer = pipe()
    try:
        pid = fork()
    except OSError:
        close(reader)
        close(writer)
        return b""
    if pid == 0:
        be_child(work, reader, writer)
    close(writer)
    try:
        return gather(reader, monotonic() + seconds, bound)
    finally:
        kill(pid, SIGKILL)
        waitpid(pid, 0)
        close(reader)


def be_child(work, reader, writer):
    try:
        pthread_sigmask(SIG_BLOCK, valid_signals())
        close(reader)
        setpgid(0, 0)

        def write_all(data):
            view = memoryview(data)
            while len(view):
                view = view[write(writer, view):]

        work(write_all)
    finally:
        _exit(0)


def gather(reader, until, bound):
    watcher = poll()
    watcher.register(reader, POLLIN)
    parts, size = [], 0
    while size < bound:
        left = until - monotonic()
        if left <= 0 or not watcher.poll(int(left * 1000) + 1):
            break
        part = read(reader, 65536)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)
