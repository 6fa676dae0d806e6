"""HTTP in the clear: one host per connection, one reading of each message, rules for requests."""
import json
import os

import harness
import names
from harness import WITHOUT_PROXIES

WWW = ["--allow-domain", "www.harbor.test"]
BOTH = [*WWW, "--allow-domain", "api.harbor.test"]


class RawCase(harness.GatewayTest):
    def send(self, policy, *lines, host="www.harbor.test", port=names.RECORDER, body="",
             options=()):
        """Sends lines as one request; the recorder writes down what reaches it."""
        text = "\r\n".join(lines) + "\r\n\r\n" + body
        return self.script(policy, "raw.py", host, str(port), *options,
                           stdin=text.encode("latin-1"))

    def recorded(self, word):
        """The requests that reached the server with this word in them."""
        found = (json.loads(line) for line in self.log("requests.log").splitlines() if word in line)
        return list(found)

    words = 0

    def word(self, name):
        """One that nobody else sends."""
        self.words += 1
        return f"{name}-{os.path.basename(self.top)}-{self.words}"


class HostNames(RawCase):
    def assert_forbidden(self, ended, word):
        self.assertRegex(ended.out, r"^HTTP/1\.1 40[03] ", ended)
        self.assertEqual(self.recorded(word), [])

    def test_host_that_is_not_the_name_asked_for_is_refused(self):
        for host in ("www.quay.test", f"www.quay.test:{names.RECORDER}", names.FAR,
                     "api.harbor.test", "www.harbor.test:1", "www.harbor.test@www.quay.test"):
            with self.subTest(host=host):
                word = self.word("front")
                ended = self.send(BOTH, f"GET /{word} HTTP/1.1", f"Host: {host}",
                                  "Connection: close")
                self.assert_forbidden(ended, word)

    def test_right_host_is_passed_on(self):
        word = self.word("right")
        ended = self.send(WWW, f"GET /{word} HTTP/1.1", f"Host: www.harbor.test:{names.RECORDER}",
                          "Connection: close")
        self.assertTrue(ended.out.startswith("HTTP/1.1 200 "), ended)
        self.assertEqual(len(self.recorded(word)), 1)

    def test_denial_is_an_answer_that_a_program_can_read(self):
        ended = self.cell(WWW, ["curl", "-sS", "-i", "http://www.quay.test:8080/text"])
        head, body = ended.out.split("\r\n\r\n", 1)
        self.assertTrue(head.startswith("HTTP/1.1 403 "), ended)
        told = json.loads(body)
        self.assertIs(told["denied"], True)
        self.assertEqual((told["host"], told["port"]), ("www.quay.test", 8080))
        self.assertIn("rule", told)
        self.assertEqual(told["how_to_allow"], "--allow-domain www.quay.test:8080")
        self.assert_told(ended, "www.quay.test:8080", "--allow-domain www.quay.test:8080")

    def test_what_the_denial_says_makes_it_work(self):
        url = "http://www.quay.test:8080/text"
        told = self.cell(WWW, ["curl", "-sSf", url]).denials[0]["how_to_allow"].split()
        self.assert_works(self.cell([*WWW, *told], ["curl", "-sSf", url]), harness.TEXT)

    def test_second_request_of_a_connection_is_judged_for_itself(self):
        word = self.word("second")
        first = f"GET /{word}-1 HTTP/1.1\r\nHost: www.harbor.test:{names.RECORDER}\r\n\r\n"
        ended = self.send(BOTH, f"{first}GET /{word}-2 HTTP/1.1",
                          f"Host: api.harbor.test:{names.RECORDER}", "Connection: close")
        self.assertIn("HTTP/1.1 200 ", ended.out)
        self.assertRegex(ended.out, r"HTTP/1\.1 40[03] ")
        self.assertEqual([seen["line"] for seen in self.recorded(word)],
                         [f"GET /{word}-1 HTTP/1.1"])

    def test_second_request_to_a_proxy_is_judged_for_itself(self):
        word = self.word("proxied")
        at = f"www.harbor.test:{names.RECORDER}"
        first = f"GET http://{at}/{word}-1 HTTP/1.1\r\nHost: {at}\r\n\r\n"
        second = f"GET http://www.quay.test:{names.RECORDER}/{word}-2 HTTP/1.1"
        ended = self.send(WWW, first + second, "Host: x", "Connection: close", host="127.0.0.1",
                          port=3128)
        self.assertIn("HTTP/1.1 200 ", ended.out)
        self.assertRegex(ended.out, r"HTTP/1\.1 40[03] ")
        self.assertEqual(len(self.recorded(word)), 1)

    def test_no_host_and_several_hosts_are_bad_requests(self):
        good = f"Host: www.harbor.test:{names.RECORDER}"
        for fields in ([], [good, good], [good, "Host: www.quay.test"], ["Host:"],
                       [good, "host : www.quay.test"]):
            with self.subTest(fields=fields):
                word = self.word("hosts")
                ended = self.send(WWW, f"GET /{word} HTTP/1.1", *fields, "Connection: close")
                self.assert_forbidden(ended, word)

    def test_control_bytes_in_a_host_are_bad_requests(self):
        for host in ("www.harbor.test\0.quay.test", "www.harbor.test\rX: y", "www.harbor.test\n x",
                     "www.harbor.test\t", "www.harbor.test\x7f", "www.harbor.test%00.quay.test",
                     "www.harbor.test\xa0", "w\xc3\xbcw.harbor.test"):
            with self.subTest(host=host):
                word = self.word("control")
                ended = self.send(["--allow-domain", "*.harbor.test"],
                                  f"GET http://{host}:{names.RECORDER}/{word} HTTP/1.1",
                                  f"Host: {host}:{names.RECORDER}", "Connection: close",
                                  host="127.0.0.1", port=3128)
                if host != "www.harbor.test\t":  # blanks at the end of a value are no part of it
                    self.assert_forbidden(ended, word)

    def test_redirect_to_a_host_that_is_not_allowed_is_denied(self):
        ended = self.cell(WWW, ["curl", "-sSfL", "http://www.harbor.test/redirect-denied"])
        self.assert_refused(ended, "denied.quay.test")

    def test_redirect_to_an_allowed_host_is_followed(self):
        ended = self.cell(BOTH, ["curl", "-sSfL", "http://www.harbor.test/redirect-allowed"])
        self.assert_works(ended, harness.TEXT)


class OneReading(RawCase):
    """What could be read in two ways is not passed on (smuggling)."""

    AT = f"Host: www.harbor.test:{names.RECORDER}"

    def smuggle(self, *fields, body="", line="POST /{} HTTP/1.1"):
        word = self.word("smuggled")
        ended = self.send(WWW, line.format(word), self.AT, *fields, body=body,
                          options=["--end"])
        self.assertEqual(self.recorded(word), [], ended)
        return ended

    def test_length_and_chunks_together_are_a_bad_request(self):
        ended = self.smuggle("Content-Length: 4", "Transfer-Encoding: chunked",
                             body="0\r\n\r\nGET /inner HTTP/1.1\r\n\r\n")
        self.assertTrue(ended.out.startswith("HTTP/1.1 400 "), ended)

    def test_two_lengths_are_a_bad_request(self):
        for fields in (["Content-Length: 3", "Content-Length: 4"], ["Content-Length: 3, 4"],
                       ["Content-Length: +3"], ["Content-Length: 0x3"], ["Content-Length: -1"],
                       ["Content-Length: 99999999999999999999"]):
            with self.subTest(fields=fields):
                self.assertTrue(self.smuggle(*fields, body="abc").out.startswith("HTTP/1.1 400 "))

    def test_odd_encodings_are_bad_requests(self):
        for field in ("Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity",
                      "Transfer-Encoding: identity, chunked", "Transfer-Encoding: chunked, chunked",
                      "Transfer-Encoding : chunked", "Transfer-Encoding:\x0bchunked",
                      "Transfer-Encoding: gzip", "X: y\nTransfer-Encoding: chunked",
                      "X: y\r\n Transfer-Encoding: chunked"):
            with self.subTest(field=field):
                ended = self.smuggle(field, body="0\r\n\r\n")
                self.assertRegex(ended.out, r"^HTTP/1\.1 (400|501) ", ended)

    def test_odd_request_lines_are_refused(self):
        for line in ("GET /{} HTTP/1.1 x", "GET  /{} HTTP/1.1", "GET /{} HTTP/2.0",
                     "GET /{} HTTP/0.9", "GET /{}\x00 HTTP/1.1", "GET /{}\x01 HTTP/1.1",
                     "GET {} HTTP/1.1", "GET /{}#x HTTP/1.1"):
            with self.subTest(line=line):
                self.assertNotIn("HTTP/1.1 200", self.smuggle(line=line).out)

    def test_broken_chunks_are_not_passed_on_as_whole(self):
        for body in ("zz\r\nabc\r\n0\r\n\r\n", "-1\r\n\r\n", "3\r\nabcX0\r\n\r\n",
                     "ffffffffffffffff1\r\nabc\r\n0\r\n\r\n", "3 \x00\r\nabc\r\n0\r\n\r\n",
                     "3\nabc\n0\n\n"):
            with self.subTest(body=body):
                self.smuggle("Transfer-Encoding: chunked", body=body)

    def test_large_heads_are_refused(self):
        ended = self.smuggle("X-Long: " + "x" * 200_000)
        self.assertRegex(ended.out, r"^HTTP/1\.1 4", ended)
        ended = self.smuggle(*[f"X-{i}: y" for i in range(5000)])
        self.assertRegex(ended.out, r"^HTTP/1\.1 4", ended)

    def test_chunks_and_lengths_arrive_whole(self):
        chunks = "3;x=y\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
        for fields, body in ((["Transfer-Encoding: chunked"], chunks),
                             (["Content-Length: 7"], "abcdefg")):
            with self.subTest(fields=fields):
                word = self.word("whole")
                ended = self.send(WWW, f"POST /{word} HTTP/1.1", self.AT, *fields,
                                  "Connection: close", body=body)
                self.assertTrue(ended.out.startswith("HTTP/1.1 200 "), ended)
                self.assertEqual([seen["body"] for seen in self.recorded(word)], ["abcdefg"])

    def test_headers_of_the_hop_stay_here(self):
        word = self.word("hop")
        self.send(WWW, f"GET /{word} HTTP/1.1", self.AT, "Connection: close, X-Inner",
                  "X-Inner: 1", "Proxy-Authorization: Basic eA==", "Keep-Alive: 9", "X-Kept: 2")
        head = self.recorded(word)[0]["head"].lower()
        for name in ("x-inner", "proxy-authorization", "keep-alive:"):
            self.assertNotIn(name, head)
        self.assertIn("x-kept: 2", head)

    def test_response_in_small_chunks_arrives_whole(self):
        ended = self.cell(WWW, ["curl", "-sSf", "-H", "X-Say: " + "ebb and flow " * 20,
                                f"http://www.harbor.test:{names.CHUNKED}/"])
        self.assert_works(ended, ("ebb and flow " * 20).strip())

    def test_request_sent_byte_by_byte_is_understood(self):
        word = self.word("slowly")
        ended = self.send(WWW, f"GET /{word} HTTP/1.1", self.AT, "Connection: close",
                          options=["--slowly"])
        self.assertTrue(ended.out.startswith("HTTP/1.1 200 "), ended)

    def test_response_that_breaks_off_is_told_as_such(self):
        for before in ([], WITHOUT_PROXIES):
            with self.subTest(before=before):
                ended = self.cell(WWW, [*before, "curl", "-sS", "-o", "/dev/null",
                                        f"http://www.harbor.test:{names.DIES}/"])
                self.assertIn(ended.code, (18, 56), ended)
                self.assert_quick(ended)


class RequestRules(harness.GatewayTest):
    RULES = ["--allow-request", "GET,HEAD http://www.harbor.test/repos/*", "--allow-request",
             "GET,HEAD https://www.harbor.test/repos/*"]

    def status(self, url, *words, rules=None):
        ended = self.cell(rules or self.RULES, ["curl", "-sS", "--path-as-is", "-o", "/dev/null",
                                               "-w", "%{http_code}", *words, url])
        return ended.out

    def test_request_that_a_rule_names_passes(self):
        for scheme in ("http", "https"):
            with self.subTest(scheme=scheme):
                url = f"{scheme}://www.harbor.test/repos/one"
                self.assertEqual(self.status(url), "200")
                self.assertEqual(self.status(f"{url}?a=b", "-I"), "200")

    def test_other_method_is_refused(self):
        for scheme in ("http", "https"):
            for method in ("POST", "DELETE", "get", "TRACE", "PUT"):
                with self.subTest(scheme=scheme, method=method):
                    url = f"{scheme}://www.harbor.test/repos/one"
                    self.assertIn(self.status(url, "-X", method), ("403", "400"))

    def test_other_path_is_refused_however_it_is_spelled(self):
        for scheme in ("http", "https"):
            for path in ("/private/two", "/repos/../private/two", "/repos/%2e%2e/private/two",
                         "/repos/..%2fprivate/two", "/repos/%2e%2e%2fprivate%2ftwo",
                         "//private/two", "/repos/./../private/two", "/repos/x/..;/../private/two",
                         "/REPOS/one", "/repos", "/repos/..\\private\\two",
                         "/repos/%252e%252e/private/two", "/repos//../../private/two",
                         "/repos/.%2e/private/two", "/repos/one%00/../../private/two"):
                with self.subTest(scheme=scheme, path=path):
                    self.assertIn(self.status(f"{scheme}://www.harbor.test{path}"), ("403", "400"))

    def test_refused_request_is_told_and_never_arrives(self):
        rules = ["--allow-request", f"GET http://www.harbor.test:{names.RECORDER}/ok"]
        word = os.path.basename(self.top)
        ended = self.cell(rules, ["curl", "-sS", "-d", word,
                                  f"http://www.harbor.test:{names.RECORDER}/ok"])
        self.assertIn('"denied":true', ended.out)
        self.assert_told(ended, "www.harbor.test")
        self.assertNotIn(word, self.log("requests.log"))

    def test_host_with_rules_has_no_opaque_tunnel(self):
        rules = ["--allow-request", f"GET https://www.harbor.test:{names.ECHO}/*"]
        ended = self.script(rules, "raw.py", "www.harbor.test", str(names.ECHO), "--end",
                            stdin=b"neither TLS nor HTTP\n")
        self.assertEqual(ended.out, "", ended)
        self.assert_told(ended, "www.harbor.test")

    def test_other_port_that_is_allowed_by_name_stays_a_tunnel(self):
        flags = [*self.RULES, "--allow-domain", f"www.harbor.test:{names.ECHO}"]
        ended = self.script(flags, "echo.py", "www.harbor.test", str(names.ECHO))
        self.assert_works(ended, "echoed\n")

    def test_web_socket_passes_where_its_request_does(self):
        rules = ["--allow-request", f"GET http://ws.harbor.test:{names.WEBSOCKET}/chat"]
        ended = self.script(rules, "websocket.py", "ws.harbor.test", str(names.WEBSOCKET))
        self.assert_works(ended, "HTTP/1.1 101 Switching Protocols\nclosed\n")
        rules = ["--allow-request", f"GET http://ws.harbor.test:{names.WEBSOCKET}/other"]
        ended = self.script(rules, "websocket.py", "ws.harbor.test", str(names.WEBSOCKET))
        self.assertIn(" 403 ", ended.out)


class Budgets(harness.GatewayTest):
    def test_usage_is_told(self):
        ended = self.cell(WWW, ["curl", "-sSf", "-o", "/dev/null", "http://www.harbor.test/text"])
        self.assert_works(ended)
        self.assertEqual(ended.usage["connections"], 1)
        self.assertGreaterEqual(ended.usage["downloaded_bytes"], len(harness.TEXT))
        self.assertLess(ended.usage["downloaded_bytes"], len(harness.TEXT) + 2000)
        self.assertIn(ended.usage["uploaded_bytes"], range(20, 2000))

    def test_download_stops_at_its_limit(self):
        for url in ("http://www.harbor.test/bytes", "https://www.harbor.test/bytes"):
            with self.subTest(url=url):
                ended = self.cell([*WWW, "--download-limit", "1M"],
                                  ["curl", "-sSf", "-o", "/tmp/got", url])
                self.assert_refused(ended, "www.harbor.test", "--download-limit")
                self.assertLessEqual(ended.usage["downloaded_bytes"], 1 << 20)

    def test_upload_stops_at_its_limit(self):
        for url in ("http://www.harbor.test/take", "https://www.harbor.test/take"):
            with self.subTest(url=url):
                ended = self.cell([*WWW, "--upload-limit", "100K"],
                                  ["sh", "-c", f"head -c 1000000 /dev/zero | curl -sSf -T - {url}"])
                self.assert_refused(ended, "www.harbor.test", "--upload-limit")
                self.assertLessEqual(ended.usage["uploaded_bytes"], 100 << 10)

    def test_limit_is_for_all_connections_together(self):
        again = "curl -sSf -o /dev/null http://www.harbor.test/text"
        ended = self.cell([*WWW, "--download-limit", "600K"],
                          ["sh", "-c", f"{again} && {again} && {again}"])
        self.assert_refused(ended, "www.harbor.test")
        self.assertGreaterEqual(ended.usage["connections"], 3)

    def test_within_the_limits_everything_arrives(self):
        ended = self.cell([*WWW, "--download-limit", "1M", "--upload-limit", "10K"],
                          ["curl", "-sSf", "https://www.harbor.test/text"])
        self.assert_works(ended, harness.TEXT)

    def test_connections_beyond_the_cap_are_refused_or_wait(self):
        ended = self.script([*WWW, "--connections", "4"], "many.py", "www.harbor.test",
                            str(names.ECHO), "12")
        self.assert_works(ended)
        counts = json.loads(ended.out)
        self.assertEqual(counts["at once"], 4, ended)
        self.assertEqual(counts["afterwards"], "works", ended)
        self.assert_told(ended, "", "--connections")


class ProxyOfTheHost(harness.GatewayTest):
    ENV = {"HTTPS_PROXY": f"http://user:pass@{names.FAR}:{names.PROXY}",
           "HTTP_PROXY": f"http://{names.FAR}:{names.PROXY}"}

    def asked(self, host):
        return [line for line in self.log("proxy.log").splitlines() if host in line]

    def test_connections_go_through_it(self):
        name = f"through-{harness.IDENTITY}.harbor.test"
        for url, line in ((f"https://{name}/text", f"CONNECT {name}:443 "),
                          (f"http://{name}/text", f"GET http://{name}/text ")):
            with self.subTest(url=url):
                ended = self.cell(["--allow-domain", name], ["curl", "-sSf", url], env=self.ENV)
                self.assert_works(ended, harness.TEXT)
                self.assertIn(line, self.asked(name)[-1])
        self.assertIn("Basic dXNlcjpwYXNz", "\n".join(self.asked(name)))

    def test_the_cell_does_not_see_its_password(self):
        ended = self.cell(WWW, ["env"], env=self.ENV)
        self.assertNotIn("pass@", ended.out)
        self.assertNotIn(str(names.PROXY), ended.out)

    def test_exceptions_are_honoured(self):
        name = f"around-{harness.IDENTITY}.harbor.test"
        ended = self.cell(["--allow-domain", name], ["curl", "-sSf", f"https://{name}/text"],
                          env={**self.ENV, "NO_PROXY": "localhost,.harbor.test"})
        self.assert_works(ended, harness.TEXT)
        self.assertEqual(self.asked(name), [])

    def test_rules_hold_before_it(self):
        ended = self.cell(WWW, ["curl", "-sSf", "https://denied.quay.test/text"], env=self.ENV)
        self.assert_refused(ended, "denied.quay.test")
        self.assertEqual(self.asked("denied.quay.test"), [])
