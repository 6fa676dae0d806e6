"""Processes as the keeper sees them: held by pidfd, killed with all that descends from them."""

import os
from _signal import SIGKILL, SIGSTOP, pidfd_send_signal
from posix import (
    P_ALL,
    WEXITED,
    WNOHANG,
    WNOWAIT,
    close,
    getpid,
    kill,
    listdir,
    pidfd_open,
    read,
    waitid,
    waitpid,
)
from posix import open as open_fd
from select import POLLIN, poll
from time import CLOCK_BOOTTIME, clock_gettime

TICKS = os.sysconf("SC_CLK_TCK")
P_PIDFD = getattr(os, "P_PIDFD", 3)
ROUNDS = 30


class Process:
    """A process by pidfd: the number can't come to mean someone else."""

    def __init__(self, pid):
        self.pid = pid
        self.fd = pidfd_open(pid)

    def signal(self, number):
        try:
            pidfd_send_signal(self.fd, number)
        except OSError:
            pass

    def is_dead(self, wait_ms=0):
        watcher = poll()
        watcher.register(self.fd, POLLIN)
        return bool(watcher.poll(wait_ms))

    def end(self):
        """How it ended, as (exit code, signal); None where unknown. Call once it is dead."""
        code = exit_code_of(self.pid)
        self.reap()
        if code is None:
            return None, None
        return (None, code & 0x7F) if code & 0x7F else (code >> 8, None)

    def reap(self):
        try:
            waitid(P_PIDFD, self.fd, WEXITED | WNOHANG)
        except OSError:
            pass

    def close(self):
        if self.fd >= 0:
            close(self.fd)
            self.fd = -1


def exit_code_of(pid):
    """The wait status of a zombie, whoever its parent is."""
    text = read_stat(pid)
    if text is None:
        return None
    fields = text[text.rindex(b")") + 2:].split()
    if len(fields) < 50 or fields[0] not in (b"Z", b"X"):
        return None
    return int(fields[49])


def read_stat(pid):
    try:
        fd = open_fd("/proc/%d/stat" % pid, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return read(fd, 4096)
    except OSError:
        return None
    finally:
        close(fd)


def table():
    """{pid: (parent, group, start in ticks)} of every process in sight, zombies left out."""
    found = {}
    try:
        names = listdir("/proc")
    except OSError:
        return found
    for name in names:
        if not name.isdigit():
            continue
        text = read_stat(int(name))
        if text is None:
            continue
        fields = text[text.rindex(b")") + 2:].split()
        if fields[0] not in (b"Z", b"X"):
            found[int(name)] = (int(fields[1]), int(fields[2]), int(fields[19]))
    return found


def family(root, adopter, spared, processes, own):
    """The pids below `root`, those of its process group that lost their parent, and those that the
    adopter (the session's subreaper, or None) took in. Never a process that the keeper itself
    comes from, nor the first one: a wrong number here would end what is not ours."""
    never = ancestors(own, processes) | spared | {0, 1}
    members = {root} - never
    grown = bool(members)
    while grown:
        grown = False
        for pid, (parent, group, _) in processes.items():
            if pid in members or pid in never:
                continue
            if parent in members or group == root or (adopter is not None and parent == adopter):
                members.add(pid)
                grown = True
    return members


def ancestors(pid, processes):
    """A process and all that it comes from."""
    found = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = processes.get(pid, (0, 0, 0))[0]
    return found


def kill_family(process, spared, adopter=None):
    """Ends a process and all that came from it; returns how many besides itself."""
    process.signal(SIGSTOP)
    ended = kill_descendants(process.pid, spared, adopter, 0)
    process.signal(SIGKILL)
    return ended


def kill_descendants(root, spared, adopter, since):
    """Ends what came from a process and started at or after a tick. Stops everything first, so that
    nothing forks away under the killing."""
    own = getpid()
    victims = set()
    for _ in range(ROUNDS):
        processes = table()
        new = {pid for pid in family(root, adopter, frozenset(spared), processes, own)
               if pid != root and pid not in victims and processes[pid][2] >= since}
        if not new:
            break
        for pid in new:
            send(pid, SIGSTOP)
        victims |= new
    for pid in victims:
        send(pid, SIGKILL)
    return len(victims)


def ticks_now():
    """The clock by which the kernel tells when a process started."""
    return int(clock_gettime(CLOCK_BOOTTIME) * TICKS)


def send(pid, number):
    try:
        kill(pid, number)
    except OSError:
        pass


def reap_orphans(known):
    """Zombies that came to the keeper because it is the subreaper of the session. The ones in
    `known` stay: how they ended is still to be read. Says how many there were."""
    count = 0
    for _ in range(1000):
        try:
            dead = waitid(P_ALL, 0, WEXITED | WNOHANG | WNOWAIT)
            if dead is None or dead.si_pid in known:
                return count
            waitpid(dead.si_pid, WNOHANG)
        except OSError:
            return count
        count += 1
    return count
