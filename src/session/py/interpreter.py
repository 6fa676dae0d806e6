"""The process that runs user code: its loop, its checkpoints (forks of itself), its rebirth.

A checkpoint is a child that waits, with every signal blocked, for the order to fork again. The live
interpreter stays the parent: its threads, its subprocesses, its locks and its process id live on.
"""

import builtins
import faulthandler
import sys
from _signal import SIG_BLOCK, SIG_SETMASK, SIGINT, getsignal, pthread_sigmask, valid_signals
from _signal import signal as set_handler
from _socket import AF_UNIX, SO_PASSCRED, SOCK_SEQPACKET, SOL_SOCKET, socket, socketpair
from _thread import _count as count_threads
from errno import ETOOMANYREFS
from fcntl import fcntl
from posix import (
    WNOHANG,
    _exit,
    chdir,
    dup2,
    fork,
    fstat,
    getcwd,
    listdir,
    pidfd_open,
    setpgid,
    stat,
    urandom,
    waitpid,
)
from os import environ, register_at_fork
from posix import close as close_fd
from select import POLLIN, poll
from time import monotonic

import frames as f
from errors import describe, name_of
from execute import Executor
from hostcalls import Early, Line, Reserved, make_batch, make_function
from jsonio import dumps, loads
from layers import path_below
from magics import HOOK, Magics
from pages import Gatherer
from streams import Streams, high_number

F_GETFD, F_SETFD = 1, 2
ORDER_SECONDS = 1.0
DEATH_MS = 5000
getrecursionlimit, setrecursionlimit = sys.getrecursionlimit, sys.setrecursionlimit
settrace, setprofile = sys.settrace, sys.setprofile


class NoInput(EOFError):
    """Nobody can type into a session."""

    __module__ = "builtins"


def no_input(prompt=""):
    """input() of a session: an error, at once."""
    raise NoInput("input() is not available in a session: pass the value in as a variable")


class Interpreter:
    """Made once, before the forks, so that sessions share its pages; `attach` gives it to one."""

    def __init__(self):
        self.running = False
        self.forking = False
        self.sock = None
        self.not_kept = 0  # NOT_KEPT when the last checkpoint could not be taken
        self.gatherer = Gatherer()
        self.written_first = None  # pages that a first call writes, see ahead.py
        self.before = -1  # a pidfd of whose place it has taken, until the first call
        self.line = Line()
        self.early = Early()
        self.old_main = sys.modules["__main__"]  # freeing it in each fork would copy its pages
        self.main = make_main()
        self.namespace = self.main.__dict__
        self.fresh = dict(self.namespace)
        self.magics = Magics(self.namespace)
        self.executor = Executor(self.namespace, self.magics, self.early)
        self.streams = Streams()
        self.checkpoints = []  # children that are checkpoints, to be collected when they end
        self.reserved = Reserved(self.namespace)
        self.hidden = frozenset()
        self.ready_shell = None  # IPython's, made in the zygote
        builtins.input = no_input
        setattr(builtins, HOOK, self.magics)
        builtins.display = self.display
        environ.setdefault("MPLBACKEND", "Agg")  # figures are drawn, never shown in a window
        register_at_fork(after_in_child=self.after_fork)
        faulthandler.enable(2)  # a crash in C tells its Python lines on the call's stderr

    def attach(self, options):
        """In the fork that will run user code. Options that are not known yet come by message."""
        self.streams.to_null()
        self.streams.put_back()
        sys.modules["__main__"] = self.main
        set_handler(SIGINT, self.on_interrupt)
        if options is not None:
            self.add_functions(options)

    def warm_up(self):
        """Runs what every call runs, so that its pages are in their final shape before they are
        shared: bytecode rewrites itself as it gets warm."""
        for _ in range(12):
            for source in ("1 + 1", "x = 1", "x", "import sys", "def f(): pass"):
                answer_bytes(self.executor.run(source)[0])
        self.namespace.clear()
        self.namespace.update(self.fresh)
        self.executor.start_over()

    def prepare_shell(self):
        """In the zygote: the import and the making of IPython's shell take a third of a second."""
        import ipython

        main, sys.modules["__main__"] = sys.modules["__main__"], self.main
        try:
            self.ready_shell = ipython.make_shell(self)
            if self.ready_shell is not None:
                self.executor.shell = self.ready_shell
                self.ready_shell.warm_up(lambda source: answer_bytes(self.executor.run(source)[0]))
        finally:
            self.executor.shell = None
            self.executor.start_over()
            sys.modules["__main__"] = main

    def add_functions(self, options):
        if options.get("ipython") and self.ready_shell is not None:
            self.executor.shell = self.ready_shell
        for entry in options.get("functions", ()):
            name = entry["name"]
            self.reserved.add(name, make_function(self.line, name, entry.get("doc")))
            alias = entry.get("batch")
            if alias:
                self.reserved.add(alias, make_batch(self.line, name, alias))
        for name in options.get("final", ()):
            self.reserved.add(name, self.early.function(name))
        self.hidden = frozenset(self.namespace)

    def display(self, *values, **ignored):
        """Shows values in the answer of this call."""
        self.executor.displays.show(*values)

    def on_interrupt(self, number, frame):
        if self.running:
            raise KeyboardInterrupt

    def after_fork(self):
        """A child that user code forks is not the session: it has no way to the keeper."""
        if not self.forking:
            for sock in (self.sock, self.line.sock):
                try:
                    sock.close()
                except (OSError, AttributeError):
                    pass
            self.line.current = None

    # --- the loop

    def report(self, sock):
        """The keeper learns the pid from the kernel."""
        body = dumps({"ipython": self.executor.shell is not None})
        f.send_message(sock, f.READY, 0, 0, 0, body)

    def begin(self, sock, line):
        """Takes up its two sockets."""
        self.sock = high_socket(sock)
        self.line.renew(high_socket(line))

    def follow(self, pid):
        """This one takes the place of another, which is killed once we have reported. Nobody waits
        for its memory then; but the first call does, or both together could be too much."""
        if self.before >= 0:
            close_fd(self.before)
        try:
            self.before = pidfd_open(pid) if pid else -1
        except OSError:
            self.before = -1

    def let_it_end(self):
        watcher = poll()
        watcher.register(self.before, POLLIN)
        watcher.poll(DEATH_MS)
        close_fd(self.before)
        self.before = -1

    def loop(self):
        while True:
            try:
                message = self.next_message()
                if message is None:
                    _exit(f.CHANNEL_GONE)
                self.handle(*message[:6])
            except BaseException:
                self.tidy()  # a signal handler of the cell raised between two calls

    def next_message(self):
        """None when the socket is gone: the keeper has ended, or the cell has closed it."""
        try:
            return f.receive_message(self.sock)
        except f.Broken:  # nobody but the keeper and the host can send here: it was cut by the kernel
            _exit(f.USED_UP)
        except OSError:
            return None

    def handle(self, kind, flags, request, nonce, body, fds):
        number = None
        if flags & f.DIRECT and kind != f.FORK:
            number, body = body[: f.NUMBER.size], body[f.NUMBER.size:]
        if kind & f.SPILLED:
            kind &= ~f.SPILLED
            body = f.unspill(fds[0])
            close_fd(fds.pop(0))
        if kind == f.FORK:
            self.take_checkpoint(request, nonce, flags & f.DIRECT)
        elif kind == f.START:
            self.add_functions(loads(body))
        elif kind in f.CALLS:
            self.serve(kind, flags, request, nonce, body, fds, number)
        else:
            f.close_all(fds)

    def serve(self, kind, flags, request, nonce, body, fds, number):
        if self.before >= 0:
            self.let_it_end()
        begin = monotonic()
        self.line.current = current = (request, nonce)
        threads = count_threads()
        if kind == f.EXEC:
            answer, unchanged = self.execute(body, fds)
        else:
            answer, unchanged = self.other(kind, body, fds)
        bits = self.not_kept | (f.UNCHANGED if unchanged else 0)
        left = count_threads()
        if left:
            answer["threads"] = left
            if left > threads:
                bits |= f.THREADS_LEFT
        if not unchanged and not flags & f.NO_CHECKPOINT:
            bits |= f.FORKING
        self.line.current = None
        if number is not None and not unchanged:
            self.tell_keeper(f.CHANGED, bits, *current, number)
        self.send_answer(bits, current, answer_bytes(answer))
        answer = body = None
        if bits & f.FORKING:
            self.gatherer.gather(monotonic() - begin)
            self.take_checkpoint(*current, number is not None)

    def send_answer(self, bits, current, body):
        try:
            f.send_message(self.sock, f.RESULT, bits, *current, body, rounds=50)
        except OSError as error:
            if error.errno != ETOOMANYREFS:
                raise
            f.send_message(self.sock, f.RESULT, bits, *current, dumps({
                "status": "error", "error": plain_error(
                    "an answer of %d bytes can't be handed over just now: too many descriptors are "
                    "under way; what the call did is kept" % len(body))}))

    def tell_keeper(self, *message):
        """Of a call that came from the host directly: the keeper hears of it before the host has the
        answer, so that whatever the host orders next finds it knowing."""
        try:
            f.send_message(self.line.sock, *message)
        except OSError:
            _exit(f.CHANNEL_GONE)

    def execute(self, body, fds):
        if len(fds) != 2:
            f.close_all(fds)
            return {"status": "error", "error": plain_error("exec wants two descriptors")}, True
        self.streams.begin(*fds)
        answer, unchanged = {"status": "interrupted"}, False
        try:
            self.running = True
            answer, unchanged = self.executor.run(str(body, "utf-8"))
        except UnicodeDecodeError:
            answer = {"status": "error", "error": plain_error("the source is not UTF-8")}
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                answer["status"] = "error"
            answer["error"] = plain_error(name_of(type(error)))
        finally:
            self.running = False
        self.tidy()
        self.streams.end()
        changed = self.reserved.put_back()
        if changed:
            answer.setdefault("notes", []).append(
                "reserved names were put back: " + ", ".join(changed))
        return answer, unchanged

    def other(self, kind, body, fds):
        """vars, get, set, load, save: none of them has standard streams."""
        answer, unchanged = {"status": "interrupted"}, False
        try:
            self.running = True
            import answers

            answer, unchanged = answers.answer(self, kind, loads(body), fds)
        except BaseException as error:
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            answer = {"status": status, "error": describe(error)}
        finally:
            self.running = False
            f.close_all(fds)
        self.tidy()
        self.reserved.put_back()
        return answer, unchanged

    def tidy(self):
        """What a cell did to the interpreter ends with the cell."""
        for attempt in range(3):
            try:
                settrace(None)
                setprofile(None)
                if getrecursionlimit() < 500:
                    setrecursionlimit(1000)
                if getsignal(SIGINT) != self.on_interrupt:
                    set_handler(SIGINT, self.on_interrupt)
                if builtins.input is not no_input:
                    builtins.input = no_input
                monitoring = getattr(sys, "monitoring", None)
                if monitoring is not None:
                    end_monitoring(monitoring)
                return
            except BaseException:
                continue

    # --- checkpoints

    def take_checkpoint(self, request, nonce, direct, given=()):
        """`given`: its socket, from the keeper. Else one is made here, which is one hop less."""
        tell = self.tell_keeper if direct else self.answer
        threads = count_tasks()
        try:
            if given:
                ours, theirs = None, socket(AF_UNIX, SOCK_SEQPACKET, 0, given[0])
            else:
                ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
                ours.setsockopt(SOL_SOCKET, SO_PASSCRED, 1)
            self.forking = True
            pid = fork()
        except OSError as error:  # no process, or no descriptor, to be had
            self.forking = False
            self.not_kept = f.NOT_KEPT
            text = dumps({"error": "fork: " + (error.strerror or "failed")})
            tell(f.NOT_TAKEN, 0, request, nonce, text)
            return
        self.forking = False
        self.not_kept = 0
        if pid:
            self.checkpoints = [one for one in self.checkpoints if not reaped(one)] + [pid]
            own_group(pid)  # before the next call can kill the group that it was born into
            theirs.close()
            if ours is None:
                tell(f.TAKEN, 0, request, nonce)
            else:
                self.hand_over(ours, tell, direct, request, nonce)
            return
        if ours is not None:
            ours.close()
        self.freeze(theirs, threads)

    def hand_over(self, ours, tell, direct, request, nonce):
        """What can't be handed over ends with its socket; the keeper orders another one, and sends
        the socket for it: it has room where an interpreter has none (hardening.py)."""
        sock = self.line.sock if direct else self.sock
        try:
            f.send_message(sock, f.TAKEN, 0, request, nonce, b"", [ours.fileno()], rounds=0)
        except OSError as error:
            if error.errno != ETOOMANYREFS:
                _exit(f.CHANNEL_GONE)
            ours.close()
            tell(f.NOT_TAKEN, f.NO_ROOM, request, nonce, dumps({"error": "no room for its socket"}))
            self.not_kept = f.NOT_KEPT
            self.take_second_order(direct)
        ours.close()

    def take_second_order(self, direct):
        """On the line, ahead of the next call, which may be on its way already."""
        self.line.sock.settimeout(ORDER_SECONDS)
        try:
            message = f.receive_message(self.line.sock)
            while message is not None and message[0] != f.FORK:  # an answer that comes too late
                f.close_all(message[5])
                message = f.receive_message(self.line.sock)
            self.line.sock.settimeout(None)
        except (OSError, f.Broken):
            self.line.sock.settimeout(None)
            return
        if message is not None and len(message[5]) == 1:
            self.take_checkpoint(message[2], message[3], direct, message[5])

    def answer(self, *message):
        f.send_message(self.sock, *message)

    def freeze(self, sock, threads):
        """In the checkpoint: waits, and forks when told. Returns only in a child that is live."""
        old_mask = pthread_sigmask(SIG_BLOCK, valid_signals())
        for old in (self.sock, self.line.sock):
            old.close()
        sock = high_socket(sock)
        own_group(0)
        dead = let_go_of_channels(sock.fileno())
        body = dumps({"threads": threads, "channels": dead})
        f.send_message(sock, f.READY, 0, 0, 0, body)
        while True:
            message = f.receive_message(sock)
            if message is None:
                _exit(0)
            kind, _, before, _, workspace, fds, _ = message
            if kind != f.THAW or len(fds) != 2:
                f.close_all(fds)
                continue
            reap()
            self.forking = True
            try:
                pid = fork()
            except OSError:
                pid = -1
            self.forking = False
            if pid == 0:
                sock.close()
                if workspace:
                    go_to_workspace(workspace.decode())
                self.follow(before)
                self.thaw(fds, old_mask)
                return
            f.close_all(fds)

    def thaw(self, fds, mask):
        own_group(0)
        self.checkpoints = []
        self.executor.forget_loop()
        reseed()
        pthread_sigmask(SIG_SETMASK, mask)
        sock = socket(fileno=fds[0])
        self.report(sock)
        self.begin(sock, socket(fileno=fds[1]))


def make_main():
    """A __main__ for user code, so that pickle and multiprocessing find what it defines."""
    main = type(sys)("__main__")
    main.__builtins__ = builtins
    return main


def high_socket(sock):
    return socket(fileno=high_number(sock.detach()))


def answer_bytes(answer):
    try:
        return dumps(answer)
    except BaseException as error:
        return dumps({"status": "error", "error": plain_error(
            "the answer could not be written: " + type(error).__name__)})


def plain_error(text):
    return {"type": "SessionError", "message": text, "traceback": text}


def own_group(pid):
    try:
        setpgid(pid, pid)
    except OSError:
        pass


def count_tasks():
    try:
        return stat("/proc/self/task").st_nlink - 2
    except OSError:
        return 1


def let_go_of_channels(keep):
    """Pipes and sockets can't be in two processes: a checkpoint that held them would keep a
    subprocess from seeing the end of its input. In it they become a socket whose peer is gone."""
    try:
        numbers = [int(name) for name in listdir("/proc/self/fd")]
    except OSError:
        return 0
    dead, peer = socketpair(AF_UNIX, SOCK_SEQPACKET)
    peer.close()
    count = 0
    for number in numbers:
        if number <= 2 or number in (keep, dead.fileno()):
            continue
        try:
            if (fstat(number).st_mode & 0o170000) in (0o100000, 0o040000, 0o020000, 0o060000):
                continue
            flags = fcntl(number, F_GETFD)
            dup2(dead.fileno(), number)
            fcntl(number, F_SETFD, flags)
            count += 1
        except OSError:
            continue
    dead.close()
    return count


def reap():
    """In a checkpoint: collects the interpreters that came out of it and have ended."""
    try:
        while waitpid(-1, WNOHANG)[0]:
            pass
    except OSError:
        pass


def go_to_workspace(folder):
    """Into the files of the lane that it wakes in, at the place where it was in those of another."""
    try:
        below = path_below(getcwd())
    except OSError:
        below = ""  # that folder is gone
    if below is None:
        return
    for path in (folder + below, folder):
        try:
            chdir(path)
            return
        except OSError:
            continue


def reaped(pid):
    """True when this child is dead and collected, by whomever."""
    try:
        return waitpid(pid, WNOHANG)[0] != 0
    except OSError:
        return True


def reseed():
    """Two interpreters from one checkpoint must not draw the same numbers. (`random` sees to its own
    at every fork.)"""
    number = int.from_bytes(urandom(4), "little")
    for name, action in (
        ("numpy.random", lambda module: module.seed(number)),
        ("uuid", lambda module: setattr(module, "_last_timestamp", None)),
        ("ssl", lambda module: module.RAND_add(urandom(32), 32.0)),
    ):
        if name in sys.modules:
            try:
                action(sys.modules[name])
            except BaseException:
                continue


def end_monitoring(monitoring):
    for tool in range(6):
        if monitoring.get_tool(tool) is not None:
            monitoring.set_events(tool, 0)
