"""`caisson mcp --settings FILE`: srt's settings are the policy of every session."""
import http.server
import json
import os
import socket
import subprocess
import threading

import harness
from harness import McpTest

FETCH = """
import urllib.request, urllib.error
def fetch(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer: return answer.read().decode()
    except urllib.error.HTTPError as error: return error.headers.get("X-Proxy-Error", str(error))
    except OSError as error: return "no way: " + str(error)
"""


class Greeter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello, " + self.headers.get("X-Key", "nobody").encode())

    def log_message(self, *_):
        pass


class Settings(McpTest):
    def settings(self, **keys):
        keys.setdefault("network", {"allowedDomains": [], "deniedDomains": []})
        keys["filesystem"] = {"denyRead": [], "allowWrite": [], "denyWrite": [],
                              **keys.get("filesystem", {})}
        return self.file("settings.json", json.dumps(keys))

    def start(self, *words, **keys):
        return self.server("--settings", self.settings(**keys), *words)

    def refuse(self, **keys):
        """What is said at the start about settings that can't be."""
        done = subprocess.run([harness.BINARY, "mcp", "--settings", self.settings(**keys)],
                              env=self.env, cwd=self.project, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=harness.DEADLINE, check=False)
        self.assertEqual(done.returncode, 125, done)
        return done.stderr

    def test_files(self):
        data = self.file("project/data/in.txt", "from outside")
        hidden = self.file("project/data/hidden.txt", "not for you")
        below = self.file("project/data/keys/key", "not for you")
        locked = self.file("project/out/locked.txt", "as it was")
        self.file("project/out/.bashrc", "as it was")
        other = self.file("other/file.txt", "never named")
        server = self.start(filesystem={"allowRead": ["data"], "denyRead": ["data/hidden.txt", "data/keys"],
                                        "allowWrite": ["out"], "denyWrite": ["out/locked.txt"]})
        self.assertEqual(server.text("rlm_exec", code=f"open({data!r}).read()"), "'from outside'")
        out = os.path.join(self.project, "out", "new.txt")
        server.text("rlm_exec", code=f"open({out!r}, 'w').write('made inside')")
        with open(out) as made:
            self.assertEqual(made.read(), "made inside")
        for path, mode in ((data, "a"), (hidden, "r"), (below, "r"), (locked, "a"), (other, "r"),
                           (os.path.join(self.project, "out", ".bashrc"), "a")):
            with self.subTest(path):
                server.fails("rlm_exec", code=f"open({path!r}, {mode!r})")
        # What a session has anyway is still there.
        server.text("rlm_exec", code="open('/workspace/f', 'w').write('x')")

    def test_hosts(self):
        here = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Greeter)
        threading.Thread(target=here.serve_forever, daemon=True).start()
        self.addCleanup(here.server_close)
        self.addCleanup(here.shutdown)
        port = here.server_address[1]
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            closed = unused.getsockname()[1]
        server = self.start(network={"allowedDomains": [f"localhost:{port}"], "deniedDomains": []})
        server.text("rlm_exec", code=FETCH)
        self.assertEqual(server.text("rlm_exec", code=f"fetch('http://localhost:{port}/')"),
                         "'hello, nobody'")
        self.assertIn("blocked-by-allowlist",
                      server.text("rlm_exec", code="fetch('http://example.com/')"))
        self.assertNotIn("hello", server.text("rlm_exec", code=f"fetch('http://localhost:{closed}/')"))

    def test_what_was_refused_is_told_with_the_result(self):
        server = self.start(network={"allowedDomains": ["api.example.com"], "deniedDomains": []})
        text = server.fails("rlm_exec", code="import socket; socket.getaddrinfo('other.example', 80)")
        self.assertIn("[denied] other.example", text)
        # Once for each, and not more than a few.
        many = ("for i in range(20):\n    for _ in range(2):\n        try: socket.getaddrinfo"
                "(f'h{i}.example', 80)\n        except OSError: pass")
        lines = server.text("rlm_exec", code=many).split("\n")
        denied = [line for line in lines if line.startswith("[denied]")]
        self.assertEqual(len(denied), 4, denied)
        self.assertIn("more", denied[-1])
        self.assertNotIn("[denied]", server.text("rlm_exec", code="1"))

    def test_instructions_follow_the_policy(self):
        plain = self.server(initialize=False).initialize()["instructions"]
        self.assertIn("no network", plain)
        self.file("project/data/in.txt", "x")
        server = self.server("--settings", self.settings(
            network={"allowedDomains": ["api.example.com"], "deniedDomains": []},
            filesystem={"allowRead": ["data"]}), initialize=False)
        opened = server.initialize()["instructions"]
        self.assertNotIn("no network", opened)
        self.assertIn("hosts that the policy allows", opened)
        self.assertIn("folders that the policy names", opened)
        self.assertLess(max(len(plain), len(opened)), 2048)

    def test_credentials(self):
        self.env["SERVICE_KEY"] = "the-real-key"
        self.env["OTHER_KEY"] = "another-key"
        server = self.start(
            network={"allowedDomains": ["api.example.com"], "deniedDomains": [], "tlsTerminate": {}},
            credentials={"envVars": [{"name": "SERVICE_KEY", "mode": "mask"},
                                     {"name": "OTHER_KEY", "mode": "deny"}]})
        seen = server.text("rlm_exec", code="import os; os.environ.get('SERVICE_KEY')")
        self.assertNotIn("the-real-key", seen)
        self.assertNotEqual(seen, "None")
        self.assertEqual(server.text("rlm_exec", code="'OTHER_KEY' in os.environ"), "False")
        self.assertEqual(server.text("rlm_exec", code=f"{self.home!r} in str(os.environ)"), "False")

    def test_limits_are_the_files_or_the_sessions_own(self):
        server = self.start(limits={"pids": 40})
        code = ("import threading, time\nthreads = []\ntry:\n"
                "    for _ in range(200):\n"
                "        threads.append(threading.Thread(target=time.sleep, args=(1,)))\n"
                "        threads[-1].start()\n"
                "except RuntimeError: pass\nlen(threads) < 120")
        self.assertIn("True", server.text("rlm_exec", code=code))
        self.assertIn("True", server.text(
            "rlm_exec", code="import resource\nresource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 1024"))

    def test_what_cannot_hold_in_a_session_is_an_error_at_the_start(self):
        self.assertIn("filesystem.disabled", self.refuse(filesystem={"disabled": True}))
        self.assertIn("limits.timeout", self.refuse(limits={"timeout": "5s"}))
        self.assertIn("nonsense", self.refuse(nonsense=True))
        self.assertIn("network.publish", self.refuse(
            network={"allowedDomains": [], "deniedDomains": [], "publish": ["8000"]}))

    def test_no_settings_are_no_default(self):
        done = subprocess.run([harness.BINARY, "mcp", "--settings", "/nowhere.json"], env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=harness.DEADLINE, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nowhere.json", done.stderr)

    def test_a_session_cannot_change_its_own_settings(self):
        path = self.settings(filesystem={"allowWrite": [self.top], "denyRead": [], "denyWrite": []})
        server = self.server("--settings", path)
        server.text("rlm_exec", code=f"open({self.top + '/new'!r}, 'w')")
        server.fails("rlm_exec", code=f"open({path!r}, 'a')")
