"""Pages that the first call of a session writes: copied while the session waits in reserve, and not while
somebody waits for the answer. Which they are is learnt once for a zygote, by a fork that makes such a
call, and another one that looks which pages it has for itself then. No code but ours has run there."""

from _signal import alarm
from _socket import AF_UNIX, SOCK_SEQPACKET, socketpair
from _struct import Struct
from posix import O_CLOEXEC, O_WRONLY, _exit, close, fork, pipe, pread, read, write
from posix import open as open_fd
from select import POLLIN, poll

import frames as f
from jsonio import dumps
from pages import SMALL, libc, madvise, read_text

MADV_POPULATE_WRITE = 23  # Linux 5.14; before, nothing is copied ahead
PRESENT, FILE, EXCLUSIVE = 1 << 63, 1 << 61, 1 << 56  # of an entry in /proc/PID/pagemap (proc(5))
RANGE = Struct("<QQ")  # address, bytes
MOST_RANGES = 4096
ENTRY = 8
IDLE_MS = 20
SECONDS = 5  # an interpreter that takes longer for a first call has other worries


def learn(inside):
    """In the zygote, whose children collect themselves: the ranges, as bytes; b"" when they can't be
    had."""
    try:
        return watch_a_player(inside) if libc is not None else b""
    except OSError:
        return b""


def watch_a_player(inside):
    sock, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
    line, other = socketpair(AF_UNIX, SOCK_SEQPACKET)
    reading, writing = pipe()
    player = fork()
    if player == 0:
        become_player(inside, (theirs, line), (sock, other), (reading, writing))
    theirs.close()
    become_host(sock, inside.ready_shell is not None, player, writing)
    # Both end by themselves, the player with its socket. From here on as little as can be: of a page
    # that this process writes, the player has the old one for itself.
    close(writing)
    sock.close()
    ranges = read_ranges(reading)
    close(reading)
    line.close()
    other.close()
    return ranges


def become_host(sock, with_shell, player, writing):
    """In a fork, which then looks."""
    if fork():
        return
    try:
        alarm(SECONDS)
        first_call(sock, with_shell)
        write(writing, own_pages(player))
    finally:
        _exit(0)


def become_player(inside, pair, sockets, fds):
    """Lives as an interpreter in reserve does."""
    try:
        alarm(SECONDS)
        for sock in sockets:
            sock.close()
        f.close_all(fds)
        from keeper import live

        live(inside, pair, None)
    finally:
        _exit(1)


def first_call(sock, with_shell):
    """The host's part of it."""
    options = {"functions": [], "final": [], "ipython": with_shell}
    f.send_message(sock, f.START, 0, 0, 0, dumps(options))
    nothing = open_fd("/dev/null", O_WRONLY | O_CLOEXEC)
    f.send_message(sock, f.EXEC, f.DIRECT, 1, 1, f.NUMBER.pack(1) + b"1", [nothing, nothing])
    answer = f.receive_message(sock)
    if answer is None or answer[0] != f.RESULT:
        raise f.Broken("no answer to the first call")


def read_ranges(fd):
    parts = []
    while not parts or parts[-1]:
        parts.append(read(fd, 1 << 16))
    ranges = b"".join(parts)
    return ranges[: len(ranges) // RANGE.size * RANGE.size]


def own_pages(pid):
    """Those that it shares with nobody."""
    maps = read_text("/proc/%d/maps" % pid)
    fd = open_fd("/proc/%d/pagemap" % pid, O_CLOEXEC)
    try:
        return ranges_in(fd, maps)
    finally:
        close(fd)


def ranges_in(fd, maps):
    ranges, begin, end = [], 0, 0
    for line in maps.splitlines():
        fields = line.split()
        if fields[1] != "rw-p":
            continue
        start, stop = (int(number, 16) for number in fields[0].split("-"))
        entries = pread(fd, (stop - start) // SMALL * ENTRY, start // SMALL * ENTRY)
        for index, entry in enumerate(memoryview(entries).cast("Q")):
            if not (entry & PRESENT and entry & EXCLUSIVE) or entry & FILE:
                continue
            at = start + index * SMALL
            if at != end:
                if end:
                    ranges.append(RANGE.pack(begin, end - begin))
                begin = at
            end = at + SMALL
    ranges.append(RANGE.pack(begin, end - begin))
    return b"".join(ranges[:MOST_RANGES])


def copy(ranges, sock):
    """In an interpreter that waits in reserve. One that is wanted soon doesn't begin: where sessions are
    asked for in a row, they need the processors themselves."""
    waiting = poll()
    waiting.register(sock.fileno(), POLLIN)
    if waiting.poll(IDLE_MS):
        return
    for address, size in RANGE.iter_unpack(ranges):
        madvise(address, size, MADV_POPULATE_WRITE)  # what is not there here stays so
