"""Variables that outlive the process: the file, how one is written (saving.py goes through them), and how all
are read back, only inside the cell.

    "CAISSON SNAPSHOT 1\\n"  u32 size of the header  header (JSON)  data  sha256 of all before it

The header lists every variable with how it was saved (pickle, source, module), its place and size,
and by name those that could not be saved, with the reason. Nothing is unpickled before the hash
fits.
"""

import sys
from _struct import Struct
from posix import _exit, fstat, getpid, pwrite

from errors import message_of
from frames import read_all
from jsonio import loads
from texts import library_of, type_name
from variables import object_size

MAGIC = b"CAISSON SNAPSHOT 1\n"
SIZE = Struct("<I")
MAX_HEADER = 16 << 20
HASH_BYTES = 32
MODULE, FUNCTION = type(sys), type(lambda: 0)


class BadSnapshot(ValueError):
    """The file is not a snapshot, or not whole."""

    __module__ = "builtins"


class TooLarge(Exception):
    """More than the bound that was given."""


# --- one variable

def write_one(inside, name, fd, at, most):
    """Into the file, where its data is to begin. Returns how it was saved, and its size."""
    value = inside.namespace[name]
    file = BoundedFile(fd, at, most)
    if isinstance(value, MODULE):
        how = "module"
        file.write(value.__name__.encode())
    elif is_own_definition(value, name):
        how, source = "source", find_definition(inside.executor.sources, name)
        if source is None:
            raise LookupError("defined here, but its source is no longer kept")
        file.write(source.encode())
    else:
        how = "pickle"
        look_at_size(value, most)
        pickle_into(inside, value, file)
    return how, file.size


def look_at_size(value, most):
    """What is too large without doubt is not pickled first: that takes as long as it does, and its size in
    memory once more. The slots of a list are up to eight times what is pickled of them."""
    kind = type(value)
    size = object_size(value, kind)
    if size > most * (1 if kind is bytes or kind is bytearray or library_of(kind) else 8):
        raise TooLarge(size_text(size, most))


def size_text(size, most):
    return "%s bytes; there is room for %d" % (size, most)


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
    def __init__(self, fd, at, most):
        self.fd, self.at, self.most = fd, at, most
        self.size, self.writer = 0, getpid()

    def write(self, data):
        if getpid() != self.writer:  # code that was run to pickle has forked: one of us is enough
            _exit(0)
        if self.size + len(data) > self.most:
            raise TooLarge(size_text("more", self.most))
        write_at(self.fd, data, self.at + self.size)
        self.size += len(data)
        return len(data)


def write_at(fd, data, at):
    view = memoryview(data)
    while len(view):
        done = pwrite(fd, view[: 1 << 26], at)
        view, at = view[done:], at + done


def pickle_into(inside, value, file):
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

    Pickler(file, 4).dump(value)


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
