"""What a session holds, told without the repr of whole objects and without trusting their code."""

import sys
from sys import getsizeof
from time import monotonic

from apart import Apart, Gone, Late, manner
from jsonio import NotJson, Plain, dumps, loads_or_none, well_formed
from large import is_of_library, large_summary, length_of
from texts import HANDLERS, BoundedRepr, has_own_repr, library_of, own_repr, type_name

SUMMARY, ITEMS = 100, 20  # characters, items of a container
SUMMARY_SECONDS = 1.0  # for all summaries that need an object's own code
FIRST_SECONDS, EACH_SECONDS = 0.05, 0.3  # for one of them: at first, and when all others are there
MOST_FORKS = 16
QUIET_TYPES = frozenset(map(id, (type(sys), type(len), type(lambda: 0))))


def describe(name, value):
    """The entry of a variable, made without running any code of the value's."""
    kind = type(value)
    entry = {"name": name, "type": type_name(kind), "size": getsizeof(value) if (
        id(kind) in HANDLERS) else object_size(value, kind)}
    if id(kind) in HANDLERS and hasattr(kind, "__len__"):
        entry["length"] = len(value)
    elif (length := length_of(value, kind)) is not None:
        entry["length"] = length
    if library_of(kind):
        add_array_facts(entry, value)
    entry["summary"] = quick_summary(value, kind)
    return entry


def describe_plainly(name, value):
    """The same where nobody asks the object itself."""
    entry = describe(name, value)
    if entry["summary"] is None:
        entry["summary"] = "<%s>" % entry["type"]
    return entry


def quick_summary(value, kind):
    """None when only the object itself could say."""
    if id(kind) in HANDLERS:
        return BoundedRepr(SUMMARY, max_items=ITEMS).text(value)[0]
    if issubclass(kind, type):
        return "<class %s>" % type_name(value)
    if id(kind) in QUIET_TYPES:
        label = getattr(value, "__name__", None)
        return "<%s %s>" % (type_name(kind), label[:80] if type(label) is str else "?")
    if not has_own_repr(kind):
        return "<%s object>" % type_name(kind)
    return large_summary(value, kind, SUMMARY, ITEMS)


def add_array_facts(entry, value):
    try:
        shape = tuple(value.shape)
        if all(isinstance(n, int) for n in shape) and len(shape) < 33:
            entry["shape"] = [int(n) for n in shape]
            if shape:
                entry["length"] = int(shape[0])
        if hasattr(value, "dtype"):
            entry["dtype"] = str(value.dtype)[:100]
        if hasattr(value, "dtypes") and hasattr(value, "columns"):
            entry["columns"] = [str(c)[:100] for c in list(value.columns)[:50]]
    except Exception:
        pass


def object_size(value, kind):
    try:
        if library_of(kind):
            if hasattr(value, "nbytes"):
                return int(value.nbytes)
            if hasattr(value, "memory_usage"):
                usage = value.memory_usage()
                return int(usage.sum() if hasattr(usage, "sum") else usage)
        return own_size(value, kind)
    except Exception:
        return 0


def own_size(value, kind):
    """Without the value's own word, by the built-in type below it. object.__sizeof__ takes a count of items on trust,
    and in a generator or a code object that field is something else."""
    for base in type.__dict__["__mro__"].__get__(kind):
        if id(base) in HANDLERS or is_of_library(base):
            return base.__sizeof__(value)
    has_items = type.__dict__["__itemsize__"].__get__(kind) != 0
    return type.__dict__["__basicsize__"].__get__(kind) if has_items else object.__sizeof__(value)


def describe_all(namespace, names):
    entries = [describe(name, namespace[name]) for name in names if name in namespace]
    asked = [e["name"] for e in entries if e["summary"] is None]
    summaries = summaries_of(namespace, asked)
    for entry in entries:
        if entry["summary"] is None:
            entry["summary"] = summaries[entry["name"]]
    return entries


def summaries_of(namespace, names):
    """Those that take longer come when all others are there: one that is slow costs no other one its summary."""
    found, until = {}, monotonic() + SUMMARY_SECONDS
    for name in names:
        found[name] = "<%s: not asked: there was no time left>" % type_name(type(namespace[name]))
    for seconds in (FIRST_SECONDS, EACH_SECONDS):
        if names:
            one = Summaries(namespace, names, until, seconds)
            found.update(one.ask())
            names = one.late
    return found


class Summaries:
    """By the objects' own repr, in forks that are thrown away: whatever that code does, the session has not felt
    it. A fork tells of each as it goes; behind one that hangs or ends its process another fork goes on."""

    def __init__(self, namespace, names, until, seconds):
        self.namespace, self.names = namespace, names
        self.kinds = [type_name(type(namespace[name])) for name in names]
        self.found = []  # of the first names
        self.late = []
        self.until, self.seconds = until, seconds

    def ask(self):
        for _ in range(MOST_FORKS):
            if len(self.found) == len(self.names) or monotonic() >= self.until:
                break
            self.ask_in_fork()
        return dict(zip(self.names, self.found))

    def ask_in_fork(self):
        try:
            fork = Apart(self.work)
        except OSError as error:
            return self.tell_rest("no process to ask it in: %s" % error.strerror)
        begun = False
        try:
            fork.line(self.until)  # a large session is not forked at once
            begun = True
            self.listen(fork)
            fork.end()
        except Late:
            fork.end()
            if begun:
                self.late.append(self.names[len(self.found)])
                self.tell("its repr took too long")
        except Gone:
            how = manner(fork.end())
            if not begun:
                return self.tell_rest("no fork of the session comes to ask it" + how)
            self.tell("its repr ended the process" + how)

    def listen(self, fork):
        """The time of one begins with the end of the one before it."""
        while len(self.found) < len(self.names):
            told = loads_or_none(fork.line(min(self.until, monotonic() + self.seconds)))
            # What a repr writes there itself is not heard when it is not in order.
            if type(told) is list and len(told) == 2 and told[0] == len(self.found) and type(told[1]) is str:
                self.found.append(told[1])

    def tell(self, what):
        self.found.append("<%s: %s>" % (self.kinds[len(self.found)], what))

    def tell_rest(self, what):
        while len(self.found) < len(self.names):
            self.tell(what)

    def work(self, write):
        write(b"[]\n")
        for place in range(len(self.found), len(self.names)):
            write(dumps([place, self.summary(self.namespace[self.names[place]])]) + b"\n")

    def summary(self, value):
        try:
            text = " ".join(own_repr(SUMMARY * 4)(value)[: SUMMARY * 4].split())
        except BaseException as error:  # SystemExit and KeyboardInterrupt as well
            return "<%s whose repr raised %s>" % (type_name(type(value)), type_name(type(error)))
        return text[:SUMMARY] + ("..." if len(text) > SUMMARY else "")


def is_well_formed(text):
    try:
        well_formed(text)
        return True
    except NotJson:
        return False


def value_of(value, limit):
    """{kind: json|text, ...} of a value, within a bound. Text is the value's repr, but for that of a long str."""
    try:
        plain = Plain(limit).copy(value)
        return {"kind": "json", "value": plain, "type": type_name(type(value)), "ran_code": False}
    except NotJson:
        pass
    except RecursionError:
        pass
    kind = type(value)
    result = {"kind": "text", "type": type_name(kind), "ran_code": id(kind) not in HANDLERS}
    if kind is str and is_well_formed(value[:limit]):
        result["text"], result["cut"] = value[:limit], len(value) > limit
    else:
        result["text"], result["cut"] = BoundedRepr(limit, own_repr(limit)).text(value)
        result["ran_code"] = True
    if id(kind) in HANDLERS and hasattr(kind, "__len__"):
        result["length"] = len(value)
    return result
