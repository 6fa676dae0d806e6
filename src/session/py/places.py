"""One interpreter takes the place of another: at a reset, and at a restore.

No call runs in the new one before the old one is dead (see Interpreter.let_it_end). So the answer waits
neither for that, nor, where the old one is at a stop and nobody is left who could wake it, for the kill:
who is killed wakes where the killer runs, and may take the processor from it to give its memory back."""

from _signal import SIGSTOP

from layers import HOME

SHARED = "shared"  # files that the host gave: every lane sees them, and no checkpoint holds them
LEFT = "left as they are"


def start_over(lane, request):
    """A reset. Of what runs in the only lane nothing is kept, and it can be killed outright."""
    root = lane.keeper.root
    if lane.live is None or lane.adopter() is None:
        take_place(lane, request, root)
        return
    old = lane.live.process.pid
    live = root.thaw(lane.keeper.known(), lane.workspace, old, None, lane.can_be_direct())
    ended = lane.kill_outright(set() if live is None else {live.process.pid})
    if live is None:  # no process more was to be had; now there may be
        lane.keeper.orphans(ended)
        live = root.thaw(lane.keeper.known(), lane.workspace)
    if live is None:
        lane.refuse(request, "no new interpreter could be made; what ran has ended")
        lane.lose("what was to take its place did not wake")
        return
    lane.no_way_back = ""
    lane.adopt(live, root, (request, told(root, ended, LEFT)))


def take_place(lane, request, frozen, name=None):
    """Ends the live interpreter and wakes another one out of a checkpoint; its files with a name."""
    if frozen is None or lane.live is None:
        lane.refuse(request, "that checkpoint is gone" if frozen is None else "the interpreter ended")
        return
    live, stopped = change_places(lane, frozen)
    if live is not None:
        hand_over(lane, request, live, frozen, stopped, name)
        return
    if stopped.others:
        # No process more is to be had, it seems: then those that the order ends anyhow go first.
        ended = lane.kill_live(stopped)
        lane.keeper.orphans(ended)
        live = frozen.thaw(lane.keeper.known(), lane.workspace)
    else:
        stopped.go_on()
    if live is None:
        changed = "nothing was changed" if lane.live is not None else "what ran has ended"
        lane.refuse(request, "that checkpoint no longer wakes; " + changed)
        lane.checkpoint_gone(frozen)
        if lane.live is None:
            lane.lose("what was to take its place did not wake")
        return
    lane.no_way_back = ""
    lane.take_up(live)
    lane.announce(live, (request, told(frozen, ended, put_back(lane, name))))
    lane.rebase(frozen)


def change_places(lane, frozen):
    """What wakes, or None; and the one before it, which comes to a stop while that is forked."""
    stopped = []
    lane.live.process.signal(SIGSTOP)
    live = frozen.thaw(
        lane.keeper.known(), lane.workspace, lane.live.process.pid,
        lambda pid: stopped.append(lane.stop_live({pid} if pid else ())), lane.can_be_direct())
    return live, stopped[0] if stopped else lane.stop_live()


def hand_over(lane, request, live, frozen, stopped, name=None):
    """Files are put back only when nobody is left who could write to them: all are dead, or at a stop
    where none is within a system call. Code in another lane could wake one; in this there is none."""
    old, ended = None, 0
    if stopped.is_quiet and not stopped.others and lane.adopter() is not None:
        old = lane.part_with_live()
    else:
        ended = lane.kill_live(stopped, wait=name is not None and not stopped.is_quiet)
    try:
        lane.no_way_back = ""
        lane.take_up(live)
        lane.announce(live, (request, told(frozen, ended, put_back(lane, name))))
    finally:
        if old is not None:
            stopped.kill()
            lane.keeper.see_off(old)
    lane.rebase(frozen)


def put_back(lane, name):
    """Says what has become of the files."""
    if name is None:
        return LEFT
    layers = lane.keeper.layers
    return SHARED if layers is None else layers.put_back(name, lane.workspace or HOME)


def told(frozen, ended, files):
    return {"checkpoint": frozen.entry(), "processes_ended": ended, "files": files}
