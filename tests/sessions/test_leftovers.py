"""What runs in a session when it is reset, when it goes back, or when its time is up: nothing of it is left."""
import time

from harness import SessionTest

# A process that goes on in its child, again and again: who is listed is dead by the time it is killed.
RUNAWAYS = """
import os, time
def run_away():
    os.setsid()
    while True:
        with open('/workspace/beats', 'a') as file: file.write('x')
        time.sleep(.003)
        try:
            if os.fork(): os._exit(0)
        except OSError: pass
for _ in range(3):
    if os.fork() == 0: run_away()
"""
BEATS = "len(open('/workspace/beats').read())"
BEATS_ON = """
import os, time
if os.fork() == 0:
    while True:
        with open('/workspace/beats', 'a') as file: file.write('x')
        time.sleep(.003)
"""
# clone(2) with CLONE_PARENT: the child's parent is who made this interpreter.
SIBLING = """
import ctypes, os, time
CLONE_PARENT, SIGCHLD = 0x8000, 17
if ctypes.CDLL(None).syscall({'x86_64': 56}.get(os.uname().machine, 220), CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0:
    os.setsid()
    while True:
        with open('/workspace/beats', 'a') as file: file.write('x')
        time.sleep(.003)
"""
# A timer of its own wakes it from every stop; a thread writes whenever it runs.
WAKES_ITSELF = """
import ctypes, os, signal, threading
class Event(ctypes.Structure):
    _fields_ = [('value', ctypes.c_void_p), ('signal', ctypes.c_int), ('kind', ctypes.c_int), ('rest', ctypes.c_char * 48)]
libc, timer = ctypes.CDLL(None), ctypes.c_void_p()
signal.signal(signal.SIGCONT, lambda *some: None)
assert libc.timer_create(1, ctypes.byref(Event(None, signal.SIGCONT, 0, b'')), ctypes.byref(timer)) == 0
times = (ctypes.c_long * 4)(0, 700000, 0, 700000)
assert libc.timer_settime(timer, 0, times, None) == 0
def write():
    while True:
        with open('/workspace/data', 'w') as file: file.write('of the old state')
threading.Thread(target=write, daemon=True).start()
"""
# Whoever is born next is stopped.
STOPS_OTHERS = """
import os, signal
own = os.getpid()
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        while True:
            for pid in range(own + 1, own + 60):
                if pid != os.getpid():
                    try: os.kill(pid, signal.SIGSTOP)
                    except OSError: pass
"""
# On a thread's way out the kernel goes through its list of robust futexes, here of pages that are copied one
# by one, and at last writes a zero where clear_child_tid points: into a file of the workspace.
WRITES_ON_ITS_WAY_OUT = """
import ctypes, os, struct, threading, time
libc, heads, ready = ctypes.CDLL(None), [], threading.Barrier(3)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
set_robust_list, set_tid_address = (273, 218) if os.uname().machine == 'x86_64' else (99, 96)
COUNT, PAGE = 2040, 4096
data = libc.mmap(None, PAGE, 3, 1, os.open('/workspace/data', os.O_RDWR), 0)
def leave_late():
    pages = os.memfd_create('pages')
    os.write(pages, (struct.pack('<I', threading.get_native_id()) + bytes(PAGE - 4)) * COUNT)
    links = libc.mmap(None, 2 * COUNT * PAGE, 3, 0x22, -1, 0)
    libc.mmap(links + COUNT * PAGE, COUNT * PAGE, 3, 0x12, pages, 0)
    head = (ctypes.c_ulong * 3)(links, COUNT * PAGE, 0)
    for i in range(COUNT):
        after = links + (i + 1) * PAGE if i < COUNT - 1 else ctypes.addressof(head)
        ctypes.c_ulong.from_address(links + i * PAGE).value = after
    assert libc.syscall(set_robust_list, head, 24) == 0
    heads.append(head)
    libc.syscall(set_tid_address, ctypes.c_void_p(data + 8))
    ready.wait()
    time.sleep(1000)
def stay():
    for _ in range(2): threading.Thread(target=leave_late, daemon=True).start()
    ready.wait()
"""
KEPT = "open('/workspace/data', 'rb').read(16) == b'kept' * 4"
# A child that would live for a while, at the very beginning of a call.
MAKES_A_CHILD = """
import os, time
child = os.fork()
if child == 0:
    time.sleep(.05)
    os._exit(7)
print(os.waitpid(child, 0)[1] >> 8)
"""


class Leftovers(SessionTest):
    def beats(self, s):
        """Waits until what was started writes; it may not have made the file yet."""
        self.ok(s.exec("import os, time\nwhile not os.path.exists('/workspace/beats') or %s < 30: time.sleep(.01)"
                       % BEATS, timeout=60000))

    def silent(self, s):
        last = s.value(BEATS)
        self.ok(s.exec("import time; time.sleep(.2)"))
        self.assertEqual(s.value(BEATS), last)

    def test_all_that_ran_has_ended(self):
        for named in (False, True):
            with self.subTest(named=named):
                s = self.session()
                if named:
                    s.ask("checkpoint", name="kept")
                self.ok(s.exec(RUNAWAYS))
                self.beats(s)
                self.assertGreaterEqual(s.ask("reset")["processes_ended"], 3)
                self.silent(s)

    def test_at_a_restore_too(self):
        s = self.session()
        self.ok(s.exec("open('/workspace/beats', 'w').close()"))
        s.ask("checkpoint", name="one")
        self.ok(s.exec(RUNAWAYS))
        self.beats(s)
        self.assertGreaterEqual(s.ask("restore", name="one")["processes_ended"], 3)
        self.silent(s)

    def test_at_a_timeout_too(self):
        s = self.session()
        self.ok(s.exec("open('/workspace/beats', 'w').close()"))
        # From its first line on: it is to be the kill that ends them.
        deaf = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        swallow = "\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"
        self.assertEqual(s.exec(deaf + RUNAWAYS + swallow, timeout=300)["status"], "timeout")
        self.silent(s)

    def test_what_a_stopped_call_made_beside_itself_is_ended(self):
        """In an interpreter out of a checkpoint, whose child that is then, in a group of its own."""
        s = self.session()
        self.ok(s.exec("open('/workspace/beats', 'w').close()"))
        s.ask("checkpoint", name="one")
        s.ask("restore", name="one")
        answer = s.exec(SIBLING + "while True: pass", timeout=500)
        self.assertEqual((answer["status"], answer["notes"]), ("timeout", [
            "the call ran out of time and stopped at the interrupt; its variables are kept",
            "processes that the call had started were ended"]))
        self.assertGreater(s.value(BEATS), 0)
        self.silent(s)

    def test_nor_does_one_live_on_that_is_always_another(self):
        s = self.session()
        answer = s.exec(RUNAWAYS + "while True: pass", timeout=300)
        self.assertIn("stopped at the interrupt", answer["notes"][0])
        self.silent(s)

    def test_but_what_an_earlier_call_started_goes_on(self):
        s = self.session()
        self.ok(s.exec(BEATS_ON))
        time.sleep(.05)  # the clock by which the kernel tells the age of a process has 10 ms
        self.assertEqual(s.exec("while True: pass", timeout=300)["status"], "timeout")
        last = s.value(BEATS)
        self.ok(s.exec("import time\nwhile %s == %d: time.sleep(.01)" % (BEATS, last), timeout=60000))

    def test_a_flag_on_the_keeper_spoils_no_reset(self):
        """It stays there, and is no newcomer's: by that, none of them is harmed."""
        s = self.session()
        self.ok(s.exec("import os\nos.sched_setscheduler(os.getppid(), os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, "
                       "os.sched_param(0))"))
        for _ in range(5):
            s.ask("reset")
            self.ok(s.exec("x = 1"))

    def test_a_child_of_its_checkpoint_ends_with_it(self):
        s = self.session()
        self.ok(s.exec("open('/workspace/beats', 'w').close()"))
        s.ask("checkpoint", name="one")
        for order in ({"do": "reset"}, {"do": "restore", "name": "one"}):
            with self.subTest(**order):
                s.ask("restore", name="one")
                self.ok(s.exec(SIBLING))
                self.beats(s)
                s.ask(**order)
                self.silent(s)

    def test_files_are_put_back_when_nobody_writes_any_more(self):
        s = self.session()
        self.ok(s.exec("open('/workspace/data', 'w').write('kept')"))
        s.ask("checkpoint", name="one")
        for _ in range(5):
            self.ok(s.exec(WAKES_ITSELF))
            s.ask("restore", name="one")
            for _ in range(3):
                self.assertEqual(s.value("open('/workspace/data').read()"), "kept")

    def test_what_ran_can_not_stop_what_takes_its_place(self):
        s = self.session()
        for _ in range(5):
            self.ok(s.exec(STOPS_OTHERS))
            s.ask("reset")
            self.assertEqual(self.ok(s.exec("print(1)", timeout=20000))["output"], "1\n")

    def test_the_first_call_after_a_reset_keeps_its_children(self):
        s = self.session()
        for _ in range(40):
            self.ok(s.exec("x = 1"))
            reset, call = s.host.send("reset", s.name), s.host.send("exec", s.name, code=MAKES_A_CHILD)
            s.host.wait(reset)
            self.assertEqual(self.ok(s.host.wait(call))["output"], "7\n")

    def test_what_is_killed_does_not_write_into_files_that_are_put_back(self):
        s = self.session()
        self.ok(s.exec("open('/workspace/data', 'wb').write(b'kept' * 100)"))
        s.ask("checkpoint", name="one")
        for _ in range(5):
            self.ok(s.exec(WRITES_ON_ITS_WAY_OUT + "stay()"))
            s.ask("restore", name="one")
            self.assertIs(s.value(KEPT), True)

    def test_nor_into_those_of_the_next_call(self):
        s = self.session()
        self.ok(s.exec("open('/workspace/data', 'wb').write(b'kept' * 100)"))
        child = "import os, signal, time\nreads, writes = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
        child += "    exec(%r)\n    stay()\n    os.write(writes, b'x')\n    time.sleep(1000)\nos.read(reads, 1)"
        for _ in range(5):
            self.ok(s.exec(child % WRITES_ON_ITS_WAY_OUT, timeout=60000))
            self.assertGreaterEqual(s.ask("reset")["processes_ended"], 1)
            self.ok(s.exec("import time\nwith open('/workspace/data', 'r+b', 0) as file: file.write(b'kept' * 4)"
                           "\ntime.sleep(.05)"))
            self.assertIs(s.value(KEPT), True)
