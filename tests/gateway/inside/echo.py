"""echo.py HOST PORT [BYTES]: sends bytes to an echo server and checks what comes back."""
import os
import socket
import sys
import threading

host, port, size = sys.argv[1], int(sys.argv[2]), int((sys.argv + ["100000"])[3])
sent = b"echo" + os.urandom(size - 4)  # by chance it would begin as TLS does, and be judged as that
with socket.create_connection((host, port), timeout=10) as peer:
    def send():
        peer.sendall(sent)
        peer.shutdown(socket.SHUT_WR)
    sender = threading.Thread(target=send)
    sender.start()
    got = b""
    while data := peer.recv(1 << 16):
        got += data
    sender.join()
if got != sent:
    sys.exit(f"{len(got)} bytes came back, and not the {len(sent)} that were sent")
print("echoed")
