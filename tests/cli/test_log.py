"""The record: every execution, shown, filtered, followed; secrets by name only."""
import json
import os
import re
import signal
import subprocess

import harness
from harness import CliTest
from terminal import CTRL_C, Terminal


class Record(CliTest):
    def test_an_execution_is_a_start_and_an_end(self):
        result = self.exec_json("--pids", "50", "sh", "-c", "exit 3")
        start, end = (entry["event"] for entry in self.events())
        self.assertEqual((start["kind"], end["kind"]), ("start", "end"))
        self.assertEqual(start["argv"], ["sh", "-c", "exit 3"])
        self.assertEqual(start["cwd"], self.project)
        self.assertEqual(start["who"]["uid"], os.getuid())
        self.assertEqual(start["tier"], "process")
        self.assertEqual(start["policy_digest"], result["policy_digest"])
        self.assertEqual(start["degradations"], result["degradations"])
        self.assertEqual((end["status"], end["returncode"]), ("exited", 3))
        self.assertEqual(end["usage"].keys(), result["usage"].keys())
        self.assertEqual(end["denials"], [])
        self.assertEqual({start["id"], end["id"]}, {result["audit_id"]})

    def test_each_line_carries_the_hash_of_the_one_before(self):
        for _ in range(3):
            self.exec_ok("true")
        entries = self.events()
        self.assertEqual([entry["seq"] for entry in entries], [1, 2, 3, 4, 5, 6])
        self.assertEqual(entries[0]["prev"], "0" * 64)
        for one, two in zip(entries, entries[1:]):
            self.assertEqual(two["prev"], one["hash"])
            self.assertLessEqual(one["time"], two["time"])

    def test_denials_and_grants_are_on_record(self):
        self.exec("--no-exec", "--allow-network", "sh", "-c", "/bin/true")
        start, end = (entry["event"] for entry in self.events())
        self.assertEqual([grant["name"] for grant in start["grants"]], ["network"])
        self.assertTrue(end["denials"])

    def test_a_command_that_was_not_found_is_on_record(self):
        self.exec("no-such-command")
        end = self.events()[-1]["event"]
        self.assertEqual((end["status"], end["returncode"]), ("setup_error", 127))

    def test_secrets_are_there_by_name_only(self):
        self.exec_ok("--env", "TOKEN=s3cret-value", "--env-pass", "KEY", "true",
                     env={"KEY": "passed-value"})
        text = self.read(self.audit)
        self.assertNotIn("s3cret-value", text)
        self.assertNotIn("passed-value", text)
        self.assertLessEqual({"TOKEN", "KEY"}, set(self.events()[0]["event"]["env_names"]))
        for words in (["log"], ["log", "--json"]):
            self.assertNotIn("s3cret", self.caisson(*words).out)

    def test_it_is_the_callers_alone(self):
        self.exec_ok("true")
        self.assertEqual(os.stat(self.audit).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(os.path.dirname(self.audit)).st_mode & 0o777, 0o700)

    def test_without_xdg_state_home_it_is_below_the_home(self):
        self.exec_ok("true", env={"XDG_STATE_HOME": None})
        self.assertTrue(os.path.exists(self.home + "/.local/state/caisson/audit.jsonl"))

    def test_a_relative_xdg_state_home_counts_as_none(self):
        self.exec_ok("true", env={"XDG_STATE_HOME": "state"})
        self.assertTrue(os.path.exists(self.home + "/.local/state/caisson/audit.jsonl"))

    def test_the_cell_can_not_see_it(self):
        ended = self.exec("cat", self.audit, cwd=self.folder("state/sub"))
        self.assertEqual(ended.code, 1, ended)

    def test_many_at_once_lose_nothing(self):
        children = [self.start("exec", "true", stdout=subprocess.DEVNULL) for _ in range(40)]
        for child in children:
            self.assertEqual(child.wait(timeout=60), 0)
        entries = self.events()
        self.assertEqual([entry["seq"] for entry in entries], list(range(1, 81)))
        ids = [entry["event"]["id"] for entry in entries]
        self.assertEqual(sorted(ids), sorted(list(set(ids)) * 2))
        self.assertEqual(len(set(ids)), 40)
        self.assertEqual(self.caisson("log", "verify").code, 0)

    def test_a_record_that_can_not_be_written_starts_nothing(self):
        self.file("state/caisson", "a file where the folder should be")
        self.assert_refused(self.exec("--allow-write", self.project, "touch", "ran"), "caisson")
        self.assertEqual(os.listdir(self.project), [])

    def test_a_record_that_is_a_link_is_refused(self):
        target = self.file("elsewhere", "")
        os.mkdir(self.state + "/caisson", 0o700)
        os.symlink(target, self.audit)
        self.assert_refused(self.exec("true"), "audit")
        self.assertEqual(self.read(target), "")


class Log(CliTest):
    def setUp(self):
        super().setUp()
        self.exec("echo", "first")
        self.exec("sh", "-c", "exit 3")
        self.exec("--timeout", "100ms", "sleep", "60")

    def rows(self, *words):
        ended = self.caisson("log", *words)
        self.assertEqual(ended.code, 0, ended)
        return ended.out.splitlines()

    def test_it_shows_executions_oldest_first(self):
        header, *rows = self.rows()
        self.assertRegex(header, r"^TIME +ID +STATUS +EXIT +DURATION +COMMAND")
        self.assertEqual([row.split()[2] for row in rows], ["ok", "exited", "timeout"])
        self.assertIn("echo first", rows[0])
        self.assertIn("sh -c 'exit 3'", rows[1])
        self.assertEqual([row.split()[3] for row in rows], ["0", "3", "124"])

    def test_filters(self):
        self.assertEqual(len(self.rows("--status", "exited")), 2)
        self.assertIn("sleep 60", self.rows("-n", "1")[1])
        identity = self.events()[0]["event"]["id"]
        self.assertIn("echo first", self.rows("--id", identity[:8])[1])
        self.assertEqual(len(self.rows("--id", identity[:8])), 2)
        self.assertEqual(len(self.rows("--since", "1h")), 4)
        self.assertEqual(len(self.rows("--since", "2020-01-01")), 4)
        self.assertEqual(len(self.rows("--since", "2020-01-01", "--status=ok", "-n", "5")), 2)

    def test_nothing_that_matches_is_said(self):
        for words in (["--status", "oom"], ["--since", "2999-01-01"], ["--id", "zz"]):
            ended = self.caisson("log", *words)
            self.assertEqual((ended.code, ended.out), (0, ""), ended)
            self.assertIn("no execution", ended.err)

    def test_json_is_the_events_as_stored(self):
        self.assertEqual(self.caisson("log", "--json").out, self.read(self.audit))
        lines = self.rows("--json", "--status", "timeout")
        self.assertEqual([json.loads(line)["seq"] for line in lines], [5, 6])

    def test_another_file(self):
        copy = self.file("copy.jsonl", self.read(self.audit))
        self.assertEqual(self.caisson("log", "--file", copy, env={"XDG_STATE_HOME": self.top}).out,
                         self.caisson("log").out)
        self.assert_refused(self.caisson("log", "--file", self.top + "/nowhere"), "nowhere")

    def test_an_empty_record(self):
        ended = self.caisson("log", env={"XDG_STATE_HOME": self.top})
        self.assertEqual((ended.code, ended.out), (0, ""), ended)
        self.assertIn("nothing on record", ended.err)

    def test_reading_writes_nothing(self):
        before = self.read(self.audit)
        for words in ([], ["--json"], ["verify"]):
            self.caisson("log", *words)
        self.assertEqual(self.read(self.audit), before)

    def test_running_and_no_end(self):
        child = self.start("exec", "sleep", "60")
        self.wait_for(lambda: len(self.events()) == 7, "the start on record")
        self.assertEqual(self.rows("-n", "1")[1].split()[2], "running")
        child.kill()
        child.wait()
        self.assertEqual(self.rows("-n", "1")[1].split()[2], "no-end")
        self.assertEqual(len(self.rows("--status", "no-end")), 2)
        self.assertEqual(self.caisson("log", "verify").code, 0)

    def test_follow(self):
        child = self.start("log", "--follow")
        for _ in range(4):
            child.stdout.readline()
        self.exec("echo", "followed")
        self.assertIn(b"echo followed", child.stdout.readline())
        child.send_signal(signal.SIGINT)
        self.assertIn(self.finish(child).code, (0, 130, -signal.SIGINT))

    def test_follow_in_json_and_before_there_is_a_record(self):
        fresh = self.folder("fresh")
        child = self.start("log", "--follow", "--json", env={"XDG_STATE_HOME": fresh})
        self.assertIn(b"nothing on record", child.stderr.readline())
        self.exec("true", env={"XDG_STATE_HOME": fresh})
        self.assertEqual(json.loads(child.stdout.readline())["event"]["kind"], "start")
        self.assertEqual(json.loads(child.stdout.readline())["event"]["kind"], "end")

    def test_follow_ends_with_its_reader(self):
        child = self.start("log", "--follow")
        child.stdout.readline()
        child.stdout.close()
        child.stdout = None
        self.exec("true")
        self.exec("true")
        self.assertIn(child.wait(timeout=harness.DEADLINE), (0, 141, -signal.SIGPIPE))

    def test_a_reader_that_goes_is_no_error(self):
        done = subprocess.run(["bash", "-c", 'for i in 1 2 3; do "$0" log --json; done | head -1; '
                                             'echo ${PIPESTATUS[0]}', harness.BINARY],
                              env=self.environment(), capture_output=True, text=True,
                              timeout=harness.DEADLINE)
        self.assertEqual(done.stderr, "")


class Steering(CliTest):
    """What a program's words hold is shown on a terminal, never obeyed."""

    EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x85\u202e\r\nfake row"

    def assert_harmless(self, text):
        self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), repr(text))

    def test_rows_and_events(self):
        self.exec("printf", self.EVIL)
        self.exec(self.EVIL)
        table = self.caisson("log").out
        self.assert_harmless(table)
        self.assertEqual(len(table.splitlines()), 3, table)
        self.assert_harmless(self.caisson("log", "--json").out)
        self.assert_harmless(self.read(self.audit))

    def test_on_a_terminal(self):
        self.exec("printf", self.EVIL)
        with open(self.audit, "a") as file:  # somebody else wrote it
            file.write('{"seq":3,"time":"\x1b[2J","prev":"",'
                       '"event":{"kind":"\x1b[2J"},"hash":""}\n')
            file.write("\x1b[2J\x1b]0;owned\x07\n")
        for words in (["log"], ["log", "--json"], ["log", "verify"], ["log", "verify", "--json"]):
            with self.subTest(words):
                t = Terminal(self, *words, columns=120)
                t.wait()
                self.assert_harmless(t.seen.decode("utf-8").replace("\r\n", "\n"))

    def test_a_row_fits_the_window(self):
        self.exec("echo", "x" * 500)
        t = Terminal(self, "log", columns=100)
        t.wait()
        self.assertLessEqual(max(len(line) for line in t.seen.decode().splitlines()), 100)

    def test_a_row_in_a_usual_window_still_shows_the_command(self):
        self.exec("echo", "something")
        t = Terminal(self, "log", columns=80)
        t.wait()
        self.assertIn("echo", t.seen.decode())

    def test_ctrl_c_ends_follow(self):
        self.exec("true")
        t = Terminal(self, "log", "--follow", columns=120)
        t.expect("true")
        t.send(CTRL_C)
        self.assertIn(t.wait(), (0, 130, -signal.SIGINT))
