"""A WebSocket by hand: what its host says can be read byte by byte."""
import base64
import os
import socket
import ssl


def upgrade(host, port, path, seconds):
    """(socket, stream, status line): asked for with $KEY, the answer's head read."""
    peer = ssl.create_default_context().wrap_socket(
        socket.create_connection((host, port), timeout=seconds), server_hostname=host)
    stream = peer.makefile("rb")
    key = base64.b64encode(os.urandom(16)).decode()
    peer.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                  f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                  f"Sec-WebSocket-Version: 13\r\nAuthorization: {os.environ['KEY']}\r\n\r\n").encode())
    status = stream.readline().decode().strip()
    while stream.readline() not in (b"\r\n", b""):
        pass
    return peer, stream, status
