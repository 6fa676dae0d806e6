"""Many sessions at once, and many calls: what they take, and that nothing of it stays.

Small in every run; with --full as large as docs/specification.md says: 1,000 sessions, 100,000 calls.
"""
import os
import time

import harness
from harness import DEADLINE, Host, SessionTest, descendants

AT_ONCE = 16  # orders under way: a host answers in the order in which it gets done


def private_bytes(pid):
    """Memory of this process that no other one shares; 0 when it is gone. A sweeper lives in the
    memory of the host."""
    try:
        with open("/proc/%d/comm" % pid) as file:
            if file.read().strip() == "caisson-sweeper":
                return 0
        with open("/proc/%d/smaps_rollup" % pid) as file:
            return sum(int(line.split()[1]) << 10 for line in file if line.startswith("Private_"))
    except OSError:
        return 0


def resident_bytes(pid):
    with open("/proc/%d/statm" % pid) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Many(SessionTest):
    def batches(self, count, order):
        """order(i) sends the i-th; answers come in this order."""
        for start in range(0, count, AT_ONCE):
            sent = [order(i) for i in range(start, min(count, start + AT_ONCE))]
            for number in sent:
                yield self.host.wait(number, 2 * DEADLINE)

    def test_sessions_at_once_with_a_call_in_each(self):
        count = 1000 if harness.FULL else 200
        if harness.OWN_CELLS:
            count //= 10  # each has a Python of its own that is shared with none
        before = len(descendants(self.host.process.pid))
        begin = time.monotonic()
        infos = list(self.batches(count, lambda i: self.host.send("create", "m%d" % i)))
        made = time.monotonic() - begin
        self.assertEqual(len([one for one in infos if one["alive"]]), count)
        for i, answer in enumerate(self.batches(
                count, lambda i: self.host.send("exec", "m%d" % i, code="x = %d\nx * x" % i))):
            self.assertEqual(answer["result"]["value"]["text/plain"], str(i * i), answer)
        # Each has its own, still.
        for i in (0, 1, count // 2, count - 1):
            answer = self.host.ask("evaluate", "m%d" % i, expression="x")
            self.assertEqual(answer["result"]["value"], i)
        below = descendants(self.host.process.pid)
        memory = sum(private_bytes(pid) for pid in below)
        print("\n%d sessions: made in %.1f s, %d processes, %.1f MB private each" % (
            count, made, len(below), memory / count / 1e6), end=" ", flush=True)
        for _ in self.batches(count, lambda i: self.host.send("end", "m%d" % i)):
            pass
        self.wait_until(lambda: len(descendants(self.host.process.pid)) <= before + 40)

    def wait_until(self, true):
        until = time.monotonic() + DEADLINE
        while not true():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def state(self, host):
        """What could grow: memory of the host, its descriptors, processes below it, files."""
        pid = host.process.pid
        files = sum(len(names) + len(folders) for _, folders, names in os.walk(host.state))
        return {"resident": resident_bytes(pid), "descriptors": len(os.listdir("/proc/%d/fd" % pid)),
                "processes": len(descendants(pid)), "files": files}

    def settled(self, host):
        """The same twice: sessions in reserve have been made, what a call left has been closed."""
        seen = []

        def still():
            seen.append(self.state(host))
            time.sleep(0.3)
            now = self.state(host)
            return all(seen[-1][what] == now[what] for what in ("descriptors", "processes", "files"))
        self.wait_until(still)
        return seen[-1]

    def test_calls_without_growth(self):
        count = 100_000 if harness.FULL else 4_000
        # The sanitizer keeps what is freed for a while, 256 MB of it: that is not growth.
        host = Host(self.path("soak"), env={"ASAN_OPTIONS": "quarantine_size_mb=1:"
                                                            "thread_local_quarantine_size_kb=64"})
        self.addCleanup(host.close)
        session = host.session("soak")
        codes = ("x = %d", "x", "print(x)", "y = [x] * 10", "import os; os.getpid()", "1 / 0",
                 "len(y)", "open('f', 'w').write(str(x)) and None")

        def run(calls):
            for start in range(0, calls, AT_ONCE):
                sent = [host.send("exec", "soak", code=codes[i % len(codes)].replace("%d", str(i)))
                        for i in range(start, start + AT_ONCE)]
                for number in sent:
                    host.wait(number)

        run(count // 5)  # until caches are warm, and arenas have their size
        session.exec("import gc; gc.collect()")
        inside = session.value("os.getpid() and __import__('resource').getrusage(0).ru_maxrss")
        first, begin = self.settled(host), time.monotonic()
        run(count)
        session.exec("import gc; gc.collect()")
        room = {"descriptors": 2, "processes": 3, "files": 3}
        # A checkpoint that has ended is collected with the next: so there is a next one.
        self.wait_until(lambda: session.exec("x = 1") and all(
            self.state(host)[what] <= first[what] + more for what, more in room.items()))
        last = self.state(host)
        print("\n%d calls in %.0f s: %s, then %s" % (count, time.monotonic() - begin, first, last),
              end=" ", flush=True)
        self.assertLessEqual(last["resident"], first["resident"] + (4 << 20))
        after = session.value("__import__('resource').getrusage(0).ru_maxrss")
        self.assertLessEqual(after, inside + (8 << 10))  # in KiB
