#!/usr/bin/env python3
"""exec of `1+1` over HTTP keep-alive: the median of many round trips, against 0.5 ms.

    python3 bench/http_session.py BINARY [COUNT]

One JSON line per case, as the other benches give; exit 1 when a promise is not kept.
"""
import json
import os
import socket
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "http"))
sys.dont_write_bytecode = True
import harness  # noqa: E402

PROMISE_MS = 0.5


def connect(server, tcp):
    if tcp:
        sock = socket.create_connection(("127.0.0.1", server.ports[0]), timeout=30)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(server.socket)
    return sock


def round_trips(sock, request, count):
    """Plain sockets: the client's own HTTP library would be most of what is measured."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        sock.sendall(request)
        got = sock.recv(65536)
        while b"\r\n\r\n" not in got:
            got += sock.recv(65536)
        head, _, body = got.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += sock.recv(65536)
        times.append((time.perf_counter() - began) * 1000)
        assert b'"status":"ok"' in body, body
    return times


def main():
    harness.use_binary(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    server = harness.Server("--api")
    kept = True
    try:
        server.ask("POST", "/v1/sessions", {"name": "bench"})
        body = b'{"code":"1+1"}'
        for name, tcp in (("http_exec_unix", False), ("http_exec_tcp", True)):
            request = (f"POST /v1/sessions/bench/exec HTTP/1.1\r\nHost: localhost\r\n"
                       f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n").encode() + body
            sock = connect(server, tcp)
            round_trips(sock, request, count // 10)
            times = sorted(round_trips(sock, request, count))
            sock.close()
            median = statistics.median(times)
            kept = kept and median <= PROMISE_MS
            print(json.dumps({"case": name, "unit": "ms", "count": count,
                              "median": round(median, 4), "p90": round(times[count * 9 // 10], 4),
                              "min": round(times[0], 4), "promise": PROMISE_MS}))
    finally:
        server.close()
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
