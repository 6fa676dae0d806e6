"""Signals to caisson reach the program; what happens to its streams reaches it too."""
import os
import resource
import select
import shlex
import signal
import subprocess
import time

import harness
from harness import CliTest

HANDLER = """
trap 'echo got INT; exit 41' INT
trap 'echo got TERM; exit 42' TERM
trap 'echo got HUP; exit 43' HUP
trap 'echo got USR1; exit 44' USR1
echo ready
while :; do sleep 0.05; done
"""

WRITABLE = {"SANDBOX_ALLOW_FS_WRITE": "1"}

# A beat every 20 ms, whatever it is asked.
BEATS = "trap '' TSTP; echo ready; while :; do echo x >> beat; sleep 0.02; done"

# Continues itself every 10 ms, whoever stops it.
WAKES = """
import ctypes, signal, struct, time
libc = ctypes.CDLL(None, use_errno=True)
event = struct.pack("QiI", 0, signal.SIGCONT, 0) + bytes(48)
timer = ctypes.c_void_p()
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
assert libc.timer_settime(timer, 0, struct.pack("qqqq", 0, 10**7, 0, 10**7), None) == 0
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""


class Signals(CliTest):
    def ready(self, *words, **how):
        child = self.start("exec", *words, **how)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        return child

    def test_they_reach_the_program_and_its_handlers_run(self):
        for number, code in ((signal.SIGINT, 41), (signal.SIGTERM, 42), (signal.SIGHUP, 43),
                             (signal.SIGUSR1, 44)):
            with self.subTest(number.name):
                child = self.ready("sh", "-c", HANDLER)
                child.send_signal(number)
                ended = self.finish(child)
                self.assertEqual((ended.code, ended.out), (code, f"got {number.name[3:]}\n"), ended)

    def test_without_a_handler_the_exit_code_tells(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number.name):
                child = self.ready("sh", "-c", "echo ready; exec sleep 60")
                child.send_signal(number)
                self.assertEqual(self.finish(child).code, 128 + number)

    def test_the_result_tells(self):
        child = self.start("exec", "--json-output", "sh", "-c",
                           "touch started; exec sleep 60", env={"SANDBOX_ALLOW_FS_WRITE": "1"})
        self.wait_for(lambda: os.path.exists(self.project + "/started"), "the program")
        child.terminate()
        result = self.finish(child).json
        self.assertEqual((result["status"], result["returncode"]), ("signalled", 143))

    def test_the_programs_children_hear_it_too(self):
        child = self.ready("sh", "-c", "sh -c 'trap \"echo child; exit\" TERM; echo ready; "
                                       "while :; do sleep 0.05; done' & trap : TERM; wait; wait")
        child.terminate()
        self.assertIn("child", self.finish(child).out)

    def test_a_program_that_will_not_end_ends_when_asked_three_times(self):
        child = self.ready("sh", "-c", "trap 'echo heard' TERM; echo ready; "
                                       "while :; do sleep 0.05; done")
        for _ in range(3):
            child.terminate()
            if child.stdout.readline() != b"heard\n":
                break
        self.assertEqual(self.finish(child).code, 137)

    def test_signals_right_after_the_start_end_it(self):
        for _ in range(20):
            child = self.start("exec", "sleep", "60")
            child.terminate()
            self.assertIn(self.finish(child).code, (143, -signal.SIGTERM))

    def test_stop_and_continue(self):
        child = self.ready("sh", "-c", "echo ready; read x; echo on", stdin=subprocess.PIPE)
        child.send_signal(signal.SIGTSTP)
        self.wait_for(lambda: self.state_of(child.pid) == "T", "caisson to stop")
        child.send_signal(signal.SIGCONT)
        self.wait_for(lambda: self.state_of(child.pid) != "T", "caisson to go on")
        out, _ = child.communicate(b"x\n", timeout=harness.DEADLINE)
        self.assertEqual(out, b"on\n")

    def test_what_does_not_heed_a_stop_is_stopped_too(self):
        """SIGTSTP asks: who ignores it, or left the program's group, would run on unwatched."""
        for name, words in self.tiers():
            with self.subTest(name):
                beat = self.file("project/beat", "")
                child = self.ready(*words, "sh", "-c", BEATS, env=WRITABLE)
                self.assertTrue(self.grows(beat))  # the same look, where nothing is stopped
                child.send_signal(signal.SIGTSTP)
                self.wait_for(lambda: self.state_of(child.pid) == "T", "caisson to stop")
                size = os.path.getsize(beat)
                time.sleep(0.5)  # of 25 beats
                self.assertEqual(os.path.getsize(beat), size)
                child.send_signal(signal.SIGCONT)
                self.assertTrue(self.grows(beat))
                child.kill()
                child.wait()

    def tiers(self):
        """Without a pid namespace only the program's own group is stopped."""
        yield "process", []
        if self.exec("--tier", "landlock", "true").code == 0:
            yield "landlock", ["--tier", "landlock"]

    def grows(self, path):
        size = os.path.getsize(path)
        return self.wait_for(lambda: os.path.getsize(path) > size, f"{path} to grow")

    def test_what_left_the_group_is_stopped_too(self):
        beat = self.file("project/beat", "")
        child = self.ready("sh", "-c", f"setsid sh -c {shlex.quote(BEATS)} & wait", env=WRITABLE)
        self.assertTrue(self.grows(beat))
        child.send_signal(signal.SIGTSTP)
        self.wait_for(lambda: self.state_of(child.pid) == "T", "caisson to stop")
        size = os.path.getsize(beat)
        time.sleep(0.5)
        self.assertEqual(os.path.getsize(beat), size)
        child.send_signal(signal.SIGCONT)
        self.assertTrue(self.grows(beat))

    def test_a_handler_of_the_stop_gets_its_moment(self):
        child = self.ready("sh", "-c", "trap 'echo resting' TSTP; trap 'echo back' CONT; "
                                       "echo ready; while :; do sleep 0.01; done")
        child.send_signal(signal.SIGTSTP)
        self.wait_for(lambda: self.state_of(child.pid) == "T", "caisson to stop")
        child.send_signal(signal.SIGCONT)
        self.assertEqual(child.stdout.readline(), b"resting\n")
        self.assertEqual(child.stdout.readline(), b"back\n")

    def test_a_stop_and_its_end_in_one_breath(self):
        """Whatever the order in which they are heard, the last one counts."""
        child = self.ready("sh", "-c", "echo ready; while read x; do echo $x; done",
                           stdin=subprocess.PIPE)
        for turn in range(20):
            child.send_signal(signal.SIGTSTP)
            self.wait_for(lambda: self.state_of(child.pid) == "T", "caisson to stop")
            child.send_signal(signal.SIGCONT)
            child.stdin.write(b"%d\n" % turn)
            child.stdin.flush()
            self.assertEqual(child.stdout.readline(), b"%d\n" % turn)

    def test_the_time_limit_holds_for_a_caisson_that_is_stopped(self):
        """By the cell's own clock: what runs there can wake itself (here: a timer of its own)."""
        for number in (signal.SIGTSTP, signal.SIGSTOP):
            for name, words in self.tiers():
                with self.subTest((number.name, name)):
                    self.stopped_until_its_end(number, words)

    def stopped_until_its_end(self, number, words):
        mark = f"62.{os.getpid():07d}"
        child = self.ready(*words, "--timeout", "2s", harness.PYTHON, "-c", WAKES, mark)
        self.assertTrue(self.processes_with(mark, harness.PYTHON))
        child.send_signal(number)
        self.wait_for(lambda: self.state_of(child.pid) == "T", "caisson to stop")
        self.assertTrue(self.processes_with(mark, harness.PYTHON))  # a stop ends nothing
        self.wait_for(lambda: not self.processes_with(mark, harness.PYTHON), "the end of what ran")
        self.assertEqual(self.state_of(child.pid), "T")
        child.send_signal(signal.SIGCONT)
        ended = self.finish(child)
        self.assertEqual(ended.code, 124, ended)

    def state_of(self, pid):
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]

    def test_sigkill_leaves_no_process(self):
        mark = f"61.{os.getpid():07d}"
        child = self.ready("sh", "-c", f"setsid sleep {mark} & sleep {mark} & echo ready; wait")
        child.kill()
        child.wait(timeout=harness.DEADLINE)
        self.wait_for(lambda: not self.processes_with(mark), "the cell's end")

    def processes_with(self, mark, program=None):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as words:
                    line = words.read().split(b"\0")
                    if mark.encode() in line and (not program or line[0] == program.encode()):
                        found.append(pid)
            except OSError:
                pass
        return found


    def test_what_the_caller_ignores_is_not_ignored_inside(self):
        """A disposition of SIG_IGN outlives an exec."""
        done = subprocess.run(
            ["/usr/bin/env", "--ignore-signal=PIPE,INT,TERM", harness.BINARY, "exec", "--",
             "grep", "SigIgn", "/proc/self/status"],
            capture_output=True, text=True, cwd=self.home, env=self.environment())
        self.assertEqual(done.stdout.split(), ["SigIgn:", "0" * 16], done.stderr)


class Streams(CliTest):
    def test_a_reader_that_goes_gives_the_program_sigpipe(self):
        child = self.start("exec", "yes")
        child.stdout.read(10)
        child.stdout.close()
        child.stdout = None
        self.assertEqual(child.wait(timeout=harness.DEADLINE), 128 + signal.SIGPIPE)

    def test_head_ends_a_pipeline(self):
        done = subprocess.run(["bash", "-c", '"$0" exec yes | head -1; echo ${PIPESTATUS[0]}',
                               harness.BINARY], env=self.environment(), cwd=self.project,
                              capture_output=True, timeout=harness.DEADLINE, text=True)
        self.assertEqual(done.stdout, "y\n141\n", done)
        self.assertEqual(done.stderr, "")

    def test_a_program_that_handles_sigpipe_goes_on(self):
        script = "trap '' PIPE; while echo y 2>/dev/null; do :; done; echo stopped >&2; exit 7"
        child = self.start("exec", "sh", "-c", script)
        child.stdout.read(10)
        child.stdout.close()
        child.stdout = None
        _, err = child.communicate(timeout=harness.DEADLINE)
        self.assertEqual((child.returncode, err), (7, b"stopped\n"))

    def shell(self, redirections, *words):
        """caisson started by a shell with streams closed."""
        return subprocess.run(["sh", "-c", f'"$0" "$@" {redirections}', harness.BINARY, *words],
                              env=self.environment(), cwd=self.project, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                              timeout=harness.DEADLINE)

    def test_stdin_closed(self):
        done = self.shell("<&-", "exec", "sh", "-c", "cat; echo end")
        self.assertEqual((done.returncode, done.stdout), (0, "end\n"), done)

    def test_stdout_closed(self):
        done = self.shell(">&-", "exec", "sh", "-c", "echo lost; echo kept >&2; exit 5")
        self.assertEqual((done.returncode, done.stderr), (5, "kept\n"), done)

    def test_stderr_closed(self):
        done = self.shell("2>&-", "exec", "sh", "-c", "echo kept; echo lost >&2; exit 5")
        self.assertEqual((done.returncode, done.stdout), (5, "kept\n"), done)

    def test_all_closed(self):
        self.assertEqual(self.shell("<&- >&- 2>&-", "exec", "sh", "-c", "exit 6").returncode, 6)
        for words in (["--help"], ["doctor"], ["log"], ["explain", "true"], ["exec"]):
            with self.subTest(words):
                code = self.shell("<&- >&- 2>&-", *words).returncode
                # doctor tells by its code whether this host enforces everything
                self.assertIn(code, {"exec": [125], "doctor": [0, 1]}.get(words[0], [0]))

    def test_no_record_is_written_into_a_stream_that_was_closed(self):
        self.shell("<&- >&- 2>&-", "exec", "true")
        self.assertEqual([entry["event"]["kind"] for entry in self.events()], ["start", "end"])

    def test_the_end_of_input_is_the_programs_end_of_input(self):
        child = self.start("exec", "cat", stdin=subprocess.PIPE)
        child.stdin.write(b"one\n")
        child.stdin.flush()
        self.assertEqual(child.stdout.readline(), b"one\n")
        child.stdin.close()
        child.stdin = None
        self.assertEqual(child.wait(timeout=harness.DEADLINE), 0)

    def test_output_comes_as_it_is_written(self):
        child = self.start("exec", "sh", "-c", "echo first; sleep 60")
        ready, _, _ = select.select([child.stdout], [], [], 10)
        self.assertTrue(ready)
        self.assertEqual(child.stdout.readline(), b"first\n")

    def test_a_program_that_reads_nothing_leaves_the_input_to_nobody(self):
        ended = self.exec("true", stdin=b"x" * 1000000)
        self.assertEqual(ended.code, 0, ended)

    def test_output_that_finds_no_room_is_told(self):
        """The program is gone when its words are lost: nobody else can tell."""
        lost = ("caisson: stdout could not be written: No space left on device\n"
                "hint: what the program printed is not all there: make room where it goes, "
                "and run it again\n")
        for words, code in ((("sh", "-c", "echo hi"), 125), (("sh", "-c", "echo hi; exit 3"), 3),
                            (("true",), 0)):
            with self.subTest(words), open("/dev/full", "wb") as full:
                child = self.start("exec", "--", *words, stdout=full)
                ended = self.finish(child)
                self.assertEqual((ended.code, ended.err), (code, lost if code else ""), ended)
        self.assertEqual([entry["event"]["returncode"] for entry in self.events()
                          if entry["event"]["kind"] == "end"], [125, 3, 0])

    def test_the_same_for_stderr_and_for_a_file_at_its_limit(self):
        with open("/dev/full", "wb") as full:
            child = self.start("exec", "--", "sh", "-c", "echo lost >&2; echo kept", stderr=full)
            ended = self.finish(child)
            self.assertEqual((ended.code, ended.out), (125, "kept\n"), ended)
        ended = self.bounded("exec", "--", "head", "-c", "200000", "/dev/zero")
        self.assertIn(ended.code, (125, 128 + signal.SIGPIPE), ended)  # if it still had to write
        self.assertIn("caisson: stdout could not be written: File too large\nhint: ", ended.err)
        ended = self.bounded("exec", "--", "head", "-c", "1000", "/dev/zero")
        self.assertEqual((ended.code, ended.err), (0, ""), ended)

    def bounded(self, *words):
        """caisson with its stdout in a file that may have 64 KiB."""
        with open(self.top + "/out", "wb") as out:
            child = self.start(*words, stdout=out, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (65536, resource.RLIM_INFINITY)))
            return self.finish(child)

    def test_a_result_that_finds_no_room_is_told_as_one(self):
        with open("/dev/full", "wb") as full:
            ended = self.finish(self.start("exec", "--json-output", "--", "echo", "hi", stdout=full))
        self.assertEqual(ended.code, 125, ended)
        self.assertIn("write to stdout", ended.err)
        self.assertEqual(self.exec_json("--", "echo", "hi")["status"], "ok")

    def test_a_pipe_that_others_read_as_well_does_not_take_the_time_limit_away(self):
        """What poll has announced to one of them, another has taken: a read would wait for ever."""
        for name, (read, write) in (("pipe", os.pipe()), ("fifo", self.fifo())):
            with self.subTest(name):
                self.shared_input(read, write)

    def fifo(self):
        path = self.top + "/fifo"
        os.mkfifo(path)
        read = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        write = os.open(path, os.O_WRONLY)
        os.set_blocking(read, True)
        return read, write

    def shared_input(self, read, write):
        cells = [self.start("exec", "--timeout", "5s", "--", "sleep", "60", stdin=read)
                 for _ in range(6)]
        taker = os.open(f"/proc/self/fd/{read}", os.O_RDONLY | os.O_NONBLOCK)
        os.close(read)
        end = time.monotonic() + 4
        while time.monotonic() < end and not self.one_sleeps_in_read(cells):
            for turn in range(20):
                os.write(write, b"x")  # wakes all of them, and is gone a little later
                self.take(taker, turn * 20)
            time.sleep(0.001)
        os.close(taker)
        try:  # in silence now: no byte frees who sleeps in a read
            self.assertEqual([cell.wait(timeout=harness.DEADLINE) for cell in cells], [124] * 6)
        finally:
            os.close(write)

    def take(self, fd, turns):
        for _ in range(turns):
            pass
        try:
            os.read(fd, 100)
        except BlockingIOError:
            pass

    def one_sleeps_in_read(self, cells):
        """And not only in passing."""
        asleep = [cell for cell in cells if self.sleeps_in_read(cell.pid)]
        if asleep:
            time.sleep(0.05)
        return any(self.sleeps_in_read(cell.pid) for cell in asleep)

    def sleeps_in_read(self, pid):
        """In read(0, …), as proc(5) tells it to who may trace it."""
        number = {"x86_64": "0", "aarch64": "63"}.get(os.uname().machine)
        try:
            with open(f"/proc/{pid}/syscall") as call:
                return call.read().split()[:2] == [number, "0x0"]
        except OSError:
            return False

    def test_a_full_pipe_that_others_write_as_well_does_not_either(self):
        """There is room when poll looks, and none when the write comes."""
        for name, (read, write) in (("pipe", os.pipe()), ("fifo", self.fifo())):
            with self.subTest(name):
                cells = [self.start("exec", "--timeout", "3s", "--", "cat", "/dev/zero",
                                    stdout=write) for _ in range(6)]
                os.close(write)
                end = time.monotonic() + 2
                while time.monotonic() < end:
                    os.read(read, 4096)  # room for one of them
                    time.sleep(0.002)
                try:
                    codes = [cell.wait(timeout=harness.DEADLINE) for cell in cells]
                    self.assertEqual(codes, [124] * 6)
                finally:
                    os.close(read)

    def test_a_reader_that_never_reads_does_not_keep_caisson_from_ending(self):
        """The time limit and a signal hold for a caller that does not read as well."""
        child = self.start("exec", "--timeout", "500ms", "cat", "/dev/zero")
        try:
            code = child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.terminate()
            try:
                code = child.wait(timeout=harness.DEADLINE)
            except subprocess.TimeoutExpired:
                self.fail("neither the time limit nor SIGTERM ended caisson")
        self.assertIn(code, (124, 143, -15))
