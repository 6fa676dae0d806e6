"""Large values in huge pages: a fork copies one entry for 2 MiB of them, where it copies 512 of small
ones. What malloc(3) could do by itself (GLIBC_TUNABLES) it doesn't do in a cell: it looks for the
kernel's setting below /sys, which a cell doesn't have."""

from posix import close, preadv, read, readv
from posix import open as open_fd
from time import monotonic

from frames import read_all

HUGE = 2 << 20
SMALL = 4096
LARGE = 8 << 20  # values from here on
GROWN = 32 << 20  # worth a look
AT_ONCE = 8 << 20
# After one call: about what a fork of as much in small pages takes, or half of what the call took; what
# is left waits for the next. The answer is out by then, but what is ordered at once waits for it.
SECONDS, SHARE, MOST_SECONDS = 0.008, 0.5, 0.25
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25
ENDED = "the bytes ended before their time"

try:
    from ctypes import CDLL, PyDLL, c_char, c_int, c_size_t, c_ssize_t, c_void_p, py_object

    libc = CDLL(None, use_errno=True)
    madvise, mincore = libc.madvise, libc.mincore
    madvise.argtypes = (c_void_p, c_size_t, c_int)
    mincore.argtypes = (c_void_p, c_size_t, c_void_p)
    make_bytes = PyDLL(None).PyBytes_FromStringAndSize
    make_bytes.argtypes, make_bytes.restype = (c_void_p, c_ssize_t), py_object
except Exception:  # an interpreter that was built without it
    libc = None


def read_large(fd, size):
    """The bytes of a file, read into pages that were asked for in time."""
    if libc is None or size < LARGE:
        return read_all(fd, size)
    return fill(size, lambda view, have: preadv(fd, [view], have))


def read_stream(fd, size):
    """The bytes that the host sends while they are read."""
    if libc is not None:
        return fill(size, lambda view, have: readv(fd, [view]))
    parts, have = [], 0
    while have < size:
        parts.append(read(fd, min(size - have, 1 << 20)))
        have += len(parts[-1])
        if not parts[-1]:
            raise OSError(ENDED)
    return b"".join(parts)


def fill(size, read_some):
    """Bytes of that size, made once and filled in place before anybody has seen them."""
    data = make_bytes(None, size)
    start = id(data) + bytes.__basicsize__ - 1
    first = -(-start // HUGE) * HUGE
    if size >= LARGE:
        madvise(first, (start + size - first) // HUGE * HUGE, MADV_HUGEPAGE)
    view = memoryview((c_char * size).from_address(start)).cast("B")
    have = 0
    while have < size:
        got = read_some(view[have:], have)
        if not got:
            raise OSError(ENDED)
        have += got
    return data


class Gatherer:
    """Puts memory that has come to be into huge pages, before it is forked."""

    def __init__(self):
        self.seen = 0  # resident bytes when there was nothing left to do

    def gather(self, took=0.0):
        if libc is None:
            return
        now = resident()
        if now < self.seen + GROWN:
            self.seen = min(self.seen, now)
            return
        until = monotonic() + min(max(SECONDS, took * SHARE), MOST_SECONDS)
        if all(collapse(start, end, until) for start, end in large_maps()):
            self.seen = resident()


def resident():
    return int(read_text("/proc/self/statm").split()[1]) * SMALL


def large_maps():
    """Private anonymous memory that can be written, in whole huge pages: the heap and mmap(2)'s."""
    for line in read_text("/proc/self/maps").splitlines():
        fields = line.split()
        if fields[1] == "rw-p" and fields[4] == "0" and (len(fields) < 6 or fields[5] == "[heap]"):
            start, end = (int(number, 16) for number in fields[0].split("-"))
            start, end = -(-start // HUGE) * HUGE, end // HUGE * HUGE
            if end - start >= LARGE:
                yield start, end


def collapse(start, end, until):
    """False when the time was over first."""
    for at, size in full_runs(start, end):
        madvise(at, size, MADV_COLLAPSE)  # at once for what is huge; it may fail, which is no harm
        if monotonic() > until:
            return False
    return True


def full_runs(start, end):
    """Only what is there already: a huge page for a few small ones would cost memory."""
    pages = (c_char * ((end - start) // SMALL))()
    if mincore(start, end - start, pages) < 0:
        return
    there, each, begin = pages.raw, HUGE // SMALL, None
    for at in range(start, end + HUGE, HUGE):
        index = (at - start) // SMALL
        full = at < end and there.count(b"\1", index, index + each) >= each * 7 // 8
        if begin is not None and (not full or at - begin >= AT_ONCE):
            yield begin, at - begin
            begin = None
        if full and begin is None:
            begin = at


def read_text(path):
    fd = open_fd(path, 0o2000000)
    try:
        parts = []
        while not parts or parts[-1]:
            parts.append(read(fd, 1 << 16))
        return b"".join(parts).decode("utf-8", "replace")
    finally:
        close(fd)
