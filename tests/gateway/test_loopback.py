"""Rules about the host's own loopback: what they allow is found on the cell's own."""
import json
import os
import socket
import subprocess
import threading

import harness
import test_settings
from harness import PYTHON

CANARY = 7001  # of both families, on the loopback of the host
FETCH = ["curl", "-sSf", "-m", "9"]
TAKE = ("import socket, sys\n"
        "for _ in sys.stdin:\n"
        "    try:\n"
        "        with socket.create_connection((sys.argv[2], int(sys.argv[1])), 9) as peer:\n"
        "            print(peer.recv(9).decode() or 'ended', flush=True)\n"
        "    except OSError as error:\n"
        "        print(type(error).__name__, flush=True)\n")


class LoopbackCase(harness.GatewayTest):
    def listen(self, *words, port=0):
        """Says its word to whoever comes; on 127.0.0.1 the first, on ::1 the second, one port."""
        for word, host, family in zip(words, ("127.0.0.1", "::1"),
                                      (socket.AF_INET, socket.AF_INET6)):
            listener = socket.create_server((host, port), family=family)
            port = listener.getsockname()[1]
            self.addCleanup(listener.close)
            self.addCleanup(listener.shutdown, socket.SHUT_RDWR)  # wakes its thread: the number is the next one's
            threading.Thread(target=self.say, args=(listener, word), daemon=True).start()
        return port

    @staticmethod
    def say(listener, word):
        try:
            while True:
                peer, _ = listener.accept()
                with peer:
                    peer.sendall(word)
        except OSError:
            pass

    @staticmethod
    def take(port, host="127.0.0.1"):
        """A program that takes a word for each line of its input."""
        return [PYTHON, "-uc", TAKE, str(port), host]

    @staticmethod
    def allow(*rules):
        return [word for rule in rules for word in ("--allow-domain", rule)]

    def fetch(self, flags, host="127.0.0.1", port=CANARY, path="/", before=()):
        return self.cell(flags, [*before, *FETCH, f"http://{host}:{port}{path}"])


class Loopback(LoopbackCase):
    def test_allowed_port_is_reached_by_any_program(self):
        for rule in (f"127.0.0.1:{CANARY}", f"localhost:{CANARY}", f"[::1]:{CANARY}"):
            for host in ("127.0.0.1", "localhost", "[::1]"):
                for before in ([], harness.WITHOUT_PROXIES):
                    with self.subTest(rule=rule, host=host, proxy=not before):
                        ended = self.fetch(self.allow(rule), host, before=before)
                        self.assert_works(ended, "canary\n")
                        self.assertEqual(ended.denials, [])

    def test_other_ports_are_not(self):
        ended = self.fetch(self.allow(f"127.0.0.1:{CANARY}"), port=80)
        self.assertNotEqual(ended.code, 0, ended)
        self.assertEqual(self.world.canaries[80].hits(), self.hits_before[80])

    def test_nothing_is_dialled_but_what_the_rule_names(self):
        port = self.listen(b"four", b"six")
        for rule, word in ((f"127.0.0.1:{port}", "four\n"), (f"[::1]:{port}", "six\n")):
            with self.subTest(rule=rule):
                ended = self.cell(self.allow(rule), self.take(port), stdin=b"go\n")
                self.assert_works(ended, word)

    def test_another_address_of_the_loopback_is_its_own_place(self):
        listener = socket.create_server(("127.7.7.7", 0))
        self.addCleanup(listener.close)
        threading.Thread(target=self.say, args=(listener, b"seven"), daemon=True).start()
        port = listener.getsockname()[1]
        flags = self.allow(f"127.7.7.7:{port}")
        self.assert_works(self.cell(flags, self.take(port, "127.7.7.7"), stdin=b"go\n"), "seven\n")
        ended = self.cell(flags, self.take(port), stdin=b"go\n")  # 127.0.0.1, which no rule names
        self.assertNotIn("seven", ended.out, ended)
        self.assert_told(ended, f"127.0.0.1:{port}")

    def test_policy_file_says_the_same(self):
        path = os.path.join(self.top, "policy.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"network": {"allow": [f"127.0.0.1:{CANARY}"]}}, out)
        os.chmod(path, 0o644)
        self.assert_works(self.fetch(["--policy", path]), "canary\n")

    def test_request_rule_holds_there(self):
        flags = ["--allow-request", f"GET http://127.0.0.1:{CANARY}/yes"]
        self.assert_works(self.fetch(flags, path="/yes"), "canary\n")
        hits = self.world.canaries[CANARY].hits()
        ended = self.fetch(flags, path="/no")
        self.assertEqual(ended.code, 22, ended)  # 403
        self.assert_told(ended, f"127.0.0.1:{CANARY}")
        # Bytes that are no request, to a server that answers whatever it is sent.
        spoken = ("import socket, sys\n"
                  "with socket.create_connection(('127.0.0.1', int(sys.argv[1])), 9) as peer:\n"
                  "    peer.sendall(b'canary?\\r\\n\\r\\n')\n"
                  "    try: print(peer.recv(99))\n"
                  "    except OSError as error: print(type(error).__name__)\n")
        ended = self.cell(flags, [PYTHON, "-c", spoken, str(CANARY)])
        self.assertEqual(ended.code, 0, ended)
        self.assertNotIn("200 OK", ended.out)
        # Each was dialled before its request was read, and none was passed on.
        self.assertLessEqual(self.world.canaries[CANARY].hits(), hits + 2)

    def test_denial_wins(self):
        place = f"127.0.0.1:{CANARY}"
        for denial in (["--deny-domain", place], ["--deny-domain", "127.0.0.1"],
                       ["--deny-domain", f"*:{CANARY}"], ["--deny-domain", "localhost"],
                       ["--deny-address", "127.0.0.0/8"]):
            with self.subTest(denial=denial):
                ended = self.fetch([*self.allow(place), *denial])
                self.assertNotEqual(ended.code, 0, ended)
        ended = self.fetch([*self.allow(f"localhost:{CANARY}"), "--deny-address", "127.0.0.0/8",
                            "--deny-address", "::1"])
        self.assertNotEqual(ended.code, 0, ended)
        self.assert_told(ended, f"127.0.0.1:{CANARY}")
        self.assert_no_canary_hit()

    def test_without_a_port_it_is_an_error_that_says_what_to_write(self):
        for rule in ("127.0.0.1", "localhost", "[::1]", "127.7.7.7", "LocalHost."):
            with self.subTest(rule=rule):
                ended = self.cell(self.allow(rule), ["true"])
                self.assertEqual(ended.code, 125, ended)
                self.assertIn("--forward PORT", json.dumps(ended.result) + ended.said)

    def test_what_a_denial_advises_works(self):
        flags = self.allow("www.harbor.test")
        ended = self.cell(flags, [*FETCH, "--noproxy", "", f"http://127.0.0.1:{CANARY}/"])
        self.assert_refused(ended, f"127.0.0.1:{CANARY}")
        advice = ended.denials[0]["how_to_allow"].split()
        self.assert_works(self.fetch([*flags, *advice]), "canary\n")

    def test_rules_that_change_hold_there_too(self):
        port = self.listen(b"four")
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        running = self.start([*self.allow(f"127.0.0.1:{port}"), "--control-fd",
                              str(theirs.fileno())], self.take(port),
                             pass_fds=[theirs.fileno()])
        theirs.close()
        self.assertEqual(running.ask("go"), "four")
        ours.sendall(b'{"allow": ["www.harbor.test"]}\n')
        for _ in range(200):  # the rules arrive by another way than the connections
            told = running.ask("go")
            if told != "four":
                break
        self.assertIn(told, ("ConnectionResetError", "ended"))
        self.assertEqual(running.finish(), 0)

    def test_ports_that_the_gateway_has_itself_are_an_error(self):
        for flags in (["--forward", "3128"], self.allow("127.0.0.1:53")):
            with self.subTest(flags=flags):
                ended = self.cell(flags, ["true"])
                self.assertEqual(ended.code, 125, ended)
                self.assertIn("the gateway listens there", json.dumps(ended.result) + ended.said)

    def test_explain_shows_it(self):
        done = subprocess.run([self.world.binary, "explain", *self.allow(f"127.0.0.1:{CANARY}"),
                               "true"], cwd=self.project, env=self.env, user=self.uid,
                              group=self.uid, extra_groups=[], capture_output=True, check=True)
        self.assertRegex(done.stdout.decode(), rf"forward +the host's port {CANARY}, as the rules")


class LoopbackBySettings(test_settings.SettingsCase):
    def test_settings_say_the_same(self):
        for rule in (f"localhost:{CANARY}", f"127.0.0.1:{CANARY}", f"[::1]:{CANARY}"):
            with self.subTest(rule=rule):
                said = self.srt(f"curl -sSf --noproxy '*' http://localhost:{CANARY}/",
                                {"allowedDomains": [rule]})
                self.assert_out(said, "canary\n")

    def test_denial_wins(self):
        said = self.srt(f"curl -sSf --noproxy '*' http://localhost:{CANARY}/",
                        {"allowedDomains": [f"localhost:{CANARY}"],
                         "deniedDomains": [f"localhost:{CANARY}"]})
        self.assertNotEqual(said.code, 0, said)
        self.assert_no_canary_hit()

    def test_opaque_tunnels_are_refused_there_too(self):
        text = (f"{PYTHON} -c 'import socket; s = socket.create_connection((\"127.0.0.1\", {CANARY}));"
                "s.sendall(b\"\\0\\1\\2 what is this\\n\"); print(s.recv(99))'")
        network = {"allowedDomains": [f"127.0.0.1:{CANARY}"]}
        self.assertIn("canary", self.srt(text, network).out)  # the probe itself works
        said = self.srt(text, {**network, "refuseOpaqueTunnels": True, "tlsTerminate": {}})
        self.assertNotIn("canary", said.out, said)
