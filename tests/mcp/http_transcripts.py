"""One transcript, both transports: the same requests have the same answers over stdio and over HTTP."""
import json
import re

from http_transport import HttpTest as _HttpTest  # under this name its tests are not found again

# Requests of an initialized client; "call" is short for tools/call.
LEGACY = [
    ("ping", {}),
    ("tools/list", {}),
    ("tools/list", {"cursor": "nonsense"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "nonsense"}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "rlm://main/outputs/99"}),
    ("call", ("rlm_exec", {"code": "x = [1, 2]\nprint('told')\nlen(x)"})),
    ("call", ("rlm_exec", {"code": "1/0"})),
    ("call", ("rlm_exec", {"code": 5})),
    ("call", ("rlm_exec", {"code": "1", "nonsense": True})),
    ("call", ("rlm_exec", {"code": "while True: pass", "timeout": 0.2})),
    ("call", ("rlm_vars", {})),
    ("call", ("rlm_get", {"name": "x"})),
    ("call", ("rlm_get", {"name": "nowhere"})),
    ("call", ("rlm_get", {"name": "x", "query": "x[0] + 1"})),
    ("call", ("rlm_load", {"path": "note.txt", "var_name": "note"})),
    ("call", ("rlm_load", {"path": "/nowhere", "var_name": "note"})),
    ("call", ("rlm_load", {"path": "note.txt", "var_name": "not a name"})),
    ("call", ("rlm_checkpoint", {"name": "one"})),
    ("call", ("rlm_exec", {"code": "x = 'changed'"})),
    ("call", ("rlm_restore", {"name": "one"})),
    ("call", ("rlm_exec", {"code": "x"})),
    ("call", ("rlm_sub_agent", {"signature": "a -> b", "inputs": {}})),
    ("call", ("rlm_reset", {})),
    ("call", ("rlm_vars", {})),
    ("call", ("nonsense", {})),
    ("nonsense", {}),
]
# Each says its dialect itself. A call without a session's name would be told a random one over HTTP.
MODERN = [
    ("server/discover", {}),
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/templates/list", {}),
    ("call", ("rlm_exec", {"code": 5})),
    ("call", ("nonsense", {})),
    ("initialize", {}),
    ("nonsense", {}),
]


def without_times(answer):
    """How long a call took is no part of the transcript."""
    return re.sub(r"after \d+(\.\d+)? s", "after N s", json.dumps(answer, sort_keys=True))


def request_of(entry):
    method, params = entry
    if method != "call":
        return method, params
    return "tools/call", {"name": params[0], "arguments": params[1]}


class Transcripts(_HttpTest):
    def check(self, transcript, stdio, http):
        """Answers by both, one request after the other."""
        for entry in transcript:
            with self.subTest(str(entry)):
                method, params = request_of(entry)
                here = stdio(method, params)
                _, _, messages = http(method, params)
                there = [one for one in messages if "method" not in one][-1]
                for kind in ("result", "error"):
                    self.assertEqual(without_times(here.get(kind)), without_times(there.get(kind)))
                self.assertTrue("result" in here or "error" in here, here)

    def test_of_the_older_dialect(self):
        self.file("project/note.txt", "a note")
        server = self.server()
        known = self.initialize()
        self.exchange("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, known)
        self.check(LEGACY, server.request,
                   lambda method, params: self.post(method, params, known))

    def test_of_the_newer_dialect(self):
        server = self.server(initialize=False)
        self.check(MODERN, server.modern,
                   lambda method, params: self.modern(method, **params))
