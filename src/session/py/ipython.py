"""IPython's shell instead of the plain executor, when it was asked for and can be imported."""

import sys

from display import TEXT, bundle_of, data_of, png_of_figure, told
from ordinary import Ordinary

# Values of exactly these types have a text and nothing else, unless a cell has said otherwise.
PLAIN = frozenset((int, float, complex, bool, str, bytes))
AS_REPR = frozenset((int, bool, complex, str, bytes))  # of those: as repr() has it
# What IPython looks up among the variables, for each value and each magic: `globals().clear()` is a cell, too.
NEEDED = ("get_ipython", "In", "Out", "_ih", "_oh", "_dh", "exit", "quit")
WARMING = ("1 + 1", "x = 1", "x", "def f(): pass")


class Spared:
    """Half of IPython's import is for a terminal: the prompt, and the library that completes words
    in it. Nobody types into a session, so they are left out; user code can import them later."""

    EMBED = "IPython.terminal.embed"

    def __enter__(self):
        self.names = [name for name in (self.EMBED, "jedi") if name not in sys.modules]
        if self.EMBED in self.names:
            stub = type(sys)(self.EMBED)
            stub.embed = embed
            sys.modules[self.EMBED] = stub
        if "jedi" in self.names:
            sys.modules["jedi"] = None  # an import of it fails

    def __exit__(self, *error):
        for name in self.names:
            sys.modules.pop(name, None)


def embed(*args, **kwargs):
    """IPython.embed(): imports what it needs when it is called."""
    from IPython.terminal.embed import embed as real

    return real(*args, **kwargs)


class Leave:
    """`exit` and `quit`: by name alone, as in IPython, or called."""

    def __call__(self, code=None):
        raise SystemExit(code)


def make_shell(inside):
    """The shell, or None when the environment has no IPython."""
    try:
        with Spared():
            from IPython.core.displayhook import DisplayHook
            from IPython.core.displaypub import DisplayPublisher
            from IPython.core.history import HistoryManager
            from IPython.core.interactiveshell import InteractiveShell
    except Exception:
        return None

    executor = inside.executor

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, source=None, **more):
            executor.displays.add(clean(data))

    class Hook(DisplayHook):
        """Keeps the last value once, and prints nothing."""

        def compute_format_data(self, result):
            # A dozen formatters are asked about every value: most of the time of a short cell.
            kind = type(result)
            if kind in PLAIN and plain.is_all_there_is(kind):
                return {TEXT: plain.text(kind, result)}, {}
            return super().compute_format_data(result)

        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            shell.found = clean(format_dict)

        def update_user_ns(self, result):
            inside.reserved.put_back_kept()
            super().update_user_ns(result)

        def finish_displayhook(self):
            pass

    HistoryManager.enabled = False  # its thread and its database do not survive a fork

    class History(HistoryManager):
        """What each call sets here are plain attributes: traits check and announce each setting,
        which nobody listens to, and that was a tenth of a short cell."""

        _i00 = _i = _ii = _iii = ""

    class Shell(InteractiveShell):
        execution_count = 1  # plain, too
        found = None
        failed = None

        system = InteractiveShell.system_raw  # system_piped would put a terminal between

        def showtraceback(self, *args, **kwargs):
            pass

        def showsyntaxerror(self, *args, **kwargs):
            pass

        def init_history(self):
            self.history_manager = History(shell=self, parent=self)
            self.configurables.append(self.history_manager)

        def enable_gui(self, gui=None):
            """%matplotlib asks for the loop of a window. There is none; without this it is an error."""

        def ask_exit(self):  # of IPython's own `exit`, which comes back with %reset
            raise SystemExit

    with Spared():
        shell = Shell.instance(
            display_pub_class=Publisher, displayhook_class=Hook, user_module=main_module(),
            colors="NoColor")
    draw_figures(shell.display_formatter)
    plain = PlainText(shell.display_formatter.formatters)
    history = shell.history_manager
    history.enabled = False
    history.db_cache_size = 1 << 30  # there is no database that would have to be told
    without_traits(shell.displayhook, "shell")
    without_traits(history, "shell", "db_input_cache", "db_cache_size", "input_hist_parsed",
                   "input_hist_raw")
    without_traits(shell, "prefilter_manager", "input_transformer_manager", "history_manager",
                   "builtin_trap", "display_formatter")
    shell.user_ns["exit"] = shell.user_ns["quit"] = Leave()  # IPython's ask a terminal to end
    inside.namespace.update(
        (k, v) for k, v in shell.user_ns.items() if k not in inside.namespace)
    inside.hidden = inside.hidden | frozenset(shell.user_ns)
    inside.reserved.kept.update((name, shell.user_ns[name]) for name in NEEDED)
    return IPythonShell(shell)


def draw_figures(display_formatter):
    """By name: matplotlib is not imported for it. Without a word from us IPython knows them by their repr."""
    png = display_formatter.formatters["image/png"]
    png.for_type_by_name("matplotlib.figure", "Figure", png_of_figure)


def without_traits(thing, *names):
    """Makes plain attributes of these: to read a trait takes two calls of functions, forty times in a
    short cell, and these are never set anew."""
    kind = type(thing)
    values = {name: getattr(thing, name) for name in names}
    thing.__class__ = type(kind)(kind.__name__, (kind,), {"__module__": kind.__module__, **values})


class PlainText:
    """IPython's text of a value of a plain type. Its printer takes 30 calls to come to repr()."""

    def __init__(self, formatters):
        self.formatters = formatters
        self.formatter = formatter = formatters[TEXT]
        self.printers = {kind: formatter.type_printers.get(kind) for kind in AS_REPR}
        self.singles = len(formatter.singleton_printers)
        # The values of a formatter's traits, where its table of types is once it was asked for.
        self.others = [(mime, one, one._trait_values) for mime, one in formatters.items()
                       if mime != TEXT and one.type_printers is not None]

    def is_all_there_is(self, kind):
        """No other formatter has something to say about it."""
        if len(self.formatters) != len(self.others) + 1:
            return False
        for mime, one, values in self.others:
            if kind in values["type_printers"] or self.formatters.get(mime) is not one:
                return False
        return True

    def text(self, kind, value):
        formatter = self.formatters[TEXT]
        if (kind in AS_REPR and formatter is self.formatter and formatter.enabled
                and formatter.type_printers.get(kind) is self.printers[kind]
                and len(formatter.singleton_printers) == self.singles):
            try:
                return repr(value)
            except ValueError:  # a number that is too long for it: IPython says so in its own way
                pass
        return formatter(value)


def main_module():
    return sys.modules["__main__"]


def clean(data):
    """A bundle of IPython's within our bounds: texts, images as base64."""
    bundle = {}
    for mime, value in data.items():
        found = data_of(value, mime) if isinstance(mime, str) else None
        if found is not None:
            bundle[mime[:100]] = found
    return told(bundle)


class IPythonShell:
    def __init__(self, shell):
        self.shell = shell
        self.ordinary = Ordinary(shell)

    def flags(self):
        return self.shell.compile.flags

    def forget_loop(self):
        """That of %%bash and its kind, whose thread has not come along in a fork."""
        magics = self.shell.magics_manager.registry.get("ScriptMagics")
        if magics is not None:
            magics.event_loop = None

    def show(self, value):
        if type(value) is Leave:
            value()
        return clean(self.ordinary.show(value)) or bundle_of(value)

    def warm_up(self, run):
        """In the zygote: the first cell costs ten times the second. Leaves no trace of it."""
        names = self.shell.user_ns
        before = dict(names)
        for source in WARMING * 3:
            run(source)
        self.shell.reset(new_session=True)
        for name in before:
            names.setdefault(name, before[name])  # __doc__ and the like, which a reset takes away
        names["exit"], names["quit"] = before["exit"], before["quit"]

    def run(self, source, answer):
        """The cell's value, which is in the answer if it has one."""
        self.shell.found = None
        result = self.shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            if isinstance(error, BaseException):
                raise error
            raise RuntimeError(str(error))
        if self.shell.found is not None:
            answer["value"] = self.shell.found
        elif result.result is not None and not source.rstrip().endswith(";"):
            answer["value"] = bundle_of(result.result)
        return result.result
