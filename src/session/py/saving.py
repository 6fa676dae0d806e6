"""Saves the variables one by one, in forks of the session, which doesn't feel what pickling does. A fork tells of
each as it goes: one that hangs, ends its process or is too large is left out by name, and another fork goes on
behind it."""

import sys
from posix import ftruncate, pread
from time import monotonic, time

from apart import Apart, GaveWay, Gone, Late, manner
from errors import message_of
from jsonio import dumps, loads, loads_or_none
from snapshot import MAGIC, MAX_HEADER, SIZE, write_at, write_one
from texts import type_name
from weight import add_weight, own_and_shared

MAX_BYTES = 512 << 20
START_SECONDS = 5.0  # for a fork to begin with a variable
FIRST_SECONDS = 1.0  # for a variable, until all others are saved
EACH_SECONDS, ALL_SECONDS = 10.0, 45.0  # when nobody says otherwise
MOST_SECONDS = 600.0
END_SECONDS = 15.0  # beside that, to put the file together
SOON_BYTES = 8 << 20  # are put together while another call waits: in some 20 ms
PIECE = 4 << 20
HUNG = "it hung, or ended the process that saved it, before: only a save that is asked for tries again"


class CannotSave(RuntimeError):
    """Nothing can be saved, whatever the variables are."""

    __module__ = "builtins"


class Saver:
    def __init__(self, inside, names, request, fd, way=-1):
        self.inside, self.names, self.fd, self.way = inside, names, fd, way
        self.most = bound(request.get("max_bytes"), MAX_BYTES)
        self.most_each = bound(request.get("max_each"), self.most)
        self.seconds_each = seconds_of(request.get("ms_each"), EACH_SECONDS)
        self.seconds = seconds_of(request.get("ms"), ALL_SECONDS)
        self.is_asked_for = request.get("again") is True
        self.until = monotonic() + self.seconds
        self.entries, self.skipped, self.size = {}, {}, 0

    def save(self):
        bad = [name for name in self.names if self.is_bad(name)]
        late = self.go_through([name for name in self.names if name not in bad], FIRST_SECONDS)
        late += self.try_again(bad)
        try:
            for name in self.go_through(late, self.seconds_each):
                self.leave_out(name, "it took longer than %g s" % self.seconds_each, is_bad=True)
        except GaveWay:
            if self.size > SOON_BYTES:
                raise
            self.way = -1  # a moment more, and what there is is saved
            self.leave_out_rest("another call came while it was saved")
        self.leave_out_rest("there was no time left for it: all together have %g s" % self.seconds)
        return self.put_together()

    # --- what is left out

    def is_bad(self, name):
        """The same value as when it hung. Nobody waits for it again, unless it is asked for."""
        return self.inside.not_to_save.get(name) == self.identity(name)

    def try_again(self, bad):
        """Those of them that are."""
        self.inside.not_to_save = {}
        if self.is_asked_for:
            return bad
        for name in bad:
            self.leave_out(name, HUNG, is_bad=True)
        return []

    def identity(self, name):
        value = self.inside.namespace.get(name)
        return id(value), type_name(type(value))

    def leave_out(self, name, why, is_bad=False):
        kind = self.identity(name)
        self.skipped[name] = {"name": name, "type": kind[1], "why": why}
        if is_bad:
            self.inside.not_to_save[name] = kind

    def leave_out_rest(self, why):
        for name in self.names:
            if name not in self.entries and name not in self.skipped:
                self.leave_out(name, why)

    # --- the forks

    def go_through(self, names, seconds):
        """Saves these, with so much time for each. Returns those that took longer."""
        late = []
        while names and monotonic() < self.until:
            one = Round(self, names, min(seconds, self.seconds_each))
            done = one.run()
            ftruncate(self.fd, self.size)
            if one.is_late:
                late.append(names[done])
            elif one.died:
                self.leave_out(names[done], one.died, is_bad=True)
            names = names[done + (1 if one.is_late or one.died else 0):]
        return late

    def room(self):
        return min(self.most_each, self.most - self.size)

    def put_together(self):
        """The header is known last and stands first."""
        order = {name: place for place, name in enumerate(self.names)}
        entries = sorted(self.entries.values(), key=lambda one: order[one["name"]])
        skipped = sorted(self.skipped.values(), key=lambda one: order[one["name"]])
        header = dumps({"python": list(sys.version_info[:3]), "created": round(time(), 3),
                        "entries": entries, "skipped": skipped})
        if len(header) > MAX_HEADER:
            raise CannotSave("the names of the variables alone are too many for a snapshot")
        fork = self.fork(lambda tell: tell(put_around(self.fd, self.size, header)))
        try:
            told = loads(fork.line(monotonic() + END_SECONDS))
        except (Late, Gone, ValueError):
            raise CannotSave("the snapshot could not be put together") from None
        finally:
            fork.end()
        return {"saved": [one["name"] for one in entries], "skipped": skipped, **told}

    def fork(self, work):
        try:
            return Apart(work, self.way)
        except OSError as error:
            raise CannotSave("no fork of the session can be made: %s" % error.strerror) from None


class Round:
    """One fork, and what it tells: what is not in order is not heard. (Code that is run to pickle may write there.)"""

    def __init__(self, saver, names, seconds):
        self.saver, self.names, self.seconds = saver, names, seconds
        self.pages = own_and_shared()
        self.done, self.begun = 0, False
        self.is_late = False
        self.died = ""  # how it ended, with the variable that it was at

    def run(self):
        """How many of them were saved or left out."""
        fork, gone = self.saver.fork(self.work), False
        try:
            self.listen(fork)
        except Gone:
            gone = True
        except Late:
            # (The time of all may be over, and not that of one.)
            self.is_late = self.begun and monotonic() < self.saver.until
        finally:
            ended = fork.end()
        if gone and self.begun:
            self.died = "it ended the process that saved it" + manner(ended)
        elif not self.done and not self.is_late and monotonic() < self.saver.until:
            raise CannotSave("a fork of the session does not come to save anything%s" % manner(ended))
        return self.done

    def listen(self, fork):
        until = monotonic() + START_SECONDS
        while self.done < len(self.names):
            place = self.done, self.begun
            self.hear(loads_or_none(fork.line(min(until, self.saver.until))))
            if place != (self.done, self.begun):
                until = monotonic() + self.seconds  # of the next one

    def hear(self, told):
        if type(told) is not list or len(told) != 4 or told[0] != self.done:
            return
        what, name, saver = told[1], self.names[self.done], self.saver
        if what == "begin":
            self.begun = True
        elif self.begun and what == "skipped" and type(told[3]) is str:
            saver.leave_out(name, told[3])
            self.done += 1
        elif self.begun and what in ("pickle", "source", "module") and told[2] == saver.size:
            if type(told[3]) is not int or not 0 <= told[3] <= saver.room():
                return
            saver.entries[name] = {"name": name, "how": what, "offset": saver.size, "size": told[3]}
            saver.size += told[3]
            self.done += 1

    def work(self, tell):
        saver, at = self.saver, self.saver.size
        weight = add_weight(*self.pages)
        tell_list(tell, 0, "begin", at, 0)  # with the end of each the next one begins
        for place, name in enumerate(self.names):
            try:
                most = min(saver.most_each, saver.most - at)
                how, size = write_one(saver.inside, name, saver.fd, at, most)
            except BaseException as error:
                why = "%s: %s" % (type_name(type(error)), message_of(error)[:200])
                ftruncate(saver.fd, at)
                tell_list(tell, place, "skipped", at, why)
                continue
            tell_list(tell, place, how, at, size)
            at += size
        del weight


def tell_list(tell, *values):
    tell(dumps(list(values)) + b"\n")


def put_around(fd, size, header):
    """The data, which is there, moves behind the header, from its end on: no byte of it is needed twice."""
    from hashlib import sha256

    head = MAGIC + SIZE.pack(len(header)) + header
    ftruncate(fd, size)
    for end in range(size, 0, -PIECE):
        begin = max(0, end - PIECE)
        write_at(fd, pread(fd, end - begin, begin), begin + len(head))
    write_at(fd, head, 0)
    digest, whole = sha256(), len(head) + size
    for begin in range(0, whole, PIECE):
        digest.update(pread(fd, min(PIECE, whole - begin), begin))
    write_at(fd, digest.digest(), whole)
    return dumps({"bytes": whole + len(digest.digest()), "sha256": digest.hexdigest()}) + b"\n"


def bound(value, most):
    return min(value, most) if type(value) is int and value > 0 else most


def seconds_of(ms, otherwise):
    return min(ms / 1000, MOST_SECONDS) if type(ms) is int and ms > 0 else otherwise
