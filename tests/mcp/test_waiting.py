"""Calls to one session wait for each other: within their time, telling that they wait, and with a way
out that doesn't wait."""
from harness import McpTest, without_notes

SLEEP = "import time\nprint('begun', flush=True)\ntime.sleep(1000)"
DEAF = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + SLEEP


def text_of(answer):
    return "".join(block["text"] for block in answer["result"]["content"] if block["type"] == "text")


class Waiting(McpTest):
    def busy(self, code=SLEEP, **more):
        """A server whose session runs a call, and that call."""
        server = self.server()
        server.text("rlm_exec", code="kept = 1", **more)
        running = server.start_call("rlm_exec", token="busy", code=code, timeout=1000, **more)
        self.progress(server, "busy")
        return server, running

    def progress(self, server, token):
        return server.wait_for(lambda m: m.get("method") == "notifications/progress"
                               and m["params"]["progressToken"] == token)["params"]

    def test_a_call_that_waits_says_so_and_ends_at_its_timeout(self):
        server, _ = self.busy()
        waiting = server.start_call("rlm_exec", token="later", code="never = 1", timeout=0.5)
        self.assertIn("waits for an earlier call", self.progress(server, "later")["message"])
        answer = server.answer(waiting)
        self.assertTrue(answer["result"]["isError"])
        text = text_of(answer)
        for word in ("the session is busy", "`session`", "rlm_reset"):
            self.assertIn(word, text)
        # Another session is free meanwhile.
        self.assertEqual(server.text("rlm_exec", code="3", session="other"), "3")

    def test_a_call_that_gets_its_turn_has_what_is_left_of_its_time(self):
        server = self.server()
        server.text("rlm_exec", code="import time")
        server.start_call("rlm_exec", code="time.sleep(1.2)")
        text = server.fails("rlm_exec", code="time.sleep(1000)", timeout=4)
        self.assertIn("[timeout]", text)
        self.assertIn("for an earlier call", text)
        self.assertEqual(without_notes(server.text("rlm_exec", code="time.sleep(0.1); 5")), "5")

    def test_a_reset_stops_what_runs_and_sends_away_what_waits(self):
        for code in (SLEEP, DEAF):
            with self.subTest(code):
                server, running = self.busy(code)
                waiting = server.start_call("rlm_exec", code="never = 1", timeout=1000)
                self.assertEqual(server.text("rlm_reset"), "Sandbox reset.")
                stopped, sent_away = server.answer(running), server.answer(waiting)
                self.assertTrue(stopped["result"]["isError"])
                self.assertIn("rlm_reset stopped it", text_of(stopped))
                self.assertTrue(sent_away["result"]["isError"])
                self.assertIn("was reset", text_of(sent_away))
                self.assertEqual(server.text("rlm_vars"), "(no variables)")
                self.assertEqual(server.end(), 0)

    def test_a_reset_of_a_named_session_leaves_others_alone(self):
        server, running = self.busy(session="one")
        other = server.start_call("rlm_exec", code="import time\ntime.sleep(1)\n'done'", session="two")
        self.assertEqual(server.text("rlm_reset", session="one"), "Sandbox reset.")
        self.assertTrue(server.answer(running)["result"]["isError"])
        self.assertIn("done", text_of(server.answer(other)))
        self.assertEqual(server.text("rlm_exec", code="'kept' in dir()", session="one"), "False")

    def test_the_names_that_are_open_are_told_when_there_is_no_room(self):
        server = self.server()
        names = [f"n{i}" for i in range(33)]
        calls = [server.start_call("rlm_exec", code="1", session=name) for name in names]
        texts = [text_of(server.answer(call)) for call in calls]
        self.assertEqual(texts[:32], ["1"] * 32)
        self.assertIn("32 sessions are open already", texts[32])
        self.assertIn("n0, n1, n10", texts[32])
        server.text("rlm_reset", session="n7")
        self.assertEqual(server.text("rlm_exec", code="2", session="n32"), "2")
