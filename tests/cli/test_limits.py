"""Every flag that limits, felt from inside the cell."""
import os
import resource
import subprocess

from harness import PYTHON, CliTest


class Limits(CliTest):
    def python(self, code, *flags, **how):
        return self.exec(*flags, PYTHON, "-c", code, **how)

    def test_timeout_ends_the_program(self):
        ended = self.exec("--timeout", "300ms", "sleep", "60", deadline=10)
        self.assertEqual(ended.code, 124, ended)
        self.assertEqual(ended.err, "caisson: the time limit was reached\n"
                                    "hint: --timeout raises it\n")

    def test_timeout_ends_what_ignores_signals_and_what_detaches(self):
        script = "trap '' TERM INT HUP; setsid sleep 60 & while :; do sleep 60; done"
        self.assertEqual(self.exec("--timeout", "300ms", "sh", "-c", script, deadline=10).code, 124)

    def test_timeout_none_is_no_limit(self):
        self.assertIsNone(self.exec_json("--timeout", "none", "true")["limits"]["timeout_ms"])

    def test_memory(self):
        code = "x = bytearray(400 << 20); print('had it')"
        self.assertEqual(self.python(code, "--memory", "1G").out, "had it\n")
        ended = self.python(code, "--memory", "100M")
        self.assertNotEqual(ended.code, 0, ended)
        self.assertEqual(ended.out, "", ended)

    def test_pids(self):
        code = ("import os, time\n"
                "made = 0\n"
                "try:\n"
                "  while made < 60:\n"
                "    if os.fork() == 0: time.sleep(20); os._exit(0)\n"
                "    made += 1\n"
                "except OSError as error: print(made, error.strerror)\n"
                "else: print(made)\n")
        self.assertEqual(self.python(code).out, "60\n")
        made, error = self.python(code, "--pids", "20").out.split(" ", 1)
        self.assertEqual((int(made), error), (19, "Resource temporarily unavailable\n"))

    def test_files(self):
        code = ("import os\n"
                "opened = []\n"
                "try:\n"
                "  while True: opened.append(os.open('/dev/null', os.O_RDONLY))\n"
                "except OSError as error: print(opened[-1], error.strerror)\n")
        self.assertEqual(self.python(code, "--files", "64").out, "63 Too many open files\n")

    def test_fsize(self):
        script = "trap '' XFSZ; head -c 2000000 /dev/zero > /tmp/f; wc -c < /tmp/f"
        self.assertEqual(self.exec_ok("sh", "-c", script).out, "2000000\n")
        self.assertEqual(self.exec_ok("--fsize", "1M", "sh", "-c", script).out, "1048576\n")

    def test_tmp_size(self):
        script = "head -c 3000000 /dev/zero > /tmp/f && echo fits"
        self.assertEqual(self.exec_ok("sh", "-c", script).out, "fits\n")
        ended = self.exec("--tmp-size", "1M", "sh", "-c", script)
        self.assertNotEqual(ended.code, 0, ended)
        self.assertIn("No space left", ended.err)

    def test_tmp_size_is_shared_with_dev_shm(self):
        script = "head -c 3000000 /dev/zero > /tmp/f; head -c 3000000 /dev/zero > /dev/shm/f"
        self.assertIn("No space left", self.exec("--tmp-size", "4M", "sh", "-c", script).err)

    def test_whole_cores(self):
        code = "import os; print(len(os.sched_getaffinity(0)))"
        result = self.exec_json("--cpu", "1", PYTHON, "-c", code)
        self.assertEqual(result["limits"]["cpu"], 1)
        if result["limits"]["enforced_by"]["cpu"] == "affinity":
            self.assertEqual(result["stdout"], "1\n")
        else:
            self.assertRegex(result["limits"]["enforced_by"]["cpu"], "cgroup|all cores")

    def test_all_cores_are_the_programs_and_caissons_own_after_a_moment(self):
        code = ("import os, time\nprint(sorted(os.sched_getaffinity(0)), flush=True)\n"
                "time.sleep(0.3)\nprint('still here', flush=True)\ntime.sleep(2)")
        everywhere = os.sched_getaffinity(0)
        caisson = self.start("exec", PYTHON, "-c", code, stdout=subprocess.PIPE)
        self.assertEqual(caisson.stdout.readline().decode(), f"{sorted(everywhere)}\n")
        self.assertEqual(caisson.stdout.readline().decode(), "still here\n")
        self.assertEqual(os.sched_getaffinity(caisson.pid), everywhere)

    def test_part_of_a_core_takes_the_wall_time_for_it(self):
        code = ("import time\nend = time.process_time() + 0.2\n"
                "while time.process_time() < end: pass\n")
        result = self.exec_json("--cpu", "0.1", "--best-effort", "cpu", PYTHON, "-c", code)
        if "cgroup" in result["limits"]["enforced_by"]["cpu"]:
            self.assertGreater(result["duration_ms"], 1000)
        else:
            self.assertEqual([one["field"] for one in result["degradations"] if
                              one["field"] == "cpu"], ["cpu"])

    def test_cpu_shares(self):
        result = self.exec_json("--cpu-shares", "512", "--best-effort", "cpu_shares", "true")
        self.assertEqual(result["limits"]["cpu_shares"], 512)
        held = result["limits"]["enforced_by"]["cpu_shares"]
        self.assertRegex(held, "cgroup" if held != "none" else "none")
        weaker = [one["field"] for one in result["degradations"]]
        self.assertEqual("cpu_shares" in weaker, held == "none")

    def test_limits_that_rlimits_hold_can_not_be_raised(self):
        code = ("import resource as r\n"
                "for what in (r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_CORE):\n"
                "  soft, hard = r.getrlimit(what)\n"
                "  try: r.setrlimit(what, (hard + 1, hard + 1)); print('raised', what)\n"
                "  except ValueError: pass\n")
        ended = self.python(code)
        self.assertEqual((ended.code, ended.out), (0, ""), ended)

    def test_all_of_the_flags_at_once(self):
        limits = self.exec_json(
            "--timeout", "10s", "--memory", "256M", "--cpu", "0.5", "--cpu-shares", "1024",
            "--pids", "128", "--files", "256", "--fsize", "1G", "--tmp-size", "256M",
            "--output-limit", "16M", "--best-effort", "cpu", "--best-effort", "cpu_shares",
            "true")["limits"]
        del limits["enforced_by"]
        self.assertEqual(limits, {
            "timeout_ms": 10000, "memory_bytes": 256 << 20, "cpu": 0.5, "cpu_shares": 1024,
            "pids": 128, "files": 256, "file_bytes": 1 << 30, "tmp_bytes": 256 << 20,
            "output_bytes": 16 << 20})

    def test_sizes_and_durations_in_all_their_forms(self):
        for text, milliseconds in {"30": 30000, "250ms": 250, "1.5m": 90000, "2h": 7200000,
                                   "1h30m": 5400000, "0.5s": 500}.items():
            with self.subTest(text):
                told = self.caisson("explain", "--json", "--timeout", text, "true").json
                self.assertEqual(told["limits"]["timeout_ms"], milliseconds)
        for text, size in {"1048576": 1 << 20, "2048K": 2 << 20, "256m": 256 << 20,
                           "1.5G": 3 << 29, "2GiB": 2 << 30}.items():
            with self.subTest(text):
                told = self.caisson("explain", "--json", "--memory=" + text, "true").json
                self.assertEqual(told["limits"]["memory_bytes"], size)

    def test_a_flag_takes_its_value_behind_an_equals_sign(self):
        self.assertEqual(self.exec("--timeout=200ms", "sleep", "60").code, 124)

    def test_the_last_of_two_flags_holds(self):
        self.assertEqual(self.exec_json("--pids", "9", "--pids", "8", "true")["limits"]["pids"], 8)


class CallersOwnLimits(CliTest):
    """A caller that is limited itself can still run cells, limited by the smaller of the two."""

    def inside(self, name, value):
        code = f"import resource; print(resource.getrlimit(resource.{name})[1])"
        number = getattr(resource, name)
        ended = self.exec(PYTHON, "-c", code,
                          preexec_fn=lambda: resource.setrlimit(number, (value, value)))
        self.assertEqual(ended.code, 0, ended)
        return int(ended.out)

    def test_no_core_dumps(self):
        self.assertEqual(self.inside("RLIMIT_CORE", 0), 0)

    def test_few_files(self):
        self.assertLessEqual(self.inside("RLIMIT_NOFILE", 200), 200)

    def test_small_files(self):
        self.assertLessEqual(self.inside("RLIMIT_FSIZE", 1 << 20), 1 << 20)

    def test_no_locked_memory(self):
        self.assertEqual(self.inside("RLIMIT_MEMLOCK", 0), 0)

    def test_little_data(self):
        self.assertLessEqual(self.inside("RLIMIT_DATA", 512 << 20), 512 << 20)
