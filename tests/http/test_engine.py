"""Who may come in, and what a request must look like."""
import os
import socket
import stat

import harness
from harness import Server, ServerTest


class Doors(ServerTest):
    WORDS = ("--api",)

    def status_of(self, raw):
        self.assertTrue(raw.startswith(b"HTTP/1.1 "), raw)
        return int(raw.split(b" ")[1])

    def request(self, line, *headers, body=b"", host="localhost", token=True):
        lines = [f"{line} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
        if token:
            lines.append(f"Authorization: Bearer {self.server.token}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + body

    def test_a_token_opens_tcp(self):
        self.assertEqual(self.status_of(self.server.raw(self.request("GET /v1/health"))), 200)

    def test_without_the_token_nothing_is_told(self):
        """Neither what is there nor what isn't."""
        for line in ("GET /v1/health", "GET /health", "GET /nowhere", "POST /exec", "GET /metrics"):
            with self.subTest(line):
                raw = self.server.raw(self.request(line, token=False))
                self.assertEqual(self.status_of(raw), 401)
                self.assertIn(b"WWW-Authenticate: Bearer", raw)

    def test_wrong_tokens(self):
        token = self.server.token
        for wrong in ("", token[:-1], token + "0", "0" * len(token), token.upper() + "x"):
            with self.subTest(wrong):
                raw = self.server.raw(self.request(
                    "GET /v1/health", f"Authorization: Bearer {wrong}", token=False))
                self.assertEqual(self.status_of(raw), 401)
        raw = self.server.raw(self.request("GET /v1/health", f"Authorization: Basic {token}",
                                           token=False))
        self.assertEqual(self.status_of(raw), 401)

    def test_the_token_is_in_a_file_for_its_owner(self):
        path = os.path.join(self.server.kept, "api-token")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertGreaterEqual(len(self.server.token), 64)
        self.assertNotIn(self.server.token, "\n".join(self.server.lines))  # stderr is a file here
        with open(f"/proc/{self.server.process.pid}/cmdline") as words:
            self.assertNotIn(self.server.token, words.read())

    def test_other_hosts_are_refused(self):
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]",
                     "localhost:x", "0.0.0.0"):
            with self.subTest(host):
                raw = self.server.raw(self.request("GET /v1/health", host=host))
                self.assertEqual(self.status_of(raw), 421)
        for host in ("127.0.0.1:1", "LOCALHOST", "[::1]:80"):
            raw = self.server.raw(self.request("GET /v1/health", host=host))
            self.assertEqual(self.status_of(raw), 200)

    def test_other_origins_are_refused(self):
        for origin in ("http://evil.example", "null", "https://localhost.evil.example", "file://"):
            with self.subTest(origin):
                raw = self.server.raw(self.request("GET /v1/health", f"Origin: {origin}"))
                self.assertEqual(self.status_of(raw), 403)
        raw = self.server.raw(self.request("GET /v1/health", "Origin: http://localhost:3000"))
        self.assertEqual(self.status_of(raw), 200)

    def test_smuggled_requests_are_refused_once(self):
        """One answer, an error, and the connection ends: what is behind is never read."""
        inner = self.request("GET /v1/health")
        auth = f"Authorization: Bearer {self.server.token}\r\n"
        heads = {
            "both lengths": "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "two lengths": "Content-Length: 0\r\nContent-Length: 44\r\n",
            "list of lengths": "Content-Length: 0, 44\r\n",
            "coding twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            "odd coding": "Transfer-Encoding: xchunked\r\n",
            "coding with a tab": "Transfer-Encoding:\x0bchunked\r\n",
            "space before the colon": "Content-Length : 44\r\n",
            "signed length": "Content-Length: +44\r\n",
            "folded": "X: y\r\n Content-Length: 44\r\n",
            "bare LF": "X: y\nContent-Length: 44\r\n",
            "bare CR": "X: y\rContent-Length: 44\r\n",
        }
        for name, head in heads.items():
            with self.subTest(name):
                raw = self.server.raw(
                    f"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n{auth}{head}\r\n".encode()
                    + b"0\r\n\r\n" + inner)
                self.assertEqual(self.status_of(raw), 400)
                self.assertEqual(raw.count(b"HTTP/1.1 "), 1, raw)

    def test_bad_chunks(self):
        for name, body in {"extension": b"1;x\r\na\r\n0\r\n\r\n", "hex prefix": b"0x1\r\na\r\n",
                           "negative": b"-1\r\n", "no end": b"1\r\nab\r\n",
                           "LF": b"1\na\n0\n\n"}.items():
            with self.subTest(name):
                raw = self.server.raw(self.request(
                    "POST /v1/sessions", "Transfer-Encoding: chunked",
                    "Content-Type: application/json", body=body))
                self.assertEqual(self.status_of(raw), 400)

    def test_bodies_are_bounded_before_they_are_read(self):
        raw = self.server.raw(self.request("POST /v1/sessions", "Content-Length: 100000000",
                                           "Content-Type: application/json"))
        self.assertEqual(self.status_of(raw), 413)
        raw = self.server.raw(self.request("POST /v1/sessions", "Transfer-Encoding: chunked",
                                           "Content-Type: application/json", body=b"fffffff\r\n"))
        self.assertEqual(self.status_of(raw), 413)

    def test_bodies_that_are_under_way_have_a_bound_together(self):
        name = self.ask("POST", "/v1/sessions", {}).json["name"]
        self.addCleanup(self.ask, "DELETE", f"/v1/sessions/{name}")
        size = 600 << 20  # two of them are more than all may have
        line = f"PUT /v1/sessions/{name}/vars/x"
        with socket.create_connection(("127.0.0.1", self.server.ports[0]), timeout=60) as first:
            first.sendall(self.request(line, f"Content-Length: {size}", "Expect: 100-continue"))
            self.assertTrue(first.recv(100).startswith(b"HTTP/1.1 100 "))
            raw = self.server.raw(self.request(line, f"Content-Length: {size}"), half_close=True)
            self.assertEqual(self.status_of(raw), 503)
            self.assertIn(b"try again", raw)
            self.assertEqual(self.ask("PUT", f"/v1/sessions/{name}/vars/x", b"small").status, 200)

    def test_heads_are_bounded(self):
        raw = self.server.raw(self.request("GET /v1/health", "X: " + "x" * 70000))
        self.assertEqual(self.status_of(raw), 431)
        raw = self.server.raw(self.request("GET /v1/health", *["X: y"] * 200))
        self.assertEqual(self.status_of(raw), 431)

    def test_a_request_that_never_ends_is_dropped(self):
        raw = self.server.raw(self.request("POST /v1/sessions", "Content-Length: 100",
                                           "Content-Type: application/json", body=b"{"),
                              half_close=True)
        self.assertEqual(raw, b"")
        self.assertEqual(self.server.raw(b"GET /v1/he", half_close=True), b"")

    def test_pipelined_requests_are_answered_in_order(self):
        auth = f"Authorization: Bearer {self.server.token}"
        first = f"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n{auth}\r\n\r\n".encode()
        raw = self.server.raw(first + first + self.request("GET /v1/nowhere"))
        self.assertEqual(raw.count(b"HTTP/1.1 200 "), 2)
        self.assertEqual(raw.count(b"HTTP/1.1 404 "), 1)
        self.assertGreater(raw.find(b"HTTP/1.1 404 "), raw.rfind(b"HTTP/1.1 200 "))

    def test_methods_and_paths_that_are_not_there(self):
        raw = self.server.raw(self.request("PATCH /v1/sessions"))
        self.assertEqual(self.status_of(raw), 405)
        self.assertIn(b"Allow: GET, POST", raw)
        raw = self.server.raw(self.request("HEAD /v1/health"))
        self.assertTrue(raw.endswith(b"\r\n\r\n"), raw)

    def test_a_body_must_be_json_by_name(self):
        """A page can send forms and plain text to anywhere without asking; not this type."""
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                     "text/plain;x=,application/json", "text/plain, application/json"):
            raw = self.server.raw(self.request("POST /v1/sessions", f"Content-Type: {kind}",
                                               "Content-Length: 2", body=b"{}"))
            self.assertEqual(self.status_of(raw), 415)

    def test_only_loopback_can_be_asked_for(self):
        for word in ("0.0.0.0:0", "[::]:0", "example.org:80", "127.0.0.1:x"):
            done = harness.subprocess.run(
                [harness.BINARY, "serve", "--api", word], env=self.server.env,
                stdout=harness.subprocess.PIPE, stderr=harness.subprocess.PIPE, timeout=10)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(b"hint: ", done.stderr)


class UnixSocket(ServerTest):
    WORDS = ()

    def test_it_is_for_its_owner(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.server.socket).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.server.folder).st_mode), 0o700)
        self.assertEqual(self.ask("GET", "/v1/health").json["status"], "ok")

    def test_without_api_there_is_no_tcp(self):
        self.assertEqual(self.server.ports, [])

    @harness.unittest.skipUnless(os.getuid() == 0, "takes another user's id")
    def test_another_user_is_turned_away(self):
        """Even with the file's mode out of the way, the kernel tells who connects."""
        folders = []
        at = self.server.folder
        while at != "/tmp":
            folders.append((at, stat.S_IMODE(os.stat(at).st_mode)))
            at = os.path.dirname(at)
        folders.append((self.server.socket, 0o600))
        for path, mode in folders:
            os.chmod(path, 0o777)
            self.addCleanup(os.chmod, path, mode)
        pid = os.fork()
        if pid == 0:
            try:
                os.setgid(54321)
                os.setuid(54321)
                with socket.socket(socket.AF_UNIX) as sock:
                    sock.settimeout(10)
                    sock.connect(self.server.socket)
                    sock.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    os._exit(0 if sock.recv(100) == b"" else 3)
            except (BrokenPipeError, ConnectionResetError):
                os._exit(0)
            except BaseException:
                os._exit(4)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_a_second_server_finds_it_taken(self):
        done = harness.subprocess.run([harness.BINARY, "serve"], env=self.server.env,
                                      stdout=harness.subprocess.PIPE,
                                      stderr=harness.subprocess.PIPE, timeout=10)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"another `caisson serve` has it", done.stderr)
        self.assertEqual(self.ask("GET", "/v1/health").status, 200)  # the first one lives


class TokenFile(ServerTest):
    @classmethod
    def setUpClass(cls):
        pass

    def test_a_given_token_is_used(self):
        top = os.path.realpath(harness.tempfile.mkdtemp(prefix="caisson-http-"))
        self.addCleanup(harness.shutil.rmtree, top, ignore_errors=True)
        path = os.path.join(top, "token")
        with open(path, "w") as out:
            out.write("t" * 40 + "\n")
        os.chmod(path, 0o600)
        server = Server("--api", "--token-file", path, top=top)
        self.addCleanup(server.close)
        answer = server.ask("GET", "/v1/health", connection=server.tcp(),
                            headers={"Authorization": "Bearer " + "t" * 40})
        self.assertEqual(answer.status, 200)
        self.assertFalse(os.path.exists(os.path.join(server.kept, "api-token")))

    def test_a_token_that_others_can_read_is_refused(self):
        top = os.path.realpath(harness.tempfile.mkdtemp(prefix="caisson-http-"))
        self.addCleanup(harness.shutil.rmtree, top, ignore_errors=True)
        path = os.path.join(top, "token")
        for text, mode in (("t" * 40, 0o644), ("tooshort-0", 0o600), ("with space " * 4, 0o600)):
            with open(path, "w") as out:
                out.write(text)
            os.chmod(path, mode)
            done = harness.subprocess.run(
                [harness.BINARY, "serve", "--api", "--token-file", path],
                env={"PATH": harness.SYSTEM_PATH, "HOME": top, "XDG_STATE_HOME": top},
                stdout=harness.subprocess.PIPE, stderr=harness.subprocess.PIPE, timeout=10)
            self.assertEqual(done.returncode, 125, done)
            self.assertNotIn(text.encode(), done.stderr)
