"""What a process has to put right when it is a copy of another: its channels, its folder, its chance."""

import sys
from _socket import AF_UNIX, SOCK_SEQPACKET, socket, socketpair
from fcntl import fcntl
from posix import (
    O_CLOEXEC,
    O_RDONLY,
    WNOHANG,
    chdir,
    close,
    dup2,
    fstat,
    getcwd,
    listdir,
    read,
    setpgid,
    stat,
    urandom,
    waitpid,
)
from posix import open as open_fd

from layers import path_below
from streams import high_number

F_GETFD, F_SETFD = 1, 2
MAX_TASKS = 64  # that are asked for their children


def high_socket(sock):
    return socket(AF_UNIX, SOCK_SEQPACKET, 0, high_number(sock.detach()))


def own_group(pid):
    try:
        setpgid(pid, pid)
    except OSError:
        pass


def count_tasks():
    """Threads, those that Python doesn't know of as well; 0 when that can't be told."""
    try:
        return stat("/proc/self/task").st_nlink - 2
    except OSError:
        return 0


def let_go_of_channels(keep):
    """Pipes and sockets can't be in two processes: a checkpoint that held them would keep a
    subprocess from seeing the end of its input. In it they become a socket whose peer is gone."""
    try:
        numbers = [int(name) for name in listdir("/proc/self/fd")]
    except OSError:
        return 0
    dead, peer = socketpair(AF_UNIX, SOCK_SEQPACKET)
    peer.close()
    count = 0
    for number in numbers:
        if number <= 2 or number in (keep, dead.fileno()):
            continue
        try:
            if (fstat(number).st_mode & 0o170000) in (0o100000, 0o040000, 0o020000, 0o060000):
                continue
            flags = fcntl(number, F_GETFD)
            dup2(dead.fileno(), number)
            fcntl(number, F_SETFD, flags)
            count += 1
        except OSError:
            continue
    dead.close()
    return count


def reap():
    """In a checkpoint: collects the interpreters that came out of it and have ended."""
    try:
        while waitpid(-1, WNOHANG)[0]:
            pass
    except OSError:
        pass


def count_children(pid, but):
    """Of a process, all its threads' ones; 0 where the kernel does not tell (CONFIG_PROC_CHILDREN)."""
    found = set()
    try:
        for task in listdir("/proc/%d/task" % pid)[:MAX_TASKS]:
            fd = open_fd("/proc/%d/task/%s/children" % (pid, task), O_RDONLY | O_CLOEXEC)
            try:
                found.update(map(int, read(fd, 1 << 16).split()))
            finally:
                close(fd)
    except (OSError, ValueError):
        return 0
    return len(found.difference(but))


def go_to_workspace(folder):
    """Into the files of the lane that it wakes in, at the place where it was in those of another."""
    try:
        below = path_below(getcwd())
    except OSError:
        below = ""  # that folder is gone
    if below is None:
        return
    for path in (folder + below, folder):
        try:
            chdir(path)
            return
        except OSError:
            continue


def reaped(pid):
    """True when this child is dead and collected, by whomever."""
    try:
        return waitpid(pid, WNOHANG)[0] != 0
    except OSError:
        return True


def reseed():
    """Two interpreters from one checkpoint must not draw the same numbers. (`random` sees to its own
    at every fork.)"""
    number = int.from_bytes(urandom(4), "little")
    for name, action in (
        ("numpy.random", lambda module: module.seed(number)),
        ("uuid", lambda module: setattr(module, "_last_timestamp", None)),
        ("ssl", lambda module: module.RAND_add(urandom(32), 32.0)),
        ("__main__", lambda module: reseed_variables(vars(module))),
    ):
        if name in sys.modules:
            try:
                action(sys.modules[name])
            except BaseException:
                continue


def reseed_variables(namespace):
    """Generators that are variables. One that was seeded by hand can't be told from others: all are, as the global
    ones are."""
    kinds = tuple(known_generators())
    for value in list(namespace.values()):
        for kind, seed in kinds:
            if issubclass(type(value), kind):
                try:
                    seed(value)
                except BaseException:
                    continue


def known_generators():
    """(class, what seeds one of it anew), of the libraries that are there."""
    for library, name, seed in (
        ("random", "Random", seed_plain),
        ("numpy.random", "Generator", lambda one: seed_bits(one.bit_generator)),
        ("numpy.random", "RandomState", seed_state),
        ("numpy.random", "BitGenerator", seed_bits),
    ):
        kind = getattr(sys.modules.get(library), name, None)
        if isinstance(kind, type):
            yield kind, seed


def seed_plain(generator):
    """By the library's own class: a subclass may have made `seed` something else."""
    sys.modules["random"].Random.seed(generator)


def seed_bits(bits):
    """As a new one of its kind, with the seeds of those that it will spawn (of numpy 1.25 on)."""
    bits.__setstate__(type(bits)().__getstate__())


def seed_state(state):
    """One with bits of another kind than its own takes no seed."""
    try:
        state.seed()
    except TypeError:
        seed_bits(state._bit_generator)
