"""trickle.py HOST PORT COUNT: clients that send a byte a second and never finish their request."""
import socket
import sys
import time

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
peers = [socket.create_connection((host, port), timeout=5) for _ in range(count)]
print("trickling", flush=True)
for byte in b"GET /text HTTP/1.1\r\nHost: " + b"x" * 1000:
    for peer in peers:
        peer.send(bytes([byte]))
    time.sleep(1)
