"""Libraries as people use them. With CAISSON_SCIENCE (an interpreter that has IPython, numpy, pandas and
matplotlib: tools/make-science) those, too."""
import base64
import os
import struct
import subprocess
import unittest
import zlib

import harness
from harness import SessionTest

SCIENCE = os.environ.get("CAISSON_SCIENCE")


def pixels(png):
    """(width, height, rows of RGBA bytes) of a PNG without interlace, by the standard library."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, head = 8, b"", None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        if kind == b"IDAT":
            data += body
        at += size + 12
    width, height, depth, colour = head[:4]
    assert (depth, colour) == (8, 6), head
    raw, stride, rows, before = zlib.decompress(data), width * 4, [], bytes(width * 4)
    for y in range(height):
        line = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        unfilter(raw[y * (stride + 1)], line, before)
        before = bytes(line)
        rows.append(before)
    return width, height, rows


def unfilter(kind, line, above):
    for i, byte in enumerate(line):
        left = line[i - 4] if i >= 4 else 0
        corner = above[i - 4] if i >= 4 else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = above[i]
        elif kind == 3:
            guess = (left + above[i]) // 2
        elif kind == 4:
            guess = min((left, above[i], corner), key=lambda one: abs(left + above[i] - corner - one))
        else:
            guess = 0
        line[i] = (byte + guess) & 255


class Standard(SessionTest):
    def test_sqlite(self):
        s = self.session()
        self.ok(s.exec("import sqlite3\nd = sqlite3.connect('/workspace/d.db')\n"
                       "_ = d.execute('create table t (a)')\n_ = d.execute('insert into t values (7)')\n"
                       "d.commit()"))
        self.assertEqual(s.value("d.execute('select a from t').fetchall()"), [[7]])

    def test_multiprocessing(self):
        s = self.session()
        self.ok(s.exec("import multiprocessing as m\nm.set_start_method('fork')\n"
                       "with m.Pool(2) as pool: found = pool.map(abs, range(-5, 0))"))
        self.assertEqual(s.value("found"), [5, 4, 3, 2, 1])

    def test_a_subprocess_can_be_terminated(self):
        s = self.session()
        self.ok(s.exec("import subprocess\np = subprocess.Popen(['sleep', '60'])\np.terminate()"))
        self.assertEqual(s.value("p.wait(10)"), -15)

    def test_asyncio_and_top_level_await(self):
        s = self.session()
        answer = self.ok(s.exec("import asyncio\nawait asyncio.gather(asyncio.sleep(0, 1), "
                                "asyncio.sleep(0, 2))"))
        self.assertEqual(answer["result"]["value"]["text/plain"], "[1, 2]")

    def test_requests_to_anywhere_fail_at_once(self):
        answer = self.session().exec("import urllib.request\n"
                                     "urllib.request.urlopen('http://192.0.2.1/', timeout=20)")
        self.assertEqual((answer["status"], answer["result"]["error"]["type"]),
                         ("error", "urllib.error.URLError"), answer)
        self.assertIn("unreachable", answer["result"]["error"]["message"])


@unittest.skipUnless(SCIENCE, "CAISSON_SCIENCE names no interpreter")
class Science(SessionTest):
    def science(self, **spec):
        return self.session(python=SCIENCE, **spec)

    def test_ipython_is_taken_when_it_is_there(self):
        s = self.science(ipython=True)
        self.assertEqual(s.info["shell"], "ipython")
        self.assertIn(s.info["cell"], ("own",) if harness.OWN_CELLS else ("own", "zygote"))
        self.ok(s.exec("x = 20"))
        self.assertEqual(self.ok(s.exec("x + 1"))["result"]["value"]["text/plain"], "21")
        self.assertEqual(self.ok(s.exec("_ + 1"))["result"]["value"]["text/plain"], "22")
        self.assertIn("magic", self.ok(s.exec("%lsmagic"))["result"]["value"]["text/plain"].lower())
        self.assertEqual(self.ok(s.exec("!echo shell"))["output"], "shell\n")
        error = s.exec("def f(): 1 / 0\nf()")["result"]["error"]
        self.assertEqual(error["type"], "ZeroDivisionError")
        self.assertNotIn("interactiveshell", error["traceback"])
        self.assertIn("in f", error["traceback"])

    def test_ipythons_record_is_the_same_whoever_runs_the_cell(self):
        """Ordinary cells go around IPython's transformers; magics don't. Both write into one record."""
        s = self.science(ipython=True)

        def value(code):
            return self.ok(s.exec(code))["result"].get("value", {}).get("text/plain")
        self.assertEqual([value(code) for code in ("40 + 2", "%pwd", "7;", "7 # ;", "_", "__")],
                         ["42", repr("/workspace"), None, "7", "7", "7"])
        self.assertEqual(value("Out[1], _1, _2, _i1, _i2, len(In)"),
                         "(42, 42, '/workspace', '40 + 2', '%pwd', 8)")
        self.assertEqual(value("In[-1]"), "'In[-1]'")
        self.assertEqual(value("list(Out)"), "[1, 2, 4, 5, 6, 7, 8]")
        self.assertEqual(value("import asyncio\nawait asyncio.sleep(0, 'waited')"), "'waited'")

    def test_plain_values_look_as_ipython_prints_them(self):
        s = self.science(ipython=True)

        def text(code):
            return self.ok(s.exec(code))["result"]["value"]["text/plain"]
        for code in ("-7", "True", "2j", "'a\\'b\\n'", "b'x'", "1.5", "10 ** 60"):
            self.assertEqual(text(code), repr(eval(code)))
        self.ok(s.exec("pretty = get_ipython().display_formatter.formatters['text/plain']\n"
                       "_ = pretty.for_type(int, lambda value, printer, cycle: printer.text('INT'))"))
        self.assertEqual((text("5"), text("'5'")), ("INT", "'5'"))

    def test_awaiting_goes_on_after_a_restore_a_branch_and_a_kill(self):
        s = self.science(ipython=True)
        wait = "%pwd\nimport asyncio\nawait asyncio.sleep(.001)"  # a magic: IPython's own loop
        for source in (wait, "await asyncio.sleep(.001)"):
            self.ok(s.exec(source))
        s.ask("checkpoint", name="c")
        s.ask("restore", name="c")
        self.ok(s.exec(wait))
        self.ok(s.exec("await asyncio.sleep(.001)"))
        self.assertNotEqual(s.exec("import os; os._exit(3)")["status"], "ok")
        self.ok(s.exec(wait))
        self.ok(s.exec("await asyncio.sleep(.001)"))

    def test_scripts_are_heard_again_and_again(self):
        s = self.science(ipython=True)
        for word in ("one", "two", "three"):
            answer = self.ok(s.exec(f"%%bash\necho {word}; echo err-{word} >&2"))
            self.assertEqual((answer["output"], answer["errors"]), (word + "\n", f"err-{word}\n"))
        s.ask("checkpoint", name="c")
        s.ask("restore", name="c")
        self.assertEqual(self.ok(s.exec("%%bash\necho four"))["output"], "four\n")

    def test_tasks_of_a_stopped_cell_are_ended_by_ipython_too(self):
        s = self.science(ipython=True)
        self.ok(s.exec("import asyncio\nasync def tick():\n    while True:\n        await asyncio.sleep(.005); print('late')"))
        stopped = s.exec("%pwd\nt = asyncio.get_running_loop().create_task(tick())\nawait asyncio.sleep(60)",
                         timeout=500)
        self.assertEqual((stopped["status"], stopped["ended"]), ("timeout", {}), stopped["notes"])
        answer = self.ok(s.exec("%pwd\nawait asyncio.sleep(.1)"))
        self.assertNotIn("late", answer["output"])

    def test_what_ipython_looks_up_among_the_variables_comes_back(self):
        s = self.science(ipython=True)

        def value(code):
            return self.ok(s.exec(code))["result"].get("value", {}).get("text/plain")
        self.assertEqual(value("globals().clear()\n5"), "5")
        self.assertEqual([value(code) for code in ("6", "_ + 1", "%pwd")], ["6", "7", repr("/workspace")])
        self.assertEqual(self.ok(s.exec("!echo shell"))["output"], "shell\n")
        self.assertEqual(value("get_ipython().user_ns is globals(), In[1], Out[2], _oh is Out, __name__"),
                         "(True, 'globals().clear()\\n5', 6, True, '__main__')")
        self.ok(s.ask("evaluate", expression="globals().clear()"))
        self.assertEqual(s.exec("exit")["status"], "exit")
        self.ok(s.exec("In = 'mine'"))
        self.assertEqual(value("In"), "'mine'")

    def test_a_name_that_is_a_magic_is_one_until_it_is_a_variable(self):
        s = self.science(ipython=True)
        self.assertIn("/workspace", self.ok(s.exec("pwd"))["result"]["value"]["text/plain"])
        self.ok(s.exec("pwd = 3"))
        self.assertEqual(self.ok(s.exec("pwd"))["result"]["value"]["text/plain"], "3")

    def test_what_an_extension_adds_holds_for_every_cell(self):
        s = self.science(ipython=True)
        self.ok(s.exec("seen = []\n"
                       "get_ipython().events.register('pre_run_cell', lambda info: seen.append(1))"))
        self.ok(s.exec("1"))
        self.assertEqual(self.ok(s.exec("len(seen)"))["result"]["value"]["text/plain"], "2")
        self.ok(s.exec("from ast import NodeTransformer, Constant\nclass Seven(NodeTransformer):\n"
                       "  def visit_Constant(self, node): return Constant(7)\n"
                       "get_ipython().ast_transformers.append(Seven())"))
        self.assertEqual(self.ok(s.exec("1"))["result"]["value"]["text/plain"], "7")

    def test_exit_ends_the_call_by_name_or_called(self):
        s = self.science(ipython=True)
        for code, left in (("exit", 0), ("quit", 0), ("exit(3)", 3), ("x = 1\nexit", 0)):
            answer = s.exec(code)
            self.assertEqual((answer["result"]["status"], answer["result"].get("exit")),
                             ("exit", left), (code, answer))
            self.assertEqual(answer["output"], "")

    def test_two_shells_of_one_zygote_are_two(self):
        one, two = self.science(ipython=True), self.science(ipython=True)
        self.ok(one.exec("mine = 1"))
        self.assertEqual(two.exec("mine")["result"]["error"]["type"], "NameError")
        one.ask("reset")
        self.assertEqual(one.exec("mine")["result"]["error"]["type"], "NameError")
        self.assertEqual(self.ok(one.exec("2 + 2"))["result"]["value"]["text/plain"], "4")

    def test_a_data_frame_is_text_and_html(self):
        s = self.science()
        value = self.ok(s.exec("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})")
                        )["result"]["value"]
        self.assertIn("a  b", value["text/plain"])
        self.assertIn("<table", value["text/html"])

    def test_a_parquet_file_is_a_data_frame(self):
        path = self.path("table.parquet")
        subprocess.run([SCIENCE, "-c", "import pandas as pd, sys\npd.DataFrame({'a': [1, 2], 'b': ['x', 'é']})"
                                       ".to_parquet(sys.argv[1])", path], check=True)
        s = self.science()
        self.ok(s.ask("load", path=path, name="t"))
        self.assertEqual(s.value("(type(t).__name__, t.shape, list(t['a']), list(t['b']))"),
                         ["DataFrame", [2, 2], [1, 2], ["x", "é"]])

    def test_arrays_have_a_shape_and_a_type(self):
        s = self.science()
        self.ok(s.exec("import numpy as np\nm = np.zeros((3, 4), dtype='float32')"))
        found = {one["name"]: one for one in s.ask("vars")["result"]["variables"]}
        self.assertEqual((found["m"]["shape"], found["m"]["dtype"]), ([3, 4], "float32"))

    def test_sessions_of_a_zygote_draw_other_numbers(self):
        """T61: what was preloaded has seeded its generators before the sessions were forked."""
        draws = []
        for _ in range(3):
            s = self.science(preload=["numpy", "numpy.random"])
            draws.append(s.value("int(__import__('numpy').random.randint(1 << 60))"))
            s.ask("reset")
            draws.append(s.value("int(__import__('numpy').random.randint(1 << 60))"))
        self.assertEqual(len(set(draws)), 6, draws)

    def test_a_figure_as_a_value_is_a_picture_once(self):
        for ipython in (True, False):
            s = self.science(ipython=ipython, preload=["matplotlib.pyplot"])
            for code in ("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([3])\nfig", "fig",
                         "!true\nfig, ax = plt.subplots()\nfig",
                         "from matplotlib.figure import Figure\nfig = Figure()\nfig", "fig"):
                with self.subTest(code, ipython=ipython):
                    result = self.ok(s.exec(code))["result"]
                    self.assertTrue(base64.b64decode(result["value"]["image/png"]).startswith(b"\x89PNG"))
                    self.assertIn("Figure", result["value"]["text/plain"])
                    self.assertNotIn("displays", result)
            shown = self.ok(s.exec("display(fig)"))["result"]["displays"]
            self.assertEqual([sorted(one) for one in shown], [["image/png", "text/plain"]])

    def test_the_magic_of_matplotlib_is_no_error(self):
        s = self.science(ipython=True)
        for backend in ("inline", "agg"):
            result = self.ok(s.exec("%%matplotlib %s\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);" % backend)
                             )["result"]
            self.assertEqual([one for one in result["displays"] if "image/png" not in one], [])
            self.assertEqual(len(result["displays"]), 1)

    def test_a_figure_is_the_picture_that_was_drawn(self):
        s = self.science(preload=["numpy", "matplotlib.pyplot"])
        answer = self.ok(s.exec(
            "import matplotlib.pyplot as plt\n"
            "fig = plt.figure(figsize=(1, 1), dpi=40, facecolor=(1, 0, 0))\n"
            "ax = fig.add_axes([0.5, 0, 0.5, 1]); ax.set_facecolor((0, 0, 1)); ax.set_axis_on()\n"
            "ax.set_xticks([]); ax.set_yticks([])\nfor one in ax.spines.values(): one.set_visible(False)\n"
            "fig.savefig('/workspace/f.png', facecolor=(1, 0, 0))\nplt.show()"))
        images = [one["image/png"] for one in answer["result"]["displays"] if "image/png" in one]
        self.assertEqual(len(images), 1, answer["result"]["displays"])
        width, height, rows = pixels(base64.b64decode(images[0]))
        middle = rows[height // 2]
        self.assertEqual(tuple(middle[4 * 3:4 * 3 + 4]), (255, 0, 0, 255))
        right = width * 3 // 4
        self.assertEqual(tuple(middle[4 * right:4 * right + 4]), (0, 0, 255, 255))
