"""The thirteen defects of the reference that users of these tools had to live with; number thirteen
(setting up) is tested in tests/setup, with the clients that read what was written."""
import os

from harness import McpTest, without_notes


class Defects(McpTest):
    def test_01_a_timeout_really_stops_the_cell(self):
        server = self.server()
        server.fails("rlm_exec", timeout=0.3, code=(
            "import time\nfor i in range(1000):\n  print('tick', i, flush=True)\n  time.sleep(0.05)"))
        # Nothing of the stopped loop comes out of a call that lasts longer than its steps.
        text = server.text("rlm_exec", code="import time\ntime.sleep(0.3)\nprint('hello')")
        self.assertEqual(without_notes(text), "hello")

    def test_02_the_last_value_is_shown_once(self):
        self.assertEqual(self.server().text("rlm_exec", code="1"), "1")

    def test_03_tracebacks_have_no_colours_and_syntax_errors_are_errors(self):
        server = self.server()
        for code, name in (("1/0", "ZeroDivisionError"), ("def", "SyntaxError")):
            text = server.fails("rlm_exec", code=code)
            self.assertNotIn("\x1b", text)
            told = text.partition("[stderr]")[2]
            self.assertIn(name, told)
            self.assertNotRegex(told, r"During handling|/IPython/|interactiveshell")
            self.assertEqual(told.count("Error"), 1, told)

    def test_04_figures_are_not_lost(self):
        server = self.server()
        if "True" not in server.text(
                "rlm_exec", code="import importlib.util as u; u.find_spec('matplotlib') is not None"):
            # The same way out, without the library.
            code = "class F:\n  def _repr_png_(self): return b'\\x89PNG'\ndisplay(F())"
        else:
            code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
        content = server.call("rlm_exec", code=code)["content"]
        self.assertIn("image", [block["type"] for block in content])

    def test_05_astral_characters_arrive_and_names_are_checked(self):
        server = self.server()
        self.file("project/a.txt", "😀" * 3)
        self.assertEqual(server.text("rlm_load", path="a.txt", var_name="a"),
                         "Loaded a.txt into `a` (3 chars)")
        self.assertEqual(server.text("rlm_exec", code="len(a), len(a.encode())"), "(3, 12)")
        self.assertTrue(server.fails("rlm_load", path="a.txt", var_name="a; import os"))
        self.assertNotIn("os:", server.text("rlm_vars"))

    def test_06_large_objects_are_neither_shown_nor_fetched_whole(self):
        server = self.server()
        server.text("rlm_exec", code="big = 'x' * (100 << 20)")
        self.assertLess(len(server.text("rlm_vars")), 300)
        self.assertLess(len(server.text("rlm_get", name="big")), 20001)

    def test_07_a_sub_agent_that_can_not_run_says_so(self):
        """The engine is no part of this build: no exception of a library, and nothing is harmed."""
        server = self.server()
        for wrong in ({"signature": "q -> a"}, {"inputs": {}}, {"signature": 7, "inputs": {}}):
            self.assertRegex(server.fails("rlm_sub_agent", **wrong), r"\b(signature|inputs)\b")
        text = server.fails("rlm_sub_agent", signature="q -> a", inputs={"q": "?"})
        self.assertRegex(text, r"^Error: this build has no .* Do the reasoning yourself")
        self.assertNotRegex(text, r"Traceback|AttributeError")
        self.assertEqual(self.cells(server.process.pid), set())
        server.text("rlm_exec", code="kept = 1")
        server.fails("rlm_sub_agent", signature="q -> a", inputs={"q": "?"})
        self.assertEqual(server.text("rlm_get", name="kept"), "1")

    def test_08_no_address_can_be_reached(self):
        code = ("import socket\nfor family, where in ((2, ('1.1.1.1', 80)), (2, ('172.17.0.1', 8080)),"
                " (10, ('::1', 80))):\n  s = socket.socket(family); s.settimeout(1)\n"
                "  assert s.connect_ex(where) != 0, where")
        self.assertEqual(self.server().text("rlm_exec", code=code), "(no output)")

    def test_09_code_has_no_way_around_the_list_of_what_is_not_loaded(self):
        server = self.server()
        self.file("home/.ssh/id_rsa", "KEY")
        key = os.path.join(self.home, ".ssh", "id_rsa")
        self.assertIn("Error", server.fails("rlm_exec", code=f"open({key!r})"))
        self.assertIn("NameError", server.fails("rlm_exec", code=f"load_file({key!r})"))

    def test_10_the_first_tier_is_a_boundary(self):
        code = ("import os\nprint(os.getppid() <= 2 or len(os.listdir('/proc')) < 200, "
                "os.path.exists('/root/.bashrc'), [n for n in os.listdir('/') if n == 'home'])")
        text = self.server().text("rlm_exec", code=code)
        self.assertTrue(text.startswith("True False"), text)

    def test_11_a_lazy_start_is_lazy(self):
        server = self.server()
        server.request("tools/list")
        self.assertEqual(self.cells(server.process.pid), set())

    def test_12_two_clients_have_two_namespaces(self):
        first, second = self.server(), self.server()
        first.text("rlm_exec", code="mine = 1")
        self.assertEqual(second.text("rlm_vars"), "(no variables)")
