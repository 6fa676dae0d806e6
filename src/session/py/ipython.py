"""IPython's shell instead of the plain executor, when it was asked for and can be imported."""

from display import bundle_of, data_of


def make_shell(inside):
    """The shell, or None when the environment has no IPython."""
    try:
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

        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            shell.found = clean(format_dict)

        def finish_displayhook(self):
            pass

    HistoryManager.enabled = False  # its thread and its database do not survive a fork

    class Shell(InteractiveShell):
        found = None
        failed = None

        system = InteractiveShell.system_raw  # system_piped would put a terminal between

        def showtraceback(self, *args, **kwargs):
            pass

        def showsyntaxerror(self, *args, **kwargs):
            pass

    shell = Shell.instance(
        display_pub_class=Publisher, displayhook_class=Hook, user_module=main_module(),
        colors="NoColor")
    shell.history_manager.enabled = False
    inside.namespace.update(
        (k, v) for k, v in shell.user_ns.items() if k not in inside.namespace)
    inside.hidden = inside.hidden | frozenset(shell.user_ns)
    return IPythonShell(shell)


def main_module():
    import sys

    return sys.modules["__main__"]


def clean(data):
    """A bundle of IPython's within our bounds: texts, images as base64."""
    bundle = {}
    for mime, value in data.items():
        found = data_of(value, mime if mime == "application/json" else "text")
        if isinstance(mime, str) and found is not None:
            bundle[mime[:100]] = found
    return bundle


class IPythonShell:
    def __init__(self, shell):
        self.shell = shell

    def run(self, source, answer):
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
