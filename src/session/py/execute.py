"""Runs the source of one call and says what came of it."""

import sys
from _ast import Expr, Expression
from time import perf_counter

import purity
from display import Displays, bundle_of, collect_figures
from errors import Sources, describe, stopped_at
from hostcalls import EarlyResult
from later import Later

ONLY_AST, TOP_LEVEL_AWAIT = 0x400, 0x2000
FUTURES = 0x1FE0000  # `from __future__ import ...` holds for the cells that follow
CO_COROUTINE = 0x80
CODE = type(compile("", "", "exec"))
NOT_PLAIN = "(=;\\\n\r"  # calls, most statements, escapes that are warned of
settrace, setprofile = sys.settrace, sys.setprofile


class Executor:
    def __init__(self, namespace, magics, early):
        self.namespace = namespace
        self.magics = magics
        self.early = early
        self.shell = None  # IPython's, when it was asked for
        self.start_over()

    def start_over(self):
        self.sources = Sources()
        self.count = 0
        self.flags = 0
        self.loop = None
        self.displays = Displays()
        self.later, self.stopped = Later(self.loops), False
        self.stopping = False  # the code has ended at an interrupt: the next one has nothing to stop

    def run(self, source):
        """(answer, True when nothing in the session can have changed)"""
        self.count += 1
        self.displays = Displays()
        self.early.clear()
        answer = {"status": "ok", "count": self.count}
        started = perf_counter()
        unchanged = False
        self.stopped = False
        self.later.begin()
        try:
            if self.stopped:
                raise KeyboardInterrupt
            if self.shell is not None:
                unchanged = self.run_in_shell(source, answer)
            else:
                unchanged = self.run_plain(source, answer)
        except EarlyResult:
            pass
        except SystemExit as stop:
            answer["status"] = "exit"
            answer["exit"] = exit_code(stop)
        except KeyboardInterrupt as error:
            self.stopping = True
            answer["status"] = "interrupted"
            answer["error"] = describe(stopped_at(error))
            self.stopped = True
        except BaseException as error:
            answer["status"] = "error"
            answer["error"] = describe(error)
        if self.stopped:
            self.stopping = True
            self.later.end()
            self.stopping = False
        elif not unchanged:
            self.later.look()
        self.finish(answer)
        answer["ms"] = round((perf_counter() - started) * 1000, 3)
        return answer, unchanged

    def finish(self, answer):
        if "matplotlib.pyplot" in sys.modules:
            try:
                collect_figures(self.displays)
            except BaseException as error:
                answer.setdefault("notes", []).append(
                    "figures could not be drawn: " + type(error).__name__)
        if self.displays.items:
            answer["displays"] = self.displays.items
        if self.displays.dropped:
            answer.setdefault("notes", []).append(
                "%d rich results were left out: too many or too large" % self.displays.dropped)
        if self.early.given:
            answer["status"] = "final"
            answer["final"] = self.early.value
            answer.pop("error", None)

    def run_in_shell(self, source, answer):
        """By IPython. A magic is none of Python's, and so is an error that IPython will tell."""
        name, shell = "<cell %d>" % self.count, self.shell
        self.flags = shell.flags() & FUTURES
        try:
            tree = compile(source, name, "exec", ONLY_AST | self.flags, True)
        except Exception:
            tree = None
        if tree is None:  # out here: what IPython says of it must not be told as a second error
            self.show_rest(answer, shell.run(source, answer))
            return False
        # IPython's own record of the call (Out, _) is not worth a checkpoint.
        unchanged = len(source) < 4096 and purity.changes_nothing(tree, self.namespace)
        if not shell.ordinary.takes(source):
            self.show_rest(answer, shell.run(source, answer))
            return unchanged
        shell.ordinary.begin(source)
        try:
            self.run_parsed(tree, source, name, answer, unchanged)
        finally:
            shell.ordinary.end()
        return unchanged

    def run_plain(self, source, answer):
        name = "<cell %d>" % self.count
        code = self.compile_plainly(source, name)
        if code is not None and purity.reads_only(code, self.namespace):
            self.run_expression(code, source, name, answer)
            return True
        tree = self.parse(source, name)
        unchanged = purity.changes_nothing(tree, self.namespace)
        self.run_parsed(tree, source, name, answer, unchanged)
        return unchanged

    def compile_plainly(self, source, name):
        """The code of one short expression without calls, in one step; None for anything else."""
        if len(source) > 200 or source[:1].isspace() or any(map(source.__contains__, NOT_PLAIN)):
            return None
        try:
            return compile(source, name, "eval", TOP_LEVEL_AWAIT | self.flags, True)
        except Exception:
            return None  # what is wrong with it is told by the other way

    def run_expression(self, code, source, name, answer):
        try:
            value = self.evaluate([code])
        except BaseException:
            self.sources.add(name, source)
            raise
        if value is not None:
            answer["value"] = bundle_of(value)

    def run_parsed(self, tree, source, name, answer, unchanged):
        if not unchanged:
            self.sources.add(name, source)
        try:
            self.run_tree(tree, source, name, answer)
        except BaseException:
            if unchanged:
                self.sources.add(name, source)
            raise
        if not unchanged and not self.defines:
            self.sources.forget(name)

    def run_tree(self, tree, source, name, answer):
        self.defines = False  # functions, classes, generators: code that outlives the call
        last = None
        if tree.body and isinstance(tree.body[-1], Expr):
            last = Expression(tree.body.pop().value)
        codes = []
        if tree.body:
            codes.append(self.compile(tree, name, "exec"))
        if last is not None:
            codes.append(self.compile(last, name, "eval"))
        value = self.evaluate(codes)
        if last is not None and value is not None and not source.rstrip().endswith(";"):
            answer["value"] = self.shell.show(value) if self.shell else bundle_of(value)
            self.show_rest(answer, value)

    def show_rest(self, answer, value):
        """A figure that is the value of its cell is not shown once more at the end."""
        if "image/png" in answer.get("value", ()):
            collect_figures(self.displays, already=value)

    def parse(self, source, name):
        flags = ONLY_AST | TOP_LEVEL_AWAIT | self.flags
        try:
            return compile(source, name, "exec", flags, True)
        except SyntaxError:
            if "%" not in source and "!" not in source:
                self.sources.add(name, source)
                raise
        changed = self.magics.translate(source, lambda text: compile(
            text, name, "exec", flags, True))
        # What tracebacks show is the source as it was written: a line is the same line in both.
        return compile(changed, name, "exec", flags, True)

    def compile(self, tree, name, mode):
        code = compile(tree, name, mode, TOP_LEVEL_AWAIT | self.flags, True)
        self.defines = self.defines or any(type(one) is CODE for one in code.co_consts)
        self.flags |= code.co_flags & FUTURES
        return code

    def evaluate(self, codes):
        """Runs the parts of a cell; all of them inside the loop when one of them awaits."""
        if any(code.co_flags & CO_COROUTINE for code in codes):
            return self.wait_for(self.await_all(codes))
        value = None
        try:
            for code in codes:
                value = eval(code, self.namespace)
        finally:
            settrace(None)  # before any function of ours is called: it would be traced
            setprofile(None)
        return value

    async def await_all(self, codes):
        value = None
        for code in codes:
            value = eval(code, self.namespace)
            if code.co_flags & CO_COROUTINE:
                value = await value
        return value

    def wait_for(self, coroutine):
        """Runs a cell that awaits; the loop lives on, with the tasks that the cell left in it."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                self.loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            raise

    def loops(self):
        """Ours, and the one that IPython has for cells that it runs itself."""
        helpers = sys.modules.get("IPython.core.async_helpers")
        both = (self.loop, getattr(helpers, "_asyncio_event_loop", None))
        return [loop for loop in both if loop is not None and not loop.is_closed()]

    def forget_loop(self):
        """After a fork the loops' descriptors belong to someone else, and their threads are gone."""
        if self.loop is not None:
            self.loop = None
            sys.modules["asyncio"].set_event_loop(None)
        helpers = sys.modules.get("IPython.core.async_helpers")
        if helpers is not None:
            helpers._asyncio_event_loop = None
        if self.shell is not None:
            self.shell.forget_loop()


def exit_code(stop):
    code = stop.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    try:
        sys.stderr.write(str(code) + "\n")
    except BaseException:
        pass
    return 1
