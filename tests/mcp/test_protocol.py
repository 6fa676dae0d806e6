"""Both dialects, and everything that is neither: no message ends the server."""
import json
import os

from harness import META, MODERN, McpTest


class Dialects(McpTest):
    def test_initialize_agrees_on_the_version_that_was_asked_for(self):
        for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"):
            with self.subTest(version):
                server = self.server(initialize=False)
                result = server.initialize(version)
                self.assertEqual(result["protocolVersion"], version)
                self.assertEqual(result["serverInfo"]["name"], "caisson")
                self.assertLess(len(result["instructions"].encode()), 2048)
                self.assertEqual(server.end(), 0)

    def test_an_unknown_version_is_answered_with_the_newest_that_has_initialize(self):
        result = self.server(initialize=False).initialize("1999-01-01")
        self.assertEqual(result["protocolVersion"], "2025-11-25")

    def test_discover_needs_no_initialize(self):
        server = self.server(initialize=False)
        result = server.modern("server/discover")["result"]
        self.assertEqual(result["supportedVersions"], [MODERN])
        self.assertEqual(result["resultType"], "complete")
        self.assertIn("tools", result["capabilities"])
        self.assertEqual(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "caisson")

    def test_nothing_is_started_and_nothing_is_written_before_the_first_call(self):
        server = self.server()
        server.request("tools/list")
        server.request("resources/list")
        server.request("prompts/list")
        server.modern("tools/list")
        self.assertEqual(self.cells(server.process.pid), set())
        # Its folder is there, since it could not be let in later; it is empty, and its lock beside it.
        files = [os.path.join(folder, name) for folder, _, names in os.walk(self.state)
                 for name in names]
        self.assertEqual([(os.path.basename(os.path.dirname(one)), os.path.splitext(one)[1],
                           os.path.getsize(one)) for one in files], [("passing", ".lock", 0)])
        self.assertEqual(os.listdir(self.home), [])

    def test_tools_are_the_same_in_both_dialects_and_carry_what_clients_need(self):
        server = self.server()
        old = server.request("tools/list")["result"]["tools"]
        new = server.modern("tools/list")["result"]
        self.assertEqual(old, new["tools"])
        self.assertEqual(new["cacheScope"], "public")
        self.assertEqual([t["name"] for t in old], [
            "rlm_exec", "rlm_load", "rlm_get", "rlm_vars", "rlm_sub_agent", "rlm_reset",
            "rlm_checkpoint", "rlm_restore", "rlm_branch"])
        for tool in old:
            self.assertIn("session", tool["inputSchema"]["properties"])
            self.assertFalse(tool["inputSchema"]["additionalProperties"])
            # Claude Code shows a model only the structured half of a result that has one.
            self.assertNotIn("outputSchema", tool)
        self.assertTrue(old[0]["_meta"]["anthropic/alwaysLoad"])
        self.assertTrue(old[3]["annotations"]["readOnlyHint"])
        self.assertFalse(old[2]["annotations"]["readOnlyHint"])  # its query is code
        self.assertLessEqual({"max_iterations", "max_llm_calls"}, set(old[4]["inputSchema"]["properties"]))
        self.assertTrue(old[5]["annotations"]["destructiveHint"])

    def test_prompts_and_completion(self):
        server = self.server()
        names = [p["name"] for p in server.request("prompts/list")["result"]["prompts"]]
        self.assertEqual(names, ["rules", "explore"])
        text = server.request("prompts/get", {
            "name": "explore", "arguments": {"path": "a.txt", "question": "why?"}})
        self.assertIn("a.txt", text["result"]["messages"][0]["content"]["text"])
        missing = server.request("prompts/get", {"name": "explore", "arguments": {"path": "a"}})
        self.assertEqual(missing["error"]["code"], -32602)
        done = server.request("completion/complete", {
            "ref": {"type": "ref/resource", "uri": "rlm://{session}/outputs/{number}"},
            "argument": {"name": "session", "value": ""}})
        self.assertEqual(done["result"]["completion"]["values"], [])
        for session in ("one", "two"):
            server.text("rlm_exec", code="print('x' * 30000)", session=session)
        for context, numbers in (({}, ["2", "1"]), ({"arguments": {"session": "one"}}, ["1"])):
            done = server.request("completion/complete", {
                "ref": {"type": "ref/resource", "uri": "rlm://{session}/outputs/{number}"},
                "argument": {"name": "number", "value": ""}, "context": context})
            self.assertEqual(done["result"]["completion"]["values"], numbers)

    def test_subscriptions_are_acknowledged_and_end_by_cancellation(self):
        server = self.server(initialize=False)
        listening = server.start("subscriptions/listen", {
            "notifications": {"toolsListChanged": True}, "_meta": META})
        ack = server.read()
        self.assertEqual(ack["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(
            ack["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening)
        # The tools of one binary never change, and no promise is made that they do.
        self.assertEqual(ack["params"]["notifications"], {})
        server.notify("notifications/cancelled", {"requestId": listening})
        self.assertIn("result", server.modern("server/discover"))

    def test_batches_belong_to_one_version(self):
        pair = [{"jsonrpc": "2.0", "id": "a", "method": "ping"},
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                {"jsonrpc": "2.0", "id": "b", "method": "nothing/such"}]
        server = self.server(initialize=False)
        server.initialize("2025-03-26")
        server.send(pair)
        answers = server.read()
        self.assertEqual(answers[0], {"jsonrpc": "2.0", "id": "a", "result": {}})
        self.assertEqual(answers[1]["error"]["code"], -32601)
        later = self.server()
        later.send(pair)
        self.assertEqual(later.read()["error"]["code"], -32600)


class WrongMessages(McpTest):
    def error_of(self, server, line):
        server.send_bytes(line + b"\n")
        answer = server.read()
        self.assertIn("error", answer)
        return answer["id"], answer["error"]["code"]

    def test_each_gets_its_error_and_the_server_goes_on(self):
        server = self.server()
        deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 70 + b"]" * 70 + b"}}"
        cases = [
            (b"garbage", None, -32700),
            (b"\xff\xfe\x00", None, -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping"', None, -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"pi\xffng"}', None, -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', None, -32700),
            (deep, 1, -32700),
            (b"[]", None, -32600),
            (b"17", None, -32600),
            (b'"text"', None, -32600),
            (b"{}", None, -32600),
            (b'{"id":7,"method":"ping"}', 7, -32600),
            (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
            (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, -32600),
            (b'{"jsonrpc":"2.0","id":"' + b"x" * 300 + b'","method":"ping"}', None, -32600),
            (b'{"jsonrpc":"2.0","id":7,"method":5}', 7, -32600),
            (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', 7, -32602),
            (b'{"jsonrpc":"2.0","id":7,"method":"nothing/such"}', 7, -32601),
            (b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}', 7, -32602),
            (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}}', 7, -32602),
            (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rlm_vars",'
             b'"arguments":5}}', 7, -32602),
            (b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}', 7, -32602),
            (b'{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"rlm://x/outputs/1"}}',
             7, -32002),
            (b'{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"loud"}}',
             7, -32602),
            (b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":'
             b'{"protocolVersion":"2025-11-25"}}', 7, -32600),
        ]
        for line, request, code in cases:
            with self.subTest(line[:80]):
                self.assertEqual(self.error_of(server, line), (request, code))
        self.assertEqual(server.request("ping")["result"], {})

    def test_a_message_of_more_than_8_MiB_is_refused_and_skipped(self):
        server = self.server()
        long = b"x" * (9 << 20)
        # The id may stand on either side, and what looks like one deeper inside is none.
        for line, request in (
                (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"' + long + b'"}}', 1),
                (b'{"method":"ping","params":{"id":7,"a":"' + long + b'"},"jsonrpc":"2.0", "id" : "b"}', "b"),
                (b'{"method":"ping","params":{"id":7,"a":"\\",\\"id\\":3,' + long + b'"}}', None),
                (b'{"id":1,"method":"ping","a":"' + long + b'","id":2}', None),
                (long, None)):
            self.assertEqual(self.error_of(server, line), (request, -32600))
        self.assertEqual(server.request("ping")["result"], {})

    def test_half_of_a_character_is_taken_for_none(self):
        server = self.server()
        for written, meant in ((b"\\ud83d", "\ufffd"), (b"\\uDE00!", "\ufffd!"),
                               (b"\\ud83d\\ude00", "\U0001f600"), (b"\\\\ud83d", "\\ud83d"),
                               (b"\\ud83d\\ud83d\\ude00", "\ufffd\U0001f600")):
            with self.subTest(written):
                server.send_bytes(b'{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":'
                                  b'"explore","arguments":{"path":"a' + written + b'z","question":"q"}}}\n')
                text = server.answer(5)["result"]["messages"][0]["content"]["text"]
                self.assertIn(f"a{meant}z", text)

    def test_a_message_may_come_in_pieces_and_blank_lines_are_nothing(self):
        server = self.server()
        for piece in (b"\n  \r\n", b'{"jsonrpc":"2.0","id":9', b'9,"method":', b'"ping"}', b"\n"):
            server.send_bytes(piece)
        self.assertEqual(server.read(), {"jsonrpc": "2.0", "id": 99, "result": {}})

    def test_half_a_message_at_the_end_is_no_message(self):
        server = self.server()
        server.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        self.assertEqual(server.end(), 0)
        self.assertEqual(server.process.stdout.read(), b"")

    def test_wrong_dialects(self):
        server = self.server(initialize=False)
        self.assertEqual(server.request("tools/list")["error"]["code"], -32600)
        self.assertEqual(server.request("server/discover")["error"]["code"], -32602)
        bad = server.request("server/discover", {"_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN}})
        self.assertEqual(bad["error"]["code"], -32602)
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
            self.assertEqual(server.modern(method)["error"]["code"], -32601, method)
        other = server.modern("tools/list", meta={
            "io.modelcontextprotocol/protocolVersion": "2099-01-01"})
        self.assertEqual(other["error"]["code"], -32022)
        self.assertEqual(other["error"]["data"],
                         {"supported": [MODERN], "requested": "2099-01-01"})
        server.initialize()
        self.assertEqual(server.request("subscriptions/listen")["error"]["code"], -32602)

    def test_an_id_that_is_in_use_is_refused_and_the_first_request_goes_on(self):
        server = self.server()
        running = server.start_call("rlm_exec", code="import time; time.sleep(0.5); 'first'")
        server.send({"jsonrpc": "2.0", "id": running, "method": "tools/call",
                     "params": {"name": "rlm_vars", "arguments": {}}})
        first, second = server.answer(running), server.answer(running)
        self.assertEqual(first["error"]["code"], -32600)
        self.assertIn("first", json.dumps(second["result"]))

    def test_answers_to_nothing_are_passed_over(self):
        server = self.server()
        server.send({"jsonrpc": "2.0", "id": 5, "result": {}})
        server.send({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}})
        server.send({"jsonrpc": "2.0", "error": 5})
        server.notify("notifications/cancelled", {"requestId": 12345})
        server.notify("notifications/cancelled")
        server.notify("no/such/thing")
        self.assertEqual(server.request("ping")["result"], {})

    def test_a_client_that_asks_too_much_at_once_is_told(self):
        server = self.server()
        server.text("rlm_exec", code="1")
        running = server.start_call("rlm_exec", code="import time; time.sleep(1000)", timeout=900)
        first = [server.start_call("rlm_exec", code="1") for _ in range(63)]
        over = server.answer(server.start_call("rlm_exec", code="1"))
        self.assertEqual(over["error"]["code"], -32603)
        server.notify("notifications/cancelled", {"requestId": running})
        for request in first:
            self.assertIn("result", server.answer(request))
