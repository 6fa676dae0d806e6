"""A name server: what it answers is said by the name. It writes every question down."""
import asyncio
import ipaddress
import struct

import names

A, TXT, AAAA, SRV, CNAME = 1, 16, 28, 33, 5
TYPE_NAMES = {A: "A", TXT: "TXT", AAAA: "AAAA", SRV: "SRV", CNAME: "CNAME"}
NO_ERROR, SERVER_FAILURE, NO_NAME = 0, 2, 3

# First label → addresses. Anything else below the zones is names.FAR.
ADDRESSES = {
    "loopback": ["127.0.0.1"],
    "zero": ["0.0.0.0"],
    "link": [names.LINK_LOCAL],
    "metadata": [names.METADATA],
    "own": [names.NEAR],
    "multicast": ["224.0.0.251"],
    "broadcast": ["255.255.255.255"],
    "fake": ["198.18.0.1"],
    "loopback6": ["::1"],
    "mapped": ["::ffff:127.0.0.1"],
    "nat64": ["64:ff9b::7f00:1"],
    "own6": [names.NEAR6],
    "six": [names.FAR6],
    "both": [names.FAR, names.FAR6],
    "other": [names.OTHER],
    "mixed": ["127.0.0.1", names.FAR],  # the good one may be used, the bad one never
    "dead": ["203.0.113.99"],
    "none": [],
}


def pack_name(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def unpack_name(packet, at):
    labels = []
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("latin-1"))
        at += 1 + packet[at]
    return ".".join(labels), at + 1


class Zone:
    """(code, records) for a question; records are (name, type, ttl, data)."""

    def __init__(self):
        self.asked = {}

    def answer(self, name, kind):
        lower = name.lower()
        if not any(lower == zone or lower.endswith("." + zone) for zone in names.ZONES):
            return NO_NAME, []
        label = lower.split(".")[0]
        if label == "missing":
            return NO_NAME, []
        if label == "failing":
            return SERVER_FAILURE, []
        if label == "alias" and kind in (A, AAAA, CNAME):
            target = "loopback.harbor.test"
            return NO_ERROR, [(lower, CNAME, 60, pack_name(target)),
                              (target, A, 60, bytes([127, 0, 0, 1]))]
        if kind == TXT:
            return NO_ERROR, [(lower, TXT, 60, b"\x0atext of it")]
        if kind == SRV:
            data = struct.pack("!HHH", 0, 5, names.HTTP) + pack_name("www.harbor.test")
            return NO_ERROR, [(lower, SRV, 60, data)]
        return NO_ERROR, [(lower, kind, ttl, packed) for ttl, packed in self.addresses(label, kind)]

    def addresses(self, label, kind):
        if label.startswith("rebind"):
            if kind != A:
                return
            self.asked[label] = self.asked.get(label, 0) + 1
            first = self.asked[label] == 1
            yield 0, ipaddress.ip_address(names.FAR if first else "127.0.0.1").packed
            return
        for text in ADDRESSES.get(label, [names.FAR]):
            address = ipaddress.ip_address(text)
            if {4: A, 6: AAAA}[address.version] == kind:
                yield 60, address.packed


class Server:
    def __init__(self, log):
        self.zone = Zone()
        self.log = log

    def reply(self, packet, over_tcp):
        """The reply, or None for silence."""
        ident, _flags, questions = struct.unpack_from("!HHH", packet)
        name, end = unpack_name(packet, 12)
        kind, _class = struct.unpack_from("!HH", packet, end)
        print(name, TYPE_NAMES.get(kind, kind), "tcp" if over_tcp else "udp", file=self.log,
              flush=True)
        label = name.lower().split(".")[0]
        if label.startswith("silent"):
            return None
        cut = label == "large" and not over_tcp
        code, records = (NO_ERROR, []) if cut else self.zone.answer(name, kind)
        flags = 0x8180 | code | (0x0200 if cut else 0)
        head = struct.pack("!HHHHHH", ident, flags, questions, len(records), 0, 0)
        body = b"".join(pack_name(owner) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data
                        for owner, kind, ttl, data in records)
        return head + packet[12:end + 4] + body

    async def serve_tcp(self, reader, writer):
        try:
            while True:
                size, = struct.unpack("!H", await reader.readexactly(2))
                reply = self.reply(await reader.readexactly(size), over_tcp=True)
                if reply is not None:
                    writer.write(struct.pack("!H", len(reply)) + reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server):
        self.server = server

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        reply = self.server.reply(data, over_tcp=False)
        if reply is not None:
            self.transport.sendto(reply, addr)


async def start(log):
    server = Server(log)
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: Datagrams(server), (names.DNS, 53))
    await asyncio.start_server(server.serve_tcp, names.DNS, 53)
