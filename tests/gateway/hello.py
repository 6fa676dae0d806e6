"""ClientHellos by hand: what TLS libraries don't send, somebody will."""
import os
import struct


def sized(width, data):
    return len(data).to_bytes(width, "big") + data


def extension(kind, data):
    return struct.pack("!H", kind) + sized(2, data)


def server_name(*names):
    entries = b"".join(b"\0" + sized(2, name.encode("latin-1")) for name in names)
    return extension(0, sized(2, entries))


def encrypted_hello():
    """ECH: the name that counts is inside, where nobody between can read it."""
    inner = b"\0" + struct.pack("!HH", 1, 1) + b"\x07" + sized(2, os.urandom(32))
    return extension(0xfe0d, inner + sized(2, os.urandom(144)))


def handshake(*extensions):
    common = extension(10, sized(2, b"\x00\x17\x00\x1d")) + extension(11, b"\x01\x00") + \
        extension(13, sized(2, b"\x04\x03\x08\x04"))
    body = b"\x03\x03" + os.urandom(32) + sized(1, b"") + sized(2, b"\xc0\x2b\xc0\x2c") + \
        sized(1, b"\0") + sized(2, b"".join(extensions) + common)
    return b"\x01" + sized(3, body)


def records(message, size=16384):
    """The message in TLS records of at most `size` bytes each."""
    pieces = [message[at:at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + sized(2, piece) for piece in pieces)
