"""The host's own tree, read-only, with the places of the policy in it."""
import os
import socket
import stat

import cell


class View(cell.FilesCase):
    def test_host_is_seen_at_its_own_paths_and_not_written(self):
        self.write("seen", text="as it is\n")
        ended = self.shell(f"pwd; cat {self.path('seen')}; touch {self.path('new')} /etc/new-name")
        self.assertEqual(ended.out, f"{self.project}\nas it is\n")
        self.assertIn("Read-only file system", ended.inner_err)
        self.assertFalse(os.path.exists(self.path("new")))

    def test_writes_go_through_at_once_and_what_the_host_changes_is_seen(self):
        ended = self.shell("echo made > made; cat later || true; mkdir sub; echo in > sub/file")
        self.assertEqual(ended.code, 0, ended.inner_err)
        with open(os.path.join(self.project, "sub", "file"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "in\n")
        info = os.stat(os.path.join(self.project, "made"))
        self.assertEqual(info.st_uid, cell.USER if cell.IDENTITY == "user" else 0)
        self.write("project", "made", text="changed\n")
        self.assertEqual(self.shell("cat made").out, "changed\n")

    def test_looking_into_a_denied_folder_is_told(self):
        self.write("project", "secret", "key")
        folder = self.project + "/secret"
        told = self.shell("ls secret", deny_read=[folder]).denials
        self.assertEqual([one["resource"] for one in told], [folder])
        self.assertEqual(self.shell("stat secret", deny_read=[folder]).denials, [])

    def test_denied_folder_is_empty_and_not_writable(self):
        self.write("project", "secret", "key")
        ended = self.shell("ls -A secret; echo x > secret/x; cat secret/key",
                           deny_read=[self.project + "/secret"])
        self.assertEqual(ended.out, "")
        self.assertIn("Read-only file system", ended.inner_err)
        self.assertIn("No such file", ended.inner_err)
        self.assertEqual(self.shell("cat secret/key").out, "text\n")  # it is there to be read

    def test_denied_file_can_not_be_opened_and_that_is_told(self):
        self.write("project", "secret")
        path = os.path.join(self.project, "secret")
        ended = self.shell("cat secret; echo x >> secret; ln secret other; mv secret other",
                           deny_read=[path])
        self.assertEqual(ended.out, "")
        self.assertEqual(ended.inner_err.count("Permission denied"), 4)
        self.assertIn(path, [one["resource"] for one in ended.denials if "file-read" in one["rule"]])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "text\n")
        self.write("secret")
        self.assertEqual(self.shell(f"cat {self.path('secret')}").out, "text\n")

    def test_most_specific_read_rule_wins(self):
        self.write("home", "shown", "file", text="shown\n")
        self.write("home", "shown", "not", "file", text="hidden\n")
        self.write("home", "other", text="hidden\n")
        home = self.path("home")
        ended = self.shell(f"cd {home}; cat shown/file; cat shown/not/file other; ls -A . shown/not",
                           deny_read=[home, home + "/shown/not"], allow_read=[home + "/shown"])
        self.assertEqual(ended.out, "shown\n.:\nshown\n\nshown/not:\n")

    def test_denied_write_inside_a_writable_folder_holds(self):
        self.write("project", "cfg")
        self.write("project", "dir", "file")
        rules = {"deny_write": [self.project + "/cfg", self.project + "/dir"]}
        ended = self.shell("echo x >> cfg; echo x >> dir/file; echo x > dir/new; rm -f cfg dir/file;"
                           "mv dir elsewhere; chmod 777 cfg; cat cfg dir/file", **rules)
        self.assertEqual(ended.out, "text\ntext\n")
        self.assertEqual(os.listdir(os.path.join(self.project, "dir")), ["file"])
        self.assertEqual(self.shell("echo x >> cfg && echo x > dir/new && echo well").out, "well\n")

    def test_missing_writable_path_is_skipped_with_a_note(self):
        ended = self.shell("echo x > file && cat file",
                           allow_write=[self.project, self.path("absent")])
        self.assertEqual(ended.out, "x\n")
        self.assertIn("absent does not exist: skipped", ended.err)

    def test_private_folder_is_empty_writable_and_nobody_elses(self):
        self.write("private", "of-the-host")
        ended = self.shell(f"ls -A {self.path('private')}; echo x > {self.path('private')}/mine;"
                           f"ls -A {self.path('private')}", private=[self.path("private")])
        self.assertEqual(ended.out, "mine\n")
        self.assertEqual(os.listdir(self.path("private")), ["of-the-host"])

    def test_program_holds_no_capability_and_sees_no_process_of_the_host(self):
        ended = self.shell("grep CapEff /proc/self/status; ls /proc | grep -c '^[0-9]'; "
                           "cat /proc/1/environ; echo x > /proc/sys/kernel/hostname")
        self.assertIn("CapEff:\t0000000000000000", ended.out)
        self.assertLess(int(ended.out.split()[-1]), 12)
        self.assertEqual(ended.inner_err.count("denied") + ended.inner_err.count("Read-only"), 2)

    def test_devices_are_the_cells_own(self):
        ended = self.shell("echo x > /dev/null && head -c2 /dev/zero | wc -c; ls /dev; touch /dev/x;"
                           "echo s > /dev/shm/s && cat /dev/shm/s")
        self.assertTrue(ended.out.startswith("2\n"))
        self.assertTrue(ended.out.endswith("s\n"))
        self.assertNotIn("vda", ended.out)
        self.assertIn("Read-only", ended.inner_err)


class KernelFiles(cell.FilesCase):
    """sysfs, control groups and the procfs of another place, in the host's tree."""

    OPEN = ("import os,sys\n"
            "for p in sys.argv[1:]:\n"
            " try: os.close(os.open(p,os.O_WRONLY)); print('opened',p)\n"
            " except OSError as e: print(e.errno)\n")

    def test_T22_no_switch_of_the_kernel_is_written_whatever_is_writable(self):
        paths = ["/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state",
                 "/sys/fs/cgroup/cgroup.procs", "/proc/sys/kernel/core_pattern"]
        paths = [path for path in paths if os.path.exists(path)]
        for writable in ("/", "/sys"):
            ended = self.run_cell([cell.PYTHON, "-c", self.OPEN, *paths], allow_write=[writable])
            self.assertNotIn("opened", ended.out)
        ended = self.shell("echo > file && cat file", allow_write=["/"])
        self.assertEqual(ended.out, "\n", ended.inner_err)

    def test_T22_T24_procfs_of_another_place_is_hidden(self):
        if cell.IDENTITY != "root":
            return  # nobody else can mount one
        os.mkdir(os.path.join(self.project, "p"))
        before = ["unshare", "-m", "sh", "-c",
                  f"mount -t proc proc {self.project}/p && exec \"$@\"", "sh"]
        script = "ls p | wc -l; ls /proc | grep -c '^1$'; echo x > p/sys/kernel/core_pattern"
        ended = self.run_cell(["/bin/sh", "-c", script], before=before)
        self.assertEqual(ended.out, "0\n1\n", ended.inner_err)
        # The probe itself works.
        done = cell.subprocess.run(before + ["/bin/sh", "-c", "ls p | wc -l"], cwd=self.project,
                                   capture_output=True, check=True)
        self.assertGreater(int(done.stdout), 50)


class Sockets(cell.FilesCase):
    CLIENT = ("import socket,sys\ns=socket.socket(socket.AF_UNIX)\n"
              "try:\n s.connect(sys.argv[1]); print('connected')\n"
              "except OSError as e: print(e.errno)")

    def host_socket(self, path):
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(path)
        os.chmod(path, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
        server.listen()
        return server

    def test_T43_socket_of_the_host_is_refused_and_told(self):
        self.host_socket(os.path.join(self.project, "host.sock"))
        argv = [cell.PYTHON, "-c", self.CLIENT, os.path.join(self.project, "host.sock")]
        ended = self.run_cell(argv)
        self.assertEqual(ended.out, "13\n")
        self.assertTrue(any("unix-socket" in one["rule"] for one in ended.denials))

    def test_socket_of_the_cell_is_reached(self):
        ended = self.python("import socket\n"
                            "s=socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen()\n"
                            "c=socket.socket(socket.AF_UNIX); c.connect('own.sock')\n"
                            "a,_=s.accept(); c.send(b'hello'); print(a.recv(9).decode())\n"
                            "t=socket.socket(); t.bind(('127.0.0.1',0)); t.listen()\n"
                            "socket.create_connection(t.getsockname()); print('tcp')")
        self.assertEqual(ended.out, "hello\ntcp\n", ended.inner_err)

    def test_T43_link_that_a_cell_made_allows_no_socket(self):
        self.host_socket(self.path("agent"))
        os.symlink("../agent", os.path.join(self.project, "agent.sock"))
        os.symlink("agent", self.path("link"))
        for name, said in ((os.path.join(self.project, "agent.sock"), "13"), (self.path("link"), "connected")):
            ended = self.run_cell([cell.PYTHON, "-c", self.CLIENT, name], sockets=[name])
            self.assertEqual(ended.out.strip(), said, name)

    def test_T43_no_socket_of_the_host_comes_to_an_allowed_path(self):
        """It is allowed by its path, and the path lies in a folder that the cell writes."""
        for name in ("allowed", "host", "host/in"):
            os.mkdir(os.path.join(self.project, name))
        for name in ("host/a", "host/in/a"):
            self.host_socket(os.path.join(self.project, name))
        paths = [os.path.join(self.project, name) for name in ("allowed", "agent.sock", "deep/s")]
        script = ("import ctypes,os,socket\nlibc=ctypes.CDLL(None,use_errno=True)\n"
                  "def attempt(f,*a):\n"
                  " try: f(*a); print('did',a)\n"
                  " except OSError: pass\n"
                  "def exchange(a,b):\n"
                  " if libc.renameat2(-100,a.encode(),-100,b.encode(),2): raise OSError\n"
                  "for n in ('allowed/x','agent.sock','AGENT.SOCK'):\n"
                  " attempt(os.link,'host/a',n); attempt(os.rename,'host/a',n)\n"
                  "open('allowed/file','w')\n"
                  "attempt(exchange,'host/a','allowed/file'); attempt(exchange,'allowed/file','host/a')\n"
                  "os.mkdir('new'); os.link('host/a','new/s')\n"
                  "for n in ('allowed/new','deep'): attempt(os.rename,'new',n)\n"
                  "attempt(os.rename,'host/in','allowed/in')\n"
                  # What the cell binds there itself it reaches, and files come and go.
                  "s=socket.socket(socket.AF_UNIX); s.bind('agent.sock'); s.listen()\n"
                  "socket.socket(socket.AF_UNIX).connect('agent.sock')\n"
                  "os.rename('allowed/file','allowed/other'); os.link('allowed/other','allowed/l')\n"
                  "print('end')")
        ended = self.python(script, sockets=paths)
        self.assertEqual(ended.out, "end\n", ended.inner_err)

    def test_allowed_socket_of_the_host_is_reached(self):
        path = os.path.join(self.project, "host.sock")
        self.host_socket(path)
        ended = self.run_cell([cell.PYTHON, "-c", self.CLIENT, path], sockets=[path])
        self.assertEqual(ended.out, "connected\n")

    DATAGRAMS = ("import socket,sys\n"
                 "a,b=socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                 "a.send(b'x'); a.send(b'yy'); print(b.recv(9)+b'|'+b.recv(9))\n"
                 "for send in (lambda: a.sendto(b'pair',sys.argv[1]),\n"
                 "             lambda: a.sendmsg([b'pair'],[],0,sys.argv[1]),\n"
                 "             lambda: socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM).sendto("
                 "b'single',sys.argv[1])):\n"
                 " try: send()\n"
                 " except OSError as e: print(e.errno)\n")

    def test_T43_datagrams_reach_no_socket_of_the_host(self):
        """Those of a pair go to its other end, whatever address they carry."""
        path = os.path.join(self.project, "log.sock")
        log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(log.close)
        log.bind(path)
        os.chmod(path, 0o666)
        log.settimeout(0)
        ended = self.run_cell([cell.PYTHON, "-c", self.DATAGRAMS, path])
        self.assertEqual(ended.out, "b'x|yy'\n13\n", ended.inner_err)
        self.assertRaises(BlockingIOError, log.recv, 9)
