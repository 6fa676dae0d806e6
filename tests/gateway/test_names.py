"""Names and addresses: what may be looked up, and where a name may lead."""
import ipaddress
import json
import os

import harness
import names
from harness import WITHOUT_PROXIES

FAKE4 = ipaddress.ip_network("198.18.0.0/15")
FAKE6 = ipaddress.ip_network("fd63:6169:7373:6f6e::/96")
WWW = ["--allow-domain", "www.harbor.test"]


class LookUps(harness.GatewayTest):
    def look_up(self, policy, *words):
        ended = self.script(policy, "dns_query.py", *words)
        self.assert_works(ended)
        return ended.out.splitlines()

    def test_allowed_name_has_a_made_up_address_that_stays(self):
        first, second, six = self.look_up(WWW, "www.harbor.test", "A", "WWW.Harbor.Test", "A",
                                          "www.harbor.test", "AAAA")
        self.assertEqual(first, second)
        code, address = first.split()
        self.assertEqual(code, "NOERROR")
        self.assertIn(ipaddress.ip_address(address), FAKE4)
        self.assertIn(ipaddress.ip_address(six.split()[1]), FAKE6)

    def test_two_names_have_two_addresses(self):
        one, other = self.look_up(["--allow-domain", "*.harbor.test"], "a.harbor.test", "A",
                                  "b.harbor.test", "A")
        self.assertNotEqual(one, other)

    def test_other_names_are_refused_by_datagram_and_by_stream(self):
        for how in ([], ["-t"]):
            with self.subTest(how=how):
                asked = ["www.quay.test", "A", "www.quay.test", "AAAA", "harbor.test", "A",
                         "x.www.harbor.test", "A", "wwww.harbor.test", "A", "test", "A"]
                self.assertEqual(self.look_up(WWW, *how, *asked), ["REFUSED"] * 6)

    def test_name_that_carries_data_never_leaves(self):
        for label in ("secret-in-a-label", "x" * 63):
            with self.subTest(label=label):
                self.look_up(["--allow-domain", "harbor.test"], f"{label}.harbor.test", "A",
                             f"{label}.quay.test", "TXT")
                self.assertNotIn(label, self.log("dns.log"))

    def test_look_up_alone_asks_nobody(self):
        """A cell that may reach *.harbor.test could spell its data in such names."""
        name = f"look-up-{os.path.basename(self.top)}.harbor.test".replace("_", "-").lower()
        self.look_up(["--allow-domain", "*.harbor.test"], name, "A", name, "AAAA")
        self.assertNotIn(name, self.log("dns.log"))

    def test_any_name_server_is_the_gateway(self):
        for server in (names.DNS, "198.51.100.53", "127.0.0.1"):
            with self.subTest(server=server):
                told = self.look_up(WWW, "-s", server, "www.quay.test", "A", "www.harbor.test", "A")
                self.assertEqual(told[0], "REFUSED")
                self.assertTrue(told[1].startswith("NOERROR 198."), told)

    def test_other_types_have_no_answer_and_ask_nobody(self):
        kinds = ("TXT", "SRV", "MX", "NS", "NULL", "ANY", "CNAME", "HTTPS")
        before = self.log("dns.log")
        told = self.look_up(WWW, *[word for kind in kinds for word in ("www.harbor.test", kind)])
        self.assertLessEqual(set(told), {"REFUSED", "NOERROR"})
        self.assertEqual(self.log("dns.log"), before)

    def test_texts_and_services_are_answered_when_the_policy_says_so(self):
        policy = [*WWW, "--dns-type", "TXT", "--dns-type", "SRV"]
        text, service, other = self.look_up(policy, "www.harbor.test", "TXT", "www.harbor.test",
                                            "SRV", "www.quay.test", "TXT")
        self.assertIn(b"text of it".hex(), text)
        self.assertIn(b"harbor".hex(), service)
        self.assertEqual(other, "REFUSED")

    def test_broken_questions_stop_nobody(self):
        broken = ["00", "0001", "ffff" * 6, "000101000001000000000000c00c00010001",
                  "00010100ffff00000000000003777777" + "00" * 5, "0001" + "ff" * 500]
        asked = [word for text in broken for word in ("-", f"hex:{text}")]
        for how in ([], ["-t"]):
            with self.subTest(how=how):
                told = self.look_up(WWW, *how, *asked, "www.harbor.test", "A")
                self.assertTrue(told[-1].startswith("NOERROR 198."), told)
                self.assertFalse([one for one in told[:-1] if one.startswith("NOERROR")], told)

    def test_refused_name_is_told(self):
        ended = self.script(WWW, "dns_query.py", "www.quay.test", "A")
        self.assert_told(ended, "www.quay.test")


class Patterns(harness.GatewayTest):
    def fetch(self, allow, url, *more):
        flags = [word for one in allow for word in ("--allow-domain", one)]
        return self.cell([*flags, *more], ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}",
                                           "-k", url])

    def test_wildcard_gives_200_below_it(self):
        for url in ("http://api.harbor.test/text", "https://api.harbor.test/text",
                    "https://a.deep.harbor.test/text"):
            with self.subTest(url=url):
                self.assert_works(self.fetch(["*.harbor.test"], url), "200")

    def test_wildcard_never_matches_the_apex(self):
        ended = self.fetch(["*.harbor.test"], "https://harbor.test/text")
        self.assert_refused(ended, "harbor.test")

    def test_wildcard_ends_at_a_dot(self):
        for url in ("https://evilharbor.test/text", "https://www.evilharbor.test/text"):
            with self.subTest(url=url):
                self.assert_refused(self.fetch(["*.harbor.test", "harbor.test"], url),
                                    "evilharbor.test")

    def test_name_that_only_ends_alike_is_there_when_it_is_allowed(self):
        """The control of the above: its server answers."""
        for host in ("evilharbor.test", "www.evilharbor.test"):
            self.assert_works(self.fetch([host], f"http://{host}/text"), "200")

    def test_wildcard_never_matches_an_address(self):
        ended = self.fetch(["*.harbor.test"], f"https://{names.FAR}/text")
        self.assert_refused(ended, names.FAR)

    def test_name_is_the_same_in_any_case_and_with_a_dot_at_its_end(self):
        for url in ("http://WWW.Harbor.TEST/text", "http://www.harbor.test./text"):
            for before in ([], WITHOUT_PROXIES):
                with self.subTest(url=url, before=before):
                    ended = self.cell(["--allow-domain", "Www.Harbor.Test."],
                                      [*before, "curl", "-sSf", "-o", "/dev/null", url])
                    self.assert_works(ended)

    def test_spellings_that_are_no_pattern_are_errors(self):
        for text in ("*", "*.test", "w*.harbor.test", "*harbor.test", "b\u00fccher.test",
                     "http://www.harbor.test", "www.harbor.test/path", "www.harbor.test:0",
                     "www.harbor.test:99999", "user@www.harbor.test", "", "a b.test", "1.2.3",
                     "0x7f.1", "010.1.2.3", "10.0.0.0/8"):
            with self.subTest(text=text):
                ended = self.fetch([text], "http://www.harbor.test/text")
                self.assertEqual(ended.code, 125, ended)

    def test_nothing_said_reaches_nothing(self):
        ended = self.cell([], ["curl", "-sS", "-m", "3", f"http://{names.FAR}/text"])
        self.assertNotEqual(ended.code, 0, ended)
        self.assertEqual(ended.usage.get("connections", 0), 0)

    def test_empty_list_reaches_nothing(self):
        policy = os.path.join(self.top, "policy.json")
        with open(policy, "w", encoding="utf-8") as out:
            out.write('{"network": {"allow": []}}')
        ended = self.cell(["--policy", policy],
                          ["curl", "-sS", "-m", "3", f"http://{names.FAR}/text"])
        self.assertNotEqual(ended.code, 0, ended)

    def test_list_of_a_policy_file_is_obeyed(self):
        policy = os.path.join(self.top, "policy.json")
        with open(policy, "w", encoding="utf-8") as out:
            out.write('{"network": {"allow": ["*.harbor.test"], "deny": ["api.harbor.test"]}}')
        flags = ["--policy", policy]
        self.assert_works(self.fetch([], "http://www.harbor.test/text", *flags), "200")
        self.assertEqual(self.fetch([], "http://api.harbor.test/text", *flags).out, "403")


class WhereNamesLead(harness.GatewayTest):
    NOWHERE = ("loopback", "zero", "link", "metadata", "own", "multicast", "broadcast", "fake",
               "loopback6", "mapped", "nat64", "own6", "alias", "listed-loopback")

    def ask(self, name, port=80, allow=(), before=()):
        flags = [word for one in (name, *allow) for word in ("--allow-domain", one)]
        return self.cell(flags, [*before, "curl", "-sSf", "-m", "5", f"http://{name}:{port}/text"])

    def test_names_that_lead_to_the_host_or_its_link_are_refused(self):
        for label in self.NOWHERE:
            for before in ([], WITHOUT_PROXIES):
                with self.subTest(label=label, proxy=not before):
                    name = f"{label}.harbor.test"
                    self.assert_refused(self.ask(name, before=before), name)
        self.assert_no_canary_hit()

    def test_the_host_and_its_link_are_really_there(self):
        """The control: without caisson these addresses answer."""
        for address in ("127.0.0.1", names.METADATA, names.NEAR):
            self.assertTrue(self.world.connects(address, 80), address)

    def test_such_a_name_is_reached_when_its_address_is_allowed_too(self):
        ended = self.ask("metadata.harbor.test", allow=[f"{names.METADATA}:80"])
        self.assert_works(ended, harness.TEXT)
        ended = self.ask("metadata.harbor.test", port=8080, allow=[f"{names.METADATA}:80"])
        self.assert_refused(ended, "metadata.harbor.test")

    def test_the_good_one_of_several_addresses_is_used(self):
        self.assert_works(self.ask("mixed.harbor.test"), harness.TEXT)
        self.assert_no_canary_hit()

    def test_addresses_of_the_host_are_refused_as_such(self):
        for host in ("127.0.0.1", "localhost", "[::1]", names.NEAR, f"[{names.NEAR6}]",
                     names.METADATA, "0.0.0.0", "[::ffff:127.0.0.1]", "[::]"):
            with self.subTest(host=host):
                ended = self.script(["--allow-domain", "*.harbor.test"], "raw.py", "127.0.0.1",
                                    "3128", stdin=f"CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80"
                                    "\r\n\r\n".encode())
                self.assertRegex(ended.out, r"^HTTP/1\.1 40[03] ", ended)
        self.assert_no_canary_hit()

    def test_odd_spellings_of_an_address_lead_nowhere(self):
        spellings = ("2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "0xA9.0xFE.0xA9.0xFE",
                     "169.254.43518", "169.16689662", "169.254.169.254.", "127.1", "2130706433",
                     "0x7f000001", "017700000001", "0")
        for host in spellings:
            for request in (f"CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80\r\n\r\n",
                            f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n"
                            "Connection: close\r\n\r\n"):
                with self.subTest(request=request.split("\r")[0]):
                    ended = self.script(["--allow-domain", "*.harbor.test"], "raw.py", "127.0.0.1",
                                        "3128", stdin=request.encode())
                    self.assertRegex(ended.out, r"^HTTP/1\.1 40[03] ", ended)
        self.assert_no_canary_hit()

    def test_second_look_up_that_leads_to_the_host_is_refused(self):
        name = f"rebind{os.getpid()}{harness.IDENTITY}.harbor.test"
        again = f"curl -sSf -m 5 -o /dev/null http://{name}/text"
        ended = self.cell(["--allow-domain", name], [
            "sh", "-c", f"{again} && echo first; sleep 2.2; {again} && echo second; sleep 1.2; "
            f"env -u http_proxy {again} && echo third; true"])
        self.assert_works(ended, "first\n")
        self.assert_told(ended, name)
        self.assert_no_canary_hit()

    def test_name_of_the_hosts_file_is_reached(self):
        self.assert_works(self.ask("listed.harbor.test"), harness.TEXT)

    def test_name_that_is_nobody_fails_quickly(self):
        for label in ("missing", "none", "failing"):
            with self.subTest(label=label):
                ended = self.ask(f"{label}.harbor.test")
                self.assertEqual(ended.code, 22, ended)
                self.assert_quick(ended)

    def test_answer_too_large_for_a_datagram_is_asked_for_again_by_stream(self):
        self.assert_works(self.ask("large.harbor.test"), harness.TEXT)
        self.assertIn("large.harbor.test A tcp", self.log("dns.log"))

    def test_denied_range_is_reached_by_no_name(self):
        flags = ["--allow-domain", "www.harbor.test", "--deny-address", "203.0.113.0/28"]
        ended = self.cell(flags, ["curl", "-sSf", "http://www.harbor.test/text"])
        self.assert_refused(ended, "www.harbor.test")


class EmptyLists(harness.GatewayTest):
    """T46: a list without an entry allows nothing, whatever else gives the cell a gateway."""

    def policy(self, **network):
        path = os.path.join(self.top, "policy.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"network": network}, out)
        os.chmod(path, 0o644)
        return ["--policy", path]

    def fetch(self, flags, *words):
        return self.cell(flags, [*words, "curl", "-sSf", "-m", "5", "http://www.harbor.test/text"])

    def test_empty_list_allows_nothing_where_there_is_a_gateway(self):
        for empty in ({"allow": []}, {"allow": [], "requests": [], "deny": []}, {}):
            flags = self.policy(forward=["7001"], **empty)
            for before in ([], WITHOUT_PROXIES):
                with self.subTest(empty=empty, proxy=not before):
                    self.assert_refused(self.fetch(flags, *before), "www.harbor.test")
            with self.subTest(empty=empty, address=names.FAR):
                ended = self.script(flags, "raw.py", names.FAR, str(names.ECHO), "--end",
                                    stdin=b"hello")
                self.assertEqual(ended.out, "", ended)
                self.assert_told(ended, f"{names.FAR}:{names.ECHO}")

    def test_list_with_an_entry_allows_it(self):
        """The control: what was refused above is there."""
        flags = self.policy(forward=["7001"], allow=["www.harbor.test", names.FAR])
        for before in ([], WITHOUT_PROXIES):
            self.assert_works(self.fetch(flags, *before), harness.TEXT)
        ended = self.script(flags, "raw.py", names.FAR, str(names.ECHO), "--end", stdin=b"hello")
        self.assert_works(ended, "hello")


class OtherProtocols(harness.GatewayTest):
    def test_older_socks_is_refused_at_once_in_its_own_words(self):
        port = names.HTTP.to_bytes(2, "big")
        four = b"\4\1" + port + ipaddress.ip_address(names.FAR).packed + b"me\0"
        four_a = b"\4\1" + port + b"\0\0\0\1" + b"me\0www.harbor.test\0"
        for request, host in ((four, names.FAR), (four_a, "www.harbor.test")):
            with self.subTest(host=host):
                ended = self.script(WWW, "raw.py", "127.0.0.1", "3128", stdin=request)
                self.assertEqual(ended.out, "\0[\0\0\0\0\0\0", ended)  # 0x5b: rejected
                self.assertEqual(ended.err, "end\n", ended)
                self.assert_quick(ended)
                self.assert_told(ended, f"{host}:{names.HTTP}", "socks5h://127.0.0.1:3128")

    def test_datagrams_are_refused_at_once(self):
        for host in (names.FAR, names.DNS, "198.18.0.1", "8.8.8.8", names.FAR6):
            for port in (443, 53 + 5300, 123):
                with self.subTest(host=host, port=port):
                    ended = self.script(["--allow-domain", "*.harbor.test", "--allow-domain",
                                         names.FAR], "datagram.py", host, str(port))
                    self.assertRegex(
                        ended.out, r"^(ConnectionRefused|Permission|OS)Error at once", ended)

    def test_connection_to_an_address_that_is_not_allowed_is_reset_at_once(self):
        ended = self.script(WWW, "raw.py", names.FAR, str(names.ECHO), stdin=b"hello")
        self.assertIn(ended.err, ("reset\n", "refused\n"), ended)
        self.assertEqual(ended.out, "")
        self.assert_quick(ended)
        resource = f"{names.FAR}:{names.ECHO}"
        self.assert_told(ended, resource, f"--allow-domain {resource}")

    def test_made_up_address_that_nobody_looked_up_leads_nowhere(self):
        ended = self.script(WWW, "raw.py", "198.18.77.77", "80", stdin=b"GET / HTTP/1.0\r\n\r\n")
        self.assertIn(ended.err, ("reset\n", "refused\n"), ended)


FLOOD = """
import socket, sys
def ask(name):
    try: socket.getaddrinfo(name, 80)
    except OSError: pass
for i in range(int(sys.argv[1])): ask(f"junk{i}.example")
ask("evil.example"); ask("evil.example")
for i in range(int(sys.argv[1])): ask(f"junk{i}.example")
try: socket.create_connection(("198.51.100.7", 4444), timeout=10)
except OSError: pass
"""


class Floods(harness.GatewayTest):
    """Names that are made up by the hundred hide nothing of what comes behind them."""

    def recorded(self):
        path = os.path.join(self.top, "home", ".local", "state", "caisson", "audit.jsonl")
        with open(path, encoding="utf-8") as lines:
            events = [json.loads(line)["event"] for line in lines]
        return [event for event in events if event["kind"] == "end"][-1]

    def test_what_comes_behind_a_flood_is_told_and_the_rest_is_counted(self):
        for many in (0, 150, 1300):
            with self.subTest(many=many):
                ended = self.cell(WWW, [*WITHOUT_PROXIES, harness.PYTHON, "-c", FLOOD, str(many)])
                self.assert_works(ended)
                end = self.recorded()
                self.assertEqual(end["denials"], ended.denials)
                listed = [one for one in ended.denials if "resource" in one]
                more = sum(one.get("more", 0) for one in ended.denials)
                self.assertEqual(len(listed) + more, many + 2, ended)
                self.assertEqual(end["denials_left_out"], more)
                self.assertEqual(more > 0, many > 0)
                self.assertLess(len(listed), 150)
                told = {one["resource"]: one.get("count", 1) for one in listed}
                self.assertGreaterEqual(told["dns evil.example"], 2)
                self.assertEqual(told["tcp 198.51.100.7:4444"], 1)
