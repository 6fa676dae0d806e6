#!/usr/bin/env python3
"""Times of sessions, one JSON line a case: `bench/session.py CAISSON DRIVER [ROUNDS]`.

CAISSON and DRIVER (tests/sessions/driver.cpp) should be release builds; the numbers are what a
program with a SessionHost in it sees, without HTTP. With CAISSON_SCIENCE, or with what
tools/make-science has made, sessions with numpy, pandas and matplotlib loaded are measured too.
"""
import ctypes
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests",
                                "sessions"))
import harness  # noqa: E402

REST = 0.01
KCMP, KCMP_VM = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine, -1), 1
SCIENCE = os.environ.get("CAISSON_SCIENCE") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "build", "science", "bin", "python3")
STACK = {"python": os.path.normpath(SCIENCE), "preload": ["numpy", "pandas", "matplotlib.pyplot"]}


def report(case, values, unit="ms", **more):
    values = sorted(values)
    print(json.dumps({"case": case, "unit": unit, "n": len(values),
                      "median": round(statistics.median(values), 4),
                      "best": round(values[0], 4),
                      "p90": round(values[int(len(values) * 0.9)], 4), **more}), flush=True)


def wall(host, do, *words, **order):
    answer = host.ask(do, *words, **order)
    return host.wall_ms, answer


def at_rest(host, do, *words, **order):
    """When the memory of processes that the order before has ended is given back: that takes processors
    that this one, or the fork that it is compared with, would have to wait for."""
    time.sleep(REST)
    return wall(host, do, *words, **order)


def new_sessions(host, rounds, case="new session to first result", **spec):
    """From the order to the first result, one after the other, with the reserve refilled between."""
    times, cells = [], set()
    for i in range(rounds):
        created, info = wall(host, "create", "n%d" % i, **spec)
        ran, _ = wall(host, "exec", "n%d" % i, code="1+1")
        cells.add(info["cell"])
        times.append(created + ran)
        host.ask("end", "n%d" % i)
        time.sleep(0.1)
    report(case, times, cell=sorted(cells))


def round_trips(host, rounds):
    host.session("r")
    times = host.ask("bench", "r", code="1+1", rounds=rounds)
    report("exec of 1+1", times[10:])
    host.ask("end", "r")


# What there is to compare with: fork(2) of that very process, and its child's end. Once more in a process
# that has the same in small pages, as it was before malloc asked for huge ones.
BARE_FORK = """
import mmap, os, time
def bare_fork():
    begin = time.monotonic()
    child = os.fork()
    if not child:
        os._exit(0)
    forked = time.monotonic()
    os.waitpid(child, 0)
    return [(forked - begin) * 1000, (time.monotonic() - begin) * 1000]
"""
SMALL_PAGES = """
data = mmap.mmap(-1, %d << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
data.madvise(15)  # MADV_NOHUGEPAGE
for at in range(0, len(data), 1 << 20):
    data.write(b'x' * (1 << 20))
"""


def reset_of(host, s, megabytes):
    """Each with that much to forget, and at rest: the checkpoint behind the call before is taken."""
    s.exec("data = bytearray(b'x' * (%d << 20))" % megabytes)
    return at_rest(host, "reset", s.name)[0]


def checkpoints(host, rounds, megabytes):
    """Beside bare forks of the same process, in turns."""
    s = host.session("c%d" % megabytes)
    s.exec(BARE_FORK + state_of(megabytes))
    taken, restored, branched, forks = [], [], [], []
    for i in range(rounds):
        s.exec("i = %d" % i)
        taken.append(wall(host, "checkpoint", s.name, name="p%d" % i)[0])
        restored.append(at_rest(host, "restore", s.name, name="p%d" % i)[0])
        branched.append(at_rest(host, "branch", s.name, **{"as": "b%d" % i})[0])
        host.ask("end", "b%d" % i)
        s.ask("drop", name="p%d" % i)
        forks.append(bare_fork(s))
    resets = [reset_of(host, s, megabytes) for _ in range(rounds)]
    for case, times in (("checkpoint", taken), ("restore", restored), ("branch", branched),
                        ("reset", resets)):
        report("%s with %d MB" % (case, megabytes), times)
    report_forks("bare fork with %d MB" % megabytes, forks)
    host.ask("end", s.name)


def state_of(megabytes):
    """Every page of it written; what is half of a session's memory and more can't be copied into place."""
    if megabytes <= 500:
        return "data = bytearray(b'x' * (%d << 20))" % megabytes
    return "data = bytearray(%d << 20)\ndata[::4096] = b'x' * (%d << 8)" % (megabytes, megabytes)


def bare_fork(s):
    time.sleep(REST)
    return s.value("bare_fork()")


def report_forks(case, forks):
    report(case, [whole for _, whole in forks],
           call_alone=round(statistics.median(call for call, _ in forks), 4))


def forks_of_small_pages(host, rounds, megabytes):
    """By itself: behind each call its session forks a checkpoint and ends the one before, which takes as
    long as what is measured here, and would go on beside whatever is measured next."""
    s = host.session("s%d" % megabytes)
    s.exec(BARE_FORK + SMALL_PAGES % megabytes)
    report_forks("bare fork with %d MB in small pages" % megabytes,
                 [bare_fork(s) for _ in range(rounds)])
    host.ask("end", s.name)


def bulk(host, rounds, top):
    s = host.session("bulk")
    size = 100_000_000
    path = os.path.join(top, "bulk.bin")
    with open(path, "wb") as file:
        file.write(os.urandom(size))
    times = [wall(host, "set", s.name, name="x", kind="bytes", repeat=size)[0]
             for _ in range(rounds)]
    report("set of 100 MB", [size / 1e6 / t for t in times], unit="GB/s")
    times = [wall(host, "load", s.name, path=path, name="y", **{"as": "bytes"})[0] for _ in range(rounds)]
    report("load of 100 MB", [size / 1e6 / t for t in times], unit="GB/s")
    os.remove(path)
    host.ask("end", s.name)


def private_kilobytes(pid):
    total = 0
    try:
        with open("/proc/%d/smaps_rollup" % pid) as maps:
            for line in maps:
                if line.startswith(("Private_Clean", "Private_Dirty")):
                    total += int(line.split()[1])
    except OSError:
        pass
    return total


def same_memory(one, two):
    """kcmp(2): the sweeper of a cgroup is a process in the memory of the one that made it, which would
    be counted again with each session."""
    return ctypes.CDLL(None).syscall(KCMP, one, two, KCMP_VM, 0, 0) == 0


def private_in_all(host):
    apart = [host.process.pid]
    for pid in harness.descendants(host.process.pid):
        if not any(same_memory(pid, other) for other in apart):
            apart.append(pid)
    return sum(private_kilobytes(pid) for pid in apart[1:])


def memory(host, count, case="private memory of an idle session", **spec):
    """Private memory of idle sessions: keeper, interpreter and the checkpoint it has."""
    before = private_in_all(host)
    begin = time.monotonic()
    for i in range(count):
        host.session("m%d" % i, **spec).exec("x = %d" % i)
    elapsed = time.monotonic() - begin
    after = private_in_all(host)
    report(case, [(after - before) / 1024 / count], unit="MB", sessions=count,
           seconds=round(elapsed, 2))
    for i in range(count):
        host.ask("end", "m%d" % i)


def main():
    harness.use(sys.argv[1], sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    # In memory, where it can be: a branch makes a folder, and ext4, before it gives out an inode, looks
    # at all those that were removed in the last minutes: a millisecond after other benchmarks.
    memory_disk = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    top = tempfile.mkdtemp(prefix="caisson-bench-", dir=memory_disk)
    host = harness.Host(top)
    try:
        host.session("warm")
        time.sleep(0.5)
        new_sessions(host, rounds)
        round_trips(host, rounds * 20)
        for megabytes, times in ((10, rounds), (500, max(5, rounds // 2))):
            checkpoints(host, times, megabytes)
            forks_of_small_pages(host, times, megabytes)
        checkpoints(host, 5, 1024)
        bulk(host, max(3, rounds // 5), top)
        memory(host, rounds)
        if os.access(STACK["python"], os.X_OK):
            host.session("science", **STACK)
            time.sleep(1)
            new_sessions(host, rounds, "new scientific session to first result", **STACK)
            memory(host, rounds, "private memory of an idle scientific session", **STACK)
    finally:
        host.close()
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
