"""slow_read.py HOST PORT PATH SECONDS SIZE: asks with $KEY as X-Say, and reads the answer's body.

After its head nothing is read for SECONDS, and the body of a request to /waits is sent then. Of the
answer's body: when its first pieces came and their sizes, and its last; its size; and what is left of it
without the masks of a value of SIZE bytes.
"""
import json
import os
import socket
import ssl
import sys
import time

host, port, path, seconds, size = sys.argv[1], int(sys.argv[2]), sys.argv[3], *sys.argv[4:6]
plain = socket.socket()
plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)  # so that little waits in the kernel
plain.settimeout(20)
plain.connect((host, port))
peer = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
key = os.environ["KEY"]
start = f"POST {path} HTTP/1.0\r\nContent-Length: 1" if path == "/waits" else f"GET {path} HTTP/1.0"
peer.sendall(f"{start}\r\nHost: {host}:{port}\r\nX-Say: {key}\r\n\r\n".encode())
began, body, arrived = time.monotonic(), b"", []
while b"\r\n\r\n" not in body:
    body += peer.recv(1000)
pieces = [body.split(b"\r\n\r\n", 1)[1]]
time.sleep(float(seconds))
if path == "/waits":
    peer.sendall(b"x")
while piece := peer.recv(65536):
    pieces.append(piece)
    arrived.append([time.monotonic() - began, len(piece)])
body = b"".join(pieces)
mask = key[:int(size)].ljust(int(size), "*")
rest = body.replace(mask.encode(), b"").replace(key.encode(), b"")
print(json.dumps({"arrived": arrived[:9], "last": arrived[-1][0], "size": len(body),
                  "rest": rest[:200].decode()}))
