"""What the words behind `--` of a server hide from its sessions is not loaded for them either."""
import json
import os
import unittest

from harness import Server

KEY = "the-real-key-of-the-service"


class BehindTheDashes(unittest.TestCase):
    def setUp(self):
        self.server = Server(start=False)
        self.addCleanup(self.server.close)
        self.project = self.server.project

    def put(self, name, text=KEY):
        path = os.path.join(self.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
        return path

    def session(self, **spec):
        answer = self.server.ask("POST", "/v1/sessions", {"name": "a", **spec})
        self.assertEqual(answer.status, 201, answer)

    def load(self, path):
        return self.server.ask("POST", "/v1/sessions/a/load", {"path": path, "name": "k", "as": "text"})

    def test_settings(self):
        hidden, plain = self.put("sub/secret"), self.put("sub/plain")
        self.put("settings.json", json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": ["./sub/secret"], "allowWrite": [], "denyWrite": []}}))
        for words in (("--settings", "settings.json"), ("--", "--settings", "settings.json")):
            with self.subTest(words):
                self.server.start(*words)
                self.session()
                answer = self.load(hidden)
                self.assertEqual(answer.status, 422, answer)
                self.assertIn("the policy hides", answer.json["error"]["what"])
                self.assertEqual(self.load(plain).status, 200)
                self.server.stop()
                with self.assertRaises(AssertionError) as caught:
                    self.server.start("--workspace", self.project, *words)
                self.assertIn("is hidden", str(caught.exception))

    def test_a_secret(self):
        path = self.put("token")
        self.server.start("--", "--secret", "TOKEN=file:token@api.example.com")
        self.session()
        self.assertEqual(self.load(path).status, 422)
        answer = self.server.ask("POST", "/v1/sessions/a/exec", {"code": "import os; print('TOKEN' in os.environ)"})
        self.assertEqual(answer.json["output"], "True\n", answer)

    def test_a_secret_of_a_policy_by_request(self):
        path = self.put("token")
        self.server.start()
        self.session()
        self.assertEqual(self.load(path).status, 200)  # nobody has said yet what it is
        self.session(name="b", policy=["--secret", f"TOKEN=file:{path}@api.example.com"])
        self.assertEqual(self.load(path).status, 422)
        self.assertEqual(self.load(self.put("other")).status, 200)

    def test_words_of_a_client_are_read_where_it_is(self):
        self.put("token")
        self.server.start()
        made = self.server.cli("new", "a", "--", "--secret", "TOKEN=file:token@api.example.com")
        self.assertEqual(made.code, 0, made)
        ended = self.server.cli("exec", "a", "-c", "import os; print('TOKEN' in os.environ)")
        self.assertEqual(ended.out, "True\n", ended)
