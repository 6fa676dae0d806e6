"""The OpenAPI document is held against the server: each path and method answers as it declares."""
import json
import os
import re

from harness import JSON, ServerTest

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}


def problems(document, schema, value, at="answer"):
    """What in the value is not as the schema says."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[kind]) and
                         (kind == "boolean" or not isinstance(value, bool)) for kind in kinds):
        yield f"{at}: {value!r} is no {kinds}"
        return
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{at}: {name} is missing"
        for name, part in value.items():
            if name in schema.get("properties", {}):
                yield from problems(document, schema["properties"][name], part, f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for part in value:
            yield from problems(document, schema["items"], part, at + "[]")


class Document(ServerTest):
    """What each operation is called with; a new route without an entry here fails the test."""

    def setUp(self):
        self.document = self.ok("GET", "/v1/openapi.json").json
        self.name = self.new("walked")
        self.exec(self.name, "x = [1]")
        self.ok("PUT", "/v1/sessions/walked/files/some/file", b"x", status=201)
        self.ok("POST", "/v1/sessions/walked/checkpoints", {"name": "x"}, status=201)
        loaded = os.path.join(self.server.project, "loaded.txt")
        with open(loaded, "w") as out:
            out.write("text")
        data = self.ok("GET", "/v1/sessions/walked/snapshot").json["data"]
        self.bodies = {
            "POST /exec": {"code": "1"},
            "POST /snapshot/restore": {"data": data},
            "POST /v1/sessions": {"name": "made-by-walk"},
            "POST /v1/sessions/{session}/exec": {"code": "1 + 1"},
            "PUT /v1/sessions/{session}/vars/{name}": b"1",
            "POST /v1/sessions/{session}/evaluate": {"expression": "1"},
            "POST /v1/sessions/{session}/load": {"path": loaded, "name": "loaded"},
            "PUT /v1/sessions/{session}/files/{path}": b"x",
            "POST /v1/sessions/{session}/checkpoints": {"name": "second"},
            "POST /v1/sessions/{session}/branches": {"name": "branch-by-walk"},
            "PUT /v1/sessions/{session}/snapshot": {"data": data},
        }

    def operations(self):
        rank = {"put": 0, "post": 1, "get": 2, "delete": 3}
        found = [(path, method, operation) for path, methods in self.document["paths"].items()
                 for method, operation in methods.items()]
        # What takes variables away comes late, what ends a session last.
        return sorted(found, key=lambda each: (
            each[1] == "delete", each[0] == "/v1/sessions/{session}",
            each[0].endswith(("/reset", "/restore")), rank[each[1]], each[0]))

    def test_it_is_well_formed(self):
        self.assertEqual(self.document["openapi"], "3.1.0")
        text = json.dumps(self.document)
        schemas = self.document["components"]["schemas"]
        for name in re.findall(r'#/components/schemas/(\w+)', text):
            self.assertIn(name, schemas)
        for path, method, operation in self.operations():
            names = re.findall(r"{(\w+)}", path)
            self.assertEqual([each["name"] for each in operation["parameters"]], names, path)
            self.assertIn("default", operation["responses"])

    def test_each_operation_answers_as_declared(self):
        self.addCleanup(self.ask, "DELETE", "/v1/sessions/made-by-walk")
        self.addCleanup(self.ask, "DELETE", "/v1/sessions/branch-by-walk")
        walked = 0
        for path, method, operation in self.operations():
            place = path.replace("{session}", "walked").replace("{name}", "x")
            place = place.replace("{path}", "some/file")
            key = f"{method.upper()} {path}"
            with self.subTest(key):
                body = self.bodies.get(key)
                self.assertEqual(body is not None, "requestBody" in operation, key)
                answer = self.ask(method.upper(), place, body)
                declared = next(s for s in operation["responses"] if s != "default")
                self.assertEqual(answer.status, int(declared), answer)
                content = operation["responses"][declared]["content"]
                kind = answer.headers["Content-Type"].split(";")[0]
                self.assertIn(kind, content)
                if kind == "application/json" and "schema" in content[kind]:
                    self.assertEqual(list(problems(self.document, content[kind]["schema"],
                                                   answer.json)), [])
                walked += 1
        self.assertGreater(walked, 30)

    def test_each_refusal_is_as_declared(self):
        error = self.document["components"]["schemas"]["Error"]
        for path, method, operation in self.operations():
            with self.subTest(f"{method} {path}"):
                answer = self.server.ask(method.upper(), path.replace("{", "").replace("}", ""),
                                         connection=self.server.tcp())
                self.assertEqual(answer.status, 401)
                self.assertEqual(list(problems(self.document, error, answer.json)), [])
                if "{session}" in path:
                    place = re.sub(r"{\w+}", "nowhere", path)
                    body = self.bodies.get(f"{method.upper()} {path}")
                    answer = self.ask(method.upper(), place, body)
                    self.assertEqual(answer.status, 404, answer)
                    self.assertEqual(list(problems(self.document, error, answer.json)), [])
                if "requestBody" in operation and "application/octet-stream" not in operation[
                        "requestBody"]["content"]:
                    place = path.replace("{session}", "walked").replace("{name}", "x")
                    answer = self.ask(method.upper(), place, b"{", headers=JSON)
                    self.assertEqual(answer.status, 400, answer)

    def test_metrics_are_prometheus(self):
        self.exec(self.name, "1")
        answer = self.ok("GET", "/metrics")
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        values = {}
        for line in answer.body.decode().splitlines():
            if line.startswith("#"):
                self.assertRegex(line, r"^# (HELP|TYPE) caisson_[a-z_]+ \S")
                continue
            self.assertRegex(line, r'^caisson_[a-z_]+({[a-z]+="[^"]*"})? [0-9.e+-]+$')
            values[line.split(" ")[0]] = float(line.split(" ")[1])
        self.assertGreaterEqual(values["caisson_sessions"], 1)
        self.assertGreaterEqual(values["caisson_executions_total"], 2)
        self.assertGreater(values["caisson_http_requests_total"], 0)
