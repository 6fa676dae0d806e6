"""Signals to caisson reach the program; what happens to its streams reaches it too."""
import os
import select
import signal
import subprocess

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

    def state_of(self, pid):
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]

    def test_sigkill_leaves_no_process(self):
        mark = f"61.{os.getpid():07d}"
        child = self.ready("sh", "-c", f"setsid sleep {mark} & sleep {mark} & echo ready; wait")
        child.kill()
        child.wait(timeout=harness.DEADLINE)
        self.wait_for(lambda: not self.processes_with(mark), "the cell's end")

    def processes_with(self, mark):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as words:
                    if mark.encode() in words.read().split(b"\0"):
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
