"""The commands that people who know sandbox-runtime type, word for word."""
import os
import subprocess
import sys
import textwrap

import harness
from harness import IS_ROOT, CliTest, Ended


class AsWritten(CliTest):
    def setUp(self):
        super().setUp()
        self.bin = self.folder("bin")
        for name in ("caisson", "sandbox-runtime"):
            os.symlink(harness.BINARY, os.path.join(self.bin, name))
        self.env["PATH"] = self.bin + ":" + harness.SYSTEM_PATH

    def shell(self, script, deadline=harness.DEADLINE, env=None):
        done = subprocess.run(["bash", "-c", script], env=self.environment(env), cwd=self.project,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=deadline)
        return Ended(done.returncode, done.stdout, done.stderr)

    def shell_ok(self, script, **how):
        ended = self.shell(script, **how)
        self.assertEqual(ended.code, 0, ended)
        return ended


class VerificationCommands(AsWritten):
    def test_which_finds_it(self):
        self.assertEqual(self.shell_ok("which sandbox-runtime").out.strip(),
                         os.path.join(self.bin, "sandbox-runtime"))

    def test_version(self):
        ended = self.shell_ok("sandbox-runtime --version")
        self.assertRegex(ended.out, r"^\S+ \d+\.\d+\.\d+\n$")
        self.assertEqual(ended.err, "")

    def test_both_names_are_one_program(self):
        for arguments in ("--version", "exec echo same", "exec --help"):
            self.assertEqual(self.shell_ok("sandbox-runtime " + arguments).out,
                             self.shell_ok("caisson " + arguments).out)

    def test_basic_execution(self):
        ended = self.shell_ok('sandbox-runtime exec echo "Hello, sandbox!"')
        self.assertEqual((ended.out, ended.err), ("Hello, sandbox!\n", ""))

    def test_python_execution(self):
        ended = self.shell_ok("""sandbox-runtime exec python3 -c "print('Python works!')" """)
        self.assertEqual((ended.out, ended.err), ("Python works!\n", ""))

    def test_resource_limits(self):
        ended = self.shell("sandbox-runtime exec --timeout 1s --memory 128M "
                           'python3 -c "import time; time.sleep(10)"', deadline=9)
        self.assertEqual(ended.code, 124, ended)
        self.assertIn("time limit", ended.err)

    def test_filesystem_isolation(self):
        names = self.shell_ok("sandbox-runtime exec ls /").out.split()
        self.assertIn("usr", names)
        for hidden in ("root", "home", "srv", "mnt", "media", "boot", "sys"):
            self.assertNotIn(hidden, names)

    def test_network_isolation(self):
        ended = self.shell("sandbox-runtime exec --no-network curl https://example.com")
        self.assertEqual(ended.code, 6, ended)  # curl: could not resolve host
        self.assertIn("example.com", ended.err)


class UsageExamples(AsWritten):
    def test_python_from_a_here_document(self):
        ended = self.shell_ok(textwrap.dedent("""\
            sandbox-runtime exec python3 << 'EOF'
            print("Hello from sandbox!")
            import os
            print(f"UID: {os.getuid()}")
            EOF
            """))
        self.assertEqual(ended.out, f"Hello from sandbox!\nUID: {os.getuid()}\n")

    LIMITED = textwrap.dedent("""\
        sandbox-runtime exec \\
          --timeout 10s \\
          --memory 256M \\
          --cpu 0.5 {more}\\
          python3 -c "print('Limited execution')"
        """)

    def has_cpu_controller(self):
        host = self.caisson("explain", "--json", "true").json["host"]
        return any(slot["controller"] == "cpu" for slot in host["cgroup"]["slots"])

    def test_resource_limits(self):
        ended = self.shell(self.LIMITED.format(more=""))
        if self.has_cpu_controller():
            self.assertEqual((ended.code, ended.out), (0, "Limited execution\n"), ended)
        else:  # half a core can't be had without a cgroup: never silently less
            self.assert_refused(ended, "cpu", "--best-effort cpu")

    def test_resource_limits_as_far_as_the_host_goes(self):
        ended = self.shell_ok(self.LIMITED.format(more="--best-effort cpu "))
        self.assertEqual(ended.out, "Limited execution\n")
        self.assertEqual("weaker: cpu" in ended.err, not self.has_cpu_controller(), ended)

    def test_root_has_a_cpu_controller_here(self):
        """Keeps the two tests above honest where cgroups are mounted."""
        mounted = os.path.isdir("/sys/fs/cgroup/cpu") or \
            os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        if IS_ROOT and mounted:
            self.assertTrue(self.has_cpu_controller())

    def free_folders(self):
        """/tmp/input and /tmp/output as in the example, or like names where those are taken."""
        pair = ["/tmp/input", "/tmp/output"]
        if any(os.path.lexists(path) for path in pair):
            pair = [self.folder("input"), self.folder("output")]
        for path in pair:
            os.makedirs(path, exist_ok=True)
            self.addCleanup(subprocess.run, ["rm", "-rf", path])
        return pair

    def test_mounts(self):
        source, target = self.free_folders()
        with open(source + "/script.py", "w") as script:
            script.write("open('/output/result', 'w').write('written inside')\n"
                         "try: open('/input/x', 'w')\n"
                         "except OSError as error: print(error.strerror)\n")
        ended = self.shell_ok(textwrap.dedent(f"""\
            sandbox-runtime exec \\
              --mount {source}:/input:ro \\
              --mount {target}:/output:rw \\
              python3 /input/script.py
            """))
        self.assertEqual(ended.out, "Read-only file system\n")
        self.assertEqual(self.read(target + "/result"), "written inside")
        self.assertEqual(os.stat(target + "/result").st_uid, os.getuid())


class Configuration(AsWritten):
    def test_the_exports_of_the_guide(self):
        ended = self.shell(textwrap.dedent(f"""\
            export SANDBOX_RUNTIME_PATH=/usr/local/bin/sandbox-runtime
            export SANDBOX_WORK_DIR={self.top}/sandbox
            export SANDBOX_TIMEOUT=30
            export SANDBOX_MEMORY_LIMIT=512M
            export SANDBOX_CPU_SHARES=1024
            export SANDBOX_ALLOW_NETWORK=false
            export SANDBOX_ALLOW_FS_WRITE=false
            export SANDBOX_ALLOW_EXEC=true
            sandbox-runtime exec --best-effort cpu_shares --json-output pwd
            """))
        self.assertEqual(ended.code, 0, ended)
        result = ended.json
        self.assertEqual(result["stdout"], "/workspace\n")
        self.assertEqual(result["limits"]["timeout_ms"], 30000)
        self.assertEqual(result["limits"]["memory_bytes"], 512 << 20)
        self.assertEqual(result["limits"]["cpu_shares"], 1024)

    def test_debug_mode(self):
        self.file("project/script.py", "print('from a script')\n")
        ended = self.shell_ok("SANDBOX_LOG_LEVEL=debug sandbox-runtime exec python3 script.py")
        self.assertEqual(ended.out, "from a script\n")
        self.assertIn("namespaces", ended.err)

    def test_time_measures_it(self):
        self.file("project/script.py", "print('timed')\n")
        ended = self.shell_ok("time sandbox-runtime exec --memory 256M python3 script.py")
        self.assertEqual(ended.out, "timed\n")
        self.assertIn("real", ended.err)


class Integration(AsWritten):
    SNIPPET = textwrap.dedent('''\
        import subprocess
        import json

        def execute_in_sandbox(code: str, timeout: int = 30) -> dict:
            """Execute Python code in sandbox and return result."""
            cmd = [
                "sandbox-runtime", "exec",
                "--timeout", f"{timeout}s",
                "--memory", "512M",
                "--json-output",
                "python3", "-c", code
            ]

            result = subprocess.run(
                cmd,
                capture_output=True,
                text=True,
                timeout=timeout + 5
            )

            return {
                "stdout": result.stdout,
                "stderr": result.stderr,
                "returncode": result.returncode,
                "success": result.returncode == 0
            }

        # Usage
        result = execute_in_sandbox("""
        import sys
        print(f"Python version: {sys.version}")
        print("Sandbox execution successful!")
        """)

        print(result)
        ''')

    def run_python(self, text):
        script = self.file("integration.py", text)
        done = subprocess.run([sys.executable, script], env=self.environment(), cwd=self.project,
                              capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_python_snippet(self):
        printed = self.run_python(self.SNIPPET + "print(json.loads(result['stdout'])['stdout'])\n")
        self.assertIn("'returncode': 0, 'success': True", printed)
        self.assertIn("\nSandbox execution successful!\n", printed)

    def test_the_python_snippet_tells_of_failure(self):
        printed = self.run_python(self.SNIPPET.split("# Usage")[0] +
                                  "print(execute_in_sandbox('raise SystemExit(3)'))\n"
                                  "print(execute_in_sandbox('while True: pass', 1))\n")
        self.assertIn("'returncode': 3, 'success': False", printed)
        self.assertIn("'returncode': 124, 'success': False", printed)

    def test_what_the_rust_snippet_runs(self):
        """Command::output(): no terminal, stdin inherited, both streams in pipes, no shell."""
        code = 'import sys; print("out"); print("err", file=sys.stderr)'
        done = subprocess.run(["sandbox-runtime", "exec", "--timeout", "30s", "--memory", "512M",
                               "--json-output", "python3", "-c", code],
                              env=self.environment(), cwd=self.project, capture_output=True,
                              executable=os.path.join(self.bin, "sandbox-runtime"),
                              timeout=harness.DEADLINE)
        ended = Ended(done.returncode, done.stdout, done.stderr)
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        self.assertEqual((ended.json["stdout"], ended.json["stderr"]), ("out\n", "err\n"))
