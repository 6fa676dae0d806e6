"""Variables that outlive the process: saved one by one, and read back, only inside the cell.

    "CAISSON SNAPSHOT 1\\n"  u32 size of the header  header (JSON)  data  sha256 of all before it

The header lists every variable with how it was saved (pickle, source, module), its place and size,
and by name those that could not be saved, with the reason. Nothing is unpickled before the hash
fits.
"""

import sys
from _struct import Struct
from posix import ftruncate, fstat, lseek, write
from time import time

from apart import run_apart
from errors import message_of
from frames import read_all
from jsonio import dumps, loads
from texts import type_name

MAGIC = b"CAISSON SNAPSHOT 1\n"
SIZE = Struct("<I")
MAX_BYTES = 512 << 20
MAX_HEADER = 16 << 20
MAX_SECONDS = 600
HASH_BYTES = 32
MODULE, FUNCTION = type(sys), type(lambda: 0)


class BadSnapshot(ValueError):
    """The file is not a snapshot, or not whole."""

    __module__ = "builtins"


class TooLarge(Exception):
    """More than the bound that was given."""


def save_apart(inside, names, request, fd):
    """Saves in a fork: the session does not feel what pickling does. Returns the fork's report."""

    def work(tell):
        try:
            tell(dumps(save(inside, names, request, fd)))
        except BaseException as error:
            tell(dumps({"failed": "%s: %s" % (type_name(type(error)), message_of(error))}))

    said = run_apart(work, MAX_SECONDS, MAX_HEADER)
    if not said:
        raise RuntimeError("saving ended before it was done")
    report = loads(said)
    if "failed" in report:
        raise RuntimeError("saving failed: " + report["failed"])
    return report


def save(inside, names, request, fd):
    most = bound(request.get("max_bytes"), MAX_BYTES)
    each = bound(request.get("max_each"), most)
    entries, skipped, data, size = [], [], [], 0
    for name in names:
        try:
            how, body = encode(inside, name, min(each, most - size))
        except BaseException as error:
            reason = "%s: %s" % (type_name(type(error)), message_of(error)[:200])
            skipped.append({"name": name, "type": type_name(type(inside.namespace[name])),
                            "why": reason})
            continue
        entries.append({"name": name, "how": how, "offset": size, "size": len(body)})
        data.append(body)
        size += len(body)
    header = dumps({
        "python": list(sys.version_info[:3]), "created": round(time(), 3), "entries": entries,
        "skipped": skipped})
    total, digest = write_file(fd, [MAGIC, SIZE.pack(len(header)), header, *data])
    return {"saved": [e["name"] for e in entries], "skipped": skipped, "bytes": total,
            "sha256": digest}


def bound(value, most):
    return min(value, most) if type(value) is int and value > 0 else most


def write_file(fd, parts):
    from hashlib import sha256

    digest, total = sha256(), 0
    lseek(fd, 0, 0)
    ftruncate(fd, 0)
    for part in parts:
        digest.update(part)
        total += write_all(fd, part)
    total += write_all(fd, digest.digest())
    return total, digest.hexdigest()


def write_all(fd, data):
    view = memoryview(data)
    while len(view):
        view = view[write(fd, view[: 1 << 26]):]
    return len(data)


# --- one variable

def encode(inside, name, most):
    value = inside.namespace[name]
    if isinstance(value, MODULE):
        return "module", value.__name__.encode()
    if is_own_definition(value, name):
        source = find_definition(inside.executor.sources, name)
        if source is not None:
            return "source", source.encode()
        raise LookupError("defined here, but its source is no longer kept")
    body = pickle_bounded(inside, value, most)
    return "pickle", body


def is_own_definition(value, name):
    return (isinstance(value, (FUNCTION, type)) and value.__module__ == "__main__"
            and value.__qualname__ == name)


def find_definition(sources, name):
    """The newest top-level `def` or `class` of that name in the cells, as its own text."""
    import ast
    import linecache

    for cell in reversed(list(sources.kept)):
        text = "".join(linecache.cache.get(cell, (0, None, []))[2])
        if name not in text:
            continue
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError):
            continue
        for node in reversed(body):
            if getattr(node, "name", None) == name and hasattr(node, "decorator_list"):
                first = min([node.lineno] + [d.lineno for d in node.decorator_list])
                return "\n".join(text.split("\n")[first - 1:node.end_lineno]) + "\n"
    return None


class BoundedFile:
    def __init__(self, most):
        self.parts = []
        self.left = most

    def write(self, data):
        self.left -= len(data)
        if self.left < 0:
            raise TooLarge("larger than the bound")
        self.parts.append(bytes(data))
        return len(data)


def pickle_bounded(inside, value, most):
    import pickle

    namespace = inside.namespace

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing):
            """Functions and classes of the session are saved once, under their own names."""
            if isinstance(thing, MODULE):
                return ("module", thing.__name__)
            if isinstance(thing, (FUNCTION, type)) and thing.__module__ == "__main__":
                name = thing.__qualname__
                if namespace.get(name) is not thing:
                    raise pickle.PicklingError("it needs %s, which has no name of its own" % name)
                return ("main", name)
            return None

    file = BoundedFile(most)
    Pickler(file, 4).dump(value)
    return b"".join(file.parts)


# --- and back

def restore(inside, request, fd):
    header, data = read_checked(fd)
    entries = header["entries"]
    restored, failed = [], []
    order = {"module": 0, "source": 1, "pickle": 2}
    for entry in sorted(entries, key=lambda e: order.get(e["how"], 9)):
        name = entry["name"]
        try:
            body = data[entry["offset"]:entry["offset"] + entry["size"]]
            decode(inside, name, entry["how"], body)
            restored.append(name)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            failed.append({"name": name, "why": "%s: %s" % (
                type_name(type(error)), message_of(error)[:200])})
    return {"restored": restored, "failed": failed, "skipped": header.get("skipped", []),
            "created": header.get("created"), "python": header.get("python")}


def read_checked(fd):
    from hashlib import sha256

    size = fstat(fd).st_size
    whole = memoryview(read_all(fd, size))
    if size < len(MAGIC) + SIZE.size + HASH_BYTES or bytes(whole[: len(MAGIC)]) != MAGIC:
        raise BadSnapshot("not a snapshot")
    if sha256(whole[:-HASH_BYTES]).digest() != bytes(whole[-HASH_BYTES:]):
        raise BadSnapshot("its content does not fit its hash: it was cut or changed")
    length = SIZE.unpack_from(whole, len(MAGIC))[0]
    start = len(MAGIC) + SIZE.size
    if length > MAX_HEADER or start + length > size - HASH_BYTES:
        raise BadSnapshot("its header does not fit")
    return loads(bytes(whole[start:start + length])), whole[start + length:-HASH_BYTES]


def decode(inside, name, how, body):
    namespace = inside.namespace
    if how == "module":
        module = bytes(body).decode()
        __import__(module)
        namespace[name] = sys.modules[module]
    elif how == "source":
        source = bytes(body).decode()
        cell = "<restored %s>" % name
        inside.executor.sources.add(cell, source)
        exec(compile(source, cell, "exec", inside.executor.flags, True), namespace)
    elif how == "pickle":
        namespace[name] = unpickle(namespace, body)
    else:
        raise BadSnapshot("an entry of unknown kind")


def unpickle(namespace, body):
    import pickle
    from _io import BytesIO

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, mark):
            kind, name = mark
            if kind == "module":
                __import__(name)
                return sys.modules[name]
            return namespace[name]

    return Unpickler(BytesIO(body)).load()
