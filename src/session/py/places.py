"""One interpreter takes the place of another: at a reset, and at a restore.

No call runs in the new one before the old one is dead (see gates.py), which may take a while when it
has much memory: so no answer waits for that."""

from _signal import SIGCONT, SIGKILL, SIGSTOP

import frames as f
from endings import is_harmed, nobody_else, stand_back
from gates import Gate, wake_at_gate
from jsonio import dumps
from layers import HOME

SHARED = "shared"  # files that the host gave: every lane sees them, and no checkpoint holds them
LEFT = "left as they are"


def start_over(lane, request):
    """A reset. In the only lane all that ran is killed once the new one is forked: two that give back a
    lot of memory would take the processors from the fork."""
    root, keeper = lane.keeper.root, lane.keeper
    if lane.live is None or lane.adopter() is None:
        take_place(lane, request, root)
        return
    lane.live.process.signal(SIGSTOP)
    gate = Gate()
    live = root.thaw(keeper.known(), lane.workspace, gate, lane.can_be_direct())
    gate.hand_over()
    if live is not None and lane.can_be_direct() and nobody_else([*keeper.processes(), live.process]):
        answer_first(lane, live, request, gate)
    else:
        end_first(lane, live, request, gate)


def answer_first(lane, live, request, gate):
    """Where nobody is seen but our own. They, and whoever was not seen, are killed when the answer is on
    its way, from which they would take the processors; until then the new one stands at its gate."""
    old = lane.part_with_live()
    lane.no_way_back = ""
    lane.take_up(live)
    lane.announce(live, told(request, lane.keeper.root, 0, LEFT))
    lane.rebase(lane.keeper.root)
    lane.end_all(old, named(lane), [live.process])
    harmed = is_harmed(live.process.pid)
    lane.keeper.see_off(old, gate)
    if harmed:
        lane.lose("what ran before has signalled it")


def end_first(lane, live, request, gate):
    """If what ran has done anything to the new one meanwhile, another is forked when nobody is left."""
    root = lane.keeper.root
    old, ended = lane.end_live(named(lane), () if live is None else [live.process])
    lane.keeper.see_off(old, gate)
    if live is not None and is_harmed(live.process.pid):
        live.process.signal(SIGKILL)
        lane.keeper.see_off(live)
        live = None
    if live is None:  # or no process more was to be had; now there may be
        lane.keeper.orphans(ended)
        live = root.thaw(lane.keeper.known(), lane.workspace)
    if live is None:
        lane.refuse(request, "no new interpreter could be made; what ran has ended")
        lane.lose("what was to take its place did not wake")
        return
    lane.no_way_back = ""
    lane.adopt(live, root, told(request, root, ended, LEFT))


def take_place(lane, request, frozen, name=None):
    """Ends the live interpreter and wakes another one out of a checkpoint; its files with a name."""
    if frozen is None or lane.live is None:
        lane.refuse(request, "that checkpoint is gone" if frozen is None else "the interpreter ended")
        return
    lane.live.process.signal(SIGSTOP)
    gate, live = wake_at_gate(frozen, lane.keeper.known(), lane.workspace, is_told=True)
    if live is not None:
        live, ended = end_the_old(lane, live, frozen, gate)
    else:
        live, ended = make_room(lane, frozen)
    if live is None:
        changed = "nothing was changed" if lane.live is not None else "what ran has ended"
        lane.refuse(request, "that checkpoint no longer wakes; " + changed)
        lane.checkpoint_gone(frozen)
        if lane.live is None:
            lane.lose("what was to take its place did not wake")
        return
    lane.no_way_back = ""
    lane.take_up(live)
    lane.announce(live, told(request, frozen, ended, put_back(lane, name)))
    lane.rebase(frozen)


def end_the_old(lane, live, frozen, gate):
    """The new one, or another if somebody has killed that; and how many processes were ended. Nobody is
    left then who could write to files that are put back."""
    if lane.adopter() is not None:
        stand_back([lane.live.process.pid])
        lane.live.process.signal(SIGKILL)  # first of all: it is on its way out while we look for others
        gate.tell_killed()
        old, ended = lane.end_live(named(lane), [live.process])
        lane.keeper.see_off(old, gate)
    else:
        ended = lane.kill_live(lane.stop_live({live.process.pid}))
        gate.open()
    live.process.signal(SIGCONT)  # what ran may have stopped it
    if live.process.is_dead():
        live.close()
        live = frozen.thaw(lane.keeper.known(), lane.workspace)
    return live, ended


def make_room(lane, frozen):
    """The same where none came: no process more is to be had, it seems. Then those that the order ends
    anyhow go first, if there are any."""
    stopped = lane.stop_live()
    if not stopped.others:
        stopped.go_on()
        return None, 0
    ended = lane.kill_live(stopped if lane.adopter() is None else None)
    lane.keeper.orphans(ended)
    return frozen.thaw(lane.keeper.known(), lane.workspace), ended


def named(lane):
    return [one for one in lane.keeper.checkpoints.values() if one.names]


def put_back(lane, name):
    """Says what has become of the files."""
    if name is None:
        return LEFT
    layers = lane.keeper.layers
    return SHARED if layers is None else layers.put_back(name, lane.workspace or HOME)


def told(request, frozen, ended, files):
    return f.DONE, request, dumps({"checkpoint": frozen.entry(), "processes_ended": ended, "files": files})
