"""--json-output: one object, every field, nothing lost up to the limit, what is cut is counted."""
import base64
import hashlib
import json
import os

from harness import PYTHON, CliTest

FIELDS = {
    "stdout": str, "stderr": str, "returncode": int, "success": bool, "status": str,
    "reason": str, "duration_ms": (int, float), "usage": dict, "limits": dict, "tier": str,
    "degradations": list, "denials": list, "policy_digest": str, "audit_id": str}
USAGE = {"cpu_ms", "user_ms", "system_ms", "max_rss_bytes", "memory_peak_bytes", "oom_kills",
         "pids_refused", "stdout_bytes", "stderr_bytes", "stdout_cut_bytes", "stderr_cut_bytes"}


class ResultObject(CliTest):
    def assert_complete(self, result):
        for name, kind in FIELDS.items():
            self.assertIn(name, result)
            self.assertIsInstance(result[name], kind, name)
        for name in USAGE:
            self.assertIsInstance(result["usage"][name], (int, float), name)
            self.assertGreaterEqual(result["usage"][name], 0, name)

    def test_every_field_is_there_with_its_type(self):
        result = self.exec_json("sh", "-c", "echo out; echo err >&2")
        self.assert_complete(result)
        self.assertEqual((result["stdout"], result["stderr"]), ("out\n", "err\n"))
        self.assertEqual((result["tier"], result["status"]), ("process", "ok"))
        self.assertRegex(result["policy_digest"], "^[0-9a-f]{64}$")
        self.assertRegex(result["audit_id"], "^[0-9a-f]{16,}$")
        self.assertEqual(result["denials"], [])

    def test_the_fields_are_there_whatever_the_status(self):
        for words in (["false"], ["sh", "-c", "kill -9 $$"], ["--timeout", "100ms", "sleep", "9"],
                      ["not-there"], ["/etc/passwd"]):
            with self.subTest(words):
                self.assert_complete(self.exec_json(*words))

    def test_the_fields_are_there_for_an_error_before_the_start(self):
        for words in (["--mount", "/nowhere:/x", "true"], ["--bogus", "true"],
                      ["--timeout", "soon", "true"], ["--tier", "container", "true"]):
            with self.subTest(words):
                result = self.exec_json(*words)
                self.assertEqual((result["status"], result["returncode"]), ("setup_error", 125))
                for name in ("stdout", "stderr", "reason", "usage", "limits", "degradations",
                             "denials", "duration_ms", "tier", "policy_digest", "audit_id"):
                    self.assertIn(name, result)

    def test_an_error_is_json_wherever_the_flag_stands(self):
        for words in (["--timeout", "10s", "--json-output", "--bogus", "true"],
                      ["--bogus", "--json-output", "true"],
                      ["--memory", "much", "--json-output", "true"]):
            with self.subTest(words):
                ended = self.exec(*words)
                self.assertEqual(ended.code, 125, ended)
                self.assertEqual(ended.json["status"], "setup_error")

    def test_the_flag_behind_the_command_is_the_commands(self):
        ended = self.exec("echo", "--json-output")
        self.assertEqual(ended.out, "--json-output\n")

    def test_text_stays_text(self):
        text = 'quotes " back\\slash \t tab ünïcödé 🜂 \x01\x1b[31m'
        result = self.exec_json("printf", "%s", text)
        self.assertEqual(result["stdout"], text)
        self.assertNotIn("stdout_encoding", result)

    def test_binary_output_is_base64_with_a_flag(self):
        code = ("import sys\nsys.stdout.buffer.write(bytes(range(256)))\n"
                "sys.stderr.buffer.write(b'\\xff\\xfe')")
        result = self.exec_json(PYTHON, "-c", code)
        self.assertEqual(result["stdout_encoding"], "base64")
        self.assertEqual(result["stderr_encoding"], "base64")
        self.assertEqual(base64.b64decode(result["stdout"]), bytes(range(256)))
        self.assertEqual(base64.b64decode(result["stderr"]), b"\xff\xfe")

    def test_one_binary_stream_leaves_the_other_text(self):
        result = self.exec_json("sh", "-c", "printf '\\377'; echo text >&2")
        self.assertEqual(result["stderr"], "text\n")
        self.assertNotIn("stderr_encoding", result)

    def test_nul_bytes_are_kept(self):
        self.assertEqual(self.exec_json("printf", r"a\000b")["stdout"], "a\0b")

    def test_the_object_is_utf_8_whatever_the_names_are(self):
        """JSON is UTF-8 (RFC 8259); a name on Linux is any bytes."""
        folder = os.fsencode(self.top) + b"/name-\xff"
        os.mkdir(folder)
        for words in ([b"exec", b"--json-output", b"no-such-\xff"],
                      [b"exec", b"--json-output", b"--mount", b"/nowhere-\xff:/x", b"true"],
                      [b"exec", b"--json-output", b"--bogus-\xff", b"true"],
                      [b"exec", b"--json-output", b"--mount", folder + b":/x", b"echo", b"\xff"],
                      [b"explain", b"--json", b"--mount", folder + b":/x", b"echo", b"\xff"],
                      [b"explain", b"--json", b"--env", b"A\xff=1", b"echo"]):
            with self.subTest(words):
                ended = self.caisson(*words)
                json.loads(ended.out_bytes.decode("utf-8"))

    def test_usage_tells_what_was_used(self):
        code = ("import time\nx = bytearray(64 << 20)\nend = time.process_time() + 0.3\n"
                "while time.process_time() < end: pass\nprint('done')")
        usage = self.exec_json(PYTHON, "-c", code)["usage"]
        self.assertGreater(usage["cpu_ms"], 250)
        self.assertAlmostEqual(usage["cpu_ms"], usage["user_ms"] + usage["system_ms"], delta=1)
        self.assertGreater(usage["max_rss_bytes"], 64 << 20)
        self.assertEqual(usage["stdout_bytes"], 5)

    def test_usage_counts_children_too(self):
        code = ("import os, time\n"
                "for _ in range(2):\n"
                "  if os.fork() == 0:\n"
                "    end = time.process_time() + 0.2\n"
                "    while time.process_time() < end: pass\n"
                "    os._exit(0)\n"
                "os.wait(); os.wait()\n")
        self.assertGreater(self.exec_json(PYTHON, "-c", code)["usage"]["cpu_ms"], 350)

    def test_usage_counts_who_was_waited_for_by_nobody(self):
        code = ("import os, time\n"
                "if os.fork() == 0:\n"
                "  end = time.process_time() + 0.3\n"
                "  while time.process_time() < end: pass\n"
                "  os._exit(0)\n"
                "time.sleep(1.5)\n")
        self.assertGreater(self.exec_json(PYTHON, "-c", code)["usage"]["cpu_ms"], 250)

    def test_usage_counts_who_was_ended_with_the_cell(self):
        code = ("import os, time\n"
                "if os.fork() == 0:\n"
                "  os.setsid()\n"
                "  while True: pass\n"
                "time.sleep(0.6)\n")
        result = self.exec_json(PYTHON, "-c", code)
        self.assertEqual(result["status"], "ok")
        self.assertGreater(result["usage"]["cpu_ms"], 150)

    def test_words_of_one_who_outlives_the_program_are_in_the_result_or_were_never_said(self):
        result = self.exec_json("sh", "-c", "(echo early; sleep 60; echo late) & sleep 0.3; echo last")
        self.assertEqual(result["stdout"], "early\nlast\n")
        self.assertLess(result["duration_ms"], 30000)

    def test_nobody_puts_the_end_off_by_children_that_end_at_once(self):
        code = ("import os, time\n"
                "if os.fork() == 0:\n"
                "  os.setsid()\n"
                "  while True:\n"
                "    if os.fork() == 0:\n"
                "      os.fork()\n"
                "      os._exit(0)\n"
                "    os.wait()\n"
                "time.sleep(0.3)\n")
        result = self.exec_json("--timeout", "20s", PYTHON, "-c", code)
        self.assertEqual(result["status"], "ok")
        self.assertLess(result["duration_ms"], 15000)

    def test_the_record_of_the_end_is_there_when_caisson_returns(self):
        for script in ("true", "sleep 60 & true"):
            with self.subTest(script):
                result = self.exec_json("sh", "-c", script)
                last = json.loads(self.read(self.audit).splitlines()[-1])["event"]
                self.assertEqual((last["kind"], last["id"]), ("end", result["audit_id"]))
                self.assertEqual(last["usage"]["cpu_ms"], result["usage"]["cpu_ms"])

    def test_limits_tell_what_holds_them(self):
        limits = self.exec_json("--memory", "64M", "true")["limits"]
        self.assertEqual(limits["memory_bytes"], 64 << 20)
        held = limits["enforced_by"]
        self.assertLessEqual({"memory", "pids", "files", "file_size", "timeout", "output", "cpu",
                              "tmp_size"}, set(held))
        self.assertRegex(held["memory"], "^(cgroup v[12]|rlimit)")

    def test_the_same_policy_has_the_same_digest(self):
        def digest(*words):
            return self.exec_json(*words)["policy_digest"]
        self.assertEqual(digest("--pids", "9", "true"), digest("--pids", "9", "true"))
        self.assertNotEqual(digest("--pids", "9", "true"), digest("--pids", "8", "true"))
        self.assertNotEqual(digest("--env", "A=1", "true"), digest("--env", "A=2", "true"))
        self.assertNotEqual(digest("--allow-network", "true"), digest("true"))

    def test_the_audit_id_is_the_one_on_record(self):
        identity = self.exec_json("true")["audit_id"]
        self.assertEqual([event["event"]["id"] for event in self.events()], [identity] * 2)

    def test_talk_stays_on_stderr(self):
        ended = self.exec("--json-output", "--allow-network", "--timing", "-v", "true")
        self.assertEqual(ended.json["status"], "ok")
        self.assertEqual(ended.json["stderr"], "")
        self.assertIn("granted", ended.err)


class OutputLimit(CliTest):
    def test_nothing_is_lost_up_to_the_limit(self):
        code = ("import sys\nfor i in range(200000): sys.stdout.write('%08d\\n' % i)\n")
        result = self.exec_json("--output-limit", "1800000", PYTHON, "-c", code)
        expected = "".join("%08d\n" % i for i in range(200000))
        self.assertEqual(hashlib.sha256(result["stdout"].encode()).hexdigest(),
                         hashlib.sha256(expected.encode()).hexdigest())
        self.assertEqual(result["usage"]["stdout_cut_bytes"], 0)

    def test_what_is_cut_is_counted(self):
        code = "import sys\nsys.stdout.write('x' * 5000)"
        result = self.exec_json("--output-limit", "1000", PYTHON, "-c", code)
        self.assertEqual(result["stdout"], "x" * 1000)
        usage = result["usage"]
        self.assertEqual((usage["stdout_bytes"], usage["stdout_cut_bytes"]), (5000, 4000))

    def test_the_limit_is_for_both_streams_together(self):
        script = "printf %0600d 0; printf %0600d 0 >&2; printf %0100d 0"
        usage = self.exec_json("--output-limit", "1000", "sh", "-c", script)["usage"]
        self.assertEqual(usage["stdout_cut_bytes"] + usage["stderr_cut_bytes"], 300)
        self.assertEqual(usage["stdout_bytes"] + usage["stderr_bytes"], 1300)

    def test_without_json_the_cut_is_told(self):
        ended = self.exec("--output-limit", "1000", "sh", "-c", "printf %05000d 0")
        self.assertEqual((ended.code, len(ended.out)), (0, 1000), ended)
        self.assertRegex(ended.err, "^caisson: 4000 bytes of output .* cut")

    def test_a_cut_in_a_character_is_still_valid(self):
        result = self.exec_json("--output-limit", "3", "printf", "éé")
        got = result["stdout"].encode() if "stdout_encoding" not in result else \
            base64.b64decode(result["stdout"])
        self.assertEqual(got, "éé".encode()[:3])

    def test_zero_is_no_output(self):
        result = self.exec_json("--output-limit", "0", "sh", "-c", "printf abc; sleep 0.3")
        self.assertEqual((result["status"], result["stdout"]), ("ok", ""), result)
        self.assertEqual(result["usage"]["stdout_cut_bytes"], 3)

    def test_the_limit_holds_with_a_terminal_too(self):
        result = self.exec_json("--tty", "--output-limit", "1000", "sh", "-c", "printf %05000d 0")
        self.assertLessEqual(len(result["stdout"]), 1000)
        self.assertEqual(result["usage"]["stdout_cut_bytes"], 4000)

    def test_output_larger_than_a_pipe_passes_whole(self):
        ended = self.exec_ok("head", "-c", "9000000", "/dev/zero")
        self.assertEqual(len(ended.out_bytes), 9000000)

    def test_input_larger_than_a_pipe_passes_whole(self):
        data = bytes(range(256)) * 20000
        ended = self.exec_ok("sha256sum", stdin=data)
        self.assertEqual(ended.out.split()[0], hashlib.sha256(data).hexdigest())
