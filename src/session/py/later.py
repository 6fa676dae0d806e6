"""What a call has put off: tasks, callbacks of a loop, alarms. Of one that was stopped nothing shows in a later one."""

import sys
from _contextvars import ContextVar
from _signal import ITIMER_PROF, ITIMER_REAL, ITIMER_VIRTUAL, getitimer, setitimer

ITIMERS = (ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF)
CANCEL_SECONDS = 0.2
CALL = ContextVar("caisson_call")  # its number: what it puts off remembers the context that it came from


class Later:
    def __init__(self, loops):
        self.loops = loops  # gives those that cells run on
        self.number, self.before = 0, {}
        self.runs_on = False  # what the call has begun is not over: who stops it has to kill

    def begin(self):
        self.number, self.runs_on = self.number + 1, False
        try:
            CALL.set(self.number)
            self.before = {id(task): task for _, task in self.tasks()}
        except BaseException:  # a cell has changed asyncio; an interrupt is noted by who hears it
            self.before = None

    def end(self):
        """Of a call that was stopped."""
        try:
            for timer in ITIMERS:
                setitimer(timer, 0)
            if faulthandler := sys.modules.get("faulthandler"):
                faulthandler.cancel_dump_traceback_later()
            begun = self.begun()
            for _, task in begun:
                task.cancel()
            for loop, task in begun:
                loop.run_until_complete(sys.modules["asyncio"].wait([task], timeout=CANCEL_SECONDS))
            for callback in self.callbacks():
                callback.cancel()
        except BaseException:
            pass
        self.look()

    def look(self):
        """Whether there is something. A call need not know that it was stopped: it may have caught the interrupt."""
        try:
            self.runs_on = bool(self.begun() or self.callbacks() or any(getitimer(one)[0] for one in ITIMERS))
        except BaseException:
            self.runs_on = True
        self.before = {}  # what is over by now is not held

    def tasks(self):
        asyncio = sys.modules.get("asyncio")
        return [(loop, task) for loop in self.loops() for task in asyncio.all_tasks(loop)]

    def begun(self):
        return [(loop, task) for loop, task in self.tasks() if id(task) not in self.before]

    def callbacks(self):
        """Of loops that keep them as asyncio's own do. What a task of an earlier call waits for has that one's number."""
        kept = [handle for loop in self.loops() for name in ("_scheduled", "_ready") for handle in getattr(loop, name, ())]
        return [handle for handle in kept if not handle.cancelled() and number_of(handle) == self.number]


def number_of(handle):
    context = getattr(handle, "_context", None)
    return None if context is None else context.get(CALL)
