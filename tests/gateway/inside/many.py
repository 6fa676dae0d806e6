"""many.py HOST PORT COUNT: opens connections to an echo server together, and says how many work."""
import json
import socket
import sys

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def works(peer):
    try:
        peer.settimeout(1)
        peer.sendall(b"ping\n")
        return peer.recv(5) == b"ping\n"
    except OSError:
        return False


def connect():
    try:
        return socket.create_connection((host, port), timeout=2)
    except OSError:
        return None


peers = [peer for peer in [connect() for _ in range(count)] if peer]
at_once = sum(works(peer) for peer in peers)
for peer in peers:
    peer.close()
again = False
for _ in range(20):  # the gateway notices that they are gone in its own time
    peer = connect()
    again = peer is not None and works(peer)
    if peer:
        peer.close()
    if again:
        break
print(json.dumps({"at once": at_once, "afterwards": "works" if again else "does not"}))
