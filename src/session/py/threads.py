"""How many threads Python knows of besides the first. A fork has none of those that its parent has, but goes
on from their number (_thread._count)."""

import sys
from _thread import _count as count_all
from _thread import get_ident
from posix import listdir

# Where a thread stands that waits for work: a pool's, the loop of asyncio, a queue's.
WAITING_IN = ("/threading.py", "/queue.py", "/selectors.py", "/concurrent/futures/thread.py",
              "/multiprocessing/pool.py", "/multiprocessing/connection.py")
JOBS = {"run": "/concurrent/futures/thread.py", "worker": "/multiprocessing/pool.py"}  # what calls a pool's job


class Gone:
    """Threads of the process that this one is a copy of."""

    number = 0


def forget_threads():
    """In a fork, before it makes any."""
    Gone.number = count_all()


def count_threads():
    return max(0, count_all() - Gone.number)


def busy_threads():
    """Of others, that don't wait for work."""
    own = get_ident()
    return frozenset(thread for thread, frame in sys._current_frames().items()
                     if thread != own and not waits_for_work(frame))


def waits_for_work(frame):
    """A pool's thread that waits in the middle of a job is at work."""
    if not frame.f_code.co_filename.endswith(WAITING_IN):
        return False
    frame = frame.f_back
    while frame is not None:
        runs_jobs = JOBS.get(frame.f_code.co_name)
        if runs_jobs is not None and frame.f_code.co_filename.endswith(runs_jobs):
            return False
        frame = frame.f_back
    return True


def kernel_ids():
    """Of all threads, those of others among them; None where nobody tells."""
    try:
        return frozenset(map(int, listdir("/proc/self/task")))
    except OSError:
        return None
