"""Functions of the host, early results, reserved names."""

import os

import host
from case import SessionCase, wait_until


class HostCalls(SessionCase):
    functions = {
        "ask": lambda prompt, **kw: {"answer": prompt.upper(), **kw},
        "ask_batched": None,
        "fail": lambda: 1 / 0,
        "big": lambda n: "x" * n,
    }
    options = {"final": ["FINAL", "SUBMIT"]}

    def test_a_call_and_its_answer(self):
        answer = self.ok("ask('héllo 😀', n=2)")
        self.assertEqual(answer.text, "{'answer': 'HÉLLO 😀', 'n': 2}")
        self.assertEqual(len(answer.host_calls), 1)

    def test_a_batch_is_one_frame(self):
        answer = self.ok("[a['answer'] for a in ask_batched(['a', 'b', 'c'])] + ask.batch([])")
        self.assertEqual((answer.text, len(answer.host_calls)), ("['A', 'B', 'C']", 1))

    def test_an_error_of_the_host_can_be_caught(self):
        self.assertEqual(self.ok("try:\n    fail()\nexcept Exception as e:\n    x = str(e)\n"
                                 "x").text,
                         "'division by zero'")
        trace = self.error("fail()", "HostError").json["error"]["traceback"]
        self.assertNotIn("caisson", trace)

    def test_arguments_that_are_not_json_are_a_type_error(self):
        self.error("ask(object())", "TypeError")
        self.error("ask(float('nan'))", "TypeError")

    def test_arguments_that_would_arrive_as_something_else_are_a_type_error(self):
        """The host has no integers beyond 64 bits, and UTF-8 no half pairs."""
        self.assertEqual(self.ok("ask('x', n=2**64 - 1)['n']").text, str(2**64 - 1))
        for name in ("ask", "FINAL"):
            told = self.error(f"{name}(2**64)", "TypeError").json["error"]["message"]
            self.assertIn("beyond 64 bits: pass it as text, str(n)", told)
            told = self.error(f"{name}('\\ud800')", "TypeError").json["error"]["message"]
            self.assertIn("lone surrogate", told)

    def test_large_arguments_and_answers(self):
        self.assertEqual(self.ok("len(ask('a' * 3_000_000)['answer']), len(big(2_500_000))").text,
                         "(3000000, 2500000)")

    def test_threads_wait_side_by_side(self):
        answer = self.ok(
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(8) as pool:\n"
            "    r = list(pool.map(lambda n: ask(str(n))['answer'], range(40)))\n"
            "r == [str(n) for n in range(40)]")
        self.assertEqual((answer.text, len(answer.host_calls)), ("True", 40))

    def test_a_thread_of_an_earlier_call_is_told_that_it_is_over(self):
        over, told = self.path(), self.path()
        self.ok("import os, threading, time\nseen = []\ndef late():\n"
                f"    while not os.path.exists({over!r}): time.sleep(.002)\n"
                "    try:\n        ask('x')\n"
                "    except Exception as e:\n        seen.append(str(e))\n"
                f"    open({told!r}, 'w').close()\n"
                "t = threading.Thread(target=late)\nt.start()")
        open(over, "w").close()
        wait_until(lambda: os.path.exists(told))
        self.assertIn("no call is running", self.ok("t.join()\nseen").text)

    def test_a_call_that_waits_can_be_interrupted_and_a_late_answer_is_dropped(self):
        self.session.functions["ask"], real = "later", self.session.functions["ask"]
        answer = self.session.exec("ask('x')", timeout_ms=150)
        self.session.functions["ask"] = real
        self.assertEqual(answer.json["status"], "interrupted")
        late = b'{"call":1,"value":"late"}'
        self.session.send(host.HOST_REPLY, late, request=answer.frame.request)
        self.assertEqual(self.ok("ask('y')['answer']").text, "'Y'")

    def test_an_early_result_ends_the_call(self):
        answer = self.session.exec("x = 1\ntry:\n    FINAL(41 + 1, why='so')\nexcept Exception:\n"
                                   "    pass\nx = 2")
        self.assertEqual(answer.json["status"], "final")
        self.assertEqual(answer.json["final"],
                         {"name": "FINAL", "args": [42], "kwargs": {"why": "so"}})
        self.assertEqual(self.ok("x").text, "1")

    def test_an_early_result_survives_a_bare_except(self):
        answer = self.session.exec("try:\n    SUBMIT('a')\nexcept:\n    pass\nprint('on')")
        self.assertEqual((answer.json["status"], answer.json["final"]["args"]), ("final", ["a"]))
        self.assertEqual(answer.out, b"on\n")

    def test_an_early_result_inside_await_and_functions(self):
        self.assertEqual(self.session.exec(
            "async def f():\n    FINAL(3)\nawait f()").json["final"]["args"], [3])
        self.assertEqual(self.session.exec("[FINAL(n) for n in "
                                           "range(3)]").json["final"]["args"], [0])

    def test_an_early_result_that_is_not_json_is_an_error(self):
        self.error("FINAL({1, 2})", "TypeError")

    def test_reserved_names_are_put_back(self):
        answer = self.ok("ask = 5\ndel FINAL\nask")
        self.assertEqual(answer.text, "5")
        self.assertIn("ask", answer.json["notes"][0])
        self.assertEqual(self.ok("ask('z')['answer']").text, "'Z'")
        self.assertEqual(self.session.exec("FINAL(1)").json["status"], "final")
        self.assertEqual(self.session.set("ask", 1).json["status"], "error")

    def test_they_are_not_among_the_variables(self):
        self.assertEqual(self.session.vars()["variables"], [])

    def test_they_work_after_a_restore_and_in_a_branch(self):
        self.session.ask(host.RESET)
        self.assertEqual(self.ok("ask('q')['answer']").text, "'Q'")
        branch = self.session.branch("b")
        self.assertEqual(branch.value("ask('w')['answer']"), "'W'")
        branch.sock.close()


class Start(SessionCase):
    def test_wrong_options_are_refused(self):
        for options in ({"functions": [{"name": "a b"}]}, {"functions": 1}, {"final": ["1"]},
                        {"functions": [{}]}):
            session = host.Session(start=False)
            self.assertEqual(session.ask(host.START, options).kind, host.REFUSED, options)
            self.assertEqual(session.ask(host.START, {}).kind, host.HELLO)
            session.close()

    def test_a_second_start_is_refused(self):
        self.assertEqual(self.session.ask(host.START, {}).kind, host.REFUSED)

    def test_hello_tells_which_shell(self):
        hello = self.session.hello.json
        self.assertEqual((hello["shell"], hello["protocol"]), ("standard", 1))
