"""What a value looks like: text always; images, HTML, Markdown and JSON when it offers them."""

import sys

from errors import message_of
from jsonio import NotJson, Plain, dumps
from texts import BoundedRepr, module_of, own_repr, type_name

MAX_TEXT = 64 * 1024
MAX_RICH = 8 << 20  # characters of one representation; images count as base64
MAX_ALL = 24 << 20  # of all in one answer
MAX_DISPLAYS = 64
MAX_MIMES = 32  # of one value
TEXT = "text/plain"

OFFERS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
)
PLAIN_TYPES = frozenset(map(id, (
    int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset, type(None), range)))


class LeftOut(str):
    """Why a representation is not there. It stands in its place until `told`."""


class Displays:
    """The rich results of one call, in order, within the bounds of an answer."""

    def __init__(self):
        self.items = []
        self.left = MAX_ALL
        self.dropped = 0

    def add(self, bundle):
        size = sum(map(size_of, bundle.values()))
        if len(self.items) >= MAX_DISPLAYS or size > self.left:
            self.dropped += 1
            return
        self.left -= size
        self.items.append(bundle)

    def show(self, *values, **ignored):
        """The `display` of a session."""
        for value in values:
            self.add(bundle_of(value))


def bundle_of(value):
    """{mime type: text}; images as base64."""
    kind = type(value)
    if id(kind) in PLAIN_TYPES:
        return {TEXT: BoundedRepr(MAX_TEXT, own_repr(MAX_TEXT)).text(value)[0]}
    bundle = {TEXT: own_repr(MAX_TEXT)(value)}
    if is_figure(kind):
        bundle["image/png"] = png_of_figure(value)
    elif not isinstance(value, type):
        add_offers(value, kind, bundle)
    return told(bundle)


def told(bundle):
    """What is left out is said in the text, which is shown wherever the rest would have been."""
    left = MAX_ALL
    for mime, data in bundle.items():
        left -= size_of(data)
        if left < 0 and mime != TEXT:
            left += size_of(data)
            bundle[mime] = LeftOut("with the other forms it is more than %d characters" % MAX_ALL)
    missing = [mime for mime, data in bundle.items() if type(data) is LeftOut]
    said = ["[%s is left out: %s]" % (mime, bundle.pop(mime)) for mime in missing]
    if said:
        bundle[TEXT] = "\n".join([bundle[TEXT], *said] if TEXT in bundle else said)
    return bundle


def size_of(data):
    """In an answer. Of a form that is JSON: as it is written there."""
    return len(data) if issubclass(type(data), str) else len(dumps(data))


def add_offers(value, kind, bundle):
    """All forms at once, and then those that have a method of their own."""
    add_mimebundle(value, kind, bundle)
    for method, mime in OFFERS:
        if mime in bundle or getattr(kind, method, None) is None:
            continue
        data = data_of(ask(value, method), mime)
        if data is not None:
            bundle[mime] = data


def add_mimebundle(value, kind, bundle):
    if getattr(kind, "_repr_mimebundle_", None) is None:
        return
    offered = ask(value, "_repr_mimebundle_", include=None, exclude=None)
    if not issubclass(type(offered), dict):
        return
    for mime, data in list(dict.items(offered))[:MAX_MIMES]:
        found = data_of(data, mime) if type(mime) is str else None
        if found is not None:
            bundle[mime[:100]] = found
    if len(bundle.get(TEXT, "")) > MAX_TEXT:
        bundle[TEXT] = bundle[TEXT][:MAX_TEXT] + "..."


def ask(value, method, **how):
    """What it offers, without what it says about that."""
    try:
        offered = getattr(value, method)(**how)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None
    return offered[0] if isinstance(offered, tuple) and offered else offered


def data_of(offered, mime):
    if offered is None:
        return None
    if type(offered) is LeftOut:
        return offered
    if mime == "application/json" or mime.endswith("+json"):
        try:
            return Plain(MAX_RICH).copy(offered)
        except NotJson as error:
            return LeftOut(error)
    if isinstance(offered, (bytes, bytearray)):
        if len(offered) > MAX_RICH * 3 // 4:
            return too_large(len(offered), "bytes", MAX_RICH * 3 // 4)
        from binascii import b2a_base64

        return str(b2a_base64(offered, newline=False), "ascii")
    if isinstance(offered, str):
        size = str.__len__(offered)
        return str.__add__(offered, "") if size <= MAX_RICH else too_large(size, "characters", MAX_RICH)
    return None


def too_large(size, unit, most):
    return LeftOut("%d %s, and %d is the most" % (size, unit, most))


def is_figure(kind):
    return any(
        module_of(base) == "matplotlib.figure" and type_name(base) == "Figure"
        for base in type.__dict__["__mro__"].__get__(kind))


def png_of_figure(figure):
    from _io import BytesIO

    file = BytesIO()
    try:
        figure.savefig(file, format="png", bbox_inches="tight")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return LeftOut("it could not be drawn: %s: %s" % (type_name(type(error)), message_of(error)[:300]))
    return data_of(file.getvalue(), "image/png")


def collect_figures(displays, already=None):
    """Figures that pyplot holds are shown once, at the end of the call that made them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not hasattr(pyplot, "get_fignums"):
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if figure is not already:
            displays.add(told({TEXT: own_repr(1000)(figure), "image/png": png_of_figure(figure)}))
    pyplot.close("all")
