"""The end of all that runs in a session with one lane, and what shows that it is over."""

from _signal import SIGKILL
from posix import (
    PRIO_PROCESS,
    SCHED_BATCH,
    SCHED_RESET_ON_FORK,
    getpid,
    getppid,
    getpriority,
    listdir,
    sched_getscheduler,
    sched_param,
    sched_setscheduler,
)
from time import monotonic

from processes import (
    fields_of,
    is_gone,
    lineage,
    living,
    read_small,
    read_stat,
    send,
    table,
    tasks,
    wait_for_each,
)

END_SECONDS, OVER_SECONDS = 2.0, 5.0
QUIET_LOOKS = 20  # where others make processes, too, and their ids are counted with ours
PF_EXITING = 4


def end_all_but(spared, ours):
    """Kills every process of a session that has one lane, except these. Returns the ids, and how many of
    them were neither dead before nor `ours`; None when it can't be done. Nothing has to stop first,
    and a stop would prove nothing: a timer can have a process send itself SIGCONT. Who is killed makes no
    child any more: the kernel looks for a fatal signal where it would make it. So one looks when all are
    killed: a child that is being made before that has an id and is on no list yet."""
    if getpid() == 1 and not spared:
        found = strangers(set(), 1)
        count = count_alive(found - living(ours))
        stand_back(found)
        send(-1, SIGKILL)  # all at once, with the children that are being made
        return found, count
    hunt = Hunt(spared, ours)
    return (hunt.killed, hunt.count) if hunt.ends() else None


def end_all_since(tick, spared):
    """The same for what has come to be since then, and goes on when the call that it comes from was stopped.
    Says how many there were."""
    hunt = Hunt(spared, [], tick)
    return hunt.count if hunt.ends() else None


class Hunt:
    """Rounds of looking and killing, until one shows nobody. A number stands for the same process while no
    other is given out: one that is killed may be collected by its parent, and that one's next child,
    or another's, may be given its number."""

    def __init__(self, spared, ours, since=0):
        self.processes, self.spared, self.since = spared, living(spared), since
        self.last = last_made()
        self.certain = living(ours) - self.spared  # killed, and none of these numbers is another's
        self.killed = set(self.certain)
        self.count, self.quiet, self.still, self.looked = 0, 0, 0, False
        kill_each(self.certain)  # most often there is nobody else, and one look is enough

    def ends(self):
        """False when somebody outruns it."""
        until = monotonic() + END_SECONDS
        while monotonic() < until:
            if self.goes_round():
                return True
        return False

    def in_sight(self, own):
        """Of one that can't be read about any more it is not known when it began: it may have gone on in its
        child."""
        pids = strangers(self.spared, own)
        return {pid for pid in pids if began_at(pid, self.since) >= self.since} if self.since else pids

    def goes_round(self):
        """Whether nobody is left."""
        own, last = getpid(), last_made()
        changed = last != self.last
        if own == 1 and changed:
            self.certain = set()
        self.spared, self.last = living(self.processes), last
        new = self.in_sight(own) - self.certain
        # One that goes on in its child is soon another. To look at each takes longer than to kill it.
        if new and not self.looked and self.notes_dead(new):
            new = self.in_sight(own) - self.certain
        self.looked = True
        self.count += len(new - self.killed)
        kill_each(new)
        self.certain |= new
        self.killed |= new
        self.quiet = 0 if new else self.quiet + 1
        self.still = 0 if new or changed else self.still + 1
        if not self.quiet or not self.spares_the_same():
            return False
        if self.quiet >= QUIET_LOOKS and not is_own_namespace(own):
            return True
        # Elsewhere the dead are on no list: see notes_dead().
        return last_made() == last and (own == 1 or self.still >= 2)

    def notes_dead(self, pids):
        """Those that nobody has collected yet are no reason for another round, but for another list: one that
        was alive on it may have ended since, in its child. That one had its id before we asked for the last
        that was given out, and was on no list. Once its parent is dead it is on every list."""
        dead = dead_among(pids)
        self.certain |= dead
        self.killed |= dead
        return bool(dead)

    def spares_the_same(self):
        """One of them that has died meanwhile may have left its number to somebody."""
        return living(self.processes) == self.spared


def is_own_namespace(own):
    """Whether all process ids are given out to this session alone: its keeper is the first process, or was
    started by the first one of its cell. Elsewhere there may be no moment without a new one."""
    return own == 1 or getppid() == 1


def began_at(pid, unknown):
    text = read_stat(pid)
    return unknown if text is None else int(fields_of(text)[19])


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
    return len(pids - dead_among(pids))


def dead_among(pids):
    """Of very many none is taken to be so: they are to be killed, and not to be read about."""
    return set() if len(pids) > 32 else {pid for pid in pids if is_dead(pid)}


def is_dead(pid):
    text = read_stat(pid)
    if text is None:
        return True
    fields = fields_of(text)
    return fields[0] in (b"Z", b"X") and fields[17] in (b"0", b"1")


def last_made():
    """The process id that was given out last, in this namespace: while it is the same nobody was born."""
    text = read_small("/proc/loadavg")
    return text.split()[-1] if text else None


def see_over(pids):
    """Waits until none of these, which were killed, can write anything any more. False when one still
    may after a while: it is held in the kernel."""
    return wait_for_each(pids, is_over, OVER_SECONDS)


def is_over(pid):
    """Each thread of it is on its way out and has let go of its memory, or is dead."""
    text = read_stat(pid)
    if text is None:
        return is_gone(pid)
    fields = fields_of(text)
    if fields[17] in (b"0", b"1"):
        return is_leaving(fields)
    texts = [read_small("/proc/%d/task/%s/stat" % (pid, name)) for name in tasks(pid)]
    return all(one is None or is_leaving(fields_of(one)) for one in texts)


def nobody_else(ours):
    """Whether nobody is seen to live but these, nor was born meanwhile: one that goes on in its child may be
    dead when it is read about. No more than a hint: see end_all_but."""
    if getpid() != 1:
        return False
    last = last_made()
    try:
        others = strangers(set(), 1)
    except OSError:
        return False
    others -= living(ours)  # now: a number on the list is still that of the same one
    return count_alive(others) == 0 and last_made() == last


def is_harmed(pid):
    """Whether somebody has signalled a process that nobody had to signal, or put it last in the queue."""
    text = read_small("/proc/%d/status" % pid)
    if text is None:
        return True
    if fact_in(text, b"State")[:1] not in (b"R", b"S", b"D"):
        return True
    if int(fact_in(text, b"SigPnd"), 16) or int(fact_in(text, b"ShdPnd"), 16):
        return True
    try:
        # That flag is on neither's children: code can have put it on the keeper, and no newcomer has it.
        other_policy = (sched_getscheduler(pid) ^ sched_getscheduler(0)) & ~SCHED_RESET_ON_FORK
        return bool(other_policy) or getpriority(PRIO_PROCESS, pid) != getpriority(PRIO_PROCESS, 0)
    except OSError:
        return True


def fact_in(status, name):
    """Of the lines of a status. (To take all of them apart takes longer than the rest of the look.)"""
    place = status.find(b"\n" + name + b":\t")
    return b"1" if place < 0 else status[place + len(name) + 3:].split(None, 1)[0]


def is_leaving(fields):
    """A thread on its way out still has the kernel write to its memory, which may be a file's: the end of
    its robust futexes, a zero at clear_child_tid. Its size is 0 right after that, and long before its
    pages are given back."""
    return fields[0] in (b"Z", b"X") or (int(fields[6]) & PF_EXITING and fields[20] == b"0")


def stand_back(pids):
    """Those that are killed wake, to give their memory back. As processes of this kind they wait for their
    turn, and do not take the processor from who has woken them and has an answer to give. In all else
    they are as any other: with less, code of other sessions that never rests would keep them from their end."""
    for pid in pids if len(pids) <= 8 else ():
        try:
            sched_setscheduler(pid, SCHED_BATCH, sched_param(0))
        except OSError:
            continue  # code may have chosen the lowest kind for itself, which it stays
