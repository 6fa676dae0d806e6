"""How an interpreter ends: by its own doing, by the clock, or because another takes its place."""

from _signal import SIGINT
from posix import _exit
from time import monotonic

import frames as f
import orders
from endings import end_all_but, see_over
from processes import Stopped

DYING_MS = 200  # a process closes its sockets a little before it is dead


def be_sure(killed):
    if not see_over(killed):
        _exit(f.CAN_NOT_END)


class Ends:
    """The part of a Lane that ends its interpreter, or learns that it has ended."""

    def stop_live(self, spare=()):
        """Brings the interpreter, and all that came from it, to a stop."""
        process = self.live.process
        spared = self.keeper.known().union(spare) - {process.pid}
        return Stopped(process, spared, self.adopter())

    def part_with_live(self):
        """Another takes its place; it is still to be killed, and seen off."""
        live, self.live = self.live, None
        self.awaited, self.is_early = None, False
        self.unwatch(live)
        return live

    def end_live(self, keep, spare=()):
        """Kills the interpreter of the only lane, and all processes of the session but these checkpoints:
        (the interpreter, which is to be seen off; how many were neither of ours nor dead). None of them
        writes to a file any more."""
        live = self.part_with_live()
        return live, self.end_all(live, keep, spare)

    def end_all(self, live, keep, spare):
        spared = [one.process for one in keep if one.process is not None] + list(spare)
        ended = end_all_but(spared, [*self.keeper.processes(), live.process])
        if ended is None:  # who outruns us ends with the session
            _exit(f.CAN_NOT_END)
        ids, count = ended
        be_sure(ids | {live.process.pid})
        return count

    def kill_live(self, stopped=None):
        """Ends the interpreter and all that came from it; says how many other processes."""
        if self.live is None:
            self.awaited = None
            return 0
        if stopped is None and self.adopter() is not None:
            live, ended = self.end_live(self.keeper.checkpoints.values())
        else:
            stopped = stopped or self.stop_live()
            live = self.part_with_live()
            ended = stopped.kill()
            be_sure(stopped.others | {live.process.pid})
        live.process.is_dead(5000)
        live.process.reap()
        live.close()
        return ended

    def adopter(self):
        """Orphans that the keeper took in are this lane's when there is no other."""
        alone = all(lane is self for lane in self.keeper.lanes)
        return self.keeper.pid if alone and self.keeper.facts.get("subreaper") else None

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
        if call is not None and call.changed_before is not None:
            self.changed_at = call.changed_before  # what this call has changed is no loss of another
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

    def check_time(self):
        if self.is_early:
            self.listen()
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
