"""vars, get, set, load: bounded, by descriptor, without trusting what objects say of themselves."""

import bz2
import gzip
import json
import lzma
import time

import host
from case import SessionCase


class Variables(SessionCase):
    def entry(self, name):
        return next(e for e in self.session.vars()["variables"] if e["name"] == name)

    def test_entries_have_type_length_size_and_summary(self):
        self.ok("a = 1\nb = 'hello'\nc = [1, 2, 3]\nd = {'k': 1}\ndef f(): pass\nclass C: pass\n"
                "c1 = C()\nimport os")
        found = {e["name"]: e for e in self.session.vars()["variables"]}
        self.assertEqual(list(found), ["a", "b", "c", "d", "f", "C", "c1", "os"])
        text = found["b"]
        self.assertEqual((text["type"], text["length"], text["summary"]), ("str", 5, "'hello'"))
        self.assertEqual((found["c"]["length"], found["c"]["summary"]), (3, "[1, 2, 3]"))
        self.assertEqual(found["f"]["summary"], "<function f>")
        self.assertEqual(found["c1"]["summary"], "<C object>")
        self.assertGreater(found["d"]["size"], 50)

    def test_names_with_underscores_and_reserved_ones_are_hidden(self):
        self.ok("_x = 1\ny = 2")
        self.assertEqual([e["name"] for e in self.session.vars()["variables"]], ["y"])

    def test_a_large_object_is_not_looked_at_whole(self):
        self.ok("s = 'x' * 200_000_000\nl = list(range(1_000_000))\n"
                "d = dict.fromkeys(range(1_000_000))",
                flags=host.NO_CHECKPOINT)
        took = []
        for _ in range(3):
            started = time.monotonic()
            found = {e["name"]: e for e in self.session.vars()["variables"]}
            took.append(time.monotonic() - started)
        whole = self.ok("import time\nstarted = time.monotonic()\n"
                        "for each in (s, l, d): len(repr(each))\n"
                        "time.monotonic() - started", flags=host.NO_CHECKPOINT)
        self.assertLess(min(took), float(whole.text) / 3)
        self.assertEqual(found["s"]["length"], 200_000_000)
        for name in "sld":
            self.assertLess(len(found[name]["summary"]), 120)
        self.ok("del s, l, d", flags=host.NO_CHECKPOINT)

    def test_of_a_large_container_a_few_items_are_looked_at(self):
        """Their repr is one of a million items, and would take the time that the others have."""
        self.ok("import array, collections, threading\nasked = []\nclass Item:\n    def __repr__(self):\n"
                "        asked.append(1); return 'item'\n    def __hash__(self): asked.append(1); return 1\n"
                "class L(list): pass\nclass S(str): pass\nclass Own(list):\n    def __repr__(self): return 'my own'\n"
                "n = range(1_000_000)\na, b, c = collections.Counter(n), collections.deque(n), array.array('d', n)\n"
                "d, e, f = collections.defaultdict(int, a), L(n), S('x' * 1_000_000)\n"
                "g, h, i = Own(n), collections.OrderedDict(a), {Item(): Item()}.keys()\n"
                "j, k = a.keys(), collections.deque([Item()] * 2000)\nasked.clear()", flags=host.NO_CHECKPOINT)
        found = {v["name"]: v for v in self.session.vars()["variables"]}
        begins = {"a": "Counter({0: 1, 1: 1,", "b": "deque([0, 1,", "c": "array([0.0, 1.0,", "d": "defaultdict({0: 1,",
                  "e": "[0, 1,", "f": "'xxx", "g": "my own", "h": "OrderedDict({0: 1,", "j": "dict_keys([0, 1,",
                  "k": "deque([<Item object>,"}
        for name, text in begins.items():
            self.assertEqual(found[name]["summary"][:len(text)], text)
            self.assertLess(len(found[name]["summary"]), 110)
            self.assertEqual(found[name]["length"], 2000 if name == "k" else 1_000_000)
        self.assertGreater(found["c"]["size"], 8_000_000)
        self.assertEqual(found["i"]["length"], 1)
        self.assertEqual(self.ok("len(asked)", flags=host.NO_CHECKPOINT).text, "0")
        self.ok("del a, b, c, d, e, f, g, h, i, j, k", flags=host.NO_CHECKPOINT)

    def test_types_that_are_traps_are_described(self):
        self.ok("import os\nclass Text:\n    __eq__ = __hash__ = __str__ = lambda *a: os._exit(3)\n"
                "class Meta(type):\n    __eq__ = __hash__ = __instancecheck__ = lambda *a: os._exit(4)\n"
                "class Trap(list, metaclass=Meta):\n    __module__ = Text()\n    __len__ = __iter__ = lambda s: os._exit(5)\n"
                "class D(dict): pass\nclass S(set): pass\ntrap, d, s = Trap(range(2000)), D.fromkeys(range(2000)), S(range(2000))\n"
                "nowhere = eval(\"type('Nowhere', (list,), {})\", {'__builtins__': __builtins__})(range(2000))\n"
                "del Meta, Trap, Text", flags=host.NO_CHECKPOINT)
        found = {v["name"]: v for v in self.session.vars()["variables"]}
        self.assertEqual((found["trap"]["summary"][:7], found["trap"]["length"]), ("[0, 1, ", 2000))
        self.assertEqual((found["d"]["summary"][:6], found["d"]["length"]), ("{0: No", 2000))
        self.assertEqual((found["s"]["summary"][:6], found["s"]["length"]), ("S({0, ", 2000))
        self.assertEqual((found["nowhere"]["summary"][:6], found["nowhere"]["length"]), ("[0, 1,", 2000))
        self.ok("class Same(type):\n    def __eq__(c, other): return c is other\n"  # and so its classes have no hash
                "class A(metaclass=Same): pass\na = A()\n"
                "Lost = eval(\"type('Lost', (Exception,), {})\", {'__builtins__': __builtins__})\nlost = Lost('it is')")
        for name in ("a", "A", "lost"):
            self.assertEqual(self.session.get(name)["status"], "ok")
            self.assertIn({"a": "A object", "A": "class", "lost": "Lost("}[name], self.ok(name).text)
        self.assertEqual(self.error("raise lost").json["error"]["type"], "Lost")
        self.assertIn("a", [v["name"] for v in self.session.vars()["variables"]])

    def test_slow_reprs_cost_no_other_one_its_summary(self):
        self.ok("import time\nclass Slow:\n    def __repr__(self): time.sleep(0.15); return 'slow'\n"
                "class Hangs:\n    def __repr__(self):\n        while True: pass\n"
                "class Quick:\n    def __repr__(self): return 'quick'\n"
                "for n in range(4): globals()['h%d' % n] = Hangs()\nslow, quick = Slow(), Quick()")
        found = {v["name"]: v["summary"] for v in self.session.vars()["variables"]}
        self.assertEqual(found["quick"], "quick")
        self.assertIn("too long", found["h0"])

    def test_a_repr_that_hangs_crashes_or_lies_harms_nobody(self):
        self.ok(
            "import os, time\nclass Hang:\n    def __repr__(self):\n        while True: pass\n"
            "class Crash:\n    def __repr__(self): os._exit(1)\n"
            "class Huge:\n    def __repr__(self): return 'h' * 50_000_000\n"
            "class Raise:\n    def __repr__(self): raise ValueError\n"
            "touched = []\nclass Touch:\n    def __repr__(self):\n"
            "        touched.append(1); return 'touch'\n"
            "class Len(list):\n    def __len__(self): os._exit(2)\n"
            "a, b, c, d, e = Raise(), Huge(), Touch(), Hang(), Len()")
        found = {v["name"]: v for v in self.session.vars()["variables"]}
        self.assertIn("ValueError", found["a"]["summary"])
        self.assertLess(len(found["b"]["summary"]), 120)
        self.assertEqual(found["c"]["summary"], "touch")
        self.assertIn("too long", found["d"]["summary"])
        self.assertEqual(found["e"]["length"], 0)
        self.assertEqual(self.ok("len(touched)").text, "0")
        self.ok(
            "class Fake:\n    shape = property(lambda s: os._exit(4))\n"
            "    __class__ = property(lambda s: os._exit(5))\n"
            "Fake.__module__ = 'numpy'\nfake = Fake()\n"
            "class Meta(type):\n    def __getattribute__(c, n): os._exit(6)\n"
            "class Trap(metaclass=Meta): pass\ntrap, Trap2 = Trap(), Trap")
        found = {v["name"]: v for v in self.session.vars()["variables"]}
        self.assertEqual((found["fake"]["summary"], found["trap"]["summary"]),
                         ("<Fake object>", "<Trap object>"))
        self.assertEqual(self.session.get("fake")["status"], "ok")
        self.ok("x = Crash()")
        self.assertEqual(len([v for v in self.session.vars()["variables"] if v["name"] == "x"]), 1)
        self.assertEqual(self.session.notes, [])

    def test_one_bad_repr_takes_no_summary_from_those_behind_it(self):
        self.ok("import os, signal\nclass Says:\n    def __init__(self, what): self.what = what\n"
                "    def __repr__(self): return self.what()\n"
                "def leave(): raise SystemExit\ndef stop(): raise KeyboardInterrupt\n"
                "def hang():\n    while True: pass\n"
                "a, b, c = Says(leave), Says(stop), Says(lambda: os._exit(3))\n"
                "d, e, f = Says(lambda: os.kill(os.getpid(), 9)), Says(hang), Says(lambda: 'fine')")
        found = {v["name"]: v["summary"] for v in self.session.vars()["variables"]}
        self.assertEqual((found["a"], found["b"], found["f"]), (
            "<Says whose repr raised SystemExit>", "<Says whose repr raised KeyboardInterrupt>", "fine"))
        self.assertEqual(found["c"], "<Says: its repr ended the process (with code 3)>")
        self.assertIn("ended the process (by signal 9", found["d"])
        self.assertEqual(found["e"], "<Says: its repr took too long>")

    def test_many_bad_reprs_take_no_more_than_their_time(self):
        self.ok("class Hangs:\n    def __repr__(self):\n        while True: pass\n"
                "for i in range(50): globals()['v%d' % i] = Hangs()")
        started = time.monotonic()
        found = [v["summary"] for v in self.session.vars()["variables"] if v["type"] == "Hangs"]
        self.assertLess(time.monotonic() - started, 10)
        self.assertIn("too long", found[0])
        self.assertEqual(found[-1], "<Hangs: not asked: there was no time left>")
        self.ok("for i in range(50): del globals()['v%d' % i]\nimport os\n"
                "os.register_at_fork(after_in_child=lambda: os._exit(7))\n"
                "class R:\n    def __repr__(self): return 'r'\nr = R()")
        self.assertIn("no fork of the session comes to ask it (with code 7)", self.entry("r")["summary"])

    def test_get_gives_json_when_it_can(self):
        self.ok("x = {'a': [1, 2.5, None, True, 'é'], 3: (4,)}")
        found = self.session.get("x")
        self.assertEqual((found["kind"], found["value"]),
                         ("json", {"a": [1, 2.5, None, True, "é"], "3": [4]}))

    def test_get_gives_bounded_text_otherwise(self):
        self.ok("x = {1, 2}\ny = object()\nbig = 'z' * 5_000_000\ninf = float('inf')")
        found = self.session.get("x")
        self.assertEqual((found["kind"], found["text"]), ("text", "{1, 2}"))
        self.assertIn("object object at", self.session.get("y")["text"])
        found = self.session.get("big", max_bytes=1000)
        self.assertEqual((len(found["text"]), found["cut"]), (1000, True))
        self.assertEqual(found["length"], 5_000_000)
        self.assertEqual(self.session.get("inf")["text"], "inf")

    def test_get_of_five_megabytes_goes_by_descriptor(self):
        self.ok("big = 'ü' * 5_000_000")
        self.assertEqual(self.session.get("big", max_bytes=20_000_000)["value"], "ü" * 5_000_000)

    def test_get_by_expression(self):
        self.ok("x = [1, 2, 3]")
        self.assertEqual(self.session.get(expression="sum(x) * 2")["value"], 12)
        self.assertEqual(self.session.get(expression="1/0")["error"]["type"], "ZeroDivisionError")
        self.assertEqual(self.session.get(expression="x = 1")["error"]["type"], "SyntaxError")
        answer = self.session.call(host.GET, {"expression": "[i for i in iter(int, "
                                                            "1)]"}, timeout_ms=100)
        self.assertIn(answer.json.get("status", "ended"), ("interrupted", "ended"))

    def test_get_of_what_utf8_has_no_word_for(self):
        self.ok("x = 'a\\ud800b'\ny = [x]\nz = {x: 1}\nlong = x * 10_000\nwhole = 'é' * 10_000")
        found = self.session.get("x")
        self.assertEqual((found["kind"], found["type"], found["text"]), ("text", "str", r"'a\ud800b'"))
        self.assertEqual(self.session.get("y")["text"], r"['a\ud800b']")
        self.assertEqual(self.session.get("z")["text"], r"{'a\ud800b': 1}")
        found = self.session.get("long", max_bytes=100)
        self.assertTrue(found["text"].startswith(r"'a\ud800ba\ud800b"), found)
        self.assertTrue(found["cut"])
        self.assertEqual(self.session.get("whole", max_bytes=100)["text"], "é" * 100)

    def test_an_integer_that_the_host_would_round_comes_as_its_digits(self):
        self.ok("least, most = -2**63, 2**64 - 1\nbelow, above = -2**63 - 1, 2**64\n"
                "many = [2**64]\nkeys = {2**80: 1}\nhuge = {10**5000: 1}")
        for name, value in (("least", -2**63), ("most", 2**64 - 1), ("keys", {str(2**80): 1})):
            found = self.session.get(name)
            self.assertEqual((found["kind"], found["value"]), ("json", value))
        for name, text in (("below", str(-2**63 - 1)), ("above", str(2**64)), ("many", f"[{2**64}]")):
            found = self.session.get(name)
            self.assertEqual((found["kind"], found["text"]), ("text", text))
        self.assertEqual(self.session.get("above")["type"], "int")
        self.assertEqual(self.session.get("huge")["text"], "{<int of 16610 bits>: 1}")

    def test_get_of_nothing(self):
        self.assertEqual(self.session.get("nothing")["status"], "missing")

    def test_deep_and_circular_values(self):
        self.ok("a = []\nfor _ in range(100000): a = [a]\nb = []; b.append(b)\nc = {}; c['c'] = c")
        self.assertIn("[[[", self.session.get("a", max_bytes=1000)["text"])
        self.assertEqual(self.session.get("b")["text"], "[[...]]")
        self.assertEqual(self.session.get("c")["text"], "{'c': {...}}")
        self.assertLess(len(self.entry("a")["summary"]), 120)
        self.assertIn("[[[", self.ok("a").text)


class SetAndLoad(SessionCase):
    def test_set_json_and_bytes(self):
        self.session.set("x", {"a": ["é😀", 1, None]})
        self.assertEqual(self.ok("x").text, "{'a': ['é😀', 1, None]}")
        self.session.set_bytes("b", bytes(range(256)))
        self.assertEqual(self.ok("b == bytes(range(256))").text, "True")
        self.session.set_bytes("t", "naïve 😀".encode(), "text")
        self.assertEqual(self.ok("t, len(t)").text, "('naïve 😀', 7)")
        self.session.set_bytes("j", json.dumps({"k": [1] * 10}).encode(), "json")
        self.assertEqual(self.ok("j['k'][9]").text, "1")

    def test_names_are_checked(self):
        for name in ("a b", "1x", "", "class", "a\n", "__builtins__", "x;y", None):
            answer = self.session.set(name, 1)
            self.assertEqual(answer.json["status"], "error", name)
        self.assertEqual(self.session.set("größe", 1).json["status"], "ok")

    def test_a_hundred_megabytes_by_descriptor(self):
        data = b"x" * 100_000_000
        started = time.monotonic()
        answer = self.session.set_bytes("big", data, "text")
        self.assertEqual(answer.json["variable"]["length"], 100_000_000)
        self.assertLess(time.monotonic() - started, 5)
        self.assertEqual(self.ok("len(big)").text, "100000000")

    def load(self, filename, data, **more):
        answer = self.session.load("v", filename, data, **more)
        self.assertEqual(answer.kind, host.RESULT, answer)
        return answer.json

    def test_encodings(self):
        text = "naïve café ✓ 😀\n" * 3
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"):
            unmarked = encoding.endswith(("-le", "-be"))
            plain = "plain ascii words\n" * 20 if unmarked else text
            self.assertEqual(self.load("a.txt", plain.encode(encoding))["status"], "ok")
            self.assertEqual(self.session.get("v")["value"], plain, encoding)
        facts = self.load("a.txt", "naïve café".encode("latin-1"))
        self.assertEqual(facts["encoding"], "cp1252")
        self.assertEqual(self.session.get("v")["value"], "naïve café")
        self.load("a.txt", "日本".encode("shift-jis"), encoding="shift-jis")
        self.assertEqual(self.session.get("v")["value"], "日本")

    def test_bytes_that_are_not_text_stay_bytes(self):
        facts = self.load("a.bin", b"\x00\x01\x02\xff" * 100)
        self.assertIn("bytes", facts["note"])
        self.assertEqual(self.ok("type(v).__name__, len(v)").text, "('bytes', 400)")

    def test_json_jsonl_csv(self):
        self.load("a.json", b'{"a": [1, {"b": null}]}')
        self.assertEqual(self.session.get("v")["value"], {"a": [1, {"b": None}]})
        self.assertEqual(self.load("a.jsonl", b'{"a":1}\n\n{"a":2}\n')["rows"], 2)
        self.assertEqual(self.session.get("v")["value"], [{"a": 1}, {"a": 2}])
        self.load("a.csv", "name,n\n\"Zoë, A\",1\n'q',2\n".encode())
        self.assertEqual(self.session.get("v")["value"],
                         [{"name": "Zoë, A", "n": "1"}, {"name": "'q'", "n": "2"}])
        self.load("a.csv", b"a,b\n1,2\n", **{"as": "text"})
        self.assertEqual(self.session.get("v")["value"], "a,b\n1,2\n")
        self.assertIn("not JSON", self.load("a.json", b"{'a'}")["error"]["message"])
        self.assertIn("line 2", self.load("a.jsonl", b"1\nx\n")["error"]["message"])

    def test_packed_files(self):
        for pack, suffix in ((gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")):
            self.load("a.json." + suffix, pack(b'{"a":1}'))
            self.assertEqual(self.session.get("v")["value"], {"a": 1})
            self.assertEqual(self.load("a.txt." + suffix, pack(b"words")[:-3])["status"], "error")
        self.load("a.txt.gz", gzip.compress(b"one ") + gzip.compress(b"two"))
        self.assertEqual(self.session.get("v")["value"], "one two")

    def test_a_packed_bomb_is_refused(self):
        bomb = gzip.compress(gzip.compress(b"\0" * (1 << 26)))
        self.assertEqual(self.load("a.gz.gz", bomb)["status"], "ok")
        one = gzip.compress(b"\0" * (1 << 26))
        answer = self.load("a.txt.gz", one * 17)
        self.assertIn("more than", answer["error"]["message"])

    def test_notebooks(self):
        book = {"cells": [{"cell_type": "markdown", "source": ["# Title\n", "text"]},
                          {"cell_type": "code", "source": "x = 1", "outputs": []}]}
        self.load("a.ipynb", json.dumps(book).encode())
        self.assertEqual(self.session.get("v")["value"],
                         "# %% [markdown]\n# Title\ntext\n\n# %% [code]\nx = 1\n")

    def test_many_files_become_a_dict(self):
        for n, name in enumerate(("a.txt", "sub/b.txt")):
            self.load(name, name.encode(), key=name, first=n == 0)
        self.assertEqual(self.session.get("v")["value"],
                         {"a.txt": "a.txt", "sub/b.txt": "sub/b.txt"})

    def test_parquet_without_an_engine_is_one_line(self):
        self.ok("import sys, types\nfake = sys.modules['pandas'] = types.ModuleType('pandas')\n"
                "def read_parquet(file):\n    raise ImportError('a long\\nstory')\n"
                "fake.read_parquet = read_parquet")
        error = self.load("a.parquet", b"PAR1")["error"]
        self.assertEqual(error["message"].count("\n"), 0)
        self.assertIn("pyarrow or fastparquet", error["traceback"])
        self.assertEqual(error["traceback"].count("\n"), 0, error)

    def test_what_a_library_can_not_read_is_told_in_one_line(self):
        self.ok("import sys, types\nfor name in ('pandas', 'pypdf'):\n"
                "    sys.modules[name] = types.ModuleType(name)\n"
                "library = {}\nexec(compile('class ParserError(ValueError): pass\\n'\n"
                "    'def fails(*a, **k): raise ParserError(\"Corrupt footer\\\\nand more\")',\n"
                "    '/lib/pandas.py', 'exec'), library)\n"
                "for name in ('read_parquet', 'read_csv'): setattr(sys.modules['pandas'], name, library['fails'])\n"
                "sys.modules['pypdf'].PdfReader = library['fails']")
        for name, more, what in (("a.parquet", {}, "a parquet file"), ("a.csv", {"as": "dataframe"}, "a table"),
                                 ("a.pdf", {}, "a PDF file")):
            error = self.load(name, b"%PDF-1.4 broken", **more)["error"]
            said = "not %s that can be read: ParserError: Corrupt footer" % what
            self.assertEqual((error["type"], error["message"]), ("CannotLoad", said))
            self.assertEqual(error["traceback"], "CannotLoad: " + said)

    def test_an_empty_file_of_json_is_called_empty(self):
        for data in (b"", b" \n"):
            self.assertEqual(self.load("a.json", data)["error"]["message"], "not JSON: it is empty")
        self.assertEqual(self.load("a.json", b"nul")["error"]["message"],
                         "not JSON at character 0; load it as text to see it")

    def test_parquet_without_pandas_is_a_clear_error(self):
        if self.ok("import importlib.util\n"
                   "importlib.util.find_spec('pandas') is None").text == "True":
            self.assertIn("needs pandas", self.load("a.parquet", b"PAR1")["error"]["message"])

    def test_pdf_text(self):
        import zlib
        content = (b"BT /F1 12 Tf 72 720 Td (Hello \\(PDF\\) caf\\351) Tj 0 -14 Td "
                   b"[(wo) -10 (rld) -300 (two)] TJ ET")
        packed = zlib.compress(content)
        pdf = (b"%%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n"
               b"2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj\n"
               b"3 0 obj <</Type /Page /Parent 2 0 R /Contents 4 0 R /Resources <</Font <</F1 5 0 "
               b"R>>>>>> endobj\n"
               b"4 0 obj <</Length %d /Filter /FlateDecode>>\nstream\n%s\nendstream endobj\n"
               b"5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj\n%%%%EOF" % (
                   len(packed), packed))
        facts = self.load("a.pdf", pdf)
        self.assertEqual(facts["pages"], 1)
        self.assertEqual(self.session.get("v")["value"], "Hello (PDF) café\nworld two")
        self.assertIn("not a PDF", self.load("a.pdf", b"hello")["error"]["message"])
        self.assertIn("encrypted", self.load("a.pdf", pdf.replace(b"%%EOF", b"trailer <</Encrypt "
                                                                            b"9 0 R>>"))
                      ["error"]["message"])
        deep = b"%PDF-1.4\n" + b"[" * 100000
        self.assertIn("no text", self.load("a.pdf", deep)["error"]["message"])

    def test_a_descriptor_that_is_no_file_is_refused(self):
        import os
        reader, writer = os.pipe()
        answer = self.session.call(host.LOAD, {"name": "v", "filename": "a.txt"}, [reader])
        self.assertIn("not a regular file", answer.json["error"]["message"])
        os.close(reader)
        os.close(writer)
