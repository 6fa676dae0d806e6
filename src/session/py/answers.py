"""Requests besides exec: vars, get, set, load, save and unsave."""

import frames as f
import variables


def answer(inside, kind, request, fds):
    """(answer, True when nothing in the session can have changed)"""
    return HANDLERS[kind](inside, request, fds)


def list_variables(inside, request, fds):
    names = user_names(inside)
    limit = whole(request.get("limit"), 1000, 10_000)
    entries = variables.describe_all(inside.namespace, names[:limit])
    return {"status": "ok", "variables": entries, "left_out": max(0, len(names) - limit)}, True


def get_value(inside, request, fds):
    limit = whole(request.get("max_bytes"), 1 << 20, 64 << 20)
    if "expression" in request:
        code = compile(str(request["expression"]).strip(), "<get>", "eval", 0, True)
        value, unchanged = eval(code, inside.namespace), False
    else:
        name = request.get("name")
        if type(name) is not str or name not in inside.namespace:
            return {"status": "missing", "error": {
                "type": "NameError", "message": "not found: " + str(name)[:200],
                "traceback": ""}}, True
        value, unchanged = inside.namespace[name], True
    result = variables.value_of(value, limit)
    # Asking an object for its repr runs its code, which may change anything.
    unchanged = unchanged and not result.pop("ran_code")
    result["status"] = "ok"
    return result, unchanged


def set_value(inside, request, fds):
    name = checked_name(inside, request.get("name"))
    facts = {}
    if fds:
        import loading

        value = loading.from_descriptor(fds[0], request.get("kind", "text"), request, facts)
    else:
        value = request.get("value")
    inside.namespace[name] = value
    if facts.get("encoding") == "utf-8":
        facts = {}
    return {"status": "ok", "variable": variables.describe_plainly(name, value), **facts}, False


def load_file(inside, request, fds):
    import loading

    name = checked_name(inside, request.get("name"))
    if len(fds) != 1:
        raise ValueError("load wants one descriptor")
    value, facts = loading.load(fds[0], request)
    key = request.get("key")
    if key is None:
        inside.namespace[name] = value
    else:
        place = inside.namespace.get(name)
        if type(place) is not dict or request.get("first"):
            place = inside.namespace[name] = {}
        place[str(key)] = value
    facts["variable"] = variables.describe_plainly(name, inside.namespace[name])
    facts["status"] = "ok"
    return facts, False


def save(inside, request, fds):
    import saving

    saver = saving.Saver(inside, user_names(inside), request, *fds[:2])
    report = saver.save()
    report["status"] = "ok"
    return report, True


def unsave(inside, request, fds):
    import snapshot

    report = snapshot.restore(inside, request, fds[0])
    report["status"] = "ok"
    return report, False


def user_names(inside):
    """Variables of the user, in the order in which they came to be."""
    skip = inside.hidden
    return [n for n in list(inside.namespace)
            if type(n) is str and n not in skip and not n.startswith("_")]


def checked_name(inside, name):
    import keyword

    if type(name) is not str or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError("not a variable's name: " + ascii(name)[:200])
    if name in inside.reserved.names or name in inside.hidden:
        raise ValueError("the name %s is reserved" % name)
    return name


def whole(value, default, most):
    """A bound that was asked for, within the bound there is."""
    if type(value) is not int or value < 0:
        return default
    return min(value, most)


HANDLERS = {
    f.VARS: list_variables, f.GET: get_value, f.SET: set_value, f.LOAD: load_file,
    f.SAVE: save, f.UNSAVE: unsave,
}
