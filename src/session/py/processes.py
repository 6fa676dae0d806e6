"""Processes as the keeper sees them: held by pidfd, killed with all that descends from them."""

import os
from _signal import SIGCONT, SIGKILL, SIGSTOP, pidfd_send_signal
from posix import (
    P_ALL,
    WEXITED,
    WNOHANG,
    WNOWAIT,
    close,
    getpid,
    getppid,
    kill,
    listdir,
    pidfd_open,
    read,
    waitid,
    waitpid,
)
from posix import open as open_fd
from select import POLLIN, poll
from time import CLOCK_BOOTTIME, clock_gettime, monotonic, sleep

TICKS = os.sysconf("SC_CLK_TCK")
P_PIDFD = getattr(os, "P_PIDFD", 3)
ROUNDS = 30
AT_REST = (b"T", b"Z", b"X")  # not t: a tracer may stop one within a system call
STOP_SECONDS = 0.02  # until a process has stopped, if it can: one that waits for a vfork(2) can't


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


def living(processes):
    """The ids of those that are not dead. While one is not, its number is no other's."""
    watcher = poll()
    for one in processes:
        watcher.register(one.fd, POLLIN)
    dead = {fd for fd, _ in watcher.poll(0)}
    return {one.pid for one in processes if one.fd not in dead}


def exit_code_of(pid):
    """The wait status of a zombie, whoever its parent is."""
    text = read_stat(pid)
    if text is None:
        return None
    fields = fields_of(text)
    if len(fields) < 50 or fields[0] not in (b"Z", b"X"):
        return None
    return int(fields[49])


def read_stat(pid):
    return read_small("/proc/%d/stat" % pid)


def fields_of(text):
    """From the state on; a name may hold anything."""
    return text[text.rindex(b")") + 2:].split()


def read_small(path):
    try:
        fd = open_fd(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return read(fd, 4096)
    except OSError:
        return None
    finally:
        close(fd)


def table(known=()):
    """{pid: (parent, group, start in ticks)} of every process in sight, zombies left out, and those
    that are known: to read about one takes as long as to list them all."""
    found = {}
    try:
        names = listdir("/proc")
    except OSError:
        return found
    for name in names:
        if not name.isdigit() or int(name) in known:
            continue
        text = read_stat(int(name))
        if text is None:
            continue
        fields = fields_of(text)
        # One whose first thread has ended lives on in its others, and looks dead.
        if fields[0] not in (b"Z", b"X") or fields[17] not in (b"0", b"1"):
            found[int(name)] = (int(fields[1]), int(fields[2]), int(fields[19]))
    return found


def family(root, adopter, spared, processes, own, maker=None):
    """The pids below `root`, those of its process group that lost their parent, and those that the
    adopter (the session's subreaper, or None) took in; children of the checkpoint that made it, too:
    clone(2) with CLONE_PARENT. Never a process that the keeper itself comes from, nor the first one:
    a wrong number here would end what is not ours."""
    never = ancestors(own, processes) | spared | {0, 1}
    members = {root} - never
    grown = bool(members)
    while grown:
        grown = False
        for pid, (parent, group, _) in processes.items():
            if pid in members or pid in never:
                continue
            if parent in members or group == root or parent in (adopter, maker):
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


def lineage():
    """What this process comes from."""
    found, pid = set(), getppid()
    while pid > 1 and pid not in found:
        found.add(pid)
        text = read_stat(pid)
        if text is None:
            break
        pid = int(fields_of(text)[1])
    return found


class Stopped:
    """A process and all that came from it, at a stop, to be ended or to go on."""

    def __init__(self, process, spared, adopter=None):
        self.process, self.spared, self.adopter = process, spared, adopter
        process.signal(SIGSTOP)
        settle([process.pid])
        self.others = stop_descendants(process.pid, spared, adopter, 0)

    def go_on(self):
        for pid in self.others:
            send(pid, SIGCONT)
        self.process.signal(SIGCONT)

    def kill(self):
        """Says how many there were besides the process itself. Looks once more: one that had itself woken
        may have made another."""
        for pid in self.others:
            send(pid, SIGKILL)
        self.process.signal(SIGKILL)
        self.others |= kill_descendants(self.process.pid, self.spared, self.adopter, 0)
        return len(self.others)


def parent_of(pid):
    text = read_stat(pid)
    return None if text is None else int(fields_of(text)[1])


def kill_descendants(root, spared, adopter, since):
    """Ends what came from a process and started at or after a tick; says which."""
    victims = stop_descendants(root, spared, adopter, since)
    for pid in victims:
        send(pid, SIGKILL)
    return victims


def stop_descendants(root, spared, adopter, since):
    """Stops everything before anything is killed, so that nothing forks away under the killing."""
    own, victims = getpid(), set()
    maker = parent_of(root)
    maker = maker if maker in spared and maker != own else None
    spared = lineage().union(spared)
    known = spared | {own, root}
    for _ in range(ROUNDS):
        processes = table(known)
        new = {pid for pid in family(root, adopter, spared, processes, own, maker)
               if pid != root and pid not in victims and processes[pid][2] >= since}
        if not new:
            break
        for pid in new:
            send(pid, SIGSTOP)
        settle(new)
        victims |= new
    return victims


def settle(pids):
    """Waits until all of them have stopped or ended; False when one still runs after a while. SIGSTOP
    is sent and not done: a fork or a write that is under way comes to its end first."""
    return wait_for_each(pids, is_stopped, STOP_SECONDS)


def wait_for_each(pids, has_come, seconds):
    """True when it has come for all of them; False when it has not within that time."""
    until = monotonic() + seconds
    for pid in pids:
        while not has_come(pid):
            if monotonic() > until:
                return False
            sleep(0.0001)
    return True


def is_stopped(pid):
    """No thread of it is anywhere but at its stop, or dead."""
    text = read_stat(pid)
    if text is None:
        return is_gone(pid)
    fields = fields_of(text)
    if fields[0] not in AT_REST or fields[17] in (b"0", b"1"):
        return fields[0] in AT_REST
    threads = tasks(pid)
    texts = [read_small("/proc/%d/task/%s/stat" % (pid, name)) or b") R" for name in threads]
    at_rest = bool(threads) and all(one[one.rindex(b")") + 2:][:1] in AT_REST for one in texts)
    return at_rest and tasks(pid) == threads  # none was made while we looked


def is_gone(pid):
    try:
        kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def tasks(pid):
    try:
        return set(listdir("/proc/%d/task" % pid))
    except OSError:
        return set()


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
