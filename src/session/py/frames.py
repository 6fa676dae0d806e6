"""The frames of a session, as docs/session-frames.md has them: types, bounds, reading, writing."""

from _socket import (
    CMSG_SPACE,
    MSG_CTRUNC,
    MSG_TRUNC,
    SCM_CREDENTIALS,
    SCM_RIGHTS,
    SOL_SOCKET,
)
from _struct import Struct
from errno import ETOOMANYREFS
from fcntl import fcntl
from posix import close, fstat, memfd_create, pread, write
from time import sleep

PROTOCOL = 1
MAX_BODY = 1 << 20  # of a frame on a control socket
MAX_INLINE = 32 * 1024  # of a message between keeper and interpreter; more goes by memfd
MAX_BULK = 1 << 30  # of a body that was spilled into a memfd
MAX_FDS = 8
SPILLED = 0x80  # added to a type: the body is in the frame's first descriptor

# host -> keeper
START, EXEC, INTERRUPT, VARS, GET, SET, LOAD = 1, 2, 3, 4, 5, 6, 7
RESET, CHECKPOINT, RESTORE, BRANCH, CHECKPOINTS, DROP = 8, 9, 10, 11, 12, 13
SAVE, UNSAVE, HOST_REPLY, END = 14, 15, 16, 17
STOP, HEARD, NONCES = 18, 19, 20
# keeper -> host
HELLO, RESULT, ENDED, HOST_CALL, DONE, REFUSED, NOTE = 65, 66, 67, 68, 69, 70, 71
CONFINED = 72  # once, before any user code can be
LIVE, WAY = 73, 74  # of a lane whose calls go to the interpreter directly
# keeper <-> interpreter, beside the ones above
READY, TAKEN, NOT_TAKEN, FORK, THAW, CHANGED = 96, 97, 98, 99, 100, 101

CALLS = frozenset((EXEC, VARS, GET, SET, LOAD, SAVE, UNSAVE))  # they start with a CALL_PREFIX

HEADER = Struct("<IBI")  # length of the body, type, request id
CALL_PREFIX = Struct("<IIBB")  # timeout ms, grace ms, flags, number of descriptors
PRIVATE = Struct("<BBIQ")  # type, flags, request id, nonce
NUMBER = Struct("<I")
NONCE, RING = Struct("<Q"), 4096  # what the host has drawn for its last calls
# of a STOP: nonce, number, generation, milliseconds since its start, grace in ms, why
STOPPED = Struct("<QIIIIB")
BECAUSE = ("timeout", "interrupt", "")

# flags of a call
NO_CHECKPOINT, DIRECT = 1, 2
# flags of an interpreter's answer
UNCHANGED, FORKING, THREADS_LEFT, NOT_KEPT = 1, 2, 4, 8
NO_ROOM = 1  # of NOT_TAKEN: the socket of the checkpoint could not be sent
AWAKE = 1  # of THAW: what wakes stays so until it hears of the kill (freezing.py)
# flags of a RESULT, set by the keeper
INTERRUPTED, NO_WAY_BACK, PROCESSES_ENDED = 1, 2, 4
# exit code of an interpreter that found its socket gone
CHANNEL_GONE = 97
# and of one that has no descriptor left to take a request's
USED_UP = 98
CAN_NOT_END = 99  # of the keeper: processes of the session made others faster than they were killed

CONTROL_SPACE = CMSG_SPACE(4 * MAX_FDS) + CMSG_SPACE(12)
INTS = [Struct("<%di" % n) for n in range(256)]
CREDENTIALS = Struct("<iII")
F_ADD_SEALS, F_GET_SEALS, ALL_SEALS = 1033, 1034, 0x1 | 0x2 | 0x4 | 0x8
NEEDED_SEALS = 0x2 | 0x4 | 0x8  # shrink, grow, write
CLOEXEC_AND_SEALING = 0x1 | 0x2


class Broken(Exception):
    """The peer does not speak the protocol, or is gone."""


def close_all(fds):
    for fd in fds:
        try:
            close(fd)
        except OSError:
            pass


def spill(body):
    """A sealed memfd with these bytes: what the reader sees can't change under it."""
    fd = memfd_create("caisson", CLOEXEC_AND_SEALING)
    try:
        view = memoryview(body)
        while len(view):
            view = view[write(fd, view[: 1 << 24]):]
        fcntl(fd, F_ADD_SEALS, ALL_SEALS)
    except BaseException:
        close(fd)
        raise
    return fd


def are_sealed(fds):
    """True when they are memory that can't change. Whatever else code hands over ends here: to close
    it can take as long as it likes."""
    try:
        return all(fcntl(fd, F_GET_SEALS) & NEEDED_SEALS == NEEDED_SEALS for fd in fds)
    except OSError:
        return False


def unspill(fd, bound=MAX_BULK):
    """The bytes of a spilled body. Regular files only: a FIFO would block its reader forever."""
    status = fstat(fd)
    if (status.st_mode & 0o170000) != 0o100000 or status.st_size > bound:
        raise Broken("a body that is not a file, or larger than the bound")
    return read_all(fd, status.st_size)


def read_all(fd, size):
    data = pread(fd, size, 0)
    if len(data) == size:
        return data
    parts, have = [data], len(data)
    while have < size:
        data = pread(fd, size - have, have)
        if not data:
            break
        parts.append(data)
        have += len(data)
    return b"".join(parts)


def rights(fds):
    return [(SOL_SOCKET, SCM_RIGHTS, INTS[len(fds)].pack(*fds))] if fds else []


def parse_ancillary(ancillary):
    fds, pid = [], 0
    for level, kind, data in ancillary:
        if level != SOL_SOCKET:
            continue
        if kind == SCM_RIGHTS:
            count = len(data) // 4
            fds.extend(INTS[count].unpack(data[: count * 4]))
        elif kind == SCM_CREDENTIALS and len(data) == 12:
            pid = CREDENTIALS.unpack(data)[0]
    return fds, pid


def small_frame(kind, request, body):
    """The bytes of a frame that needs no descriptor."""
    return HEADER.pack(len(body), kind, request) + body


def send_frame(sock, kind, request, body=b"", fds=(), after=b""):
    """One frame on a control socket; large bodies and descriptors travel with its first byte. `after`:
    frames that go with it, so that whoever listens is woken once."""
    spilled = -1
    if len(body) > MAX_BODY:
        spilled = spill(body)
        fds, kind, body = [spilled, *fds], kind | SPILLED, b""
    try:
        data = small_frame(kind, request, body) + after
        sent = sock.sendmsg([data], rights(fds))
        while sent < len(data):
            sent += sock.send(memoryview(data)[sent:])
    finally:
        if spilled >= 0:
            close(spilled)


class Stream:
    """Frames out of a control socket. The host is believed; a length out of bounds is its bug."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.fds = []

    def fill(self):
        data, ancillary, flags, _ = self.sock.recvmsg(65536, CONTROL_SPACE)
        if ancillary:
            self.fds.extend(parse_ancillary(ancillary)[0])
        if flags & MSG_CTRUNC:
            raise Broken("more descriptors than a frame may have")
        self.buffer = self.buffer + data if self.buffer else data
        return bool(data)

    def next(self):
        """(type, request, body), or None when more bytes are needed."""
        buffer = self.buffer
        if len(buffer) < 9:
            return None
        length, kind, request = HEADER.unpack_from(buffer)
        if length > MAX_BODY:
            raise Broken("a frame larger than the bound")
        end = 9 + length
        if len(buffer) < end:
            return None
        body = buffer[9:end]
        self.buffer = buffer[end:]
        return kind, request, body

    def take_fds(self, count):
        if len(self.fds) < count:
            raise Broken("a frame came without its descriptors")
        fds, self.fds = self.fds[:count], self.fds[count:]
        return fds


def send_message(sock, kind, flags, request, nonce, body=b"", fds=(), rounds=500):
    """One message between keeper and interpreter: whole or not at all (SOCK_SEQPACKET)."""
    spilled = -1
    if len(body) > MAX_INLINE:
        spilled = spill(body)
        fds, kind, body = [spilled, *fds], kind | SPILLED, b""
    try:
        head = PRIVATE.pack(kind, flags, request, nonce)
        if fds:
            send_rights(sock, [head, body], fds, rounds)
        else:
            sock.send(head + body)
    finally:
        if spilled >= 0:
            close(spilled)


def send_rights(sock, parts, fds, rounds=500):
    """Descriptors that are under way are counted for each user, and all forks of a zygote are one:
    with hundreds of calls at once there may be no room for a moment (unix(7), ETOOMANYREFS). Code
    in another session can also keep it so, for interpreters; keepers have room (hardening.py)."""
    for _ in range(rounds):
        try:
            return sock.sendmsg(parts, rights(fds))
        except OSError as error:
            if error.errno != ETOOMANYREFS:
                raise
            sleep(0.01)
    return sock.sendmsg(parts, rights(fds))


def receive_message(sock, flags=0):
    """(type, flags, request, nonce, body, fds, pid); None at the end; Broken when malformed."""
    data, ancillary, got, _ = sock.recvmsg(MAX_INLINE + 64, CONTROL_SPACE, flags)
    fds, pid = parse_ancillary(ancillary) if ancillary else ([], 0)
    if not data:
        close_all(fds)
        return None
    if got & (MSG_TRUNC | MSG_CTRUNC) or len(data) < 14:
        close_all(fds)
        raise Broken("a message that is cut")
    kind, bits, request, nonce = PRIVATE.unpack_from(data)
    return kind, bits, request, nonce, data[14:], fds, pid
