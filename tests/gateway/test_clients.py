"""Programs that people use: what is allowed works, byte for byte; the rest fails and is told."""
import os

import harness
import names
import world
from harness import INSIDE, PYTHON, TEXT, WITHOUT_PROXIES

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
PATH = "/text"


class HttpClient:
    """The cases of every program that fetches a URL. A subclass says how it is called."""

    flags = []

    def command(self, url):
        raise NotImplementedError

    def fetch(self, policy, url, before=()):
        return self.cell([*self.flags, *policy], [*before, *self.command(url)])

    def expected(self):
        return TEXT

    def assert_fetched(self, policy, url, before=()):
        self.assert_works(self.fetch(policy, url, before), self.expected())

    def test_allowed_name_gives_the_right_bytes_over_http(self):
        self.assert_fetched(["--allow-domain", "www.harbor.test"], "http://www.harbor.test" + PATH)

    def test_allowed_name_gives_the_right_bytes_over_https(self):
        self.assert_fetched(["--allow-domain", "www.harbor.test"], "https://www.harbor.test" + PATH)

    def test_name_below_a_wildcard_is_reached(self):
        self.assert_fetched(["--allow-domain", "*.harbor.test"],
                            "https://api.deep.harbor.test" + PATH)

    def test_allowed_address_is_reached(self):
        self.assert_fetched(["--allow-domain", names.FAR], f"http://{names.FAR}" + PATH)

    def test_allowed_port_is_reached(self):
        self.assert_fetched(["--allow-domain", "www.harbor.test:8443"],
                            "https://www.harbor.test:8443" + PATH)

    def test_allowed_name_is_reached_without_proxy_variables(self):
        self.assert_fetched(["--allow-domain", "www.harbor.test"], "https://www.harbor.test" + PATH,
                            before=WITHOUT_PROXIES)

    def test_other_name_fails_quickly_and_is_told(self):
        ended = self.fetch(["--allow-domain", "www.harbor.test"], "https://www.quay.test" + PATH)
        self.assert_refused(ended, "www.quay.test")

    def test_other_name_fails_quickly_and_is_told_without_proxy_variables(self):
        ended = self.fetch(["--allow-domain", "www.harbor.test"], "http://www.quay.test" + PATH,
                           before=WITHOUT_PROXIES)
        self.assert_refused(ended, "www.quay.test")

    def test_other_port_fails_quickly_and_is_told(self):
        ended = self.fetch(["--allow-domain", "www.harbor.test:8443"],
                           "https://www.harbor.test" + PATH)
        self.assert_refused(ended, "www.harbor.test:443")

    def test_other_address_fails_quickly_and_is_told(self):
        ended = self.fetch(["--allow-domain", names.FAR], f"http://{names.OTHER}" + PATH)
        self.assert_refused(ended, f"{names.OTHER}:80")

    def test_denied_name_below_an_allowed_wildcard_fails_quickly_and_is_told(self):
        ended = self.fetch(["--allow-domain", "*.harbor.test", "--deny-domain", "www.harbor.test"],
                           "https://www.harbor.test" + PATH)
        self.assert_refused(ended, "www.harbor.test")


class Curl(HttpClient, harness.GatewayTest):
    def command(self, url):
        return ["curl", "-sSf", url]

    def test_socks_proxy_with_names_resolved_by_it_works(self):
        ended = self.cell(["--allow-domain", "www.harbor.test"],
                          [*WITHOUT_PROXIES, "curl", "-sSf", "-x", "socks5h://127.0.0.1:3128",
                           "https://www.harbor.test" + PATH])
        self.assert_works(ended, TEXT)

    def test_socks_proxy_refuses_another_name(self):
        ended = self.cell(["--allow-domain", "www.harbor.test"],
                          [*WITHOUT_PROXIES, "curl", "-sSf", "-x", "socks5h://127.0.0.1:3128",
                           "https://www.quay.test" + PATH])
        self.assert_refused(ended, "www.quay.test:443")

    def test_socks_proxy_refuses_another_address(self):
        ended = self.cell(["--allow-domain", names.FAR],
                          [*WITHOUT_PROXIES, "curl", "-sSfk", "-x", "socks5://127.0.0.1:3128",
                           f"https://{names.OTHER}" + PATH])
        self.assert_refused(ended, f"{names.OTHER}:443")

    def test_http_proxy_makes_no_tunnel_to_another_address(self):
        ended = self.cell(["--allow-domain", names.FAR],
                          ["curl", "-sSf", "--proxytunnel", f"http://{names.OTHER}" + PATH])
        self.assert_refused(ended, f"{names.OTHER}:80")

    def test_socks_proxy_with_names_resolved_before_it_works(self):
        ended = self.cell(["--allow-domain", "www.harbor.test"],
                          [*WITHOUT_PROXIES, "curl", "-sSf", "-x", "socks5://127.0.0.1:3128",
                           "https://www.harbor.test" + PATH])
        self.assert_works(ended, TEXT)

    def test_http_2_passes_through_a_tunnel(self):
        ended = self.cell(["--allow-domain", "www.harbor.test"],
                          ["curl", "-sSf", "--http2", "https://www.harbor.test/protocol"])
        self.assert_works(ended, "HTTP/2.0 www.harbor.test\n")

    def test_name_with_an_ipv6_address_alone_is_reached(self):
        ended = self.cell(["--allow-domain", "six.harbor.test"],
                          ["curl", "-sSf", "https://six.harbor.test" + PATH])
        self.assert_works(ended, TEXT)

    def test_ipv6_address_is_reached_when_it_is_allowed(self):
        url = f"http://[{names.FAR6}]{PATH}"
        for before in ([], WITHOUT_PROXIES):
            with self.subTest(before=before):
                ended = self.cell(["--allow-domain", f"[{names.FAR6}]:80"],
                                  [*before, "curl", "-g", "-sSf", url])
                self.assert_works(ended, TEXT)

    def test_ipv6_address_is_refused_when_it_is_not_allowed(self):
        url = f"http://[{names.FAR6}]{PATH}"
        for before in ([], WITHOUT_PROXIES):
            with self.subTest(before=before):
                ended = self.cell(["--allow-domain", "www.harbor.test"],
                                  [*before, "curl", "-g", "-sSf", url])
                self.assert_refused(ended, f"[{names.FAR6}]:80")

    def test_upload_arrives_whole(self):
        for url in ("http://www.harbor.test/take", "https://www.harbor.test/take"):
            with self.subTest(url=url):
                ended = self.cell(["--allow-domain", "www.harbor.test"],
                                  ["sh", "-c", "head -c 3000000 /dev/zero | "
                                   f"curl -sSf -T - {url}"])
                self.assert_works(ended)
                self.assertIn('"size": 3000000', ended.out)


class Wget(HttpClient, harness.GatewayTest):
    def command(self, url):
        return ["wget", "-q", "-t", "1", "-T", "10", "-O", "-", url]


class NodeFetch(HttpClient, harness.GatewayTest):
    flags = ["--env", f"NODE_EXTRA_CA_CERTS={BUNDLE}"]

    def command(self, url):
        return ["node", f"{INSIDE}/fetch.mjs", url]


class PythonRequests(HttpClient, harness.GatewayTest):
    flags = ["--env", f"REQUESTS_CA_BUNDLE={BUNDLE}"]

    def command(self, url):
        return [PYTHON, f"{INSIDE}/fetch_requests.py", url]


class PythonUrllib(HttpClient, harness.GatewayTest):
    def command(self, url):
        return [PYTHON, f"{INSIDE}/fetch_urllib.py", url]


if world.has_go():
    class Go(HttpClient, harness.GatewayTest):
        def command(self, url):
            return [f"{INSIDE}/gofetch", url]


class Java(HttpClient, harness.GatewayTest):
    def command(self, url):
        return ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", INSIDE, "Fetch", url,
                BUNDLE]


class GitOverHttp(HttpClient, harness.GatewayTest):
    """Clones, and shows what the clone has in it."""

    def command(self, url):
        clone = f"git clone -q {url.replace(PATH, '/repo.git')} /tmp/clone && cat /tmp/clone/README"
        return ["sh", "-c", clone]

    def expected(self):
        return "a harbor\n"


class TcpClient:
    """The cases of every program that speaks a protocol of its own to one port."""

    port = 0
    output = ""

    def command(self, host):
        raise NotImplementedError

    def call(self, policy, host, before=()):
        return self.cell(policy, [*before, *self.command(host)])

    def test_allowed_name_is_reached(self):
        self.assert_works(self.call(["--allow-domain", "db.harbor.test"], "db.harbor.test"),
                          self.output)

    def test_name_below_a_wildcard_is_reached(self):
        self.assert_works(self.call(["--allow-domain", "*.harbor.test"], "db.deep.harbor.test"),
                          self.output)

    def test_allowed_port_is_reached_without_proxy_variables(self):
        ended = self.call(["--allow-domain", f"db.harbor.test:{self.port}"], "db.harbor.test",
                          before=WITHOUT_PROXIES)
        self.assert_works(ended, self.output)

    def test_allowed_address_is_reached(self):
        ended = self.call(["--allow-domain", f"{names.FAR}:{self.port}"], names.FAR)
        self.assert_works(ended, self.output)

    def test_other_name_fails_quickly_and_is_told(self):
        ended = self.call(["--allow-domain", "db.harbor.test"], "db.quay.test")
        self.assert_refused(ended, "db.quay.test")

    def test_other_port_fails_quickly_and_is_told(self):
        ended = self.call(["--allow-domain", "db.harbor.test:1"], "db.harbor.test")
        self.assert_refused(ended, f"db.harbor.test:{self.port}")

    def test_other_address_fails_quickly_and_is_told(self):
        ended = self.call(["--allow-domain", names.OTHER], names.FAR)
        self.assert_refused(ended, f"{names.FAR}:{self.port}")


class Psql(TcpClient, harness.GatewayTest):
    port, output = names.POSTGRES, "42\n"

    def command(self, host):
        return ["psql", "-h", host, "-U", "harbor", "-d", "postgres", "-Atc", "select 40 + 2"]


class RedisCli(TcpClient, harness.GatewayTest):
    port, output = names.REDIS, "tide\n"

    def command(self, host):
        return ["redis-cli", "-h", host, "echo", "tide"]


class RawEcho(TcpClient, harness.GatewayTest):
    port, output = names.ECHO, "echoed\n"

    def command(self, host):
        return [PYTHON, f"{INSIDE}/echo.py", host, str(self.port)]

    def test_first_words_that_could_begin_a_request_are_passed_on(self):
        """A protocol may begin with a bare word and wait: the gateway must not wait for more."""
        talk = ("import socket; s = socket.create_connection(('db.harbor.test', "
                f"{self.port}), timeout=5); s.send(b'ping'); print(s.recv(9))")
        ended = self.cell(["--allow-domain", "db.harbor.test"], [PYTHON, "-c", talk])
        self.assert_works(ended, "b'ping'\n")

    def test_server_that_speaks_first_is_heard(self):
        talk = ("import socket; s = socket.create_connection(('db.harbor.test', "
                f"{names.SPEAKS_FIRST}), timeout=5); print(s.recv(99)); s.send(b'x'); "
                "print(s.recv(9))")
        ended = self.cell(["--allow-domain", "db.harbor.test"], [PYTHON, "-c", talk])
        self.assert_works(ended, "b'220 harbor ready\\r\\n'\nb'x'\n")


class SshCase(TcpClient):
    """The cell has a copy of the key: ssh insists on owning it."""

    port = names.SSH
    ssh = ("ssh -i /tmp/key -o BatchMode=yes -o StrictHostKeyChecking=no "
           "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR")

    def with_key(self, command):
        return ["sh", "-c", f"install -m 600 {INSIDE}/client_key /tmp/key && {command}"]


class Ssh(SshCase, harness.GatewayTest):
    output = "over ssh\n"

    def command(self, host):
        return self.with_key(f"{self.ssh} root@{host} echo over ssh")


class GitOverSsh(SshCase, harness.GatewayTest):
    output = "a harbor\n"

    def command(self, host):
        repository = os.path.join(self.world.folder, "site", "repo.git")
        return self.with_key(f"GIT_SSH_COMMAND='{self.ssh}' git clone -q "
                             f"ssh://root@{host}{repository} /tmp/clone && cat /tmp/clone/README")


class Grpc(TcpClient, harness.GatewayTest):
    port, output = names.GRPC, "hello pilot\n0 1 2\nbbe paen\n"

    def command(self, host):
        return [PYTHON, f"{INSIDE}/grpc_call.py", f"{host}:{self.port}", "tls"]


class GrpcInTheClear(TcpClient, harness.GatewayTest):
    port, output = names.GRPC_CLEAR, "hello pilot\n0 1 2\nbbe paen\n"

    def command(self, host):
        return [PYTHON, f"{INSIDE}/grpc_call.py", f"{host}:{self.port}", "clear"]


class WebSocket(TcpClient, harness.GatewayTest):
    port, output = names.WEBSOCKET, "HTTP/1.1 101 Switching Protocols\nclosed\n"

    def command(self, host):
        return [PYTHON, f"{INSIDE}/websocket.py", host, str(self.port)]


class WebSocketOverTls(TcpClient, harness.GatewayTest):
    port, output = names.WEBSOCKET_TLS, "HTTP/1.1 101 Switching Protocols\nclosed\n"

    def command(self, host):
        return [PYTHON, f"{INSIDE}/websocket.py", host, str(self.port), "tls"]
