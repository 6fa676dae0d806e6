"""Exceptions as text: plain, bounded, without the frames of this code."""

import linecache

MAX_TRACEBACK = 64 * 1024
MAX_MESSAGE = 8 * 1024
OURS = "<caisson>/"
CELLS = ("<cell ", "<ipython-input-")  # how the two shells name the code of a call
SHELL = "/IPython/core/interactiveshell.py"  # stands around open() and %magics


def cut(text, limit):
    """Head and tail of a text that is too long."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    head = limit - tail
    return "%s\n... (%d characters left out) ...\n%s" % (
        text[:head], len(text) - head - tail, text[len(text) - tail:])


def message_of(error):
    try:
        return cut(str.__add__(str(error), ""), MAX_MESSAGE)
    except BaseException:
        return "<its text can't be made>"


def name_of(kind):
    """A class's name by the class's own record: a metaclass may have made its attributes traps."""
    module = type.__getattribute__(kind, "__module__")
    name = type.__getattribute__(kind, "__qualname__")
    if type(module) is not str or module in ("builtins", "__main__"):
        return name
    return module + "." + name


def describe(error):
    """{type, message, traceback} of an exception that left user code."""
    return {
        "type": name_of(type(error)),
        "message": message_of(error),
        "traceback": traceback_of(error),
    }


def traceback_of(error):
    try:
        from traceback import TracebackException

        whole = TracebackException(type(error), error, skip_ours(error))
        drop_ours(whole, 0)
        return cut("".join(whole.format()).rstrip("\n"), MAX_TRACEBACK)
    except BaseException:
        return by_hand(error)


def skip_ours(error):
    """The traceback from the cell's own frame on; before it lie this code's, asyncio's, IPython's."""
    found = trace = error.__traceback__
    while found is not None and not found.tb_frame.f_code.co_filename.startswith(CELLS):
        found = found.tb_next
    if found is not None or issubclass(type(error), SyntaxError):  # that of a cell which never began
        return found
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OURS):
        trace = trace.tb_next
    return trace


def drop_ours(whole, depth):
    """Frames of this code in the middle (a host function, input()) say nothing to the reader."""
    if whole is None or depth > 32:
        return
    frames = whole.stack
    kept = [f for f in frames if not (f.filename.startswith(OURS) or f.filename.endswith(SHELL))]
    if len(kept) != len(frames):
        frames[:] = kept
    drop_ours(whole.__cause__, depth + 1)
    drop_ours(whole.__context__, depth + 1)
    for inner in getattr(whole, "exceptions", None) or ():
        drop_ours(inner, depth + 1)


def by_hand(error):
    """For when the traceback module itself was broken by the cell."""
    lines = ["Traceback (most recent call last):"]
    trace, count = error.__traceback__, 0
    while trace is not None and count < 200:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(OURS):
            lines.append('  File "%s", line %d, in %s' % (
                code.co_filename, trace.tb_lineno, code.co_name))
            count += 1
        trace = trace.tb_next
    lines.append("%s: %s" % (name_of(type(error)), message_of(error)))
    return cut("\n".join(lines), MAX_TRACEBACK)


class Sources:
    """The text of past cells, where linecache (and so every traceback) finds it."""

    def __init__(self, max_chars=16 << 20, max_cells=2000):
        self.max_chars = max_chars
        self.max_cells = max_cells
        self.kept = {}
        self.chars = 0

    def forget(self, name):
        """A cell that defined nothing can't be in a traceback after its call."""
        self.chars -= self.kept.pop(name, 0)
        if type(linecache.cache) is dict:
            linecache.cache.pop(name, None)

    def add(self, name, source):
        cache = linecache.cache
        if type(cache) is not dict:
            return  # the cell has broken it; tracebacks will lack their lines
        cache[name] = (len(source), None, source.splitlines(True), name)
        self.chars += len(source) - self.kept.pop(name, 0)
        self.kept[name] = len(source)
        while self.chars > self.max_chars and len(self.kept) > 1 or len(self.kept) > self.max_cells:
            self.forget(next(iter(self.kept)))
