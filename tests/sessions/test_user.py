"""Forks of a zygote for an ordinary user who has been given cgroups of his own (as systemd does with
Delegate=yes). Root makes them here, in hierarchies of cgroup v1."""
import os
import shutil
import tempfile
import unittest

import harness
from harness import Host, SessionTest

USER = int(os.environ.get("TEST_UID", 54321))  # a uid that owns nothing on any machine
CONTROLLERS = ("memory", "pids", "cpu")
ENTER = ('for folder in $FOLDERS; do echo $$ > "$folder/cgroup.procs" || exit 9; done\n'
         'exec setpriv --reuid %d --regid %d --clear-groups "$@"' % (USER, USER))


def own_folders():
    """Where this process is in each hierarchy; None when one of them is not of version 1."""
    places = {}
    with open("/proc/self/cgroup") as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            for name in names.split(","):
                places[name] = "/sys/fs/cgroup/%s%s" % (name, path.rstrip("/"))
    found = [places.get(name, "") for name in CONTROLLERS]
    return found if all(os.path.isdir(path) for path in found) else None


@unittest.skipIf(os.geteuid() != 0, "only root gives cgroups away")
@unittest.skipIf(own_folders() is None, "no hierarchies of cgroup v1 here")
class OrdinaryUser(SessionTest):
    @classmethod
    def setUpClass(cls):
        cls.top = os.path.realpath(tempfile.mkdtemp(prefix="caisson-user-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        os.chmod(cls.top, 0o755)
        programs = []
        for path in (harness.CAISSON, harness.DRIVER):  # a checkout may be in a folder of root's
            programs.append(shutil.copy2(path, os.path.join(cls.top, os.path.basename(path))))
            os.chmod(programs[-1], 0o755)
        place = os.path.join(cls.top, "place")
        os.mkdir(place)
        os.chown(place, USER, USER)
        cls.folders = [os.path.join(one, "caisson-tests-%d" % os.getpid()) for one in own_folders()]
        for folder in cls.folders:
            os.mkdir(folder)
            cls.addClassCleanup(os.rmdir, folder)
            for path in (folder, folder + "/cgroup.procs", folder + "/tasks"):
                os.chown(path, USER, USER)
        cls.host = Host(place, env={"FOLDERS": " ".join(cls.folders)}, programs=programs,
                        wrap=["sh", "-c", ENTER, "sh"], owner=USER)
        cls.addClassCleanup(cls.host.close)
        cls.names = 0

    def test_sessions_are_forks_with_limits_of_their_own(self):
        s = self.session(pids=40)
        if harness.OWN_CELLS:
            raise unittest.SkipTest("cells of their own were asked for")
        self.assertEqual((s.info["cell"], s.info["notes"]), ("zygote", []))
        for folder in self.folders[:2]:  # one for the session at least (cpu: where it limits)
            self.assertTrue([n for n in os.listdir(folder) if os.path.isdir(folder + "/" + n)])
        self.ok(s.exec(
            "import os, signal, time\nchildren = []\ntry:\n    for _ in range(60):\n"
            "        pid = os.fork()\n        if not pid:\n            time.sleep(60)\n"
            "            os._exit(0)\n        children.append(pid)\n"
            "except OSError: pass\n"
            "for pid in children: os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)"))
        self.assertGreater(s.value("len(children)"), 10)
        self.assertLess(s.value("len(children)"), 40)

    def test_checkpoints_branches_and_too_much_memory(self):
        s = self.session(memory=200 << 20)
        self.ok(s.exec("kept = 3; open('f', 'w').write('one')"))
        s.ask("checkpoint", name="c")
        answer = s.exec("b = bytearray(1 << 29)\nfor i in range(0, len(b), 4096): b[i] = 1",
                        timeout=20000)
        self.assertIn(answer["status"], ("killed", "error"), answer)
        self.assertEqual(s.value("kept"), 3)
        self.ok(s.exec("open('f', 'w').write('two')"))
        s.ask("restore", name="c")
        self.assertEqual(s.value("open('f').read()"), "one")

    def test_sessions_have_no_rights_and_see_nothing_of_each_other(self):
        a, b = self.session(), self.session()
        self.ok(a.exec("import os; open('/tmp/secret', 'w').write('s')"))
        self.ok(b.exec("import os"))
        self.assertEqual(a.value("os.path.exists('/tmp/secret')"), True)
        self.assertEqual(b.value("[os.path.exists('/tmp/secret'), os.listdir('/workspace')]"),
                         [False, []])
        status = b.value("dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)")
        for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
