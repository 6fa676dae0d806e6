"""Ports and sockets through the wall, rules that change, and what is told while a cell runs."""
import concurrent.futures
import http.client
import json
import os
import socket
import threading

import harness
import names
from harness import INSIDE, PYTHON

CANARY = 7001  # on the loopback of the host
WWW = ["--allow-domain", "www.harbor.test"]


class Forward(harness.GatewayTest):
    def test_port_of_the_host_is_on_the_cells_own_localhost(self):
        for host in ("127.0.0.1", "localhost"):
            for before in ([], harness.WITHOUT_PROXIES):
                with self.subTest(host=host, proxy=not before):
                    ended = self.cell(["--forward", str(CANARY)],
                                      [*before, "curl", "-sSf", f"http://{host}:{CANARY}/"])
                    self.assert_works(ended, "canary\n")

    def test_other_ports_of_the_host_are_not(self):
        ended = self.cell(["--forward", str(CANARY)], ["curl", "-sSf", "http://127.0.0.1:80/"])
        self.assertNotEqual(ended.code, 0, ended)
        self.assertEqual(self.world.canaries[80].hits(), self.hits_before[80])

    def test_port_that_nobody_listens_on_fails_quickly(self):
        ended = self.cell(["--forward", "7999"], ["curl", "-sSf", "-m", "5",
                                                  "http://127.0.0.1:7999/"])
        self.assertNotEqual(ended.code, 0, ended)
        self.assert_quick(ended)

    def test_it_allows_nothing_else(self):
        ended = self.cell(["--forward", str(CANARY)], ["curl", "-sSf", "http://www.harbor.test/"])
        self.assert_refused(ended, "www.harbor.test")

    def test_host_port_is_not_reached_by_its_proxy(self):
        ended = self.script(["--forward", str(CANARY)], "raw.py", "127.0.0.1", "3128",
                            stdin=b"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n")
        self.assertRegex(ended.out, r"^HTTP/1\.1 40[03] ", ended)
        self.assert_no_canary_hit()


class Publish(harness.GatewayTest):
    def serve(self, *flags, port=8000):
        running = self.start(flags, [PYTHON, f"{INSIDE}/serve.py", str(port)])
        self.assertEqual(running.line(), "listening", running.err)
        return running

    def fetch(self, port, path="/", host="127.0.0.1"):
        connection = http.client.HTTPConnection(host, port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()

    def test_port_of_the_cell_is_on_the_hosts_loopback(self):
        running = self.serve("--publish", "8000:18000")
        self.assertEqual(self.fetch(18000), b"from inside\n")
        self.assertEqual(running.finish(), 0)

    def test_same_port_when_no_other_is_said(self):
        running = self.serve("--publish", "8001", port=8001)
        self.assertEqual(self.fetch(8001), b"from inside\n")
        self.assertEqual(running.finish(), 0)

    def test_it_is_not_on_the_hosts_other_addresses(self):
        self.serve("--publish", "8000:18000")
        self.assertTrue(self.world.connects("127.0.0.1", 18000))
        self.assertFalse(self.world.connects(names.NEAR, 18000))
        self.assertFalse(self.world.connects(names.NEAR6, 18000))

    def test_two_hundred_connections_one_after_another(self):
        self.serve("--publish", "8000:18000")
        for i in range(200):
            self.assertEqual(self.fetch(18000), b"from inside\n", f"connection {i}")

    def test_many_connections_together(self):
        self.serve("--publish", "8000:18000")
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            got = list(pool.map(lambda i: len(self.fetch(18000, f"/{100_000 + i}")), range(120)))
        self.assertEqual(got, [100_000 + i for i in range(120)])

    def test_large_bodies_pass_both_ways(self):
        self.serve("--publish", "8000:18000")
        body = os.urandom(3_000_000)
        connection = http.client.HTTPConnection("127.0.0.1", 18000, timeout=10)
        self.addCleanup(connection.close)
        connection.request("POST", "/", body)
        self.assertTrue(connection.getresponse().read() == body)

    def test_nobody_listening_inside_is_an_end_and_not_a_hang(self):
        running = self.start(["--publish", "8000:18000"], ["sh", "-c", "echo up; read x; true"])
        self.assertEqual(running.line(), "up")
        try:
            with socket.create_connection(("127.0.0.1", 18000), timeout=3) as peer:
                self.assertEqual(peer.recv(10), b"")
        except ConnectionResetError:
            pass

    def test_port_that_is_taken_is_an_error(self):
        ended = self.cell(["--publish", f"8000:{CANARY}"], ["true"])
        self.assertEqual(ended.code, 125, ended)

    def test_port_is_free_again_afterwards(self):
        self.assertEqual(self.serve("--publish", "8000:18000").finish(), 0)
        self.assertFalse(self.world.connects("127.0.0.1", 18000))
        self.assertEqual(self.serve("--publish", "8000:18000").finish(), 0)

    def test_it_opens_no_way_out(self):
        ended = self.cell(["--publish", "8000:18000"], ["curl", "-sSf", "http://www.harbor.test/"])
        self.assert_refused(ended, "www.harbor.test")


class Sockets(harness.GatewayTest):
    TALK = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
            "print(s.recv(99).decode())")

    def listen(self, name):
        path = os.path.join(self.top, name)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        os.chmod(path, 0o666)
        self.addCleanup(listener.close)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)  # wakes its thread: the number is the next one's

        def serve():
            try:
                while True:
                    peer, _ = listener.accept()
                    peer.sendall(name.encode())
                    peer.close()
            except OSError:
                pass
        threading.Thread(target=serve, daemon=True).start()
        return path

    def test_allowed_socket_is_reached_at_its_own_path(self):
        path = self.listen("docker.sock")
        ended = self.cell(["--allow-socket", path], [PYTHON, "-c", self.TALK, path])
        self.assert_works(ended, "docker.sock\n")

    def test_other_sockets_are_not(self):
        allowed, other = self.listen("allowed.sock"), self.listen("other.sock")
        ended = self.cell(["--allow-socket", allowed], [PYTHON, "-c", self.TALK, other])
        self.assertNotEqual(ended.code, 0, ended)

    def test_abstract_sockets_of_the_host_are_not(self):
        name = f"caisson-{os.path.basename(self.top)}"
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind("\0" + name)
        listener.listen()
        talk = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
        ended = self.cell(WWW, [PYTHON, "-c", talk])
        self.assertIn("ConnectionRefusedError", ended.err)

    def test_path_that_is_no_socket_is_an_error(self):
        for path in ("/etc/passwd", self.top, "/nobody/here.sock"):
            with self.subTest(path=path):
                self.assertEqual(self.cell(["--allow-socket", path], ["true"]).code, 125)

    def test_sockets_of_the_cells_own_are_free(self):
        talk = ("import socket; s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen();"
                "c = socket.socket(socket.AF_UNIX); c.connect('/tmp/s'); print('own')")
        self.assert_works(self.cell(WWW, [PYTHON, "-c", talk]), "own\n")


class WhileItRuns(harness.GatewayTest):
    FETCH = ("while read url; do curl -s -o /dev/null -m 5 -w '%{http_code}\\n' \"$url\" || true; "
             "done")

    def start_with(self, flags, *fds):
        running = self.start([*WWW, *flags], ["sh", "-c", self.FETCH], pass_fds=fds)
        return running

    def test_new_rules_hold_at_once(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        running = self.start_with(["--control-fd", str(theirs.fileno())], theirs.fileno())
        theirs.close()
        www, quay = "http://www.harbor.test/text", "http://www.quay.test/text"

        def until(url, status):
            """The rules arrive by another way than the requests: asked until they have."""
            for _ in range(50):
                told = running.ask(url)
                if told == status:
                    return
            self.fail(f"{url} is still {told} and not {status}")

        self.assertEqual([running.ask(www), running.ask(quay)], ["200", "403"])
        ours.sendall(b'{"allow": ["www.quay.test"]}\n')
        until(quay, "200")
        self.assertEqual(running.ask(www), "403")
        ours.sendall(b'{"allow": ["*.harbor.test"], "deny": ["www.harbor.test"]}\n')
        until(quay, "403")
        self.assertEqual(running.ask(www), "403")
        self.assertEqual(running.ask("http://api.harbor.test/text"), "200")
        ours.sendall(b'{}\n')
        until("http://api.harbor.test/text", "403")
        self.assertEqual(running.finish(), 0)

    def test_hosts_of_secrets_stay_allowed(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        flags = ["--control-fd", str(theirs.fileno()), "--secret",
                 f"KEY=env:REAL_KEY@api.harbor.test:{names.RECORDER_TLS}"]
        running = self.start([*WWW, *flags], ["sh", "-c", self.FETCH], pass_fds=[theirs.fileno()],
                             env={"REAL_KEY": "sk-of-the-host"})
        theirs.close()
        ours.sendall(b'{"allow": ["www.quay.test"]}\n')
        for _ in range(50):
            if running.ask("http://www.harbor.test/text") == "403":
                break
        self.assertEqual(running.ask("http://www.harbor.test/text"), "403")
        self.assertEqual(running.ask(f"https://api.harbor.test:{names.RECORDER_TLS}/kept"), "200")
        self.assertEqual(running.finish(), 0)

    def test_rules_that_are_none_change_nothing(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        running = self.start_with(["--control-fd", str(theirs.fileno())], theirs.fileno())
        theirs.close()
        for line in (b"allow everything", b"[]", b'{"allow": "www.quay.test"}',
                     b'{"alow": ["www.quay.test"]}', b'{"allow": ["*"]}', b'{"allow": [1]}',
                     b'{"allow": ["www.quay.test"]', b"\xff\xfe"):
            ours.sendall(line + b"\n")
        for _ in range(5):
            self.assertEqual(running.ask("http://www.harbor.test/text"), "200")
            self.assertEqual(running.ask("http://www.quay.test/text"), "403")
        self.assertEqual(running.finish(), 0)

    def test_end_of_the_control_changes_nothing(self):
        ours, theirs = socket.socketpair()
        running = self.start_with(["--control-fd", str(theirs.fileno())], theirs.fileno())
        theirs.close()
        ours.close()
        self.assertEqual(running.ask("http://www.harbor.test/text"), "200")
        self.assertEqual(running.ask("http://www.quay.test/text"), "403")
        self.assertEqual(running.finish(), 0)

    def test_denials_are_told_as_they_happen(self):
        read_end, write_end = os.pipe()
        running = self.start_with(["--denials-fd", str(write_end)], write_end)
        os.close(write_end)
        with os.fdopen(read_end, encoding="utf-8") as told:
            self.assertEqual(running.ask("http://www.quay.test:8080/text"), "403")
            denial = json.loads(told.readline())  # while the cell runs
            self.assertEqual((denial["host"], denial["port"]), ("www.quay.test", 8080))
            self.assertEqual(denial["how_to_allow"], "--allow-domain www.quay.test:8080")
            self.assertTrue(denial["denied"])
            self.assertEqual(running.ask("http://api.quay.test/text"), "403")
            self.assertEqual(json.loads(told.readline())["host"], "api.quay.test")
            self.assertEqual(running.finish(), 0)
            told.read()  # its end: nobody keeps it open

    def test_denials_that_nobody_reads_hold_no_time_limit_up(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        self.addCleanup(os.close, write_end)
        os.write(write_end, b"x" * 65536)  # there is no room for a single line
        flood = (f"for i in $(seq 300); do {harness.PYTHON} {harness.INSIDE}/dns_query.py "
                 "n$i.quay.test A >/dev/null 2>&1; done; sleep 60")
        ended = self.cell([*WWW, "--timeout", "2s", "--denials-fd", str(write_end)],
                          ["sh", "-c", flood], pass_fds=(write_end,))
        self.assertEqual(ended.code, 124, ended)
        self.assertLess(ended.seconds, 10)
        self.assertTrue(ended.denials, ended)

    def test_the_cell_does_not_have_these_descriptors(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        ended = self.cell([*WWW, "--denials-fd", str(write_end)], ["ls", "/proc/self/fd"],
                          pass_fds=(write_end,))
        os.close(write_end)
        self.assertLessEqual(set(ended.out.split()), {"0", "1", "2", "3"}, ended)

    def test_denials_are_in_the_record(self):
        self.cell(WWW, ["curl", "-s", "http://www.quay.test/text"])
        record = os.path.join(self.top, "home", ".local", "state", "caisson", "audit.jsonl")
        with open(record, encoding="utf-8") as lines:
            self.assertIn("www.quay.test", lines.read())
