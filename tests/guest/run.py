#!/usr/bin/env python3
"""run.py CAISSON TEST_BUILD [SUITE]…: suites in a guest, with Debian's own kernel and systemd.

The machine that caisson is written on has another kernel than most hosts, no systemd, control groups v1 and mounts
that nobody shares. The guest has Debian's kernel, control groups v2 alone, systemd with a user manager, AppArmor, Yama,
and every mount shared. It is emulated, so it runs anywhere, a few times slower than the host. Needs root, for the files of the guest.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

from image import Image, run, write  # noqa: E402

SUITES = ("guest", "boundary", "files", "cli", "srt", "sessions", "http")
SECONDS = 3600
DISK = "4G"


def libraries(programs):
    """That the programs are linked with, by path."""
    found = set()
    for program in programs:
        for line in run("ldd", program).splitlines():
            if match := re.search(r"=> (/\S+)", line):
                found.add(match[1])
    return found


def stage(image, caisson, build):
    """What is tested, and its tests, in the guest's files."""
    place = os.path.join(image.root, "caisson")
    shutil.rmtree(place, ignore_errors=True)
    programs = {"build/release/caisson": caisson}
    for name in ("boundary/boundary_tests", "probes/probe", "probes/probe_i386", "probes/setid",
                 "sessions/session_driver"):
        programs[f"build/test/tests/{name}"] = os.path.join(build, "tests", name)
    for to, path in programs.items():
        if os.path.exists(path):
            os.makedirs(os.path.dirname(os.path.join(place, to)), exist_ok=True)
            shutil.copy(path, os.path.join(place, to))
    for name in ("tests", "policies", "docs", "tools"):
        shutil.copytree(os.path.join(TOP, name), os.path.join(place, name),
                        ignore=shutil.ignore_patterns("__pycache__"))
    linked = ("boundary/boundary_tests", "sessions/session_driver")
    for path in libraries([programs[f"build/test/tests/{name}"] for name in linked]):
        to = image.root + path
        if not os.path.exists(to):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(path, to)


def boot(image, suites):
    """The guest's console, to its end; what it says at the end is the verdict."""
    write(os.path.join(image.root, "caisson/suites"), " ".join(suites) + "\n")
    disk = os.path.join(image.folder, "disk")
    if os.path.exists(disk):
        os.remove(disk)
    run("mke2fs", "-q", "-t", "ext4", "-d", image.root, disk, DISK)
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp",
               str(min(4, os.cpu_count() or 1)), "-m", "4G", "-nodefaults", "-nographic", "-no-reboot", "-serial",
               "stdio", "-kernel", image.vmlinuz(), "-initrd", image.initrd, "-append",
               "console=ttyS0 quiet loglevel=0 tsc_early_khz=1000000", "-drive",
               f"file={disk},if=virtio,format=raw,cache=unsafe"]
    guest = subprocess.Popen(["timeout", str(SECONDS), *command], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, text=True, errors="replace")
    verdict = None
    for line in guest.stdout:
        print(line.rstrip(), flush=True)
        if match := re.match(r"guest: (\d+) passed, (\d+) failed", line):
            verdict = (int(match[1]), int(match[2]))
    guest.wait()
    os.remove(disk)
    return verdict


def main():
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("caisson")
    words.add_argument("build")
    words.add_argument("suites", nargs="*", choices=[*SUITES, []])
    options = words.parse_args()
    if os.geteuid() != 0:
        sys.exit("guest: this needs root, for the files of the guest")
    image = Image(os.path.join(TOP, "build/guest"))
    image.make()
    stage(image, options.caisson, options.build)
    verdict = boot(image, options.suites or SUITES)
    if verdict is None:
        sys.exit("guest: it ended without a word about its suites")
    print(f"{verdict[0]} passed, {verdict[1]} failed")
    return 1 if verdict[1] or not verdict[0] else 0


if __name__ == "__main__":
    sys.exit(main())
