"""The first API, as its users know it."""
import base64
import json

from harness import JSON, Server, ServerTest


class FirstApi(ServerTest):
    WORDS = ("--api", "--compat-open=127.0.0.1:0")

    def open(self, method, path, body=None, headers=None):
        return self.server.ask(method, path, body, headers, connection=self.server.tcp(1))

    def run_code(self, code, **more):
        answer = self.open("POST", "/exec", {"code": code, **more})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(sorted(answer.json), ["output", "stderr", "vars"])
        return answer.json

    def test_health(self):
        self.assertEqual(self.open("GET", "/health").json, {"status": "ok"})

    def test_state_lasts_between_calls(self):
        self.assertIn("kept", self.run_code("kept = 6 * 7")["vars"])
        self.assertEqual(self.run_code("print('at', kept)\nkept + 1")["output"], "at 42\n43\n")

    def test_the_last_value_is_there_once(self):
        self.assertEqual(self.run_code("1 + 1")["output"], "2\n")

    def test_errors_are_plain_and_on_stderr(self):
        for code, name in (("1 / 0", "ZeroDivisionError"), ("def", "SyntaxError")):
            answer = self.run_code(code)
            self.assertEqual(answer["output"], "")
            self.assertIn(name, answer["stderr"])
            self.assertNotIn("\x1b", answer["stderr"])

    def test_a_timeout_stops_the_code(self):
        answer = self.run_code("import time\nprint('begun')\nwhile True: time.sleep(0.01)",
                               timeout=1.5)
        self.assertEqual(answer["output"], "begun\n")
        self.assertTrue(answer["stderr"])
        self.assertEqual(self.run_code("print('next')")["output"], "next\n")

    def test_variables_are_listed(self):
        self.run_code("listed = 'text'")
        listed = {each["name"]: each for each in self.open("GET", "/vars").json}
        self.assertEqual(sorted(listed["listed"]), ["name", "summary", "type"])
        self.assertEqual(listed["listed"]["type"], "str")

    def test_one_variable(self):
        self.run_code("one = {'a': [1, 2.5, None]}\nface = '\U0001f600'\nodd = object()")
        self.assertEqual(self.open("GET", "/var/one").json, {"value": {"a": [1, 2.5, None]}})
        self.assertEqual(self.open("GET", "/var/face").json, {"value": "\U0001f600"})
        self.assertIn("object object", self.open("GET", "/var/odd").json["value"])
        missing = self.open("GET", "/var/nowhere").json
        self.assertEqual(list(missing), ["error"])

    def test_an_integer_beyond_64_bits_is_its_digits(self):
        self.run_code("big = 2**80\nmost = 2**64 - 1")
        self.assertEqual(self.open("GET", "/var/big").json, {"value": str(2**80)})
        self.assertEqual(self.open("GET", "/var/most").json, {"value": 2**64 - 1})

    def test_a_name_that_is_no_text_is_not_found(self):
        self.assertEqual(list(self.open("GET", "/var/%ff").json), ["error"])
        self.assertIn("not found", self.open("GET", "/var/%ff").json["error"])

    def test_a_timeout_below_a_millisecond_is_a_timeout(self):
        answer = self.run_code("while 1: pass", timeout=0.0001)
        self.assertIn("ran out of time", answer["stderr"])

    def test_snapshots_go_out_and_come_back(self):
        self.run_code("precious = [1, 2, 3]")
        saved = self.open("POST", "/snapshot/save", headers=JSON)
        self.assertEqual(saved.status, 200, saved)
        base64.b64decode(saved.json["data"], validate=True)
        self.run_code("precious = None")
        back = self.open("POST", "/snapshot/restore", {"data": saved.json["data"]})
        self.assertEqual(back.status, 200, back)
        self.assertEqual(self.open("GET", "/var/precious").json, {"value": [1, 2, 3]})

    def test_a_snapshot_that_is_none_changes_nothing(self):
        self.run_code("stays = 1")
        for data in ("%%%", "AAAA", base64.b64encode(b"\x80\x04garbage" * 10).decode()):
            self.assertGreaterEqual(
                self.open("POST", "/snapshot/restore", {"data": data}).status, 400)
        self.assertEqual(self.open("GET", "/var/stays").json, {"value": 1})

    def test_the_open_door_has_nothing_else(self):
        for method, path in (("GET", "/v1/sessions"), ("POST", "/v1/sessions"), ("GET", "/metrics"),
                             ("GET", "/v1/openapi.json")):
            body = {} if method == "POST" else None
            self.assertEqual(self.open(method, path, body).status, 404, path)

    def test_a_page_cannot_use_the_open_door(self):
        """It sends its own origin, its own name, or a type that needs no question first."""
        body = json.dumps({"code": "1"}).encode()
        for headers, status in (({**JSON, "Origin": "http://evil.example"}, 403),
                                ({**JSON, "Host": "evil.example"}, 421),
                                ({"Content-Type": "text/plain"}, 415)):
            answer = self.open("POST", "/exec", body, headers)
            self.assertEqual(answer.status, status, answer)

    def test_the_same_routes_need_the_token_elsewhere(self):
        self.assertEqual(self.server.ask("GET", "/health", connection=self.server.tcp(0)).status,
                         401)

    def test_bad_orders(self):
        for body in ({}, {"code": 1}, {"code": "1", "timeout": "x"}, {"code": "1", "timeout": -1}):
            self.assertEqual(self.open("POST", "/exec", body).status, 400, body)
        for raw in (b"", b"[]", b"{", b'{"code": "\xff"}', b"[" * 100 + b"]" * 100):
            self.assertEqual(self.open("POST", "/exec", raw, JSON).status, 400, raw)
