"""A lane's way back: the checkpoints it takes, and the return to the newest that still wakes."""

from _socket import AF_UNIX, SO_PASSCRED, SO_TYPE, SOCK_SEQPACKET, SOL_SOCKET, socket, socketpair
from posix import urandom
from select import POLLIN, poll
from time import monotonic, sleep

import frames as f
import orders
from jsonio import loads

MAX_IDLE_DEATHS = 5
MAX_COMING = 8
READY_SECONDS = 3.0  # well within the time that the host gives a lane


class WayBack:
    """The part of a Lane that deals with checkpoints."""

    def __init__(self):
        self.base = None  # the checkpoint that a restore goes back to
        self.coming = []  # checkpoints that were forked and have not reported yet, oldest first
        self.awaited = None  # (nonce, request, call number): a checkpoint that was ordered
        self.offered = {}  # nonce -> our end of its socket, when that was sent with the order
        self.changed_at = 0  # number of the last call that may have changed the state
        self.changer = None  # its nonce, where the keeper was told by the call
        self.wanted = []  # (request, name) of checkpoints to be named once they are there
        self.idle_deaths = 0
        self.reason = ""

    @property
    def no_way_back(self):
        """Why there is no newer checkpoint."""
        return self.reason

    @no_way_back.setter
    def no_way_back(self, reason):
        if self.direct and bool(reason) != bool(self.reason):
            self.send(f.WAY, 0, b"\1" if reason else b"\0")
        self.reason = reason

    def is_dirty(self):
        """Calls have changed the state since the checkpoint that a restore goes back to."""
        return self.changed_at > self.base.after_call

    def ask_for_checkpoint(self):
        nonce = int.from_bytes(urandom(8), "little")
        self.order_checkpoint(self.live.sock, nonce, self.calls)

    def order_checkpoint(self, sock, nonce, number, fds=()):
        request, flags = nonce & 0xFFFFFFFF, f.DIRECT if self.direct else 0
        self.awaited = (nonce, request, number)
        try:
            f.send_message(sock, f.FORK, flags, request, nonce, b"", fds)
        except OSError:
            self.awaited = None

    def offer_socket(self, number):
        """Orders a checkpoint once more: the interpreter could not send its socket, so it is sent
        one. (An object that is forgotten closes its socket, and what waits at the other end ends.)"""
        try:
            ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        except OSError:
            self.no_checkpoint("there is no socket left for it")
            return
        ours.setsockopt(SOL_SOCKET, SO_PASSCRED, 1)
        nonce = int.from_bytes(urandom(8), "little")
        self.offered = {nonce: ours}
        self.order_checkpoint(self.live.line, nonce, number, [theirs.fileno()])
        theirs.close()

    def on_taken(self, fd, number):
        sock = socket_of_messages(fd)
        if sock is None:
            self.no_checkpoint("the interpreter handed over something else")
            return
        if len(self.coming) >= MAX_COMING:  # each holds a descriptor of ours; a newer one is better
            self.keeper.discard(self.coming.pop(0))
        parent = self.base
        if parent is not None and not parent.names and parent is not self.keeper.root:
            parent = parent.parent
        sock.settimeout(READY_SECONDS)
        checkpoint = self.keeper.add_checkpoint(sock, parent)
        checkpoint.after_call = number
        self.coming.append(checkpoint)
        self.keeper.watch(sock.fileno(), lambda: self.on_checkpoint(checkpoint))

    def on_checkpoint(self, checkpoint):
        """Its report; after that it is silent, and a word more from it means that it is no longer
        what it was. (Its report may have been heard already, outside the loop.)"""
        if checkpoint.process is None:
            self.hear(checkpoint)
        elif not checkpoint.is_silent():
            self.checkpoint_gone(checkpoint)

    def hear(self, checkpoint):
        if not checkpoint.hear(self.keeper.known()):
            self.checkpoint_gone(checkpoint)
            return
        if checkpoint not in self.coming:
            return
        place = self.coming.index(checkpoint)
        older, self.coming = self.coming[:place], self.coming[place + 1:]
        old, self.base = self.base, checkpoint
        if not self.is_dirty():
            self.no_way_back = ""
        for one in older:
            self.keeper.discard(one)
        wanted, self.wanted = self.wanted, []
        for request, name in wanted:
            orders.give_name(self, request, name, checkpoint)
        if old is not checkpoint:
            self.keeper.discard_if_unused(old)
        self.keeper.collect()

    def checkpoint_gone(self, checkpoint):
        """A frozen interpreter died: killed by the cell, or for want of memory."""
        if checkpoint is self.keeper.root:
            return  # it is the keeper; it could not fork just now
        for lane in self.keeper.lanes:
            if checkpoint in lane.coming:
                lane.coming.remove(checkpoint)
                lane.no_checkpoint("the checkpoint ended at once")
            if lane.base is checkpoint:
                lane.base = checkpoint.parent or self.keeper.root
        for other in self.keeper.checkpoints.values():
            if other.parent is checkpoint:
                other.parent = checkpoint.parent
        self.keeper.discard(checkpoint)

    def no_checkpoint(self, reason):
        self.no_way_back = reason
        wanted, self.wanted = self.wanted, []
        for request, _ in wanted:
            self.refuse(request, "no checkpoint could be taken: " + reason)

    # --- the return

    def hear_coming(self):
        """A checkpoint that was ordered before this is the one to go back to: wait for it."""
        until = monotonic() + READY_SECONDS
        if self.direct and self.live is not None:
            self.drain()  # a call that went past the keeper may have changed things
        while self.awaited is not None and self.live is not None and monotonic() < until:
            watcher = poll()
            watcher.register(self.side().fileno(), POLLIN)
            if not watcher.poll(int(READY_SECONDS * 1000)) or not self.drain():
                break
        self.awaited = None
        while self.coming:
            self.hear(self.coming[-1])  # ready or gone: it is off the list in either case

    def go_back(self):
        """A new interpreter out of the newest checkpoint that still works."""
        if self.idle_deaths > MAX_IDLE_DEATHS:
            return {"restored": False, "lost": "it ended too often while idle"}
        dirty = self.is_dirty()
        newest = candidate = self.base
        while candidate is not None:
            live = self.wake(candidate)
            if live is not None:
                facts = {
                    "restored": True, "checkpoint": candidate.number,
                    "after_call": candidate.after_call,
                    "calls_lost": candidate is not newest or dirty,
                    "threads_lost": max(0, candidate.facts.get("threads", 1) - 1),
                    "channels_lost": candidate.facts.get("channels", 0),
                }
                if self.no_way_back:
                    facts["no_newer_checkpoint"] = self.no_way_back
                self.adopt(live, candidate)
                self.no_way_back = ""
                return facts
            broken, candidate = candidate, candidate.parent
            self.checkpoint_gone(broken)
        return {"restored": False, "lost": "no checkpoint is left"}

    def wake(self, checkpoint):
        """Tries more than once: a fork can fail while the processes just killed still count."""
        for _ in range(4):
            live = checkpoint.thaw(self.keeper.known(), self.workspace)
            if live is not None or checkpoint.is_dead():
                return live
            sleep(0.05)
        return None


def socket_of_messages(fd):
    """None for anything else; then it is closed."""
    try:
        sock = socket(fileno=fd)
    except OSError:
        f.close_all([fd])
        return None
    try:
        if sock.getsockopt(SOL_SOCKET, SO_TYPE) == SOCK_SEQPACKET:
            return sock
    except OSError:
        pass
    sock.close()
    return None


def reason_in(body):
    try:
        text = loads(body).get("error") if len(body) < 4096 else None
        return text[:200] if isinstance(text, str) else "no reason was given"
    except (ValueError, AttributeError):
        return "no reason was given"
