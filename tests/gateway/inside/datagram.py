"""datagram.py HOST PORT: sends a datagram; says what came of it, and whether within a second."""
import socket
import sys
import time

host, port = sys.argv[1], int(sys.argv[2])
began = time.monotonic()
kind = socket.AF_INET6 if ":" in host else socket.AF_INET
try:
    with socket.socket(kind, socket.SOCK_DGRAM) as peer:
        peer.settimeout(5)
        peer.connect((host, port))
        peer.send(b"\xc3\x00\x00\x00\x01 is it QUIC?")
        peer.recv(100)
        told = "answered"
except OSError as error:
    told = type(error).__name__
print(told, "at once" if time.monotonic() - began < 1 else "late")
