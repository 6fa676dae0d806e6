"""many_tls.py HOST COUNT: opens HTTPS connections together, asks one thing on each, keeps them all, and says
how many were answered."""
import json
import socket
import ssl
import sys

host, count = sys.argv[1], int(sys.argv[2])
context = ssl.create_default_context()


def ask(peer):
    try:
        peer.sendall(f"HEAD /bytes HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return peer.recv(4096).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def connect():
    try:
        return context.wrap_socket(socket.create_connection((host, 443), timeout=20), server_hostname=host)
    except OSError:
        return None


peers = []
for _ in range(count):
    peer = connect()
    if peer and ask(peer):
        peers.append(peer)
print(json.dumps({"answered": len(peers), "again": sum(ask(peer) for peer in peers)}))
