"""What the keeper asks of the kernel for itself, where ctypes can be had; and what it takes away from
the interpreters that are its forks."""

from posix import closerange

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
FILES, SHARE = 1024, 4  # of an interpreter, as in any other cell; its keeper has four times as many

try:
    from resource import RLIMIT_NOFILE, getrlimit, setrlimit
except Exception:
    getrlimit = None

try:
    from ctypes import CDLL

    libc = CDLL(None)
except Exception:  # an interpreter that was built without it
    libc = None


def protect_keeper():
    """Other processes of the same user may not look into the keeper, nor take its descriptors; and
    orphans of the session come to it, so that it learns how they ended. Says what was had."""
    if libc is None:
        return {"subreaper": False, "hidden": False}
    return {
        "subreaper": libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0,
        "hidden": libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0,
    }


def be_ordinary():
    """An interpreter is no keeper: its own /proc entries belong to it."""
    if libc is not None:
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def keep_only(fds):
    """In a fork: every other descriptor is closed, whoever opened it and whoever has forgotten it."""
    edge = 3
    for fd in sorted(fds):
        closerange(edge, fd)
        edge = fd + 1
    most = getrlimit(RLIMIT_NOFILE)[1] if getrlimit is not None else 4096
    closerange(edge, max(edge, min(most, 1 << 20)))


def have_few_files():
    """In an interpreter, for good. Descriptors under way in sockets are counted for each user, and all
    forks of a zygote are one: who has sent as many as its own limit can send no more (unix(7),
    ETOOMANYREFS). Code in one session could stop all others so; their keepers have a higher limit."""
    if getrlimit is not None:
        hard = getrlimit(RLIMIT_NOFILE)[1]
        most = min(hard, FILES) if 0 <= hard < FILES * SHARE else max(FILES, hard // SHARE)
        setrlimit(RLIMIT_NOFILE, (most, most))
