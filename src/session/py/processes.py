"""Processes as the keeper sees them: held by pidfd, killed with all that descends from them."""

import os
from _signal import SIGCONT, SIGKILL, SIGSTOP, pidfd_send_signal
from posix import (
    P_ALL,
    PRIO_PROCESS,
    SCHED_BATCH,
    WEXITED,
    WNOHANG,
    WNOWAIT,
    close,
    getpid,
    getppid,
    getpriority,
    kill,
    listdir,
    pidfd_open,
    read,
    sched_getscheduler,
    sched_param,
    sched_setscheduler,
    waitid,
    waitpid,
)
from posix import open as open_fd
from select import POLLIN, poll
from time import CLOCK_BOOTTIME, clock_gettime, monotonic, sleep

TICKS = os.sysconf("SC_CLK_TCK")
P_PIDFD = getattr(os, "P_PIDFD", 3)
ROUNDS = 30
END_SECONDS, OVER_SECONDS = 2.0, 5.0
QUIET_LOOKS = 20  # where others make processes, too, and their ids are counted with ours
PF_EXITING = 4
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
    return read_small("/proc/%d/stat" % pid)


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
        fields = text[text.rindex(b")") + 2:].split()
        # One whose first thread has ended lives on in its others, and looks dead.
        if fields[0] not in (b"Z", b"X") or fields[17] not in (b"0", b"1"):
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


def lineage():
    """What this process comes from."""
    found, pid = set(), getppid()
    while pid > 1 and pid not in found:
        found.add(pid)
        text = read_stat(pid)
        if text is None:
            break
        pid = int(text[text.rindex(b")") + 2:].split()[1])
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


def end_all_but(spared, uncounted):
    """Kills every process of a session that has one lane, except these. Returns the ids, and how many of
    them were neither dead before nor `uncounted`; None when it can't be done. Nothing has to stop first,
    and a stop would prove nothing: a timer can have a process send itself SIGCONT. Who is killed makes no
    child any more: the kernel looks for a fatal signal where it would make it."""
    own = getpid()
    if own == 1 and not spared:
        found = strangers(spared, own)
        count = count_alive(found - uncounted)
        stand_back(found)
        send(-1, SIGKILL)  # all at once, with the children that are being made
        return found, count
    killed, count, quiet, until = set(uncounted - spared), 0, 0, monotonic() + END_SECONDS
    kill_each(killed)  # ours: most often there is nobody else, and one look is enough
    looked = False
    while monotonic() < until:
        last = last_made()
        new = strangers(spared, own) - killed
        # One that goes on in its child is soon another. To look at each takes longer than to kill it.
        count += len(new) if looked else count_alive(new)
        looked = True
        kill_each(new)
        killed |= new
        quiet = 0 if new else quiet + 1
        if quiet and (last_made() == last or (own != 1 and quiet >= QUIET_LOOKS)):
            return killed, count
    return None


def kill_each(pids):
    stand_back(pids)
    for pid in sorted(pids, reverse=True):
        send(pid, SIGKILL)


def strangers(spared, own):
    """Processes of the session that are not spared. Where the keeper is the first process all are the
    session's, the dead among them. Elsewhere those that descend from it, or from one that is spared:
    clone(2) with CLONE_PARENT in an interpreter makes a child of the checkpoint that it came from."""
    if own == 1:
        return {int(name) for name in listdir("/proc") if name.isdigit()} - spared - {1}
    processes, ours, found = table(spared | {own}), spared | {own}, set()
    while True:
        more = {pid for pid, facts in processes.items() if facts[0] in ours and pid not in ours}
        if not more:
            return found - lineage()
        found |= more
        ours = ours | more


def count_alive(pids):
    """Of very many they are taken to be so: they are to be killed, and not to be read about."""
    return len(pids) if len(pids) > 32 else sum(1 for pid in pids if not is_dead(pid))


def is_dead(pid):
    text = read_stat(pid)
    if text is None:
        return True
    fields = text[text.rindex(b")") + 2:].split()
    return fields[0] in (b"Z", b"X") and fields[17] in (b"0", b"1")


def last_made():
    """The process id that was given out last, in this namespace: while it is the same nobody was born."""
    text = read_small("/proc/loadavg")
    return text.split()[-1] if text else None


def see_over(pids):
    """Waits until none of these, which were killed, is in a system call or in code of its own."""
    until = monotonic() + OVER_SECONDS
    for pid in pids:
        while not is_over(pid) and monotonic() < until:
            sleep(0.0001)


def is_over(pid):
    """Each thread of it is on its way out, or dead."""
    text = read_stat(pid)
    if text is None:
        return is_gone(pid)
    fields = text[text.rindex(b")") + 2:].split()
    if fields[17] in (b"0", b"1"):
        return is_leaving(fields)
    texts = [read_small("/proc/%d/task/%s/stat" % (pid, name)) for name in tasks(pid)]
    return all(one is None or is_leaving(one[one.rindex(b")") + 2:].split()) for one in texts)


def is_harmed(pid):
    """Whether somebody has signalled a process that nobody had to signal, or put it last in the queue."""
    text = read_small("/proc/%d/status" % pid)
    if text is None:
        return True
    facts = dict(line.split(b":\t", 1) for line in text.splitlines() if b":\t" in line)
    if facts.get(b"State", b"X")[:1] not in (b"R", b"S", b"D"):
        return True
    if int(facts.get(b"SigPnd", b"1"), 16) or int(facts.get(b"ShdPnd", b"1"), 16):
        return True
    try:
        same_policy = sched_getscheduler(pid) == sched_getscheduler(0)
        return not same_policy or getpriority(PRIO_PROCESS, pid) != getpriority(PRIO_PROCESS, 0)
    except OSError:
        return True


def is_leaving(fields):
    return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & PF_EXITING)


def stand_back(pids):
    """Those that are killed wake, to give their memory back. As processes of this kind they wait for their
    turn, and do not take the processor from who has woken them and has an answer to give. In all else
    they are as any other."""
    for pid in pids if len(pids) <= 8 else ():
        try:
            sched_setscheduler(pid, SCHED_BATCH, sched_param(0))
        except OSError:
            continue  # code may have chosen the lowest kind for itself, which it stays


def kill_descendants(root, spared, adopter, since):
    """Ends what came from a process and started at or after a tick; says which."""
    victims = stop_descendants(root, spared, adopter, since)
    for pid in victims:
        send(pid, SIGKILL)
    return victims


def stop_descendants(root, spared, adopter, since):
    """Stops everything before anything is killed, so that nothing forks away under the killing."""
    own, victims = getpid(), set()
    spared = lineage().union(spared)
    known = spared | {own, root}
    for _ in range(ROUNDS):
        processes = table(known)
        new = {pid for pid in family(root, adopter, spared, processes, own)
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
    until = monotonic() + STOP_SECONDS
    for pid in pids:
        while not is_stopped(pid):
            if monotonic() > until:
                return False
            sleep(0.0001)
    return True


def is_stopped(pid):
    """No thread of it is anywhere but at its stop, or dead."""
    text = read_stat(pid)
    if text is None:
        return is_gone(pid)
    fields = text[text.rindex(b")") + 2:].split()
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
