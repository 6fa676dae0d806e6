"""Much at once, slow peers, dead peers: nobody else waits, and memory stays bounded."""
import concurrent.futures
import contextlib
import json
import os
import signal
import time

import harness
import names
import servers
from harness import INSIDE, PYTHON

WWW = ["--allow-domain", "www.harbor.test"]
COME = "curl -s -m 9 -o /dev/null http://www.harbor.test/text"  # the first who does starts it
MOST_MEMORY = 32 << 10  # KiB, of the gateway at its peak
WELL_BEFORE = 20        # seconds


def has_waited(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return any(line.startswith("voluntary_ctxt_switches:") and line.split()[1] != "0" for line in lines)


def gateways(test, running):
    """The children of caisson that are in the host's network, its sweeper left out: which has its name when it
    waits for the first time, and on a busy machine that may be after the program has begun."""
    def is_one(pid):
        with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
            return os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net") and \
                name.read() == "caisson\n"
    children = test.children(running.child.pid)
    deadline = time.monotonic() + 5
    while not all(has_waited(pid) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.01)
    return [pid for pid in children if is_one(pid)]


class GatewayProcess:
    """The gateway of a cell whose program runs."""

    def __init__(self, test, running):
        self.pid, = gateways(test, running)

    def status(self, name):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as lines:
            return next(line.split()[1] for line in lines if line.startswith(name + ":"))

    def is_alive(self):
        return os.path.exists(f"/proc/{self.pid}")


class Load(harness.GatewayTest):
    def begin(self, script, flags=()):
        running = self.start([*WWW, *flags], ["sh", "-c", f"{COME}; echo up; {script}"],
                             env={"REAL_KEY": "sk-0123456789abcdef"})
        self.assertEqual(running.line(), "up", running.err)
        return running, GatewayProcess(self, running)

    def fetch_beside(self, others, flags=()):
        """Fetches four megabytes in the cell of `others`, which say a line first and then stay for
        100 seconds: whoever waits for one of them is late by far, on the busiest machine."""
        running, gateway = self.begin(f"{others} & read go; {self.FETCH}; read more", flags)
        self.assertTrue(running.line())
        began = time.monotonic()
        digest = running.ask("go")
        took = time.monotonic() - began
        self.assertIn(self.digest("bytes"), digest, running.err)
        self.assertLess(took, WELL_BEFORE)
        self.assertLess(int(gateway.status("VmHWM")), MOST_MEMORY)

    FETCH = "curl -sSf -o /tmp/got http://www.harbor.test/bytes && sha256sum < /tmp/got"

    def test_byte_a_second_stops_nobody(self):
        self.fetch_beside(f"{PYTHON} {INSIDE}/trickle.py www.harbor.test 80 100")

    def test_clients_that_never_read_stop_nobody(self):
        self.fetch_beside(f"{PYTHON} {INSIDE}/deaf.py www.harbor.test 50")

    def test_clients_that_never_read_from_ended_tls_stop_nobody(self):
        """Every byte for them is looked through for a secret, and none is taken."""
        self.fetch_beside(f"{PYTHON} {INSIDE}/deaf.py www.harbor.test 80 tls",
                          ["--secret", "KEY=env:REAL_KEY@www.harbor.test"])

    def test_silent_server_stops_nobody(self):
        silent = f"curl -sS http://www.harbor.test:{names.SILENT}/"
        self.fetch_beside(f"(echo up; for i in 1 2 3 4 5; do {silent} & done; wait)")

    def test_name_server_that_is_silent_stops_nobody(self):
        flags = ["--allow-domain", "silent.harbor.test"]
        running, _gateway = self.begin(
            "curl -sS -o /dev/null -w 'silent %{http_code}\\n' http://silent.harbor.test/ & "
            f"{self.FETCH}; wait", flags)
        self.assertIn(self.digest("bytes"), running.line())  # before the other's time is up
        self.assertEqual(running.line(), "silent 504")

    def test_a_thousand_connections_at_once(self):
        running, gateway = self.begin(
            f"read go; {PYTHON} {INSIDE}/many.py www.harbor.test {names.ECHO} 1000; read more",
            ["--files", "4096", "--connections", "2000"])
        counts = json.loads(running.ask("go"))
        self.assertEqual(counts, {"at once": 1000, "afterwards": "works"})
        self.assertLess(int(gateway.status("VmHWM")), MOST_MEMORY)

    def test_a_thousand_connections_of_ended_tls(self):
        """Two states of TLS for each, most of them at rest: 20 KB."""
        running, gateway = self.begin(
            f"read go; {PYTHON} {INSIDE}/many_tls.py www.harbor.test 1000; read more",
            ["--files", "4096", "--connections", "2000",
             "--secret", "KEY=env:REAL_KEY@www.harbor.test"])
        self.assertEqual(json.loads(running.ask("go")), {"answered": 1000, "again": 1000})
        self.assertLess(int(gateway.status("VmHWM")), MOST_MEMORY)

    def test_clients_that_go_away_leave_nothing(self):
        running, gateway = self.begin(f"{PYTHON} {INSIDE}/abort.py www.harbor.test 80 1000; "
                                      f"{self.FETCH}; read more")
        self.assertEqual(running.line(), "gone")
        self.assertIn(self.digest("bytes"), running.line())
        self.assertLess(int(gateway.status("VmHWM")), MOST_MEMORY)
        deadline = time.monotonic() + 5
        while len(os.listdir(f"/proc/{gateway.pid}/fd")) > 30:
            self.assertLess(time.monotonic(), deadline, os.listdir(f"/proc/{gateway.pid}/fd"))
            time.sleep(0.05)

    def test_two_thousand_requests_of_one_connection(self):
        urls = "http://www.harbor.test/repos/[1-2000]"
        ended = self.cell(["--allow-domain", "www.harbor.test"],
                          ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} ", urls])
        self.assertEqual(ended.out, "404 " * 2000)
        self.assertEqual(ended.usage["connections"], 1)

    def test_twenty_cells_at_once(self):
        def one(_):
            return self.cell(WWW, ["curl", "-sSf", "https://www.harbor.test/text"])
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            for ended in pool.map(one, range(20)):
                self.assert_works(ended, harness.TEXT)


class Gigabyte(harness.GatewayTest):
    """A gigabyte of zeros, or ten: every byte right, the gateway no larger than its bound."""

    def download(self, flags, url, size=1 << 30):
        running = self.start(flags, ["sh", "-c", f"{COME}; echo up; read go; curl -sSf "
                                     f"-r 0-{size - 1} {url} | {PYTHON} {INSIDE}/zeros.py; "
                                     "read more"])
        self.assertEqual(running.line(), "up", running.err)
        gateway = GatewayProcess(self, running)
        self.assertEqual(running.ask("go", within=240), str(size), running.err)
        self.assertLess(int(gateway.status("VmHWM")), MOST_MEMORY)

    def test_over_http(self):
        self.download(WWW, "http://www.harbor.test/sparse")

    def test_through_a_tunnel(self):
        self.download(WWW, "https://www.harbor.test/sparse")

    def test_ten_of_them(self):
        self.download(WWW, "http://www.harbor.test/sparse", servers.SPARSE_SIZE)

    def test_where_tls_is_ended(self):
        self.download(["--allow-request", "GET https://www.harbor.test/*"],
                      "https://www.harbor.test/sparse")

    def test_upload_of_it(self):
        running = self.start(WWW, ["sh", "-c", f"{COME}; echo up; read go; "
                                   "head -c 1000000000 /dev/zero | "
                                   "curl -sSf -T - http://www.harbor.test/take; echo; read more"])
        self.assertEqual(running.line(), "up", running.err)
        gateway = GatewayProcess(self, running)
        self.assertIn('"size": 1000000000', running.ask("go"))
        self.assertLess(int(gateway.status("VmHWM")), MOST_MEMORY)


class Life(harness.GatewayTest):
    def begin(self):
        running = self.start(WWW, ["sh", "-c", f"{COME}; echo up; read x; true"])
        self.assertEqual(running.line(), "up")
        return running, GatewayProcess(self, running)

    def wait_gone(self, gateway):
        deadline = time.monotonic() + 5
        while gateway.is_alive():
            self.assertLess(time.monotonic(), deadline, "the gateway outlives its cell")
            time.sleep(0.01)

    @staticmethod
    def end(pidfd):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)

    def test_gateway_ends_with_its_cell(self):
        running, gateway = self.begin()
        self.assertEqual(running.finish(), 0)
        self.wait_gone(gateway)

    def test_gateway_ends_with_a_caisson_that_is_killed(self):
        running, gateway = self.begin()
        running.child.send_signal(signal.SIGKILL)
        self.wait_gone(gateway)

    def test_gateway_that_hangs_ends_with_a_caisson_that_is_killed(self):
        running, gateway = self.begin()
        self.addCleanup(self.end, os.pidfd_open(gateway.pid))  # of a mutant it is still there
        os.kill(gateway.pid, signal.SIGSTOP)
        running.child.send_signal(signal.SIGKILL)
        self.wait_gone(gateway)

    def test_gateway_is_confined(self):
        _running, gateway = self.begin()
        self.assertEqual(gateway.status("Seccomp"), "2")
        self.assertEqual(gateway.status("NoNewPrivs"), "1")
        self.assertEqual(int(gateway.status("CapEff"), 16), 0)
        self.assertEqual(int(gateway.status("CapPrm"), 16), 0)

    def test_cell_that_asks_for_nothing_has_no_gateway(self):
        running = self.start(WWW, ["sh", "-c", f"echo up; read x; {COME}; echo came; read x"])
        self.assertEqual(running.line(), "up")
        self.assertEqual(gateways(self, running), [])
        self.assertEqual(running.ask("go"), "came")
        self.assertEqual(len(gateways(self, running)), 1)

    def test_cell_without_network_has_no_gateway(self):
        running = self.start([], ["sh", "-c", "echo up; read x; true"])
        self.assertEqual(running.line(), "up")
        self.assertEqual(gateways(self, running), [])

    def test_cell_whose_gateway_is_killed_reaches_nothing(self):
        running = self.start(WWW, ["sh", "-c", "while read url; do curl -s -m 3 -o /dev/null -w "
                                   "'%{http_code}\\n' $url || true; done"])
        self.assertEqual(running.ask("http://www.harbor.test/text"), "200")
        os.kill(GatewayProcess(self, running).pid, signal.SIGKILL)
        self.assertEqual(running.ask("http://www.harbor.test/text"), "000")
        self.assertEqual(running.ask(f"http://{names.FAR}/text"), "000")
