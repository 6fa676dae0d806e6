"""websocket_held.py HOST PORT MESSAGE...: an upgrade with $KEY to a host that gives messages back, with
the credential in place of each "{}". [[message, seconds], ...] as JSON."""
import base64
import json
import os
import socket
import ssl
import sys
import time

host, port = sys.argv[1], int(sys.argv[2])
peer = ssl.create_default_context().wrap_socket(socket.create_connection((host, port), timeout=10),
                                                server_hostname=host)
stream = peer.makefile("rb")
key = base64.b64encode(os.urandom(16)).decode()
peer.sendall((f"GET /tell HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
              f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
              f"Sec-WebSocket-Version: 13\r\nAuthorization: {os.environ['KEY']}\r\n\r\n").encode())
while stream.readline() not in (b"\r\n", b""):
    pass
told = []
for message in sys.argv[3:]:
    began = time.monotonic()
    peer.sendall(bytes([0x81, 0x80 | len(message)]) + b"\0\0\0\0" + message.encode())
    _first, size = stream.read(2)
    told.append([stream.read(size).decode(), time.monotonic() - began])
print(json.dumps(told))
