"""Forks without what os.fork() does in a child: it has every library that asked for it put its locks and
random numbers in order (os.register_at_fork), which takes a millisecond and writes some forty pages
that were shared, before a line of ours has run.

A process that runs no user code needs none of that: a keeper, or a checkpoint, which does nothing but
wait. What comes out of them to run code is a fork of Python's own, but has reported by then."""

import os
import posix
from _signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask, valid_signals
from errno import EAGAIN
from gc import get_referrers
from os import register_at_fork, strerror
from posix import fork

ALL_SIGNALS = valid_signals()
# What these do in a child is known. Anything else may end it, or never return: then a checkpoint has to
# show that it outlives it, and an interpreter reports when it has.
KNOWN = ("concurrent.futures.thread", "logging", "random", "threading")

try:
    from ctypes import PyDLL, get_errno

    fork_of_libc = PyDLL(None, use_errno=True).fork  # which keeps the lock of the interpreter
except Exception:  # an interpreter that was built without it
    fork_of_libc = None


class Watch:
    """What there is to know about the next fork."""

    is_free = True  # of hooks that code has registered
    first = None  # to be done in the child before the work of any library
    meanwhile = None  # to be done in the parent, the same


def in_child():
    """The first of all hooks."""
    if Watch.first is not None:
        work, Watch.first = Watch.first, None
        work()


def in_parent():
    """The same."""
    if Watch.meanwhile is not None:
        Watch.meanwhile()


def register_first():
    """Before those of libraries. Some are there by now: what a .pth file of the environment imports comes
    before any line of ours. Python keeps them in a list that only the collector can find."""
    register_at_fork(after_in_child=in_child, after_in_parent=in_parent)
    for hook in (in_child, in_parent):
        for hooks in get_referrers(hook):
            if type(hooks) is list and hooks[-1] is hook:
                hooks.insert(0, hooks.pop())


register_first()


def watch_hooks():
    """Before there is user code."""

    def register_at_fork_watched(*, before=None, after_in_child=None, after_in_parent=None):
        hooks = (before, after_in_child, after_in_parent)
        if any(one is not None and getattr(one, "__module__", "") not in KNOWN for one in hooks):
            Watch.is_free = False
        real(**{key: one for key, one in zip(NAMES, hooks) if one is not None})

    real = register_at_fork
    register_at_fork_watched.__name__ = register_at_fork_watched.__qualname__ = "register_at_fork"
    os.register_at_fork = posix.register_at_fork = register_at_fork_watched


NAMES = ("before", "after_in_child", "after_in_parent")


def fork_alone():
    """fork(2), and nothing else. Only where there is one thread: of others Python's own notes would
    have to be cleared away."""
    if fork_of_libc is None:
        return fork()
    pid = fork_of_libc()
    if pid < 0:
        number = get_errno() or EAGAIN
        raise OSError(number, strerror(number))
    return pid


def fork_first(work, meanwhile=None):
    """os.fork() for a child that runs user code. Somebody waits for what `work` says. `meanwhile`: what the
    parent does first, e.g. leave the processor to the child."""
    if not Watch.is_free:
        pid = fork()
        if pid == 0:
            work()
        return pid
    Watch.first, Watch.meanwhile = work, meanwhile
    try:
        return fork()
    finally:
        Watch.first = Watch.meanwhile = None


def fork_silent(threads):
    """For a child that only waits: (pid, the mask of signals as it was). None of them gets through any
    more, in either of the two: a handler that is user code must not run in the child, nor one for
    what has come to the parent before."""
    before = pthread_sigmask(SIG_BLOCK, ())  # runs the handlers of what has come; they may raise
    try:
        pthread_sigmask(SIG_BLOCK, ALL_SIGNALS)
        pid = fork_alone() if threads == 1 and Watch.is_free else fork()
    except BaseException:
        pthread_sigmask(SIG_SETMASK, before)
        raise
    return pid, before
