"""A conversation of several turns, as the model sees it."""
import base64
import os
import time

from fake_api import call, images, say, texts
from harness import SECRET, ClaudeTest

TOOLS = ("rlm_exec", "rlm_load", "rlm_get", "rlm_vars", "rlm_sub_agent", "rlm_reset")

DRAW = """
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
class Figure:
    def _repr_png_(self):
        size, row = 64, b"\\0" + b"\\xff\\0\\0" * 64
        head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
        return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
                + chunk(b"IDAT", zlib.compress(row * size)) + chunk(b"IEND", b""))
figure = Figure()
"""


def rlm(tool, **arguments):
    return call(f"mcp__rlm__rlm_{tool}", **arguments)


class Conversation(ClaudeTest):
    def setUp(self):
        super().setUp()
        self.caisson("install", "claude-code")

    def test_the_tools_are_discovered(self):
        messages = self.converse([say("done")])
        start = next(one for one in messages if one.get("subtype") == "init")
        self.assertIn(("rlm", "connected"),
                      [(one["name"], one["status"]) for one in start["mcp_servers"]])
        for tool in TOOLS:
            self.assertIn(f"mcp__rlm__{tool}", start["tools"])
        # Loaded from the start, without a search for tools first.
        for tool in ("rlm_exec", "rlm_load"):
            self.assertIn("input_schema",
                          self.api.tools()[f"mcp__rlm__{tool}"])

    def test_state_is_kept_over_turns(self):
        path = self.write("project/data.txt", "".join(f"row {i} 😀\n" for i in range(300)))
        size = len(open(path).read())
        self.converse(
            [rlm("load", path=path, var_name="data")],
            [rlm("exec", code="rows = data.splitlines()\nprint(len(rows), len(data))")],
            [rlm("exec", code="print(sum(int(row.split()[1]) for row in rows))")],
            [rlm("vars")], [rlm("get", name="rows", query="rows[-1]")],
            [rlm("reset")], [rlm("exec", code="print('rows' in globals())")],
            [say("done")])
        self.assertIn(f"Loaded data.txt into `data` ({size} chars)", texts(self.result(0)))
        self.assertIn(f"300 {size}", texts(self.result(1)))
        self.assertIn(str(sum(range(300))), texts(self.result(2)))
        self.assertRegex(texts(self.result(3)), r"rows: list")
        self.assertIn("row 299 😀", texts(self.result(4)))
        self.assertIn("Sandbox reset.", texts(self.result(5)))
        self.assertIn("False", texts(self.result(6)))

    def test_a_figure_comes_back_as_an_image(self):
        """By the protocol that notebooks draw with, so that no plotting library need be there."""
        self.converse([rlm("exec", code=DRAW)], [rlm("exec", code="figure")], [say("done")])
        found = images(self.result(1))
        self.assertEqual(len(found), 1, self.result(1))
        self.assertEqual(found[0]["source"]["media_type"], "image/png")
        self.assertTrue(base64.b64decode(found[0]["source"]["data"]).startswith(b"\x89PNG"))

    def test_a_client_that_gives_up_stops_the_code(self):
        self.converse(
            [rlm("exec", code="kept = 7")],
            [rlm("exec", code="import time\nwhile True: time.sleep(0.01)", timeout=600)],
            [rlm("exec", code="print('kept is', kept)")], [say("done")],
            env={"MCP_TOOL_TIMEOUT": "2000"})
        self.assertTrue(self.result(1).get("is_error"), self.result(1))
        self.assertIn("timed out", texts(self.result(1)))
        self.assertIn("kept is 7", texts(self.result(2)))

    def test_a_limit_of_the_call_stops_the_code(self):
        self.converse([rlm("exec", code="kept = 8")],
                      [rlm("exec", code="print('begun', flush=True)\nwhile True: pass", timeout=1)],
                      [rlm("exec", code="print('kept is', kept)")], [say("done")])
        self.assertIn("begun", texts(self.result(1)))
        self.assertIn("kept is 8", texts(self.result(2)))

    def test_a_mistake_is_an_answer(self):
        self.converse([rlm("exec", code="1 / 0")], [rlm("load", path="/nonexistent", var_name="x")],
                      [rlm("exec", code="print('alive')")], [say("done")])
        self.assertIn("ZeroDivisionError", texts(self.result(0)))
        self.assertIn("not found", texts(self.result(1)))
        self.assertIn("alive", texts(self.result(2)))

    def test_a_resumed_session_finds_its_variables(self):
        """With --continue the client starts its servers under a new id, before it looks for the
        session to continue: nobody could tell them apart there."""
        messages = self.converse([rlm("exec", code="kept = 'from before'")], [say("done")])
        self.converse([rlm("exec", code="print(kept)")], [say("done")],
                      words=["--resume", messages[-1]["session_id"]])
        self.assertIn("from before", texts(self.result(2)))

    def test_another_session_does_not(self):
        self.converse([rlm("exec", code="kept = 'from before'")], [say("done")])
        self.api.script.clear()
        self.api.requests.clear()
        self.converse([rlm("exec", code="print('kept' in globals())")], [say("done")])
        self.assertIn("False", texts(self.result(0)))

    def test_the_client_s_key_is_out_of_reach(self):
        code = ("import os, glob\nseen = [str(dict(os.environ))]\n"
                "for path in glob.glob('/proc/*/environ'):\n"
                "  try: seen.append(open(path, 'rb').read().decode('latin-1'))\n"
                "  except OSError: pass\n"
                f"secrets = ({SECRET[:16]!r} + {SECRET[16:]!r}, 'CLAUDE' + '_CODE_')\n"
                "print('reached' if any(one in text for one in secrets for text in seen)"
                " else 'out of reach', os.path.exists('/tmp/cc-socks'))")
        self.converse([rlm("exec", code=code)], [say("done")])
        self.assertIn("out of reach False", texts(self.result(0)))

    def left_over(self):
        """Processes that still carry this test's home."""
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"HOME={self.home}\0".encode() in file.read():
                        left.append(pid)
            except OSError:
                pass  # gone meanwhile, or another user's
        return left

    def test_nothing_is_left_when_the_client_ends(self):
        self.converse([rlm("exec", code="kept = 1")], [say("done")])
        end = time.monotonic() + 30
        while self.left_over() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.left_over(), [])
