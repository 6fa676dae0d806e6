"""Processes that end, and the memory of those that begin: parts of the inside, and what shows of them."""

import os
import platform
import signal
import subprocess
import sys
import unittest

import host
from case import SessionCase, kernel_module

EXIT_OF_A_THREAD = {"x86_64": 60, "aarch64": 93}.get(os.uname().machine, 93)
# Its first thread ends, by itself; the other one says so once it has.
HEADLESS = """
import ctypes, threading, time
def live_on():
    while open('/proc/self/stat').read().rsplit(')')[1].split()[0] != 'Z':
        time.sleep(0.001)
    print(1, flush=True)
    time.sleep(99)
threading.Thread(target=live_on).start()
ctypes.CDLL(None).syscall(%d, 0)
""" % EXIT_OF_A_THREAD
TWO_THREADS = """
import threading, time
threading.Thread(target=time.sleep, args=(99,)).start()
print(1, flush=True)
time.sleep(99)
"""
# Whether a large value is mapped as it should be, and what of malloc's parameters around the one that was
# set (struct malloc_par) is another: all but the counts of maps, which are its own.
MALLOC = """
import sys
sys.path.insert(0, sys.argv[1])
import malloc
from ctypes import string_at
place = malloc.data_of_libc()
before = string_at(*place)
asks = malloc.ask_for_huge_pages()
after = string_at(*place)
data = bytearray(64 << 20)
flags = [part.split(chr(10))[0] for part in open('/proc/self/smaps').read().split('VmFlags:')[1:]]
set_to = malloc.HUGE.to_bytes(8, sys.byteorder)
places = [at for at in range(40, len(before) - 36, 8)
          if after[at:at + 8] == set_to and before[at:at + 8] == bytes(8)]
others = [at for at in places for begin, end in ((-40, 0), (8, 20), (24, 28), (32, 36))
          if before[at + begin:at + end] != after[at + begin:at + end]]
print(asks, any(' hg' in one for one in flags), len(places), len(others))
"""


class Parts(unittest.TestCase):
    def child(self, code):
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.read(1), b"1")
        return child

    def test_a_process_is_at_rest_when_all_its_threads_are(self):
        processes = kernel_module("processes")
        child = self.child(TWO_THREADS)
        self.assertFalse(processes.settle([child.pid]))
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        self.assertTrue(processes.settle([child.pid]))
        child.kill()
        child.wait()
        self.assertTrue(processes.settle([child.pid]))

    def test_a_process_without_its_first_thread_is_not_dead(self):
        processes = kernel_module("processes")
        child = self.child(HEADLESS)
        self.assertIn(child.pid, processes.table())
        self.assertNotIn(child.pid, processes.table({child.pid}))
        self.assertFalse(processes.is_stopped(child.pid))

    def test_malloc_asks_for_huge_pages_and_is_otherwise_as_it_was(self):
        folder = os.path.dirname(os.path.abspath(host.KERNEL))
        said = subprocess.run([sys.executable, "-I", "-B", "-c", MALLOC, folder], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.split()
        version = tuple(map(int, platform.libc_ver()[1].split(".")[:2]))
        has_it = version >= (2, 35) and os.sysconf("SC_PAGESIZE") == 4096
        self.assertEqual(said, ["True", "True", "1", "0"] if has_it else ["False", "False", "0", "0"])


class Places(SessionCase):
    def go(self, kind):
        frame = self.session.ask(kind, {"name": "here"} if kind == host.RESTORE else {})
        self.assertEqual(frame.kind, host.DONE, frame)
        return frame.json

    def keep(self):
        frame = self.session.ask(host.CHECKPOINT, {"name": "here"})
        self.assertEqual(frame.kind, host.DONE, frame)
        self.addCleanup(self.session.ask, host.DROP, {"name": "here"})

    def test_the_first_call_begins_when_the_memory_of_the_one_before_is_back(self):
        self.ok("x = 1")
        self.keep()
        for kind in (host.RESTORE, host.RESET):
            old = self.ok("import mmap, os\nm = mmap.mmap(-1, 200 << 20, 2 | 32)\nm.madvise(15)\n"
                          "m.write(bytes(200 << 20))\nos.getpid()").text
            self.go(kind)
            left = self.ok("try: left = open('/proc/%s/statm').read().split()[1]\n"
                           "except OSError: left = '0'\nleft" % old).text
            self.assertEqual(left, "'0'")

    def test_what_takes_a_place_has_nothing_open_but_its_own(self):
        look = ("import os\nfound = []\nfor n in os.listdir('/proc/self/fd'):\n"
                "    try: found.append(os.readlink('/proc/self/fd/' + n))\n    except OSError: pass\n"
                "[one for one in found if 'pidfd' in one], sum('socket:' in one for one in found)")
        self.ok("x = 1")
        self.keep()
        for kind in (host.RESTORE, host.RESET):
            self.go(kind)
            self.assertEqual(self.ok(look).text, "([], 2)")

    def test_a_process_without_its_first_thread_ends_with_the_others(self):
        self.ok("x = 1")
        self.keep()
        for kind in (host.RESTORE, host.RESET):
            pid = self.ok("import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', %r], "
                          "stdout=subprocess.PIPE)\nchild.stdout.read(1)\nchild.pid" % HEADLESS).text
            self.assertEqual(self.go(kind)["processes_ended"], 1)
            # It was killed before the answer; the dead are collected when somebody comes to it.
            left = self.ok("import time\nfor _ in range(5000):\n"
                           "    try: left = len(__import__('os').listdir('/proc/%s/task'))\n"
                           "    except OSError: left = 0\n    if left <= 1: break\n    time.sleep(0.001)\n"
                           "left <= 1" % pid).text
            self.assertEqual(left, "True")
