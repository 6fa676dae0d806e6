"""websocket_held.py HOST PORT MESSAGE...: an upgrade with $KEY to a host that gives messages back, with
the credential in place of each "{}". [[message, seconds], ...] as JSON."""
import json
import sys
import time

from upgrade import upgrade

peer, stream, _status = upgrade(sys.argv[1], int(sys.argv[2]), "/tell", 10)
told = []
for message in sys.argv[3:]:
    began = time.monotonic()
    peer.sendall(bytes([0x81, 0x80 | len(message)]) + b"\0\0\0\0" + message.encode())
    _first, size = stream.read(2)
    told.append([stream.read(size).decode(), time.monotonic() - began])
print(json.dumps(told))
