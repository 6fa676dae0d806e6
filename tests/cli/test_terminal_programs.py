"""Full-screen programs on the cell's terminal; `more` and `sh` stand in where they are missing."""
import shutil

import test_terminal
from terminal import CTRL_C, ESCAPE


class FullScreen(test_terminal.TerminalTest):
    def test_an_editor_edits(self):
        work = self.folder("work")
        if shutil.which("vim", path=self.env["PATH"]):
            t = self.terminal("--workspace", work, "vim", "-u", "NONE", "-N", "text", rows=30,
                              columns=90)
            t.expect(r'"text"')
            t.send(b"ihello from vim")
            t.expect("hello from vim")
            t.send(ESCAPE)
            t.pump(0.3)
            t.send(b":set columns? lines?\r")
            t.expect(r"columns=90.*lines=30")
            t.send(b"\r:wq\r")
            expected = "hello from vim\n"
        else:
            t = self.terminal("--workspace", work, "sh", "-c", "read line; echo \"$line\" > text")
            t.send("hello from sh\r")
            expected = "hello from sh\n"
        self.assertEqual(t.wait(), 0)
        self.assertEqual(self.read(work + "/text"), expected)
        self.assertEqual(t.modes(), t.before)

    def test_a_pager_pages(self):
        pager = "less" if shutil.which("less", path=self.env["PATH"]) else "more"
        self.file("project/long", "".join(f"line {i}\n" for i in range(1, 500)))
        t = self.terminal(pager, "long", rows=20)
        t.expect(r"line 1\r\n.*line 15\r\n")
        self.assertNotIn(b"line 40", t.seen)
        t.send(b" ")
        t.expect(r"line 30\r\n")
        if pager == "less":
            t.send(b"G")
            t.expect("line 499")
            t.send(b"/line 77\rgg")
            t.send(b"1G")
            t.expect("line 1\r\n")
        t.send(b"q")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.modes(), t.before)

    def test_an_editor_that_is_killed_leaves_the_terminal_whole(self):
        program = ["vim", "-u", "NONE", "-N"] if shutil.which("vim", path=self.env["PATH"]) else \
            ["sh", "-c", "stty raw -echo; printf '\\033[?1049h~'; sleep 60"]
        t = self.terminal("--timeout", "3s", *program)
        t.expect("~")
        self.assertEqual(t.wait(), 124)
        self.assertEqual(t.modes(), t.before)
        self.assertIn(b"\x1b[?1049l", t.seen)

    def test_an_interpreter_talks(self):
        t = self.terminal("/usr/bin/python3", "-q")
        t.expect(">>> ")
        t.send("6 * 7\r")
        t.expect(r"42\r\n")
        # In short sleeps: a signal that comes right before one is seen after it, by Python's own rules.
        t.send("import time; print('now' + 'here'); [time.sleep(.1) for _ in range(600)] and None\r")
        t.expect("nowhere\r\n")
        t.send(CTRL_C)
        t.expect("KeyboardInterrupt")
        t.send("exit(3)\r")
        self.assertEqual(t.wait(), 3)
