"""Where a session's memory runs out, the kernel ends the process that has most pages mapped, and of a fork and the
session that it is a copy of that is the session as often as not: it has the files of its libraries mapped, too. A fork
that is thrown away is to go first. (/proc/self/oom_score_adj can't be written in a session.) Pages count each
time that they are mapped: a few of them, many times, make it the heavier one at no cost."""

from posix import close, ftruncate, memfd_create

PAGE = 4096
PIECE = 4 << 20
SMALL = 64 << 20
MORE = 64 << 20  # than what only the session has
MOST_TIMES = 512
MAP_POPULATE = 0x8000


def own_and_shared():
    """Bytes in pages of its own, which a fork has too, and of files, which a fork begins without."""
    try:
        with open("/proc/self/statm", "rb") as file:
            all_pages, shared = map(int, file.read().split()[1:3])
        return (all_pages - shared) * PAGE, shared * PAGE
    except (OSError, ValueError):
        return 0, 0


def add_weight(own, shared):
    """As long as the result is held. A fork of a small session is not worth the milliseconds: what it takes
    beyond that makes it heavier by itself."""
    maps = []
    if own < SMALL:
        return maps
    try:
        from mmap import MAP_SHARED, PROT_READ, mmap

        fd = memfd_create("caisson-weight")
        ftruncate(fd, PIECE)
        for _ in range(min(MOST_TIMES, (shared + MORE) // PIECE)):
            maps.append(mmap(fd, PIECE, MAP_SHARED | MAP_POPULATE, PROT_READ))
        close(fd)
    except (ImportError, OSError, ValueError):
        pass  # then it is as likely as before
    return maps
