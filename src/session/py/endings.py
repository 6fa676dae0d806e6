"""The end of all that runs in a session with one lane, and what shows that it is over."""

from _signal import SIGKILL
from posix import (
    PRIO_PROCESS,
    SCHED_BATCH,
    getpid,
    getpriority,
    listdir,
    sched_getscheduler,
    sched_param,
    sched_setscheduler,
)
from time import monotonic, sleep

from processes import fields_of, is_gone, lineage, read_small, read_stat, send, table, tasks

END_SECONDS, OVER_SECONDS = 2.0, 5.0
QUIET_LOOKS = 20  # where others make processes, too, and their ids are counted with ours
PF_EXITING = 4


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
    fields = fields_of(text)
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
    fields = fields_of(text)
    if fields[17] in (b"0", b"1"):
        return is_leaving(fields)
    texts = [read_small("/proc/%d/task/%s/stat" % (pid, name)) for name in tasks(pid)]
    return all(one is None or is_leaving(fields_of(one)) for one in texts)


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
