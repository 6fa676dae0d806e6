"""What the keeper asks of the kernel for itself, where ctypes can be had."""

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36

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
