"""abort.py HOST PORT COUNT: clients that go away in the middle, by a reset."""
import socket
import struct
import sys

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
address = socket.gethostbyname(host)
for i in range(count):
    peer = socket.create_connection((address, port), timeout=5)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if i % 3:
        end = "\r\n" if i % 3 == 2 else ""  # or not even a whole head
        peer.send(f"GET /bytes HTTP/1.1\r\nHost: {host}\r\n{end}".encode())
    peer.close()
print("gone")
