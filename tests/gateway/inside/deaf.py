"""deaf.py HOST COUNT: clients that ask for a gigabyte and never read it."""
import socket
import sys
import time

host, count = sys.argv[1], int(sys.argv[2])
request = f"GET /sparse HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
peers = [socket.create_connection((host, 80), timeout=5) for _ in range(count)]
for peer in peers:
    peer.send(request)
print("deaf", flush=True)
time.sleep(100)
