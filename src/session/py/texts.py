"""Bounded text of any object: never the repr of the whole of something large."""

import sys

MAX_DEPTH = 40
LIBRARIES = frozenset((
    "numpy", "pandas", "torch", "polars", "scipy", "pyarrow", "jax", "xarray"))


class Full(Exception):
    """The bound is reached."""


class BoundedRepr:
    """repr() of the built-in types, piece by piece, up to a number of characters.

    Small values read exactly as repr() gives them. Objects of other types are asked for their own
    repr only when `foreign` says so.
    """

    def __init__(self, limit, foreign=None, max_items=None):
        self.limit = limit
        self.left = limit
        self.parts = []
        self.foreign = foreign
        self.max_items = max_items

    def text(self, value):
        """(text, True when something was left out)"""
        try:
            self.add(value, 0, ())
        except Full:
            return "".join(self.parts) + "...", True
        return "".join(self.parts), False

    def put(self, text):
        if len(text) > self.left:
            self.parts.append(text[: self.left])
            self.left = 0
            raise Full
        self.parts.append(text)
        self.left -= len(text)

    def add(self, value, depth, above):
        kind = type(value)
        handler = HANDLERS.get(id(kind))
        if handler is None:
            self.put(self.foreign_text(value))
        elif handler is add_leaf:
            self.put(repr(value))
        elif depth > MAX_DEPTH or any(value is one for one in above):
            self.put({list: "[...]", dict: "{...}"}.get(kind, "(...)"))
        else:
            handler(self, value, depth, above)

    def foreign_text(self, value):
        if self.foreign is not None:
            return self.foreign(value)
        return "<%s object>" % type_name(type(value))

    def add_all(self, items, depth, above):
        first = True
        for number, item in enumerate(items):
            if not first:
                self.put(", ")
            if number == self.max_items:
                self.put("...")
                return
            self.add(item, depth + 1, above)
            first = False

    def add_pairs(self, pairs, depth, above):
        for number, (key, item) in enumerate(pairs):
            if number:
                self.put(", ")
            if number == self.max_items:
                self.put("...")
                return
            self.add(key, depth + 1, above)
            self.put(": ")
            self.add(item, depth + 1, above)


def add_leaf():
    """Only a mark: types whose repr is short and their own."""


def add_text(self, value, depth, above):
    if len(value) > self.left:
        self.put(repr(value[: self.left]))
        raise Full
    self.put(repr(value))


def add_int(self, value, depth, above):
    if value.bit_length() > 14000:  # beyond 4,300 digits int() refuses, and it is quadratic
        self.put("<int of %d bits>" % value.bit_length())
    else:
        self.put(repr(value))


def add_list(self, value, depth, above):
    self.put("[")
    self.add_all(value, depth, above + (value,))
    self.put("]")


def add_tuple(self, value, depth, above):
    self.put("(")
    self.add_all(value, depth, above + (value,))
    self.put(",)" if len(value) == 1 else ")")


def add_set(self, value, depth, above):
    frozen = type(value) is frozenset
    if not value:
        self.put("frozenset()" if frozen else "set()")
        return
    self.put("frozenset({" if frozen else "{")
    self.add_all(value, depth, above + (value,))
    self.put("})" if frozen else "}")


def add_dict(self, value, depth, above):
    self.put("{")
    self.add_pairs(value.items(), depth, above + (value,))
    self.put("}")


HANDLERS = {  # by identity: to look a type up by hash is to call its metaclass
    id(kind): handler for handler, kinds in (
        (add_text, (str, bytes, bytearray)), (add_int, (int,)), (add_list, (list,)), (add_tuple, (tuple,)),
        (add_set, (set, frozenset)), (add_dict, (dict,)),
        (add_leaf, (bool, float, complex, type(None), type(...), type(NotImplemented), range)),
    ) for kind in kinds
}


def type_name(kind):
    """The name of a type, by the type's own record and not by what a class claims."""
    name = type.__dict__["__name__"].__get__(kind)
    return name if len(name) <= 100 else name[:100]


def module_of(kind):
    """Where a type says that it is from; "" when it says nothing, or what is no text."""
    try:
        module = type.__dict__["__module__"].__get__(kind)
    except AttributeError:  # made by code that has no __name__
        return ""
    return module if type(module) is str else ""


def library_of(kind):
    """The known library that a type is the genuine article of, else None: a class that merely says
    it is numpy's has attributes of the user's making."""
    root = module_of(kind).partition(".")[0]
    library = sys.modules.get(root) if root in LIBRARIES else None
    if type(library) is type(sys) and vars(library).get(type_name(kind)) is kind:
        return root
    return None


def has_own_repr(kind):
    """Whether a class of the user's (or a library's) says how its objects read."""
    for base in type.__dict__["__mro__"].__get__(kind):
        if "__repr__" in type.__dict__["__dict__"].__get__(base):
            return base is not object
    return False


def own_repr(limit):
    """Calls an object's own repr, and keeps no more of it than the bound."""

    def text_of(value):
        try:
            text = repr(value)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            return "<%s whose repr raised %s>" % (type_name(type(value)), type_name(type(error)))
        text = str.__add__(text, "")
        return text if len(text) <= limit else text[:limit] + "..."

    return text_of
