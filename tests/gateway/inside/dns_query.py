"""dns_query.py [-t] [-s SERVER] NAME TYPE [NAME TYPE…]: a line for each: the code, the answers."""
import ipaddress
import os
import socket
import struct
import sys

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "NULL": 10, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33,
         "HTTPS": 65, "ANY": 255}
CODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}


def query(name, kind):
    labels = b"".join(bytes([len(one)]) + one for one in name.encode("latin-1").split(b"."))
    head = os.urandom(2) + struct.pack("!HHHHH", 0x0100, 1, 0, 0, 0)
    return head + labels + b"\0" + struct.pack("!HH", TYPES[kind], 1)


def skip_name(packet, at):
    while packet[at]:
        if packet[at] >= 0xc0:
            return at + 2
        at += 1 + packet[at]
    return at + 1


def show(kind, data):
    if kind in (1, 28):
        return str(ipaddress.ip_address(data))
    return data.hex()


def read(packet):
    code, count = packet[3] & 15, struct.unpack_from("!H", packet, 6)[0]
    at = skip_name(packet, 12) + 4 if count else 0
    answers = []
    for _ in range(count):
        at = skip_name(packet, at)
        kind, _class, _ttl, size = struct.unpack_from("!HHIH", packet, at)
        answers.append(show(kind, packet[at + 10:at + 10 + size]))
        at += 10 + size
    return " ".join([CODES.get(code, str(code)), *answers])


def ask(server, over_tcp, packet, patience):
    kind = socket.SOCK_STREAM if over_tcp else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as peer:
        peer.settimeout(patience)
        peer.connect((server, 53))
        if not over_tcp:
            peer.send(packet)
            return peer.recv(4096)
        peer.sendall(struct.pack("!H", len(packet)) + packet)
        stream = peer.makefile("rb")
        return stream.read(int.from_bytes(stream.read(2), "big"))


words = sys.argv[1:]
over_tcp = words[0] == "-t" and bool(words.pop(0))
server = "127.0.0.1"
if words[0] == "-s":
    server = words[1]
    words = words[2:]
for name, kind in zip(words[::2], words[1::2]):
    broken = kind.startswith("hex:")  # nobody has to answer it
    packet = bytes.fromhex(kind[4:]) if broken else query(name, kind)
    try:
        reply = ask(server, over_tcp, packet, 0.1 if broken else 8)
        right = reply and reply[:2] == packet[:2]
        print(read(reply) if right else "no answer to it", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
