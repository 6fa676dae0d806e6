"""echo_request.py HOST: sends an ICMP echo request; says what came of it, and whether within a second."""
import errno
import socket
import sys
import time

REQUEST = b"\x08\x00\xf7\xff\x00\x00\x00\x00"  # type 8, its checksum, no payload


def ask(kind):
    try:
        with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as peer:
            peer.settimeout(5)
            peer.sendto(REQUEST, (sys.argv[1], 0))
            peer.recv(100)
            return "answered"
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)


for name, kind in (("datagram", socket.SOCK_DGRAM), ("raw", socket.SOCK_RAW)):
    began = time.monotonic()
    told = ask(kind)
    print(name, told, "at once" if time.monotonic() - began < 1 else "late")
