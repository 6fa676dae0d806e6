"""What an interpreter does with one call, and what it puts right after it."""

import builtins
import sys
from _signal import SIGINT, getsignal
from _signal import signal as set_handler
from errno import ETOOMANYREFS
from posix import _exit, sched_yield
from time import monotonic

import frames as f
from errors import describe, name_of, stopped_at
from jsonio import dumps, loads
from threads import count_threads

getrecursionlimit, setrecursionlimit = sys.getrecursionlimit, sys.setrecursionlimit
settrace, setprofile = sys.settrace, sys.setprofile


class Calls:
    """The part of an Interpreter that deals with calls."""

    def serve(self, kind, flags, request, nonce, body, fds, number):
        if self.gate >= 0:
            self.pass_gate()
        begin = monotonic()
        self.line.current = current = (request, nonce)
        self.direct_number = number
        threads = count_threads()
        if kind == f.EXEC:
            answer, unchanged = self.execute(body, fds)
        else:
            answer, unchanged = self.other(kind, body, fds)
        bits = self.not_kept | (f.UNCHANGED if unchanged else 0)
        left = count_threads()
        if kind == f.EXEC and self.executor.later.runs_on:
            bits |= f.THREADS_LEFT
        if left:
            answer["threads"] = left
            if left > threads:
                bits |= f.THREADS_LEFT
        if not unchanged and not flags & f.NO_CHECKPOINT:
            bits |= f.FORKING
        self.line.current = None
        if number is not None and not unchanged:
            self.tell_keeper(f.CHANGED, bits, *current, number)
        self.send_answer(bits, current, answer_bytes(answer))
        answer = body = None
        if self.to_put_right:
            self.put_right()
        if bits & f.FORKING:
            sched_yield()  # the answer first: who waits for it may be on the same processor
            self.gatherer.gather(monotonic() - begin)
            self.take_checkpoint(*current, number is not None)

    def answer_for(self, error):
        """A call of which nothing could be said, because something of ours failed: its caller waits."""
        current, self.line.current = self.line.current, None
        if current is None:
            return
        if self.direct_number is not None:
            self.tell_keeper(f.CHANGED, 0, *current, self.direct_number)
        self.send_answer(0, current, answer_bytes({"status": "error", "error": plain_error(
            "the session could not answer: %s: %s" % (type(error).__name__, error))}))

    def send_answer(self, bits, current, body):
        try:
            f.send_message(self.sock, f.RESULT, bits, *current, body, rounds=50)
        except OSError as error:
            if error.errno != ETOOMANYREFS:
                raise
            f.send_message(self.sock, f.RESULT, bits, *current, dumps({
                "status": "error", "error": plain_error(
                    "an answer of %d bytes can't be handed over just now: too many descriptors are "
                    "under way; what the call did is kept" % len(body))}))

    def tell_keeper(self, *message):
        """Of a call that came from the host directly: the keeper hears of it before the host has the
        answer, so that whatever the host orders next finds it knowing."""
        try:
            f.send_message(self.line.sock, *message)
        except OSError:
            _exit(f.CHANNEL_GONE)

    def execute(self, body, fds):
        if len(fds) != 2:
            f.close_all(fds)
            return {"status": "error", "error": plain_error("exec wants two descriptors")}, True
        try:
            self.streams.begin(*fds)
        except OSError as error:
            f.close_all(fds)
            return {"status": "error", "error": plain_error(
                "there is no place for its output (%s): has it lowered RLIMIT_NOFILE?" % error)}, True
        answer, unchanged = {"status": "interrupted"}, False
        try:
            self.running = True
            answer, unchanged = self.executor.run(str(body, "utf-8"))
        except UnicodeDecodeError:
            answer = {"status": "error", "error": plain_error("the source is not UTF-8")}
        except KeyboardInterrupt as error:  # a second one, while what the first had stopped was told
            self.running = False
            answer["count"] = self.executor.count
            answer["error"] = describe(stopped_at(error))
        except BaseException as error:
            answer["status"] = "error"
            answer["error"] = plain_error(name_of(type(error)))
        finally:
            self.running = self.executor.stopping = False
        if unchanged and not count_threads():
            # There is nothing to put right but the streams, which nobody writes to: the answer first.
            self.streams.flush()
            self.to_put_right = True
            return answer, unchanged
        changed = self.put_right()
        if changed:
            answer.setdefault("notes", []).append(
                "reserved names were put back: " + ", ".join(changed))
        if notes := self.streams.notes():
            answer.setdefault("notes", []).extend(notes)
        return answer, unchanged

    def put_right(self):
        """Says which names were."""
        self.tidy()
        self.streams.end()
        self.to_put_right = False
        return self.reserved.put_back()

    def other(self, kind, body, fds):
        """vars, get, set, load, save: none of them has standard streams."""
        answer, unchanged = {"status": "interrupted"}, False
        try:
            self.running = True
            import answers

            answer, unchanged = answers.answer(self, kind, loads(body), fds)
        except BaseException as error:
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            answer = {"status": status, "error": describe(error)}
        finally:
            self.running = False
            f.close_all(fds)
        self.tidy()
        self.reserved.put_back()
        return answer, unchanged

    def tidy(self):
        """What a cell did to the interpreter ends with the cell."""
        for attempt in range(3):
            try:
                settrace(None)
                setprofile(None)
                if getrecursionlimit() < 500:
                    setrecursionlimit(1000)
                if getsignal(SIGINT) != self.on_interrupt:
                    set_handler(SIGINT, self.on_interrupt)
                if builtins.input is not no_input:
                    builtins.input = no_input
                monitoring = getattr(sys, "monitoring", None)
                if monitoring is not None:
                    end_monitoring(monitoring)
                return
            except BaseException:
                continue


class NoInput(EOFError):
    """Nobody can type into a session."""

    __module__ = "builtins"


def no_input(prompt=""):
    """input() of a session: an error, at once."""
    raise NoInput("input() is not available in a session: pass the value in as a variable")


def answer_bytes(answer):
    try:
        return dumps(answer)
    except BaseException as error:
        return dumps({"status": "error", "error": plain_error(
            "the answer could not be written: " + type(error).__name__)})


def plain_error(text):
    return {"type": "SessionError", "message": text, "traceback": text}


def end_monitoring(monitoring):
    for tool in range(6):
        if monitoring.get_tool(tool) is not None:
            monitoring.set_events(tool, 0)
