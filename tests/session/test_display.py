"""Rich results, with stand-ins for the libraries that make them."""

import base64

from case import SessionCase

PYPLOT = """
import sys, types
class Figure:
    def __init__(self, n): self.n = n
    def savefig(self, file, **kw): file.write(b'PNG%d' % self.n)
Figure.__module__ = 'matplotlib.figure'
figures = {}
pyplot = types.ModuleType('matplotlib.pyplot')
def new():
    figures[len(figures) + 1] = f = Figure(len(figures) + 1)
    return f
pyplot.new, pyplot.get_fignums, pyplot.figure = new, lambda: list(figures), lambda n: figures[n]
pyplot.close = lambda what: figures.clear()
sys.modules['matplotlib.pyplot'] = pyplot
plt = pyplot
"""


# Of IPython what shows: the module is imported from a folder as the real one is.
IPYTHON = """
import os, sys, tempfile, types
top = tempfile.mkdtemp()
os.makedirs(top + '/IPython/core')
for name in ('/IPython/__init__.py', '/IPython/core/__init__.py'): open(top + name, 'w').close()
with open(top + '/IPython/core/display_functions.py', 'w') as file:
    file.write('def display(*values, **more): print(*values)')
sys.path.insert(0, top)
class InteractiveShell:
    made = False
    initialized = classmethod(lambda kind: kind.made)
shells = sys.modules['IPython.core.interactiveshell'] = types.ModuleType('shells')
shells.InteractiveShell = InteractiveShell
"""


class Display(SessionCase):
    def test_all_forms_together_have_a_bound(self):
        self.ok("class Large:\n    def __init__(self, kind, data): self.kind, self.data = kind, data\n"
                "    def __repr__(self): return 'large'\n"
                "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                "        return {self.kind % n: self.data for n in range(12)}")
        for kind, data in (("x/y%d", "'z' * 6_000_000"), ("x/y%d+json", "['z' * 6_000_000]")):
            value = self.ok(f"Large({kind!r}, {data})").json["value"]
            self.assertEqual(len(value), 1 + 4, value.keys())
            self.assertIn(f"[{kind % 4} is left out: with the other forms it is more than", value["text/plain"])
            answer = self.ok(f"for _ in range(3): display(Large({kind!r}, {data}))")
            self.assertEqual(len(answer.json["displays"]), 1)
            self.assertEqual(answer.json["notes"], ["2 rich results were left out: too many or too large"])

    def test_offers_of_an_object(self):
        answer = self.ok(
            "class Rich:\n    def _repr_html_(self): return '<b>é</b>'\n"
            "    def _repr_markdown_(self): return '*m*'\n"
            "    def _repr_png_(self): return b'\\x89PNG'\n"
            "    def _repr_json_(self): return {'k': [1]}\n"
            "    def _repr_svg_(self): raise ValueError\n    def __repr__(self): return 'rich'\n"
            "Rich()")
        self.assertEqual(answer.json["value"], {
            "text/plain": "rich", "text/html": "<b>é</b>", "text/markdown": "*m*",
            "image/png": base64.b64encode(b"\x89PNG").decode(), "application/json": {"k": [1]}})

    def test_all_forms_at_once(self):
        self.ok("class All:\n    def __init__(self, forms): self.forms = forms\n    def __repr__(self): return 'all'\n"
                "    def _repr_mimebundle_(self, include, exclude): return self.forms\n"
                "    def _repr_html_(self): return '<i>'")
        for forms, shown in (
                ("{'text/html': '<b>', 'application/x.v5+json': {'k': 1}, 5: 'x'}, {'meta': 1}",
                 {"text/plain": "all", "text/html": "<b>", "application/x.v5+json": {"k": 1}}),
                ("{'text/plain': 'other', 'image/png': b'\\x89PNG'}",
                 {"text/plain": "other", "text/html": "<i>", "image/png": "iVBORw=="}),
                ("{'text/plain': 'x' * 70000}", {"text/plain": "x" * 65536 + "...", "text/html": "<i>"}),
                ("None", {"text/plain": "all", "text/html": "<i>"})):
            self.assertEqual(self.ok("All((%s))" % forms).json["value"], shown)
            self.assertEqual(self.ok("display(All((%s)))" % forms).json["displays"], [shown])

    def test_display_of_ipython_shows_where_no_shell_runs(self):
        self.ok(IPYTHON)
        answer = self.ok("from IPython.core.display_functions import display\n"
                         "class H:\n    def __repr__(self): return 'h'\n    def _repr_html_(self): return '<b>'\n"
                         "display(H(), 5)\ndisplay({'text/html': '<u>'}, raw=True)")
        self.assertEqual(answer.out, b"")
        html, number, raw = answer.json["displays"]
        self.assertEqual(html, {"text/plain": "h", "text/html": "<b>"})
        self.assertEqual((number["text/plain"], raw["text/html"]), ("5", "<u>"))
        answer = self.ok("InteractiveShell.made = True\ndisplay(6)")  # it is the shell's then
        self.assertEqual(answer.out, b"6\n")

    def test_a_class_that_offers_is_not_an_object_that_offers(self):
        self.ok("class Rich:\n    def _repr_html_(self): return 'x'")
        self.assertEqual(list(self.ok("Rich").json["value"]), ["text/plain"])

    def test_figures_are_shown_once_at_the_end(self):
        self.ok(PYPLOT)
        answer = self.ok("plt.new(); plt.new()\nprint('drawn')")
        self.assertEqual([d["image/png"] for d in answer.json["displays"]],
                         [base64.b64encode(b"PNG1").decode(), base64.b64encode(b"PNG2").decode()])
        self.assertNotIn("displays", self.ok("1").json)

    def test_a_figure_as_the_value_is_not_shown_twice(self):
        self.ok(PYPLOT)
        answer = self.ok("plt.new()")
        self.assertEqual(answer.json["value"]["image/png"], base64.b64encode(b"PNG1").decode())
        self.assertNotIn("displays", answer.json)

    def test_display_shows_in_order(self):
        answer = self.ok("display(1, 'two')\ndisplay([3])")
        self.assertEqual([d["text/plain"] for d in answer.json["displays"]], ["1", "'two'", "[3]"])

    def test_too_many_are_left_out_and_that_is_said(self):
        answer = self.ok("for i in range(100): display(i)")
        self.assertEqual(len(answer.json["displays"]), 64)
        self.assertIn("36 rich results were left out", answer.json["notes"][0])

    def test_what_is_too_large_is_left_out_and_that_is_said(self):
        answer = self.ok("class Big:\n    def __repr__(self): return 'big'\n"
                         "    def _repr_html_(self): return 'x' * 9_000_000\n"
                         "    def _repr_png_(self): return bytes(7_000_000)\n"
                         "    def _repr_json_(self): return {'k': object()}\n"
                         "display(Big())\nBig()")
        for bundle in (answer.json["value"], answer.json["displays"][0]):
            self.assertEqual(bundle, {"text/plain": "big\n"
                "[text/html is left out: 9000000 characters, and 8388608 is the most]\n"
                "[image/png is left out: 7000000 bytes, and 6291456 is the most]\n"
                "[application/json is left out: a object is not JSON]"})

    def test_a_figure_that_can_not_be_drawn_is_told(self):
        self.ok(PYPLOT + "\ndef fails(self, file, **kw): raise ValueError('Image size is too large')\n"
                "Figure.savefig = fails\nFigure.__repr__ = lambda self: 'figure'")
        said = "figure\n[image/png is left out: it could not be drawn: ValueError: Image size is too large]"
        answer = self.ok("plt.new()")
        self.assertEqual(answer.json["value"], {"text/plain": said})
        self.assertEqual(self.ok("display(plt.new())").json["displays"][0], {"text/plain": said})
        self.assertEqual(self.ok("plt.new();").json["displays"], [{"text/plain": said}])

    def test_a_large_image_goes_by_descriptor(self):
        answer = self.ok("class P:\n    def _repr_png_(self): return bytes(3_000_000)\nP()")
        self.assertEqual(len(base64.b64decode(answer.json["value"]["image/png"])), 3_000_000)

    def test_text_of_built_in_values_reads_as_repr_does(self):
        for source in ("[1, 'a', (2,), {3}, frozenset({4}), {'k': b'v'}, set(), (), {}, None, "
                       "1.5, 2j, range(3)]",
                       "'quo\\'te'", "[[], [[]]]", "...", "10 ** 100"):
            self.assertEqual(self.ok(source).text, repr(eval(source)), source)
        self.assertLess(len(self.ok("list(range(10**6))").text), 70_000)
        self.assertIn("<int of", self.ok("1 << 100000").text)

    def test_a_repr_that_fails_is_told(self):
        self.assertIn("repr raised ValueError", self.ok(
            "class A:\n    def __repr__(self): raise ValueError('x')\nA()").text)
        self.assertIn("repr raised", self.ok("class B:\n    def __repr__(self): return 3\n"
                                             "B()").text)
