"""Sessions over /v1: each route, two at once, streams in order."""
import errno
import fcntl
import json
import os
import signal
import threading
import time

from harness import JSON, ServerTest, wait_for


class Sessions(ServerTest):
    def test_a_session_from_its_beginning_to_its_end(self):
        made = self.ok("POST", "/v1/sessions", {"name": "whole"}, status=201).json
        self.assertEqual((made["name"], made["alive"]), ("whole", True))
        listed = self.ok("GET", "/v1/sessions").json["sessions"]
        self.assertIn("whole", [each["name"] for each in listed])
        self.assertEqual(self.exec("whole", "6 * 7")["value"]["text/plain"], "42")
        self.assertEqual(self.ok("DELETE", "/v1/sessions/whole").json,
                         {"ended": "whole", "saved": False})
        self.assert_refused(self.ask("GET", "/v1/sessions/whole"), 404)

    def test_names(self):
        name = self.new()
        self.assertTrue(name)
        self.assert_refused(self.ask("POST", "/v1/sessions", {"name": name}), 409, name)
        for bad in ("../x", "a/b", "", "x" * 65, "-x", "a b", "\x00"):
            if bad:
                answer = self.ask("POST", "/v1/sessions", {"name": bad})
                self.assertGreaterEqual(answer.status, 400, bad)
                self.assertLess(answer.status, 500, bad)

    def test_unknown_members_are_refused(self):
        self.assert_refused(self.ask("POST", "/v1/sessions", {"memory": "1G"}), 400, "memory")
        self.assert_refused(self.ask("POST", "/v1/sessions", {"pids": -1}), 400, "pids")

    def test_limits_are_told_and_hold(self):
        name = self.new(memory_bytes=256 << 20, timeout_ms=5000, output_bytes=4096)
        limits = self.ok("GET", f"/v1/sessions/{name}/limits").json
        self.assertEqual((limits["memory_bytes"], limits["output_bytes"]), (256 << 20, 4096))
        answer = self.exec(name, "print('x' * 100000)")
        self.assertLessEqual(len(answer["output"]), 4096)
        self.assertGreater(answer["output_cut"], 0)

    def test_how_calls_end(self):
        name = self.new()
        self.assertEqual(self.exec(name, "1")["status"], "ok")
        raised = self.exec(name, "1 / 0")
        self.assertEqual((raised["status"], raised["error"]["type"]), ("error", "ZeroDivisionError"))
        late = self.exec(name, "import time; time.sleep(60)", timeout_ms=200)
        self.assertEqual(late["status"], "timeout", late)
        self.assertEqual(self.exec(name, "'again'")["status"], "ok")

    def test_a_timeout_below_a_millisecond_is_one_and_zero_is_refused(self):
        name = self.new()
        self.assertEqual(self.exec(name, "while 1: pass", timeout_ms=0.2)["status"], "timeout")
        path = f"/v1/sessions/{name}/exec"
        for zero in (0, 0.0):
            self.assert_refused(self.ask("POST", path, {"code": "1", "timeout_ms": zero}), 400,
                                "timeout_ms", "at least 1")
        self.assertEqual(self.exec(name, "1", timeout_ms=None)["status"], "ok")

    def test_what_the_interpreter_notes_is_told(self):
        name = self.new()
        said = ["6 rich results were left out: too many or too large"]
        self.assertEqual(self.exec(name, "for i in range(70): display(i)")["notes"], said)
        shown = self.server.cli("exec", name, "-c", "for i in range(70): display(i)")
        self.assertEqual((shown.code, shown.err), (0, f"caisson: {said[0]}\n"), shown)

    def test_members_that_exec_does_not_know_are_refused(self):
        name = self.new()
        for more in ({"timeout": 1}, {"bogus": 3}):
            answer = self.ask("POST", f"/v1/sessions/{name}/exec", {"code": "x = 1", **more})
            self.assert_refused(answer, 400, next(iter(more)), "code timeout_ms")
        self.assertEqual(self.ask("GET", f"/v1/sessions/{name}/vars/x").status, 404)

    def test_a_repr_that_does_not_end_has_the_time_of_a_call(self):
        name = self.new(timeout_ms=1000)
        self.exec(name, "class Q:\n    def __repr__(self):\n        while 1: pass\nq = Q()")
        answer = self.ok("GET", f"/v1/sessions/{name}/vars/q").json
        self.assertEqual(answer["status"], "timeout", answer)
        self.assertEqual(self.exec(name, "1")["status"], "ok")

    def test_a_client_that_leaves_stops_whatever_it_waited_for(self):
        name = self.new(timeout_ms=600_000)
        self.exec(name, "def forever(self, *_):\n    while 1: pass\n"
                        "class Q: __repr__ = __reduce_ex__ = forever\nq, kept = Q(), 1")
        path = f"/v1/sessions/{name}"
        for method, rest, body in (("GET", "/vars/q", None), ("GET", "/snapshot", None),
                                   ("POST", "/evaluate", {"expression": "forever(0)"})):
            with self.subTest(rest):
                connection = self.server.connection()
                connection.request(method, path + rest, body=body and json.dumps(body).encode(),
                                   headers=JSON if body else {})
                wait_for(lambda: self.ask("GET", path).json["busy"], "a busy session")
                connection.close()
                # It waited its turn, and none of the minutes that those calls had.
                self.assertEqual(self.exec(name, "kept")["value"]["text/plain"], "1")

    def folder(self, **files):
        """Of the host, with these files in it; `_` for the dot."""
        top = os.path.join(self.server.project, self.id().rsplit(".", 1)[1])
        os.makedirs(top, exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(top, name.replace("_", ".")), "wb") as out:
                out.write(data)
        return top

    def test_a_folder_is_loaded_but_for_the_files_that_are_no_values(self):
        name = self.new()
        top = self.folder(a_txt=b"one", b_gz=b"not gzip", c_json=b"[1, 2]")
        answer = self.ok("POST", f"/v1/sessions/{name}/load", {"path": top, "name": "d"}).json
        self.assertEqual((answer["status"], answer["files"]), ("ok", 2), answer)
        self.assertRegex("\n".join(answer["notes"]), "left out: b.gz: CannotLoad: not a gzip file")
        variable = answer["variable"]
        self.assertEqual((variable["type"], variable["length"]), ("dict", 2))
        value = self.ok("GET", f"/v1/sessions/{name}/vars/d").json["value"]
        self.assertEqual(value, {"a.txt": "one", "c.json": [1, 2]})

    def test_a_folder_of_which_nothing_can_be_loaded_leaves_the_variable(self):
        name = self.new()
        self.exec(name, "d = 1")
        top = self.folder(b_gz=b"not gzip", a_gz=b"nor this")
        answer = self.ok("POST", f"/v1/sessions/{name}/load", {"path": top, "name": "d"}).json
        self.assertEqual((answer["status"], answer["error"]["type"]), ("error", "CannotLoad"), answer)
        for each in ("a.gz", "b.gz"):
            self.assertIn(f"left out: {each}: ", "\n".join(answer["notes"]))
        self.assertEqual(self.exec(name, "d")["value"]["text/plain"], "1")

    def test_a_name_that_is_no_text_is_refused(self):
        name = self.new()
        self.assert_refused(self.ask("GET", f"/v1/sessions/{name}/vars/%ff"), 400, "UTF-8")
        self.assert_refused(self.ask("PUT", f"/v1/sessions/{name}/vars/%ff", b"1"), 400, "UTF-8")

    def test_load_knows_what_it_may_be_loaded_as(self):
        name = self.new()
        top = self.folder(a_txt=b"one")
        answer = self.ask("POST", f"/v1/sessions/{name}/load",
                          {"path": top, "name": "d", "as": "nonsense"})
        self.assert_refused(answer, 400, "nonsense", "auto, text, bytes or dataframe")

    def test_two_sessions_at_once(self):
        """One waits, the other answers meanwhile; neither sees the other's names."""
        one, two = self.new(), self.new()
        self.exec(one, "mine = 1")
        answers = {}

        def wait():
            answers["one"] = self.exec(one, "import os, time\nwhile not os.path.exists('go'):\n"
                                            "  time.sleep(0.01)\nmine")

        thread = threading.Thread(target=wait)
        thread.start()
        wait_for(lambda: self.ask("GET", f"/v1/sessions/{one}").json["busy"], "a busy session")
        self.assertEqual(self.exec(two, "'mine' in dir()")["value"]["text/plain"], "False")
        self.assertEqual(answers, {})
        self.ok("PUT", f"/v1/sessions/{one}/files/go", b"now", status=201)
        thread.join()
        self.assertEqual(answers["one"]["value"]["text/plain"], "1")

    def test_calls_of_one_session_take_turns(self):
        name = self.new()
        self.exec(name, "order = []")
        threads = [threading.Thread(target=self.exec, args=(name, f"order.append({i})"))
                   for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        value = self.ok("GET", f"/v1/sessions/{name}/vars/order").json["value"]
        self.assertEqual(sorted(value), list(range(8)))

    def test_keep_alive(self):
        name = self.new()
        connection = self.server.connection()
        for i in range(20):
            answer = self.ok("POST", f"/v1/sessions/{name}/exec", {"code": f"{i} + 1"},
                             connection=connection)
            self.assertEqual(answer.json["value"]["text/plain"], str(i + 1))
        connection.close()

    def test_interrupt(self):
        name = self.new()
        self.exec(name, "kept = 1")
        answers = []
        thread = threading.Thread(
            target=lambda: answers.append(self.exec(name, "import time\ntime.sleep(60)")))
        thread.start()
        path = f"/v1/sessions/{name}"
        wait_for(lambda: self.ask("GET", path).json["busy"], "a busy session")
        while thread.is_alive():
            self.ok("POST", path + "/interrupt")
            thread.join(0.1)
        self.assertEqual(answers[0]["status"], "interrupted", answers)
        self.assertEqual(self.exec(name, "kept")["value"]["text/plain"], "1")

    def test_a_client_that_leaves_stops_its_call_only(self):
        name = self.new(timeout_ms=60000)
        self.exec(name, "kept = 1")
        connection = self.server.connection()
        connection.request("POST", f"/v1/sessions/{name}/exec", body=json.dumps(
            {"code": "import time\ntime.sleep(60)"}).encode(), headers=JSON)
        wait_for(lambda: self.ask("GET", f"/v1/sessions/{name}").json["busy"], "a busy session")
        connection.close()
        self.assertEqual(self.exec(name, "kept")["value"]["text/plain"], "1")  # waited its turn

    def test_an_end_that_saves_can_be_taken_up(self):
        self.ok("POST", "/v1/sessions", {"name": "resumed"}, status=201)
        self.exec("resumed", "x = 'kept'")
        self.assertTrue(self.ok("DELETE", "/v1/sessions/resumed?save=1").json["saved"])
        self.new("resumed")  # without asking, nothing comes back
        self.assertEqual(self.exec("resumed", "'x' in dir()")["value"]["text/plain"], "False")
        self.ok("DELETE", "/v1/sessions/resumed")
        made = self.ok("POST", "/v1/sessions", {"name": "resumed", "resume": True}, status=201).json
        self.assertIn("x", " ".join(made["notes"]))
        self.assertEqual(self.exec("resumed", "x")["value"]["text/plain"], "'kept'")

    def test_code_in_a_session_cannot_reach_the_server(self):
        """Neither its port nor its socket; from the host both answer."""
        name = self.new()
        code = f"""
import socket
def reach(family, address):
    with socket.socket(family) as sock:
        sock.settimeout(2)
        try:
            sock.connect(address)
        except OSError as error:
            return type(error).__name__
        return 'reached'
found = [reach(socket.AF_INET, ('127.0.0.1', {self.server.ports[0]})),
         reach(socket.AF_UNIX, {self.server.socket!r})]
"""
        self.exec(name, code)
        found = self.ok("GET", f"/v1/sessions/{name}/vars/found").json["value"]
        self.assertNotIn("reached", found)
        scope = {}
        exec(code, scope)  # the probe itself works
        self.assertEqual(scope["found"], ["reached", "reached"])

    def test_policy_words_are_options_only(self):
        self.assert_refused(self.ask("POST", "/v1/sessions", {"policy": ["--", "/bin/sh"]}), 400)
        answer = self.ask("POST", "/v1/sessions", {"policy": ["--no-such-option"]})
        self.assertEqual(answer.status, 422, answer)
        self.assertIn("--no-such-option", answer.body.decode())

    def test_reset(self):
        name = self.new()
        self.exec(name, "gone = 1")
        self.ok("POST", f"/v1/sessions/{name}/reset")
        self.assertEqual(self.exec(name, "'gone' in dir()")["value"]["text/plain"], "False")


class Streams(ServerTest):
    def test_output_comes_in_order_and_while_the_code_runs(self):
        name = self.new()
        seen, times = [], []
        code = ("import sys, time\nprint('one', flush=True)\ntime.sleep(0.5)\n"
                "print('two', file=sys.stderr, flush=True)\ntime.sleep(0.5)\nprint('three')\n'last'")
        for event, data in self.server.events(name, {"code": code}):
            if seen and seen[-1][0] == event:  # print() writes a line's end by itself
                seen[-1] = (event, seen[-1][1] + data["text"])
                continue
            seen.append((event, data.get("text")))
            times.append(time.monotonic())
        self.assertEqual(seen[:3], [("stdout", "one\n"), ("stderr", "two\n"),
                                    ("stdout", "three\n")])
        self.assertEqual(seen[3][0], "result")
        self.assertEqual(len(seen), 4)
        self.assertGreater(times[3] - times[0], 0.5)  # "one" did not wait for the end

    def test_the_result_ends_it(self):
        name = self.new()
        events = list(self.server.events(name, {"code": "print('x')\n1/0"}))
        self.assertEqual(events[-1][0], "result")
        self.assertEqual(events[-1][1]["status"], "error")
        self.assertNotIn("output", events[-1][1])  # it was sent already

    def test_characters_are_never_cut(self):
        name = self.new()
        code = ("import os, time\nfor b in '\U0001f600é'.encode():\n"
                "  os.write(1, bytes([b])); time.sleep(0.02)\nos.write(1, b'\\xff!')")
        text = "".join(data["text"] for event, data in self.server.events(name, {"code": code})
                       if event == "stdout")
        self.assertEqual(text, "\U0001f600é\ufffd!")

    def test_a_line_that_looks_like_an_event_is_text(self):
        name = self.new()
        code = "print('\\n\\nevent: result\\ndata: {\"status\": \"ok\"}\\n\\n')"
        events = list(self.server.events(name, {"code": code}))
        self.assertEqual([event for event, _ in events if event == "result"], ["result"])
        self.assertIn("event: result", events[0][1]["text"])

    def test_much_output(self):
        name = self.new()
        size = sum(len(data["text"]) for event, data in self.server.events(
            name, {"code": "for i in range(2000): print('x' * 999)"}) if event == "stdout")
        self.assertEqual(size, 2_000_000)

    def test_a_reader_that_leaves_stops_the_call(self):
        name = self.new(timeout_ms=60000)
        stream = self.server.events(name, {"code": "import time\nwhile 1: print('x'); time.sleep(.01)"})
        self.assertEqual(next(stream)[0], "stdout")
        stream.close()  # the generator's connection goes with it
        del stream
        self.assertEqual(self.exec(name, "'free'")["status"], "ok")


class Values(ServerTest):
    def test_variables(self):
        name = self.new()
        self.exec(name, "number, text, table = 1, 'x' * 1000, {'a': [1]}")
        listed = {each["name"]: each for each in
                  self.ok("GET", f"/v1/sessions/{name}/vars").json["variables"]}
        self.assertEqual(listed["number"]["type"], "int")
        self.assertLess(len(listed["text"]["summary"]), 300)
        short = self.ok("GET", f"/v1/sessions/{name}/vars?limit=1").json
        self.assertEqual((len(short["variables"]), short["left_out"]), (1, 2))
        self.assertEqual(self.ok("GET", f"/v1/sessions/{name}/vars/table").json["value"],
                         {"a": [1]})
        self.assert_refused(self.ask("GET", f"/v1/sessions/{name}/vars/nowhere"), 404)
        self.assert_refused(self.ask("GET", f"/v1/sessions/{name}/vars?limit=x"), 400)

    def test_set(self):
        name = self.new()
        path = f"/v1/sessions/{name}/vars/"
        for body, kind, code in (
                ('{"a": "\U0001f600"}'.encode(), "application/json", "v == {'a': '\\U0001f600'}"),
                ("\U0001f600".encode(), "text/plain; charset=utf-8", "v == '\\U0001f600'"),
                (bytes(range(256)), "application/octet-stream", "v == bytes(range(256))")):
            answer = self.ok("PUT", path + "v", body, headers={"Content-Type": kind})
            self.assertEqual(answer.json["status"], "ok", answer)
            self.assertEqual(self.exec(name, code)["value"]["text/plain"], "True", kind)
        for bad in ("class", "a-b", "1x"):
            self.assertEqual(self.ask("PUT", path + bad, b"x").json.get("status"), "error", bad)

    def test_large_values(self):
        name = self.new()
        body = os.urandom(1 << 20) * 8
        self.ok("PUT", f"/v1/sessions/{name}/vars/big", body)
        self.assertEqual(self.exec(name, "len(big)")["value"]["text/plain"], str(len(body)))

    def test_evaluate(self):
        name = self.new()
        self.exec(name, "x = 20")
        answer = self.ok("POST", f"/v1/sessions/{name}/evaluate", {"expression": "x * 2 + 2"}).json
        self.assertEqual((answer["kind"], answer["value"]), ("json", 42))
        cut = self.ok("POST", f"/v1/sessions/{name}/evaluate",
                      {"expression": "object()", "max_bytes": 5}).json
        self.assertEqual((cut["kind"], cut["cut"]), ("text", True))

    def test_load_and_what_it_denies(self):
        name = self.new()
        path = os.path.join(self.server.project, "data.json")
        with open(path, "w") as out:
            out.write('{"loaded": true}')
        load = f"/v1/sessions/{name}/load"
        self.assertEqual(self.ok("POST", load, {"path": path, "name": "data"}).json["status"], "ok")
        self.assertEqual(self.exec(name, "data")["value"]["text/plain"], "{'loaded': True}")
        secret = os.path.join(self.server.home, ".ssh", "id_rsa")
        os.makedirs(os.path.dirname(secret), exist_ok=True)
        with open(secret, "w") as out:
            out.write("secret")
        link = os.path.join(self.server.project, "innocent")
        os.symlink(secret, link)
        for place in (secret, link):
            answer = self.ask("POST", load, {"path": place, "name": "stolen"})
            self.assertGreaterEqual(answer.status, 400, answer)
        self.assertEqual(self.exec(name, "'stolen' in dir()")["value"]["text/plain"], "False")
        self.assert_refused(self.ask("POST", load, {"path": path}), 400, "name")
        told = self.ok("GET", f"/v1/sessions/{name}/denials").json
        self.assertEqual([(each["rule"], each["resource"]) for each in told["denials"]],
                         [("load", secret), ("load", link)])
        missing = self.ask("POST", load, {"path": "/nowhere/at/all", "name": "x"})
        self.assertGreaterEqual(missing.status, 400)

    def test_what_the_network_refuses_is_told(self):
        name = self.new(policy=["--allow-domain", "allowed.example"])
        self.assertEqual(self.ok("GET", f"/v1/sessions/{name}/denials").json["denials"], [])
        self.exec(name, "import urllib.request\ntry: urllib.request.urlopen('http://denied.example/')\n"
                        "except OSError: pass")

        def told():
            return self.ok("GET", f"/v1/sessions/{name}/denials").json["denials"]
        wait_for(lambda: [each for each in told() if "denied.example" in each["resource"]],
                 "the denial of the network")
        self.assertTrue(all(each["rule"] and each["how"] for each in told()), told())

    def test_what_the_rules_for_files_refuse_is_told(self):
        folder = os.path.join(self.server.project, "guarded")
        os.makedirs(os.path.join(folder, "hidden"))
        with open(os.path.join(folder, "hidden", "key"), "w") as out:
            out.write("secret")
        settings = os.path.join(self.server.project, "guarded.json")
        with open(settings, "w") as out:
            json.dump({"filesystem": {"denyRead": [folder + "/hidden"], "allowWrite": [folder],
                                      "denyWrite": []},
                       "network": {"allowedDomains": [], "deniedDomains": []}}, out)
        name = self.new(policy=["--settings", settings])
        said = self.exec(name, "open(%r).read()" % (folder + "/hidden/key"))
        self.assertEqual(said["status"], "error", said)
        self.exec(name, "open(%r, 'w').write('x') and None" % (folder + "/fine"))
        wait_for(lambda: self.ok("GET", f"/v1/sessions/{name}/denials").json["total"],
                 "the denial of the file")
        told = self.ok("GET", f"/v1/sessions/{name}/denials").json["denials"]
        self.assertEqual([each["resource"] for each in told], [folder + "/hidden/key"])


class Files(ServerTest):
    def test_in_and_out(self):
        name = self.new()
        path = f"/v1/sessions/{name}/files"
        body = bytes(range(256)) * 10
        self.ok("PUT", path + "/in/deep/a%20file.bin", body, status=201)
        code = "open('/workspace/in/deep/a file.bin','rb').read() == bytes(range(256)) * 10"
        self.assertEqual(self.exec(name, code)["value"]["text/plain"], "True")
        self.exec(name, "open('/workspace/out.txt', 'w').write('from inside')")
        answer = self.ok("GET", path + "/out.txt")
        self.assertEqual(answer.body, b"from inside")
        self.assertEqual(answer.headers["Content-Type"], "application/octet-stream")
        listed = {each["name"]: each for each in self.ok("GET", path).json["files"]}
        self.assertEqual((listed["out.txt"]["type"], listed["out.txt"]["size"]), ("file", 11))
        self.assertEqual(listed["in"]["type"], "folder")
        self.assertEqual(len(self.ok("GET", path + "/in/deep").json["files"]), 1)
        for folder in ("", "/in"):
            self.assertEqual(self.ok("GET", path + folder + "/").body, self.ok("GET", path + folder).body)
        self.assert_refused(self.ask("GET", path + "//in"), 400)
        self.assert_refused(self.ask("PUT", path + "/", b"x"), 400)
        self.ok("DELETE", path + "/out.txt")
        self.assert_refused(self.ask("GET", path + "/out.txt"), 404)

    def test_a_lease_holds_nobody(self):
        """A file that somebody holds a lease on can't be opened until they let go: that is told at once,
        and the server, which has one loop for all, waits for nobody. Code of a session gets none."""
        name, other = self.new(), self.new()
        path = f"/v1/sessions/{name}/files/leased"
        self.exec(name, "import fcntl\nwith open('/workspace/leased', 'w') as file: file.write('mine')")
        self.assertEqual(self.ok("GET", path).body, b"mine")
        tried = self.exec(name, "try: fcntl.fcntl(open('/workspace/leased'), fcntl.F_SETLEASE, 0)\n"
                                "except OSError as e: print(e.errno)")
        self.assertEqual(tried["output"], f"{errno.EINVAL}\n")
        workspace = self.ok("GET", f"/v1/sessions/{name}").json["workspace"]
        before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # how a holder is asked to let go
        try:
            with open(os.path.join(workspace, "leased"), "r+b") as held:
                fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                self.assert_refused(self.ask("GET", path), 409)
                self.assertEqual(self.exec(other, "1 + 1")["value"]["text/plain"], "2")
        finally:
            signal.signal(signal.SIGIO, before)
        self.assertEqual(self.ok("GET", path).body, b"mine")

    def test_no_way_out_of_the_workspace(self):
        """Whatever the cell puts there: links, magic links, pipes, sockets, swapped folders."""
        name = self.new()
        path = f"/v1/sessions/{name}/files"
        outside = os.path.join(self.server.project, "outside")
        os.makedirs(outside, exist_ok=True)
        with open(os.path.join(outside, "secret"), "w") as out:
            out.write("secret")
        self.exec(name, f"""
import os, socket
os.chdir('/workspace')
os.symlink({outside!r} + '/secret', 'link')
os.symlink({outside!r}, 'folder')
os.symlink('/proc/self/root', 'magic')
os.symlink('..', 'up')
os.mkfifo('pipe')
s = socket.socket(socket.AF_UNIX); s.bind('sock')
""")
        for place in ("link", "folder/secret", "folder", "magic/etc/passwd", "up", "up/x", "pipe",
                      "sock"):
            with self.subTest(place):
                answer = self.ask("GET", f"{path}/{place}")
                self.assertIn(answer.status, (403, 404, 422), answer)
                self.assertNotIn(b"secret\n", answer.body)
        for place in ("folder/planted", "magic/tmp/planted", "up/planted"):
            self.assertGreaterEqual(self.ask("PUT", f"{path}/{place}", b"x").status, 400, place)
        self.assertEqual(os.listdir(outside), ["secret"])
        self.ok("PUT", path + "/link", b"replaced", status=201)  # the link itself, not its target
        with open(os.path.join(outside, "secret")) as kept:
            self.assertEqual(kept.read(), "secret")
        self.assertEqual(self.ok("GET", path + "/link").body, b"replaced")
        for place in ("..%2f..%2fetc", "%2e%2e/x", "a%00b"):
            self.assertEqual(self.ask("GET", f"{path}/{place}").status, 400, place)

    def test_sizes_are_bounded(self):
        name = self.new()
        workspace = self.ok("GET", f"/v1/sessions/{name}").json["workspace"]
        with open(os.path.join(workspace, "huge"), "wb") as huge:
            huge.truncate(1 << 40)
        self.assertEqual(self.ask("GET", f"/v1/sessions/{name}/files/huge").status, 413)


class Branches(ServerTest):
    def test_checkpoints(self):
        name = self.new()
        path = f"/v1/sessions/{name}/checkpoints"
        self.exec(name, "x = 1")
        self.ok("POST", path, {"name": "before"}, status=201)
        self.exec(name, "x = 2")
        self.assertIn("before", json.dumps(self.ok("GET", path).json))
        self.ok("POST", path + "/before/restore")
        self.assertEqual(self.exec(name, "x")["value"]["text/plain"], "1")
        self.ok("DELETE", path + "/before")
        self.assertGreaterEqual(self.ask("POST", path + "/before/restore").status, 400)

    def test_files_go_with_checkpoints_and_branches(self):
        name = self.new()
        at = f"/v1/sessions/{name}"
        self.ok("PUT", at + "/files/a", b"one", status=201)
        said = self.ok("POST", at + "/checkpoints", {"name": "c"}, status=201).json
        self.assertEqual(said["files"]["files"], 1)
        self.ok("POST", at + "/branches", {"name": name + "b"}, status=201)
        self.addCleanup(self.ask, "DELETE", f"/v1/sessions/{name}b")
        branch = self.ok("GET", f"/v1/sessions/{name}b").json
        self.assertEqual((branch["inside"], branch["layered"]), (f"/branches/{name}b", True))
        self.ok("PUT", f"/v1/sessions/{name}b/files/a", b"of the branch", status=201)
        self.ok("PUT", at + "/files/a", b"two", status=201)
        self.assertEqual(self.ok("GET", f"/v1/sessions/{name}b/files/a").body, b"of the branch")
        self.ok("POST", at + "/checkpoints/c/restore")
        self.assertEqual(self.ok("GET", at + "/files/a").body, b"one")
        # The folder of a branch is its code's to replace: no link of it is followed.
        self.ok("POST", f"/v1/sessions/{name}b/exec", {"code": (
            "import os; os.chdir('/'); os.rename('/branches/%sb', '/branches/x')\n"
            "os.symlink('/etc', '/branches/%sb')" % (name, name))})
        self.assertGreaterEqual(
            self.ask("GET", f"/v1/sessions/{name}b/files/passwd").status, 400)

    def test_a_branch_goes_its_own_way(self):
        name = self.new()
        self.exec(name, "x = 1")
        made = self.ok("POST", f"/v1/sessions/{name}/branches", {"name": "twig"}, status=201).json
        self.addCleanup(self.ask, "DELETE", "/v1/sessions/twig")
        self.assertEqual(made["parent"], name)
        self.exec("twig", "x += 10")
        self.assertEqual(self.exec("twig", "x")["value"]["text/plain"], "11")
        self.assertEqual(self.exec(name, "x")["value"]["text/plain"], "1")
        listed = self.ok("GET", f"/v1/sessions/{name}/branches").json["sessions"]
        self.assertEqual([each["name"] for each in listed], ["twig"])

    def test_snapshots(self):
        one, two = self.new(), self.new()
        self.exec(one, "x = {'deep': [1, 2]}\nimport threading\nlock = threading.Lock()")
        saved = self.ok("GET", f"/v1/sessions/{one}/snapshot").json
        self.assertIn("x", json.dumps(saved["saved"]))
        self.assertIn("lock", json.dumps(saved["skipped"]))
        back = self.ok("PUT", f"/v1/sessions/{two}/snapshot", {"data": saved["data"]}).json
        self.assertIn("x", json.dumps(back["restored"]))
        self.assertEqual(self.exec(two, "x")["value"]["text/plain"], "{'deep': [1, 2]}")
        self.exec(two, "import os\nos.register_at_fork(after_in_child=lambda: os._exit(7))")
        refused = self.ask("GET", f"/v1/sessions/{two}/snapshot").json["error"]["what"]
        self.assertRegex(refused, r"^the snapshot was not taken: CannotSave: .*\(with code 7\)$")
