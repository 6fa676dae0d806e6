"""How many threads Python knows of besides the first. A fork has none of those that its parent has, but goes
on from their number (_thread._count)."""

import sys
from _thread import _count as count_all
from _thread import get_ident

# Where a thread stands that waits for work: a pool's, the loop of asyncio, a queue's.
WAITING_IN = ("/threading.py", "/queue.py", "/selectors.py", "/concurrent/futures/thread.py",
              "/multiprocessing/pool.py", "/multiprocessing/connection.py")


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
                     if thread != own and not frame.f_code.co_filename.endswith(WAITING_IN))
