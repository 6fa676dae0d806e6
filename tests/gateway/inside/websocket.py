"""websocket.py HOST PORT [tls]: the upgrade, three messages there and back, a close."""
import base64
import os
import socket
import ssl
import struct
import sys

host, port = sys.argv[1], int(sys.argv[2])


def frame(opcode, data):
    mask = os.urandom(4)
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack("!H", len(data))
    return bytes([0x80 | opcode]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data))


def read_frame(stream):
    first, size = stream.read(2)
    if size == 126:
        size, = struct.unpack("!H", stream.read(2))
    return first & 0x0f, stream.read(size)


peer = socket.create_connection((host, port), timeout=10)
if "tls" in sys.argv:
    peer = ssl.create_default_context().wrap_socket(peer, server_hostname=host)
stream = peer.makefile("rb")
key = base64.b64encode(os.urandom(16)).decode()
peer.sendall((f"GET /chat HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
              f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
              "Sec-WebSocket-Version: 13\r\n\r\n").encode())
status = stream.readline().decode().strip()
while stream.readline() not in (b"\r\n", b""):
    pass
print(status)
if " 101 " not in status:
    sys.exit(1)
for message in (b"ahoy", b"x" * 5000, b"\x00\xff binary"):
    peer.sendall(frame(2, message))
    opcode, data = read_frame(stream)
    if (opcode, data) != (2, message):
        sys.exit(f"sent {message[:20]}, got {opcode} {data[:20]}")
peer.sendall(frame(8, b""))
print("closed" if read_frame(stream)[0] == 8 else "not closed")
