"""Containers that are large and read as Python's own do: some items of them say as much as the repr of the whole,
and no code of the user's runs."""

from texts import BoundedRepr, Full, module_of, type_name

MANY = 1000  # items; below, the repr of the whole costs nothing
LONG = 100_000  # characters
BUILT_IN = (str, bytes, list, tuple, dict, set, frozenset, bytearray)
HEAP, IMMUTABLE = 1 << 9, 1 << 8  # of a type: made at run time; nobody can change it (from 3.10 on)
LIBRARY = frozenset((
    ("collections", "deque"), ("collections", "defaultdict"), ("collections", "OrderedDict"), ("array", "array"),
    ("builtins", "dict_keys"), ("builtins", "dict_values"), ("builtins", "dict_items")))
COUNTER = ("collections", "Counter")
BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), set: ("{", "}"), frozenset: ("{", "}")}


def own(name, kind):
    """What a type says of itself, whatever its class body says."""
    return type.__dict__[name].__get__(kind)


def is_of_library(kind):
    """One of those above, written in C: the user can neither make nor change such a type."""
    flags = own("__flags__", kind)
    return bool(flags & IMMUTABLE or not flags & HEAP) and (module_of(kind), type_name(kind)) in LIBRARY


def base_of(kind):
    """The built-in type below it."""
    return next((base for base in own("__mro__", kind) if any(base is one for one in BUILT_IN)), None)


def length_of(value, kind):
    """By those types' own len(); None of what is neither."""
    base = base_of(kind) or (kind if is_of_library(kind) else None)
    return None if base is None else base.__len__(value)


def whose_repr(kind):
    """Which of those types it reads as; None of a class with a repr of its own. (A Counter's sorts all that it has.)"""
    for base in own("__mro__", kind):
        if any(base is one for one in BUILT_IN) or is_of_library(base) or (module_of(base), type_name(base)) == COUNTER:
            return base
        if "__repr__" in own("__dict__", base):
            return None
    return None


def large_summary(value, kind, limit, max_items):
    """None where the object itself has to say."""
    base, length = base_of(kind), length_of(value, kind)
    says, is_text = whose_repr(kind), base in (str, bytes, bytearray)
    if says is None or length is None or length <= (LONG if is_text else MANY):
        return None
    text = BoundedRepr(limit, max_items=max_items)
    if is_text:
        return text.text(base.__getitem__(value, slice(limit + 1)))[0]
    opening, closing = BRACKETS.get(base, ("[", "]"))
    if not any(says is one for one in (list, tuple, dict)):
        opening, closing = type_name(kind) + "(" + opening, closing + ")"
    try:
        text.put(opening)
        if base is dict:
            text.add_pairs(dict.items(value), 0, ())
        else:
            text.add_all((base or kind).__iter__(value), 0, ())
        text.put(closing)
    except Full:
        text.parts.append("...")
    return "".join(text.parts)
