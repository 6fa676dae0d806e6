"""What the warden does for a program is what the kernel would have done."""
import os
import stat

import cell


class Faithful(cell.FilesCase):
    def test_warden_lives_on_when_its_first_thread_has_waited(self):
        """What it asks /proc/self for would be gone with that thread."""
        ended = self.python(
            "import os,threading,time\n"
            "def w(n): os.close(os.open(n,os.O_WRONLY))\n"
            "ts=[]\n"
            "for n in '012': os.mkfifo(n); t=threading.Thread(target=w,args=(n,)); t.start(); "
            "ts.append(t); time.sleep(.1)\n"
            "for n in '120': os.close(os.open(n,os.O_RDONLY)); ts[int(n)].join()\n"
            "os.mkdir('d'); os.symlink('d','l')\n"
            "open('l/x','w').close(); open('d/../y','w').close(); os.link('y','z')\n"
            "os.truncate('y',3); print(os.stat('z').st_size)\n", **self.protected())
        self.assertEqual((ended.out, ended.inner_err), ("3\n", ""))

    def run_protected(self, script, **more):
        return self.shell(script, **dict(self.protected(), **more))

    def test_umask_of_each_process_counts(self):
        ended = self.run_protected("umask 077; echo x > a; (umask 027; echo x > b; mkdir c);"
                                   "echo x > d; stat -c %a a b c d")
        self.assertEqual(ended.out.split(), ["600", "640", "750", "600"])

    def test_flags_of_open_are_kept(self):
        ended = self.python(
            "import os,fcntl\n"
            "f=os.open('f',os.O_CREAT|os.O_RDWR|os.O_APPEND,0o600)\n"
            "g=fcntl.fcntl(f,fcntl.F_GETFL); print(bool(g&os.O_APPEND),bool(g&os.O_NONBLOCK))\n"
            "print(fcntl.fcntl(f,fcntl.F_GETFD))\n"
            "import ctypes; libc=ctypes.CDLL(None)\n"
            "h=libc.open(b'f',os.O_RDWR); print(fcntl.fcntl(h,fcntl.F_GETFD))\n"
            "try: os.open('f',os.O_CREAT|os.O_EXCL|os.O_WRONLY)\n"
            "except FileExistsError: print('exists')\n"
            "try: os.open('none',os.O_WRONLY)\n"
            "except FileNotFoundError: print('absent')\n"
            "try: os.open('.',os.O_WRONLY)\n"
            "except IsADirectoryError: print('folder')\n"
            "try: os.open('f/x',os.O_CREAT|os.O_WRONLY)\n"
            "except NotADirectoryError: print('no folder')\n"
            "os.symlink('f','l')\n"
            "try: os.open('l',os.O_WRONLY|os.O_NOFOLLOW)\n"
            "except OSError as e: print(e.errno)\n"
            "t=os.open('.',os.O_TMPFILE|os.O_RDWR,0o600)\n"
            "libc.linkat(-100,f'/proc/self/fd/{t}'.encode(),-100,b'named',0x400)\n"
            "print(os.path.exists('named'))",
            **self.protected())
        self.assertEqual(ended.out.split("\n"),
                         ["True False", "1", "0", "exists", "absent", "folder", "no folder", "40",
                          "True", ""], ended.inner_err)

    def test_what_is_there_is_opened_by_who_would_make_it(self):
        """A new file is tried first, but not every time: so each of these, many times over."""
        ended = self.python(
            "import errno,fcntl,os\n"
            "make=os.O_CREAT|os.O_WRONLY\n"
            "open('there','w').write('old'); os.symlink('there','link'); os.symlink('made','dangling')\n"
            "os.mkdir('folder'); os.mkfifo('fifo'); r=os.open('fifo',os.O_RDONLY|os.O_NONBLOCK)\n"
            "open('closed','w').close(); os.chmod('closed',0)\n"
            "seen=set()\n"
            "def tell(what,path,flags):\n"
            " try: f=os.open(path,flags,0o600)\n"
            " except OSError as e: seen.add((what,errno.errorcode[e.errno])); return\n"
            " waits=not fcntl.fcntl(f,fcntl.F_GETFL)&os.O_NONBLOCK\n"
            " seen.add((what,os.fstat(f).st_size,waits)); os.close(f)\n"
            "for i in range(40):\n"
            " tell('there','there',make); tell('link','link',make)\n"
            " tell('excl','there',make|os.O_EXCL); tell('excl link','dangling',make|os.O_EXCL)\n"
            " tell('nofollow','link',make|os.O_NOFOLLOW)\n"
            " tell('folder','folder',make); tell('fifo','fifo',make)\n"
            " tell('dangling','dangling',make); os.unlink('made')\n"
            " tell('new','new',make); os.unlink('new')\n"
            " tell('at once','new',make|os.O_NONBLOCK); os.unlink('new')\n"
            "tell('closed','closed',make); tell('cut','there',make|os.O_TRUNC)\n"
            "print(sorted(map(str,seen)))", **self.protected())
        waits = {"there": 3, "link": 3, "fifo": 0, "dangling": 0, "new": 0, "cut": 0}
        errors = {"excl": "EEXIST", "excl link": "EEXIST", "nofollow": "ELOOP", "folder": "EISDIR",
                  "closed": "EACCES"}
        expected = [str((what, size, True)) for what, size in waits.items()]
        expected += [str(pair) for pair in errors.items()] + [str(("at once", 0, False))]
        self.assertEqual(ended.out, f"{sorted(expected)}\n", ended.inner_err)

    def test_file_that_was_closed_is_open_nowhere(self):
        ended = self.python(
            "import fcntl,os,subprocess\n"
            "for i in range(50):\n"
            " f=os.open('lock',os.O_CREAT|os.O_RDWR,0o600); fcntl.flock(f,fcntl.LOCK_EX); os.close(f)\n"
            " g=os.open('lock',os.O_RDONLY); fcntl.flock(g,fcntl.LOCK_EX|fcntl.LOCK_NB); os.close(g)\n"
            "for i in range(20):\n"
            " f=os.open('run',os.O_CREAT|os.O_WRONLY|os.O_TRUNC,0o755)\n"
            " os.write(f,b'#!/bin/true\\n'); os.close(f); subprocess.check_call(['./run'])\n"
            "print('free')", **self.protected())
        self.assertEqual(ended.out, "free\n", ended.inner_err)

    def test_streams_are_opened_again_by_name(self):
        ended = self.run_protected("echo a > /dev/stdout; echo b > /proc/self/fd/1;"
                                   "echo c > /dev/stderr; echo d | tee /dev/stderr")
        self.assertEqual((ended.out, ended.inner_err), ("a\nb\nd\n", "c\nd\n"))

    def test_folder_that_was_renamed_or_removed_is_still_the_current_one(self):
        ended = self.run_protected("mkdir a; cd a; mv ../a ../b; echo x > in; cat ../b/in;"
                                   "rm in; rmdir ../b; echo x > gone; echo $?")
        self.assertEqual(ended.out, "x\n2\n")

    def test_fifo_that_nobody_reads_holds_up_nobody_else(self):
        ended = self.run_protected(
            "mkfifo f; for i in 1 2 3 4; do (echo $i > f) & done;"
            "for i in 1 2 3 4 5 6 7 8; do echo x > file$i || exit 1; done; ls file* | wc -l;"
            "exec 3<>f; for i in 1 2 3 4; do read x <&3; echo $x; done | sort -u | wc -l; wait")
        self.assertEqual(ended.out, "8\n4\n", ended.inner_err)

    def test_caller_that_is_killed_while_it_waits_leaves_the_rest_alone(self):
        ended = self.run_protected(
            "mkfifo f; for i in $(seq 40); do (echo $i > f) & kill -9 $!; done; wait;"
            "echo x > after; cat after")
        self.assertTrue(ended.out.endswith("x\n"), ended.inner_err)

    def test_many_threads_at_once(self):
        ended = self.python(
            "import os,threading\n"
            "def work(n):\n"
            " for i in range(40):\n"
            "  p=f't{n}-{i}'; f=os.open(p,os.O_CREAT|os.O_EXCL|os.O_WRONLY); os.write(f,p.encode())\n"
            "  os.close(f); assert open(p).read()==p; os.unlink(p)\n"
            "ts=[threading.Thread(target=work,args=(n,)) for n in range(32)]\n"
            "[t.start() for t in ts]; [t.join() for t in ts]; print(len(os.listdir('.')))",
            **self.protected())
        self.assertEqual(ended.out, "0\n", ended.inner_err)

    def test_cores_of_those_who_made_files_are_what_they_were(self):
        """While a descriptor changes hands its caller is kept on one core."""
        script = ("import os,threading\n"
                  "before=os.sched_getaffinity(0); after=[]\n"
                  "def work(n):\n"
                  " for i in range(100): os.close(os.open(f'{n}-{i}',os.O_CREAT|os.O_WRONLY))\n"
                  " after.append(os.sched_getaffinity(0))\n"
                  "ts=[threading.Thread(target=work,args=(n,)) for n in range(4)]\n"
                  "[t.start() for t in ts]; [t.join() for t in ts]\n"
                  "print(sorted(before), all(a==before for a in after), len(after))\n")
        mine = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, mine)
        for cores in (mine, {min(mine)}):
            os.sched_setaffinity(0, cores)
            ended = self.python(script, **self.protected())
            self.assertEqual(ended.out, f"{sorted(cores)} True 4\n", ended.inner_err)

    def test_signals_make_no_call_happen_twice(self):
        ended = self.python(
            "import os,signal\n"
            "signal.signal(signal.SIGALRM,lambda *_:None)\n"
            # As the C library has it: a call that a signal finds waiting begins anew.
            "signal.siginterrupt(signal.SIGALRM,False)\n"
            "signal.setitimer(signal.ITIMER_REAL,0.0005,0.0005)\n"
            "for i in range(1000):\n"
            " os.close(os.open(f'f{i}',os.O_CREAT|os.O_EXCL|os.O_WRONLY)); os.mkdir(f'd{i}')\n"
            "print('done')", **self.protected())
        self.assertEqual(ended.out, "done\n", ended.inner_err)

    def test_process_that_keeps_itself_from_others_can_still_write(self):
        ended = self.python(
            "import ctypes,os\nctypes.CDLL(None).prctl(4,0)\n"
            "open('relative','w').write('x'); os.mkdir('folder')\n"
            "try: open('.bashrc','w')\n"
            "except PermissionError: print('refused')\n"
            "print(open('relative').read())", **self.protected())
        self.assertEqual(ended.out, "refused\nx\n", ended.inner_err)

    def test_T24_warden_can_not_be_looked_into(self):
        ended = self.python(
            "import os\n"
            "for pid in filter(str.isdigit,os.listdir('/proc')):\n"
            " if int(pid) in (os.getpid(),): continue\n"
            " for name in ('mem','maps','environ','fd/0'):\n"
            "  for flags in (os.O_RDONLY,os.O_RDWR):\n"
            "   try: os.open(f'/proc/{pid}/{name}',flags); print('opened',pid,name,flags)\n"
            "   except OSError: pass\n"
            "print('end')", deny_read=["/**/*.secret"])
        self.assertEqual(ended.out, "end\n")

    def test_T35_every_process_of_the_cell_has_a_filter(self):
        # pid 1 takes its own when the program has begun.
        ended = self.shell("for i in $(seq 100); do all=$(grep -h '^Seccomp:' /proc/[0-9]*/status);"
                           "echo \"$all\" | grep -q 0 || break; done; echo \"$all\"",
                           **self.protected())
        self.assertGreaterEqual(len(ended.out.split()), 6)
        self.assertEqual(set(ended.out.split()), {"Seccomp:", "2"})

    def test_T39_without_the_warden_nothing_is_made(self):
        ended = self.python(
            "import os,signal\n"
            "mine=(1,os.getpid())\n"
            "for pid in filter(str.isdigit,os.listdir('/proc')):\n"
            " if int(pid) not in mine: os.kill(int(pid),signal.SIGKILL)\n"
            "for p in ('.bashrc','other'):\n"
            " try: os.open(p,os.O_CREAT|os.O_WRONLY); print('made')\n"
            " except OSError as e: print(e.errno)", **self.protected())
        # The cell ends with it, before or after these.
        self.assertLessEqual(set(ended.out.split()), {"38"}, ended.inner_err)
        self.assertEqual(os.listdir(self.project), [])

    def test_nothing_is_left_on_the_host(self):
        before = sorted(os.listdir(self.project))
        self.run_protected("true")
        self.assertEqual(sorted(os.listdir(self.project)), before)
        self.assertTrue(stat.S_ISDIR(os.stat(self.project).st_mode))
