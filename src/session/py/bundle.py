"""Writes the whole Python side as one file, for embedding: `python3 bundle.py > session_kernel.py`.

The output is boot.py with the other modules as strings in SOURCES and, for interpreters of the same
version as the one that runs this, compiled in COMPILED. With `--plain` there are the strings alone. It
is the same, byte for byte, for the same sources and the same Python.
"""

import base64
import marshal
import os
import sys
import zlib
from importlib.util import MAGIC_NUMBER


def read_modules(folder):
    sources = {}
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".py")):
        if name not in ("boot.py", "bundle.py"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                sources[name[:-3]] = file.read()
    return sources


def compiled(sources):
    """As boot.py's load() would compile them."""
    codes = {name: compile(text, "<caisson>/%s.py" % name, "exec", 0, True, 2)
             for name, text in sources.items()}
    packed = zlib.compress(marshal.dumps(codes), 9)
    return "(%r, %r)" % (MAGIC_NUMBER.hex(), base64.b64encode(packed).decode())


def put(boot, mark, value):
    if boot.count(mark) != 1:
        raise SystemExit("bundle: boot.py has no single line with " + mark)
    name = mark.partition(" = ")[0]
    return boot.replace(mark, name + " = " + value, 1)


def bundle(folder, plain):
    sources = read_modules(folder)
    with open(os.path.join(folder, "boot.py"), encoding="utf-8") as file:
        boot = file.read()
    lines = "".join("    %r: %r,\n" % item for item in sources.items())
    boot = put(boot, "SOURCES = {}", "{\n" + lines + "}")
    return boot if plain else put(boot, 'COMPILED = ("", "")', compiled(sources))


if __name__ == "__main__":
    sys.stdout.write(bundle(os.path.dirname(os.path.abspath(__file__)), "--plain" in sys.argv))
