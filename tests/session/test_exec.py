"""Exec: output, values, errors, await, magics, exits."""

import re

import host
from case import SessionCase


class Exec(SessionCase):
    def test_the_last_expression_is_the_value_and_is_not_printed(self):
        answer = self.ok("1 + 1")
        self.assertEqual(answer.text, "2")
        self.assertEqual(answer.out, b"")

    def test_a_statement_has_no_value_and_a_semicolon_hides_one(self):
        self.assertIsNone(self.ok("x = 1").text)
        self.assertIsNone(self.ok("x;").text)
        self.assertIsNone(self.ok("None").text)
        self.assertEqual(self.ok("x").text, "1")

    def test_state_lasts_between_calls(self):
        self.ok("import math\ndef area(r): return math.pi * r * r")
        self.assertEqual(self.ok("round(area(2), 3)").text, "12.566")

    def test_stdout_and_stderr_are_apart(self):
        answer = self.ok("import sys\nprint('a')\nprint('b', file=sys.stderr)")
        self.assertEqual((answer.out, answer.err), (b"a\n", b"b\n"))

    def test_output_of_subprocesses_is_in_order_with_half_lines(self):
        answer = self.ok(
            "import os, subprocess, sys\nprint('1 ', end='')\nos.system('echo 2')\n"
            "print('3 ', end='')\n"
            "subprocess.run(['echo', '4'])\nprint('5 ', end='')\nsys.stdout.flush()\n"
            "os.write(1, b'6\\n')\n"
            "print('7 ', end='')\npid = os.fork()\nif pid == 0:\n"
            "    os.write(1, b'8\\n'); os._exit(0)\n"
            "os.waitpid(pid, 0);")
        self.assertEqual(answer.out, b"1 2\n3 4\n5 6\n7 8\n")

    def test_output_comes_while_the_call_runs(self):
        seen = []

        def during(run):
            if run.host_calls and not seen:
                run.read(run.order[0])
                seen.append(b"".join(run.pipes[run.order[0]]) == b"first\n")
                run.lane.send(host.HOST_REPLY, b'{"call":1,"value":1}', request=run.request)

        with host.Session(functions={"gate": "later"}) as session:
            answer = session.exec("print('first')\ngate()\nprint('second')", during=during)
        self.assertEqual((seen, answer.out), ([True], b"first\nsecond\n"))

    def test_any_unicode_goes_through(self):
        text = "naïve 😀 \U0010ffff 漢字"
        self.assertEqual(self.ok("print(%r)\n%r" % (text, text)).out.decode(), text + "\n")
        self.assertEqual(self.ok("len('😀')").text, "1")

    def test_lone_surrogates_print_and_answer_as_valid_utf8(self):
        answer = self.ok("print('a\\ud800b')\n'\\ud800'")
        self.assertEqual(answer.out, b"a\\ud800b\n")
        self.assertEqual(answer.text, "'\\ud800'")

    def test_tracebacks_are_plain_and_without_our_frames(self):
        self.ok("def f(x):\n    return 1 / x")
        trace = self.error("y = 1\nf(0)", "ZeroDivisionError").json["error"]["traceback"]
        self.assertIn('File "<cell 2>", line 2, in <module>', trace)
        self.assertIn('File "<cell 1>", line 2, in f', trace)
        self.assertIn("return 1 / x", trace)
        self.assertNotIn("caisson", trace)
        self.assertNotIn("\x1b", trace)

    def test_the_mark_below_a_last_line_stands_under_what_failed(self):
        """Python 3.11 and 3.12 take the last character of a line for its end."""
        told = [self.error(source).json["error"]["traceback"] for source in ("1+1/0", "1+1/0\n")]
        self.assertEqual(*(re.sub(r"<cell \d+>", "<cell>", one) for one in told))

    def test_causes_and_contexts_are_told(self):
        trace = self.error(
            "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('no') from e",
            "ValueError").json["error"]["traceback"]
        self.assertIn("ZeroDivisionError", trace)
        self.assertIn("direct cause", trace)

    def test_a_syntax_error_points_at_its_line(self):
        error = self.error("a = 1\nif True print(2)", "SyntaxError").json["error"]
        self.assertIn("line 2", error["traceback"])
        self.assertIn("if True print(2)", error["traceback"])

    def test_an_error_in_a_constant_expression_shows_its_source(self):
        self.assertIn("1/0", self.error("1/0").json["error"]["traceback"])

    def test_recursion_and_memory_errors_are_answers(self):
        trace = self.error("def f(): return f()\nf()", "RecursionError").json["error"]["traceback"]
        self.assertLess(len(trace), 5000)
        self.error("x = bytearray(1 << 60)", "MemoryError")
        self.assertEqual(self.ok("1").text, "1")

    def test_sys_exit_is_an_answer_and_state_is_kept(self):
        self.ok("x = 3")
        answer = self.session.exec("import sys\nsys.exit(4)")
        self.assertEqual((answer.json["status"], answer.json["exit"]), ("exit", 4))
        answer = self.session.exec("sys.exit('bad luck')")
        self.assertEqual((answer.json["exit"], answer.err), (1, b"bad luck\n"))
        self.assertEqual(self.ok("x").text, "3")

    def test_input_is_an_error_at_once(self):
        error = self.error("input('name? ')").json["error"]
        self.assertIn("not available in a session", error["message"])
        self.assertNotIn("caisson", error["traceback"])
        self.assertEqual(self.ok("import sys\nsys.stdin.read()").text, "''")

    def test_top_level_await_and_a_loop_that_lasts(self):
        self.ok("import asyncio\nq = asyncio.Queue()\nt = asyncio.ensure_future(q.get())\n"
                "await asyncio.sleep(0)")
        self.ok("await q.put(42)")
        self.assertEqual(self.ok("await t").text, "42")
        self.assertEqual(self.ok("async def f():\n    return 7\nawait f()").text, "7")
        self.assertEqual(self.ok("asyncio.run(f())").text, "7")

    def test_where_a_cell_awaits_is_told_when_it_is_stopped(self):
        self.ok("import asyncio\nasync def inner():\n    await asyncio.sleep(60)")
        answer = self.session.exec("x = 1\nawait inner()", timeout_ms=200)
        self.assertEqual(answer.json["status"], "interrupted", answer)
        told = answer.json["error"]["traceback"]
        if self.ok("import sys\nsys.version_info >= (3, 11)").text == "False":
            return  # there asyncio has let go of those frames by then
        self.assertRegex(told, r'cell \d+>", line 2, in <module>\n    await inner\(\)\n')
        self.assertRegex(told, r'cell \d+>", line 3, in inner\n    await asyncio.sleep\(60\)\n')
        self.assertTrue(told.endswith("\nKeyboardInterrupt"), told)
        self.assertNotIn("base_events", told)
        self.assertNotIn("Cancelled", told)

    def test_futures_hold_for_later_cells(self):
        self.ok("from __future__ import annotations")
        self.assertEqual(self.ok("def f(x: nowhere): pass\n"
                                 "f.__annotations__").text, "{'x': 'nowhere'}")

    def test_source_larger_than_a_frame(self):
        self.assertEqual(self.ok("s = '%s'\nlen(s)" % ("é" * 700_000)).text, "700000")

    def test_source_that_is_not_utf8_or_has_null_bytes(self):
        self.assertEqual(self.session.exec(b"x = '\xff'").json["status"], "error")
        self.assertEqual(self.session.exec(b"x = 1\0").json["status"], "error")
        self.assertEqual(self.ok("1").text, "1")

    def test_empty_source(self):
        self.assertIsNone(self.ok("").text)
        self.assertIsNone(self.ok("# only words").text)

    def test_what_user_code_defines_is_in_main(self):
        self.ok("import pickle\nclass A: pass\na = pickle.loads(pickle.dumps(A()))")
        self.assertEqual(self.ok("type(a) is A, __name__").text, "(True, '__main__')")


class Magics(SessionCase):
    def test_shell_lines(self):
        answer = self.ok("n = 3\n!echo one two\n!echo {n + 1}\nprint('end')")
        self.assertEqual(answer.out, b"one two\n4\nend\n")
        self.ok("!exit 5")
        self.assertEqual(self.ok("_exit_code").text, "5")

    def test_shell_output_into_a_variable(self):
        self.assertEqual(self.ok("lines = !printf 'a\\nb\\n'\nlines").text, "['a', 'b']")
        self.assertEqual(self.ok("if True:\n    x = !echo deep\nx").text, "['deep']")

    def test_braces_of_awk_are_left_alone(self):
        self.assertEqual(self.ok("!echo a b | awk '{print $2}'").out, b"b\n")

    def test_percent_and_bang_in_strings_and_formulas_are_untouched(self):
        self.assertEqual(self.ok("s = '''\n!ls\n%cd /\n'''\n7 % 4, '%d' % 3, s").text,
                         "(3, '3', '\\n!ls\\n%cd /\\n')")
        self.assertEqual(self.ok("s = '''\n!ls\n'''\n!echo x\ns").text, "'\\n!ls\\n'")

    def test_time_timeit_cd_env(self):
        answer = self.ok("%time y = sum(range(10))\ny")
        self.assertEqual(answer.text, "45")
        self.assertIn(b"wall time", answer.out)
        self.assertIn(b"per loop", self.ok("%timeit 1 + 1").out)
        self.ok("ran = []")
        self.assertIn(b"best of 2 runs, 4 loops", self.ok("%timeit -n 4 -r2 ran.append(1)").out)
        self.assertIn(b"best of 3 runs, 5 loops", self.ok("%%timeit -n5\nran.append(1)").out)
        self.assertEqual(self.ok("len(ran)").text, "23")
        self.ok("%cd /tmp")
        self.assertEqual(self.ok("import os\nos.getcwd()").text, "'/tmp'")
        self.ok("%env COLOUR=blue")
        self.assertEqual(self.ok("!echo $COLOUR").out, b"blue\n")
        self.assertEqual(self.ok("%%bash\nfor i in 1 2; do echo $i; done").out, b"1\n2\n")

    def test_pip_is_refused_with_a_reason(self):
        self.assertIn("%pip is not available", self.error("%pip install "
                                                          "x").json["error"]["message"])
        self.assertIn("no magic %frobnicate", self.error("%frobnicate").json["error"]["message"])

    def test_a_traceback_has_the_magic_as_it_was_written(self):
        for source in ("%nope word", "x = 1\n%nope word", "x = %nope word", "%%nope word\nbody",
                       "def f():\n    %nope word\nf()"):
            trace = self.error(source).json["error"]["traceback"]
            self.assertIn("nope word", trace)
            self.assertNotIn("__caisson", trace)
        self.assertIsNone(self.ok("%time 1;").json.get("value"))

    def test_a_wrong_line_is_still_a_syntax_error(self):
        self.error("!echo fine\nif True print(2)", "SyntaxError")

    def test_clearing_all_names_takes_none_that_python_needs(self):
        self.ok("globals().clear()")
        self.assertEqual(self.ok("class A: pass\nA.__module__, __name__").text, "('__main__', '__main__')")
