"""JSON by the interpreter's own C coder, without the json package.

The package costs milliseconds to import (it needs `re`), and a cell can replace its functions. What
is written is always valid UTF-8: a lone surrogate becomes a question mark, where no `Plain` has refused it.
"""

from _json import encode_basestring, make_encoder, make_scanner

from texts import library_of, type_name


class NotJson(Exception):
    """A value that JSON can't say, or not within the bounds."""


class Rules:
    """What the C scanner wants to know."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name):
        raise ValueError("JSON has no " + name)


def refuse(value):
    raise NotJson("a " + type_name(type(value)) + " is not JSON")


scan = make_scanner(Rules)
encoder = make_encoder({}, refuse, encode_basestring, None, ":", ",", False, False, False)


def dumps(value):
    """Bytes of a value that this code made itself."""
    return "".join(encoder(value, 0)).encode("utf-8", "replace")


def loads(data):
    """The value of bytes or text; ValueError when it is not JSON."""
    text = data if isinstance(data, str) else str(data, "utf-8")
    text = text.strip(" \t\r\n")
    if not text:
        raise ValueError("not JSON: it is empty")
    try:
        value, end = scan(text, 0)
    except StopIteration as stop:
        raise ValueError("not JSON at character %s" % (stop.value,)) from None
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    except SystemError:  # the scanner found no json.decoder to make its error with
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("not JSON after character %d" % end)
    return value


def loads_or_none(data):
    try:
        return loads(data)
    except ValueError:
        return None


MAX_KEY_SQUARES = 60_000_000  # the host refuses a little more (base/json_size.h)
SCALARS = (str, int, float, bool, type(None))
LEAST_INT, MOST_INT = -(1 << 63), (1 << 64) - 1  # beyond them the host's reader has only doubles


def well_formed(text):
    """A text that arrives as it is: UTF-8 has no word for half of a pair."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise NotJson("a text with a lone surrogate: encode it, or ascii() it") from None
    return text


class Plain:
    """Copies a value into what JSON can say, within bounds, without running its own code."""

    def __init__(self, max_chars, max_items=1_000_000, max_depth=64):
        self.chars = max_chars
        self.items = max_items
        self.squares = MAX_KEY_SQUARES
        self.max_depth = max_depth

    def spend(self, chars):
        self.chars -= chars
        self.items -= 1
        if self.chars < 0 or self.items < 0:
            raise NotJson("larger than the bound")

    def copy(self, value, depth=0):
        kind = type(value)
        if kind is str:
            self.spend(len(value) + 2)
            return well_formed(value)
        if kind is bool or value is None:
            self.spend(5)
            return value
        if kind is int:
            if not LEAST_INT <= value <= MOST_INT:
                raise NotJson("an integer beyond 64 bits: pass it as text, str(n)")
            self.spend(1 + value.bit_length() // 3)
            return value
        if kind is float:
            if value != value or value in (float("inf"), float("-inf")):
                raise NotJson("a float that JSON can't say")
            self.spend(16)
            return value
        if depth >= self.max_depth:
            raise NotJson("nested too deeply")
        return self.copy_container(value, depth)

    def copy_container(self, value, depth):
        self.spend(2)
        kind = type(value)  # and not isinstance(): that asks the value for its __class__
        if issubclass(kind, (list, tuple)):
            iterate = list.__iter__ if issubclass(kind, list) else tuple.__iter__
            return [self.copy(item, depth + 1) for item in iterate(value)]
        if issubclass(kind, dict):
            self.squares -= dict.__len__(value) ** 2
            if self.squares < 0:
                raise NotJson("an object of too many keys")
            return {self.key(k): self.copy(v, depth + 1) for k, v in dict.items(value)}
        if issubclass(kind, str):
            return self.copy(str.__add__(value, ""), depth)
        if issubclass(kind, (int, float)):
            base = int if issubclass(kind, int) else float
            return self.copy(base.__add__(value, 0), depth)
        return self.copy_foreign(value, depth)

    def copy_foreign(self, value, depth):
        """numpy's scalars and arrays know how to become lists."""
        if library_of(type(value)) == "numpy" and hasattr(value, "tolist"):
            size = getattr(value, "size", 1)
            if size > self.items:
                raise NotJson("larger than the bound")
            return self.copy(value.tolist(), depth + 1)
        raise NotJson("a " + type_name(type(value)) + " is not JSON")

    def key(self, key):
        if type(key) is str:
            self.spend(len(key) + 3)
            return well_formed(key)
        if type(key) is int and key.bit_length() > 8192:
            raise NotJson("a key of too many digits")
        if type(key) in SCALARS:
            text = {True: "true", False: "false", None: "null"}.get(key) if (
                key is None or type(key) is bool) else repr(key)
            self.spend(len(text) + 3)
            return text
        raise NotJson("a key that is a " + type_name(type(key)))
