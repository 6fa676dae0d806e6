"""One interpreter takes the place of another: at a reset, and at a restore.

No call runs in the new one before the old one is dead (see Interpreter.let_it_end), which may take a
while when it has much memory: so no answer waits for that."""

from _signal import SIGCONT, SIGKILL, SIGSTOP

import frames as f
from endings import is_harmed, see_over
from jsonio import dumps
from layers import HOME
from looks import Look

SHARED = "shared"  # files that the host gave: every lane sees them, and no checkpoint holds them
LEFT = "left as they are"


def start_over(lane, request):
    """A reset. In the only lane all that ran is killed once the new one is forked: two that give back a
    lot of memory would take the processors from the fork."""
    root = lane.keeper.root
    if lane.live is None or lane.adopter() is None:
        take_place(lane, request, root)
        return
    before = lane.live.process
    before.signal(SIGSTOP)
    look = Look(before.pid, lane.keeper.processes)
    live = root.thaw(lane.keeper.known(), lane.workspace, before.pid, lane.can_be_direct())
    if live is not None and lane.can_be_direct() and look.take() and look.shows_all(live.process.pid):
        answer_first(lane, live, request, look)
    else:
        end_first(lane, live, request)


def answer_first(lane, live, request, look):
    """Where nobody is left but our own, and all of them are still. They are killed when the answer is on
    its way, from which they would take the processors. (The new one lets no call begin before the old
    one is dead.)"""
    old = lane.part_with_live()
    lane.no_way_back = ""
    lane.take_up(live)
    lane.announce(live, told(request, lane.keeper.root, 0, LEFT))
    old.process.signal(SIGKILL)
    lane.rebase(lane.keeper.root)
    born = live.process
    # (Of one in which a call may have begun nothing can be said: that may have done it to itself.)
    harmed = is_harmed(born.pid) and not old.process.is_dead()
    lane.end_all(old, named(lane), [born], lambda: look.shows_all(born.pid))
    lane.keeper.see_off(old)
    if harmed:
        lane.lose("what ran before has signalled it")


def end_first(lane, live, request):
    """If what ran has done anything to the new one meanwhile, another is forked when nobody is left."""
    root = lane.keeper.root
    old, _, ended = lane.end_live(named(lane), () if live is None else [live.process])
    lane.keeper.see_off(old)
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
    before = lane.live.process.pid
    look = Look(before, lane.keeper.processes)
    meanwhile = look.take_while if lane.adopter() is not None else None
    live = frozen.thaw(lane.keeper.known(), lane.workspace, before, meanwhile=meanwhile)
    if live is not None:
        live, ended = end_the_old(lane, live, frozen, name, look)
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


def end_the_old(lane, live, frozen, name, look):
    """The new one, or another if somebody has killed that; and how many processes were ended. Files are
    put back only when nobody is left who could write to them."""
    if lane.adopter() is not None:
        born = live.process
        if look.runs is None:
            look.take()
        old, ids, ended = lane.end_live(named(lane), [born], lambda: look.shows_all(born.pid))
        if name is not None and lane.keeper.layers is not None:
            see_over(ids | {old.process.pid}, look.has_not_run)
        lane.keeper.see_off(old)
    else:
        ended = lane.kill_live(lane.stop_live({live.process.pid}))
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
    facts = {"checkpoint": frozen.entry(), "processes_ended": ended, "files": files}
    return f.small_frame(f.DONE, request, dumps(facts))
