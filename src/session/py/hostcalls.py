"""Functions of the host that user code can call, and the way out of a call with an early result."""

from _thread import allocate_lock
from time import sleep

from frames import (
    HOST_CALL,
    HOST_REPLY,
    SPILLED,
    Broken,
    close_all,
    receive_message,
    send_message,
    unspill,
)
from jsonio import NotJson, Plain, dumps, loads

MAX_UNDER_WAY = 64  # of one session, as the keeper and the host have it too
SECONDS_BETWEEN_LOOKS = 0.001
MAX_CALL = 64 << 20  # characters of the arguments of one call
MAX_BATCH = 10_000
MAX_FINAL = 16 << 20


class HostError(Exception):
    """The host refused or failed; its text says why."""

    __module__ = "builtins"


class EarlyResult(BaseException):
    """Ends a call with a result. Not an Exception, so `except Exception` lets it pass."""

    __module__ = "builtins"


class Early:
    """Remembers the early result, so that even a bare `except:` does not lose it."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.given = False
        self.value = None

    def function(self, name):
        def final(*args, **kwargs):
            try:
                value = Plain(MAX_FINAL).copy({"name": name, "args": args, "kwargs": kwargs})
            except NotJson as error:
                raise TypeError("%s() takes values that JSON can say: %s" % (name, error)) from None
            if not self.given:
                self.given, self.value = True, value
            raise EarlyResult(name)

        final.__name__ = final.__qualname__ = name
        final.__doc__ = "Ends this call; its arguments are the result."
        return final


class Line:
    """The way to the host. Several threads may wait at once; each gets its own answer."""

    def __init__(self):
        self.sock = None
        self.current = None  # (request, nonce) of the call that is running
        self.number = 0
        self.lock = allocate_lock()
        self.reading = allocate_lock()
        self.answers = {}  # of calls that are under way: what has come for each

    def renew(self, sock):
        self.sock = sock
        self.lock = allocate_lock()
        self.reading = allocate_lock()
        self.answers = {}

    def call(self, message):
        current = self.current
        if current is None:
            raise HostError("no call is running, so the host does not listen")
        try:
            plain = Plain(MAX_CALL, 4_000_000).copy(message)
        except NotJson as error:
            raise TypeError("a host function takes values that JSON can say: %s" % error) from None
        plain["call"] = number = self.take_number(current)
        try:
            send_message(self.sock, HOST_CALL, 0, current[0], current[1], dumps(plain))
            reply = self.wait(number, current)
        finally:
            self.answers.pop(number, None)
        if "error" in reply:
            raise HostError(str(reply["error"]))
        return reply.get("value")

    def take_number(self, current):
        """When there is room for one call more. Looks now and then: this many threads are rare."""
        while True:
            with self.lock:
                if len(self.answers) < MAX_UNDER_WAY:
                    self.number += 1
                    self.answers[self.number] = None
                    return self.number
            sleep(SECONDS_BETWEEN_LOOKS)
            if self.current is not current:
                raise HostError("the call that asked is over")

    def wait(self, number, current):
        while True:
            with self.reading:
                reply = self.answers.get(number)
                if reply is not None:
                    return reply
                if self.current is not current:
                    raise HostError("the call that asked is over")
                self.read_one()

    def read_one(self):
        message = receive_message(self.sock)
        if message is None:
            raise HostError("the way to the host is closed")
        kind, _, _, _, body, fds, _ = message
        try:
            if kind & SPILLED:
                body = unspill(fds[0])
            if kind & ~SPILLED != HOST_REPLY:
                return
            reply = loads(body)
        except (ValueError, Broken, IndexError):
            return
        finally:
            close_all(fds)
        number = reply.get("call")
        if number in self.answers:
            self.answers[number] = reply
        elif number is None:  # the host has not read whose it was
            for number in list(self.answers):
                if self.answers[number] is None:
                    self.answers[number] = reply


def make_function(line, name, doc):
    def function(*args, **kwargs):
        return line.call({"name": name, "args": args, "kwargs": kwargs})

    def batch(calls, **kwargs):
        return run_batch(line, name, calls, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or "A function of the host."
    function.batch = batch
    return function


def make_batch(line, name, alias):
    def function(calls, **kwargs):
        return run_batch(line, name, calls, kwargs)

    function.__name__ = function.__qualname__ = alias
    function.__doc__ = "Calls %s for each item of a list; the answers in the same order." % name
    return function


def run_batch(line, name, calls, kwargs):
    """One frame for the whole list; the answers in the same order."""
    items = [list(one) if isinstance(one, tuple) else [one] for one in calls]
    if len(items) > MAX_BATCH:
        raise ValueError("%d calls in one batch; the bound is %d" % (len(items), MAX_BATCH))
    if not items:
        return []
    answer = line.call({"name": name, "batch": items, "kwargs": kwargs})
    if not isinstance(answer, list) or len(answer) != len(items):
        raise HostError("the host gave %s for a batch of %d" % (type(answer).__name__, len(items)))
    return answer


class Reserved:
    """Names that belong to the session: put back after each call when a cell changed them, or, of those
    that only have to be there, when it removed them."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.names = {}
        self.kept = dict(namespace)

    def add(self, name, value):
        self.names[name] = value
        self.namespace[name] = value

    def put_back_kept(self):
        for name, value in self.kept.items():
            self.namespace.setdefault(name, value)

    def put_back(self):
        self.put_back_kept()
        changed = []
        namespace = self.namespace
        for name, value in self.names.items():
            if namespace.get(name) is not value:
                namespace[name] = value
                changed.append(name)
        return changed
