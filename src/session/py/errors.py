"""Exceptions as text: plain, bounded, without the frames of this code."""

import linecache
import sys

MAX_TRACEBACK = 64 * 1024
MAX_MESSAGE = 8 * 1024
OURS = "<caisson>/"
CELLS = ("<cell ", "<ipython-input-")  # how the two shells name the code of a call
# What stands around open(), %magics and a cell that awaits.
SHELL = ("/IPython/core/interactiveshell.py", "/IPython/core/async_helpers.py", "/IPython/core/ultratb.py")
LOOP = "/asyncio/base_events.py"
MOST_FRAMES = 200


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
    try:
        module = type.__getattribute__(kind, "__module__")
    except AttributeError:  # made by code that has no __name__
        module = None
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
        waiting = stack_of_waiting(error)
        if waiting:
            whole.stack[:] = waiting
        drop_ours(whole, 0)
        return cut("".join(whole.format()).rstrip("\n"), MAX_TRACEBACK)
    except BaseException:
        return by_hand(error)


def cell_part(error):
    found = error.__traceback__
    while found is not None and not found.tb_frame.f_code.co_filename.startswith(CELLS):
        found = found.tb_next
    return found


def stopped_at(error):
    """The interrupt that stopped the code, when another one has come on the way out of it."""
    before = BaseException.__context__.__get__(error)
    return before if cell_part(error) is None and isinstance(before, KeyboardInterrupt) else error


def tell_unraisable(told, tell=sys.__unraisablehook__):
    """What ends a __del__ is told by Python itself: where an interrupt was taken is no line of the code."""
    trace = told.exc_traceback
    while trace is not None:
        following = trace.tb_next
        if following is not None and following.tb_frame.f_code.co_filename.startswith(OURS):
            trace.tb_next = None
        trace = trace.tb_next
    tell(told)


def stack_of_waiting(error):
    """Where a cell awaits, when what stopped it came to the loop that runs it: no frame of the cell is in that
    traceback."""
    task = task_of_loop(error.__traceback__) if cell_part(error) is None else None
    if task is None:
        return None
    from traceback import StackSummary, extract_tb

    if task.cancelled():  # since then: its frames are with what was thrown into it (up to 3.10 they are lost)
        return extract_tb(cell_part(task._make_cancelled_error()))
    return StackSummary.extract(frames_of_task(task))


def task_of_loop(trace):
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "run_until_complete" and code.co_filename.endswith(LOOP):
            return trace.tb_frame.f_locals.get("future")
        trace = trace.tb_next
    return None


def frames_of_task(task):
    part = None if task.done() else task.get_coro()
    for _ in range(MOST_FRAMES):
        frame = getattr(part, "cr_frame", None)
        if frame is None:
            return
        yield frame, frame.f_lineno
        part = part.cr_await


def skip_ours(error):
    """The traceback from the cell's own frame on; before it lie this code's, asyncio's, IPython's."""
    found, trace = cell_part(error), error.__traceback__
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
    while trace is not None and count < MOST_FRAMES:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(OURS):
            lines.append('  File "%s", line %d, in %s' % (
                code.co_filename, trace.tb_lineno, code.co_name))
            count += 1
        trace = trace.tb_next
    lines.append("%s: %s" % (name_of(type(error)), message_of(error)))
    return cut("\n".join(lines), MAX_TRACEBACK)


def lines_of(source):
    """Each with its end, as linecache has those of a file."""
    lines = source.splitlines(True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


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
        cache[name] = (len(source), None, lines_of(source), name)
        self.chars += len(source) - self.kept.pop(name, 0)
        self.kept[name] = len(source)
        while self.chars > self.max_chars and len(self.kept) > 1 or len(self.kept) > self.max_cells:
            self.forget(next(iter(self.kept)))
