"""search.py NEEDLE: looks for a value in the files and processes of its cell.

The file has the value with every byte shifted by one, and the value itself is never whole in this
process but while it compares, in one buffer that is left out.
"""
import json
import os
import re
import sys

with open(sys.argv[1], "rb") as shifted:
    NEEDLE = shifted.read()
SHIFT = bytes((byte + 1) % 256 for byte in range(256))
places, looked = [], 0


def has_it(data):
    return NEEDLE in data.translate(SHIFT)


def look(path):
    global looked
    try:
        with open(path, "rb") as data:
            looked += 1
            while piece := data.read(1 << 20):
                if has_it(piece):
                    places.append(path)
                    return
    except OSError:
        pass


def look_at_memory(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, \
                open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                start, end, rights = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line).groups()
                if "r" not in rights or "[v" in line:
                    continue
                memory.seek(int(start, 16))
                try:
                    if has_it(memory.read(int(end, 16) - int(start, 16))):
                        places.append(f"memory of {pid}: {line.strip()}")
                except OSError:
                    pass
    except OSError:
        pass


for folder in ("/etc", "/tmp", "/run", "/dev/shm"):
    for where, _folders, files in os.walk(folder):
        for name in files:
            look(os.path.join(where, name))
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "status", "mountinfo", "comm"):
        look(f"/proc/{pid}/{name}")
    look_at_memory(pid)
control = has_it(bytes((byte - 1) % 256 for byte in NEEDLE))
print(json.dumps({"places": places, "looked at": looked, "control": control}))
