"""A lane: one control socket, one live interpreter, the call that runs in it, and its way back."""

from posix import close as close_fd
from posix import urandom
from time import monotonic

import frames as f
import orders
from ends import Ends
from jsonio import dumps
from processes import TICKS, ticks_now
from wayback import WayBack
from words import Words

DEFAULT_GRACE = 0.5


class Call:
    """A request that the interpreter is working on."""

    def __init__(self, number, request, timeout_ms, grace_ms):
        self.number = number
        self.request = request
        self.nonce = int.from_bytes(urandom(8), "little")
        self.grace = grace_ms / 1000 if grace_ms else DEFAULT_GRACE
        self.due = monotonic() + timeout_ms / 1000 if timeout_ms else None
        self.started = ticks_now()
        self.step = 0  # 0 running, 1 interrupted, 2 its process group too
        self.why = ""
        self.host_calls = 0  # asked and not yet answered
        self.dropped = 0
        self.changed_before = None  # the lane's changed_at, when this call has changed it


class Lane(Words, Ends, WayBack):
    def __init__(self, keeper, control, name):
        super().__init__()
        self.direct = False  # the host holds the interpreter's socket, and calls without us
        self.generation = 0  # of interpreters
        self.nonces = None  # a file of the host's
        self.counted = None  # the last Call that has its number from us, until it says that it changed something
        self.is_early = False  # we are to listen, and the host has not heard the newcomer's report yet
        self.keeper = keeper
        self.name = name
        self.control = control
        self.stream = f.Stream(control)
        self.live = None
        self.call = None
        self.calls = 0
        self.workspace = ""  # where what wakes in this lane finds its files; "": where it was

    # --- towards the host

    def send(self, kind, request, body=b"", fds=(), after=b""):
        try:
            f.send_frame(self.control, kind, request, body, fds, after)
            return True
        except OSError:
            return False  # the host is gone; the end of its socket is noticed by the loop

    def tell(self, kind, request, value):
        self.send(kind, request, dumps(value))

    def refuse(self, request, reason):
        self.tell(f.REFUSED, request, {"error": reason})

    def greeting(self, request, live):
        import sys

        facts = {
            "protocol": f.PROTOCOL,
            "python": ".".join(map(str, sys.version_info[:3])),
            "implementation": sys.implementation.name,
            "shell": "ipython" if live.facts.get("ipython") is True else "standard",
            "lane": self.name,
            "pid": live.process.pid,
            "functions": [e["name"] for e in self.keeper.options.get("functions", ())],
        }
        facts["layers"] = self.keeper.layers is not None
        facts.update(self.keeper.facts)
        return f.HELLO, request, dumps(facts)

    def watch_control(self):
        self.keeper.watch(self.control.fileno(), self.on_control)

    def on_control(self):
        try:
            if not self.stream.fill():
                self.close(keep_files=True)
                return
            while self.control.fileno() >= 0:
                frame = self.stream.next()
                if frame is None:
                    return
                orders.obey(self, *frame)
        except (f.Broken, OSError):
            self.close(keep_files=True)

    def let_go(self):
        """In a fork of the keeper: this lane is none of its business."""
        self.control.close()
        self.forget_nonces()
        f.close_all(self.stream.fds)
        if self.live is not None:
            self.live.close()

    def forget_nonces(self):
        if self.nonces is not None:
            close_fd(self.nonces)
            self.nonces = None

    def close(self, keep_files=False):
        """The host let go of this lane: what runs in it ends. The files of a branch go with it when the
        host says END; when its socket just ends, the host may have died, and the next one wants them."""
        if self not in self.keeper.lanes:
            return
        self.keeper.lanes.remove(self)
        self.keeper.unwatch(self.control.fileno())
        self.control.close()
        f.close_all(self.stream.fds)
        self.kill_live()
        self.forget_nonces()
        unused, self.base, self.coming = [self.base, *self.coming], None, []
        for checkpoint in unused:
            self.keeper.discard_if_unused(checkpoint)
        if self.keeper.layers is not None and self.workspace and not keep_files:
            self.keeper.layers.end_branch(self.workspace)
        if self is self.keeper.main:
            for lane in list(self.keeper.lanes):
                lane.close(keep_files=True)

    # --- the interpreter

    def adopt(self, live, base, word=None):
        self.take_up(live)
        self.announce(live, word)
        self.rebase(base)

    def take_up(self, live):
        self.live = live
        self.generation += 1
        self.direct = self.can_be_direct()
        if not self.direct:
            f.receive_message(live.sock)  # its report, which has been looked at already
            self.keeper.watch(live.sock.fileno(), self.on_message)
        self.keeper.watch(live.line.fileno(), self.on_host_call)
        self.keeper.watch(live.process.fd, self.on_death)
        live.sock.settimeout(0)
        live.line.settimeout(0)

    def rebase(self, base):
        old, self.base = self.base, base
        if base is not None:
            self.changed_at = base.after_call
            self.calls = max(self.calls, base.after_call)
        if old is not base:
            self.keeper.discard_if_unused(old)

    def announce(self, live, word):
        """`word`: the frame that follows. In one piece, where it fits: the host would wake for the first,
        and take the processor from us before the second is said."""
        after = f.small_frame(*word) if word is not None and len(word[2]) <= f.MAX_BODY else b""
        number, fds = f.NUMBER.pack(self.generation), [live.sock.fileno()]
        told = self.direct and self.send(f.LIVE | f.SPILLED, 0, number, fds, after)
        if word is not None and not (told and after):  # without a socket of its own, calls go by us
            self.send(*word)

    def can_be_direct(self):
        return self.keeper.options.get("direct") is True and self.nonces is not None

    def unwatch(self, live):
        for fd in (live.sock.fileno(), live.line.fileno(), live.process.fd):
            self.keeper.unwatch(fd)

    def start_call(self, kind, request, body, prefix, fds):
        if self.pass_on(kind, request, body, prefix, fds):
            return
        # (Of a new one that is asked directly the host must have heard its report before we listen.)
        if self.direct or not self.live_is_dead():
            self.lose("its channel does not take requests")
            return
        # It ended while nothing ran, and the loop has not come to that yet: the call was never there.
        self.call = None
        self.calls -= 1
        self.on_death()
        if self.live is None:
            self.refuse(request, "the interpreter ended")
        elif not self.pass_on(kind, request, body, prefix, fds):
            self.lose("its channel does not take requests")

    def pass_on(self, kind, request, body, prefix, fds):
        timeout_ms, grace_ms, flags, _ = prefix
        self.calls += 1
        self.listen()
        self.call = call = Call(self.calls, request, timeout_ms, grace_ms)
        spilled = []
        try:
            if self.direct:
                self.counted = call
                flags |= f.DIRECT
                if len(body) > f.MAX_INLINE // 2:
                    spilled.append(f.spill(body))
                    kind, body = kind | f.SPILLED, b""
                body = f.NUMBER.pack(call.number & 0xFFFFFFFF) + body
            f.send_message(self.live.sock, kind, flags, request, call.nonce, body, [*spilled, *fds])
            return True
        except OSError:
            return False
        finally:
            f.close_all(spilled)

    def take_over(self, request, nonce, number, elapsed_ms, grace_ms, why):
        """A call that runs past us, and has to stop: its answer is ours to hear from now on."""
        if nonce != self.changer:
            self.calls = max(number, self.calls + 1)  # as it would be when it said that it changed something
        self.call = self.counted = call = Call(self.calls, request, 0, grace_ms)
        call.nonce = nonce
        call.started -= elapsed_ms * TICKS // 1000 + 1
        call.why = why
        self.listen()
        if why:
            self.press(call)
        else:
            call.due = monotonic() + call.grace  # its socket has ended, or it talks nonsense

    def listen(self):
        """To one that the host asks directly. Its report is the host's, which waits for it: one that took the
        place of another a moment ago may be relayed a call first."""
        if not self.direct:
            return
        self.is_early = self.live.has_report()
        if not self.is_early:
            self.keeper.watch(self.live.sock.fileno(), self.on_message)

    def side(self):
        """Where the interpreter tells of its checkpoints."""
        return self.live.line if self.direct else self.live.sock

    def holds(self, fd):
        live = self.live
        return live is not None and fd in (live.sock.fileno(), live.line.fileno(), live.process.fd)
