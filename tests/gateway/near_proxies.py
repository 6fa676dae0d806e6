"""Proxies of somebody else's on the near side: HTTP by TCP or by a Unix socket, and SOCKS5."""
import os
import socket
import threading


def relay(one, other):
    try:
        while data := one.recv(65536):
            other.sendall(data)
    except OSError:
        pass
    try:
        other.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class NearProxy:
    """Serves each connection in a thread of its own; what was asked for is in `asked`."""

    def __init__(self, path=None, uid=0):
        self.asked, self.path = [], path
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            os.chown(path, uid, uid)
            os.chmod(path, 0o600)
            self.listener.listen(16)
            self.port = None
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                peer, _address = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve_safely, args=(peer,), daemon=True).start()

    def serve_safely(self, peer):
        with peer:
            peer.settimeout(30)
            try:
                self.serve(peer)
            except (OSError, ValueError, IndexError):
                pass

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes its thread: the number is the next one's
        self.listener.close()

    def join(self, peer, host, port, rest=b""):
        with socket.create_connection((host, port), timeout=30) as other:
            other.sendall(rest)
            back = threading.Thread(target=relay, args=(other, peer), daemon=True)
            back.start()
            relay(peer, other)
            back.join(30)


class HttpProxy(NearProxy):
    """CONNECT is relayed; a plain request is answered here."""

    def serve(self, peer):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = peer.recv(4096)
            if not piece:
                return
            head += piece
        line = head.split(b"\r\n")[0].decode()
        self.asked.append(line)
        if line.startswith("CONNECT "):
            host, port = line.split()[1].rsplit(":", 1)
            peer.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            return self.join(peer, host, int(port))
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nby proxy:)")


class SocksProxy(NearProxy):
    def serve(self, peer):
        def exactly(count):
            data = b""
            while len(data) < count:
                piece = peer.recv(count - len(data))
                if not piece:
                    raise OSError("ended")
                data += piece
            return data
        _version, methods = exactly(2)
        exactly(methods)
        peer.sendall(b"\5\0")
        kind = exactly(4)[3]
        host = exactly(exactly(1)[0]).decode() if kind == 3 else socket.inet_ntoa(exactly(4))
        port = int.from_bytes(exactly(2), "big")
        self.asked.append(f"{host}:{port}")
        peer.sendall(b"\5\0\0\1\0\0\0\0\0\0")
        self.join(peer, host, port)
