"""What a session does: code, variables, values, checkpoints, functions of the host."""
import os

from harness import Refused, SessionTest


class Calls(SessionTest):
    def test_state_lasts_and_the_last_value_comes_once(self):
        s = self.session()
        self.ok(s.exec("x = 20"))
        answer = self.ok(s.exec("print('a')\nx + 1"))
        self.assertEqual((answer["output"], answer["errors"]), ("a\n", ""))
        self.assertEqual(answer["result"]["value"], {"text/plain": "21"})

    def test_output_comes_while_the_call_runs(self):
        s = self.session()
        call = self.host.send("exec", s.name, stream=True, code=(
            "import os, sys, time\nos.write(1, b'early\\n')\n"
            "print('late', file=sys.stderr)\nimport threading; threading.Event().wait(30)"))
        self.assertTrue(self.host.wait_for_stream(call, "early\n"))
        s.ask("interrupt")
        answer = self.host.wait(call)
        self.assertEqual(answer["status"], "interrupted", answer)
        self.assertEqual(answer["output"], "early\n")

    def test_output_of_subprocesses_is_there(self):
        answer = self.ok(self.session().exec(
            "import subprocess; _ = subprocess.run(['sh', '-c', 'echo out; echo err >&2'])"))
        self.assertEqual((answer["output"], answer["errors"]), ("out\n", "err\n"))

    def test_output_beyond_the_limit_is_cut_and_counted(self):
        s = self.session(output_bytes=1000)
        answer = self.ok(s.exec("print('x' * 999_999)"))
        self.assertEqual((len(answer["output"]), answer["output_cut"]), (1000, 999_000))
        self.assertTrue(any("cut" in note for note in answer["notes"]), answer["notes"])
        self.assertEqual(self.ok(s.exec("print('next')"))["output"], "next\n")

    def test_an_error_is_plain_and_has_no_frames_of_the_kernel(self):
        answer = self.session().exec("def f():\n    1 / 0\nf()")
        self.assertEqual(answer["status"], "error")
        trace = answer["result"]["error"]["traceback"]
        self.assertIn("ZeroDivisionError", trace)
        self.assertNotIn("<caisson>", trace)
        self.assertNotIn("\x1b", trace)

    def test_a_crash_in_c_is_told_without_frames_of_the_kernel(self):
        s = self.session()
        call = self.host.send("exec", s.name, stream=True, code=(
            "import os, sys\nprint('before', file=sys.stderr)\n"
            "def f():\n    os.kill(os.getpid(), 11)\nf()"))
        answer = self.host.wait(call)
        self.assertEqual(answer["status"], "killed", answer)
        streamed = "".join(text for _, text in self.host.streams[call])
        for told in (answer["errors"], streamed):
            self.assertIn("before\nFatal Python error: Segmentation fault\n", told)
            self.assertIn("line 4 in f", told)
            self.assertNotIn("<caisson>", told)
            self.assertNotIn("/proc/self/fd", told)

    def test_input_is_answered_at_once(self):
        answer = self.session().exec("input('?')")
        self.assertEqual(answer["status"], "error", answer)

    def test_variables_and_values(self):
        s = self.session()
        self.ok(s.exec("numbers = list(range(5)); text = 'é\U0001f600'"))
        names = {v["name"]: v["type"] for v in s.ask("vars")["result"]["variables"]}
        self.assertEqual(names, {"numbers": "list", "text": "str"})
        self.assertEqual(s.ask("get", name="numbers")["result"]["value"], [0, 1, 2, 3, 4])
        self.assertEqual(s.value("text[::-1]"), "\U0001f600é")
        self.assertEqual(s.ask("get", name="nothing")["status"], "missing")

    def test_set_takes_any_text_and_any_bytes(self):
        s = self.session()
        text = "'''\\n{}\"\"\"\0\ud7ff\U0001f600\r\n"
        self.ok(s.ask("set", name="t", value=text))
        self.assertEqual(s.value("t"), text)
        self.ok(s.ask("set", name="j", kind="json", value='{"a": [1, 2]}'))
        self.assertEqual(s.value("j['a']"), [1, 2])
        self.ok(s.ask("set", name="b", kind="bytes", repeat=30_000_000))
        self.assertEqual(s.value("(type(b).__name__, len(b))"), ["bytes", 30_000_000])

    def test_code_of_more_than_a_frame(self):
        s = self.session()
        self.ok(s.exec("data = '" + "x" * 3_000_000 + "'"))
        self.assertEqual(s.value("len(data)"), 3_000_000)

    def test_a_large_answer_is_whole(self):
        s = self.session()
        self.ok(s.exec("big = 'y' * 5_000_000"))
        answer = s.ask("get", name="big", max_bytes=6_000_000)
        self.assertEqual(len(answer["result"]["value"]), 5_000_000)

    def test_calls_wait_their_turn_in_order(self):
        s = self.session()
        self.ok(s.exec("order = []"))
        numbers = [self.host.send("exec", s.name, code="order.append(%d)" % i) for i in range(20)]
        for number in numbers:
            self.ok(self.host.wait(number))
        self.assertEqual(s.value("order"), list(range(20)))

    def test_names(self):
        s = self.session()
        with self.assertRaisesRegex(Refused, "already"):
            self.host.session(s.name)
        for name in ("", "-a", "a/b", "../a", "a b", "x" * 65, "é"):
            with self.assertRaisesRegex(Refused, "not a name"):
                self.host.session(name)

    def test_a_cell_that_can_not_be_made_says_why(self):
        with self.assertRaisesRegex(Refused, "no-such-python"):
            self.session(python="/nowhere/no-such-python")
        with self.assertRaisesRegex(Refused, "--nonsense"):
            self.session(policy=["--nonsense"])

    def test_the_workspace_is_a_folder_of_the_host(self):
        folder = self.path("work")
        os.makedirs(folder, exist_ok=True)
        s = self.session(workspace=folder)
        self.ok(s.exec("open('/workspace/made', 'w').write('inside')"))
        with open(os.path.join(folder, "made")) as made:
            self.assertEqual(made.read(), "inside")
        private = self.session()
        self.ok(private.exec("open('/workspace/made', 'w').write('x'); import os"))
        self.assertEqual(private.value("os.listdir('/workspace')"), ["made"])
        self.assertFalse(os.path.exists(os.path.join(private.info["workspace"], "other")))


class Checkpoints(SessionTest):
    def test_restore_goes_back_and_reset_is_clean(self):
        s = self.session()
        self.ok(s.exec("x = 1"))
        s.ask("checkpoint", name="one")
        self.ok(s.exec("x = 2"))
        s.ask("restore", name="one")
        self.assertEqual(s.value("x"), 1)
        self.assertEqual([c["names"] for c in s.ask("checkpoints")["checkpoints"] if c["names"]],
                         [["one"]])
        s.ask("drop", name="one")
        with self.assertRaisesRegex(Refused, "no checkpoint"):
            s.ask("restore", name="one")
        s.ask("reset")
        self.assertEqual(s.ask("get", name="x")["status"], "missing")

    def test_a_branch_lives_beside_its_parent(self):
        s = self.session()
        self.ok(s.exec("x = [1]"))
        info = self.host.ask("branch", s.name, **{"as": s.name + "b"})
        self.assertEqual(info["parent"], s.name)
        self.addCleanup(self.end, s.name + "b")
        self.ok(self.host.ask("exec", s.name + "b", code="x.append(2)"))
        self.ok(s.exec("x.append(3)"))
        self.assertEqual(s.value("x"), [1, 3])
        there = self.host.ask("evaluate", s.name + "b", expression="x")
        self.assertEqual(there["result"]["value"], [1, 2])
        self.host.ask("end", s.name + "b")
        self.assertEqual(s.value("len(x)"), 2)  # the parent lives on

    def test_branches_draw_other_random_numbers(self):
        """T61: twins must not share what is meant to be unique."""
        s = self.session()
        self.ok(s.exec("import random, uuid; random.seed()"))
        name = s.name + "twin"
        self.host.ask("branch", s.name, **{"as": name})
        self.addCleanup(self.end, name)
        draw = "[random.random(), uuid.uuid4().hex]"
        twin = self.host.ask("evaluate", name, expression=draw)["result"]["value"]
        self.assertNotEqual(s.value(draw)[0], twin[0])
        self.assertNotEqual(s.value(draw)[1], twin[1])


    def test_generators_of_libraries_are_seeded_anew(self):
        """T61. Python sees to its own; numpy's global one is copied by fork as it is."""
        s = self.session()
        self.ok(s.exec(
            "import sys, types\nnumbers = types.ModuleType('numpy.random'); numbers.state = 1\n"
            "def seed(number): numbers.state = number\n"
            "numbers.seed = seed; sys.modules['numpy.random'] = numbers"))
        states = [s.value("numbers.state")]
        for name in (s.name + "one", s.name + "two"):
            self.host.ask("branch", s.name, **{"as": name})
            self.addCleanup(self.end, name)
            answer = self.host.ask("evaluate", name, expression="numbers.state")
            states.append(answer["result"]["value"])
        self.assertEqual(states[0], 1)
        self.assertEqual(len(set(states)), 3, states)

    def test_what_libraries_do_after_a_fork_is_done_in_what_wakes(self):
        """A checkpoint does without it, and what wakes reports before it: no code runs before it has."""
        s = self.session()
        self.ok(s.exec("import os, random\nran = []"))
        drawn = [s.value("random.getstate()[1][:8]")]  # which random renews by such a hook
        for hook in ("", "os.register_at_fork(after_in_child=lambda: ran.append(os.getpid()))"):
            self.ok(s.exec(hook + "\nx = 1"))
            s.ask("checkpoint", name="c" + hook[:2])
            s.ask("restore", name="c" + hook[:2])
            drawn.append(s.value("random.getstate()[1][:8]"))
        self.assertEqual(len({str(one) for one in drawn}), 3, drawn)
        self.assertEqual(s.value("ran[-1] - os.getpid()"), 0)

    def test_no_handler_runs_in_a_checkpoint(self):
        """Of a signal that came to the interpreter as it forked: its child must not go on as it does."""
        s = self.session()
        self.ok(s.exec(
            "import os, signal\nseen, own = set(), os.getpid()\ndef note(*_): seen.add(os.getpid())\n"
            "signal.signal(signal.SIGALRM, note)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)"))
        for i in range(10):
            self.ok(s.exec("i = %d" % i))
        s.ask("checkpoint", name="c")
        s.ask("restore", name="c")
        self.assertTrue(s.value("seen == {own} and own != os.getpid()"))
        self.assertEqual(s.value("i"), 9)


class Functions(SessionTest):
    def test_functions_of_the_host(self):
        s = self.session(functions=True)
        self.assertEqual(self.ok(s.exec("print(double(21))"))["output"], "42\n")
        self.assertEqual(self.ok(s.exec("print(double_batched(range(50))[49])"))["output"], "98\n")
        answer = s.exec("fail()")
        self.assertEqual(answer["status"], "error")
        self.assertIn("as it always does", answer["result"]["error"]["message"])

    def test_the_budget_is_the_hosts(self):
        s = self.session(functions=True, host_calls=5)
        answer = s.exec("for i in range(10): print(double(i))")
        self.assertEqual((answer["status"], answer["output"]), ("error", "0\n2\n4\n6\n8\n"))
        self.assertIn("budget", answer["result"]["error"]["message"])
        self.assertEqual(s.exec("double_batched(range(6))")["status"], "error")
        self.assertEqual(self.ok(s.exec("print(double(1))"))["output"], "2\n")  # anew for each call

    def test_a_function_that_never_answers_is_stopped_with_its_call(self):
        s = self.session(functions=True)
        answer = s.exec("never()", timeout=500)
        self.assertEqual(answer["status"], "timeout", answer)
        self.assertEqual(self.ok(s.exec("print(double(4))"))["output"], "8\n")

    def test_an_early_result_passes_except_exception(self):
        s = self.session(final=["FINAL"])
        answer = s.exec("try:\n    FINAL(7)\nexcept Exception:\n    pass\nprint('after')")
        self.assertEqual((answer["status"], answer["output"]), ("final", ""), answer)
        self.assertEqual(answer["result"]["final"]["args"], [7])
