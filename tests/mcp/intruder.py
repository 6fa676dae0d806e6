"""System calls made by another process, as whoever has taken it over would make them.

The process is stopped where it waits, given the registers of the call, and stepped over one instruction:
what answers is the kernel, with that process's own filter, domain and rights.
"""
import ctypes
import os
import signal
import struct
import time

ATTACH, DETACH, STEP, GETREGSET, SETREGSET = 16, 17, 9, 0x4204, 0x4205
NT_PRSTATUS = 1
ARM = os.uname().machine == "aarch64"
CALL = struct.pack("<I", 0xd4000001) if ARM else b"\x0f\x05"
# Numbers of x86-64 and of arm64.
CALLS = {"openat": (257, 56), "close": (3, 57), "execve": (59, 221), "socket": (41, 198),
         "clone": (56, 220), "mount": (165, 40), "ptrace": (101, 117), "symlinkat": (266, 36),
         "kill": (62, 129), "mkdirat": (258, 34), "renameat2": (316, 276), "memfd_create": (319, 279),
         "linkat": (265, 37), "io_uring_setup": (425, 425), "bpf": (321, 280),
         "pidfd_getfd": (438, 438), "unlinkat": (263, 35), "bind": (49, 200), "listen": (50, 201),
         "connect": (42, 203), "socketpair": (53, 199), "sendmsg": (46, 211),
         "recvmsg": (47, 212)}
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.restype = ctypes.c_long
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
AT_FDCWD = -100


def socket_of_packets(pid):
    """The one that a server has to its launcher; it has no other before there is a session."""
    packets = set()
    with open(f"/proc/{pid}/net/unix") as table:
        for line in table.readlines()[1:]:
            words = line.split()
            if words[4] == "0005":
                packets.add(f"socket:[{words[6]}]")
    found = [int(fd) for fd in os.listdir(f"/proc/{pid}/fd")
             if link_of(f"/proc/{pid}/fd/{fd}") in packets]
    assert len(found) == 1, found
    return found[0]


def link_of(path):
    """What a descriptor is; "" when it was closed since it was listed."""
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Intruder:
    """with Intruder(pid) as it: it.call("openat", AT_FDCWD, b"/etc/passwd", 0) -> a number or -errno"""

    COUNT = 34 if ARM else 27

    def __init__(self, pid):
        self.pid = pid
        self.free = None

    def request(self, what, address=None, data=None):
        if LIBC.ptrace(what, self.pid, address, data) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def __enter__(self):
        for _ in range(500):
            self.request(ATTACH)
            self.wait()
            if self.is_waiting():
                return self
            self.request(DETACH)  # at work: it will wait again
            # In the middle of an exec another stop comes before the one of ATTACH, which then holds it.
            os.kill(self.pid, signal.SIGCONT)
            time.sleep(0.01)
        raise AssertionError("it never waits in a system call")

    def is_waiting(self):
        """The instruction before is a system call then."""
        pc = self.registers()[32 if ARM else 16]
        try:
            return self.read(pc - len(CALL), len(CALL)) == CALL
        except OSError:
            return False

    def __exit__(self, *_):
        self.request(DETACH)

    def wait(self):
        _, status = os.waitpid(self.pid, 0x40000000)  # __WALL
        if not os.WIFSTOPPED(status):
            raise AssertionError(f"process {self.pid} ended: {status:#x}")
        return os.WSTOPSIG(status)

    def registers(self, values=None):
        raw = (ctypes.c_uint64 * self.COUNT)(*(values or []))
        vector = Vector(ctypes.addressof(raw), ctypes.sizeof(raw))
        self.request(SETREGSET if values else GETREGSET, NT_PRSTATUS, ctypes.addressof(vector))
        return list(raw)

    def write(self, address, data):
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            memory.write(data)

    def read(self, address, size):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def put(self, data):
        """Bytes in its memory that stay until the next message; their address."""
        if self.free is None:
            self.begin_message()
        address, self.free = self.free, self.free + (len(data) + 64 & ~15)
        self.write(address, data)
        return address

    def begin_message(self):
        """Below its stack, and never up to it: who asks a hundred times must not write over what the
        process goes on with."""
        self.free = self.registers()[31 if ARM else 19] - 40000

    def send(self, socket, data, descriptors=()):
        """One message with descriptors of its own."""
        self.begin_message()
        rights = struct.pack(f"<Qii{len(descriptors)}i", 16 + 4 * len(descriptors), 1, 1, *descriptors)
        rights += bytes(-len(rights) % 8)
        pieces = struct.pack("<QQ", self.put(data), len(data))
        head = struct.pack("<QQQQQQQ", 0, 0, self.put(pieces), 1, self.put(rights), len(rights), 0)
        return self.call("sendmsg", socket, self.put(head), 0)

    def receive(self, socket):
        """One message: its bytes and its descriptors, as numbers of its own. None: there is none yet."""
        size, room = 49152, 256
        self.begin_message()
        data, rights = self.free - 200000, self.put(bytes(room))
        pieces = struct.pack("<QQ", data, size)
        head = self.put(struct.pack("<QQQQQQQ", 0, 0, self.put(pieces), 1, rights, room, 0))
        got = self.call("recvmsg", socket, head, 0x40)  # MSG_DONTWAIT
        if got < 0:
            return None
        used, = struct.unpack("<Q", self.read(head + 40, 8))
        count = (struct.unpack("<Q", self.read(rights, 8))[0] - 16) // 4 if used >= 16 else 0
        return self.read(data, got), list(struct.unpack(f"<{count}i", self.read(rights + 16, 4 * count)))

    def call(self, name, *arguments):
        result = self.call_once(name, *arguments)
        if name == "clone" and result > 0:
            os.kill(result, signal.SIGKILL)  # a second server, which nobody would end
        return result

    def call_once(self, name, *arguments):
        saved = self.registers()
        pc, sp = (32, 31) if ARM else (16, 19)
        # It waits in a system call, so the instruction before is one.
        size = len(CALL)
        room, words = saved[sp] - 65536, []
        for one in arguments:
            if isinstance(one, bytes):
                self.write(room, one + b"\0")
                words.append(room)
                room += len(one) + 64
            else:
                words.append(one & (2**64 - 1))
        words += [0] * (6 - len(words))
        changed = list(saved)
        changed[pc] = saved[pc] - size
        number = CALLS[name][ARM]
        if ARM:
            changed[0:6], changed[8] = words, number
        else:
            # Behind a call that was interrupted the kernel would go back to it: -1 is "none was".
            changed[15] = 2**64 - 1
            changed[10] = number
            for register, word in zip((14, 13, 12, 7, 9, 8), words):
                changed[register] = word
        self.registers(changed)
        self.request(STEP)
        stopped = self.wait()
        if stopped != signal.SIGTRAP:
            raise AssertionError(f"stopped by signal {stopped}")
        answer = self.registers()[0 if ARM else 10]
        self.registers(saved)
        return answer - 2**64 if answer >= 2**63 else answer
