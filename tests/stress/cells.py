"""Starting cells from one parent, and asking afterwards what is left of them."""

import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

import host

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x00020000
MS_REC, MS_SLAVE, MS_SHARED = 0x4000, 1 << 19, 1 << 20
WALL = 0x40000000
SHARED_FOLDERS = ("/tmp", "/dev/shm", "/var/tmp", "/run")
SETTLE_SECONDS = 15


class Failure(Exception):
    """A promise that was not kept; the text says which and how."""


def require(holds, text):
    if not holds:
        raise Failure(text)


def adopt_orphans():
    """Whatever a killed supervisor leaves becomes our child, so that nothing can hide."""
    require(LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "prctl(PR_SET_CHILD_SUBREAPER)")


def take_own_view():
    """Empty /tmp and /dev/shm of our own: a file there afterwards is a cell's.

    Mounts stay shared, as on most hosts: one that leaks from a cell would show here.
    """

    def mount(source, target, kind, flags):
        done = LIBC.mount(source, target, kind, flags, None)
        require(done == 0, f"mount {target}: {os.strerror(ctypes.get_errno())}")

    require(LIBC.unshare(CLONE_NEWNS) == 0, "unshare(CLONE_NEWNS)")
    mount(b"none", b"/", None, MS_REC | MS_SLAVE)
    for folder in (b"/tmp", b"/dev/shm"):
        mount(b"tmpfs", folder, b"tmpfs", 0)
        os.chmod(folder, 0o1777)
    mount(b"none", b"/", None, MS_REC | MS_SHARED)


class Place:
    """A binary, a folder of its own, and a marker that every cell started here carries."""

    def __init__(self, binary, uid, owns_view):
        self.root = tempfile.mkdtemp(prefix="stress-")
        os.chmod(self.root, 0o755)
        self.binary = shutil.copy(binary, os.path.join(self.root, "caisson"))
        os.chmod(self.binary, 0o755)
        self.marker = "stress-" + uuid.uuid4().hex
        self.owns_view = owns_view
        self.uid = uid
        for name in ("home", "tmp", "work"):
            os.mkdir(self.path(name))
            os.chown(self.path(name), uid, uid)
        os.chown(self.root, uid, uid)
        self.log = os.open(self.path("log"), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        os.fchown(self.log, uid, uid)
        self.fresh("first")

    def path(self, *names):
        return os.path.join(self.root, *names)

    def fresh(self, name):
        """A new record, and the host as it is now, for the next case."""
        self.state = self.path("state-" + name)
        self.since = host.ticks_since_boot()
        self.mounts = host.mounts()
        self.shared = self.shared_names()
        os.ftruncate(self.log, 0)

    def remove(self):
        os.chdir("/")
        shutil.rmtree(self.root, ignore_errors=True)

    def shared_names(self):
        return set().union(*(host.names_in(folder) for folder in SHARED_FOLDERS))

    def environment(self):
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": self.path("home"),
            "TMPDIR": self.path("tmp"),
            "XDG_RUNTIME_DIR": self.path("tmp"),
            "XDG_STATE_HOME": self.state,
            "STRESS_MARK": self.marker,
        }

    def start(self, *words, stdin=None, stdout=None):
        """`caisson exec words…`; the marker follows the program's own arguments."""
        stdin_action = (
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
            if stdin is None
            else (os.POSIX_SPAWN_DUP2, stdin, 0)
        )
        actions = [
            stdin_action,
            (os.POSIX_SPAWN_DUP2, self.log if stdout is None else stdout, 1),
            (os.POSIX_SPAWN_DUP2, self.log, 2),
        ]
        argv = [self.binary, "exec", *words, self.marker]
        return os.posix_spawn(self.binary, argv, self.environment(), file_actions=actions)

    def run(self, *words):
        """Runs one to its end; its exit code, negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self.start(*words), 0)[1])

    def said(self):
        return host.read(self.path("log"))[:400].decode(errors="replace")

    def require_quiet(self):
        require(not self.said(), f"caisson said: {self.said()!r}")

    def leftovers(self):
        reap_orphans()
        left = {f"process {pid}: {command_of(pid)}" for pid in host.children()}
        left |= {f"process {pid} with the marker" for pid in host.processes_with(self.marker)}
        left |= {f"cgroup {folder}" for folder in host.cgroup_folders(self.since)}
        left |= {f"mount {line}" for line in host.mounts() - self.mounts}
        left |= {f"file {name}" for name in host.names_in(self.path("tmp"))}
        left |= {f"file {name}" for name in host.names_in(self.path("home"))}
        left |= {f"file {name}" for name in self.shared_names() - self.shared if self.is_ours(name)}
        return left | self.strangers_in_state()

    def is_ours(self, name):
        """A new name in a folder that everybody may write to."""
        if self.owns_view and name.startswith(("/tmp/", "/dev/shm/")):
            return True
        try:
            return "caisson" in name and os.lstat(name).st_uid == self.uid
        except OSError:
            return False

    def strangers_in_state(self):
        known = {"audit.jsonl", "audit.head"}
        names = host.names_in(self.state + "/caisson")
        return {f"file {name}" for name in names if os.path.basename(name) not in known}

    def require_nothing_left(self):
        left = host.persisting(self.leftovers, SETTLE_SECONDS)
        require(not left, "left over: " + "; ".join(sorted(left)[:8]))

    def require_whole(self, events=None):
        command = [self.binary, "log", "verify"]
        done = subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, timeout=60
        )
        text = (done.stdout + done.stderr).strip()
        require(done.returncode == 0 and "chain whole" in text, f"log verify: {text[:400]}")
        if events is not None:
            require(text.startswith(f"{events} events,"), f"not {events} events: {text[:200]}")


def command_of(pid):
    return host.read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")[:80]


def reap_orphans():
    try:
        while os.waitpid(-1, os.WNOHANG | WALL)[0]:
            pass
    except ChildProcessError:
        pass


def end_children():
    """After a failed case: nothing of it may disturb the next one."""
    for _ in range(100):
        reap_orphans()
        mine = host.children()
        if not mine:
            return
        for pid in mine:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
