"""The cases. Each gets a fresh record and must leave the host as it found it."""

import os
import random
import signal
import statistics
import time

import host
from cells import require

LONG = ("/bin/sh", "-c", "sleep 60 & sleep 60")
SHORT = ("/bin/true",)


def spin_until(moment):
    """Sleeping is too coarse for a start of a few milliseconds."""
    while time.perf_counter() < moment:
        pass


def usual_duration(place):
    """Seconds from the start of a short cell to its end, the median."""
    times = []
    for _ in range(15):
        begin = time.perf_counter()
        code = place.run(*SHORT)
        times.append(time.perf_counter() - begin)
        require(code == 0, f"a cell with nothing wrong ended with {code}: {place.said()}")
    return statistics.median(times)


def random_moment(chance, usual):
    """Most while the cell is made or unmade, some later, when a long program is well under way."""
    if chance.random() < 0.8:
        return chance.uniform(0, 1.25 * usual)
    return chance.uniform(usual, usual + 0.060)


def sigkill_at_random_moments(place, scale):
    """SIGKILL to caisson at random moments: nothing stays, and the record is whole."""
    usual = usual_duration(place)
    chance = random.Random(20261115)
    rounds = scale(300)
    killed = 0
    for i in range(rounds):
        begin = time.perf_counter()
        pid = place.start(*(LONG if i % 5 < 3 else SHORT))
        spin_until(begin + random_moment(chance, usual))
        os.kill(pid, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    require(killed > rounds / 2, f"only {killed} of {rounds} died of the signal: no such test")
    place.require_nothing_left()
    place.require_quiet()
    require(place.run(*SHORT) == 0, f"the next cell does not start: {place.said()}")
    place.require_whole()
    place.require_nothing_left()


def sigkill_in_a_crowd(place, scale):
    """Twenty at once, each killed at a moment of its own while they wait for the record's lock."""
    usual = usual_duration(place)
    chance = random.Random(1115)
    for _ in range(scale(20)):
        cells = [place.start(*chance.choice((LONG, SHORT))) for _ in range(20)]
        chance.shuffle(cells)
        for pid in cells:
            time.sleep(chance.uniform(0, usual / 2))
            os.kill(pid, signal.SIGKILL)
        for pid in cells:
            os.waitpid(pid, 0)
    place.require_nothing_left()
    require(place.run(*SHORT) == 0, f"the next cell does not start: {place.said()}")
    place.require_whole()
    place.require_nothing_left()


def parent_with_cells(place, count):
    """A parent in a process group of its own that starts `count` cells and waits."""
    pid = os.fork()
    if pid:
        os.setpgid(pid, pid)  # from both sides: whoever is first, it leads its group from here on
        return pid
    try:
        os.setpgid(0, 0)
        for _ in range(count):
            place.start(*LONG)
        signal.pause()
    finally:
        os._exit(1)


def sigkill_to_the_group(place, scale):
    """SIGKILL to a parent and all its cells in the same instant, as a shell or CI job does it."""
    usual = usual_duration(place)
    chance = random.Random(54321)
    for _ in range(scale(150)):
        parent = parent_with_cells(place, 3)
        time.sleep(0.001 + chance.uniform(0, 4 * usual))
        os.killpg(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
    place.require_nothing_left()
    require(place.run(*SHORT) == 0, f"the next cell does not start: {place.said()}")
    place.require_whole()


class HostCounts:
    """Numbers that would grow if each cell left a little behind."""

    def __init__(self):
        self.namespaces = host.network_namespaces()
        self.cgroups = host.cgroup_count()
        self.kernel = host.kernel_kib()
        self.files = host.open_files(os.getpid())

    def require_flat(self, runs):
        slack = 64  # what else the host does meanwhile
        now = host.falls_to(host.network_namespaces, self.namespaces + slack, 60)
        require(now <= self.namespaces + slack, f"network namespaces: {self.namespaces} → {now}")
        now = host.falls_to(host.cgroup_count, self.cgroups + slack, 30)
        require(now <= self.cgroups + slack, f"cgroups: {self.cgroups} → {now}")
        bound = self.kernel + 4 * runs + 16 * 1024  # a page per run would already be noticed
        now = host.falls_to(host.kernel_kib, bound, 30)
        require(now <= bound, f"the kernel's own memory: {self.kernel} → {now} KiB")
        now = host.open_files(os.getpid())
        require(now == self.files, f"open files of the parent: {self.files} → {now}")


def many_in_a_row(place, scale):
    """Ten thousand, one after the other in two lanes: all end well, nothing grows."""
    runs, lanes = scale(10_000), 2
    require(place.run(*SHORT) == 0, f"the first cell does not start: {place.said()}")
    before = HostCounts()
    started, running = 0, set()
    while started < runs or running:
        while started < runs and len(running) < lanes:
            running.add(place.start(*SHORT))
            started += 1
        pid, status = os.waitpid(-1, 0)
        code = os.waitstatus_to_exitcode(status)
        require(pid in running, f"process {pid} outlived its supervisor")
        require(code == 0, f"a cell ended with {code}: {place.said()}")
        running.discard(pid)
    place.require_quiet()
    place.require_nothing_left()
    place.require_whole(events=2 * (runs + 1))
    before.require_flat(runs)


def many_at_once(place, scale):
    """Two hundred that all run at the same time, by a program that waits for our word."""
    count = scale(200)
    go_read, go_write = os.pipe()
    ready_read, ready_write = os.pipe()
    program = ("/bin/sh", "-c", "echo ready; cat")
    cells = {place.start(*program, stdin=go_read, stdout=ready_write) for _ in range(count)}
    os.close(go_read)
    os.close(ready_write)
    heard = b""
    while heard.count(b"\n") < count:
        part = os.read(ready_read, 4096)
        require(part, f"only {heard.count(bytes([10]))} of {count} began: {place.said()}")
        heard += part
    os.close(go_write)
    os.close(ready_read)
    for pid in cells:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        require(code == 0, f"a cell ended with {code}: {place.said()}")
    place.require_quiet()
    place.require_nothing_left()
    place.require_whole(events=2 * count)


def supervisor_stays_small(place, scale):
    """Much output through one cell: caisson's open files and memory stay what they are."""
    total = scale(400) * 1_000_000
    out_read, out_write = os.pipe()
    words = ("--output-limit", "4G", "/bin/sh", "-c", f"yes | head -c {total}")
    pid = place.start(*words, stdout=out_write)
    os.close(out_write)
    seen, next_sample, files, memory = 0, 0, [], []
    while part := os.read(out_read, 65536):
        seen += len(part)
        if next_sample <= seen < total:
            files.append(host.open_files(pid))
            memory.append(host.resident_kib(pid))
            next_sample = seen + total // 40
    os.close(out_read)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    require(code == 0, f"the cell ended with {code}: {place.said()}")
    require(seen == total, f"{seen} of {total} bytes came through")
    require(len(files) >= 20, "not enough samples to tell")
    require(max(files) == files[0], f"open files grew: {files}")
    require(max(memory) - memory[0] < 512, f"resident memory grew: {memory} KiB")
    place.require_quiet()
    place.require_nothing_left()


ALL = (
    (sigkill_at_random_moments, 60),
    (sigkill_in_a_crowd, 90),
    (sigkill_to_the_group, 90),
    (many_at_once, 90),
    (supervisor_stays_small, 60),
    (many_in_a_row, 300),
)
