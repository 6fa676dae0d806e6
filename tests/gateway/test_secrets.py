"""Credentials that never enter: put in for their host alone, told and masked everywhere else."""
import base64
import json
import os
import re
import secrets
import urllib.parse

import harness
import names

API, PORT = "api.harbor.test", names.RECORDER_TLS


class SecretCase(harness.GatewayTest):
    def setUp(self):
        super().setUp()
        self.value = f"sk-{secrets.token_hex(20)}/+=&x"
        self.env_of_caller = {"REAL_KEY": self.value}
        self.policy = ["--allow-domain", "*.harbor.test", "--secret",
                       f"KEY=env:REAL_KEY@{API}:{PORT},{API}"]

    def shell(self, text, policy=None, **how):
        return self.cell(policy or self.policy, ["sh", "-c", text], env=self.env_of_caller, **how)

    def recorded(self, path):
        found = [json.loads(line) for line in self.log("requests.log").splitlines()]
        return [one for one in found if f"{path} " in one["line"] or f"{path}?" in one["line"]]

    def path(self, name):
        return f"/{name}-{os.path.basename(self.top)}"

    def assert_kept(self, ended):
        """The value is nowhere in what came out of the cell."""
        text = json.dumps(ended.result) + ended.said
        for spelling in (self.value, json.dumps(self.value)[1:-1], urllib.parse.quote(self.value),
                         base64.b64encode(self.value.encode()).decode()[:-4]):
            self.assertNotIn(spelling, text)


class Replaced(SecretCase):
    def test_cell_has_a_placeholder_and_the_host_the_value(self):
        path = self.path("header")
        ended = self.shell('echo "$KEY"; curl -sSf -o /dev/null -H "Authorization: Bearer $KEY" '
                           f"https://{API}:{PORT}{path}")
        self.assert_works(ended)
        self.assertRegex(ended.out, r"^caisson_KEY_[0-9a-f]{32}\n$")
        self.assertIn(f"Authorization: Bearer {self.value}\r\n", self.recorded(path)[0]["head"])
        self.assert_kept(ended)

    def test_basic_credentials_are_put_in_too(self):
        path = self.path("basic")
        ended = self.shell(f'curl -sSf -o /dev/null -u "me:$KEY" https://{API}:{PORT}{path}')
        self.assert_works(ended)
        right = base64.b64encode(f"me:{self.value}".encode()).decode()
        self.assertIn(f"Authorization: Basic {right}\r\n", self.recorded(path)[0]["head"])

    def test_several_headers_are_put_in(self):
        path = self.path("several")
        ended = self.shell('curl -sSf -o /dev/null -H "X-Api-Key: $KEY" -H "X-Two: a${KEY}b$KEY" '
                           f"https://{API}:{PORT}{path}")
        self.assert_works(ended)
        head = self.recorded(path)[0]["head"]
        self.assertIn(f"X-Api-Key: {self.value}\r\n", head)
        self.assertIn(f"X-Two: a{self.value}b{self.value}\r\n", head)

    def test_body_and_address_are_put_in_only_when_asked_for(self):
        path = self.path("body")
        send = ("curl -sS -o /dev/null -w '%{http_code}' -d \"key=$KEY\" "
                f"https://{API}:{PORT}{path}")
        ended = self.shell(send)
        self.assertEqual(ended.out, "403", ended)
        self.assertEqual([one["body"] for one in self.recorded(path) if one["body"]], [])
        policy = ["--secret", f"KEY=env:REAL_KEY@{API}:{PORT};body;url", "--allow-domain", API]
        self.assert_works(self.shell(send, policy), "200")
        self.assertIn(self.value, urllib.parse.unquote(self.recorded(path)[-1]["body"]))
        path = self.path("url")
        ended = self.shell(f'curl -sSf -o /dev/null "https://{API}:{PORT}{path}?key=$KEY"', policy)
        self.assert_works(ended)
        self.assertIn(self.value, urllib.parse.unquote(self.recorded(path)[0]["line"]))

    def test_long_body_with_the_placeholder_far_inside_is_put_in(self):
        path = self.path("long")
        policy = ["--secret", f"KEY=env:REAL_KEY@{API}:{PORT};body", "--allow-domain", API]
        zeros = "head -c 300000 /dev/zero"
        ended = self.shell(f"{{ {zeros}; printf %s \"$KEY\"; {zeros}; }} | "
                           f"curl -sSf -o /dev/null -T - https://{API}:{PORT}{path}", policy)
        self.assert_works(ended)
        self.assertEqual(self.recorded(path)[0]["size"], 600000 + len(self.value))

    def test_long_body_of_known_length_goes_through_unchanged(self):
        """The way of large bodies, upwards: every byte of it arrives, and none before its turn."""
        path = self.path("known")
        ended = self.shell("head -c 3000001 /dev/urandom > /tmp/body && sha256sum < /tmp/body && "
                           f'curl -sSf -o /dev/null -H "Authorization: Bearer $KEY" -T /tmp/body '
                           f"https://{API}:{PORT}{path}")
        self.assert_works(ended)
        seen = self.recorded(path)[0]
        self.assertEqual((seen["size"], seen["sha256"]), (3000001, ended.out.split()[0]))
        self.assertIn(f"Bearer {self.value}\r\n", seen["head"])

    def test_placeholder_far_inside_a_long_body_of_known_length_is_refused(self):
        """Its place is the header: the host has the beginning of the body, and never the whole."""
        path = self.path("far")
        ended = self.shell("{ head -c 3000000 /dev/zero; printf %s \"$KEY\"; head -c 9000 /dev/zero; } "
                           "> /tmp/body && curl -sS -o /dev/null -T /tmp/body "
                           f"https://{API}:{PORT}{path}")
        for one in self.recorded(path):
            self.assertLessEqual(one["size"], 3000000)
        self.assert_told(ended, API)

    def test_value_of_a_file_is_put_in(self):
        path, kept = self.path("file"), os.path.join(self.top, "key")
        with open(kept, "w", encoding="utf-8") as out:
            out.write(self.value + "\n")
        os.chown(kept, self.uid, self.uid)
        os.chmod(kept, 0o600)
        policy = ["--secret", f"KEY=file:{kept}@{API}:{PORT}", "--allow-domain", API]
        ended = self.shell('curl -sSf -o /dev/null -H "Authorization: Bearer $KEY" '
                           f"https://{API}:{PORT}{path}", policy)
        self.assert_works(ended)
        self.assertIn(self.value, self.recorded(path)[0]["head"])

    def test_grpc_metadata_is_put_in(self):
        policy = ["--allow-domain", "rpc.harbor.test", "--secret",
                  f"KEY=env:REAL_KEY@rpc.harbor.test:{names.GRPC}"]
        ended = self.shell(f"{harness.PYTHON} {harness.INSIDE}/grpc_call.py "
                           f'rpc.harbor.test:{names.GRPC} tls "Bearer $KEY"', policy)
        self.assert_works(ended)
        self.assertIn(f"Bearer {self.value}", self.log("grpc.log"))


class Refused(SecretCase):
    def refuse(self, text, path, policy=None):
        ended = self.shell(text, policy)
        self.assertEqual(self.recorded(path), [], ended)
        self.assert_kept(ended)
        self.assertTrue(ended.denials, ended)
        self.assertIn("KEY", json.dumps(ended.denials), ended)
        return ended

    def test_placeholder_for_another_host_is_refused_and_told(self):
        for url in (f"http://www.harbor.test:{names.RECORDER}", f"http://{API}:{names.RECORDER}"):
            with self.subTest(url=url):
                path = self.path("elsewhere")
                ended = self.refuse("curl -sS -w '%{http_code}' -o /dev/null -H "
                                    f'"Authorization: Bearer $KEY" {url}{path}', path)
                self.assertEqual(ended.out, "403")

    def test_placeholder_for_another_host_whose_tls_is_ended_is_refused(self):
        other = f"www.harbor.test:{PORT}"
        policy = ["--secret", f"KEY=env:REAL_KEY@{API}:{PORT}", "--allow-request",
                  f"GET https://{other}/*"]
        path = self.path("ended")
        ended = self.refuse("curl -sS -w '%{http_code}' -o /dev/null -H "
                            f'"Authorization: Bearer $KEY" https://{other}{path}', path, policy)
        self.assertEqual(ended.out, "403")

    def test_placeholder_in_the_body_for_another_host_is_refused(self):
        path = self.path("posted")
        ended = self.shell("{ head -c 100000 /dev/zero; printf %s \"$KEY\"; echo; } | "
                           f"curl -sS -T - http://www.harbor.test:{names.RECORDER}{path}")
        self.assertEqual([one for one in self.recorded(path) if one["size"] > 100000], [])
        self.assertTrue(ended.denials, ended)

    def test_placeholder_on_a_raw_connection_is_refused(self):
        ended = self.shell(f"printf %s \"$KEY\" | {harness.PYTHON} {harness.INSIDE}/raw.py "
                           f"www.harbor.test {names.ECHO} --end")
        self.assertNotIn("caisson_KEY", ended.out)
        self.assertTrue(ended.denials, ended)

    def test_placeholder_in_a_look_up_is_refused(self):
        ended = self.shell("curl -sS -m 5 http://$(printf %s \"$KEY\" | tr _ -).harbor.test/; "
                           "curl -sS -m 5 http://$KEY.harbor.test/; true")
        self.assertNotIn("caisson_KEY", self.log("dns.log"))
        self.assertTrue(ended.denials, ended)

    def test_headers_that_servers_repeat_have_no_place_for_it(self):
        for name in ("User-Agent", "Referer", "Origin"):
            with self.subTest(name=name):
                path = self.path("repeat")
                self.refuse(f"curl -sS -H \"{name}: $KEY\" https://{API}:{PORT}{path}", path)

    def test_value_that_is_not_there_is_an_error(self):
        ended = self.cell(self.policy, ["true"])
        self.assertEqual(ended.code, 125)
        self.assertIn("REAL_KEY", ended.said + str(ended.result.get("error")))

    def test_host_that_may_have_it_has_no_tunnel(self):
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{API}:{names.ECHO}"]
        ended = self.shell(f"printf x | {harness.PYTHON} {harness.INSIDE}/raw.py {API} "
                           f"{names.ECHO} --end", policy)
        self.assertEqual(ended.out, "", ended)
        self.assertTrue(ended.denials, ended)


class Masked(SecretCase):
    """The recorder gives back the whole request: what comes back must not have the value."""

    def test_echo_in_a_body_is_masked(self):
        path = self.path("echo")
        ended = self.shell(f'curl -sSf -H "Authorization: Bearer $KEY" https://{API}:{PORT}{path}')
        self.assert_works(ended)
        self.assertEqual(len(self.recorded(path)), 1)
        self.assertIn("Bearer caisson_KEY_", ended.out)
        self.assert_kept(ended)

    def test_echo_in_a_header_is_masked(self):
        ended = self.shell(f'curl -sSf -i -H "Authorization: Bearer $KEY" https://{API}/account')
        self.assert_works(ended)
        self.assertRegex(ended.out.lower(), r"x-seen: bearer caisson_key_")
        self.assertIn("you sent Bearer caisson_KEY", ended.out)
        self.assert_kept(ended)

    def test_echo_in_base64_is_masked(self):
        ended = self.shell(f'curl -sSf -i -u "me:$KEY" https://{API}/account')
        self.assert_works(ended)
        self.assert_kept(ended)

    def test_nothing_of_it_shows_at_the_end_of_base64(self):
        """With every number of bits that are left over in the last character."""
        for more in ("", "y", "yz"):
            with self.subTest(more=more):
                value = f"sk-{secrets.token_hex(8)}{more}"
                ended = self.cell(self.policy, ["sh", "-c", 'curl -sSf -u "me:$KEY" '
                                                f"https://{API}:{PORT}/"],
                                  env={"REAL_KEY": value})
                self.assert_works(ended)
                # "me:" is a whole group, so its four characters end before the value's begin.
                whole = base64.b64encode(f"me:{value}".encode()).decode()
                shown = re.search(r"Basic (\S+)", json.loads(ended.out)["head"]).group(1)
                self.assertEqual(len(shown), len(whole), ended)
                self.assertRegex(shown, r"^bWU6caisson_KEY_[0-9a-f]*\**=*$")

    def test_echo_byte_by_byte_is_masked(self):
        """A chunk border between any two bytes of the value."""
        at = f"{API}:{names.CHUNKED_TLS}"
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{at}"]
        ended = self.shell(f'curl -sSf -H "X-Say: <$KEY>" https://{at}/', policy)
        self.assert_works(ended)
        self.assertRegex(ended.out, r"^<caisson_KEY_[0-9a-f]{32}\**>$")

    def test_echoes_all_over_a_long_body_are_masked(self):
        """With a length, so that the body goes by the way of large ones: 1024 times in 4 MiB, which
        is on each side of every border between records and between reads."""
        at, times = f"{API}:{names.CHUNKED_TLS}", 1024
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{at}"]
        ended = self.shell(f'curl -sSf -o /tmp/body -H "X-Say: <$KEY>" https://{at}/times/{times} && '
                           "wc -c < /tmp/body; tr -d . < /tmp/body | sed 's/></>\\n</g' | uniq -c",
                           policy)
        self.assert_works(ended)
        size, count, masked = ended.out.split()
        self.assertEqual((int(size), int(count)), (4093 * times, times))
        self.assertRegex(masked, r"^<caisson_KEY_[0-9a-f]{32}\**>$")

    def test_parts_of_an_answer_do_not_add_up_to_the_value(self):
        """Asked for two bytes at a time, no part would have the whole value in it."""
        at = f"{API}:{names.CHUNKED_TLS}"
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{at}"]
        ended = self.shell("for at in 0 2 4 6; do for name in Range Request-Range x-ms-range; do "
                           "curl -sSf -H "
                           f'"X-Say: $KEY" -H "$name: bytes=$at-$((at + 1))" https://{at}/part; '
                           "echo; done; done", policy)
        self.assert_works(ended)
        self.assertEqual(len(ended.out.split()), 12, ended)
        for line in ended.out.split():
            self.assertRegex(line, r"^caisson_KEY_[0-9a-f]{32}\**$")
        self.assert_kept(ended)

    def test_answer_that_is_a_part_all_the_same_is_refused(self):
        """Asked for in a way that nobody knew: by the number of a part (S3), over HTTP/2 too."""
        at = f"{API}:{names.CHUNKED_TLS}"
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{at},{API}"]
        ask = "curl -sS -w ' %{http_version} %{http_code}\n' "
        ended = self.shell("for part in 1 2 3 4; do " + ask + '-H "X-Say: $KEY" '
                           f'"https://{at}/part?partNumber=$part"; done; '
                           + ask + f'-H "Authorization: Bearer $KEY" https://{API}/piece', policy)
        self.assert_works(ended)
        told = "is a part, so secrets in it can't be masked; ask for the whole\"}"
        self.assertEqual(re.findall(re.escape(told) + r"\s+(\S+) (\d+)\n", ended.out),
                         [("1.1", "502")] * 4 + [("2", "502")], ended)
        self.assert_kept(ended)

    def test_copy_of_a_part_is_refused(self):
        """The host would make whole objects of it, of which none has the whole value."""
        for name in ("x-amz-copy-source-range", "x-ms-source-range", "X-OSS-Copy-Source-Range",
                     "x-cos-copy-source-range", "x-obs-copy-source-range", "x-bce-copy-source-range",
                     "x-goog-copy-source-range"):
            with self.subTest(name=name):
                path = self.path("copy")
                ended = self.shell("curl -sS -o /dev/null -w '%{http_code}' -X PUT -H "
                                   f'"Authorization: Bearer $KEY" -H "{name}: bytes=0-1" '
                                   f"https://{API}:{PORT}{path}")
                self.assert_works(ended, "403")
                self.assertEqual(self.recorded(path), [])
                self.assert_told(ended, API, "copy it whole")

    def test_header_whose_name_is_the_value_is_dropped(self):
        """In whatever case: servers and HTTP/2 fold names."""
        self.value = f"sk-{secrets.token_hex(20)}.Aa_x"  # that can be one
        self.env_of_caller = {"REAL_KEY": self.value}
        at = f"{API}:{names.CHUNKED_TLS}"
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{at}"]
        ended = self.shell(f'curl -sSf -i -H "X-Say: $KEY" https://{at}/name; '
                           f'curl -sS -w " %{{http_code}}" -H "X-Say: $KEY" https://{at}/broken-name',
                           policy)
        self.assert_works(ended)
        self.assertIn("X-Plain: 4\r\n", ended.out)
        self.assertIn("a control byte in a header", ended.out)
        self.assertTrue(ended.out.endswith(" 502"), ended)
        self.assertNotIn(self.value.lower(), (json.dumps(ended.result) + ended.said).lower())

    def test_value_that_begins_beside_the_answer_of_a_websocket_is_masked(self):
        self.value = f"sk-{secrets.token_hex(20)}"
        at = f"{API}:{names.WEBSOCKET_TLS}"
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{at}"]
        ended = self.script(policy, "websocket_told.py", API, str(names.WEBSOCKET_TLS),
                            env={"REAL_KEY": self.value})
        self.assert_works(ended)
        self.assertRegex(ended.out, r"^HTTP/1.1 101 .*\ncaisson_KEY_[0-9a-f]{31}\n$")
        self.assert_kept(ended)

    def ask_for_frames(self, path, *messages):
        self.value = f"sk-{secrets.token_hex(20)}"
        at = f"{API}:{names.WEBSOCKET_TLS}"
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{at}"]
        ended = self.script(policy, "websocket_frames.py", API, str(names.WEBSOCKET_TLS), path,
                            *messages, env={"REAL_KEY": self.value})
        self.assert_works(ended)
        self.assert_kept(ended)
        return ended

    def test_value_across_the_frames_of_a_websocket_is_masked(self):
        """Wherever in a frame of 64 bytes the cell has it begin."""
        ended = self.ask_for_frames("/frames", *("." * before + "{}!" for before in range(64)))
        told = json.loads(ended.out)
        self.assertEqual(len(told), 64)
        for before, (text, frames, pings) in enumerate(told):
            self.assertRegex(text, r"^\.{%d}caisson_KEY_[0-9a-f]{31}!$" % before)
            self.assertEqual((frames, pings), (2, 1) if before + 44 > 64 else (1, 0))

    def test_websocket_with_a_value_across_too_many_frames_is_ended(self):
        """What waits between the two halves of it is bounded."""
        ended = self.ask_for_frames("/empty-frames", "go on")
        self.assertEqual(ended.out, "[]\n")
        self.assert_told(ended, f"{API}:{names.WEBSOCKET_TLS}")

    def test_parts_of_other_hosts_are_parts(self):
        at = f"mirror.harbor.test:{names.CHUNKED_TLS}"
        ended = self.shell(f'curl -sSfk -H "X-Say: abcdef" -H "Range: bytes=2-3" https://{at}/part')
        self.assert_works(ended, "cd")

    def test_length_still_holds(self):
        ended = self.shell('curl -sSf -D /tmp/head -o /tmp/body -H "X-A: $KEY" '
                           f"https://{API}:{PORT}{self.path('length')} && "
                           "grep -i content-length /tmp/head; wc -c < /tmp/body")
        self.assert_works(ended)
        told = ended.out.split()
        if len(told) == 3:  # with a length of its own, it must be the right one
            self.assertEqual(told[1], told[2])


class Held(SecretCase):
    """The last bytes of a piece could be the first of the value: they come all the same, and the value
    does not."""
    AT_ONCE = 0.9  # seconds, below the second that the gateway waits for a host that says nothing

    def setUp(self):
        super().setUp()
        self.value = f"sk-{secrets.token_hex(22)}"
        self.env_of_caller = {"REAL_KEY": self.value}
        self.messages = ["tasks", "{}", "ask-{}", "sk-", "{}", "sk", "the end"]

    def ask(self, port, name, *words, host=API, **how):
        policy = ["--allow-domain", host, "--secret", f"KEY=env:REAL_KEY@{host}:{port}"]
        ended = self.script(policy, name, *words, env=self.env_of_caller, **how)
        self.assert_works(ended)
        self.assert_kept(ended)
        return json.loads(ended.out)

    def assert_told_at_once(self, told):
        for text, seconds in told:
            self.assertLess(seconds, self.AT_ONCE, text)
        mask = r"caisson_KEY_[0-9a-f]{32}\*{3}"
        self.assertRegex(" ".join(text for text, _seconds in told),
                         f"^tasks {mask} ask-{mask} sk- {mask} sk the end$")

    def test_messages_of_a_websocket_come_at_once(self):
        self.assert_told_at_once(self.ask(names.WEBSOCKET_TLS, "websocket_held.py", API,
                                          str(names.WEBSOCKET_TLS), *self.messages))

    def test_messages_of_grpc_come_at_once_both_ways(self):
        self.assert_told_at_once(self.ask(names.GRPC, "grpc_held.py",
                                          f"rpc.harbor.test:{names.GRPC}", *self.messages,
                                          host="rpc.harbor.test"))

    def test_beginning_of_a_placeholder_goes_up_at_once(self):
        told = self.ask(names.GRPC, "grpc_held.py", f"rpc.harbor.test:{names.GRPC}", "caisson_K",
                        "caisson_KEY", "c", host="rpc.harbor.test")
        self.assertEqual([text for text, _seconds in told], ["caisson_K", "caisson_KEY", "c"])
        self.assertLess(max(seconds for _text, seconds in told), self.AT_ONCE)

    def read(self, path, seconds="0"):
        return self.ask(names.CHUNKED_TLS, "slow_read.py", API, str(names.CHUNKED_TLS), path, seconds,
                        str(len(self.value)))

    def test_body_that_stays_open_is_held_for_a_second(self):
        """Nine bytes, of which the last two could be the value's first; one more three seconds later."""
        ended = self.read("/stays")
        self.assertEqual(ended["rest"], "many task!")
        self.assertEqual(ended["arrived"][-1][1], 1, ended)  # that one alone
        self.assertLess(ended["arrived"][-2][0], 2)

    def test_value_in_two_segments_is_masked(self):
        ended = self.read("/halves")
        self.assertEqual(ended["rest"], "")
        self.assertGreater(ended["last"], 0.2)

    def test_cell_that_does_not_read_for_a_while_has_no_half_of_the_value(self):
        """It stops the gateway, and that the host, most likely in the middle of the value: 16 MB of it
        are more than fit anywhere on the way."""
        ended = self.read("/row/350000", "3")
        self.assertEqual(ended["rest"], "")
        self.assertEqual(ended["size"], 350000 * len(self.value))
        self.assertGreater(ended["last"], 3)

    def test_cell_that_does_not_send_for_a_while_has_no_half_of_the_value(self):
        """The host says half of it and waits for the rest of the request."""
        ended = self.read("/waits", "3")
        self.assertEqual(ended["rest"], "")
        self.assertGreater(ended["last"], 3)

    def test_websocket_that_waits_for_the_cell_has_no_half_of_the_value(self):
        """The host says half of it and waits for a message of the cell: no silence of the host's own."""
        at = f"{API}:{names.WEBSOCKET_TLS}"
        policy = ["--allow-domain", API, "--secret", f"KEY=env:REAL_KEY@{at}"]
        ended = self.script(policy, "websocket_told.py", API, str(names.WEBSOCKET_TLS), "2.5",
                            env=self.env_of_caller)
        self.assert_works(ended)
        self.assertRegex(ended.out, r"^HTTP/1.1 101 .*\ncaisson_KEY_[0-9a-f]{32}\*{3}\n$")
        self.assert_kept(ended)


class NowhereInTheCell(SecretCase):
    def test_value_is_not_in_any_file_or_process_of_the_cell(self):
        ended = self.script([*self.policy, "--mount", f"{self.needle()}:/needle"], "search.py",
                            "/needle", env=self.env_of_caller)
        self.assert_works(ended)
        found = json.loads(ended.out)
        self.assertEqual(found["places"], [])
        self.assertGreater(found["looked at"], 10)
        self.assertEqual(found["control"], True)

    def needle(self):
        """The value with every byte shifted by one: the search itself must not be a place."""
        path = os.path.join(self.top, "needle")
        with open(path, "wb") as out:
            out.write(bytes(byte + 1 for byte in self.value.encode()))
        os.chmod(path, 0o644)
        return path

    def test_value_is_not_in_the_environment_or_words_of_caisson_either(self):
        running = self.start(self.policy, ["sh", "-c", "echo up; read x; true"],
                             env=self.env_of_caller)
        self.assertEqual(running.line(), "up")
        pids = [running.child.pid, *self.children(running.child.pid)]
        self.assertGreater(len(pids), 1)
        for pid in pids:
            for name in ("environ", "cmdline"):
                with self.subTest(name=name, process=pids.index(pid)):
                    with open(f"/proc/{pid}/{name}", "rb") as data:
                        self.assertNotIn(self.value.encode(), data.read())
        self.assertEqual(running.finish(), 0)

    def test_record_does_not_have_it(self):
        self.shell(f'curl -sS -H "Authorization: Bearer $KEY" https://{API}:{PORT}/')
        for folder, _folders, files in os.walk(self.top):
            for name in files:
                with open(os.path.join(folder, name), "rb") as data:
                    self.assertNotIn(self.value.encode(), data.read(), name)
