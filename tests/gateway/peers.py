"""Small servers of the far side that no package has: peers.py FOLDER. Also the name server."""
import asyncio
import base64
import hashlib
import json
import os
import re
import ssl
import sys
import urllib.parse

sys.dont_write_bytecode = True

import dns_server  # noqa: E402
import names  # noqa: E402

PIECE = 65536


def log_in(folder, name):
    return open(os.path.join(folder, name), "a", encoding="utf-8", errors="backslashreplace")


async def echo(reader, writer):
    while data := await reader.read(PIECE):
        writer.write(data)
        await writer.drain()


async def speak_first(reader, writer):
    writer.write(b"220 harbor ready\r\n")
    await echo(reader, writer)


async def die(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000)
    await writer.drain()
    await asyncio.sleep(0.1)
    writer.transport.abort()


async def stay_silent(reader, _writer):
    await reader.read()


async def read_head(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = [line.split(":", 1) for line in lines[1:] if ":" in line]
    return head, lines[0], {name.lower(): value.strip() for name, value in fields}


async def read_body(reader, writer, headers):
    """Piece by piece, whatever its framing."""
    if headers.get("expect"):
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return
    left = int(headers.get("content-length", 0))
    while left:
        piece = await reader.read(min(left, PIECE))
        if not piece:
            return
        left -= len(piece)
        yield piece


class Recorder:
    """Writes each request down as a line of JSON, and answers with what it was sent."""

    def __init__(self, folder):
        self.log = log_in(folder, "requests.log")

    async def __call__(self, reader, writer):
        while True:
            head, line, headers = await read_head(reader)
            digest, size, start = hashlib.sha256(), 0, b""
            async for piece in read_body(reader, writer, headers):
                digest.update(piece)
                size += len(piece)
                start += piece[:4096 - len(start)]
            seen = {"line": line, "head": head.decode("latin-1"), "size": size,
                    "sha256": digest.hexdigest(), "body": start.decode("latin-1")}
            print(json.dumps(seen), file=self.log, flush=True)
            told = json.dumps(seen).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\n\r\n" % len(told) +
                         (b"" if line.startswith("HEAD ") else told))
            await writer.drain()
            if headers.get("connection", "").lower() == "close":
                return


async def answer_at_length(writer, say, times):
    """`say` so many times, at offsets that lie on every border sooner or later, with a length."""
    piece = b"." * (4093 - len(say)) + say
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(piece) * times))
    for _ in range(times):
        writer.write(piece)
        await writer.drain()


def answer_a_part(writer, say, wanted):
    """`say`, or of it what Range asks for, as a server of files has it."""
    found = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted or "")
    first, last = (int(one) for one in found.groups()) if found else (0, len(say) - 1)
    body = say[first:last + 1]
    head = b"206 Partial Content\r\nContent-Range: bytes %d-%d/%d" % (
        first, last, len(say)) if found else b"200 OK"
    writer.write(b"HTTP/1.1 " + head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def range_of(line, headers):
    """What part is asked for: by Range, by the names that others have for it, or as S3 does."""
    if number := re.search(r"[?&]partNumber=(\d+) ", line):
        first = 2 * (int(number.group(1)) - 1)
        return f"bytes={first}-{first + 1}"
    return next((headers[name] for name in ("x-ms-range", "range", "request-range")
                 if name in headers), None)


def answer_by_name(writer, say):
    """As httpbin's /response-headers: what was sent is the name of a header."""
    writer.write(b"HTTP/1.1 200 OK\r\nX-%s: 1\r\n%s: 2\r\n%s-too: 3\r\nX-Plain: 4\r\n"
                 b"Content-Length: 2\r\n\r\nok" % (say, say.upper(), say.title()))


async def answer_in_two(writer, first, pause, second):
    """Two chunks, the second of them `pause` seconds later."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for piece in (first, second):
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        await asyncio.sleep(pause if piece is first else 0)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def answer_in_a_row(writer, say, times):
    """`say` so many times, one right behind the other, with a length."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(say) * times))
    for _ in range(times // 1000):
        writer.write(say * 1000)
        await writer.drain()


async def answer_when_sent(reader, writer, say):
    """The first half of `say` at once, the rest when the request's body of one byte has come."""
    half = len(say) // 2
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 b"%x\r\n%s\r\n" % (half, say[:half]))
    await reader.readexactly(1)
    writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(say) - half, say[half:]))
    await writer.drain()


async def answer_held(reader, writer, path, say):
    """Bodies whose end could be the beginning of `say`, and `say` in two halves. False: none of them."""
    half = len(say) // 2
    if path == "/stays":
        await answer_in_two(writer, b"many ta" + say[:2], 3, b"!")
    elif path == "/halves":
        await answer_in_two(writer, say[:half], 0.3, say[half:])
    elif path == "/waits":
        await answer_when_sent(reader, writer, say)
    elif path.startswith("/row/"):
        await answer_in_a_row(writer, say, int(path.removeprefix("/row/")))
    else:
        return False
    return True


async def answer_in_chunks(reader, writer):
    """What stands in X-Say of the request, one byte to a chunk, each sent for itself; or, asked for
    /times/N, so many times in a body that has a length; or, asked for /part, what Range wants; or,
    asked for /name, as the name of a header, which for /broken-name has a value that is none; or as
    answer_held() says."""
    while True:
        _head, line, headers = await read_head(reader)
        say = headers.get("x-say", "").encode("latin-1")
        if await answer_held(reader, writer, line.split()[1], say):
            return
        if line.startswith("GET /times/"):
            times = int(line.split()[1].removeprefix("/times/"))
            await answer_at_length(writer, headers["x-say"].encode("latin-1"), times)
            continue
        if line.startswith(("GET /part ", "GET /part?")):
            answer_a_part(writer, headers["x-say"].encode("latin-1"), range_of(line, headers))
            await writer.drain()
            continue
        if line.startswith("GET /name "):
            answer_by_name(writer, headers["x-say"].encode("latin-1"))
            await writer.drain()
            continue
        if line.startswith("GET /broken-name "):
            writer.write(b"HTTP/1.1 200 OK\r\n%s: \1\r\n\r\n" % headers["x-say"].encode("latin-1"))
            return
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in headers.get("x-say", "nothing").encode("latin-1"):
            writer.write(b"1;odd=yes\r\n%c\r\n" % byte)
            await writer.drain()
            await asyncio.sleep(0.001)
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def websocket_frame(reader):
    """(opcode, payload) of one unfragmented frame of a client."""
    first, second = await reader.readexactly(2)
    size = second & 0x7f
    if size == 126:
        size = int.from_bytes(await reader.readexactly(2), "big")
    elif size == 127:
        size = int.from_bytes(await reader.readexactly(8), "big")
    mask = await reader.readexactly(4)
    data = await reader.readexactly(size)
    return first & 0x0f, bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))


async def websocket_tell(reader, writer, head, text):
    """`text` in two halves: one in the same write as the head, one when the client has spoken."""
    message = bytes([0x81, len(text)]) + text
    half = len(message) - len(text) // 2
    writer.write(head + message[:half])
    await websocket_frame(reader)
    writer.write(message[half:])
    await writer.drain()


def websocket_frames(opcode, data, size):
    """One message in frames of `size` bytes, with a ping in front of each but the first."""
    parts = [data[at:at + size] for at in range(0, len(data), size)]
    frames = [bytes([0x80 if part is parts[-1] else 0, len(part)]) + part for part in parts]
    frames[0] = bytes([frames[0][0] | opcode]) + frames[0][1:]
    return b"\x89\0".join(frames)


async def websocket_in_frames(reader, writer, credential):
    """Each message given back in frames of 64 bytes, with the credential in place of {}."""
    while True:
        opcode, data = await websocket_frame(reader)
        writer.write(websocket_frames(opcode, data.replace(b"{}", credential), 64))


async def websocket_with_empty_frames(reader, writer, credential):
    """The credential, with ten thousand empty frames in the middle of it, for any message."""
    await websocket_frame(reader)
    start, end = credential[:9], credential[9:]
    writer.write(bytes([0x01, len(start)]) + start + b"\0\0" * 10000 + bytes([0x80, len(end)]) + end)
    await reader.read()


async def websocket_messages(reader, writer, credential):
    """Each message given back, with the credential in place of {} when there is one."""
    while True:
        opcode, data = await websocket_frame(reader)
        data = data.replace(b"{}", credential) if credential else data
        size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + len(data).to_bytes(2, "big")
        writer.write(bytes([0x80 | opcode]) + size + data)
        if opcode == 8:
            return


async def websocket_echo(reader, writer):
    _head, line, headers = await read_head(reader)
    if headers.get("upgrade", "").lower() != "websocket":
        writer.write(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n")
        return
    key = headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest())
    head = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
    if line.startswith("GET /told "):
        return await websocket_tell(reader, writer, head, headers["authorization"].encode())
    writer.write(head)
    if line.startswith("GET /frames "):
        return await websocket_in_frames(reader, writer, headers["authorization"].encode())
    if line.startswith("GET /empty-frames "):
        return await websocket_with_empty_frames(reader, writer, headers["authorization"].encode())
    told = headers["authorization"].encode() if line.startswith("GET /tell ") else b""
    await websocket_messages(reader, writer, told)


class Proxy:
    """The proxy that a company's host has to go through: tunnels, and plain requests to absolute
    targets; each one is written down."""

    def __init__(self, folder):
        self.log = log_in(folder, "proxy.log")

    async def __call__(self, reader, writer):
        head, line, headers = await read_head(reader)
        print(line, headers.get("proxy-authorization", "-"), file=self.log, flush=True)
        method, target, _version = line.split(" ")
        if method == "CONNECT":
            _host, port = target.rsplit(":", 1)
            there_reader, there = await asyncio.open_connection(names.FAR, int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            parts = urllib.parse.urlsplit(target)
            there_reader, there = await asyncio.open_connection(names.FAR, parts.port or 80)
            there.write(head.replace(target.encode(), parts.path.encode(), 1))

        async def copy(source, sink):
            while data := await source.read(PIECE):
                sink.write(data)
                await sink.drain()
            if sink.can_write_eof():
                sink.write_eof()
        try:
            await asyncio.gather(copy(reader, there), copy(there_reader, writer))
        finally:
            there.close()


def guarded(handler):
    """A peer that goes away is no news."""
    async def serve(reader, writer):
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass
        finally:
            writer.close()
    return serve


async def main(folder):
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(os.path.join(folder, "server.pem"), os.path.join(folder, "server.key"))
    tls.set_alpn_protocols(["http/1.1"])
    recorder = Recorder(folder)
    for port, handler, context in [
            (names.ECHO, echo, None), (names.SPEAKS_FIRST, speak_first, None),
            (names.DIES, die, None), (names.SILENT, stay_silent, None),
            (names.RECORDER, recorder, None), (names.RECORDER_TLS, recorder, tls),
            (names.CHUNKED, answer_in_chunks, None), (names.CHUNKED_TLS, answer_in_chunks, tls),
            (names.WEBSOCKET, websocket_echo, None), (names.WEBSOCKET_TLS, websocket_echo, tls),
            (names.PROXY, Proxy(folder), None)]:
        await asyncio.start_server(guarded(handler), None, port, ssl=context, backlog=2048)
    await dns_server.start(log_in(folder, "dns.log"))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
