"""The tools, with the texts that their users know."""
import base64
import json
import os
import select
import subprocess

import harness
from harness import McpTest

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 100).decode()


class Tools(McpTest):
    def test_state_lasts_from_call_to_call(self):
        server = self.server()
        self.assertEqual(server.text("rlm_exec", code="x = 41\ndef f(n): return n + 1"), "(no output)")
        self.assertEqual(server.text("rlm_exec", code="import math\nf(x)"), "42")
        self.assertEqual(server.text("rlm_exec", code="print(math.floor(2.5)); 'end'"), "2\n'end'")

    def test_stderr_and_errors_have_their_place(self):
        server = self.server()
        text = server.text("rlm_exec", code="import sys\nprint('out')\nprint('err', file=sys.stderr)")
        self.assertEqual(text, "out\n[stderr] err")
        text = server.fails("rlm_exec", code="print('before')\n1/0")
        self.assertTrue(text.startswith("before\n[stderr] Traceback"), text)
        self.assertIn("ZeroDivisionError: division by zero", text)

    def test_get_vars_and_reset(self):
        server = self.server()
        self.assertEqual(server.text("rlm_vars"), "(no variables)")
        server.text("rlm_exec", code="d = {'a': [1, 2.5, None, True], 'ü': '😀'}\nclass C: pass\nc = C()")
        self.assertEqual(json.loads(server.text("rlm_get", name="d")),
                         {"a": [1, 2.5, None, True], "ü": "😀"})
        self.assertIn('{\n  "a": [\n    1,\n    2.5,', server.text("rlm_get", name="d"))
        self.assertIn("C object", server.text("rlm_get", name="c"))
        self.assertEqual(server.fails("rlm_get", name="nope"), "Error: not found")
        self.assertEqual(server.text("rlm_get", name="d", query="len(d['a']) * 2"), "8")
        lines = server.text("rlm_vars").splitlines()
        self.assertIn("  d: dict = {'a': [1, 2.5, None, True], 'ü': '😀'}", lines)
        self.assertTrue(all(line.startswith("  ") for line in lines), lines)
        self.assertEqual(server.text("rlm_reset"), "Sandbox reset.")
        self.assertEqual(server.text("rlm_vars"), "(no variables)")

    def test_load(self):
        server = self.server()
        path = self.file("project/notes.txt", "zeile 😀\n" * 10)
        self.assertEqual(server.text("rlm_load", path=path, var_name="notes"),
                         "Loaded notes.txt into `notes` (80 chars)")
        self.assertEqual(server.text("rlm_load", path="notes.txt", var_name="again"),
                         "Loaded notes.txt into `again` (80 chars)")
        self.assertEqual(server.text("rlm_exec", code="notes == again, len(notes)"), "(True, 80)")
        self.assertEqual(server.fails("rlm_load", path="none.txt", var_name="n"),
                         "Error: file not found: none.txt")
        self.file("project/t.csv", "a,b\n1,2\n3,4\n")
        self.assertEqual(server.text("rlm_load", path="t.csv", var_name="t", **{"as": "auto"}),
                         "Loaded t.csv into `t` (2 rows)")
        self.assertIn("not a variable", server.fails("rlm_load", path=path, var_name="a b"))

    def test_credentials_are_not_loaded_under_any_name(self):
        import os
        server = self.server()
        for folder in (".ssh", ".aws", ".config/gcloud", ".gnupg"):
            self.file(f"home/{folder}/secret", "TOPSECRET")
            link = os.path.join(self.project, "link" + folder.replace("/", "-"))
            os.symlink(os.path.join(self.home, folder, "secret"), link)
            for path in (os.path.join(self.home, folder, "secret"), f"~/{folder}/secret", link,
                         f"{self.project}/../home/{folder}/secret"):
                text = server.fails("rlm_load", path=path, var_name="s")
                self.assertTrue(text.startswith("Error: access denied — "), text)
        self.assertEqual(server.text("rlm_vars"), "(no variables)")

    def test_arguments_that_do_not_fit_say_what_to_change(self):
        server = self.server()
        cases = [
            ({}, 'rlm_exec needs "code"'),
            ({"code": 5}, '"code" of rlm_exec must be a string'),
            ({"code": "1", "timeout": "30"}, "must be a number of seconds"),
            ({"code": "1", "timeout": 0}, "must be a number of seconds"),
            ({"code": "1", "timeout": 1e9}, "must be a number of seconds"),
            ({"code": "1", "timout": 3}, 'did you mean "timeout"?'),
            ({"code": "1", "zzz": 3}, "rlm_exec takes: code, timeout, session"),
            ({"code": "1", "session": "../x"}, "letters, digits"),
            ({"code": "1", "session": "x" * 41}, "letters, digits"),
        ]
        for arguments, expected in cases:
            with self.subTest(arguments):
                text = server.fails("rlm_exec", **arguments)
                self.assertTrue(text.startswith("Error: "), text)
                self.assertIn(expected, text)
        self.assertEqual(self.cells(server.process.pid), set())
        # What a model leaves out, it often writes as null.
        self.assertEqual(server.text("rlm_exec", code="1", timeout=None, session=None), "1")

    def test_figures_come_back_as_images(self):
        server = self.server()
        code = ("import base64\nclass Figure:\n  def _repr_png_(self):\n"
                f"    return base64.b64decode('{PNG}')\nprint('text')\nFigure()")
        content = server.call("rlm_exec", code=code)["content"]
        self.assertEqual(content, [{"type": "text", "text": "text"},
                                   {"type": "image", "data": PNG, "mimeType": "image/png"}])

    def test_what_only_claims_to_be_an_image_is_not_passed_on(self):
        server = self.server()
        code = ("class Figure:\n  def _repr_png_(self): return 'not base64 \\u2028 at all'\n"
                "  def __repr__(self): return 'a figure'\nFigure()")
        self.assertEqual(server.call("rlm_exec", code=code)["content"],
                         [{"type": "text", "text": "a figure"}])

    def test_too_many_images_become_links(self):
        server = self.server()
        code = ("import base64\nclass Figure:\n  def _repr_png_(self):\n"
                f"    return base64.b64decode('{PNG}')\nfor i in range(10): display(Figure())")
        content = server.call("rlm_exec", code=code)["content"]
        self.assertEqual([b["type"] for b in content], ["image"] * 8 + ["resource_link"] * 2)
        read = server.request("resources/read", {"uri": content[9]["uri"]})["result"]["contents"]
        self.assertEqual(read[0]["blob"], PNG)
        self.assertEqual(read[0]["mimeType"], "image/png")

    def test_long_output_is_cut_in_the_middle_and_the_whole_can_be_read(self):
        server = self.server()
        content = server.call("rlm_exec", code="print('ä' * 30000 + 'end')")["content"]
        text = content[0]["text"]
        self.assertLess(len(text), 20000)
        self.assertTrue(text.startswith("ä" * 1000) and text.endswith("äend"), text[-50:])
        self.assertEqual(content[1]["type"], "resource_link")
        uri = content[1]["uri"]
        self.assertIn(uri, text)
        whole = server.request("resources/read", {"uri": uri})["result"]["contents"][0]["text"]
        self.assertEqual(whole, "ä" * 30000 + "end")
        listed = server.request("resources/list")["result"]["resources"]
        self.assertEqual([r["uri"] for r in listed], [uri])
        self.assertEqual(server.modern("resources/read", {"uri": uri})["result"]["cacheScope"],
                         "private")

    def test_exactly_the_limit_is_not_cut(self):
        server = self.server()
        content = server.call("rlm_exec", code="print('x' * 20000)")["content"]
        self.assertEqual(content, [{"type": "text", "text": "x" * 20000}])

    def test_outputs_are_listed_in_pages(self):
        server = self.server()
        for _ in range(60):
            server.call("rlm_exec", code="'x' * 20001")
        first = server.request("resources/list")["result"]
        self.assertEqual(len(first["resources"]), 50)
        rest = server.request("resources/list", {"cursor": first["nextCursor"]})["result"]
        self.assertEqual(len(rest["resources"]), 10)
        self.assertNotIn("nextCursor", rest)

    def test_bytes_that_are_no_text_come_back_as_text(self):
        server = self.server()
        text = server.text("rlm_exec", code="import os\nn = os.write(1, b'a\\xff\\xc3\\xed\\xa0\\x80b\\0c')")
        self.assertEqual(text, "a\ufffd\ufffd\ufffd\ufffd\ufffdb\0c")

    def test_named_sessions_are_separate(self):
        server = self.server()
        server.text("rlm_exec", code="x = 1")
        server.text("rlm_exec", code="x = 2", session="other")
        self.assertEqual(server.text("rlm_exec", code="x"), "1")
        self.assertEqual(server.text("rlm_exec", code="x", session="other"), "2")
        self.assertEqual(server.text("rlm_reset", session="other"), "Sandbox reset.")
        self.assertEqual(server.text("rlm_vars", session="other"), "(no variables)")
        self.assertEqual(server.text("rlm_exec", code="x"), "1")

    def test_sessions_run_side_by_side(self):
        server = self.server()
        server.text("rlm_exec", code="1", session="b")
        slow = server.start_call("rlm_exec", code="import time; time.sleep(20)", session="a")
        self.assertEqual(server.text("rlm_exec", code="1 + 1", session="b"), "2")
        server.notify("notifications/cancelled", {"requestId": slow})

    def test_checkpoints_and_branches(self):
        server = self.server()
        server.text("rlm_exec", code="x = 1")
        self.assertEqual(server.text("rlm_checkpoint", name="before"), "Checkpoint `before` taken.")
        server.text("rlm_exec", code="x = 2")
        self.assertIn("copy of `main`", server.text("rlm_branch", new_session="b"))
        self.assertEqual(server.text("rlm_exec", code="x", session="b"), "2")
        self.assertEqual(server.text("rlm_restore", name="before"), "Restored checkpoint `before`.")
        self.assertEqual(server.text("rlm_exec", code="x"), "1")
        server.text("rlm_branch", new_session="c", checkpoint="before")
        server.text("rlm_exec", code="x = 3", session="c")
        self.assertEqual(server.text("rlm_exec", code="x"), "1")
        self.assertTrue(server.fails("rlm_restore", name="nope").startswith("Error: "))
        self.assertIn("already", server.fails("rlm_branch", new_session="b"))

    def test_what_a_checkpoint_could_not_hold_is_told(self):
        server = self.server()
        server.text("rlm_exec", code="import threading\nt = threading.Thread(target=threading.Event().wait, "
                                     "daemon=True)\nt.start()")
        lost = "\n[note] not kept: 1 thread"
        self.assertEqual(server.text("rlm_checkpoint", name="c"), "Checkpoint `c` taken." + lost)
        server.text("rlm_branch", new_session="b")
        self.assertIn("not kept: 1 thread", server.text("rlm_exec", code="1", session="b"))
        self.assertEqual(server.text("rlm_restore", name="c"), "Restored checkpoint `c`." + lost)

    def test_sub_agents_say_that_they_are_not_there(self):
        text = self.server().fails("rlm_sub_agent", signature="q -> a", inputs={"q": "?"})
        self.assertIn("no language-model engine", text)

    def test_modern_calls_have_their_result_type(self):
        server = self.server(initialize=False)
        answer = server.modern("tools/call", {"name": "rlm_exec", "arguments": {"code": "2 + 2"}})
        self.assertEqual(answer["result"]["resultType"], "complete")
        self.assertEqual(answer["result"]["content"], [{"type": "text", "text": "4"}])

    def test_old_clients_get_no_links(self):
        server = self.server(initialize=False)
        server.initialize("2024-11-05")
        content = server.call("rlm_exec", code="'x' * 30000")["content"]
        self.assertEqual([b["type"] for b in content], ["text", "text"])
        self.assertIn("rlm://main/outputs/1", content[1]["text"])

    def test_progress_tells_partial_output_and_only_grows(self):
        server = self.server()
        server.text("rlm_exec", code="import time")
        code = "for i in range(4):\n  print('step', i, flush=True)\n  time.sleep(0.15)"
        request = server.start_call("rlm_exec", token="t1", code=code)
        server.answer(request)
        told = [m["params"] for m in server.pending if m.get("method") == "notifications/progress"]
        self.assertTrue(told)
        self.assertTrue(all(t["progressToken"] == "t1" for t in told))
        values = [t["progress"] for t in told]
        self.assertEqual(values, sorted(set(values)))
        self.assertIn("step", "".join(t["message"] for t in told))
        # Who gave no token hears nothing.
        server.pending.clear()
        server.text("rlm_exec", code=code)
        self.assertEqual(server.pending, [])

    def test_a_person_at_a_terminal_is_told_what_this_is(self):
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([harness.BINARY, "mcp"], env=self.env, cwd=self.project,
                                   stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.close(theirs)
        try:
            said = select.select([process.stderr], [], [], harness.DEADLINE)[0] and os.read(
                process.stderr.fileno(), 4096)
        finally:
            process.kill()
            process.wait()
            process.stderr.close()
        self.assertIn(b"this is an MCP server", said or b"")
        # A client hears nothing of it.
        server = self.server()
        self.assertEqual(server.end(), 0)
        self.assertEqual(server.process.stderr.read(), b"")

    def test_a_module_that_is_not_there_is_told_to_whoever_named_it(self):
        server = self.server("--preload", "nosuchmodule")
        self.assertEqual(server.text("rlm_exec", code="1 + 1"), "2")
        self.assertEqual(server.text("rlm_exec", code="2 + 2", session="other"), "4")
        self.assertEqual(server.end(), 0)
        said = server.process.stderr.read()
        # Without a cgroup each session has a cell of its own, and none of them preloads anything.
        self.assertIn(said.count(b"nosuchmodule"), (1,) if os.geteuid() == 0 else (0, 1), said)
