"""A look at the processes of a session while the keeper waits for a fork: what it shows need not be found
out once more after the fork, when somebody waits for the keeper."""

from posix import getpid
from select import POLLIN, poll
from time import sleep

from endings import is_dead, last_made, strangers
from processes import fields_of, living, read_small, read_stat

TRIES, PAUSE = 20, 0.0002
MOST = 32  # to read about each of more would take longer than the fork


class Look:
    """`stopped`: the interpreter whose place is taken, which was sent SIGSTOP. `known`: says which processes,
    that one among them, are killed or spared afterwards, whatever they do."""

    def __init__(self, stopped, known):
        self.stopped, self.known = stopped, known
        self.others = None  # who lived besides, if that can be told
        self.last = None  # the id that was given out last before that was listed
        self.runs = None  # how often the stopped one had been given a processor by then

    def take_while(self, sock):
        """Once it has come to its stop, which may take a while, unless the new one reports before."""
        watcher = poll()
        watcher.register(sock, POLLIN)
        for _ in range(TRIES):
            if self.take() or watcher.poll(0):
                break
            sleep(PAUSE)

    def take(self):
        """One that is at its stop makes no child, which could be missed here and be there soon after.
        False when it is not there yet."""
        self.runs = runs_at_rest(self.stopped)
        if self.runs is None or getpid() != 1:
            return self.runs is not None
        try:
            self.last = last_made()
            others = strangers(set(), 1)
            others -= living(self.known())  # now: a number on the list is still that of the same one
            if len(others) <= MOST:
                self.others = {pid for pid in others if not is_dead(pid)}
        except OSError:
            self.others = None
        return True

    def shows_all(self, born):
        """Whether there is nobody but the one that was born and those that were known. Ids are given out
        in turn: nobody else was born since if the new one has the next, and is the last."""
        if self.others is None or self.last is None or self.others - {born}:
            return False
        return int(self.last) in (born - 1, born) and last_made() == b"%d" % born

    def has_not_run(self, pid):
        """Of one that was killed after the look: whether it was at its stop all the time. Then it goes
        from there to its end, and never again to code or a system call."""
        return pid == self.stopped and self.runs is not None and self.runs == runs_of(pid)


def runs_at_rest(pid):
    """None where it is not at rest: its one thread stopped. The number is read first: one that is
    running has it counted already, and would seem not to have run since."""
    runs, text = runs_of(pid), read_stat(pid)
    if text is None:
        return None
    fields = fields_of(text)
    return runs if fields[0] == b"T" and fields[17] == b"1" else None


def runs_of(pid):
    """None where the kernel doesn't count."""
    text = read_small("/proc/%d/schedstat" % pid)
    fields = text.split() if text else ()
    return int(fields[2]) if len(fields) == 3 and fields[2] != b"0" else None
