"""deaf.py HOST COUNT [tls]: clients that ask for a gigabyte and never read it."""
import socket
import ssl
import sys
import time

host, count, tls = sys.argv[1], int(sys.argv[2]), "tls" in sys.argv[3:]
request = f"GET /sparse HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
peers = [socket.create_connection((host, 443 if tls else 80), timeout=9) for _ in range(count)]
if tls:
    context = ssl.create_default_context()
    peers = [context.wrap_socket(peer, server_hostname=host) for peer in peers]
for peer in peers:
    peer.send(request)
print("deaf", flush=True)
time.sleep(100)
