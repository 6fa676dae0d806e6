"""The process that has everything loaded and forks a session for each control socket it gets."""

import gc
import sys
from _signal import SIG_DFL, SIG_IGN, SIGCHLD
from _signal import signal as set_handler
from _socket import AF_UNIX, SOCK_SEQPACKET, SOCK_STREAM, socket, socketpair
from posix import _exit, fork, getpid

import frames as f
from jsonio import dumps, loads

NEW, SPAWNED = 1, 2  # the two frames on a zygote's socket
SHELL = "+ipython"  # among the modules: IPython's shell too, where there is one


def preload(names):
    """Makes the interpreter and imports what sessions will want, so that they share it. Returns it,
    and the names that could not be had."""
    import json.decoder  # noqa: F401  (the C scanner takes its exception from there)
    import traceback  # noqa: F401

    import answers  # noqa: F401
    import keeper  # noqa: F401
    from interpreter import Interpreter

    gc.disable()  # what an import leaves behind is collected once, at the end
    inside = Interpreter()
    missing = []
    for name in names:
        if name == SHELL:
            continue
        try:
            __import__(name)
        except Exception as error:
            missing.append("%s: %s" % (name, type(error).__name__))
    inside.warm_up()
    warm_frames()
    if SHELL in names:  # last: what was run to get warm is no part of its state
        inside.prepare_shell()
    gc.collect()
    gc.freeze()
    gc.enable()
    return inside, missing


def warm_frames():
    """The same for the code that both sides of a session's sockets run."""
    one, two = socketpair(AF_UNIX, SOCK_STREAM)
    three, four = socketpair(AF_UNIX, SOCK_SEQPACKET)
    stream = f.Stream(two)
    for number in range(12):
        f.send_frame(one, f.RESULT, number, dumps({"status": "ok", "number": number}), [1])
        stream.fill()
        loads(stream.next()[2])
        f.close_all(stream.take_fds(1))
        f.send_message(three, f.RESULT, 0, number, number, b"{}")
        f.receive_message(four)
    for sock in (one, two, three, four):
        sock.close()


def become_keeper(descriptor):
    """This process becomes the keeper of one session."""
    import keeper

    keeper.run(socket(AF_UNIX, SOCK_STREAM, 0, descriptor), preload(())[0])
    _exit(0)


def serve(descriptor, names):
    """Forks a keeper for each NEW frame; its descriptor is the session's control socket."""
    sock = socket(AF_UNIX, SOCK_STREAM, 0, descriptor)
    inside, missing = preload(names)
    import confine

    set_handler(SIGCHLD, SIG_IGN)  # keepers that end leave nothing to collect
    f.send_frame(sock, SPAWNED, 0, dumps({
        "pid": getpid(), "missing": missing, "python": sys.version.split()[0],
        "confines": confine.available()}))
    stream = f.Stream(sock)
    try:
        while stream.fill():
            frame = stream.next()
            while frame is not None:
                spawn(sock, stream, frame, inside)
                frame = stream.next()
    except (OSError, f.Broken):
        pass  # the host is gone, or speaks another language
    _exit(0)


def spawn(sock, stream, frame, inside):
    kind, request, body = frame
    if kind != NEW:
        raise f.Broken("a zygote knows one frame")
    options = loads(body or b"{}")
    order = options.get("confine")
    fds = stream.take_fds(1 if order is None else 2 + order["joins"])
    try:
        pid = fork()
    except OSError as error:
        f.close_all(fds)
        f.send_frame(sock, SPAWNED, request, dumps({"error": "fork: %s" % error.strerror}))
        return
    if pid == 0:
        try:
            become_session(sock, fds, order, inside, options.get("start"))
        finally:
            _exit(1)
    f.close_all(fds)
    f.send_frame(sock, SPAWNED, request, dumps({"pid": pid}))


def become_session(sock, fds, order, inside, start):
    """In the fork. With an order it is confined first, and says so, or why it could not be."""
    sock.close()
    set_handler(SIGCHLD, SIG_DFL)
    import keeper

    control = socket(AF_UNIX, SOCK_STREAM, 0, fds[0])
    if order is not None:
        import confine

        try:
            confine.enter(order, fds[1], fds[2:])
            confine.close_others([fds[0]])
            f.send_frame(control, f.CONFINED, 0, b"{}")
        except Exception as error:
            f.send_frame(control, f.REFUSED, 0, dumps({"error": "confine: %s" % error}))
            return
    keeper.run(control, inside, start)
