"""The command line of srt: its options, its errors, its exit codes."""
import json
import os
import signal
import subprocess

from srt_harness import SrtTest, settings


class Options(SrtTest):
    def test_command(self):
        self.assertEqual(self.srt_ok("echo", "a  b", "$HOME", ";").out, "a  b $HOME ;\n")

    def test_c(self):
        self.assertEqual(self.srt_ok("-c", 'echo "a  b"; echo $((1+1))').out, "a  b\n2\n")
        self.assertEqual(self.srt_ok("-c", "[[ x == x ]] && echo bash").out, "bash\n")

    def test_c_without_bash(self):
        os.symlink("/bin/sh", os.path.join(self.bin, "sh"))
        ended = self.srt_ok("-c", "echo sh", env={"PATH": self.bin})
        self.assertEqual(ended.out, "sh\n")

    def test_c_and_command(self):
        self.assert_srt_refused(self.srt("-c", "true", "true"), "exclude each other")

    def test_double_dash(self):
        self.assertEqual(self.srt_ok("--", "echo", "-d").out, "-d\n")
        self.assertEqual(self.srt("--", "validate").code, 127)

    def test_settings(self):
        name = self.settings_file(settings(write=["."]))
        for option in (["-s", name], ["--settings", name], [f"--settings={name}"], ["-s" + name]):
            self.srt_ok(*option, "sh", "-c", "echo > written")
            os.unlink(os.path.join(self.project, "written"))

    def test_settings_fd(self):
        text = json.dumps(settings(write=["."])).encode()
        end, start = os.pipe()
        os.write(start, text)
        os.close(start)
        ended = self.srt("--settings-fd", str(end), "sh", "-c", "echo > written", pass_fds=[end])
        os.close(end)
        self.assertEqual(ended.code, 0, ended)

    def test_settings_must_exist(self):
        self.assert_srt_refused(self.srt("-s", "absent.json", "true"), "absent.json")
        self.assert_srt_refused(self.srt("-s", self.project, "true"), "directory")

    def test_default_settings(self):
        self.assertNotEqual(self.sh("echo > written").code, 0)  # without a file: nothing
        self.file("home/.srt-settings.json", json.dumps(settings(write=["."])))
        self.sh_ok("echo > written")

    def test_broken_default_settings(self):
        for text in ("", "{", "[]", '{"network": {}}'):
            with self.subTest(text=text):
                self.file("home/.srt-settings.json", text)
                self.assert_srt_refused(self.srt("true"), ".srt-settings.json")
        os.unlink(os.path.join(self.home, ".srt-settings.json"))
        os.symlink("nowhere", os.path.join(self.home, ".srt-settings.json"))
        self.assert_srt_refused(self.srt("true"), ".srt-settings.json")

    def test_debug(self):
        ended = self.srt_ok("-d", "echo", "out")
        self.assertEqual(ended.out, "out\n")
        self.assertIn("srt: settings: the built-in settings\n", ended.err)
        self.assertEqual(self.srt_ok("true").err, "")

    def test_lenient(self):
        said = settings(xyz=True)
        self.assert_srt_refused(self.srt("true", said=said), 'unknown key "xyz"')
        self.srt_ok("--lenient", "true", said=said)

    def test_version(self):
        for flag in ("-V", "--version"):
            self.assertRegex(self.srt_ok(flag).out, r"\A\d+\.\d+\.\d+ \(caisson \d+\.\d+\.\d+\)\n\Z")

    def test_help(self):
        for flag in ("-h", "--help"):
            ended = self.srt_ok(flag)
            for option in ("--settings", "--control-fd", "--debug", "-c", "validate", "wrap"):
                self.assertIn(option, ended.out)

    def test_unknown_option(self):
        self.assert_srt_refused(self.srt("--setings", "x", "true"), "did you mean --settings?")

    def test_no_command(self):
        self.assert_srt_refused(self.srt(), "no command")

    def test_windows_and_proxy_commands(self):
        for word in ("windows-install", "windows-uninstall", "proxy"):
            self.assert_srt_refused(self.srt(word), word)

    def test_as_a_command_of_caisson(self):
        ended = self.caisson("srt", "echo", "x")
        self.assertEqual((ended.code, ended.out), (0, "x\n"), ended)


class Ends(SrtTest):
    def test_exit_codes(self):
        self.assertEqual(self.sh("exit 7").code, 7)
        self.assertEqual(self.srt("no-such-program").code, 127)
        self.project_file("plain", "x")
        self.assertEqual(self.srt("./plain").code, 126)
        self.assertEqual(self.sh("kill -9 $$").code, 137)

    def test_standard_streams(self):
        ended = self.sh_ok("cat; echo err >&2", stdin=b"in")
        self.assertEqual((ended.out, ended.err), ("in", "err\n"))

    def test_record(self):
        self.srt_ok("echo", "recorded")
        starts = [e["event"] for e in self.events() if e["event"]["kind"] == "start"]
        self.assertEqual(starts[-1]["argv"], ["echo", "recorded"])
        self.assertEqual(starts[-1]["door"], "srt")

    def test_record_is_out_of_reach(self):
        said = settings(write=[self.top])
        self.srt_ok("true", said=said)
        before = self.read(self.audit)
        self.sh(f"echo forged >> {self.audit}; rm -rf {self.state}/caisson", said=said)
        self.assertTrue(self.read(self.audit).startswith(before))
        self.assertNotIn("recorded", self.sh(f"cat {self.audit}", said=said).out)


class Settings(SrtTest):
    def test_the_command_cant_choose_the_rules_of_the_next_run(self):
        said = settings(write=[self.top])
        usual = os.path.join(self.home, ".srt-settings.json")
        for name in (usual, os.path.join(self.top, "settings.json")):
            with self.subTest(name=name):
                self.sh(f"echo x > {name}; rm -f {name}; mv $0 {name}", said=said)
                self.assertEqual(os.path.exists(name), name != usual)
        self.assertEqual(json.loads(self.read(os.path.join(self.top, "settings.json"))), said)
        self.sh_ok("echo > other", said=said)


class Library(SrtTest):
    """What others do through srt's JavaScript library: validate, wrap, updates, violations."""

    def test_validate(self):
        good = self.settings_file(settings())
        self.assertEqual(self.srt_ok("validate", good).out, f"{good}: valid\n")
        bad = self.settings_file('{"network": {"allowedDomains": ["*"],\n"deniedDomains": [1]}}',
                                 "bad.json")
        ended = self.srt("validate", bad)
        self.assertEqual(ended.code, 1)
        self.assertIn(f"{bad}:1: network.allowedDomains[0]: ", ended.out)
        self.assertIn(f"{bad}:2: network.deniedDomains[0]: must be a string", ended.out)

    def test_validate_json(self):
        said = settings(allowPty=True)
        for words in (["validate", "--json", self.settings_file(said)],
                      ["validate", self.settings_file(said), "--json"]):
            told = self.srt_ok(*words).json
            self.assertEqual(told["valid"], True)
            self.assertEqual(told["remarks"][0]["key"], "allowPty")
        told = self.srt("validate", "--json", self.settings_file("{", "bad.json")).json
        self.assertEqual(told["valid"], False)

    def test_wrap(self):
        said = settings(write=["."], credentials={
            "envVars": [{"name": "TOKEN", "mode": "deny"}]})
        env = {"TOKEN": "secret", "OTHER": "x"}
        told = self.srt_ok("wrap", "--json", "-s", self.settings_file(said), "--", "sh", "-c",
                           "echo $OTHER; echo > written", env=env).json
        self.assertEqual(told["inside"]["argv"][0], "sh")
        self.assertEqual(told["inside"]["env"]["SANDBOX_RUNTIME"], "1")
        self.assertNotIn("TOKEN", told["env"])
        self.assertFalse(os.path.exists(os.path.join(self.project, "written")))  # nothing ran
        done = subprocess.run(told["argv"], env=told["env"], cwd=told["cwd"], capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (0, b"x\n"), done)
        self.assertTrue(os.path.exists(os.path.join(self.project, "written")))

    def test_wrap_by_descriptor(self):
        told = self.srt_ok("wrap", "--json", "-c", "echo by fd").json  # no file: the built-in ones
        end, start = os.pipe()
        os.write(start, told["settings"].encode())
        os.close(start)
        words = [str(end) if word == str(told["settings_fd"]) else word for word in told["argv"]]
        done = subprocess.run(words, env=told["env"], cwd=told["cwd"], capture_output=True,
                              pass_fds=[end])
        os.close(end)
        self.assertEqual(done.stdout, b"by fd\n", done)

    def test_control_fd(self):
        """A line is a complete set of settings; the network's rules change at once."""
        port = self.web_server(b"reached")
        end, start = os.pipe()
        ask = (f"curl -s -o /dev/null -w '%{{http_code}}\\n' -x http://127.0.0.1:3128 --noproxy '' "
               f"http://localhost:{port}/")
        child = self.start_srt("--control-fd", str(end), "sh", "-c",
                               f"{ask}; read go; while [ \"$({ask})\" != 200 ]; do :; done; "
                               "echo allowed", said=settings(), pass_fds=[end],
                               stdin=subprocess.PIPE)
        os.close(end)
        self.assertEqual(child.stdout.readline(), b"403\n")
        os.write(start, b"not settings\n")
        os.write(start, json.dumps(settings(["localhost"])).encode() + b"\n")
        child.stdin.write(b"go\n")
        child.stdin.flush()
        ended = self.finish(child)
        os.close(start)
        self.assertEqual(ended.out, "allowed\n", ended)
        self.assertIn("--control-fd", ended.err)

    def test_control_fd_is_not_the_commands(self):
        end, start = os.pipe()
        ended = self.sh(f"[ -e /proc/self/fd/{end} ] && echo open || echo closed", said=settings())
        os.close(end), os.close(start)
        self.assertEqual(ended.out, "closed\n")
        self.assert_srt_refused(self.srt("--control-fd", "99", "true"), "--control-fd")

    def test_violations(self):
        ended = self.srt("curl", "-sS", "http://example.com", said=settings())
        lines = self.violations(ended)
        self.assertEqual(len(lines), 1, ended)
        self.assertRegex(lines[0], r"^deny .*example\.com:80 .*; hint: .*allowedDomains")

    def test_violations_fd(self):
        end, start = os.pipe()
        self.srt("--violations-fd", str(start), "curl", "-sS", "http://example.com",
                 said=settings(), pass_fds=[start])
        os.close(start)
        with os.fdopen(end) as lines:
            told = [json.loads(line) for line in lines]
        self.assertEqual(len(told), 1)
        self.assertIn("example.com:80", told[0]["resource"])

    def test_violations_fd_is_json_whatever_the_name(self):
        end, start = os.pipe()
        os.mkdir(os.path.join(self.project, "d"))
        self.srt("--violations-fd", str(start), "sh", "-c", ": > \"$(printf 'd/in\\377v\\033x')\"",
                 said=settings(), pass_fds=[start])
        os.close(start)
        with os.fdopen(end, "rb") as lines:
            told = [json.loads(line.decode("utf-8")) for line in lines]
        self.assertEqual(len(told), 1)
        self.assertTrue(told[0]["resource"].endswith("d/in\\xffv\\x1bx"), told)

    def test_nothing_is_said_at_the_end_of_a_run_with_a_gateway(self):
        """One that starts before the command, and ends with it."""
        for more in ({"tlsTerminate": {}}, {"parentProxy": {"http": "http://u:p@127.0.0.1:9"}}):
            said = settings(allow=["example.com"], network=more)
            for _ in range(5):
                self.assertEqual(self.srt_ok("true", said=said).err, "", more)

    def test_a_secret_that_is_of_no_use_stops_nothing(self):
        self.project_file("empty", "")
        said = settings(allow=["example.com"], write=["."],
                        credentials={"files": [{"path": "empty", "mode": "mask"}], "allowPlaintextInject": True})
        ended = self.srt("echo", "fine", said=said)
        self.assertEqual((ended.code, ended.out), (0, "fine\n"), ended)

    def test_violations_fd_tells_while_the_command_runs(self):
        """Of files and of the network; the command goes on only when the line has been read."""
        self.project_file("secret", "s3cret")
        for text, told in (("echo > .bashrc", ".bashrc"), ("cat secret", "secret"),
                           ("curl -s http://example.com", "example.com:80")):
            with self.subTest(text=text):
                end, start = os.pipe()
                child = self.start_srt("--violations-fd", str(start), "sh", "-c",
                                       f"{text}; read go; echo went on", pass_fds=[start],
                                       said=settings(read=["secret"], write=["."]),
                                       stdin=subprocess.PIPE)
                os.close(start)
                with os.fdopen(end) as lines:
                    self.assertIn(told, json.loads(lines.readline())["resource"])
                    out, _ = child.communicate(b"go\n", timeout=30)
                    self.assertIn(b"went on", out)
                    self.assertEqual(lines.read(), "")  # and once only

    def test_violations_fd_leaves_out_what_is_ignored(self):
        end, start = os.pipe()
        self.srt("--violations-fd", str(start), "curl", "-s", "http://example.com",
                 said=settings(ignoreViolations={"curl": ["example.com"]}), pass_fds=[start])
        os.close(start)
        with os.fdopen(end) as lines:
            self.assertEqual(lines.read(), "")

    def test_a_control_fd_that_breaks_before_its_first_line_ends_the_command(self):
        folder = os.open(self.project, os.O_RDONLY)  # can't be read
        child = self.start_srt("--control-fd", str(folder), "sleep", "30", said=settings(),
                               pass_fds=[folder])
        os.close(folder)
        ended = self.finish(child)
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("srt: --control-fd: read it: Is a directory", ended.err)

    def test_a_control_fd_that_only_ends_is_fine(self):
        end, start = os.pipe()
        os.close(start)
        child = self.start_srt("--control-fd", str(end), "echo", "ran", said=settings(),
                               pass_fds=[end])
        os.close(end)
        ended = self.finish(child)
        self.assertEqual((ended.code, ended.out), (0, "ran\n"), ended)

    def test_no_violations(self):
        self.assertEqual(self.srt_ok("true").err, "")


class Signals(SrtTest):
    def wait_ready(self, child):
        self.assertEqual(child.stdout.readline(), b"ready\n")

    def test_sigterm_runs_the_trap(self):
        child = self.start_srt("sh", "-c", "trap 'echo trapped; exit 9' TERM; echo ready; "
                                           "while :; do sleep 0.05; done")
        self.wait_ready(child)
        child.send_signal(signal.SIGTERM)
        ended = self.finish(child)
        self.assertEqual((ended.code, ended.out), (9, "trapped\n"), ended)

    def test_sigterm_is_143(self):
        child = self.start_srt("sh", "-c", "echo ready; exec sleep 30")
        self.wait_ready(child)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(child).code, 143)

    def test_sigint_is_130(self):
        child = self.start_srt("sh", "-c", "echo ready; exec sleep 30")
        self.wait_ready(child)
        child.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(child).code, 130)
