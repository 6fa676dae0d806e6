"""How many threads Python knows of besides the first. A fork has none of those that its parent has, but goes
on from their number (_thread._count)."""

from _thread import _count as count_all


class Gone:
    """Threads of the process that this one is a copy of."""

    number = 0


def forget_threads():
    """In a fork, before it makes any."""
    Gone.number = count_all()


def count_threads():
    return max(0, count_all() - Gone.number)
