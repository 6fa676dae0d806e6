"""Standard output and error of user code: real descriptors, fresh ones for every call.

The host passes two pipes with each call. They are put over 1 and 2, so C code and subprocesses
write to them too, and are replaced by /dev/null when the call ends: what a left-over process still
writes goes into a pipe that nobody reads, never into the next call.
"""

import sys
from _io import FileIO, TextIOWrapper
from _thread import get_ident, get_native_id
from fcntl import fcntl
from posix import O_CLOEXEC, O_RDWR, close, dup2
from posix import open as open_fd

from threads import busy_threads, count_threads, kernel_ids

F_DUPFD_CLOEXEC, HIGH_FD = 1030, 1000
PLAIN = ("utf-8", "backslashreplace", False, True)
LINE_BUFFERED = 1  # setvbuf(3)


class Streams:
    def __init__(self):
        self.null = high_number(open_fd("/dev/null", O_RDWR | O_CLOEXEC))
        self.originals = (sys.stdin, sys.stdout, sys.stderr)  # kept, not freed in each fork
        self.flush_libc = None
        self.modules_seen = len(sys.modules)
        self.both = ()
        self.renew()
        print_libc_by_lines()
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
        for target, number in ((out, 1), (err, 2)):
            if target != number:
                dup2(target, number)
        try:
            self.lead(out, err)
        except OSError:
            # The cell has lowered its limit on descriptors below the numbers of these.
            self.renew()
            self.put_back()
            self.lead(out, err)

    def lead(self, out, err):
        for target, (stream, _, fd, _) in zip((out, err), self.both):
            if not is_unusable(stream):
                dup2(target, fd, False)

    def renew(self):
        """New text streams. Who holds the ones before writes to nowhere."""
        for _, own, fd, _ in self.both:
            own.gone = True
            quietly(lambda fd=fd: close(fd))
        self.both = (make_stream(self.null, 1, "<stdout>"), make_stream(self.null, 2, "<stderr>"))
        self.out, self.err = (stream for stream, _, _, _ in self.both)

    def put_back(self):
        """What a cell did to sys.stdout ends with the cell."""
        if is_unusable(self.out) or is_unusable(self.err):
            self.renew()
        for stream, own, _, fields in self.both:
            unshadow(own, fields)
            make_plain(stream)
        if is_unusable(self.stdin):
            self.stdin = TextIOWrapper(FileIO(0, "r", closefd=False), "utf-8", "replace")
        sys.stdin = sys.__stdin__ = self.stdin
        sys.stdout = sys.__stdout__ = self.out
        sys.stderr = sys.__stderr__ = self.err

    def begin(self, out, err):
        self.muted = ()
        if count_threads():
            self.mute_others()
        self.point(out, err)
        close(out)
        close(err)

    def mute_others(self):
        """Threads of earlier calls that have been at work since then: what they hold of the old streams leads
        nowhere, and what they look up from now on is muted for them. Not those that wait for work: what
        these will say belongs to the call that gives them some."""
        others = busy_threads()
        if others:
            self.renew()
            self.put_back()
            others = Others(others, kernel_ids())
            sys.stdout, sys.stderr = self.muted = (OthersMuted(self.out, others), OthersMuted(self.err, others))

    def notes(self):
        if any(stream.lost for stream in self.muted):
            return ["what threads of earlier calls wrote meanwhile is left out"]
        return []

    def end(self):
        """All bytes of the call are in its pipes when this returns."""
        for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
            if stream is not self.out and stream is not self.err:
                quietly(lambda stream=stream: stream.flush())  # to look it up may be code of the cell's, too
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


def print_libc_by_lines():
    """What C code prints stands where it was printed, and is there when it is killed."""
    from pages import libc

    if libc is None:
        return
    from ctypes import c_void_p

    try:
        libc.setvbuf(c_void_p.in_dll(libc, "stdout"), None, LINE_BUFFERED, 0)
    except Exception:  # a libc of another kind: its lines come at the end of the call
        pass


class Own(FileIO):
    """Writes to a descriptor of its own, but calls itself 1 or 2, which lead to the same place. Each write is
    one write(2): what was written is in the pipe, whatever kills the process next."""

    def __init__(self, fd, number, name):
        super().__init__(fd, "w", False)
        self.number, self.name, self.gone = number, name, False

    def fileno(self):
        return self.number

    def seekable(self):
        """/dev/null is, where it leads between calls: who believes it asks a pipe for its position."""
        return False

    def close(self):
        """What a cell has wrapped around it closes it when it ends; the session's own stream would be shut with it."""

    def write(self, data):
        if self.gone:  # somebody holds it still, and its descriptor is somebody else's
            return memoryview(data).nbytes
        done = write(self, data)
        if done is None or done != len(data):
            return self.write_rest(memoryview(data).cast("B"), done or 0)
        return done

    def write_rest(self, data, done):
        """A pipe that is full takes a part when a signal comes, or nothing if a child made it not wait."""
        from select import POLLOUT, poll

        while done < len(data):
            some = write(self, data[done:])
            if some is None:
                room = poll()
                room.register(FileIO.fileno(self), POLLOUT)
                room.poll()
            done += some or 0
        return done


write = FileIO.write


def duplicate(fd):
    """On a number out of the way of code that closes all it can count to, where the limit leaves one."""
    try:
        return fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD)
    except OSError:
        return fcntl(fd, F_DUPFD_CLOEXEC, 3)


def make_stream(null, number, name):
    """(the stream, what is below it, its descriptor and its fields)"""
    fd = duplicate(null)
    own = Own(fd, number, name)
    text = TextIOWrapper(own, "utf-8", "backslashreplace", "\n", False, True)
    text.mode = "w"
    return text, own, fd, dict(vars(own))


def make_plain(stream):
    """As it was made: without what a cell has put in front of its methods, or has configured."""
    unshadow(stream, {"mode": "w"})
    if (stream.encoding, stream.errors, stream.line_buffering, stream.write_through) != PLAIN:
        quietly(lambda: stream.reconfigure(encoding=PLAIN[0], errors=PLAIN[1], newline="\n", line_buffering=False,
                                           write_through=True))


def unshadow(thing, fields):
    found = vars(thing)
    found.update(fields)
    if len(found) > len(fields):
        for name in [name for name in found if name not in fields]:
            if type(name) is not str or hasattr(type(thing), name):
                del found[name]


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


class Others:
    """Threads that were there when the call began. What Python calls them is given to a new one when they have ended,
    what the kernel calls them is not."""

    def __init__(self, threads, kernel):
        self.threads, self.kernel = threads, kernel

    def is_one(self):
        return get_ident() in self.threads and (self.kernel is None or get_native_id() in self.kernel)


class OthersMuted:
    """The stream of a call while threads of earlier calls live: their words are not this call's."""

    def __init__(self, stream, others):
        self.__dict__["_stream"] = stream
        self.__dict__["_others"] = others
        self.__dict__["lost"] = False

    def write(self, text):
        if self._others.is_one():
            self.__dict__["lost"] = True
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
