"""A lane: one control socket, one live interpreter, the call that runs in it, and its way back."""

from _signal import SIGINT
from _socket import MSG_DONTWAIT
from errno import EAGAIN
from posix import close as close_fd
from posix import pread, urandom
from time import monotonic

import frames as f
import orders
from jsonio import dumps
from processes import TICKS, Stopped, kill_descendants, ticks_now
from wayback import WayBack, reason_in

MAX_DROPPED = 1000
MAX_HOST_CALLS = 64
DEFAULT_GRACE = 0.5
DYING_MS = 200  # a process closes its sockets a little before it is dead


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


class Lane(WayBack):
    def __init__(self, keeper, control, name):
        super().__init__()
        self.direct = False  # the host holds the interpreter's socket, and calls without us
        self.generation = 0  # of interpreters
        self.nonces = None  # a file of the host's
        self.relayed = None  # the nonce of a call that went by us all the same
        self.keeper = keeper
        self.name = name
        self.control = control
        self.stream = f.Stream(control)
        self.live = None
        self.call = None
        self.calls = 0
        self.workspace = ""  # where what wakes in this lane finds its files; "": where it was

    # --- towards the host

    def send(self, kind, request, body=b"", fds=()):
        try:
            f.send_frame(self.control, kind, request, body, fds)
        except OSError:
            pass  # the host is gone; the end of its socket is noticed by the loop

    def tell(self, kind, request, value):
        self.send(kind, request, dumps(value))

    def refuse(self, request, reason):
        self.tell(f.REFUSED, request, {"error": reason})

    def greet(self, request):
        import sys

        facts = {
            "protocol": f.PROTOCOL,
            "python": ".".join(map(str, sys.version_info[:3])),
            "implementation": sys.implementation.name,
            "shell": "ipython" if self.live.facts.get("ipython") is True else "standard",
            "lane": self.name,
            "pid": self.live.process.pid,
            "functions": [e["name"] for e in self.keeper.options.get("functions", ())],
        }
        facts["layers"] = self.keeper.layers is not None
        facts.update(self.keeper.facts)
        self.tell(f.HELLO, request, facts)

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

    def adopt(self, live, base):
        self.live = live
        self.generation += 1
        self.direct = self.keeper.options.get("direct") is True and self.nonces is not None
        if not self.direct:
            f.receive_message(live.sock)  # its report, which has been looked at already
            self.keeper.watch(live.sock.fileno(), self.on_message)
        self.keeper.watch(live.line.fileno(), self.on_host_call)
        self.keeper.watch(live.process.fd, self.on_death)
        live.sock.settimeout(0)
        live.line.settimeout(0)
        if self.direct:
            self.send(f.LIVE | f.SPILLED, 0, f.NUMBER.pack(self.generation), [live.sock.fileno()])
        old, self.base = self.base, base
        if base is not None:
            self.changed_at = base.after_call
            self.calls = max(self.calls, base.after_call)
        if old is not base:
            self.keeper.discard_if_unused(old)

    def stop_live(self, spare=()):
        """Brings the interpreter, and all that came from it, to a stop."""
        process = self.live.process
        spared = self.keeper.known().union(spare) - {process.pid}
        return Stopped(process, spared, self.adopter())

    def kill_live(self, stopped=None, wait=True):
        """Ends the interpreter and all that came from it; says how many other processes. Without
        `wait` it may still be in the kernel, which takes its memory apart: a while, when it is
        large. No code of it runs any more."""
        if self.live is None:
            self.awaited = None
            return 0
        stopped = stopped or self.stop_live()
        live, self.live = self.live, None
        self.awaited = None
        self.unwatch(live)
        ended = stopped.kill()
        if not wait:
            self.keeper.see_off(live)
            return ended
        live.process.is_dead(5000)
        live.process.reap()
        live.close()
        return ended

    def adopter(self):
        """Orphans that the keeper took in are this lane's when there is no other."""
        alone = len(self.keeper.lanes) <= 1 and self.keeper.facts.get("subreaper")
        return self.keeper.pid if alone else None

    def unwatch(self, live):
        for fd in (live.sock.fileno(), live.line.fileno(), live.process.fd):
            self.keeper.unwatch(fd)

    def start_call(self, kind, request, body, prefix, fds):
        timeout_ms, grace_ms, flags, _ = prefix
        self.calls += 1
        self.listen()
        self.call = call = Call(self.calls, request, timeout_ms, grace_ms)
        spilled = []
        try:
            if self.direct:
                self.relayed = call.nonce
                flags |= f.DIRECT
                if len(body) > f.MAX_INLINE // 2:
                    spilled.append(f.spill(body))
                    kind, body = kind | f.SPILLED, b""
                body = f.NUMBER.pack(call.number & 0xFFFFFFFF) + body
            f.send_message(self.live.sock, kind, flags, request, call.nonce, body, [*spilled, *fds])
        except OSError:
            self.lose("its channel does not take requests")
        finally:
            f.close_all(spilled)

    def take_over(self, request, nonce, number, elapsed_ms, grace_ms, why):
        """A call that runs past us, and has to stop: its answer is ours to hear from now on."""
        self.calls = max(self.calls, number)
        self.call = call = Call(number, request, 0, grace_ms)
        call.nonce = nonce
        call.started -= elapsed_ms * TICKS // 1000 + 1
        call.why = why
        self.listen()
        if why:
            self.press(call)
        else:
            call.due = monotonic() + call.grace  # its socket has ended, or it talks nonsense

    def listen(self):
        if self.direct:
            self.keeper.watch(self.live.sock.fileno(), self.on_message)

    def side(self):
        """Where the interpreter tells of its checkpoints."""
        return self.live.line if self.direct else self.live.sock

    def on_message(self):
        try:
            message = f.receive_message(self.live.sock, MSG_DONTWAIT)
        except f.Broken:
            self.count_dropped()
            return
        except OSError:
            return
        if message is None:
            if self.live_is_dead():
                self.on_death()
            else:
                self.lose("the code closed the session's channel")
            return
        if not self.accept(*message):
            f.close_all(message[5])
            self.count_dropped()

    def holds(self, fd):
        live = self.live
        return live is not None and fd in (live.sock.fileno(), live.line.fileno(), live.process.fd)

    def accept(self, kind, bits, request, nonce, body, fds, pid):
        """Believes a message only when it fits the call that runs, or the checkpoint awaited, and comes
        from the interpreter: a process that code has left behind may hold its sockets, and read there
        what the next call is and which nonce it has."""
        call = self.call
        if pid != self.live.process.pid:
            return False
        if kind & ~f.SPILLED == f.RESULT:
            if call is None or request != call.request or nonce != call.nonce:
                return False
            if len(fds) != (1 if kind & f.SPILLED else 0) or not f.are_sealed(fds):
                return False
            self.on_result(bits, body, fds, kind & f.SPILLED)
            return True
        if kind == f.CHANGED and self.direct and not fds and len(body) == f.NUMBER.size:
            self.on_changed(bits, request, nonce, f.NUMBER.unpack(body)[0])
            return True
        awaited = self.awaited
        if kind in (f.TAKEN, f.NOT_TAKEN) and awaited and awaited[:2] == (nonce, request):
            self.awaited = None
            offered = self.offered.pop(nonce, None)
            if kind == f.TAKEN and len(fds) == 1:
                self.on_taken(fds[0], awaited[2])
                return True
            if kind == f.TAKEN and not fds and offered is not None:
                self.on_taken(offered.detach(), awaited[2])
                return True
            f.close_all(fds)
            if kind == f.NOT_TAKEN and bits & f.NO_ROOM and offered is None:
                self.offer_socket(awaited[2])
                return True
            self.no_checkpoint(reason_in(body))
            return True
        return False

    def on_changed(self, bits, request, nonce, number):
        """That something has changed is believed of anybody: it costs a checkpoint. But the checkpoint
        that follows is believed only of who knows the call's nonce: what an earlier call has left
        behind must not make a state that a later one goes back to."""
        known = self.knows(number, nonce) or nonce == self.relayed
        self.relayed = None
        # The host counts its calls; a branch's count starts anew, where its checkpoint's does not.
        self.calls = self.changed_at = number = max(number, self.calls + 1)
        if known and bits & f.FORKING:
            self.idle_deaths = 0
            self.awaited = (nonce, request, number)

    def knows(self, number, nonce):
        place = number % f.RING * f.NONCE.size
        try:
            return pread(self.nonces, f.NONCE.size, place) == f.NONCE.pack(nonce)
        except (OSError, TypeError):
            return False

    def count_dropped(self):
        call = self.call
        if call is not None:
            call.dropped += 1
            if call.dropped > MAX_DROPPED:
                self.lose("it flooded the session's channel")

    def on_result(self, bits, body, fds, spilled):
        call = self.call
        if call.step and bits & f.THREADS_LEFT:
            # It was told to stop, and threads that it started run on: then it has not stopped.
            f.close_all(fds)
            self.lose("threads that it started did not stop")
            return
        self.call = None
        self.idle_deaths = 0
        if self.direct:
            self.keeper.unwatch(self.live.sock.fileno())
            self.drain()  # what it changed was told before
        else:
            if bits & f.FORKING:
                self.awaited = (call.nonce, call.request, call.number)
            if not bits & f.UNCHANGED:
                self.changed_at = call.number
        flags = f.NO_WAY_BACK if self.no_way_back else 0
        if call.step:
            flags |= f.INTERRUPTED
            pid = self.live.process.pid
            if bits & f.FORKING:
                # The checkpoint is a child as well: known, or it would be ended with the others.
                self.hear_coming()
            same = self.live is not None and self.live.process.pid == pid
            if same and kill_descendants(pid, self.keeper.known() - {pid}, self.adopter(), call.started):
                flags |= f.PROCESSES_ENDED
        data = bytes([flags]) + body
        self.send(f.RESULT | spilled, call.request, data, fds)
        f.close_all(fds)

    def on_host_call(self):
        """A function of the host: passed on with the number of the call it belongs to."""
        try:
            message = f.receive_message(self.live.line, MSG_DONTWAIT)
        except (f.Broken, OSError):
            self.count_dropped()
            return
        if message is None:
            self.keeper.unwatch(self.live.line.fileno())
            return
        kind, bits, request, nonce, body, fds, pid = message
        if kind in (f.CHANGED, f.TAKEN, f.NOT_TAKEN):
            if not self.accept(*message):
                f.close_all(fds)
                self.count_dropped()
            return
        call = self.call
        fits = (
            call is not None and pid == self.live.process.pid and kind & ~f.SPILLED == f.HOST_CALL and request == call.request
            and nonce == call.nonce and len(fds) == (1 if kind & f.SPILLED else 0)
            and call.host_calls < MAX_HOST_CALLS and f.are_sealed(fds)
            and self.keeper.options.get("functions")
        )
        if fits:
            call.host_calls += 1
            self.send(kind, request, body, fds)
        else:
            self.count_dropped()
        f.close_all(fds)

    # --- ends that the interpreter did not choose

    def live_is_dead(self):
        return self.live.process.is_dead(DYING_MS)

    def on_death(self):
        """The process is gone, by its own doing or by a signal."""
        if not self.live.process.is_dead():
            return
        self.drain()
        if self.live is None:
            return
        code, signal = self.live.process.end()
        if self.call is None:
            self.idle_deaths += 1
        if code == f.USED_UP:
            why = "the code has used up the interpreter's descriptors"
        elif code == f.CHANNEL_GONE:
            why = "the code closed the session's channel"
        elif signal is not None:
            why = "the interpreter was ended by signal %d" % signal
        elif code is not None:
            why = "the interpreter exited with code %d" % code
        else:
            why = "the interpreter ended"
        self.lose(why, {"exit": code, "signal": signal})

    def drain(self):
        """What it has said already still counts: an answer, a checkpoint."""
        whole = not self.direct or self.call is None or self.drain_one(self.live.sock)
        return self.live is not None and self.drain_one(self.side()) and whole

    def drain_one(self, sock):
        for _ in range(64):
            try:
                message = f.receive_message(sock, MSG_DONTWAIT)
            except f.Broken:
                continue
            except OSError as error:
                return error.errno == EAGAIN
            if message is None:
                return False
            if not self.accept(*message):
                f.close_all(message[5])
            if self.live is None:
                return False
        return True

    def lose(self, why, more=None):
        """The call, if one runs, ends here; the interpreter goes back to its last checkpoint."""
        call, self.call = self.call, None
        self.hear_coming()
        ended = self.kill_live()
        self.keeper.orphans(ended)
        facts = {"why": why, "processes_ended": ended}
        facts.update(more or {})
        if call is not None and call.why:
            facts["stopped"] = call.why
        facts.update(self.go_back())
        if call is not None:
            self.tell(f.ENDED, call.request, facts)
        else:
            self.tell(f.NOTE, 0, facts)
        for request, _ in self.wanted:
            self.refuse(request, "the interpreter ended")
        self.wanted = []
        if self.live is None:
            self.close()
        self.keeper.orphans()

    # --- time

    def check_time(self):
        call = self.call
        if call is None or call.due is None or monotonic() < call.due:
            return
        if not call.why:
            call.why = "timeout"
        self.press(call)

    def press(self, call):
        """The ladder: an interrupt, one for its whole process group, then the end."""
        call.step += 1
        if call.step == 1:
            self.live.process.signal(SIGINT)
        elif call.step == 2:
            orders.signal_group(self.live.process.pid, SIGINT)
        else:
            self.lose("it did not stop when interrupted")
            return
        call.due = monotonic() + call.grace / 2
