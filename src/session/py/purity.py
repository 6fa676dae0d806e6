"""Tells calls that can't change anything: after those, the last checkpoint is still good.

The test is on the syntax, and on the exact types of the names that are read. Whatever is in doubt
counts as a change.
"""

import _ast as a
import builtins

SAFE_VALUES = frozenset(map(id, (int, float, complex, str, bytes, bool, type(None))))  # == may be a metaclass's own
SAFE_CALLS = {"print": builtins.print, "len": builtins.len, "abs": builtins.abs}
INNER = (
    a.BinOp, a.UnaryOp, a.BoolOp, a.Compare, a.IfExp, a.JoinedStr, a.FormattedValue,
    a.operator, a.unaryop, a.boolop, a.cmpop, a.Load,
)
MAX_NODES = 200
CO_COROUTINE = 0x80


def changes_nothing(tree, namespace):
    if not tree.body:
        return True
    if len(tree.body) > 4:
        return False
    pending, seen = [], 0
    for statement in tree.body:
        if not isinstance(statement, a.Expr):
            return False
        pending.append(statement.value)
    while pending:
        node = pending.pop()
        seen += 1
        if seen > MAX_NODES or not is_safe(node, namespace, pending):
            return False
    return True


def reads_only(code, namespace):
    """The same of a code without calls: names, of attributes as well, are all that leads out of it."""
    if code.co_flags & CO_COROUTINE or any(type(one) is type(code) for one in code.co_consts):
        return False
    return all(name in namespace and id(type(namespace[name])) in SAFE_VALUES for name in code.co_names)


def is_safe(node, namespace, pending):
    if isinstance(node, a.Constant):
        return True
    if isinstance(node, a.Name):
        return node.id in namespace and id(type(namespace[node.id])) in SAFE_VALUES
    if isinstance(node, a.Call):
        if node.keywords or not isinstance(node.func, a.Name):
            return False
        if not is_builtin(node.func.id, namespace):
            return False
        pending.extend(node.args)
        return True
    if isinstance(node, INNER):
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                pending.extend(value)
            elif isinstance(value, a.AST):
                pending.append(value)
        return True
    return False


def is_builtin(name, namespace):
    """The builtin itself, neither shadowed nor replaced."""
    real = SAFE_CALLS.get(name)
    return real is not None and name not in namespace and getattr(builtins, name, None) is real
