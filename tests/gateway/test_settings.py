"""What settings of the srt door say about the network: ended TLS, proxies of others, masks."""
import base64
import hashlib
import json
import os
import secrets
import subprocess
import sys
import time

import harness
import names
import near_proxies
import servers

sys.path.insert(0, os.path.join(servers.HERE, "inside"))
import sigv4  # noqa: E402

API, PORT = "api.harbor.test", names.RECORDER_TLS
URL, CLEAR = f"https://{API}:{PORT}", f"http://{API}:{names.RECORDER}"


def codes(*urls, options=""):
    """The status of each, as a shell would ask for them."""
    return (f"for url in {' '.join(urls)}; do "
            f"curl -sS -o /dev/null -w '%{{http_code}} ' {options} $url; done")


class Said:
    """How one command ended under the settings."""

    def __init__(self, code, out, err, seconds):
        self.code, self.seconds = code, seconds
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def __repr__(self):
        return (f"exit {self.code} after {self.seconds:.2f} s\n{self.out[-800:]!r}\n"
                f"{self.err[-1500:]!r}")


class SettingsCase(harness.GatewayTest):
    def settings(self, network, credentials=None):
        whole = {"network": {"allowedDomains": ["*.harbor.test"], "deniedDomains": [], **network},
                 "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}
        if credentials:
            whole["credentials"] = credentials
        return whole

    def own_file(self, name, text, mode=0o600):
        path = os.path.join(self.top, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        os.chown(path, self.uid, self.uid)
        os.chmod(path, mode)
        return path

    def popen_srt(self, settings, text, *options, env=None, **how):
        path = self.own_file("settings.json", json.dumps(settings))
        return subprocess.Popen(
            [self.world.binary, "srt", "-s", path, *options, "-c", text], cwd=self.project,
            env={**self.env, **(env or {})}, user=self.uid, group=self.uid, extra_groups=[],
            umask=0o022, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **how)

    def srt(self, text, network=None, credentials=None, env=None):
        began = time.monotonic()
        child = self.popen_srt(self.settings(network or {}, credentials), text, env=env)
        try:
            out, err = child.communicate(timeout=harness.DEADLINE)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate(timeout=harness.DEADLINE)
            self.fail(f"not over: {text}\n{out[-500:]!r}\n{err[-1500:]!r}")
        return Said(child.returncode, out, err, time.monotonic() - began)

    def path_of(self, name):
        return f"/{name}-{os.path.basename(self.top)}"

    def recorded(self, path):
        found = [json.loads(line) for line in self.log("requests.log").splitlines()]
        return [one for one in found if f"{path} " in one["line"]]

    def assert_out(self, said, text):
        self.assertEqual(said.out, text, said)


class Denied(SettingsCase):
    def test_reason_of_a_denied_host_is_told(self):
        network = {"deniedDomains": ["gist.harbor.test", "*:22"],
                   "deniedDomainReasons": {"gist.harbor.test": "pastes leave the company"}}
        said = self.srt("curl -sS -o /dev/null https://gist.harbor.test/repos/one; "
                        "curl -sS -i http://gist.harbor.test/repos/one", network)
        self.assertIn("HTTP/1.1 403 pastes leave the company\r\n", said.out, said)
        self.assertIn("X-Proxy-Error: blocked-by-allowlist", said.out, said)
        self.assertIn("Connection blocked by network allowlist", said.out, said)

    def test_everything_on_a_port_can_be_denied(self):
        text = codes(f"http://www.harbor.test:{names.HTTP_ALT}/repos/one")
        self.assert_out(self.srt(text), "200 ")
        self.assert_out(self.srt(text, {"deniedDomains": [f"*:{names.HTTP_ALT}"]}), "403 ")
        self.assert_out(self.srt(text, {"deniedDomains": ["*"]}), "403 ")

    def test_resolved_address_can_be_denied(self):
        text = codes("http://www.harbor.test/repos/one")
        self.assert_out(self.srt(text), "200 ")
        said = self.srt(text, {"deniedResolvedAddresses": ["203.0.113.0/24"]})
        self.assert_out(said, "403 ")


class EndedTls(SettingsCase):
    def issuer(self, host, network):
        return self.srt(f"openssl s_client -proxy 127.0.0.1:3128 -connect {host}:443 "
                        f"-servername {host} </dev/null 2>/dev/null | "
                        "openssl x509 -noout -issuer", network)

    def test_every_allowed_host_but_the_excluded_is_ended(self):
        network = {"tlsTerminate": {"excludeDomains": ["www.harbor.test"]}}
        said = self.issuer("api.harbor.test", network)
        self.assertIn("caisson cell CA", said.out, said)
        said = self.issuer("www.harbor.test", network)
        self.assertIn("issuer", said.out, said)
        self.assertNotIn("caisson cell CA", said.out, said)
        text = codes("https://api.harbor.test/repos/one", "https://www.harbor.test/repos/one")
        self.assert_out(self.srt(text, network), "200 200 ")

    def test_own_authority_signs(self):
        key, cert = os.path.join(self.top, "ca.key"), os.path.join(self.top, "ca.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                        "-out", cert, "-subj", "/CN=the company's own", "-days", "3"],
                       check=True, capture_output=True)
        for path in (key, cert):
            os.chown(path, self.uid, self.uid)
        network = {"tlsTerminate": {"caCertPath": cert, "caKeyPath": key}}
        self.assertIn("the company's own", self.issuer("api.harbor.test", network).out)
        self.assert_out(self.srt(codes("https://api.harbor.test/repos/one"), network), "200 ")
        self.assert_out(self.srt(f"cat {key}", network), "")
        other = os.path.join(self.top, "other.key")
        subprocess.run(["openssl", "genrsa", "-out", other, "2048"], check=True,
                       capture_output=True)
        os.chown(other, self.uid, self.uid)
        said = self.srt("true", {"tlsTerminate": {"caCertPath": cert, "caKeyPath": other}})
        self.assertNotEqual(said.code, 0, said)
        self.assertIn("key", said.err, said)

    def test_what_is_not_tls_passes_unless_opaque_tunnels_are_refused(self):
        text = (f"{harness.PYTHON} -c \"import socket;s=socket.create_connection("
                f"('www.harbor.test',{names.SPEAKS_FIRST}),timeout=9);print(s.recv(99))\"")
        self.assertIn("220 harbor", self.srt(text, {"tlsTerminate": {}}).out)
        said = self.srt(text, {"tlsTerminate": {}, "refuseOpaqueTunnels": True})
        self.assertNotIn("220 harbor", said.out, said)

    def test_excluded_host_is_refused_with_opaque_tunnels(self):
        network = {"tlsTerminate": {"excludeDomains": ["www.harbor.test"]},
                   "refuseOpaqueTunnels": True}
        for host, right in (("api.harbor.test", "200 0"), ("www.harbor.test", "000 403")):
            said = self.srt("curl -sS -o /dev/null -w '%{http_code} %{http_connect}' "
                            f"https://{host}/repos/one | sed 's/ 200$/ 0/'", network)
            self.assert_out(said, right)

    def test_tunnels_beyond_the_cap_are_refused(self):
        text = (f"{harness.PYTHON} - <<'END'\n"
                "import socket, ssl\n"
                "context = ssl.create_default_context()\n"
                "def reach():\n"
                f"    s = socket.create_connection(('{API}', {PORT}), timeout=9)\n"
                f"    return context.wrap_socket(s, server_hostname='{API}')\n"
                "one = reach()\n"
                "try:\n    reach()\n    print('two')\n"
                "except OSError:\n    print('one')\nEND")
        self.assert_out(self.srt(text, {"tlsTerminate": {"maxTunnels": 1}}), "one\n")
        self.assert_out(self.srt(text, {"tlsTerminate": {"maxTunnels": 2}}), "two\n")

    def test_handshake_that_takes_too_long_is_ended(self):
        text = (f"{harness.PYTHON} - <<'END'\n"
                "import socket, ssl, time\n"
                "hello = ssl.MemoryBIO(), ssl.MemoryBIO()\n"
                "tls = ssl.create_default_context().wrap_bio(*hello, server_hostname="
                f"'{API}')\n"
                "try:\n    tls.do_handshake()\nexcept ssl.SSLWantReadError:\n    pass\n"
                f"s = socket.create_connection(('{API}', {PORT}), timeout=25)\n"
                "s.sendall(hello[1].read())\nbegan = time.monotonic()\n"
                "try:\n    while s.recv(65536):\n        pass\nexcept OSError:\n    pass\n"
                "print(time.monotonic() - began < 8)\nEND")
        self.assert_out(self.srt(text, {"tlsTerminate": {"handshakeTimeoutMs": 100}}), "True\n")


class Headers(SettingsCase):
    def test_named_headers_of_answers_are_stripped(self):
        text = f"curl -sS -i {URL}/x {CLEAR}/x"
        said = self.srt(text, {"tlsTerminate": {}})
        self.assertIn("Content-Type: application/json", said.out, said)
        said = self.srt(text, {"tlsTerminate": {}, "stripResponseHeaders": ["content_type"]})
        self.assertNotIn("Content-Type: ", said.out.replace('"Content-Type: ', ""), said)
        self.assertIn("200 OK", said.out, said)

    def test_other_host_in_a_request_is_misdirected(self):
        text = codes(f"{URL}/x", f"{CLEAR}/x", options="-H 'Host: www.harbor.test'")
        self.assert_out(self.srt(text, {"tlsTerminate": {}}), "403 403 ")
        self.assert_out(self.srt(text, {"tlsTerminate": {}, "requireHostMatch": True}), "421 421 ")


class Proxies(SettingsCase):
    def proxy(self, kind, *args):
        made = kind(*args)
        self.addCleanup(made.stop)
        return made

    def test_external_http_proxy_gets_what_is_allowed_and_nothing_else(self):
        proxy = self.proxy(near_proxies.HttpProxy)
        text = codes("https://www.harbor.test/repos/one", "http://www.quay.test/")
        said = self.srt(f"{text}; curl -sS http://www.harbor.test/plain",
                        {"httpProxyPort": proxy.port})
        self.assert_out(said, "200 403 by proxy:)")
        self.assertEqual(proxy.asked, ["CONNECT www.harbor.test:443 HTTP/1.1",
                                       "GET http://www.harbor.test/plain HTTP/1.1"])

    def test_external_socks_proxy_gets_names(self):
        proxy = self.proxy(near_proxies.SocksProxy)
        said = self.srt(codes("https://www.harbor.test/repos/one", "http://www.quay.test/"),
                        {"socksProxyPort": proxy.port})
        self.assert_out(said, "200 403 ")
        self.assertEqual(proxy.asked, ["www.harbor.test:443"])

    def test_parent_proxy_is_taken_from_the_settings_and_not_from_the_environment(self):
        proxy, other = self.proxy(near_proxies.HttpProxy), self.proxy(near_proxies.HttpProxy)
        network = {"parentProxy": {"http": f"http://127.0.0.1:{proxy.port}",
                                   "https": f"http://127.0.0.1:{proxy.port}",
                                   "noProxy": "api.harbor.test"}}
        said = self.srt(codes("https://www.harbor.test/repos/one",
                              "https://api.harbor.test/repos/one"), network,
                        env={"HTTPS_PROXY": f"http://127.0.0.1:{other.port}"})
        self.assert_out(said, "200 200 ")
        self.assertEqual(proxy.asked, ["CONNECT www.harbor.test:443 HTTP/1.1"])
        self.assertEqual(other.asked, [])

    def test_hosts_of_the_mitm_proxy_go_through_its_socket(self):
        path = os.path.join(self.top, "mitm.sock")
        proxy = self.proxy(near_proxies.HttpProxy, path, self.uid)
        network = {"mitmProxy": {"socketPath": path, "domains": ["www.harbor.test"]}}
        text = codes("https://www.harbor.test/repos/one", "https://api.harbor.test/repos/one")
        said = self.srt(f"{text}; curl -sS http://www.harbor.test/plain", network)
        self.assert_out(said, "200 200 by proxy:)")
        self.assertEqual(proxy.asked, ["CONNECT www.harbor.test:443 HTTP/1.1",
                                       "GET http://www.harbor.test/plain HTTP/1.1"])

    def test_socket_that_a_cell_puts_in_its_place_is_not_connected_to(self):
        path = os.path.join(self.project, "mitm.sock")
        proxy = self.proxy(near_proxies.HttpProxy, path, self.uid)
        elsewhere = self.proxy(near_proxies.HttpProxy, os.path.join(self.top, "other.sock"),
                               self.uid)
        network = {"mitmProxy": {"socketPath": path, "domains": ["www.harbor.test"]}}
        said = self.srt(f"rm -f mitm.sock; ln -s {elsewhere.path} mitm.sock; "
                        "curl -sS http://www.harbor.test/plain", network)
        self.assert_out(said, "by proxy:)")
        self.assertEqual(elsewhere.asked, [])
        self.assertEqual(len(proxy.asked), 1)


class Masks(SettingsCase):
    def setUp(self):
        super().setUp()
        self.value = f"sk-{secrets.token_hex(20)}"

    def assert_kept(self, said):
        self.assertNotIn(self.value, said.out + said.err)

    def test_masked_variable_is_a_placeholder_inside_and_itself_at_its_host(self):
        path = self.path_of("variable")
        said = self.srt(f'echo "$KEY"; curl -sSf -o /dev/null -H "X-Api-Key: $KEY" {URL}{path}',
                        {"tlsTerminate": {}},
                        {"envVars": [{"name": "KEY", "mode": "mask", "injectHosts": [API]}]},
                        env={"KEY": self.value})
        self.assertEqual(said.code, 0, said)
        self.assertRegex(said.out, r"^caisson_KEY_[0-9a-f]{32}\n$")
        self.assertIn(f"X-Api-Key: {self.value}\r\n", self.recorded(path)[0]["head"])
        self.assert_kept(said)

    def test_masked_variable_reaches_no_other_host(self):
        path = self.path_of("other")
        said = self.srt(f'curl -sS -o /dev/null -w "%{{http_code}}" -H "X-Api-Key: $KEY" '
                        f"https://rpc.harbor.test:{PORT}{path}",
                        {"tlsTerminate": {}},
                        {"envVars": [{"name": "KEY", "mode": "mask", "injectHosts": [API]}]},
                        env={"KEY": self.value})
        self.assert_out(said, "403")
        self.assertEqual(self.recorded(path), [])

    def test_in_clear_only_when_that_is_said(self):
        path = self.path_of("clear")
        text = f'curl -sS -o /dev/null -w "%{{http_code}}" -H "X-Api-Key: $KEY" {CLEAR}{path}'
        masks = {"envVars": [{"name": "KEY", "mode": "mask", "injectHosts": [API]}]}
        self.assert_out(self.srt(text, {"tlsTerminate": {}}, masks, env={"KEY": self.value}), "403")
        said = self.srt(text, {"tlsTerminate": {}}, {**masks, "allowPlaintextInject": True},
                        env={"KEY": self.value})
        self.assert_out(said, "200")
        self.assertIn(self.value, self.recorded(path)[0]["head"])

    def test_secret_of_a_file_is_masked_where_it_stands(self):
        path = self.path_of("file")
        kept = self.own_file("config.toml", f'user = "me"\ntoken = "{self.value}"\n'
                                            f'again = "{self.value}"\n')
        one = {"path": kept, "mode": "mask", "extract": 'token = "([^"]+)"', "injectHosts": [API]}
        text = (f"cat {kept}; T=$(sed -n 's/^token = \"\\(.*\\)\"/\\1/p' {kept}); "
                f'curl -sSf -o /dev/null -H "Authorization: Bearer $T" {URL}{path}')
        said = self.srt(text, {"tlsTerminate": {}}, {"files": [{**one, "maskDuplicates": True}]})
        self.assertEqual(said.code, 0, said)
        self.assertRegex(said.out, r'^user = "me"\ntoken = "caisson_\w+"\nagain = "caisson_\w+"\n$')
        self.assertIn(f"Authorization: Bearer {self.value}\r\n", self.recorded(path)[0]["head"])
        self.assert_kept(said)
        with open(kept, encoding="utf-8") as text_of:
            self.assertIn(self.value, text_of.read())
        said = self.srt(f"cat {kept}", {"tlsTerminate": {}}, {"files": [one]})
        self.assertIn(f'again = "{self.value}"', said.out, said)

    def test_nothing_to_extract_is_told_hidden_or_an_error(self):
        kept = self.own_file("plain", "nothing here\n")
        for what, code, out in (("warn", 0, "nothing here\n"), ("deny", 0, ""), ("error", 1, "")):
            with self.subTest(what=what):
                said = self.srt(f"cat {kept}", {"tlsTerminate": {}}, {"files": [
                    {"path": kept, "mode": "mask", "extract": "key=(\\w+)", "injectHosts": [API],
                     "onExtractNoMatch": what}]})
                self.assertEqual((said.code, said.out), (code, out), said)
                self.assertIn("no secret was found", said.err, said)

    def test_variable_without_the_secret_is_shown_or_left_out(self):
        for what, out in (("warn", "[nothing here]\n"), ("deny", "[unset]\n")):
            with self.subTest(what=what):
                said = self.srt('echo "[${KEY-unset}]"', {"tlsTerminate": {}}, {"envVars": [
                    {"name": "KEY", "mode": "mask", "extract": "key=(\\w+)",
                     "onExtractNoMatch": what}]}, env={"KEY": "nothing here"})
                self.assert_out(said, out)

    def token(self):
        def part(value):
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
        return ".".join([part({"alg": "RS256", "typ": "JWT"}),
                         part({"sub": self.value, "exp": 1999999999, "scope": "read"}),
                         base64.urlsafe_b64encode(os.urandom(256)).decode().rstrip("=")])

    def test_token_is_a_token_inside_with_its_claims_but_those_that_are_masked(self):
        path, token = self.path_of("jwt"), self.token()
        script = ("import base64,json,os;p=os.environ['TOKEN'].split('.')[1];"
                  "c=json.loads(base64.urlsafe_b64decode(p+'='*(-len(p)%4)));"
                  "print(c['exp'],c['scope'],c['sub'][:8])")
        said = self.srt(f'{harness.PYTHON} -c "{script}"; '
                        f'curl -sSf -o /dev/null -H "Authorization: Bearer $TOKEN" {URL}{path}',
                        {"tlsTerminate": {}},
                        {"envVars": [{"name": "TOKEN", "mode": "mask", "decode": "jwt",
                                      "maskClaims": ["sub"], "injectHosts": [API]}]},
                        env={"TOKEN": token})
        self.assertEqual(said.out, "1999999999 read caisson_\n", said)
        self.assertIn(f"Authorization: Bearer {token}\r\n", self.recorded(path)[0]["head"])
        self.assert_kept(said)

    @staticmethod
    def signer():
        with open(os.path.join(servers.HERE, "inside", "sigv4.py"), encoding="utf-8") as text:
            return text.read()

    def test_request_signed_with_masked_aws_keys_is_signed_anew(self):
        path, key = self.path_of("aws"), secrets.token_hex(20)
        env = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": key,
               "AWS_SESSION_TOKEN": self.value}
        masks = {"envVars": [{"name": name, "mode": "mask", "injectHosts": [API]} for name in env]}
        copied = self.own_file("sigv4.py", self.signer())
        said = self.srt(f"{harness.PYTHON} {copied} {URL}{path} hello", {"tlsTerminate": {}}, masks,
                        env=env)
        self.assertEqual(said.out, "200\n", said)
        head = self.recorded(path)[0]["head"]
        lines = [line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line]
        fields = {name.lower(): value for name, value in lines}
        self.assertEqual(fields["x-amz-security-token"], self.value)
        right = sigv4.signature(key, "PUT", path, fields, hashlib.sha256(b"hello").hexdigest())
        self.assertTrue(fields["authorization"].endswith(f"Signature={right}"), fields)
        self.assertIn("Credential=AKIAIOSFODNN7EXAMPLE/", fields["authorization"])
        self.assertNotIn(key, head + said.out + said.err)


    def test_key_signs_for_no_other_host(self):
        path = self.path_of("aws-other")
        env = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SESSION_TOKEN": "a-token",
               "AWS_SECRET_ACCESS_KEY": secrets.token_hex(20)}
        masks = {"envVars": [{"name": "AWS_SECRET_ACCESS_KEY", "mode": "mask",
                              "injectHosts": [API]}]}
        copied = self.own_file("sigv4.py", self.signer())
        said = self.srt(f"{harness.PYTHON} {copied} https://rpc.harbor.test:{PORT}{path} hello",
                        {"tlsTerminate": {}}, masks, env=env)
        self.assertTrue(said.out.startswith("403 "), said)
        self.assertEqual(self.recorded(path), [])


class Live(SettingsCase):
    def test_lines_of_settings_change_what_is_reached_denied_and_ended(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        ask = ("while read -r host; do curl -sS -o /dev/null -w '%{http_code}/%{http_connect} "
               "%{certs}' https://$host/repos/one 2>/dev/null | tr '\\n' ' ' | "
               "sed 's/ .*cell CA.*/ ended/; s/ .*-----.*/ whole/'; echo; done")
        first = self.settings({"tlsTerminate": {}, "allowedDomains": ["www.harbor.test"]})
        child = self.popen_srt(first, ask, "--control-fd", str(reader), pass_fds=(reader,))
        os.close(reader)
        running = harness.Running(child)
        self.addCleanup(child.kill)
        self.assertEqual(running.ask("www.harbor.test"), "200/200 ended")
        self.assertEqual(running.ask("api.harbor.test").split()[0], "000/403")
        second = self.settings({"tlsTerminate": {"excludeDomains": ["api.harbor.test"]},
                                "allowedDomains": ["api.harbor.test"]})
        os.write(writer, json.dumps(second).encode() + b"\n")
        end = time.monotonic() + harness.DEADLINE
        while running.ask("www.harbor.test").split()[0] != "000/403":
            self.assertLess(time.monotonic(), end)
        self.assertEqual(running.ask("api.harbor.test"), "200/200 whole")
        os.write(writer, b"{not settings\n")
        self.assertEqual(running.ask("api.harbor.test"), "200/200 whole")
        self.assertEqual(running.finish(), 0, running.err)
