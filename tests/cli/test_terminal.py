"""exec --tty: a terminal of the cell's own, relayed to the caller's."""
import hashlib
import os
import signal
import subprocess
import termios
import time

import harness
from harness import CliTest
from terminal import CTRL_C, CTRL_D, CTRL_Z, Terminal


class TerminalTest(CliTest):
    def terminal(self, *words, **how):
        return Terminal(self, "exec", "--tty", *words, **how)


class OwnTerminal(TerminalTest):
    def test_it_is_the_first_of_its_own_kind(self):
        t = self.terminal("sh", "-c", "tty; ls /dev/pts; stat -Lc dev=%d /dev/pts/0")
        t.expect(r"/dev/pts/0\r\n")
        t.expect(r"^0\s+ptmx\s")
        inside = int(t.expect(r"dev=(\d+)").group(1))
        self.assertEqual(t.wait(), 0)
        self.assertNotEqual(inside, os.fstat(t.slave).st_dev)

    def test_all_three_streams_and_dev_tty_are_it(self):
        t = self.terminal("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo yes > /dev/tty")
        t.expect("yes")
        self.assertEqual(t.wait(), 0)

    def test_without_the_flag_there_is_none(self):
        t = Terminal(self, "exec", "sh", "-c",
                     "tty; test -t 1 || echo no terminal; echo x > /dev/tty")
        t.expect("not a tty")
        t.expect("no terminal")
        self.assertNotEqual(t.wait(), 0)

    def test_the_window_size(self):
        """Often, since a program that asks at once must not be faster than the answer."""
        for _ in range(40):
            t = self.terminal("stty", "size", rows=33, columns=101)
            self.assertEqual((t.wait(), t.seen), (0, b"33 101\r\n"))
            t.close()

    def test_a_new_window_size_reaches_the_program(self):
        t = self.terminal("sh", "-c", "trap 'stty size' WINCH; echo ready; "
                                      "while :; do sleep 0.05; done", rows=33, columns=101)
        t.expect("ready")
        t.resize(44, 55)
        t.expect("44 55")
        t.send(CTRL_C)
        self.assertEqual(t.wait(), 130)

    def test_what_is_typed_arrives_and_is_echoed_once(self):
        t = self.terminal("sh", "-c", "echo ready; read line; echo \"<$line>\"")
        t.expect("ready\r\n")
        t.send("typed\r")
        t.expect(r"^typed\r\n<typed>\r\n$")
        self.assertEqual(t.wait(), 0)

    def test_the_program_can_turn_the_echo_off(self):
        t = self.terminal("sh", "-c", "stty -echo; echo ready; read line; echo \"<$line>\"")
        t.expect("ready\r\n")
        t.send("secret\r")
        t.expect(r"<secret>")
        self.assertEqual(t.seen.count(b"secret"), 0)

    def test_end_of_input_is_typed(self):
        t = self.terminal("sh", "-c", "echo ready; cat; echo end")
        t.expect("ready")
        t.send(CTRL_D)
        t.expect("end")
        self.assertEqual(t.wait(), 0)

    def test_much_output_arrives_whole(self):
        t = self.terminal("sh", "-c", "stty -opost; seq 1 60000; echo last")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.seen.decode(), "".join(f"{i}\n" for i in range(1, 60001)) + "last\n")

    def test_a_terminal_that_reads_late_gets_all(self):
        """Its buffer has 4 KiB: the rest waits with us after the program has ended."""
        t = self.terminal("sh", "-c", "stty -opost; seq 1 5000; echo last")
        time.sleep(1)
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.seen.decode(), "".join(f"{i}\n" for i in range(1, 5001)) + "last\n")

    def test_much_input_arrives_whole(self):
        t = self.terminal("sh", "-c", "stty raw -echo; echo ready; head -c 50000 | sha256sum")
        t.expect("ready")
        data = b"0123456789" * 5000
        for at in range(0, len(data), 1000):
            t.send(data[at:at + 1000])
        t.expect(hashlib.sha256(data).hexdigest())

    def test_the_exit_code_passes(self):
        self.assertEqual(self.terminal("sh", "-c", "exit 7").wait(), 7)
        self.assertEqual(self.terminal("no-such-command").wait(), 127)

    def test_a_time_limit_holds(self):
        self.assertEqual(self.terminal("--timeout", "500ms", "sleep", "60").wait(), 124)


class Keys(TerminalTest):
    def test_ctrl_c_runs_the_programs_handler(self):
        t = self.terminal("sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; "
                                      "while :; do sleep 0.05; done")
        t.expect("ready")
        t.send(CTRL_C)
        t.expect("caught")
        self.assertEqual(t.wait(), 9)

    def test_ctrl_c_ends_a_program_without_one(self):
        t = self.terminal("sh", "-c", "echo ready; exec sleep 60")
        t.expect("ready")
        t.send(CTRL_C)
        self.assertEqual(t.wait(), 130)

    def test_ctrl_c_without_a_terminal_of_its_own(self):
        t = Terminal(self, "exec", "sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; "
                                               "while :; do sleep 0.05; done")
        t.expect("ready")
        t.send(CTRL_C)
        t.expect("caught")
        self.assertEqual(t.wait(), 9)

    def test_job_control(self):
        for shell in (["sh", "-i"], ["bash", "--norc", "-i"]):
            with self.subTest(shell):
                t = self.terminal("--env", "PS1=go> ", "--env", "ENV=", *shell)
                t.expect("go> ")
                t.send("sh -c 'echo started; exec sleep 61'\r")
                t.expect("[\r\n]started\r\n")  # so it has the terminal
                t.send(CTRL_Z)
                t.expect("Stopped")
                t.expect("go> ")
                t.send("jobs\r")
                t.expect(r"Stopped[^\n]*sleep 61")
                t.expect("go> ")
                t.send("fg\r")
                t.expect(r"fg.*sleep 61")
                t.pump(0.2)
                t.send(CTRL_C)
                t.expect("go> ")
                t.send("sleep 62 &\rkill -9 %1; wait %1; echo code=$?\r")
                t.expect("code=137")
                t.send("exit 5\r")
                self.assertEqual(t.wait(), 5)

    def test_no_complaint_about_job_control(self):
        t = self.terminal("--env", "PS1=go> ", "bash", "--norc", "-i")
        t.expect("go> ")
        self.assertNotIn(b"job control", t.seen)
        t.send(CTRL_D)
        self.assertEqual(t.wait(), 0)


class Afterwards(TerminalTest):
    """The caller's terminal is as it was, however the program ended."""

    def assert_restored(self, t):
        self.assertEqual(t.modes(), t.before)

    def test_it_is_raw_while_the_program_runs(self):
        t = self.terminal("sh", "-c", "echo ready; read x")
        t.expect("ready")
        self.assertTrue(t.is_raw())
        t.send("\r")
        t.wait()
        self.assert_restored(t)

    def test_after_a_program_that_changed_the_modes(self):
        t = self.terminal("stty", "raw", "-echo")
        self.assertEqual(t.wait(), 0)
        self.assert_restored(t)

    def test_after_the_program_was_killed(self):
        t = self.terminal("sh", "-c", "stty raw -echo; kill -9 $$")
        self.assertEqual(t.wait(), 137)
        self.assert_restored(t)

    def test_after_a_time_limit(self):
        t = self.terminal("--timeout", "300ms", "sh", "-c", "stty raw -echo; sleep 60")
        self.assertEqual(t.wait(), 124)
        self.assert_restored(t)

    def test_after_signals_to_caisson(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(number.name):
                t = self.terminal("sh", "-c", "stty raw -echo; echo ready; exec sleep 60")
                t.expect("ready")
                t.signal(number)
                self.assertEqual(t.wait(), 128 + number)
                self.assert_restored(t)

    def test_after_an_error_at_the_start(self):
        for words in (["no-such-command"], ["/etc/passwd"], ["--mount", "/nowhere:/x", "true"]):
            t = self.terminal(*words)
            self.assertIn(t.wait(), (125, 126, 127))
            self.assert_restored(t)

    def test_messages_of_caisson_begin_at_the_left(self):
        """They are written in the caller's modes, not in the raw ones."""
        t = self.terminal("--timeout", "300ms", "sleep", "60")
        t.wait()
        self.assertIn(b"caisson: the time limit was reached\r\nhint: ", t.seen)

    def test_the_screen_is_given_back_by_a_program_that_was_killed(self):
        script = r"printf '\033[?1049h\033[?25l\033[?2004h\033[?1000h'; kill -9 $$"
        t = self.terminal("sh", "-c", script)
        t.wait()
        for undo in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1000l"):
            self.assertIn(undo, t.seen)

    def test_a_closed_window_ends_the_program(self):
        mark = f"63.{os.getpid():07d}"
        t = self.terminal("sh", "-c", f"echo ready; sleep {mark}")
        t.expect("ready")
        t.hang_up()
        self.wait_for(t.ended, "caisson to end")

    def test_several_on_one_terminal_after_another(self):
        script = f"for i in 1 2 3; do '{harness.BINARY}' exec --tty tty; done; stty -a"
        t = ShellTerminal(self, script)
        for _ in range(3):
            t.expect("/dev/pts/0")
        t.expect(r"[\s]icanon\s")
        self.assertEqual(t.wait(), 0)


class ShellTerminal(Terminal):
    """A shell on the terminal, which runs caisson."""

    def __init__(self, test, script, **how):
        self.script = script
        super().__init__(test, **how)

    def become(self, words, env, folder):
        super().become(["/bin/sh", "-c", self.script], env, folder)


class WithoutACallersTerminal(TerminalTest):
    def test_input_and_output_may_be_pipes(self):
        ended = self.exec("--tty", "sh", "-c", "tty; cat", stdin=b"piped\n")
        self.assertEqual(ended.code, 0, ended)
        self.assertIn("/dev/pts/0", ended.out)
        self.assertIn("piped", ended.out)

    def test_a_usual_window_size(self):
        ended = self.exec("--tty", "stty", "size", stdin=subprocess.DEVNULL)
        self.assertEqual(ended.out.strip(), "24 80", ended)

    def test_output_to_a_file_on_a_terminal(self):
        t = ShellTerminal(self, f"'{harness.BINARY}' exec --tty tty > out; cat out")
        t.expect("/dev/pts/0")
        self.assertEqual(t.wait(), 0)
        self.assertTrue(t.modes()[3] & termios.ICANON)
