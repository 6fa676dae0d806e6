"""Pythons of other places than the system's."""
import os
import subprocess
import sys

from harness import SessionTest


class Environments(SessionTest):
    def virtualenv(self, module):
        """One in /tmp, where tests are, with a module of its own."""
        folder = self.path("venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        python = os.path.join(folder, "bin", "python3")
        packages = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
            check=True, capture_output=True, text=True).stdout.strip()
        with open(os.path.join(packages, module + ".py"), "w") as out:
            out.write("where = __file__\n")
        return folder, python

    def test_what_a_virtualenv_in_tmp_has_is_found_by_later_calls(self):
        """Each session has a /tmp of its own, which lies over the one with the environment."""
        folder, python = self.virtualenv("found_later")
        self.assertTrue(folder.startswith("/tmp/"), folder)
        session = self.session(python=python)
        self.ok(session.exec("import os, found_later"))
        self.assertTrue(session.value("found_later.where").startswith(folder))
        self.ok(session.exec("open('/tmp/own', 'w').write('x') and None"))
        self.ok(session.exec(f"""
for name in ('', 'lib/', 'bin/'):
    try: open({folder!r} + '/' + name + 'left', 'w').close()
    except OSError: pass"""))
        again = self.session(python=python)
        for path in ("/tmp/own", folder + "/left", folder + "/lib/left", folder + "/bin/left"):
            self.assertEqual(again.value(f"__import__('os').path.exists({path!r})"), False, path)
            self.assertFalse(os.path.exists(path), path)
        # Where forks of a zygote can be had, these are.
        plain = self.session().info["cell"]
        self.assertEqual((session.info["cell"], again.info["cell"]), (plain, plain))
