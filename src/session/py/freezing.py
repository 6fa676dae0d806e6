"""Checkpoints as the interpreter has them: forks of itself, and what comes out of them again.

A checkpoint is a child that waits, with every signal blocked, for the order to fork again. The live
interpreter stays the parent: its threads, its subprocesses, its locks and its process id live on.
"""

from _signal import SIG_SETMASK, pthread_sigmask
from _socket import AF_UNIX, SO_PASSCRED, SOCK_SEQPACKET, SOL_SOCKET, socket, socketpair
from errno import ETOOMANYREFS
from posix import _exit, getpid, getppid, sched_yield
from posix import close as close_fd
from select import POLLIN, poll
from time import monotonic

import frames as f
from forks import fork_first, fork_silent
from jsonio import dumps
from rebirth import (
    count_children,
    count_tasks,
    go_to_workspace,
    high_socket,
    let_go_of_channels,
    own_group,
    reap,
    reaped,
    reseed,
)
from threads import forget_threads

ORDER_SECONDS = 1.0
ASIDE_MS = 5
AWAKE_SECONDS = 0.002
ONLY_THE_END = 0  # of what a poll is asked about: POLLHUP is told unasked


class Freezing:
    """The part of an Interpreter that deals with checkpoints."""

    def stand_before(self, gate):
        """This one takes the place of another, which is killed once we have reported. Nobody waits
        for its memory then; but the first call does, or both together could be too much."""
        if self.gate >= 0:
            close_fd(self.gate)
        self.gate = gate

    def pass_gate(self):
        watcher = poll()
        watcher.register(self.gate, ONLY_THE_END)
        watcher.poll()  # until the keeper lets go of its end
        close_fd(self.gate)
        self.gate = -1

    def take_checkpoint(self, request, nonce, direct, given=()):
        """`given`: its socket, from the keeper. Else one is made here, which is one hop less."""
        tell = self.tell_keeper if direct else self.answer
        threads = count_tasks()
        try:
            if given:
                ours, theirs = None, socket(AF_UNIX, SOCK_SEQPACKET, 0, given[0])
            else:
                ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
                ours.setsockopt(SOL_SOCKET, SO_PASSCRED, 1)
            self.forking = True
            pid, mask = fork_silent(threads)
        except OSError as error:  # no process, or no descriptor, to be had
            self.not_kept = f.NOT_KEPT
            text = dumps({"error": "fork: " + (error.strerror or "failed")})
            tell(f.NOT_TAKEN, 0, request, nonce, text)
            return
        finally:
            self.forking = False
        if pid == 0:
            if ours is not None:
                ours.close()
            self.freeze(theirs, threads, mask)
            return
        self.not_kept = 0
        try:  # a handler of the cell may raise, but runs after all of this
            self.checkpoints = [one for one in self.checkpoints if not reaped(one)] + [pid]
            own_group(pid)  # before the next call can kill the group that it was born into
            theirs.close()
            if ours is None:
                tell(f.TAKEN, 0, request, nonce)
            else:
                self.hand_over(ours, tell, direct, request, nonce)
        finally:
            pthread_sigmask(SIG_SETMASK, mask)
        if self.not_kept:
            self.take_second_order(direct)

    def hand_over(self, ours, tell, direct, request, nonce):
        """What can't be handed over ends with its socket; the keeper orders another one, and sends
        the socket for it: it has room where an interpreter has none (hardening.py)."""
        sock = self.line.sock if direct else self.sock
        try:
            f.send_message(sock, f.TAKEN, 0, request, nonce, b"", [ours.fileno()], rounds=0)
        except OSError as error:
            if error.errno != ETOOMANYREFS:
                _exit(f.CHANNEL_GONE)
            ours.close()
            tell(f.NOT_TAKEN, f.NO_ROOM, request, nonce, dumps({"error": "no room for its socket"}))
            self.not_kept = f.NOT_KEPT
        ours.close()

    def take_second_order(self, direct):
        """On the line, ahead of the next call, which may be on its way already."""
        self.line.sock.settimeout(ORDER_SECONDS)
        try:
            message = f.receive_message(self.line.sock)
            while message is not None and message[0] != f.FORK:  # an answer that comes too late
                f.close_all(message[5])
                message = f.receive_message(self.line.sock)
            self.line.sock.settimeout(None)
        except (OSError, f.Broken):
            self.line.sock.settimeout(None)
            return
        if message is not None and len(message[5]) == 1:
            self.take_checkpoint(message[2], message[3], direct, message[5])

    def answer(self, *message):
        f.send_message(self.sock, *message)

    def freeze(self, sock, threads, mask):
        """In the checkpoint: waits, and forks when told. Returns only in a child that is live."""
        for old in (self.sock, self.line.sock):
            old.close()
        sock = high_socket(sock)
        own_group(0)
        dead = let_go_of_channels(sock.fileno())
        started = count_children(getppid(), (getpid(), *self.checkpoints))
        body = dumps({"threads": threads, "channels": dead, "processes": started})
        f.send_message(sock, f.READY, 0, 0, 0, body)
        report = self.report()  # made here: each page that a child writes is copied while one waits
        while True:
            message = f.receive_message(sock)
            if message is None:
                _exit(0)
            kind, flags, _, _, workspace, fds, _ = message
            if kind != f.THAW or len(fds) not in (2, 3):
                f.close_all(fds)
                continue
            reap()
            self.forking = True
            pair = [socket(AF_UNIX, SOCK_SEQPACKET, 0, fd) for fd in fds[:2]]
            gate = fds[2] if len(fds) == 3 else -1
            try:
                pid = fork_first(
                    lambda: self.be_born(pair[0], report, gate, workspace.decode(), flags & f.AWAKE),
                    lambda: stand_aside(gate, sock, ASIDE_MS))
            except OSError:
                pid = -1
            self.forking = False
            if pid == 0:
                sock.close()
                self.thaw(pair, mask)
                return
            for one in pair:
                one.close()
            f.close_all(fds[2:])

    def be_born(self, sock, report, gate=-1, workspace="", awake=False):
        """In an interpreter that is new: what the keeper waits for. (Once it has reported, the files of
        its folder are changed.)"""
        own_group(0)
        self.stand_before(gate)
        if workspace:
            go_to_workspace(workspace)
        try:
            if sock is not None:
                sock.send(report)
        except OSError:
            _exit(f.CHANNEL_GONE)
        if awake and gate >= 0:
            stay_awake(gate)
        if gate >= 0:
            stand_aside(gate, sock)

    def be_born_aside(self, sock, report):
        """The same where nobody waits for it, but for an answer that the keeper is about to give: all has
        time until that is on its way, or until a call has come."""
        sched_yield()
        self.be_born(sock, report)

    def thaw(self, pair, mask):
        self.checkpoints = []
        forget_threads()
        self.executor.forget_loop()
        reseed()
        pthread_sigmask(SIG_SETMASK, mask)
        self.begin(*pair)


def stand_aside(gate, sock, most_ms=None):
    """In what has no more to say when a new interpreter has reported: itself, and the checkpoint that it
    came from. The keeper has work to do before its answer, and what it kills is over only when it was given
    a processor: where there are two, both were taken. The rest of a fork can wait until the gate is open,
    or there is something to read."""
    if gate < 0:
        sched_yield()
        return
    watcher = poll()
    watcher.register(gate, ONLY_THE_END)
    watcher.register(sock.fileno(), POLLIN)
    watcher.poll(most_ms)


def stay_awake(gate):
    """Until the one before is killed, for a moment at most. A processor that goes idle takes over what waits
    for another; one that is idle already is not asked: what is killed would wait behind the keeper, who has
    killed it, and the keeper then for the end of its memory."""
    watcher = poll()
    watcher.register(gate, POLLIN)
    until = monotonic() + AWAKE_SECONDS
    while not watcher.poll(0) and monotonic() < until:
        sched_yield()
