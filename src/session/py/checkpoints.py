"""The keeper's side of checkpoints: frozen interpreters, their names, their tree."""

from _signal import SIGKILL
from _socket import (
    AF_UNIX,
    MSG_DONTWAIT,
    MSG_PEEK,
    SO_PASSCRED,
    SOCK_SEQPACKET,
    SOL_SOCKET,
    socketpair,
)
from _socket import timeout as TimedOut
from posix import getpid
from time import time

import frames as f
from jsonio import loads
from processes import Process

THAW_SECONDS = 5.0
MAX_NAMED = 64


NAMES = "1 to 64 of A-Z a-z 0-9 . _ -, starting with a letter or digit"


def is_name(name):
    """As the host has it for sessions: what is called so can be a folder, and a part of a path."""
    return isinstance(name, str) and len(name) <= 64 and name.isascii() and name[:1].isalnum() and (
        name.replace(".", "").replace("_", "").replace("-", "").isalnum())


class Checkpoint:
    """A frozen interpreter. Everything that comes from it is doubted: user code shaped it."""

    def __init__(self, number, sock, parent):
        self.number = number
        self.sock = sock
        self.parent = parent  # the nearest ancestor that has a name, or the root
        self.process = None  # known once it has reported
        self.names = []
        self.facts = {}
        self.created = time()
        self.after_call = 0

    def hear(self, known):
        """Reads its one report: True when it is ready, False when it is gone."""
        try:
            message = f.receive_message(self.sock)
        except (f.Broken, OSError):
            return False
        if message is None:
            return False
        kind, _, _, _, body, fds, pid = message
        f.close_all(fds)
        if kind != f.READY or self.process is not None or pid in known or pid in (0, getpid()):
            return False
        try:
            self.sock.settimeout(0)  # a socket with a timeout waits, whatever the flags say
            self.process = Process(pid)
            self.facts = checked_facts(body)
        except OSError:
            return False
        return True

    def is_silent(self):
        try:
            message = f.receive_message(self.sock, MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except (f.Broken, OSError):
            return False
        if message is not None:
            f.close_all(message[5])
        return False

    def thaw(self, known, workspace="", gate=None):
        """A new live interpreter out of it; None when it did not come in time. `gate`: what its first call
        waits for."""
        def deliver(theirs, ours):
            fds = [sock.fileno() for sock in theirs] + ([gate.waits] if gate is not None else [])
            flags = f.AWAKE if gate is not None and gate.is_told else 0
            f.send_message(self.sock, f.THAW, flags, 0, 0, workspace.encode(), fds)

        return birth(known, deliver)

    def is_dead(self):
        return self.process is None or self.process.is_dead()

    def discard(self):
        """Its process, which was killed and may not be dead yet, if it is known."""
        self.sock.close()
        process, self.process = self.process, None
        if process is not None:
            process.signal(SIGKILL)
            process.reap()
        return process

    def entry(self):
        return {
            "name": self.names[0] if self.names else "",
            "names": list(self.names),
            "number": self.number,
            "parent": self.parent.number if self.parent is not None else None,
            "created": round(self.created, 3),
            "after_call": self.after_call,
            "threads_not_kept": max(0, self.facts.get("threads", 1) - 1),
            "channels_not_kept": self.facts.get("channels", 0),
            "processes_not_kept": self.facts.get("processes", 0),
        }


class Root:
    """The state before any code: not a process of its own, but a new fork of the keeper."""

    number = 0
    parent = None
    process = None
    after_call = 0

    def __init__(self, fork_interpreter):
        self.names = []
        self.facts = {}
        self.created = time()
        self.fork_interpreter = fork_interpreter

    entry = Checkpoint.entry

    def is_dead(self):
        return False

    def thaw(self, known, workspace="", gate=None, unheard=False):
        """`unheard`: its report is left to whoever calls it. It is a fork of our own, and no code has
        shaped it: that it is there is known without a word of it."""
        return birth(known, lambda theirs, ours: self.fork_interpreter(
            theirs, ours, workspace, gate, unheard), unheard)


def checked_facts(body):
    """The numbers a checkpoint tells about itself."""
    try:
        facts = loads(body) if len(body) < 4096 else {}
        return {
            key: value for key, value in facts.items()
            if key in ("threads", "channels", "processes") and type(value) is int and 0 <= value < 1 << 20
        }
    except (ValueError, AttributeError):
        return {}


class Live:
    """A running interpreter: its two sockets and its process."""

    def __init__(self, sock, line, process, facts):
        self.sock = sock
        self.line = line
        self.process = process
        self.facts = facts

    def has_report(self):
        """Whether the first that it says is still to be read, by whoever asks it."""
        try:
            message = f.receive_message(self.sock, MSG_PEEK | MSG_DONTWAIT)
        except (f.Broken, OSError):
            return False
        if message is None:
            return False
        f.close_all(message[5])
        return message[0] == f.READY and message[6] == self.process.pid

    def close(self):
        self.sock.close()
        self.line.close()
        self.process.close()


def birth(known, deliver, unheard=False):
    """Makes the sockets of an interpreter, has its ends delivered, and waits for its report."""
    made = []
    try:
        for _ in range(2):
            made += socketpair(AF_UNIX, SOCK_SEQPACKET)
            made[-2].setsockopt(SOL_SOCKET, SO_PASSCRED, 1)
        ours, theirs, our_line, their_line = made
        pid = deliver((theirs, their_line), (ours, our_line))
        theirs.close()
        their_line.close()
        if unheard:
            made = []
            return Live(ours, our_line, Process(pid), {})
        ours.settimeout(THAW_SECONDS)
        # Left where it is: whoever reads the answers learns from it whose they have to be.
        message = f.receive_message(ours, MSG_PEEK)
        ours.settimeout(None)
        if message is None:
            raise f.Broken("it ended at once")
        kind, _, _, _, body, fds, pid = message
        f.close_all(fds)
        if kind != f.READY or pid in known or pid in (0, getpid()) or len(body) > 4096:
            raise f.Broken("it did not report as it should")
        facts = loads(body)
        if type(facts) is not dict:  # user code may have shaped what reports
            raise f.Broken("its report is no object")
        made = [theirs, their_line]
        return Live(ours, our_line, Process(pid), facts)
    except (OSError, TimedOut, f.Broken, ValueError):
        return None
    finally:
        for sock in made:
            sock.close()
