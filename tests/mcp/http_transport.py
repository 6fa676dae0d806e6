"""Streamable HTTP in both dialects: the product's server, mounted the way `caisson serve` does it."""
import http.client
import json
import subprocess

import harness
from harness import DEADLINE, META, MODERN, McpTest


class HttpTest(McpTest):
    def setUp(self):
        super().setUp()
        words = [harness.FIXTURES, harness.BINARY, self.top]
        self.process = subprocess.Popen(words, env=self.env, cwd=self.project,
                                        stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.put_away)
        self.port = int(self.process.stdout.readline())
        self.count = 0

    def put_away(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def send(self, method, body=None, headers=None):
        """The connection, with its request sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        self.addCleanup(connection.close)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, "/mcp", data, {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            **(headers or {})})
        return connection

    def exchange(self, method, body=None, headers=None):
        """(status, headers, messages)"""
        answer = self.send(method, body, headers).getresponse()
        data = answer.read().decode()
        if "event-stream" in (answer.getheader("Content-Type") or ""):
            lines = [line[6:] for line in data.split("\n") if line.startswith("data: ")]
        else:
            lines = [data] if data else []
        return answer.status, answer.headers, [json.loads(line) for line in lines]

    def post(self, method, params=None, headers=None, **more):
        self.count += 1
        return self.exchange("POST", {"jsonrpc": "2.0", "id": self.count, "method": method,
                                      "params": params or {}, **more}, headers)

    def modern_headers(self, method, params):
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if "name" in params or "uri" in params:
            headers["Mcp-Name"] = params.get("name") or params["uri"]
        return headers

    def modern(self, method, **params):
        return self.post(method, {**params, "_meta": META}, self.modern_headers(method, params))

    def modern_call(self, tool, **arguments):
        return self.modern("tools/call", name=tool, arguments=arguments)[2][-1]["result"]

    def initialize(self):
        status, headers, messages = self.post("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"}})
        self.assertEqual(status, 200)
        self.assertEqual(messages[0]["result"]["protocolVersion"], "2025-11-25")
        return {"Mcp-Session-Id": headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}

    def call(self, session, tool, **arguments):
        status, _, messages = self.post("tools/call", {"name": tool, "arguments": arguments}, session)
        self.assertEqual(status, 200)
        return messages[-1]["result"]["content"][0]["text"]


class Legacy(HttpTest):
    def test_state_is_kept_per_session_and_two_clients_do_not_share(self):
        first, second = self.initialize(), self.initialize()
        self.assertNotEqual(first["Mcp-Session-Id"], second["Mcp-Session-Id"])
        self.call(first, "rlm_exec", code="x = 1")
        self.assertEqual(self.call(first, "rlm_exec", code="x"), "1")
        self.assertEqual(self.call(second, "rlm_vars"), "(no variables)")

    def test_sessions_must_be_known(self):
        self.assertEqual(self.post("tools/list")[0], 400)
        self.assertEqual(self.post("tools/list", headers={"Mcp-Session-Id": "0" * 32})[0], 404)
        session = self.initialize()
        self.assertEqual(self.post("tools/list", headers=session)[0], 200)
        self.assertEqual(self.exchange("DELETE", headers=session)[0], 204)
        self.assertEqual(self.post("tools/list", headers=session)[0], 404)
        self.assertEqual(self.exchange("DELETE", headers=session)[0], 404)

    def test_what_a_session_ran_ends_with_it(self):
        session = self.initialize()
        self.call(session, "rlm_exec", code="import subprocess\n"
                                            "p = subprocess.Popen(['/bin/sleep', '98765'])")
        found = self.descendants_named(self.process.pid, b"98765")
        self.assertTrue(found)
        self.exchange("DELETE", headers=session)
        self.wait_gone(found)

    def test_notifications_are_accepted_and_say_nothing(self):
        session = self.initialize()
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.assertEqual(self.exchange("POST", body, session)[::2], (202, []))

    def test_cancellation_ends_the_stream_without_an_answer(self):
        session = self.initialize()
        self.call(session, "rlm_exec", code="import time")
        running = self.send("POST", {
            "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {
                "name": "rlm_exec",
                "arguments": {"code": "print('on', flush=True); time.sleep(60)", "timeout": 100},
                "_meta": {"progressToken": 1}}}, session).getresponse()
        while b"notifications/progress" not in running.readline():
            pass
        self.exchange("POST", {"jsonrpc": "2.0", "method": "notifications/cancelled",
                               "params": {"requestId": "slow"}}, session)
        self.assertNotIn(b'"result"', running.read())
        self.assertEqual(self.call(session, "rlm_exec", code="1 + 1").split("\n")[0], "2")

    def test_a_stream_for_what_belongs_to_no_request(self):
        session = self.initialize()
        answer = self.send("GET", headers=session).getresponse()
        self.assertEqual(answer.status, 200)
        self.assertIn("text/event-stream", answer.getheader("Content-Type"))
        self.assertEqual(self.send("GET").getresponse().status, 405)


class Modern(HttpTest):
    def test_a_call_names_its_session_and_others_do_not_find_it(self):
        text = self.modern_call("rlm_exec", code="x = 5\nx")["content"][0]["text"]
        self.assertTrue(text.startswith("5\n[session] s-"), text)
        name = text.split("[session] ")[1].split(":")[0]
        self.assertEqual(
            self.modern_call("rlm_exec", code="x + 1", session=name)["content"][0]["text"], "6")
        other = self.modern_call("rlm_exec", code="'x' in globals()")["content"][0]["text"]
        self.assertTrue(other.startswith("False"), other)
        for arguments in ({"session": "main"}, {}):
            result = self.modern_call("rlm_vars", **arguments)
            self.assertTrue(result["isError"])

    def test_who_never_comes_back_makes_room(self):
        def session(text):
            return text.split("[session] ")[1].split(":")[0]
        mine = session(self.modern_call("rlm_exec", code="x = 5")["content"][0]["text"])
        self.modern_call("rlm_exec", code="x", session=mine)
        names = []
        for number in range(36):
            result = self.modern_call("rlm_exec", code=str(number))
            self.assertFalse(result.get("isError"), result)
            names.append(session(result["content"][0]["text"]))
        # The first of those that nobody came back to are gone; one that is used is not.
        gone = self.modern_call("rlm_vars", session=names[0])
        self.assertTrue(gone["isError"])
        self.assertIn("made room", gone["content"][0]["text"])
        for name, code, value in ((mine, "x", "5"), (names[-1], "1 + 1", "2")):
            result = self.modern_call("rlm_exec", code=code, session=name)
            self.assertEqual(result["content"][0]["text"], value)

    def test_headers_must_agree_with_the_body(self):
        good = self.modern_headers("tools/list", {})
        self.assertEqual(self.post("tools/list", {"_meta": META}, good)[0], 200)
        for name in good:
            wrong = {**good, name: "x"}
            missing = {key: value for key, value in good.items() if key != name}
            for headers in (wrong, missing):
                status, _, messages = self.post("tools/list", {"_meta": META}, headers)
                self.assertEqual((status, messages[0]["error"]["code"]), (400, -32020), headers)

    def test_errors_have_their_status(self):
        status, _, messages = self.modern("no/such")
        self.assertEqual((status, messages[0]["error"]["code"]), (404, -32601))
        status, _, messages = self.modern("resources/read", uri="rlm://x/outputs/1")
        self.assertEqual((status, messages[0]["error"]["code"]), (400, -32602))
        for body, code in ((b"garbage", -32700), (b"[]", -32600)):
            status, _, messages = self.exchange("POST", body, {"MCP-Protocol-Version": MODERN})
            self.assertEqual((status, messages[0]["error"]["code"]), (400, code))
        self.assertEqual(self.send("POST", b"{}", {"Content-Type": "text/plain"}).getresponse().status,
                         415)

    def test_a_closed_connection_stops_the_code(self):
        text = self.modern_call("rlm_exec", code="import time")["content"][0]["text"]
        name = text.split("[session] ")[1].split(":")[0]
        params = {"name": "rlm_exec", "_meta": {**META, "progressToken": 1},
                  "arguments": {"code": "while True:\n  print('tick', flush=True)\n  time.sleep(0.05)",
                                "timeout": 100, "session": name}}
        connection = self.send("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                        "params": params},
                               self.modern_headers("tools/call", params))
        answer = connection.getresponse()
        self.assertIn(b"tick", answer.readline() + answer.readline())
        answer.close()
        connection.close()
        result = self.modern_call("rlm_exec", code="'free'", session=name)
        self.assertTrue(result["content"][0]["text"].startswith("'free'"), result)

    def test_strangers_are_turned_away(self):
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            status = self.post("server/discover", {"_meta": META}, {
                **self.modern_headers("server/discover", {}), **headers})[0]
            self.assertIn(status, (400, 403, 421), headers)
