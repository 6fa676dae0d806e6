"""What a session can't reach or exceed, each by one attempt, with a control that the attempt works."""
import os
import unittest

from harness import SessionTest

CALL = ("import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(name, *a):\n    ctypes.set_errno(0)\n"
        "    return getattr(libc, name)(*a), ctypes.get_errno()")


class Confined(SessionTest):
    def with_calls(self, **spec):
        s = self.session(**spec)
        self.ok(s.exec(CALL))
        return s

    def test_the_limits_are_its_own(self):
        s = self.session(pids=40)
        self.ok(s.exec(
            "import os, signal, time\nchildren = []\ntry:\n    for _ in range(60):\n"
            "        pid = os.fork()\n        if not pid:\n            time.sleep(60)\n"
            "            os._exit(0)\n        children.append(pid)\n"
            "except OSError: pass\n"
            "for pid in children: os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)"))
        self.assertGreater(s.value("len(children)"), 10)  # the way of asking works
        self.assertLess(s.value("len(children)"), 40)

    def test_no_process_has_the_number_of_the_zygote(self):
        """T61: by its number OpenSSL knows whether a process is a fork and must seed anew."""
        s = self.session()
        if s.info["cell"] != "zygote":
            self.assertEqual(s.info["cell"], "own")  # nothing was drawn before it began
            return
        self.assertGreaterEqual(s.value("__import__('os').getpid()"), 300)
        self.ok(s.exec("import subprocess, sys\n"
                       "child = subprocess.run(['sh', '-c', 'echo $$'], capture_output=True)"))
        self.assertGreaterEqual(s.value("int(child.stdout)"), 300)

    def test_shared_memory_of_another_is_not_there(self):
        """T24, T60: System V memory has keys that whoever knows them can open."""
        a, b = self.with_calls(), self.with_calls()
        key = 0x5E55 + os.getpid()
        self.assertGreaterEqual(a.value("call('shmget', %d, 4096, 0o1600)[0]" % key), 0)
        self.assertGreaterEqual(a.value("call('shmget', %d, 0, 0)[0]" % key), 0)
        self.assertEqual(b.value("call('shmget', %d, 0, 0)" % key), [-1, 2])

    def test_a_terminal_of_another_is_not_there(self):
        a, b = self.session(), self.session()
        self.ok(a.exec("import os; pair = os.openpty()"))
        self.assertIn("0", a.value("os.listdir('/dev/pts')"))
        self.assertEqual(b.value("[n for n in __import__('os').listdir('/dev/pts') if n != 'ptmx']"),
                         [])

    def test_proc_tells_nothing_of_the_host(self):
        s = self.session()
        self.ok(s.exec("import os\ndef size(name):\n    try: return len(open('/proc/' + name).read(99))\n"
                       "    except OSError: return 0"))
        self.assertGreater(s.value("size('self/status')"), 0)
        for name in ("cmdline", "kallsyms", "keys", "timer_list", "interrupts", "locks"):
            with self.subTest(name):
                self.assertEqual(s.value("size(%r)" % name), 0)

    def test_proc_can_not_be_written(self):
        s = self.session()
        self.ok(s.exec("def put(path):\n    try:\n        with open(path, 'w') as f: f.write('x')\n"
                       "        return 0\n    except OSError as error: return error.errno"))
        self.assertEqual(s.value("put('/tmp/x')"), 0)
        self.assertEqual(s.value("put('/proc/self/comm')"), 30)  # EROFS: whoever it is that asks

    def test_the_keeper_can_not_be_looked_into(self):
        """T24, T25: who can read its environment or its descriptors can speak for it."""
        s = self.session()
        self.ok(s.exec("import os\ndef opens(path):\n    try:\n        open(path, 'rb').read(1)\n"
                       "        return True\n    except OSError: return False"))
        keeper = s.value("os.getppid()")
        self.assertEqual(s.value("[opens('/proc/%d/%s' % (os.getpid(), n)) for n in "
                                 "('environ', 'maps')]"), [True, True])
        for name in ("environ", "maps", "mem", "fd/0"):
            with self.subTest(name):
                self.assertFalse(s.value("opens('/proc/%d/%s')" % (keeper, name)))

    def test_there_is_a_second_wall(self):
        """Landlock domains nest 16 deep: how many more there can be tells how many there are. A cell of its own has
        one, a session that is a fork its own and its zygote's: that one mounts, and keeps scopes alone (ABI 6)."""
        count = ("n = 0\nfor _ in range(20):\n"
                 "    rules = libc.syscall(444, ctypes.byref((ctypes.c_uint64 * 1)(1)), 8, 0)\n"
                 "    if rules < 0 or libc.syscall(446, rules, 0): break\n"
                 "    os.close(rules); n += 1")
        s, own = self.with_calls(), self.with_calls(policy=["--env", "ITS=own"])
        abi = s.value("call('syscall', 444, None, 0, 1)[0]")
        if s.info["cell"] != "zygote" or abi <= 0:
            raise unittest.SkipTest("a cell of its own, or a kernel without Landlock")
        for one in (s, own):
            self.ok(one.exec(count))
        self.assertGreater(own.value("n"), 10)
        self.assertEqual(s.value("n"), own.value("n") - (1 if abi >= 6 else 0))


