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

    def policy_files(self):
        """By request, each hides `hidden`; the second shows `shown` in a folder that it hides."""
        policy = self.put("policy.json", json.dumps({"network": {
            "allow": ["api.example.com"],
            "secrets": [f"TOKEN=file:{self.put('hidden')}@api.example.com"]}}))
        settings = self.put("settings.json", json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [self.put("hidden"), os.path.dirname(self.put("in/x"))],
                           "allowRead": [self.put("in/shown")], "allowWrite": [], "denyWrite": []}}))
        return policy, settings

    def check_by_request(self, words, others):
        """`others`: of the rest of the folder in which one file is shown."""
        self.server.start()
        self.session()
        hidden = self.put("hidden")
        self.assertEqual(self.load(hidden).status, 200)  # nobody has said yet what it is
        self.session(name="b", policy=words)
        self.assertEqual(self.load(hidden).status, 422)
        ended = self.server.cli("load", "a", hidden, "k")
        self.assertIn("may not read", ended.err)
        self.assertEqual(self.load(self.put("in/shown")).status, 200)
        self.assertEqual(self.load(self.put("in/x")).status, others)

    def test_a_policy_file_by_request(self):
        self.check_by_request(["--policy", self.policy_files()[0]], 200)

    def test_settings_by_request(self):
        self.check_by_request(["--settings", self.policy_files()[1]], 422)

    def test_an_exception_of_one_policy_is_none_to_another(self):
        _, settings = self.policy_files()
        other = self.put("other.json", json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [os.path.dirname(self.put("in/shown"))], "allowWrite": [],
                           "denyWrite": []}}))
        self.server.start()
        self.session()
        for name, words in (("b", other), ("c", settings)):
            self.session(name=name, policy=["--settings", words])
        self.assertEqual(self.load(self.put("in/shown")).status, 422)

    def test_a_policy_by_request_that_can_not_be_read_makes_no_session(self):
        plain = self.put("plain")
        self.server.start()
        self.session()
        pipe = os.path.join(self.project, "pipe")
        os.mkfifo(pipe)  # who waits for it has the other sessions as well
        for words in (["--policy", "/nowhere"], ["--settings", plain], ["--nonsense"],
                      ["--policy", pipe], ["--settings", pipe], ["--settings", "/nowhere"]):
            answer = self.server.ask("POST", "/v1/sessions", {"name": "b", "policy": words})
            self.assertGreaterEqual(answer.status, 400, answer)
            self.assertLess(answer.status, 500, answer)
        self.assertEqual(self.load(plain).status, 200)

    def test_a_link_where_nothing_may_be_read_is_not_followed(self):
        self.put("key")
        folder = os.path.dirname(self.put("private/plain"))
        os.symlink("../key", os.path.join(folder, "k"))
        self.put("settings.json", json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": ["./private"], "allowWrite": [], "denyWrite": []}}))
        self.server.start("--settings", "settings.json")
        self.session()
        for name in ("k", "plain", "none", "../key", "*"):
            self.assertEqual(self.load(os.path.join(folder, name)).status, 422, name)
        ended = self.server.cli("load", "a", os.path.join(folder, "k"), "k")
        self.assertNotEqual(ended.code, 0, ended)
        self.assertIn("may not read", ended.err)

    def test_words_of_a_client_are_read_where_it_is(self):
        self.put("token")
        self.server.start()
        made = self.server.cli("new", "a", "--", "--secret", "TOKEN=file:token@api.example.com")
        self.assertEqual(made.code, 0, made)
        ended = self.server.cli("exec", "a", "-c", "import os; print('TOKEN' in os.environ)")
        self.assertEqual(ended.out, "True\n", ended)
