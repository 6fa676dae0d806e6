"""The process that has everything loaded and forks a session for each control socket it gets."""

import gc
import sys
from _signal import SIG_DFL, SIG_IGN, SIGCHLD
from _signal import signal as set_handler
from _socket import (
    AF_UNIX,
    CMSG_SPACE,
    MSG_CMSG_CLOEXEC,
    MSG_CTRUNC,
    SCM_RIGHTS,
    SOCK_SEQPACKET,
    SOCK_STREAM,
    SOL_SOCKET,
    socket,
    socketpair,
)
from _struct import unpack
from _thread import _count as count_threads
from posix import _exit, fork, getpid

import frames as f
from forks import fork_alone
from jsonio import dumps, loads

NEW, SPAWNED = 1, 2  # the two frames on a zygote's socket
SHELL = "+ipython"  # among the modules: IPython's shell too, where there is one
JOINS = "+joins="  # and the descriptor of the socket that ways into cgroups come by
MOST_WAITING, DOOR_PATIENCE = 256, 10


def preload(names):
    """Makes the interpreter and imports what sessions will want, so that they share it. Returns it,
    and the names that could not be had."""
    import json.decoder  # noqa: F401  (the C scanner takes its exception from there)
    import traceback  # noqa: F401

    import answers  # noqa: F401
    import forks
    import keeper  # noqa: F401
    import malloc
    from interpreter import Interpreter

    gc.disable()  # what an import leaves behind is collected once, at the end
    inside = Interpreter()
    missing = []
    for name in names:
        if name[0] == "+":
            continue
        try:
            __import__(name)
        except Exception as error:
            missing.append("%s: %s" % (name, type(error).__name__))
    inside.warm_up()
    warm_frames()
    if SHELL in names:  # last: what was run to get warm is no part of its state
        inside.prepare_shell()
    forks.watch_hooks()
    malloc.ask_for_huge_pages()  # for what sessions will have; what there is by now is theirs together
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


class Doors:
    """What binds a fork, by the name of its room: the filter, and the ways into its cgroups. It comes
    from who has made them and not with the order: with such a way any process of his could be moved,
    and who orders a fork is not to say what it may do."""

    def __init__(self, words):
        numbers = [word[len(JOINS):] for word in words if word.startswith(JOINS)]
        self.sock = socket(AF_UNIX, SOCK_SEQPACKET, 0, int(numbers[0])) if numbers else None
        self.waiting = {}
        if self.sock is not None:
            self.sock.settimeout(DOOR_PATIENCE)

    def take(self, room):
        """Those of one fork. They were given away before it was ordered, and may be under way."""
        if self.sock is None:
            return []
        while room not in self.waiting:
            self.receive()
        return self.waiting.pop(room)

    def receive(self):
        try:
            data, ancillary, flags, _ = self.sock.recvmsg(256, CMSG_SPACE(8 * 4), MSG_CMSG_CLOEXEC)
        except OSError:
            data, ancillary, flags = b"", [], 0
        fds = [fd for level, kind, part in ancillary if (level, kind) == (SOL_SOCKET, SCM_RIGHTS)
               for fd in unpack("<%di" % (len(part) // 4), part[:len(part) // 4 * 4])]
        if not data or len(fds) < 2 or flags & MSG_CTRUNC:
            raise f.Broken("a fork without a cgroup, or without all of it")
        self.waiting[data.decode("ascii", "replace")] = fds
        while len(self.waiting) > MOST_WAITING:  # forks that nobody has ordered
            f.close_all(self.waiting.pop(next(iter(self.waiting))))


def become_keeper(descriptor):
    """This process becomes the keeper of one session."""
    import keeper

    keeper.run(socket(AF_UNIX, SOCK_STREAM, 0, descriptor), preload(())[0])
    _exit(0)


def serve(descriptor, names):
    """Forks a keeper for each NEW frame; its descriptor is the session's control socket."""
    sock = socket(AF_UNIX, SOCK_STREAM, 0, descriptor)
    inside, missing = preload(names)
    doors = Doors(names)
    import ahead
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
                spawn(sock, stream, frame, inside, doors)
                frame = stream.next()
            # Behind the first session, which is waited for, and before those in reserve.
            if inside.written_first is None:
                inside.written_first = ahead.learn(inside)
    except (OSError, f.Broken):
        pass  # the host is gone, or speaks another language
    _exit(0)


def spawn(sock, stream, frame, inside, doors):
    kind, request, body = frame
    if kind != NEW:
        raise f.Broken("a zygote knows one frame")
    options = loads(body or b"{}")
    order = options.get("confine")
    if order is None and doors.sock is not None:
        raise f.Broken("a fork that nothing binds")  # it would have all that the zygote has
    fds = stream.take_fds(1 if order is None or doors.sock is not None else 2)
    try:
        if order is not None:
            fds += doors.take(order["workspace"])
        # A library that is loaded here may have a thread: then Python has to tidy up after it.
        pid = fork_alone() if count_threads() == 0 else fork()
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
