"""A session that is a fork of the zygote: its own namespaces, files and filter, before user code.

The zygote's cell is the outer boundary and holds whatever this one lets through; it has the grant
to make namespaces, and a fork that has been through here does not. Every step is checked: a session
that could not be confined whole does not begin.
"""

import sys
from fcntl import ioctl
from posix import (
    O_CLOEXEC,
    O_DIRECTORY,
    O_NOFOLLOW,
    O_RDONLY,
    O_WRONLY,
    _exit,
    chdir,
    close,
    fstat,
    getegid,
    geteuid,
    getpid,
    mkdir,
    open as open_file,
    pread,
    read,
    write,
)

from forks import fork_alone

try:
    from ctypes import (
        CDLL,
        POINTER,
        Structure,
        byref,
        c_char_p,
        c_long,
        c_uint8,
        c_uint16,
        c_uint32,
        c_uint64,
        c_ulong,
        get_errno,
    )

    libc = CDLL(None, use_errno=True)
except Exception:  # an interpreter that was built without it: sessions get cells of their own
    libc = None

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
O_PATH = 0o10000000
PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS = 24, 28, 38
PR_SET_SECCOMP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 22, 47, 4
# NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock; KEEP_CAPS_LOCKED.
SECUREBITS = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x40 | 0x80
CAPABILITY_VERSION = 0x20080522
SIOCSIFFLAGS = 0x8914
MAX_FILTER = 1 << 16
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same everywhere
LANDLOCK_READ = 0x1 | 0x4 | 0x8  # execute, read files, list folders
LANDLOCK_OF_FILES = 0x1 | 0x2 | 0x4 | 0x4000 | 0x8000
PRIVATE = ("/tmp", "/dev/shm")
WRITABLE = (*PRIVATE, "/dev/pts", "/workspace")
# What a fresh /proc shows of the host, covered as in every other cell.
MASKED_FILES = ("cmdline", "config.gz", "diskstats", "interrupts", "kallsyms", "kcore", "key-users",
                "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "locks", "modules",
                "pagetypeinfo", "partitions", "sched_debug", "schedstat", "slabinfo",
                "sysrq-trigger", "timer_list", "vmallocinfo")
MASKED_FOLDERS = ("acpi", "asound", "bus", "driver", "fs", "irq", "scsi")


class NotConfined(Exception):
    """A step failed; the text says which."""


def available():
    return libc is not None


def check(result, what):
    if result < 0:
        raise NotConfined("%s: errno %d" % (what, get_errno()))


def enter(order, filter_fd, joins):
    """In a fork of the zygote. Returns in the first process of the new namespaces."""
    for fd in joins:  # limits first: what follows counts already
        if write(fd, b"0") != 1:
            raise NotConfined("join the session's cgroup")
        close(fd)
    program = read_filter(filter_fd)
    own_namespaces()
    if fork_alone():
        _exit(0)  # the namespaces' first process is the child, and lives on its own
    mounts(order)
    loopback_up()
    from _socket import sethostname

    sethostname("caisson")
    drop_capabilities()
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, c_ulong(1), c_ulong(0), c_ulong(0), c_ulong(0)),
          "set no_new_privs")
    second_wall(order)
    install(program)
    verify()


def read_filter(fd):
    size = fstat(fd).st_size
    if not 0 < size <= MAX_FILTER or size % 8:
        raise NotConfined("the filter has an odd size")
    data = pread(fd, size, 0)
    close(fd)
    if len(data) != size:
        raise NotConfined("the filter is cut")
    return data


def own_namespaces():
    uid, gid = geteuid(), getegid()
    flags = NEWUSER | NEWNS | NEWPID | NEWIPC | NEWUTS | NEWNET | NEWCGROUP
    check(libc.unshare(flags), "make namespaces")
    write_text("/proc/self/setgroups", "deny")
    write_text("/proc/self/uid_map", "%d %d 1" % (uid, uid))
    write_text("/proc/self/gid_map", "%d %d 1" % (gid, gid))


def write_text(path, text):
    fd = open_file(path, O_WRONLY | O_CLOEXEC)
    try:
        write(fd, text.encode())
    finally:
        close(fd)


def mount(source, target, kind, flags, data=""):
    encode = [None if text is None else text.encode() for text in (source, target, kind, data)]
    check(libc.mount(c_char_p(encode[0]), c_char_p(encode[1]), c_char_p(encode[2]), c_ulong(flags),
                     c_char_p(encode[3])), "mount " + target)


def mounts(order):
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    # The one folder that is this session's, put over the one that has them all. What lies below a
    # mount is out of reach, and taking it away needs a capability that is dropped next.
    name = order["workspace"]
    if type(name) is not str or not name.isalnum() or len(name) > 64:
        raise NotConfined("a workspace of that name")
    own = [("/workspace", "files")] + ([("/branches", "layers")] if order.get("layers") else [])
    fds = [open_file("/workspace/%s/%s" % (name, below),
                     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) for _, below in own]
    for (target, _), fd in zip(own, fds):
        mount("/proc/self/fd/%d" % fd, target, None, MS_BIND)
        close(fd)
    size = "size=%d,nr_inodes=%d,mode=1777" % (order["tmp_bytes"],
                                               max(1024, order["tmp_bytes"] // 4096))
    python = python_below(PRIVATE)
    for folder in PRIVATE:
        mount("none", folder, "tmpfs", MS_NOSUID | MS_NODEV, size)
    for place, fd in python:
        # A folder of the zygote's own /tmp, with what is the host's mounted in it: siblings have it, too.
        make_folders(place)
        mount("/proc/self/fd/%d" % fd, place, None, MS_BIND | MS_REC)
        mount(None, place, None, MS_RDONLY | MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV)
        close(fd)
    # A sibling's terminal must not show in it.
    mount("none", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
          "newinstance,ptmxmode=0666,mode=620,max=64")
    mount("none", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    leave_low_numbers()
    mask_proc()
    mount(None, "/proc", None,
          MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    chdir("/workspace")


def python_below(folders):
    """(place, descriptor) of the interpreter's own folders that lie there, a virtualenv in /tmp: what
    it imports later has to be found there still."""
    found = {}
    for place in (sys.base_prefix, sys.prefix):
        if any(place.startswith(folder + "/") for folder in folders):
            found[place] = open_file(place, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    return found.items()


def make_folders(path):
    at = path.find("/", 1)
    while at > 0:
        at = path.find("/", at + 1)
        try:
            mkdir(path if at < 0 else path[:at], 0o755)
        except FileExistsError:
            pass


def leave_low_numbers():
    """OpenSSL (every copy of it that a zygote has loaded) knows by its number whether a process is a
    fork: one that has the zygote's own would go on with its random numbers, as would its siblings
    in other sessions. A zygote's number is low, and the kernel gives none below 300 again."""
    try:
        write_text("/proc/sys/kernel/ns_last_pid", "300")
    except FileNotFoundError:
        pass  # a kernel without checkpoint/restore; ours is seeded anew all the same


def mask_proc():
    from posix import stat

    for name in MASKED_FILES + MASKED_FOLDERS:
        path = "/proc/" + name
        try:
            stat(path)
        except OSError:
            continue  # this kernel has none
        if name in MASKED_FILES:
            mount("/dev/null", path, None, MS_BIND)
        else:
            mount("none", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4096")


def loopback_up():
    from _socket import AF_INET, SOCK_DGRAM, socket
    from _struct import pack

    sock = socket(AF_INET, SOCK_DGRAM)
    ioctl(sock.fileno(), SIOCSIFFLAGS, pack("16sh14x", b"lo", 0x1 | 0x40))
    sock.close()


def drop_capabilities():
    for number in range(64):
        if libc.prctl(PR_CAPBSET_DROP, c_ulong(number), 0, 0, 0) < 0:
            break  # the kernel's last one is behind us
    check(libc.prctl(PR_SET_SECUREBITS, c_ulong(SECUREBITS), 0, 0, 0), "lock the securebits")
    check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear the ambient set")
    header = (c_uint32 * 2)(CAPABILITY_VERSION, 0)
    none = (c_uint32 * 6)()
    check(libc.capset(byref(header), byref(none)), "drop capabilities")


def second_wall(order):
    """Landlock behind the mounts, where the kernel has it: all may be read, few folders written;
    no signal and no abstract socket leaves the session."""
    abi = libc.syscall(c_long(LANDLOCK_CREATE), None, c_long(0), c_long(1))
    if abi <= 0:
        return
    handled = 0x1FFF if abi == 1 else 0x3FFF if abi == 2 else 0x7FFF if abi < 5 else 0xFFFF
    attributes = (c_uint64 * 3)(handled, 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = libc.syscall(c_long(LANDLOCK_CREATE), byref(attributes), c_long(size), c_long(0))
    check(rules, "make Landlock rules")
    allow(rules, "/", LANDLOCK_READ)
    for folder in WRITABLE + (("/branches",) if order.get("layers") else ()):
        allow(rules, folder, handled)
    for device in ("null", "zero", "full", "random", "urandom", "tty"):
        allow(rules, "/dev/" + device, handled & LANDLOCK_OF_FILES)
    check(libc.syscall(c_long(LANDLOCK_RESTRICT), c_long(rules), c_long(0)), "restrict by Landlock")
    close(rules)


def allow(rules, path, access):
    from _struct import pack

    fd = open_file(path, O_PATH | O_CLOEXEC)
    rule = pack("<Qi", access, fd)
    check(libc.syscall(c_long(LANDLOCK_ADD), c_long(rules), c_long(1), c_char_p(rule), c_long(0)),
          "allow " + path)
    close(fd)


def install(data):
    """After the last step that it forbids."""

    class Program(Structure):
        _fields_ = [("length", c_uint16), ("filter", POINTER(c_uint8))]

    code = (c_uint8 * len(data)).from_buffer_copy(data)
    program = Program(len(data) // 8, code)
    check(libc.prctl(PR_SET_SECCOMP, c_ulong(2), byref(program), c_ulong(0), c_ulong(0)),
          "install the filter")


def verify():
    """What was asked for is what there is."""
    fd = open_file("/proc/self/status", O_RDONLY | O_CLOEXEC)
    text = read(fd, 8192).decode()
    close(fd)
    status = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    wanted = {"Seccomp": 2, "NoNewPrivs": 1, "CapEff": 0, "CapPrm": 0, "CapBnd": 0, "CapInh": 0,
              "CapAmb": 0, "Pid": 1}
    for name, value in wanted.items():
        if int(status.get(name, "-1").strip(), 16) != value:
            raise NotConfined("%s is not %d" % (name, value))
    if getpid() != 1:
        raise NotConfined("not the first process of a namespace")
    if libc.unshare(NEWUSER) == 0:
        raise NotConfined("namespaces can still be made")


def close_others(keep):
    """Nothing of the zygote's comes along: its socket, its program, its orders."""
    from posix import closerange

    limit = 1 << 20
    edge = 3
    for fd in sorted(keep):
        closerange(edge, fd)
        edge = fd + 1
    closerange(edge, limit)
