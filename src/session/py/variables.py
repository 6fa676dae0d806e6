"""What a session holds, told without the repr of whole objects and without trusting their code."""

import sys
from sys import getsizeof

from apart import run_apart
from jsonio import NotJson, Plain, dumps, loads, well_formed
from texts import HANDLERS, BoundedRepr, has_own_repr, library_of, own_repr, type_name

SUMMARY = 100  # characters
SUMMARY_SECONDS = 0.3  # for all summaries that need an object's own code
BUILT_IN = frozenset(HANDLERS)
QUIET_TYPES = frozenset((type(sys), type(len), type(lambda: 0)))


def describe(name, value):
    """The entry of a variable, made without running any code of the value's."""
    kind = type(value)
    entry = {"name": name, "type": type_name(kind), "size": getsizeof(value) if (
        kind in BUILT_IN) else object_size(value, kind)}
    if kind in BUILT_IN and hasattr(kind, "__len__"):
        entry["length"] = len(value)
    elif issubclass(kind, (list, tuple, dict, set, str, bytes)):
        entry["length"] = base_length(value, kind)
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


def base_length(value, kind):
    """len() of a subclass by the built-in type below it: its own __len__ is code of the user's."""
    base = next(b for b in (list, tuple, dict, set, str, bytes) if issubclass(kind, b))
    return base.__len__(value)


def quick_summary(value, kind):
    """None when only the object itself could say."""
    if kind in BUILT_IN:
        return BoundedRepr(SUMMARY, max_items=20).text(value)[0]
    if issubclass(kind, type):
        return "<class %s>" % type_name(value)
    if kind in QUIET_TYPES:
        label = getattr(value, "__name__", None)
        return "<%s %s>" % (type_name(kind), label[:80] if type(label) is str else "?")
    if not has_own_repr(kind):
        return "<%s object>" % type_name(kind)
    return None


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
        return object.__sizeof__(value)
    except Exception:
        return 0


def describe_all(namespace, names):
    entries = [describe(name, namespace[name]) for name in names if name in namespace]
    asked = [e["name"] for e in entries if e["summary"] is None]
    if asked:
        summaries = ask_apart(namespace, asked)
        for entry in entries:
            if entry["summary"] is None:
                entry["summary"] = summaries.get(
                    entry["name"], "<%s: its repr took too long>" % entry["type"])
    return entries


def ask_apart(namespace, names):
    """Summaries by the objects' own repr, in a fork that is thrown away: whatever that code does,
    the session has not felt it."""

    def work(write):
        for name in names:
            text = " ".join(own_repr(SUMMARY * 4)(namespace[name])[: SUMMARY * 4].split())
            write(dumps([name, text[:SUMMARY] + ("..." if len(text) > SUMMARY else "")]) + b"\n")

    found = {}
    for line in run_apart(work, SUMMARY_SECONDS, 1 << 20).split(b"\n"):
        try:
            name, text = loads(line)
            if isinstance(name, str) and isinstance(text, str):
                found[name] = text
        except (ValueError, TypeError):
            continue
    return found


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
    result = {"kind": "text", "type": type_name(kind), "ran_code": kind not in BUILT_IN}
    if kind is str and is_well_formed(value[:limit]):
        result["text"], result["cut"] = value[:limit], len(value) > limit
    else:
        result["text"], result["cut"] = BoundedRepr(limit, own_repr(limit)).text(value)
        result["ran_code"] = True
    if kind in BUILT_IN and hasattr(kind, "__len__"):
        result["length"] = len(value)
    return result
