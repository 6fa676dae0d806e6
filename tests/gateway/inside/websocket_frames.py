"""websocket_frames.py HOST PORT PATH MESSAGE...: an upgrade with $KEY to a host that answers messages
with some in several frames. [[message, frames, pings], ...] as JSON, until the host is gone."""
import json
import sys

from upgrade import upgrade

PING, LAST = 0x89, 0x80


def answer():
    text, frames, pings, first = "", 0, 0, 0
    while first == PING or not first & LAST:
        first, size = stream.read(2)
        text += stream.read(size).decode()
        frames, pings = frames + (first != PING), pings + (first == PING)
    return [text, frames, pings]


peer, stream, _status = upgrade(sys.argv[1], int(sys.argv[2]), sys.argv[3], 10)
told = []
try:
    for message in sys.argv[4:]:
        peer.sendall(bytes([0x81, 0x80 | len(message)]) + b"\0\0\0\0" + message.encode())
        told.append(answer())
except (OSError, ValueError):  # reset, or nothing to read
    pass
print(json.dumps(told))
