"""Ends: clean, idle, and by SIGKILL; what comes back afterwards."""
import os
import signal
import subprocess
import threading
import unittest

import harness
from harness import Server, processes_with, wait_for


class Ends(unittest.TestCase):
    def serve(self, *words, **more):
        server = Server(*words, **more)
        self.addCleanup(server.close)
        return server

    def exec(self, server, name, code):
        answer = server.ask("POST", f"/v1/sessions/{name}/exec", {"code": code})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_sigterm_saves_and_the_next_one_takes_up(self):
        server = self.serve()
        server.ask("POST", "/v1/sessions", {"name": "kept", "memory_bytes": 512 << 20})
        self.exec(server, "kept", "x = [1, 2, 3]\nimport threading\nlock = threading.Lock()")
        server.ask("POST", "/v1/sessions", {"name": "ended"})
        server.ask("DELETE", "/v1/sessions/ended")
        self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(server.socket))
        wait_for(lambda: not processes_with(server.top), "the end of all processes")
        server.start()
        listed = {each["name"]: each for each in server.ask("GET", "/v1/sessions").json["sessions"]}
        self.assertEqual(list(listed), ["kept"])
        self.assertEqual(listed["kept"]["limits"]["memory_bytes"], 512 << 20)
        self.assertEqual(self.exec(server, "kept", "x")["value"]["text/plain"], "[1, 2, 3]")
        notes = "; ".join(listed["kept"]["notes"])
        self.assertRegex(notes, r"not in the snapshot: lock \(lock: TypeError: cannot pickle [^\[]*\)")  # what was lost
        self.assertRegex(notes, r"variables of the snapshot are back: [\w, ]*x")

    def test_sigkill_leaves_no_process(self):
        server = self.serve()
        for name in ("one", "two"):
            server.ask("POST", "/v1/sessions", {"name": name})
            self.exec(server, name, "import subprocess\np = subprocess.Popen(['sleep', '1000'])\n"
                                    "import os\nif os.fork() == 0:\n  os.setsid(); "
                                    "import time; time.sleep(1000)")
        children = [pid for pid in descendants(server.process.pid)]
        self.assertGreaterEqual(len(children), 4)
        server.stop(signal.SIGKILL)
        wait_for(lambda: not [pid for pid in children if is_alive(pid)],
                 "the end of all processes")

    def test_after_sigkill_sessions_come_back_from_their_snapshots(self):
        server = self.serve()
        server.ask("POST", "/v1/sessions", {"name": "crashed"})
        self.exec(server, "crashed", "x = 'saved'")
        self.assertEqual(server.stop(), 0)  # leaves a snapshot
        server.start()
        self.exec(server, "crashed", "y = 'not saved'")
        server.stop(signal.SIGKILL)
        server.start()
        notes = server.ask("GET", "/v1/sessions/crashed").json["notes"]
        self.assertTrue(any(note.startswith("state since") for note in notes), notes)
        self.assertEqual(self.exec(server, "crashed", "x")["value"]["text/plain"], "'saved'")
        self.assertEqual(self.exec(server, "crashed", "'y' in dir()")["value"]["text/plain"],
                         "False")
        with open(os.path.join(server.top, "stderr")) as said:
            self.assertIn("session crashed is back\n", said.read())

    def test_what_a_crash_took_is_listed_and_told_by_the_first_call(self):
        server = self.serve()
        server.ask("POST", "/v1/sessions", {"name": "lost"})
        self.exec(server, "lost", "y = 'not saved'")
        server.stop(signal.SIGKILL)
        server.start()
        listed = server.cli("list")
        self.assertRegex(listed.err, "caisson: lost: state since .* was not saved: the session, or its server, ended")
        self.assertNotIn("state since", listed.out)
        raised = server.cli("exec", "lost", "-c", "y")
        self.assertIn("NameError", raised.err)
        self.assertRegex(raised.err, "came back after its server's end: state since .*, and nothing of before")
        for words in (("exec", "lost", "-c", "1"), ("list",)):  # once is enough
            self.assertEqual(server.cli(*words).err, "", words)
        self.assertEqual(server.ask("GET", "/v1/sessions/lost").json["losses"], [])

    def test_a_branch_that_comes_back_without_its_files_says_so(self):
        server = self.serve()
        server.ask("POST", "/v1/sessions", {"name": "own", "policy": ["--env", "A=b"]})
        server.ask("POST", "/v1/sessions/own/branches", {"name": "twig"})
        self.exec(server, "twig", "open('f', 'w').write('x') and None")
        server.stop(signal.SIGKILL)
        wait_for(lambda: not processes_with(server.top), "the end of all processes")
        server.start()
        told = "\n".join(self.exec(server, "twig", "open('f')")["notes"])
        self.assertIn("it was a branch of own, and is a session of its own now: its files are gone", told)
        self.assertNotIn("branch of", "\n".join(self.exec(server, "own", "1")["notes"]))
        self.assertEqual(server.stop(), 0)  # it is no branch any more
        server.start()
        self.assertNotIn("branch of", "\n".join(self.exec(server, "twig", "1")["notes"]))

    def test_files_come_back_whatever_the_end_was_and_none_are_left_over(self):
        server = self.serve()
        for name in ("files", "gone"):
            server.ask("POST", "/v1/sessions", {"name": name})
            self.exec(server, name, "open('f', 'w').write('of ' + %r) and None" % name)
        server.ask("POST", "/v1/sessions/files/branches", {"name": "twig"})
        self.exec(server, "twig", "open('f', 'w').write('of twig') and None")
        server.ask("DELETE", "/v1/sessions/gone")
        for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
            server.stop(how)
            wait_for(lambda: not processes_with(server.top), "the end of all processes")
            server.start()
            for name in ("files", "twig"):
                said = self.exec(server, name, "open('f').read()")
                if said["status"] == "ok":
                    self.assertEqual(said["value"]["text/plain"], repr("of " + name))
                else:  # a branch that was a cell of its own's, and a crash: that is documented
                    self.assertEqual((name, how), ("twig", signal.SIGKILL), said)
            kept = [line for folder, _, names in os.walk(server.top) for line in names
                    if line == "f" and "of gone" in open(os.path.join(folder, line)).read()]
            self.assertEqual(kept, [])

    def test_files_of_a_branch_are_kept_before_it_ends(self):
        """By the launcher, who may be busy: the keeper inside removes what is left there."""
        server = self.serve()
        server.ask("POST", "/v1/sessions", {"name": "tree"})
        server.ask("POST", "/v1/sessions/tree/branches", {"name": "twig"})
        self.exec(server, "twig", "open('f', 'w').write('of twig') and None")
        launchers = [pid for pid in descendants(server.process.pid)
                     if name_of(pid) == "caisson-launch"]
        self.assertTrue(launchers)
        answers = []
        ending = threading.Thread(target=lambda: answers.append(
            server.ask("DELETE", "/v1/sessions/twig?save=1").status))
        for pid in launchers:
            os.kill(pid, signal.SIGSTOP)
        try:
            ending.start()
            ending.join(0.5)  # what doesn't wait for the launcher has ended by then
        finally:
            for pid in launchers:
                os.kill(pid, signal.SIGCONT)
        ending.join(harness.DEADLINE)
        self.assertEqual(answers, [200])
        server.ask("POST", "/v1/sessions", {"name": "twig", "resume": True})
        self.assertEqual(self.exec(server, "twig", "open('f').read()")["value"]["text/plain"],
                         "'of twig'")

    def test_an_idle_server_ends_by_itself(self):
        server = self.serve("--idle", "300ms")
        self.assertEqual(server.process.wait(timeout=harness.DEADLINE), 0)
        self.assertFalse(os.path.exists(server.socket))

    def test_a_session_keeps_it(self):
        # On a machine that is busy it may have ended before it is asked.
        server = self.serve(start=False)
        for _ in range(10):
            server.start("--idle", "300ms")
            try:
                made = server.ask("POST", "/v1/sessions", {"name": "keeper"})
                break
            except OSError:
                server.stop()
        self.assertEqual(made.status, 201, made)
        with self.assertRaises(subprocess.TimeoutExpired):
            server.process.wait(timeout=1)
        server.ask("DELETE", "/v1/sessions/keeper")
        self.assertEqual(server.process.wait(timeout=harness.DEADLINE), 0)

    def test_a_session_that_will_not_save_does_not_hold_the_end(self):
        server = self.serve()
        server.ask("POST", "/v1/sessions", {"name": "stubborn"})
        connection = server.connection()
        connection.request("POST", "/v1/sessions/stubborn/exec", body=b'{"code": "while True: pass"}',
                           headers=harness.JSON)
        wait_for(lambda: server.ask("GET", "/v1/sessions/stubborn").json["busy"], "a busy session")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(timeout=harness.DEADLINE), 0)
        connection.close()


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def name_of(pid):
    """Empty for one that has ended since it was listed."""
    try:
        with open(f"/proc/{pid}/comm") as name:
            return name.read().rstrip("\n")
    except OSError:
        return ""


def descendants(pid):
    parents = {}
    for each in os.listdir("/proc"):
        if each.isdigit():
            try:
                with open(f"/proc/{each}/stat") as stat:
                    parents[int(each)] = int(stat.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found
