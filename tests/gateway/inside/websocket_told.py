"""websocket_told.py HOST PORT [SECONDS]: an upgrade with $KEY, whose host tells it back in its first
message.

The host sends the first half of it together with its answer's head, and the rest once it has heard
from here that the head has come, which is so much later.
"""
import sys
import time

from upgrade import upgrade

peer, stream, status = upgrade(sys.argv[1], int(sys.argv[2]), "/told", 20)
print(status)
time.sleep(float(sys.argv[3]) if len(sys.argv) > 3 else 0)
peer.sendall(b"\x89\x80\0\0\0\0")  # a ping
_first, size = stream.read(2)
print(stream.read(size).decode())
