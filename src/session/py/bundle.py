"""Writes the whole Python side as one file, for embedding: `python3 bundle.py > session_kernel.py`.

The output is boot.py with the other modules as strings in SOURCES. It is the same, byte for byte,
for the same sources.
"""

import os
import sys


def bundle(folder):
    names = sorted(n for n in os.listdir(folder) if n.endswith(".py"))
    sources = {}
    for name in names:
        if name not in ("boot.py", "bundle.py"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                sources[name[:-3]] = file.read()
    with open(os.path.join(folder, "boot.py"), encoding="utf-8") as file:
        boot = file.read()
    mark = "SOURCES = {}"
    if boot.count(mark) != 1:
        raise SystemExit("bundle: boot.py has no single line with " + mark)
    lines = "".join("    %r: %r,\n" % item for item in sorted(sources.items()))
    return boot.replace(mark, "SOURCES = {\n" + lines + "}", 1)


if __name__ == "__main__":
    sys.stdout.write(bundle(os.path.dirname(os.path.abspath(__file__))))
