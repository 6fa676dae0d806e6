"""Standard output and error of user code: real descriptors, fresh ones for every call.

The host passes two pipes with each call. They are put over 1 and 2, so C code and subprocesses
write to them too, and are replaced by /dev/null when the call ends: what a left-over process still
writes goes into a pipe that nobody reads, never into the next call.
"""

import sys
from _io import BufferedWriter, FileIO, TextIOWrapper
from _thread import get_ident
from fcntl import fcntl
from posix import O_CLOEXEC, O_RDWR, close, dup2
from posix import open as open_fd

from threads import count_threads

F_DUPFD_CLOEXEC, HIGH_FD = 1030, 1000


class Streams:
    def __init__(self):
        self.null = high_number(open_fd("/dev/null", O_RDWR | O_CLOEXEC))
        self.originals = (sys.stdin, sys.stdout, sys.stderr)  # kept, not freed in each fork
        self.flush_libc = None
        self.modules_seen = len(sys.modules)
        self.renew()
        self.stdin = TextIOWrapper(FileIO(0, "r", closefd=False), "utf-8", "replace")
        flush_before_children(self)

    def to_null(self):
        """Descriptors 0 to 2 on /dev/null, which is kept open on a high number."""
        try:
            self.point(self.null, self.null)
            dup2(self.null, 0)
        except OSError:
            low = open_fd("/dev/null", O_RDWR | O_CLOEXEC)
            self.point(low, low)
            if low != 0:
                dup2(low, 0)
            self.null = high_number(low)

    def point(self, out, err):
        """Where descriptors 1 and 2, and the two text streams, lead to."""
        for target, number, stream in ((out, 1, self.out), (err, 2, self.err)):
            if target != number:
                dup2(target, number)
            if not is_unusable(stream):
                dup2(target, stream.own_fd, False)

    def renew(self):
        """New text streams; the ones before stay where they lead, which is nowhere."""
        self.out = make_stream(self.null, 1, "<stdout>")
        self.err = make_stream(self.null, 2, "<stderr>")

    def put_back(self):
        """What a cell did to sys.stdout ends with the cell."""
        if is_unusable(self.out) or is_unusable(self.err):
            self.renew()
        if is_unusable(self.stdin):
            self.stdin = TextIOWrapper(FileIO(0, "r", closefd=False), "utf-8", "replace")
        sys.stdin = sys.__stdin__ = self.stdin
        sys.stdout = sys.__stdout__ = self.out
        sys.stderr = sys.__stderr__ = self.err

    def begin(self, out, err):
        if count_threads():
            # Threads of earlier calls: what they hold of the old streams leads nowhere, and what
            # they look up from now on is muted for them.
            self.renew()
            others = frozenset(sys._current_frames()) - {get_ident()}
            sys.stdout = OthersMuted(self.out, others)
            sys.stderr = OthersMuted(self.err, others)
        self.point(out, err)
        close(out)
        close(err)

    def end(self):
        """All bytes of the call are in its pipes when this returns."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not self.out and stream is not self.err:
                quietly(getattr(stream, "flush", None))
        self.flush()
        self.to_null()
        self.put_back()
        self.flush()  # what a broken pipe left in a buffer goes nowhere

    def flush_texts(self):
        quietly(self.out.flush)
        quietly(self.err.flush)

    def flush(self):
        self.flush_texts()
        if len(sys.modules) != self.modules_seen:
            self.modules_seen = len(sys.modules)
            self.find_libc()
        if self.flush_libc is not None:
            quietly(self.flush_libc)

    def find_libc(self):
        """Compiled modules may print through libc's own buffers; only then is ctypes worth it."""
        if self.flush_libc is None and any(map(is_foreign_extension, list(sys.modules.values()))):
            try:
                from ctypes import CDLL

                libc = CDLL(None)
                self.flush_libc = lambda: libc.fflush(None)
            except Exception:
                self.flush_libc = lambda: None


def high_number(fd):
    """The descriptor on a number out of the way of code that closes all it can count to."""
    try:
        high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD)
    except OSError:
        return fd
    if fd > 2:
        close(fd)
    return high


def is_foreign_extension(module):
    file = getattr(module, "__file__", None)
    name = getattr(module, "__name__", "")
    if name == "ctypes":
        return True
    return type(file) is str and file.endswith(".so") and "/lib-dynload/" not in file


class Raw(FileIO):
    """Writes to a descriptor of its own, but calls itself 1 or 2, which lead to the same place."""

    number = -1

    def fileno(self):
        return self.number


def make_stream(null, number, name):
    own = fcntl(null, F_DUPFD_CLOEXEC, HIGH_FD)
    raw = Raw(own, "w")
    raw.name = name
    raw.number = number
    text = TextIOWrapper(BufferedWriter(raw), "utf-8", "backslashreplace", "\n", True)
    text.mode = "w"
    text.own_fd = own
    return text


def is_unusable(stream):
    try:
        return stream.closed
    except ValueError:  # detached
        return True


def quietly(function):
    try:
        if function is not None:
            function()
    except BaseException:
        pass


def flush_before_children(streams):
    """A half line that was printed must stand before what a child prints."""
    import _posixsubprocess
    import os
    import posix

    def wrap(module, name):
        real = getattr(module, name, None)
        if real is None:
            return

        def call(*args, **kwargs):
            quietly(sys.stdout.flush)
            quietly(sys.stderr.flush)
            return real(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = real.__doc__
        setattr(module, name, call)

    for name in ("system", "posix_spawn", "posix_spawnp"):
        wrap(os, name)
        setattr(posix, name, getattr(os, name))
    wrap(_posixsubprocess, "fork_exec")
    subprocess = sys.modules.get("subprocess")
    if subprocess is not None and hasattr(subprocess, "_fork_exec"):
        subprocess._fork_exec = _posixsubprocess.fork_exec
    os.register_at_fork(before=streams.flush_texts)


class OthersMuted:
    """The stream of a call while threads of earlier calls live: their words are not this call's."""

    def __init__(self, stream, others):
        self.__dict__["_stream"] = stream
        self.__dict__["_others"] = others

    def write(self, text):
        if get_ident() in self._others:
            return len(text)
        return self._stream.write(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __iter__(self):
        return iter(self._stream)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stream.flush()
