"""One test for each key of the settings, as the table of keys names it (`srt keys`)."""
import base64
import json
import os
import re
import socket
import subprocess

from srt_harness import FETCH, PYTHON, SrtTest, settings

CONNECT_UNIX = ("import socket,sys\n"
                "s = socket.socket(socket.AF_UNIX)\n"
                "try: s.connect(sys.argv[1]); print(s.recv(9).decode())\n"
                "except OSError as e: print('refused')\n")


class Sections(SrtTest):
    def test_required_sections(self):
        for missing in ("network", "filesystem"):
            said = settings()
            del said[missing]
            self.assert_srt_refused(self.srt("true", said=said), f'"{missing}" is missing')
        for section, key in (("network", "allowedDomains"), ("network", "deniedDomains"),
                             ("filesystem", "denyRead"), ("filesystem", "allowWrite"),
                             ("filesystem", "denyWrite")):
            said = settings()
            del said[section][key]
            self.assert_srt_refused(self.srt("true", said=said), section, f'"{key}" is missing')

    def test_keys_without_meaning(self):
        """Each is taken, checked and told to mean nothing; a wrong type is an error all the same."""
        rows = [line.split("\t") for line in self.srt_ok("keys").out.splitlines()]
        silent = ("works", "caisson's own")
        rows = [row for row in rows if row[2] not in silent]
        self.assertGreater(len(rows), 20)
        values = {"true or false": True, "a string": "x", "an absolute path": "/x",
                  "an array of strings": ["x"], "anything": {}, "two ports": [60080, 60089]}
        for path, shape, standing, _, _ in rows:
            if shape.startswith("an object"):
                continue
            value = values.get(shape.removesuffix(", required"))
            if shape.startswith("a whole number"):
                value = int(re.search(r"(\d+)-", shape).group(1))
            if shape.startswith("one of"):
                value = re.search(r'"(.*?)"', shape).group(1)
            said = settings(ripgrep={"command": "rg"})
            place = said
            for name in path.split(".")[:-1]:
                place = place.setdefault(name, {})
            place[path.split(".")[-1]] = value
            with self.subTest(key=path):
                ended = self.srt("validate", "--json", self.settings_file(said))
                self.assertEqual(ended.code, 0, ended)
                top = ".".join(path.split(".")[:2 if path.startswith("network") else 1])
                self.assertIn(top, [one["key"] for one in ended.json["remarks"]])
                if shape != "anything":
                    place[path.split(".")[-1]] = None
                    self.assertEqual(self.srt("validate", self.settings_file(said)).code, 1)


class Network(SrtTest):
    def fetch(self, url, said, **how):
        return self.srt(PYTHON, "-c", FETCH, url, said=said, **how).out.strip()

    def by_parent(self, port, allow, deny=(), **network):
        proxy = f"http://127.0.0.1:{port}"
        return settings(allow, deny,
                        network={"parentProxy": {"http": proxy, "https": proxy}, **network})

    def test_allowed_domains(self):
        port, _ = self.parent_proxy()
        said = self.by_parent(port, ["a.example", "*.b.example", "c.example:8080"])
        for url, reached in (("http://a.example/", True), ("http://A.EXAMPLE./", True),
                             ("http://x.b.example/", True), ("http://x.y.b.example/", True),
                             ("http://b.example/", False), ("http://x.a.example/", False),
                             ("http://c.example:8080/", True), ("http://c.example/", False)):
            with self.subTest(url=url):
                self.assertEqual(self.fetch(url, said) == "proxy", reached)

    def test_denied_domains(self):
        port, _ = self.parent_proxy()
        said = self.by_parent(port, ["*.a.example"], ["bad.a.example", "*:8080"])
        self.assertEqual(self.fetch("http://good.a.example/", said), "proxy")
        self.assertIn("403", self.fetch("http://bad.a.example/", said))
        self.assertIn("403", self.fetch("http://good.a.example:8080/", said))
        said = self.by_parent(port, ["*.a.example"], ["*"])
        self.assertIn("403", self.fetch("http://good.a.example/", said))

    def test_denied_domain_reasons(self):
        said = settings(["*.a.example"], ["bad.a.example"],
                        network={"deniedDomainReasons": {"bad.a.example": "ask Ada first"}})
        ended = self.srt("curl", "-sv", "http://bad.a.example/", said=said)
        self.assertIn("ask Ada first", ended.out + ended.err)
        said["network"]["deniedDomainReasons"] = {"other.example": "x"}
        self.assert_srt_refused(self.srt("true", said=said), "deniedDomainReasons")

    def test_denied_resolved_addresses(self):
        port = self.web_server()
        url = f"http://127.0.0.1:{port}/"
        self.assertEqual(self.fetch(url, settings(["127.0.0.1"])), "hello from the host")
        said = settings(["127.0.0.1"], network={"deniedResolvedAddresses": ["127.0.0.0/8"]})
        self.assertIn("403", self.fetch(url, said))

    def test_parent_proxy(self):
        port, asked = self.parent_proxy()
        direct = self.web_server(b"direct")
        said = self.by_parent(port, ["a.example", "localhost"])
        said["network"]["parentProxy"]["noProxy"] = "localhost"
        self.assertEqual(self.fetch("http://a.example/", said), "proxy")
        self.assertTrue(asked)
        self.assertEqual(self.fetch(f"http://localhost:{direct}/", said), "direct")

    def test_http_proxy_port(self):
        port, asked = self.parent_proxy()
        said = settings(["a.example"], network={"httpProxyPort": port})
        self.assertEqual(self.fetch("http://a.example/", said), "proxy")
        self.assertEqual(len(asked), 1)
        self.assertIn("403", self.fetch("http://b.example/", said))  # our rules come first
        self.assertEqual(len(asked), 1)

    def test_socks_proxy_port(self):
        for bad in (0, 65536, "1080"):
            said = settings(network={"socksProxyPort": bad})
            self.assert_srt_refused(self.srt("true", said=said), "network.socksProxyPort")
        port, asked = self.socks_proxy()
        said = settings(["a.example"], network={"socksProxyPort": port})
        ended = self.srt("curl", "-sS", "-m", "9", "--socks5-hostname", "127.0.0.1:3128",
                         "http://a.example/", said=said)
        self.assertEqual((ended.code, ended.out), (0, "socks"), ended)
        self.assertEqual(asked, ["a.example:80"])
        self.assertIn("403", self.fetch("http://b.example/", said))

    def test_mitm_proxy(self):
        said = settings(["a.example"], network={"mitmProxy": {"socketPath": "/s", "domains": []}})
        self.assert_srt_refused(self.srt("true", said=said), "network.mitmProxy.domains")
        said["network"]["mitmProxy"] = {"domains": ["a.example"]}
        self.assert_srt_refused(self.srt("true", said=said), '"socketPath" is missing')
        path = os.path.join(self.top, "mitm.sock")
        _, asked = self.parent_proxy(path)
        said["network"]["mitmProxy"]["socketPath"] = path
        self.assertEqual(self.fetch("http://a.example/", said), "tunnel" if any(
            "CONNECT" in one for one in asked) else "proxy", asked)
        self.assertEqual(len(asked), 1)
        self.assertIn("403", self.fetch("http://b.example/", said))

    def test_allow_unix_sockets(self):
        path = self.unix_server(os.path.join(self.top, "host.sock"))
        ask = lambda said: self.srt(PYTHON, "-c", CONNECT_UNIX, path, said=said).out.strip()
        self.assertEqual(ask(settings()), "refused")
        self.assertEqual(ask(settings(network={"allowUnixSockets": [path]})), "hello")
        self.assertEqual(ask(settings(network={"allowUnixSockets": [self.top]})), "hello")
        self.assertEqual(ask(settings(network={"allowUnixSockets": [path + "x"]})), "refused")

    def test_allow_all_unix_sockets(self):
        path = self.unix_server(os.path.join(self.top, "host.sock"))
        said = settings(network={"allowAllUnixSockets": True})
        self.assertEqual(self.srt(PYTHON, "-c", CONNECT_UNIX, path, said=said).out.strip(),
                         "hello")

    def test_datagrams_between_own_sockets(self):
        """A pair keeps messages apart. It reaches nobody but its other end, whatever address a
        message carries; a single one can't be had unless every socket may be reached."""
        path = os.path.join(self.top, "log.sock")
        log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(log.close)
        log.bind(path)
        log.settimeout(0)
        program = ("import socket, sys\n"
                   "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                   "a.send(b'one'); a.send(b'two'); print(b.recv(99), b.recv(99))\n"
                   "for send in (lambda: a.sendto(b'evil', sys.argv[1]),\n"
                   "             lambda: a.sendmsg([b'evil'], [], 0, sys.argv[1])):\n"
                   "  try: send()\n"
                   "  except OSError: pass\n"
                   "try:\n"
                   "  s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                   "  s.sendto(b'single', sys.argv[1]); print('sent')\n"
                   "except PermissionError: print('refused')\n")
        ended = self.srt(PYTHON, "-c", program, path, said=settings())
        self.assertEqual(ended.out, "b'one' b'two'\nrefused\n", ended)
        self.assertRaises(BlockingIOError, log.recv, 99)
        ended = self.srt(PYTHON, "-c", program, path,
                         said=settings(network={"allowAllUnixSockets": True}))
        self.assertEqual(ended.out, "b'one' b'two'\nsent\n", ended)
        self.assertEqual([log.recv(99) for _ in range(3)], [b"evil", b"evil", b"single"])

    def test_strip_response_headers(self):
        port = self.web_server()
        ask = lambda **network: self.srt("curl", "-si", f"http://localhost:{port}/",
                                         said=settings(["localhost"], network=network)).out
        self.assertIn("X-Secret-Header", ask())
        self.assertNotIn("X-Secret-Header", ask(stripResponseHeaders=["x_secret.header"]))

    def test_refuse_opaque_tunnels(self):
        port, _ = self.parent_proxy()
        said = self.by_parent(port, ["a.example"])
        ask = ["curl", "-k", "-sS", "-m", "5", "--socks5-hostname", "127.0.0.1:3128",
               "https://a.example/"]
        self.assertIn("SSL", self.srt(*ask, said=said).err)  # it reached somebody who has no TLS
        said["network"]["refuseOpaqueTunnels"] = True
        ended = self.srt(*ask, said=said)
        self.assertNotEqual(ended.code, 0)
        self.assertTrue(self.violations(ended), ended)

    def test_require_host_match(self):
        port = self.web_server()
        ask = lambda **network: self.srt(
            "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: other.example",
            f"http://localhost:{port}/", said=settings(["localhost"], network=network)).out
        self.assertEqual(ask(requireHostMatch=True), "421")

    def test_publish(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        child = self.start_srt(PYTHON, "-c",
                               "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 7000))\n"
                               "s.listen()\nprint('ready', flush=True)\nc, _ = s.accept()\n"
                               "c.sendall(b'from inside')",
                               said=settings(network={"publish": [f"7000:{port}"]}))
        self.assertEqual(child.stdout.readline(), b"ready\n")
        with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
            self.assertEqual(link.recv(99), b"from inside")
        self.assertEqual(self.finish(child).code, 0)

    def test_network_disabled(self):
        port = self.web_server()
        said = settings(network={"disabled": True})
        self.assertEqual(self.fetch(f"http://127.0.0.1:{port}/", said), "hello from the host")
        self.assertNotEqual(self.sh("echo > written", said=said).code, 0)  # files keep their rules


class Files(SrtTest):
    def test_deny_read(self):
        self.project_file("secret/key", "s3cret")
        self.project_file("a.pem", "s3cret")
        self.project_file("plain", "text")
        said = settings(read=["secret", "*.pem", "/**/*.key"], write=["."])
        for text in ("cat secret/key", "cat a.pem", "echo x > b.key; cat b.key",
                     "cp plain late.pem; cat late.pem"):
            with self.subTest(text=text):
                ended = self.sh(text, said=said)
                self.assertNotEqual(ended.code, 0, ended)
                self.assertEqual(ended.out, "")
        self.assertEqual(self.sh_ok("cat plain", said=said).out, "text")
        ended = self.srt("true", said=settings(read=["*/"]))
        self.assert_srt_refused(ended, "filesystem.denyRead[0]", "ends in /")

    def test_deny_read_of_what_is_not_there_yet(self):
        """A file and a folder that the host makes while the command runs, and one of a name that is
        not denied."""
        child = self.start_srt("sh", "-c", "echo ready; read go; cat key folder/inner; "
                               "ls folder; cat other", stdin=subprocess.PIPE,
                               said=settings(read=["key", "folder"]))
        self.assertEqual(child.stdout.readline(), b"ready\n")
        for name in ("key", "folder/inner", "other"):
            self.project_file(name, f"{name}\n")
        out, err = child.communicate(b"go\n", timeout=30)
        self.assertEqual(out, b"other\n", err)
        for name in ("key", "folder/inner"):
            self.assertIn(os.path.join(self.project, name).encode(), err)

    def test_allow_read(self):
        self.project_file("d/shown/hidden/x", "x")
        self.project_file("d/shown/y", "y")
        self.project_file("d/z", "z")
        said = settings(read=["d", "d/shown/hidden"], filesystem={"allowRead": ["d/shown"]})
        self.assertEqual(self.sh_ok("cat d/shown/y", said=said).out, "y")
        self.assertNotEqual(self.sh("cat d/z", said=said).code, 0)
        self.assertNotEqual(self.sh("cat d/shown/hidden/x", said=said).code, 0)

    def test_allow_write(self):
        self.project_file("w/old", "old")
        said = settings(write=["w", "absent", "{}"])
        self.sh_ok("echo new > w/new && rm w/old && mkdir w/d", said=said)
        self.assertEqual(sorted(os.listdir(os.path.join(self.project, "w"))), ["d", "new"])
        self.assertNotEqual(self.sh("echo > x", said=said).code, 0)
        self.sh_ok("echo > w/y", said=settings(write=["w/**"]))
        self.sh_ok("echo > w/z", said=settings(write=[{"path": "w", "literal": True}]))

    def test_deny_write(self):
        self.project_file("keep/x", "x")
        said = settings(write=["."], filesystem={"denyWrite": ["keep", "later.cfg"]})
        for text in ("echo > keep/x", "rm keep/x", "echo > keep/new", "mv keep away",
                     "echo > later.cfg", "mkdir later.cfg", "echo > a && mv a later.cfg",
                     "ln -s /etc/passwd later.cfg"):
            with self.subTest(text=text):
                self.assertNotEqual(self.sh(text, said=said).code, 0)
        self.assertEqual(self.read(os.path.join(self.project, "keep/x")), "x")
        self.assertFalse(os.path.lexists(os.path.join(self.project, "later.cfg")))

    def test_allow_git_config(self):
        subprocess.run(["git", "init", "-q", "."], cwd=self.project, check=True,
                       env=self.environment())
        ask = "git config user.name x"
        self.assertNotEqual(self.sh(ask, said=settings(write=["."])).code, 0)
        said = settings(write=["."], filesystem={"allowGitConfig": True})
        self.sh_ok(ask, said=said)
        self.assertNotEqual(self.sh("echo > .git/hooks/post-commit", said=said).code, 0)

    def test_filesystem_disabled(self):
        said = settings(filesystem={"disabled": True})
        self.sh_ok("echo > .bashrc && rm .bashrc && echo > x", said=said)
        ended = self.sh_ok("echo $TMPDIR", said=said, env={"TMPDIR": self.top})
        self.assertEqual(ended.out, self.top + "\n")  # untouched

    def test_read_mode_allowlist(self):
        self.project_file("own", "own")
        self.file("home/other", "other")
        said = settings(write=["."], filesystem={"readMode": "allowlist"})
        self.assertEqual(self.sh_ok("cat own; echo new > new", said=said).out, "own")
        self.assertNotEqual(self.sh(f"cat {self.home}/other", said=said).code, 0)
        said["filesystem"]["allowRead"] = ["~/other"]
        self.assertEqual(self.sh_ok(f"cat {self.home}/other", said=said).out, "other")
        self.assertNotEqual(self.sh(f"echo > {self.home}/other", said=said).code, 0)


    def test_deny_read_inside_an_allow_list(self):
        """Nothing lies over it there: it is judged by its name."""
        self.project_file("secret", "s3cret")
        self.project_file("plain", "plain")
        said = settings(read=["secret"], filesystem={"readMode": "allowlist", "allowRead": ["."]})
        ended = self.sh("cat plain; cat secret", said=said)
        self.assertEqual((ended.code, ended.out), (1, "plain"), ended)


class Credentials(SrtTest):
    def masks(self, **entry):
        return settings(["localhost"], network={"tlsTerminate": {}}, credentials={
            "envVars": [{"name": "TOKEN", "mode": "mask", **entry}]})

    def test_credentials_are_strict(self):
        for said in (settings(credentials={"x": 1}), settings(credentials={"sigv4": {"x": "deny"}}),
                     settings(credentials={"awsPairs": [{"x": 1}]})):
            ended = self.srt("--lenient", "true", said=said)
            self.assertEqual(ended.code, 1, ended)

    def test_credential_files(self):
        path = self.file("home/key", "abcdefghijkl")
        said = settings(credentials={"files": [{"path": "~/key", "mode": "deny"}]})
        self.assertEqual(self.sh(f"cat {path}", said=said).out, "")
        said = settings(["localhost"], network={"tlsTerminate": {}},
                        credentials={"files": [{"path": "~/key", "mode": "mask"}]})
        ended = self.sh_ok(f"cat {path}", said=said)
        self.assertNotIn("abcdefghijkl", ended.out)
        self.assertNotEqual(ended.out, "")

    def test_credential_variables(self):
        env = {"TOKEN": "abcdefghijkl"}
        said = settings(credentials={"envVars": [{"name": "TOKEN", "mode": "deny"}]})
        self.assertEqual(self.sh_ok("echo ${TOKEN-none}", said=said, env=env).out, "none\n")
        ended = self.sh_ok("echo $TOKEN", said=self.masks(), env=env)
        self.assertNotIn("abcdefghijkl", ended.out)
        self.assertGreater(len(ended.out), 8)

    def test_credential_extract(self):
        path = self.file("home/conf", "user=ada\npassword=abcdefghijkl\n")
        said = settings(["localhost"], network={"tlsTerminate": {}}, credentials={"files": [
            {"path": "~/conf", "mode": "mask", "extract": "password=(\\S+)"}]})
        ended = self.sh_ok(f"cat {path}", said=said)
        self.assertTrue(ended.out.startswith("user=ada\npassword="), ended)
        self.assertNotIn("abcdefghijkl", ended.out)
        entry = said["credentials"]["files"][0]
        entry.update(extract="nothing=(x)", onExtractNoMatch="error")
        self.assertEqual(self.srt("true", said=said).code, 1)
        entry.update(onExtractNoMatch="deny")
        self.assertNotIn("abcdefghijkl", self.sh(f"cat {path}", said=said).out)

    def test_every_match_is_masked_or_there_is_no_cell(self):
        def lines(count):
            return "".join(f"KEY_{n}=real-secret-number-{n:04}\n" for n in range(count))
        said = settings(["localhost"], network={"tlsTerminate": {}}, credentials={"files": [
            {"path": "~/conf", "mode": "mask", "extract": "KEY_\\d+=(\\S+)"}]})
        path = self.file("home/conf", lines(40))
        ended = self.sh_ok(f"cat {path}", said=said)
        self.assertEqual(ended.out.count("KEY_"), 40)
        self.assertNotIn("real-secret", ended.out)
        self.file("home/conf", lines(1000))
        self.assertEqual(self.srt("true", said=said).code, 1)
        self.file("home/conf", "x" * (1 << 20) + "\n" + lines(1))
        self.assertEqual(self.srt("true", said=said).code, 1)

    def test_credential_jwt(self):
        ended = self.srt("true", said=self.masks(maskClaims=["sub"]), env={"TOKEN": "abcdefghijkl"})
        self.assert_srt_refused(ended, "maskClaims")
        part = lambda data: base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")
        token = f"{part({'alg': 'HS256'})}.{part({'sub': 'ada', 'iss': 'x'})}.c2lnbmF0dXJl"
        ended = self.sh_ok("echo $TOKEN", said=self.masks(decode="jwt", maskClaims=["sub"]),
                           env={"TOKEN": token})
        head, claims, signature = ended.out.strip().split(".")
        told = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        self.assertEqual(told["iss"], "x")
        self.assertNotEqual(told["sub"], "ada")
        self.assertNotEqual(signature, "c2lnbmF0dXJl")

    def test_inject_hosts(self):
        ended = self.srt("true", said=self.masks(injectHosts=["evil.example"]))
        self.assert_srt_refused(ended, "injectHosts[0]", "not covered")
        self.assert_srt_refused(self.srt("true", said=self.masks(injectHosts=[])), "injectHosts")

    def test_allow_plaintext_inject(self):
        said = self.masks()
        del said["network"]["tlsTerminate"]
        self.assert_srt_refused(self.srt("true", said=said), "needs network.tlsTerminate")
        said["credentials"]["allowPlaintextInject"] = True
        tokens = []
        port = self.web_server(tokens=tokens)
        ended = self.sh_ok(f'curl -sS -H "X-Token: $TOKEN" http://localhost:{port}/; echo $TOKEN',
                           said=said, env={"TOKEN": "abcdefghijkl"})
        self.assertEqual(tokens, ["abcdefghijkl"])
        self.assertNotIn("abcdefghijkl", ended.out)

    def test_aws_pairs(self):
        said = settings(credentials={"awsPairs": [{"accessKeyIdVar": "A"}]})
        self.assert_srt_refused(self.srt("true", said=said), "secretAccessKeyVar")
        said = settings(["localhost"], network={"tlsTerminate": {}}, credentials={
            "envVars": [{"name": "MY_ID", "mode": "mask"}, {"name": "MY_KEY", "mode": "mask"}],
            "awsPairs": [{"accessKeyIdVar": "MY_ID", "secretAccessKeyVar": "MY_KEY"}]})
        env = {"MY_ID": "AKIAIOSFODNN7EXAMPLE", "MY_KEY": "wJalrXUtnFEMI/K7MDENG/EXAMPLEKEY"}
        ended = self.sh_ok("echo $MY_ID; echo $MY_KEY", said=said, env=env)
        for value in env.values():
            self.assertNotIn(value, ended.out)
        self.assertEqual(len(ended.out.split()), 2)

    def test_sigv4(self):
        said = settings(credentials={"sigv4": {"streaming": "allow"}})
        self.assert_srt_refused(self.srt("true", said=said), "credentials.sigv4.streaming")
        said = settings(credentials={"sigv4": {"streaming": "passthrough", "presigned": "deny",
                                               "sigv4a": "deny"}})
        self.srt_ok("true", said=said)


class Others(SrtTest):
    def test_ignore_violations(self):
        ask = ["curl", "-sS", "http://example.com"]
        self.assertTrue(self.violations(self.srt(*ask, said=settings())))
        for key, line, told in (("*", "example.com", False), ("curl", "example.com", False),
                                ("wget", "example.com", True), ("*", "other.example", True)):
            said = settings(ignoreViolations={key: [line]})
            self.assertEqual(bool(self.violations(self.srt(*ask, said=said))), told, (key, line))

    def test_allow_nested_user_namespaces(self):
        ask = "unshare --user --map-root-user true"
        self.assertNotEqual(self.sh(ask, said=settings()).code, 0)
        self.sh_ok(ask, said=settings(allowNestedUserNamespaces=True))

    def test_git_safe_directories(self):
        said = settings(git={"safeDirectories": ["/srv/repo"]})
        ended = self.sh_ok("git config --get-all safe.directory", said=said)
        self.assertEqual(ended.out.splitlines(), ["/srv/repo", "/srv/repo/*"])
        said = settings(git={"safeDirectories": [f"/r{i}" for i in range(9)]})
        self.assertEqual(self.sh_ok("git config --get-all safe.directory", said=said).out, "*\n")

    def test_limits(self):
        ended = self.sh_ok("ulimit -n; ulimit -v", said=settings(limits={"files": 77}))
        self.assertEqual(ended.out.splitlines()[0], "77")
        ended = self.srt("sleep", "30", said=settings(limits={"timeout": "200ms"}))
        self.assertEqual(ended.code, 124, ended)
        ended = self.srt("true", said=settings(limits={"memory": "much"}))
        self.assert_srt_refused(ended, "limits.memory")


class Tls(SrtTest):
    """A server of the host's with a certificate of an authority that only these settings know."""

    def setUp(self):
        super().setUp()
        import http.server
        import ssl
        run = lambda *words: subprocess.run(["openssl", *words], check=True, capture_output=True,
                                            cwd=self.top)
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority", "-days", "2")
        run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", "key.pem", "-out", "csr.pem", "-subj", "/CN=localhost")
        self.file("ext", "subjectAltName=DNS:localhost\n")
        run("x509", "-req", "-in", "csr.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-out",
            "cert.pem", "-days", "2", "-extfile", "ext")
        self.ca = os.path.join(self.top, "ca.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.top, "cert.pem"),
                                os.path.join(self.top, "key.pem"))

        self.seen = seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.headers.get("X-Token"))
                self.send_response(200)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"none")

            def log_message(self, *words):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.port = self._serve(server)

    def test_inject_by_tls(self):
        said = settings(["localhost"], network={"tlsTerminate": {"extraCaCertPaths": [self.ca]}},
                        credentials={"envVars": [{"name": "TOKEN", "mode": "mask"}]})
        ended = self.sh_ok(f'curl -sS -H "X-Token: $TOKEN" https://localhost:{self.port}/',
                           said=said, env={"TOKEN": "abcdefghijkl"})
        self.assertEqual(self.seen, ["abcdefghijkl"])
        self.assertNotIn("abcdefghijkl", ended.out)

    def issuer(self, **tls):
        said = settings(["localhost"], network={
            "tlsTerminate": {"extraCaCertPaths": [self.ca], **tls}})
        ended = self.srt("curl", "-sv", f"https://localhost:{self.port}/", said=said)
        self.assertEqual((ended.code, ended.out), (0, "none"), ended)
        return re.search(r"issuer: (.*)", ended.err).group(1)

    def test_tls_terminate(self):
        self.assertNotIn("test authority", self.issuer())

    def test_tls_clients_find_the_authority(self):
        """Each by the variable of its own kind; the files that they name are there."""
        said = settings([f"localhost:{self.port}"],  # node asks for no proxy
                        network={"tlsTerminate": {"extraCaCertPaths": [self.ca]}})
        ended = self.sh_ok("for v in SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE PIP_CERT "
                           "GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS AWS_CA_BUNDLE CARGO_HTTP_CAINFO "
                           "DENO_CERT CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE NIX_SSL_CERT_FILE; do "
                           "eval f=\\$$v; grep -q BEGIN $f || echo $v; done", said=said)
        self.assertEqual(ended.out, "")
        url = f"https://localhost:{self.port}/"
        for words in (["curl", "-sS", url], ["node", "-e", f"require('https').get('{url}', r => "
                                             "r.on('data', d => process.stdout.write(d)))"],
                      ["python3", "-c", "import urllib.request as u; "
                       f"print(u.urlopen('{url}').read().decode(), end='')"]):
            with self.subTest(program=words[0]):
                ended = self.srt(*words, said=said)
                self.assertEqual((ended.code, ended.out), (0, "none"), ended)
        ended = self.srt("curl", "-sS", url, said=settings([f"localhost:{self.port}"]))
        # Without the gateway's, its authority is nobody's. 77: nor has the host any.
        self.assertIn(ended.code, (60, 77), ended)

    def test_tls_exclude_domains(self):
        self.assertIn("test authority", self.issuer(excludeDomains=["localhost"]))

    def test_tls_extra_authorities(self):
        said = settings(["localhost"], network={"tlsTerminate": {}})
        ended = self.srt("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                         f"https://localhost:{self.port}/", said=said)
        self.assertNotEqual(ended.out, "200", ended)  # an authority that nobody named
        self.issuer()

    def test_tls_authority(self):
        key = os.path.join(self.top, "ca.key")
        self.assertIn("test authority", self.issuer(caCertPath=self.ca, caKeyPath=key))
        said = settings(network={"tlsTerminate": {"caCertPath": self.ca}})
        self.assert_srt_refused(self.srt("true", said=said), "belong together")

    def test_tls_bounds(self):
        self.issuer(maxTunnels=1, handshakeTimeoutMs=5000)
        for key, bad in (("maxTunnels", 0), ("maxTunnels", 65537), ("handshakeTimeoutMs", 99)):
            said = settings(network={"tlsTerminate": {key: bad}})
            self.assert_srt_refused(self.srt("true", said=said), key)
