"""What the tests of the srt door share: srt under its own name, settings, servers on the host."""
import http.server
import json
import os
import re
import socket
import socketserver
import subprocess
import threading

import harness
from harness import DEADLINE, IS_ROOT, PYTHON, CliTest, Ended  # noqa: F401


def settings(allow=(), deny=(), read=(), write=(), **more):
    """Settings as a dictionary; `network`, `filesystem` and other keys on top."""
    out = {"network": {"allowedDomains": list(allow), "deniedDomains": list(deny)},
           "filesystem": {"denyRead": list(read), "allowWrite": list(write), "denyWrite": []}}
    for section, value in more.items():
        if isinstance(value, dict) and section in out:
            out[section].update(value)
        else:
            out[section] = value
    return out


class SrtTest(CliTest):
    """srt is a link to the binary, as installed; each test has a home and a project of its own."""

    def setUp(self):
        super().setUp()
        self.bin = self.folder("bin")
        self.srt_path = os.path.join(self.bin, "srt")
        os.symlink(harness.BINARY, self.srt_path)

    def settings_file(self, said, name="settings.json"):
        return self.file(name, said if isinstance(said, str) else json.dumps(said))

    def srt(self, *words, said=None, env=None, cwd=None, stdin=b"", deadline=DEADLINE, **popen):
        """Runs srt to its end, with these settings when there are any."""
        options = ["-s", self.settings_file(said)] if said is not None else []
        feed = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        done = subprocess.run([self.srt_path, *options, *words], env=self.environment(env),
                              cwd=cwd or self.project, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=deadline, **feed, **popen)
        return Ended(done.returncode, done.stdout, done.stderr)

    def srt_ok(self, *words, **how):
        ended = self.srt(*words, **how)
        self.assertEqual(ended.code, 0, ended)
        return ended

    def sh(self, text, **how):
        return self.srt("sh", "-c", text, **how)

    def sh_ok(self, text, **how):
        return self.srt_ok("sh", "-c", text, **how)

    def python(self, text, **how):
        return self.srt(PYTHON, "-c", text, **how)

    def start_srt(self, *words, said=None, env=None, cwd=None, **popen):
        options = ["-s", self.settings_file(said)] if said is not None else []
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        child = subprocess.Popen([self.srt_path, *options, *words], env=self.environment(env),
                                 cwd=cwd or self.project, **popen)
        self.addCleanup(self.put_away, child)
        return child

    def assert_srt_refused(self, ended, *parts):
        """srt's own error: exit 1, one line that names the thing, one that says what to do."""
        self.assertEqual(ended.code, 1, ended)
        self.assertEqual(ended.out, "", ended)
        self.assertRegex(ended.err, r"\Asrt: [^\n]+\nhint: [^\n]+\n\Z", ended)
        for part in parts:
            self.assertIn(part, ended.err, ended)

    def violations(self, ended):
        """The lines between the tags at the end of stderr."""
        found = re.search(r"\n<sandbox_violations>\n(.*)</sandbox_violations>\n\Z", ended.err,
                          re.DOTALL)
        return found.group(1).splitlines() if found else []

    def project_file(self, name, text="", mode=0o644):
        return self.file(os.path.join("project", name), text, mode)

    # ---- servers on the host's loopback ----

    def web_server(self, body=b"hello from the host", tokens=None, kind="text/plain"):
        """Answers every GET; its port. What stood in X-Token is added to `tokens`."""
        tokens = [] if tokens is None else tokens

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Type", kind)
                self.send_header("X-Secret-Header", "1")
                self.end_headers()
                self.wfile.write(body)
                tokens.append(self.headers.get("X-Token"))

            def log_message(self, *words):
                pass
        return self._serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))

    def parent_proxy(self, path=None):
        """A proxy that answers every request itself: its port (or, with `path`, a socket there)
        and the list of what it was asked."""
        asked = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                line = self.rfile.readline().decode("latin1").split()
                while self.rfile.readline().strip():
                    pass
                if len(line) < 2:
                    return asked.append(f"{line}, and then the end")
                asked.append(f"{line[0]} {line[1]}")
                if line[0] == "CONNECT":
                    self.wfile.write(b"HTTP/1.1 200 ok\r\n\r\n")
                    data = self.connection.recv(4096)
                    if data:
                        self.wfile.write(b"HTTP/1.1 200 ok\r\nContent-Length: 6\r\n\r\ntunnel")
                    return
                self.wfile.write(b"HTTP/1.1 200 ok\r\nContent-Length: 5\r\n"
                                 b"Connection: close\r\n\r\nproxy")

        if path:
            class Server(socketserver.ThreadingUnixStreamServer):
                daemon_threads = True
            return self._serve(Server(path, Handler)), asked

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
        return self._serve(Server(("127.0.0.1", 0), Handler)), asked

    def socks_proxy(self):
        """SOCKS5 without a password; answers every connection itself and notes its name."""
        asked = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                version, methods = self.rfile.read(2)
                self.rfile.read(methods)
                self.wfile.write(b"\x05\x00")
                _, _, _, kind = self.rfile.read(4)
                if kind != 3:
                    return
                name = self.rfile.read(self.rfile.read(1)[0]).decode()
                asked.append(f"{name}:{int.from_bytes(self.rfile.read(2), 'big')}")
                self.wfile.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
                while self.rfile.readline().strip():
                    pass
                self.wfile.write(b"HTTP/1.1 200 ok\r\nContent-Length: 5\r\n"
                                 b"Connection: close\r\n\r\nsocks")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
        return self._serve(Server(("127.0.0.1", 0), Handler)), asked

    def unix_server(self, path):
        """Greets whoever connects."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)

        def greet():
            while True:
                try:
                    one, _ = listener.accept()
                except OSError:
                    return
                with one:
                    try:
                        one.sendall(b"hello")
                    except BrokenPipeError:
                        pass  # who came has left already
        greeter = threading.Thread(target=greet, daemon=True)
        greeter.start()

        def end():
            """A closed listener wakes nobody, and its number is the next one's: who waits there would
            take the connections of another test's server."""
            listener.shutdown(socket.SHUT_RDWR)
            greeter.join()
            listener.close()
        self.addCleanup(end)
        return path

    def _serve(self, server):
        threading.Thread(target=server.serve_forever, daemon=True, args=(0.05,)).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]  # of a unix socket: no port, and nobody asks


FETCH = ("import sys,urllib.request,urllib.error\n"
         "try: print(urllib.request.urlopen(sys.argv[1],timeout=25).read().decode())\n"
         "except urllib.error.HTTPError as e: print(e.code, e.reason, e.read().decode())\n")
