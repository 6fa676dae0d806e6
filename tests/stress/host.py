"""What the host shows of cells, and what they left behind. Looks only; changes nothing."""

import os
import re
import time

CGROUP_NAME = re.compile(r"caisson-(?:supervisor-(\d+)|(\d+)-(\d+)-[0-9a-f]+)$")
CGROUP_ROOT = "/sys/fs/cgroup"
MAX_DEPTH = 6
MAX_FOLDERS = 50_000


def read(path):
    """The file's bytes; none if it is gone or not ours to read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children():
    """Processes whose parent is this one. As a subreaper we inherit every orphan of our cells."""
    found = set()
    for pid in pids():
        stat = read(f"/proc/{pid}/stat")
        fields = stat[stat.rfind(b")") + 2 :].split()
        if len(fields) > 1 and int(fields[1]) == os.getpid():
            found.add(pid)
    return found


def processes_with(marker):
    """Processes that carry the marker in their arguments or their environment."""
    word = marker.encode()
    return {
        pid
        for pid in pids()
        if pid != os.getpid()
        and (word in read(f"/proc/{pid}/cmdline") or word in read(f"/proc/{pid}/environ"))
    }


def ticks_since_boot():
    per_second = os.sysconf("SC_CLK_TCK")
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * per_second)


def cgroup_folders(since):
    """Folders of cells made after `since` (in ticks) whose supervisor is gone."""
    found, seen = set(), 0
    for path, names, _ in os.walk(CGROUP_ROOT):
        seen += 1
        if path.count("/") - CGROUP_ROOT.count("/") >= MAX_DEPTH or seen > MAX_FOLDERS:
            names.clear()
        for name in names:
            match = CGROUP_NAME.match(name)
            if not match:
                continue
            owner = match.group(1) or match.group(2)
            is_old = match.group(3) and int(match.group(3)) < since
            if not is_old and not os.path.exists(f"/proc/{owner}"):
                found.add(os.path.join(path, name))
    return found


def mounts():
    return set(read("/proc/self/mountinfo").decode(errors="replace").splitlines())


def names_in(folder):
    try:
        return {os.path.join(folder, name) for name in os.listdir(folder)}
    except OSError:
        return set()


def network_namespaces():
    """How many there are: by the kernel's own count where root may read it, else by process."""
    for line in read("/proc/slabinfo").decode(errors="replace").splitlines():
        if line.startswith("net_namespace "):
            return int(line.split()[1])
    found = set()
    for pid in pids():
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            pass
    return len(found)


def kernel_kib():
    """Memory that the kernel holds for itself and can't give back by reclaiming caches."""
    wanted = {"SUnreclaim", "KernelStack", "PageTables", "Percpu"}
    total = 0
    for line in read("/proc/meminfo").decode().splitlines():
        name, _, rest = line.partition(":")
        if name in wanted:
            total += int(rest.split()[0])
    return total


def cgroup_count():
    """All cgroups of all hierarchies, those among them that are removed but not yet freed."""
    lines = read("/proc/cgroups").decode().splitlines()[1:]
    return sum(int(line.split()[2]) for line in lines if len(line.split()) == 4)


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_kib(pid):
    for line in read(f"/proc/{pid}/status").decode().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def persisting(observe, seconds):
    """What `observe` gives from now until the time is over; returns at once when nothing is left.

    The kernel ends a cell a moment after its supervisor, and others on the host run cells too: only
    what stays is left over.
    """
    end = time.monotonic() + seconds
    left = observe()
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left &= observe()
    return left


def falls_to(measure, bound, seconds):
    """The smallest value measured until it is within the bound or the time is over."""
    end = time.monotonic() + seconds
    smallest = measure()
    while smallest > bound and time.monotonic() < end:
        time.sleep(0.1)
        smallest = min(smallest, measure())
    return smallest
