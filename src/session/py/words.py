"""What an interpreter says, as its lane hears it: nothing is believed that does not fit."""

from _socket import MSG_DONTWAIT
from errno import EAGAIN
from posix import pread

import frames as f
from endings import end_all_since
from processes import kill_descendants
from wayback import reason_in

MAX_DROPPED = 1000
MAX_HOST_CALLS = 64


class Words:
    """The part of a Lane that listens to its interpreter."""

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
        call, known = self.counted, True
        if call is not None and call.nonce == nonce:
            self.counted, number = None, max(call.number, self.calls)
            call.changed_before = self.changed_at
        else:
            call, known = None, self.knows(number, nonce)
            # The host counts its calls; a branch's count starts anew, where its checkpoint's does not.
            number = max(number, self.calls + 1)
        self.calls = self.changed_at = number
        self.changer = nonce
        if known and bits & f.FORKING and not has_not_stopped(call, bits):
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
        if has_not_stopped(call, bits):
            f.close_all(fds)
            if self.awaited is not None and self.awaited[0] == call.nonce:
                self.awaited = None  # it was told to stop when it had said that a checkpoint would come
            self.lose("threads that it started did not stop")
            return
        self.call = None
        self.idle_deaths = 0
        if self.direct:
            self.is_early = False
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
            if self.live is not None and self.live.process.pid == pid:
                ended = self.end_what_it_started(call)
                if ended is None:
                    f.close_all(fds)
                    self.call = call
                    self.lose("processes that it started did not stop")
                    return
                flags |= f.PROCESSES_ENDED if ended else 0
        data = bytes([flags]) + body
        self.send(f.RESULT | spilled, call.request, data, fds)
        f.close_all(fds)

    def end_what_it_started(self, call):
        """How many; None when they can't be ended. In the only lane all that is younger than the call, whoever
        its parent is; where there are others, what can be told to be this one's."""
        process = self.live.process
        if self.adopter() is not None:
            return end_all_since(call.started, self.keeper.processes())
        return len(kill_descendants(process.pid, self.keeper.known() - {process.pid}, None, call.started))

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
            call is not None and pid == self.live.process.pid
            and kind & ~f.SPILLED == f.HOST_CALL and request == call.request
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


def has_not_stopped(call, bits):
    """It was told to stop, and threads that it started run on. The state that it leaves is none to go back to."""
    return call is not None and call.step and bits & f.THREADS_LEFT
