"""The process that runs user code: how it is made, and its loop. What it does with a call is in calls.py,
its checkpoints are in freezing.py."""

import builtins
import faulthandler
import sys
from _signal import SIGINT
from _signal import signal as set_handler
from os import environ, register_at_fork
from posix import _exit
from posix import close as close_fd
from posix import sched_yield
from select import POLLIN, poll
from time import monotonic

import frames as f
from calls import Calls, answer_bytes, no_input
from errors import tell_unraisable
from execute import Executor
from freezing import Freezing
from hostcalls import Early, Line, Reserved, make_batch, make_function
from jsonio import dumps, loads
from magics import HOOK, Magics
from pages import Gatherer
from rebirth import high_socket
from streams import Streams, quietly
from threads import forget_threads


AWAKE_SECONDS = 0.0001
OTHERS_TURN_SECONDS, ASLEEP_SECONDS, MOST_LOST = 0.0005, 0.001, 7  # as in direct_calls.cpp


class Interpreter(Calls, Freezing):
    """Made once, before the forks, so that sessions share its pages; `attach` gives it to one."""

    def __init__(self):
        self.running = False
        self.forking = False
        self.to_put_right = False  # what a call leaves behind that was answered first
        self.sock = None
        self.asleep_until, self.lost_turns = 0.0, 0  # see stay_awake()
        self.soon = poll()  # whether there is something on that socket
        self.not_kept = 0  # NOT_KEPT when the last checkpoint could not be taken
        self.gatherer = Gatherer()
        self.written_first = None  # pages that a first call writes, see ahead.py
        self.gate = -1  # of one that takes another's place, until the first call
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
        self.not_to_save = {}  # name -> its value as it was when it could not be saved, see saving.py
        self.ready_shell = None  # IPython's, made in the zygote
        self.wants_shell = False  # as the session's options say
        builtins.input = no_input
        setattr(builtins, HOOK, self.magics)
        builtins.display = self.display
        sys.unraisablehook = tell_unraisable
        environ.setdefault("MPLBACKEND", "Agg")  # figures are drawn, never shown in a window
        register_at_fork(after_in_child=self.after_fork)
        faulthandler.enable(2)  # a crash in C tells its Python lines on the call's stderr

    def attach(self, options):
        """In the fork that will run user code. Options that are not known yet come by message."""
        forget_threads()
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
            self.executor.stopped = True
            if not self.executor.stopping:
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

    def report(self):
        """The message of a new interpreter. (The keeper learns its pid from the kernel.)"""
        shell = self.executor.shell or (self.ready_shell if self.wants_shell else None)
        return f.PRIVATE.pack(f.READY, 0, 0, 0) + dumps({"ipython": shell is not None})

    def begin(self, sock, line):
        """Takes up its two sockets."""
        self.sock = high_socket(sock)
        self.soon = poll()
        self.soon.register(self.sock.fileno(), POLLIN)
        self.line.renew(high_socket(line))

    def loop(self):
        while True:
            try:
                message = self.next_message()
                if message is None:
                    _exit(f.CHANNEL_GONE)
                self.handle(*message[:6])
            except BaseException as error:
                self.tidy()  # a signal handler of the cell raised between two calls
                if self.to_put_right or self.line.current is not None:
                    self.to_put_right = False
                    quietly(self.streams.end)
                quietly(lambda: self.answer_for(error))

    def next_message(self):
        """None when the socket is gone: the keeper has ended, or the cell has closed it."""
        try:
            return f.receive_message(self.sock)
        except f.Broken:  # nobody but the keeper and the host can send here: it was cut by the kernel
            _exit(f.USED_UP)
        except OSError:
            return None

    def stay_awake(self):
        """For a moment: one that was called is often called again, and to wake a processor that is idle takes
        as long as half a short call. Whoever else wants this one has it."""
        now = monotonic()
        until = now + AWAKE_SECONDS
        while self.asleep_until < now < until and not self.soon.poll(0):
            sched_yield()
            offered, now = now, monotonic()
            if now - offered > OTHERS_TURN_SECONDS:
                self.lost_turns = min(self.lost_turns + 1, MOST_LOST)
                self.asleep_until = now + ASLEEP_SECONDS * (1 << self.lost_turns)
                return
        if self.lost_turns and now > self.asleep_until:
            self.lost_turns -= 1

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
            if number is not None:
                self.stay_awake()
        else:
            f.close_all(fds)


def make_main():
    """A __main__ for user code, so that pickle and multiprocessing find what it defines."""
    main = type(sys)("__main__")
    main.__builtins__ = builtins
    return main
