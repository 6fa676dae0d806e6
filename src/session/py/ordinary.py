"""Cells that IPython would run as they stand. Its shell takes 0.2 ms for the shortest of them: the
text goes through two tokenizers and a dozen transformers, which most cells have no use for. Such a
cell is run without them; its record (In, Out, _, _i and the rest) is IPython's own all the same."""

import builtins
import re

FIRST_WORD = re.compile(r"\s*([^\W\d]\w*)")
# Whatever of these is in the text, if only in a string: IPython has a way of its own with it.
OWN_WAYS = ("await", "async", "__future__", "\f")


class Ordinary:
    def __init__(self, shell):
        from IPython.core.autocall import IPyAutocall
        from IPython.core.macro import Macro

        self.shell = shell
        self.called_by_name = (IPyAutocall, Macro)
        self.untouched = self.settings()
        # Newer versions count a cell when it begins, older ones when it ends.
        self.counts_first = shell.displayhook.prompt_count != shell.execution_count

    def settings(self):
        """All that changes how a cell is read or run; extensions and user code add to it."""
        shell = self.shell
        manager = shell.input_transformer_manager
        return (
            [list(some) for some in shell.events.callbacks.values()],
            list(manager.cleanup_transforms), list(manager.line_transforms),
            list(manager.token_transformers), list(shell.input_transformers_post),
            list(shell.ast_transformers), shell.ast_node_interactivity, shell.autocall,
            shell.prefilter_manager.transformers, len(shell.prefilter_manager.checkers),
            shell.displayhook, shell.logger.log_active, type(shell).__dict__.get("run_cell"),
        )

    def takes(self, source):
        """True when IPython would not change a character of it. It has been parsed as Python."""
        if any(word in source for word in OWN_WAYS) or self.settings() != self.untouched:
            return False
        text = source.strip()
        last = text[text.rfind("\n") + 1:]
        if ";" in last and "#" in last:
            return False  # whether its value is shown takes a tokenizer to tell
        # Cells of one line may name a magic or something that is called by its name alone.
        return "\n" in text or not self.is_called_by_name(FIRST_WORD.match(text))

    def is_called_by_name(self, found):
        if found is None:
            return False
        word, names = found.group(1), self.shell.user_ns
        if word in names:
            return isinstance(names[word], self.called_by_name)
        if hasattr(builtins, word):
            return False
        return self.shell.automagic and self.shell.find_magic(word) is not None

    def begin(self, source):
        shell, history = self.shell, self.shell.history_manager
        shell.user_ns.pop("__warningregistry__", None)
        history.store_inputs(shell.execution_count, source, source)
        del history.db_input_cache[:]  # of a database that there is not
        shell.execution_count += self.counts_first
        shell.builtin_trap.__enter__()

    def end(self):
        self.shell.builtin_trap.__exit__(None, None, None)
        self.shell.execution_count += not self.counts_first

    def show(self, value):
        """The formats of a cell's last value, which is Out[n] and _ from now on."""
        hook = self.shell.displayhook
        hook.check_for_underscore()
        formats = hook.compute_format_data(value)[0]
        hook.update_user_ns(value)
        return formats
