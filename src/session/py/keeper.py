"""The keeper: holds the host's socket, never runs user code, and answers for every call.

What the interpreter says is passed on as its words (RESULT); what the keeper knows itself is told
as such (ENDED, DONE, NOTE). A forged message can at most be the answer to the call that forged it.
"""

import select
from _signal import SIG_DFL, SIG_IGN, SIGINT, SIGKILL, SIGPIPE, SIGTERM
from _signal import signal as set_handler
from _socket import AF_UNIX, SOCK_STREAM, socket
from posix import _exit, chdir, getpid
from time import monotonic, sleep

import frames as f
import ipydisplay
from checkpoints import MAX_NAMED, NAMES, Checkpoint, Root, is_name
from forks import fork_first
from gates import wake_at_gate
from hardening import be_ordinary, have_few_files, keep_only, protect_keeper
from jsonio import dumps
from lane import Lane
from processes import reap_orphans
from rebirth import reseed


EARLY_MS = 1  # until one looks again whether the host has heard a newcomer's report


class Keeper:
    def __init__(self, control, inside, start=None):
        self.inside = inside  # the interpreter that forks will become
        self.poll = select.poll()
        self.handlers = {}
        self.lanes = []
        self.checkpoints = {}  # number -> Checkpoint, the unnamed ones too
        self.numbers = 0
        self.root = None
        self.options = start
        self.facts = {}
        self.pid = getpid()
        self.ahead = None
        self.fading = {}  # pid -> checkpoint that was killed, and may not be dead yet
        self.leaving = {}  # pidfd -> interpreter, the same
        self.layers = None  # of files, where the session has a workspace of its own
        self.main = Lane(self, control, "main")
        self.lanes.append(self.main)

    # --- the loop

    def watch(self, fd, handler):
        self.handlers[fd] = handler
        self.poll.register(fd, select.POLLIN)

    def unwatch(self, fd):
        if self.handlers.pop(fd, None) is not None:
            self.poll.unregister(fd)

    def run(self):
        self.facts = protect_keeper()
        if self.options is not None:
            self.start(self.main, 0, self.options)
        else:
            self.fork_ahead()
        while self.lanes:
            ready = [(fd, self.handlers.get(fd)) for fd, _ in self.poll.poll(self.patience())]
            for fd, handler in ready:
                # One handler may have closed what another one was about, and its number may mean
                # something new by now.
                if handler is not None and self.handlers.get(fd) is handler:
                    self.attend(fd, handler)
            for lane in list(self.lanes):
                lane.check_time()

    def attend(self, fd, handler):
        """What one lane's code has brought about (no descriptor left, no memory) ends that lane."""
        try:
            handler()
        except OSError as error:
            self.unwatch(fd)
            for lane in [lane for lane in self.lanes if lane.holds(fd)]:
                lane.lose("the keeper could not go on with it: " + str(error))

    def patience(self):
        """Milliseconds until the next deadline; None when nothing runs against a clock."""
        if any(lane.is_early for lane in self.lanes):
            return EARLY_MS
        soonest = None
        for lane in self.lanes:
            call = lane.call
            if call is not None and call.due is not None:
                soonest = call.due if soonest is None else min(soonest, call.due)
        if soonest is None:
            return None
        return max(0, int((soonest - monotonic()) * 1000) + 1)

    def processes(self):
        """All that the keeper has to do with, those that it has killed among them."""
        found = [lane.live.process for lane in self.lanes if lane.live is not None]
        found += [one.process for one in self.checkpoints.values() if one.process is not None]
        return [*found, *self.fading.values(), *self.leaving.values()]

    def known(self):
        """Process ids that no newcomer may claim."""
        return {process.pid for process in self.processes()}

    def forget_dead(self):
        """Their numbers may come to mean others."""
        for pid, process in list(self.fading.items()):
            if process.is_dead():
                process.close()
                del self.fading[pid]

    def collect(self):
        """Each that is left counts against the session's limit, and is looked at in vain whenever
        processes are listed."""
        self.forget_dead()
        dying = [process.pid for process in self.leaving.values()]
        return reap_orphans(self.known().difference(self.fading, dying))

    def orphans(self, killed=0):
        """Collects the dead that came to the keeper; waits a little for those it has just killed,
        for until then they count against the limits of the session."""
        until = monotonic() + 0.3
        while True:
            killed -= self.collect()
            if killed <= 0 or not self.facts.get("subreaper") or monotonic() > until:
                break
            sleep(0.002)
        self.forget_dead()

    # --- life of the session

    def start(self, lane, request, options):
        """START: the first interpreter is a fork of the keeper, which has run nothing yet."""
        if lane is not self.main or self.root is not None:
            lane.refuse(request, "the session has been started already")
            return
        self.options = options
        if options.get("layers"):
            import layers

            self.layers = layers.make_layers()
        live = self.take_ahead(options) or Root(self.fork_interpreter).thaw(self.known())
        if live is None:
            lane.refuse(request, "the interpreter did not start")
            return
        self.root = Root(self.fork_interpreter)
        lane.adopt(live, self.root, lane.greeting(request, live))

    def fork_ahead(self):
        """An interpreter before it is asked for: a host that keeps one keeper in reserve waits for
        neither of the two."""
        self.ahead = Root(self.fork_interpreter).thaw(self.known())

    def take_ahead(self, options):
        live, self.ahead = self.ahead, None
        if live is None:
            return None
        try:
            if options.get("ipython"):
                if self.inside.ready_shell is None:
                    raise OSError  # its shell has to be there from the start
                live.facts["ipython"] = True
            f.send_message(live.sock, f.START, 0, 0, 0, dumps(options))
            return live
        except OSError:
            live.process.signal(SIGKILL)
            live.close()
            return None

    def fork_interpreter(self, theirs, ours, workspace="", gate=None, unheard=False):
        # No code but ours runs before the first call, and nobody can look into this process until it
        # is ordinary: it may report first of all.
        self.inside.wants_shell = wants_shell(self.options)
        early = not self.inside.wants_shell or self.inside.ready_shell is not None
        first = theirs[0] if early else None
        report = self.inside.report()
        waits = [gate.waits] if gate is not None else []
        be_born = self.inside.be_born_aside if unheard else self.inside.be_born
        pid = fork_first(lambda: be_born(first, report))
        if pid:
            return pid
        try:
            if gate is not None:
                gate.forget()
            self.let_go(ours)
            keep_only([sock.fileno() for sock in theirs] + waits)
            have_few_files()
            if workspace:
                chdir(workspace)
            be_ordinary()
            self.inside.stand_before(*waits or [-1])
            live(self.inside, theirs, self.options)
        finally:
            _exit(1)

    def let_go(self, more):
        """In an interpreter: what is the keeper's is closed, and its pidfds are forgotten."""
        for sock in more:
            sock.close()
        if self.ahead is not None:
            self.ahead.close()
        for process in [*self.leaving.values(), *self.fading.values()]:
            process.close()
        for lane in self.lanes:
            lane.let_go()
        for checkpoint in self.checkpoints.values():
            checkpoint.sock.close()
            if checkpoint.process is not None:
                checkpoint.process.close()
        self.lanes, self.checkpoints, self.handlers = [], {}, {}

    def end(self):
        if self.ahead is not None:
            self.ahead.close()  # it ends when it finds its socket gone
        for lane in list(self.lanes):
            lane.close(keep_files=True)
        for checkpoint in list(self.checkpoints.values()):
            self.discard(checkpoint)

    # --- checkpoints

    def add_checkpoint(self, sock, parent):
        self.numbers += 1
        checkpoint = Checkpoint(self.numbers, sock, parent)
        self.checkpoints[checkpoint.number] = checkpoint
        return checkpoint

    def discard(self, checkpoint):
        self.unwatch(checkpoint.sock.fileno())
        self.checkpoints.pop(checkpoint.number, None)
        self.forget_dead()
        process = checkpoint.discard()
        if process is not None:
            self.fading[process.pid] = process

    def see_off(self, live, gate=None):
        """Collects an interpreter that was killed once it is dead, without waiting for it. Then what stands
        at the gate goes on."""
        process = live.process
        live.sock.close()
        live.line.close()
        self.leaving[process.fd] = process

        def gone():
            self.unwatch(process.fd)
            self.leaving.pop(process.fd)
            process.reap()
            process.close()
            if gate is not None:
                gate.open()
            self.collect()

        self.watch(process.fd, gone)

    def discard_if_unused(self, checkpoint):
        if checkpoint is None or checkpoint is self.root or checkpoint.names:
            return
        if any(checkpoint is lane.base or checkpoint in lane.coming for lane in self.lanes):
            return
        self.discard(checkpoint)

    def find(self, name):
        return next((c for c in self.named() if name in c.names), None)

    def named(self):
        root = [self.root] if self.root is not None else []
        return root + [c for c in self.checkpoints.values() if c.names]

    def name_is_free(self, name):
        """None when a checkpoint may be called so, else the reason."""
        if not is_name(name):
            return "a checkpoint's name is " + NAMES
        if self.find(name) is not None:
            return "there is a checkpoint of that name"
        if sum(len(c.names) for c in self.named()) >= MAX_NAMED:
            return "there are %d checkpoints already; drop one" % MAX_NAMED
        return None

    def branch(self, start, name, control, workspace):
        """A second live interpreter, on a control socket of its own. Returns the gate that it stands at, to be
        opened when the order is answered; None when it did not wake."""
        lane = Lane(self, socket(AF_UNIX, SOCK_STREAM, 0, control), name)
        lane.workspace = workspace
        # Known before the fork: an interpreter out of the root is one of the keeper, and lets go of
        # the control sockets of all lanes that the keeper knows.
        self.lanes.append(lane)
        gate, live = wake_at_gate(start, self.known(), workspace)
        if live is None:
            self.lanes.remove(lane)
            lane.control.close()
            return None
        lane.watch_control()
        waiting = select.poll()
        waiting.register(lane.control.fileno(), select.POLLIN)
        if waiting.poll(0):
            lane.on_control()  # its NONCES, sent before the order
        lane.adopt(live, start, lane.greeting(0, live))
        return gate


def wants_shell(options):
    return options is not None and bool(options.get("ipython"))


def live(inside, pair, options):
    """In the fork: becomes the interpreter. Never returns."""
    # What is ignored here is ignored in every program that the session starts: terminate() of a
    # subprocess or of a pool's worker would wait for ever.
    set_handler(SIGTERM, SIG_DFL)
    inside.attach(options)
    reseed()  # what a zygote imported has drawn already: all its sessions would go on from there
    ipydisplay.watch()
    if wants_shell(options):
        if inside.executor.shell is None:
            import ipython

            inside.executor.shell = ipython.make_shell(inside)
        if inside.ready_shell is None:
            pair[0].send(inside.report())  # which says whether it has one
    inside.begin(*pair)
    if options is None and inside.written_first:
        import ahead

        ahead.copy(inside.written_first, inside.sock)
    inside.loop()
    _exit(0)


def run(control, inside, start=None):
    """Serves one session until its host goes away."""
    set_handler(SIGINT, SIG_IGN)
    set_handler(SIGTERM, SIG_IGN)
    set_handler(SIGPIPE, SIG_IGN)
    keeper = Keeper(control, inside, start)
    keeper.main.watch_control()
    try:
        keeper.run()
    finally:
        keeper.end()
