"""TLS: the name in the ClientHello when it passes, and everything when the gateway ends it."""
import harness
import hello
import names
import world
from harness import INSIDE, PYTHON

WWW = ["--allow-domain", "www.harbor.test"]
BOTH = [*WWW, "--allow-domain", "www.quay.test"]
ENDED = ["--allow-request", "GET https://www.harbor.test/*"]


class ClientHellos(harness.GatewayTest):
    def send(self, policy, data, *options, host="www.harbor.test", port=443):
        return self.script(policy, "raw.py", host, str(port), "--end", *options, stdin=data)

    def assert_answered(self, ended):
        self.assertNotEqual(ended.out, "", ended)

    def assert_reset(self, ended, resource="www.harbor.test:443"):
        self.assertEqual(ended.out, "", ended)
        self.assertIn(ended.err, ("reset\n", "end\n"), ended)
        self.assert_quick(ended)
        self.assert_told(ended, resource)

    def test_right_name_is_answered(self):
        data = hello.records(hello.handshake(hello.server_name("www.harbor.test")))
        self.assert_answered(self.send(WWW, data))

    def test_right_name_in_any_case_is_answered(self):
        data = hello.records(hello.handshake(hello.server_name("WWW.harbor.TEST")))
        self.assert_answered(self.send(WWW, data))

    def test_other_name_is_refused_though_it_is_allowed_too(self):
        for name in ("www.quay.test", "denied.quay.test", "harbor.test", "x.www.harbor.test"):
            with self.subTest(name=name):
                data = hello.records(hello.handshake(hello.server_name(name)))
                self.assert_reset(self.send(BOTH, data))

    def test_no_name_is_refused_where_a_name_was_asked_for(self):
        self.assert_reset(self.send(WWW, hello.records(hello.handshake())))

    def test_no_name_is_answered_at_an_address(self):
        ended = self.send(["--allow-domain", names.FAR], hello.records(hello.handshake()),
                          host=names.FAR)
        self.assert_answered(ended)

    def test_name_at_an_address_must_be_allowed_itself(self):
        data = hello.records(hello.handshake(hello.server_name("www.quay.test")))
        ended = self.send(["--allow-domain", names.FAR], data, host=names.FAR)
        self.assert_reset(ended, f"{names.FAR}:443")

    def test_encrypted_name_is_refused(self):
        data = hello.records(hello.handshake(hello.server_name("www.harbor.test"),
                                             hello.encrypted_hello()))
        self.assert_reset(self.send(WWW, data))

    def test_two_names_are_refused(self):
        twice = hello.server_name("www.harbor.test") + hello.server_name("www.quay.test")
        for extensions in ([hello.server_name("www.harbor.test", "www.quay.test")], [twice]):
            with self.subTest(extensions=extensions):
                self.assert_reset(self.send(BOTH, hello.records(hello.handshake(*extensions))))

    def test_names_with_odd_bytes_are_refused(self):
        for name in ("www.harbor.test\0.quay.test", "www.harbor.test\r\n", "*.harbor.test", "",
                     names.FAR, "w" * 300):
            with self.subTest(name=name):
                data = hello.records(hello.handshake(hello.server_name(name)))
                self.assert_reset(self.send(WWW, data))

    def test_hello_in_pieces_is_read_whole(self):
        for name, reads in (("www.harbor.test", self.assert_answered),
                            ("www.quay.test", self.assert_reset)):
            message = hello.handshake(hello.server_name(name))
            for data, options in ((hello.records(message, 3), []), (hello.records(message, 1), []),
                                  (hello.records(message), ["--slowly"])):
                with self.subTest(name=name, size=len(data), options=options):
                    reads(self.send(BOTH, data, *options))

    def test_broken_hellos_are_refused(self):
        good = hello.records(hello.handshake(hello.server_name("www.harbor.test")))
        for data in (good[:5] + b"\x01\xff\xff\xff" + good[9:], b"\x16\x03\x01\xff\xff" + good[5:],
                     good[:40], b"\x16\x03\x01\x00\x00" * 50, b"\x80\x2e\x01\x00\x02" + b"\0" * 44):
            with self.subTest(data=data[:12]):
                ended = self.send(WWW, data)
                self.assertNotIn("HTTP/1.1 200", ended.out)
                self.assert_quick(ended)

    def test_tls_through_connect_is_looked_at_too(self):
        connect = b"CONNECT www.harbor.test:443 HTTP/1.1\r\nHost: www.harbor.test:443\r\n\r\n"
        data = hello.records(hello.handshake(hello.server_name("www.quay.test")))
        ended = self.send(BOTH, connect + data, host="127.0.0.1", port=3128)
        self.assertNotIn("\x16\x03", ended.out)
        self.assert_told(ended, "www.harbor.test:443")


class EndedTls(harness.GatewayTest):
    """A host with request rules: TLS ends at the gateway, under an authority made for the cell."""

    CLIENTS = {
        "curl": ["curl", "-sSf"],
        "wget": ["wget", "-q", "-t", "1", "-O", "-"],
        "node": ["node", f"{INSIDE}/fetch.mjs"],
        "requests": [PYTHON, f"{INSIDE}/fetch_requests.py"],
        "urllib": [PYTHON, f"{INSIDE}/fetch_urllib.py"],
    }
    if world.has_go():
        CLIENTS["go"] = [f"{INSIDE}/gofetch"]

    def test_every_client_trusts_it(self):
        for name, command in self.CLIENTS.items():
            for before in ([], harness.WITHOUT_PROXIES):
                with self.subTest(client=name, proxy=not before):
                    ended = self.cell(ENDED, [*before, *command, "https://www.harbor.test/text"])
                    self.assert_works(ended, harness.TEXT)

    def test_java_trusts_the_systems_bundle(self):
        ended = self.cell(ENDED, ["java", "-XX:TieredStopAtLevel=1", "-cp", INSIDE, "Fetch",
                                  "https://www.harbor.test/text",
                                  "/etc/ssl/certs/ca-certificates.crt"])
        self.assert_works(ended, harness.TEXT)

    def test_git_trusts_it(self):
        ended = self.cell(ENDED, ["sh", "-c", "git clone -q https://www.harbor.test/repo.git "
                                  "/tmp/clone && cat /tmp/clone/README"])
        self.assert_works(ended, "a harbor\n")

    def test_other_hosts_keep_their_own_certificates(self):
        script = ("import socket, ssl, sys; c = ssl.create_default_context();"
                  "s = c.wrap_socket(socket.create_connection((sys.argv[1], 443)),"
                  "server_hostname=sys.argv[1]); print(dict(x[0] for x in "
                  "s.getpeercert()['issuer'])['commonName'])")
        flags = [*ENDED, "--allow-domain", "api.harbor.test"]
        theirs = self.cell(flags, [PYTHON, "-c", script, "api.harbor.test"])
        ours = self.cell(flags, [PYTHON, "-c", script, "www.harbor.test"])
        self.assert_works(theirs, "Harbor authority\n")
        self.assert_works(ours)
        self.assertNotEqual(ours.out, theirs.out)

    def test_each_cell_has_an_authority_of_its_own(self):
        shown = [self.cell(ENDED, ["cat", "/etc/caisson/cell-ca.pem"]).out for _ in range(2)]
        self.assertIn("BEGIN CERTIFICATE", shown[0])
        self.assertNotEqual(*shown)

    def test_its_key_is_nowhere_in_the_cell(self):
        ended = self.cell(ENDED, ["sh", "-c", "grep -rlsI 'PRIVATE KEY' /etc /tmp /dev/shm /run "
                                  "/proc/*/environ; true"])
        self.assertEqual(ended.out, "")

    def test_host_whose_certificate_is_not_trusted_is_not_reached(self):
        ended = self.cell(["--allow-request", "GET https://www.evilharbor.test/*"],
                          ["curl", "-sS", "-k", "-w", "%{http_code}",
                           "https://www.evilharbor.test/text"])
        self.assertTrue(ended.out.endswith("502"), ended)
        self.assertNotIn("tide tables", ended.out)

    def test_refused_request_is_answered_inside_tls(self):
        ended = self.cell(ENDED, ["curl", "-sS", "-d", "x", "https://www.harbor.test/take"])
        self.assertIn('"denied":true', ended.out)

    def test_other_name_in_the_hello_is_refused(self):
        data = hello.records(hello.handshake(hello.server_name("www.quay.test")))
        ended = self.script([*ENDED, "--allow-domain", "www.quay.test"], "raw.py",
                            "www.harbor.test", "443", "--end", stdin=data)
        self.assertEqual(ended.out, "", ended)
        self.assert_told(ended, "www.harbor.test:443")

    def test_other_host_in_the_request_is_refused(self):
        ended = self.cell([*ENDED, "--allow-request", "GET https://www.quay.test/*"],
                          ["curl", "-sS", "-w", "%{http_code}", "-H", "Host: www.quay.test",
                           "https://www.harbor.test/text"])
        self.assertRegex(ended.out, r"(400|403|421)$", ended)

    def test_upload_and_download_arrive_whole(self):
        rules = ["--allow-request", "GET,PUT https://www.harbor.test/*"]
        ended = self.cell(rules, ["sh", "-c", "head -c 3000000 /dev/zero | curl -sSf -T - "
                                  "https://www.harbor.test/take && curl -sSf -o /tmp/b "
                                  "https://www.harbor.test/bytes && sha256sum < /tmp/b"])
        self.assert_works(ended)
        self.assertIn('"size": 3000000', ended.out)
        self.assertIn(self.digest("bytes"), ended.out)

    def test_web_socket_passes(self):
        rules = ["--allow-request", f"GET https://ws.harbor.test:{names.WEBSOCKET_TLS}/chat"]
        ended = self.script(rules, "websocket.py", "ws.harbor.test", str(names.WEBSOCKET_TLS),
                            "tls")
        self.assert_works(ended, "HTTP/1.1 101 Switching Protocols\nclosed\n")


class EndedHttp2(harness.GatewayTest):
    def test_client_speaks_it(self):
        ended = self.cell(ENDED, ["curl", "-sSf", "--http2", "-o", "/tmp/got", "-w",
                                  "%{http_version}\n", "https://www.harbor.test/text"])
        self.assert_works(ended, "2\n")

    def test_body_arrives_whole(self):
        ended = self.cell(ENDED, ["curl", "-sSf", "--http2", "https://www.harbor.test/text"])
        self.assert_works(ended, harness.TEXT)

    def test_request_that_no_rule_names_is_refused(self):
        ended = self.cell(ENDED, ["curl", "-sS", "--http2", "-X", "DELETE", "-o", "/dev/null", "-w",
                                  "%{http_version} %{http_code}", "https://www.harbor.test/text"])
        self.assertEqual(ended.out, "2 403", ended)
        self.assert_told(ended, "www.harbor.test")

    def test_grpc_works(self):
        rules = ["--allow-request", f"POST https://rpc.harbor.test:{names.GRPC}/harbor.Pilot/*"]
        ended = self.script(rules, "grpc_call.py", f"rpc.harbor.test:{names.GRPC}", "tls")
        self.assert_works(ended, "hello pilot\n0 1 2\nbbe paen\n")

    def test_grpc_call_that_no_rule_names_is_refused(self):
        rules = ["--allow-request", f"POST https://rpc.harbor.test:{names.GRPC}/harbor.Other/*"]
        ended = self.script(rules, "grpc_call.py", f"rpc.harbor.test:{names.GRPC}", "tls")
        self.assertNotEqual(ended.code, 0, ended)
        self.assert_told(ended, "rpc.harbor.test")
