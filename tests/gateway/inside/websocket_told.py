"""websocket_told.py HOST PORT: an upgrade with $KEY, whose host tells it back in its first message.

The host sends the first half of it together with its answer's head, and the rest once it has heard
from here that the head has come.
"""
import base64
import os
import socket
import ssl
import sys

host, port = sys.argv[1], int(sys.argv[2])
peer = ssl.create_default_context().wrap_socket(socket.create_connection((host, port), timeout=20),
                                                server_hostname=host)
stream = peer.makefile("rb")
key = base64.b64encode(os.urandom(16)).decode()
peer.sendall((f"GET /told HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
              f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
              f"Sec-WebSocket-Version: 13\r\nAuthorization: {os.environ['KEY']}\r\n\r\n").encode())
status = stream.readline().decode().strip()
while stream.readline() not in (b"\r\n", b""):
    pass
print(status)
peer.sendall(b"\x89\x80\0\0\0\0")  # a ping
_first, size = stream.read(2)
print(stream.read(size).decode())
