"""What the host may ask of a lane, frame by frame."""

from posix import killpg, sched_yield

import frames as f
from checkpoints import NAMES, is_name
from jsonio import loads
from layers import HOME, NotCopied
from places import SHARED, start_over, take_place

MAX_LANES = 65


def obey(lane, kind, request, body):
    """One frame from the host."""
    spilled = kind & f.SPILLED
    kind &= ~f.SPILLED
    if kind in f.CALLS:
        call_inside(lane, kind, request, body, spilled)
        return
    if spilled:
        fd = lane.stream.take_fds(1)
        try:
            body = f.unspill(fd[0])
        finally:
            f.close_all(fd)
    if kind == f.STOP:
        stop(lane, request, body)
        return
    handler = HANDLERS.get(kind)
    if handler is None:
        raise f.Broken("a frame of unknown type")
    try:
        value = loads(body) if body and kind != f.HOST_REPLY else {}
    except ValueError as error:
        value = None
        reason = str(error)
    if not isinstance(value, dict):
        if kind == f.BRANCH:
            f.close_all(lane.stream.take_fds(1))
        lane.refuse(request, "the body is not a JSON object" if value is not None else reason)
        return
    if kind == f.HOST_REPLY:
        host_reply(lane, request, body)
    else:
        handler(lane, request, value)


def call_inside(lane, kind, request, body, spilled):
    """A request for the interpreter: its body is passed on unread."""
    if len(body) < f.CALL_PREFIX.size:
        raise f.Broken("a call without its prefix")
    prefix = f.CALL_PREFIX.unpack_from(body)
    fds = lane.stream.take_fds(prefix[3] + (1 if spilled else 0))
    try:
        if lane.live is None:
            lane.refuse(request, "the session has not been started")
        elif lane.call is not None:
            lane.refuse(request, "busy: another call is running")
        else:
            rest = body[f.CALL_PREFIX.size:]
            lane.start_call(kind | spilled, request, rest, prefix, fds)
    finally:
        f.close_all(fds)


def host_reply(lane, request, body):
    """The host's answer to a function call; one that comes too late is dropped."""
    call = lane.call
    if call is None or request != call.request or not call.host_calls:
        return
    call.host_calls -= 1
    try:
        f.send_message(lane.live.line, f.HOST_REPLY, 0, request, 0, body)
    except OSError:
        lane.lose("its channel does not take answers")


def start(lane, request, value):
    reason = wrong_start(value)
    if reason:
        lane.refuse(request, reason)
    else:
        lane.keeper.start(lane, request, value)


def wrong_start(value):
    """None when the options of a START are well formed, else what is wrong."""
    functions, final = value.get("functions", []), value.get("final", [])
    if not isinstance(functions, list) or not isinstance(final, list):
        return "functions and final are lists"
    names = []
    for entry in functions:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            return "a function has a name"
        names.append(entry["name"])
        if "batch" in entry:
            names.append(entry["batch"])
    names.extend(final)
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or len(name) > 100:
            return "a function's name is an identifier"
    return None


def interrupt(lane, request, value):
    call = lane.call
    if call is not None and call.request == request and call.step == 0:
        call.why = "interrupt"
        lane.press(call)


def stop(lane, request, body):
    """Of a call that the host has sent to the interpreter itself: from here on it is the keeper's.
    One of an interpreter that is gone has had its end told already."""
    if len(body) != f.STOPPED.size:
        raise f.Broken("a STOP of another size")
    nonce, number, generation, elapsed, grace, why = f.STOPPED.unpack(body)
    if lane.live is not None and lane.call is None and generation == lane.generation:
        lane.take_over(request, nonce, number, elapsed, grace, f.BECAUSE[min(why, 2)])


def nonces(lane, request, value):
    """Where the host writes what only it and the call that runs can know."""
    fds = lane.stream.take_fds(1)
    if lane.nonces is None:
        lane.nonces = fds[0]
    else:
        f.close_all(fds)


def heard(lane, request, value):
    """The host had a call in the interpreter that ended: it was not idle."""
    lane.idle_deaths = 0


def busy(lane, request):
    if lane.live is None:
        lane.refuse(request, "the session has not been started")
        return True
    if lane.call is not None:
        lane.refuse(request, "busy: another call is running")
        return True
    return False


def reset(lane, request, value):
    if busy(lane, request):
        return
    lane.hear_coming()
    start_over(lane, request)


def checkpoint(lane, request, value):
    if busy(lane, request):
        return
    lane.hear_coming()
    reason = lane.keeper.name_is_free(value.get("name"))
    if reason is None and any(name == value["name"] for _, name in lane.wanted):
        reason = "there is a checkpoint of that name"
    if reason:
        lane.refuse(request, reason)
    elif not lane.is_dirty():
        give_name(lane, request, value["name"], lane.base)
    else:
        lane.wanted.append((request, value["name"]))
        lane.ask_for_checkpoint()


def give_name(lane, request, name, frozen):
    """A name is for the interpreter and the files as they are now: two of one interpreter may have
    other files."""
    files, layers = SHARED, lane.keeper.layers
    if layers is not None:
        try:
            layers.keep_only([one for c in lane.keeper.named() for one in c.names])
            files = layers.freeze(name, lane.workspace or HOME)
        except NotCopied as error:
            lane.refuse(request, "no checkpoint was taken: %s" % error)
            lane.keeper.discard_if_unused(frozen)
            return
    frozen.names.append(name)
    lane.tell(f.DONE, request, {"checkpoint": frozen.entry(), "files": files})


def restore(lane, request, value):
    if busy(lane, request):
        return
    lane.hear_coming()
    frozen = lane.keeper.find(value.get("name"))
    if frozen is None:
        lane.refuse(request, "there is no checkpoint of that name")
    else:
        take_place(lane, request, frozen, value["name"])


def branch(lane, request, value):
    control = lane.stream.take_fds(1)[0]
    name = value.get("name", "branch")
    if len(lane.keeper.lanes) >= MAX_LANES:
        f.close_all([control])
        lane.refuse(request, "there are %d branches already; end one" % (MAX_LANES - 1))
        return
    if not isinstance(name, str) or len(name) > 128:
        f.close_all([control])
        lane.refuse(request, "a branch's name is a string of up to 128 characters")
        return
    if lane.keeper.layers is not None and not is_name(name):
        f.close_all([control])
        lane.refuse(request, "a branch's name is " + NAMES)
        return
    if busy(lane, request):
        f.close_all([control])
        return
    lane.hear_coming()
    frozen = lane.keeper.find(value["from"]) if value.get("from") else lane.base
    if frozen is None or (not value.get("from") and lane.is_dirty()):
        f.close_all([control])
        lane.refuse(request, "there is no such checkpoint to branch from")
        return
    workspace, files, layers = lane.workspace, SHARED, lane.keeper.layers
    if layers is not None:
        try:
            workspace, files = layers.branch(value.get("from"), lane.workspace or HOME, name)
        except NotCopied as error:
            f.close_all([control])
            lane.refuse(request, "no branch was made: %s" % error)
            return
    gate = lane.keeper.branch(frozen, name, control, workspace)
    if gate is None:
        if layers is not None:
            layers.end_branch(workspace)
        lane.refuse(request, "that checkpoint no longer wakes")
        lane.checkpoint_gone(frozen)
    else:
        lane.tell(f.DONE, request, {"branch": name, "checkpoint": frozen.entry(), "files": files,
                                    "workspace": workspace or HOME})
        sched_yield()  # the answer first: there may be dead ones to be collected
        gate.open()


def checkpoints(lane, request, value):
    lane.hear_coming()
    root, layers = lane.keeper.root, lane.keeper.layers
    lane.tell(f.DONE, request, {
        "checkpoints": [c.entry() for c in lane.keeper.named()],
        "root": root.number if root is not None else None,
        "base": lane.base.number if lane.base is not None else None,
        "files": SHARED if layers is None else {
            name: layer.tally.facts() for name, layer in layers.named.items()},
    })


def drop(lane, request, value):
    frozen = lane.keeper.find(value.get("name"))
    if frozen is None:
        lane.refuse(request, "there is no checkpoint of that name")
        return
    frozen.names.remove(value["name"])
    if lane.keeper.layers is not None:
        lane.keeper.layers.drop(value["name"])
    if not frozen.names:
        for other in lane.keeper.checkpoints.values():
            if other.parent is frozen:
                other.parent = frozen.parent
        lane.keeper.discard_if_unused(frozen)
    lane.tell(f.DONE, request, {"dropped": value["name"]})


def end(lane, request, value):
    lane.tell(f.DONE, request, {"ended": True})
    lane.close()


def signal_group(pid, number):
    try:
        killpg(pid, number)
    except OSError:
        pass


HANDLERS = {
    f.START: start, f.INTERRUPT: interrupt, f.RESET: reset, f.CHECKPOINT: checkpoint,
    f.RESTORE: restore, f.BRANCH: branch, f.CHECKPOINTS: checkpoints, f.DROP: drop,
    f.HOST_REPLY: host_reply, f.END: end, f.HEARD: heard,
    f.NONCES: nonces,
}
