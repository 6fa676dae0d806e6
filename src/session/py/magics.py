"""A few of IPython's conveniences for sessions on the standard library alone.

A line is translated only when Python refuses it as it stands, so a `%` or `!` in a string or a
formula is never touched.
"""

import os
import sys

HOOK = "__caisson_magic__"
MAX_LINES = 500
PIP = (
    "%pip is not available: a session has no package index to install from. "
    "Packages come with the session's environment; `import` shows which are there."
)


class MagicError(Exception):
    """A magic that does not exist, or was used wrongly."""

    __module__ = "builtins"


class Magics:
    def __init__(self, namespace):
        self.namespace = namespace

    def translate(self, source, compile_source):
        """Source in which magics are calls; raises the SyntaxError when there is none to blame."""
        lines = source.split("\n")
        first = next((n for n, line in enumerate(lines) if line.strip()), 0)
        if lines[first].startswith("%%"):
            return "\n" * first + call_text("cell", lines[first][2:], "\n".join(lines[first + 1:]))
        for _ in range(MAX_LINES):
            try:
                compile_source("\n".join(lines))
                return "\n".join(lines)
            except SyntaxError as error:
                number = (error.lineno or 1) - 1
                if not 0 <= number < len(lines):
                    raise
                changed = translate_line(lines[number])
                if changed is None:
                    raise
                lines[number] = changed
        raise MagicError("more than %d lines with magics in one cell" % MAX_LINES)

    def __call__(self, kind, name, rest):
        if kind == "shell":
            return self.shell(rest)
        if kind == "capture":
            return self.capture(rest)
        if kind == "cell":
            return self.cell(name, rest)
        handler = getattr(self, "line_" + name, None)
        if handler is None:
            raise MagicError("no magic %%%s here; there are: %s" % (name, self.names()))
        return handler(rest)

    def names(self):
        return ", ".join("%" + n[5:] for n in sorted(dir(type(self))) if n.startswith("line_"))

    def cell(self, head, body):
        name, _, rest = head.strip().partition(" ")
        if name in ("bash", "sh"):
            return self.shell(body)
        if name == "time":
            return self.line_time(body)
        if name == "timeit":
            return self.line_timeit(rest + "\n" + body if rest else body)
        raise MagicError(
            "no magic %%%%%s here; there are: %%%%bash, %%%%sh, %%%%time, %%%%timeit" % name)

    def line_pip(self, rest):
        raise MagicError(PIP)

    line_conda = line_pip

    def line_cd(self, rest):
        os.chdir(os.path.expanduser(rest.strip() or "~"))
        return os.getcwd()

    def line_pwd(self, rest):
        return os.getcwd()

    def line_env(self, rest):
        rest = rest.strip()
        if not rest:
            return dict(os.environ)
        name, mark, value = rest.partition("=" if "=" in rest else " ")
        if not mark:
            return os.environ.get(name)
        os.environ[name.strip()] = value.strip()
        return None

    def line_matplotlib(self, rest):
        """Figures are shown at the end of a call in any case."""

    def line_time(self, rest):
        from time import perf_counter, process_time

        tree = compile(rest.strip(), "<%time>", "exec", 0x400, True)
        wall, cpu = perf_counter(), process_time()
        value = self.run_tree(tree)
        wall, cpu = perf_counter() - wall, process_time() - cpu
        sys.stdout.write("CPU time: %s, wall time: %s\n" % (duration(cpu), duration(wall)))
        return value

    def run_tree(self, tree):
        from _ast import Expr, Expression

        last = None
        if tree.body and isinstance(tree.body[-1], Expr):
            last = Expression(tree.body.pop().value)
        exec(compile(tree, "<%time>", "exec", 0, True), self.namespace)
        if last is not None:
            return eval(compile(last, "<%time>", "eval", 0, True), self.namespace)
        return None

    def line_timeit(self, rest):
        import re
        import timeit

        options = re.match(r"\s*(?:-[nr]\s*[1-9]\d{0,8}\s+)*", rest + " ").group()
        given = dict(re.findall(r"-([nr])\s*(\d+)", options))
        timer = timeit.Timer(rest[len(options):].strip() or "pass", globals=self.namespace)
        number = int(given.get("n", 0)) or timer.autorange()[0]
        runs = [t / number for t in timer.repeat(int(given.get("r", 3)), number)]
        sys.stdout.write("%s per loop (best of %d runs, %d loops each)\n" % (
            duration(min(runs)), len(runs), number))

    def shell(self, command):
        status = self.spawn(command, None)
        self.namespace["_exit_code"] = status

    def capture(self, command):
        reader, writer = os.pipe()
        try:
            status, text = self.spawn_and_read(command, reader, writer)
        finally:
            os.close(reader)
        self.namespace["_exit_code"] = status
        return text.decode("utf-8", "replace").splitlines()

    def spawn_and_read(self, command, reader, writer):
        parts = []

        def drain():
            os.close(writer)
            while True:
                part = os.read(reader, 65536)
                if not part:
                    return
                parts.append(part)

        return self.spawn(command, writer, drain), b"".join(parts)

    def spawn(self, command, stdout, meanwhile=None):
        """Runs /bin/sh in a process group of its own; an interrupt ends the whole group."""
        actions = [(os.POSIX_SPAWN_DUP2, stdout, 1)] if stdout is not None else []
        pid = os.posix_spawn(
            "/bin/sh", ["sh", "-c", self.fill_in(command)], os.environ, file_actions=actions,
            setpgroup=0, setsigmask=(), setsigdef=(2, 13))
        try:
            if meanwhile is not None:
                meanwhile()
            status = os.waitpid(pid, 0)[1]
        except BaseException:
            os.killpg(pid, 9)
            os.waitpid(pid, 0)
            raise
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)

    def fill_in(self, command):
        """`{expression}` becomes its value when it is Python; `{print $1}` stays as it is."""
        if "{" not in command:
            return command
        out, rest = [], command
        while True:
            before, mark, after = rest.partition("{")
            out.append(before)
            if not mark:
                return "".join(out)
            inside, mark, after_it = after.partition("}")
            value = self.value_of(inside) if mark else None
            if value is None:
                out.append("{")
                rest = after
            else:
                out.append(value)
                rest = after_it

    def value_of(self, expression):
        try:
            code = compile(expression.strip(), "<shell>", "eval", 0, True)
            return str(eval(code, self.namespace))
        except Exception:
            return None


def call_text(kind, name, rest):
    return "%s(%r, %r, %r)" % (HOOK, kind, name, rest)


def translate_line(line):
    """The line as a call, or None when it is no magic."""
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)]
    if bare.startswith("!"):
        return indent + call_text("shell", "", bare.lstrip("!"))
    if bare.startswith("%"):
        name, _, rest = bare[1:].partition(" ")
        name = name.strip()
        return indent + call_text("line", name, rest) if name.isidentifier() else None
    target, mark, rest = bare.partition("=")
    rest = rest.lstrip()
    if mark and rest[:1] in ("!", "%") and all(
            t.strip().isidentifier() for t in target.split(",")):
        if rest[0] == "!":
            return indent + target + "= " + call_text("capture", "", rest[1:])
        name, _, tail = rest[1:].partition(" ")
        return indent + target + "= " + call_text("line", name, tail)
    return None


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return "%.3g %s" % (seconds * scale, unit)
    return "%.3g ns" % (seconds * 1e9)
