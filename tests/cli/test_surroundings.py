"""What a person expects to be there is there: the current folder, PATH, locale, time, CAs."""
import os
import subprocess

import harness
from harness import IS_ROOT, PYTHON, CliTest


class Root(CliTest):
    def test_however_many_begin_each_has_one_root_from_its_first_moment(self):
        """What lies over it while a cell is made is taken away beside the program's own start."""
        look = ('n=0; while read -r _ _ _ _ point _; do [ "$point" = / ] && n=$((n+1)); done '
                '< /proc/self/mountinfo; [ /.. -ef / ] && echo $n')
        children = [self.start("exec", "sh", "-c", look) for _ in range(40)]
        for child in children:
            ended = self.finish(child)
            self.assertEqual((ended.code, ended.out, ended.err), (0, "1\n", ""), ended)


class CurrentFolder(CliTest):
    def test_it_is_the_working_directory_read_only_at_its_own_path(self):
        self.file("project/data", "mine")
        ended = self.exec("sh", "-c", "pwd; cat data; touch new")
        self.assertEqual(ended.out, self.project + "\nmine")
        self.assertIn("Read-only file system", ended.err)
        self.assertEqual(os.listdir(self.project), ["data"])

    def test_nothing_beside_it_is_visible(self):
        self.file("other/secret", "")
        ended = self.exec("ls", self.top)
        self.assertEqual(ended.out, "project\n", ended)

    def test_a_folder_below_a_home_is_visible_and_nothing_else_of_it(self):
        self.file("home/.ssh/id", "key")
        self.file("home/code/main.py", "print('ran')")
        ended = self.exec_ok("sh", "-c", f"python3 main.py; ls -A {self.home}",
                             cwd=self.home + "/code")
        self.assertEqual((ended.out, ended.err), ("ran\ncode\n", ""))

    def assert_left_out(self, folder, **how):
        ended = self.exec("pwd", cwd=folder, **how)
        self.assertEqual((ended.code, ended.out), (0, "/tmp\n"), ended)
        lines = ended.err.splitlines()
        self.assertEqual(len(lines), 1, ended)
        self.assertIn("left out", lines[0])
        self.assertIn("--mount", lines[0])
        if folder != "/":
            self.assertIn(folder, lines[0])

    def test_it_is_left_out_when_it_is_the_root(self):
        self.assert_left_out("/")

    def test_it_is_left_out_when_it_is_a_home_or_above_one(self):
        self.assert_left_out(self.home)
        self.assert_left_out(self.top)  # above the home
        self.assert_left_out("/home")
        if IS_ROOT:
            self.assert_left_out("/root")

    def test_it_is_left_out_where_programs_keep_keys(self):
        for name in (".ssh", ".config/gcloud", ".aws"):
            self.assert_left_out(self.folder("home/" + name))

    def test_it_is_left_out_when_everyone_shares_it(self):
        self.assert_left_out("/tmp")
        self.assert_left_out("/var")

    def test_a_home_by_another_name_is_still_one(self):
        os.symlink(self.home, self.top + "/alias")
        ended = self.exec("pwd", cwd=self.top + "/alias")
        self.assertEqual(ended.out, "/tmp\n")

    def test_the_line_it_gives_works(self):
        self.file("home/visible", "")
        done = self.exec_ok("--mount", f"{self.home}:{self.home}:ro", "ls", cwd=self.home)
        self.assertEqual(done.out, "visible\n")

    def test_a_system_folder_is_there_anyway(self):
        ended = self.exec_ok("pwd", cwd="/usr/bin")
        self.assertEqual((ended.out, ended.err), ("/usr/bin\n", ""))

    def test_a_name_with_anything_in_it(self):
        for name in ("with space", "quo'te\"s", "ünï", "back\\slash", "co:lon", "new\nline"):
            with self.subTest(name):
                folder = self.folder(name)
                self.assertEqual(self.exec_ok("pwd", cwd=folder).out, folder + "\n")

    def test_a_folder_that_is_gone(self):
        gone = self.folder("gone")
        ended = subprocess.run(["sh", "-c", f'cd "{gone}" && rmdir "{gone}" && exec "$0" exec pwd',
                                harness.BINARY], env=self.environment(),
                               capture_output=True, text=True, timeout=30)
        self.assertEqual((ended.returncode, ended.stdout), (0, "/tmp\n"), ended)
        self.assertIn("gone", ended.stderr)


class System(CliTest):
    def test_commands_of_the_path_run(self):
        for command in ("ls", "python3", "bash", "perl"):
            self.assertEqual(self.exec(command, "--version").code, 0, command)

    def test_locale(self):
        code = ("import locale; locale.setlocale(locale.LC_ALL, '');"
                "print('é', locale.nl_langinfo(locale.CODESET))")
        self.assertEqual(self.exec_ok(PYTHON, "-c", code).out, "é UTF-8\n")

    def test_time_zone_by_name_and_by_default(self):
        self.assertEqual(self.exec_ok("date", "-d@0", "+%H %Z", env={"TZ": "Asia/Tokyo"}).out,
                         "09 JST\n")
        outside = subprocess.run(["date", "-d@0", "+%H %Z"], env=self.environment(),
                                 capture_output=True, text=True).stdout
        self.assertEqual(self.exec_ok("date", "-d@0", "+%H %Z").out, outside)

    def test_ca_certificates(self):
        code = ("import ssl; c = ssl.create_default_context(); c.load_default_certs();"
                "print(len(c.get_ca_certs()))")
        outside = subprocess.run([PYTHON, "-c", code], env=self.environment(), capture_output=True,
                                 text=True).stdout
        self.assertEqual(self.exec_ok(PYTHON, "-c", code).out, outside)

    def test_fonts(self):
        for folder in ("/usr/share/fonts", "/etc/fonts"):
            if os.path.isdir(folder):
                self.assertEqual(self.exec_ok("ls", folder).out.split(),
                                 sorted(os.listdir(folder)))

    def test_etc_has_no_secrets(self):
        ended = self.exec("sh", "-c", "cat /etc/shadow /etc/gshadow /etc/sudoers; ls /etc/ssl")
        self.assertEqual(ended.err.count("No such file"), 3, ended)
        self.assertNotIn("private", ended.out)

    def test_the_user_is_the_caller(self):
        self.assertEqual(self.exec_ok("id", "-u").out, f"{os.getuid()}\n")
        code = "import pwd, os; print(pwd.getpwuid(os.getuid()).pw_dir)"
        self.assertEqual(self.exec_ok(PYTHON, "-c", code).out, "/tmp\n")

    def test_the_host_name_is_not_the_hosts(self):
        self.assertEqual(self.exec_ok("hostname").out, "caisson\n")

    def test_localhost_is_itself(self):
        code = ("import socket; s = socket.create_server(('localhost', 0));"
                "c = socket.create_connection(s.getsockname()); print('connected')")
        self.assertEqual(self.exec_ok(PYTHON, "-c", code).out, "connected\n")

    def test_usual_work_works(self):
        code = ("import multiprocessing, tempfile, threading, sqlite3, subprocess, socket\n"
                "if __name__ == '__main__':\n"
                "  print(sum(multiprocessing.Pool(2).map(abs, range(-5, 5))))\n"
                "  tempfile.NamedTemporaryFile().write(b'x')\n"
                "  t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
                "  sqlite3.connect('/tmp/db').execute('create table t (a)')\n"
                "  print(subprocess.check_output(['echo', 'child'], text=True), end='')\n"
                "  a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\n")
        self.file("project/work.py", code)
        self.assertEqual(self.exec_ok(PYTHON, "work.py").out, "25\nthread\nchild\nb'x'\n")
