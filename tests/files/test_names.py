"""Names that are protected though nothing has them yet."""
import errno
import os

import cell

EPERM, ENOENT, EXDEV = 1, 2, 18


class Names(cell.FilesCase):
    """Each attempt by the call itself, from Python; 0 where it went well."""

    TRY = ("import os,sys,ctypes\n"
           "libc=ctypes.CDLL(None,use_errno=True)\n"
           "def attempt(f,*a):\n"
           " try: f(*a); print(0)\n"
           " except OSError as e: print(e.errno)\n"
           "def write(p,flags=os.O_CREAT|os.O_WRONLY): os.close(os.open(p,flags,0o644))\n"
           "def exchange(a,b):\n"
           " if libc.renameat2(-100,a.encode(),-100,b.encode(),2): "
           "raise OSError(ctypes.get_errno(),'')\n")

    def attempts(self, script, **rules):
        ended = self.python(self.TRY + script, **(rules or self.protected()))
        self.assertEqual(ended.inner_err, "")
        return [int(word) for word in ended.out.split()]

    def test_T05_absent_name_can_not_be_made_in_any_way(self):
        calls = ("write('.bashrc')", "os.mkdir('.bashrc')", "os.mkfifo('.bashrc')",
                 "os.symlink('x','.bashrc')", "os.link('file','.bashrc')",
                 "os.rename('file','.bashrc')", "exchange('file','.bashrc')",
                 "os.makedirs('new/deep'); write('new/deep/.bashrc')",
                 "__import__('socket').socket(1).bind('.bashrc')")
        self.write("project", "file")
        script = "".join(f"def f(): {call}\nattempt(f)\n" for call in calls)
        self.assertEqual(self.attempts(script), [EPERM] * 9)
        self.assertFalse(os.path.lexists(os.path.join(self.project, ".bashrc")))

    def test_other_names_can_be_made_in_every_way(self):
        self.write("project", "file")
        script = ("attempt(write,'a')\nattempt(os.mkdir,'b')\nattempt(os.mkfifo,'c')\n"
                  "attempt(os.symlink,'x','d')\nattempt(os.link,'file','e')\n"
                  "attempt(os.rename,'file','f')\nattempt(exchange,'a','f')\n"
                  "attempt(os.rmdir,'b')\nattempt(os.truncate,'f',3)\n")
        self.assertEqual(self.attempts(script), [0] * 9)

    def test_T06_other_spellings_of_the_name_are_the_name(self):
        os.mkdir(os.path.join(self.project, "d"))
        spellings = ("./.bashrc", "d/../.bashrc", "d//.bashrc", "/proc/self/cwd/.bashrc",
                     f"{self.project}/.bashrc", "d/./.bashrc", ".BashRC")
        script = "".join(f"attempt(write,{text!r})\n" for text in spellings)
        self.assertEqual(self.attempts(script), [EPERM] * len(spellings))

    def test_link_in_another_names_place_is_followed_and_judged(self):
        os.symlink(".bashrc", os.path.join(self.project, "dangling"))
        os.symlink("elsewhere", os.path.join(self.project, "harmless"))
        self.assertEqual(self.attempts("attempt(write,'dangling')\nattempt(write,'harmless')\n"),
                         [EPERM, 0])
        self.assertTrue(os.path.exists(os.path.join(self.project, "elsewhere")))

    def test_link_in_a_protected_names_place_bricks_nothing(self):
        self.write("dotfiles", "bashrc")
        os.symlink(self.path("dotfiles", "bashrc"), os.path.join(self.project, ".bashrc"))
        ended = self.shell("cat .bashrc; echo x >> .bashrc; echo fine > other; cat other",
                           **self.protected())
        self.assertEqual(ended.out, "text\nfine\n")

    def test_T07_protected_name_that_is_a_link_is_not_written_through(self):
        """Nor what lies behind one; by the name that it leads to it is a file like others."""
        self.folders("cfg", "store/hooks", "repo")
        for target, name in (("cfg", ".tool"), ("../store", "repo/.git"), ("cfg", "free")):
            os.symlink(target, os.path.join(self.project, name))
        script = ("attempt(os.makedirs,'.tool/commands')\nattempt(os.mkdir,'.tool/./commands')\n"
                  "attempt(write,'.tool/x/../commands/y')\nattempt(write,'repo/.git/hooks/y')\n"
                  "attempt(os.mkdir,'.tool/x')\nattempt(write,'.tool/x/../commands')\n"
                  "attempt(write,'free/file')\nattempt(write,'store/hooks/file')\n"
                  "os.makedirs('new/h')\nos.mkdir('new/.git')\nos.symlink('../h','new/.git/hooks')\n"
                  "attempt(write,'new/.git/hooks/file')\n")
        self.assertEqual(self.attempts(script),
                         [EPERM, EPERM, ENOENT, EPERM, 0, EPERM, 0, 0, 0])

    def test_T07_existing_name_is_not_written_renamed_or_linked_away(self):
        self.write("project", "sub", ".bashrc")
        script = ("attempt(write,'sub/.bashrc',os.O_WRONLY)\nattempt(write,'sub/.bashrc',os.O_RDWR)\n"
                  "attempt(os.truncate,'sub/.bashrc',0)\nattempt(os.rename,'sub/.bashrc','x')\n"
                  "attempt(os.link,'sub/.bashrc','y')\nprint(open('sub/.bashrc').read()=='text\\n')\n")
        ended = self.python(self.TRY + script, **self.protected())
        self.assertEqual(ended.out.split(), ["1"] * 5 + ["True"], ended.inner_err)

    def test_T07_folder_above_a_protected_name_does_not_move(self):
        for name in (".tool", "mine", "repo/.git/hooks"):
            os.makedirs(os.path.join(self.project, name))
        script = ("attempt(os.rename,'.tool','gone')\nattempt(os.rename,'mine','sub-tool')\n"
                  "attempt(os.rename,'sub-tool','x/.tool') if os.mkdir('x') else "
                  "attempt(os.rename,'sub-tool','x/.tool')\n"
                  "attempt(os.symlink,'sub-tool','y.tool')\nattempt(os.symlink,'sub-tool','x/.tool')\n"
                  "attempt(os.rename,'repo/.git','repo/g')\nattempt(os.rmdir,'repo/.git/hooks')\n"
                  "attempt(os.rename,'repo','moved')\n")
        self.assertEqual(self.attempts(script),
                         [EPERM, 0, EPERM, 0, EPERM, EPERM, EPERM, EPERM])

    def test_T07_existing_name_is_not_taken_away(self):
        for name in ("sub/.bashrc", "sub/repo/.git/hooks/pre-commit", "sub/other"):
            self.write("project", *name.split("/"))
        script = ("attempt(os.unlink,'sub/.bashrc')\nfd=os.open('sub',os.O_RDONLY)\n"
                  "attempt(lambda: os.unlink('.bashrc',dir_fd=fd))\n"
                  "attempt(os.unlink,'sub/repo/.git/hooks/pre-commit')\n"
                  "attempt(os.rename,'sub','away')\nattempt(os.unlink,'sub/other')\n"
                  "attempt(os.unlink,'sub/other')\n")
        self.assertEqual(self.attempts(script),
                         [EPERM, EPERM, EPERM, EPERM, 0, ENOENT])

    def test_T05_folder_made_elsewhere_comes_in_name_by_name(self):
        outside = self.path("outside")
        os.makedirs(outside)
        rules = dict(self.protected(), allow_write=[self.top])
        script = (f"os.chdir({self.top!r})\nos.mkdir('outside/d')\nattempt(write,'outside/d/.bashrc')\n"
                  "attempt(os.rename,'outside/d','project/d')\n"
                  "attempt(write,'outside/f')\nattempt(os.rename,'outside/f','project/f')\n"
                  "attempt(os.rename,'project','away')\n")
        # A file, too: that it is one may be untrue a moment later.
        self.assertEqual(self.attempts(script, **rules), [0, EXDEV, 0, EXDEV, EPERM])

    def test_T05_whatever_it_is_it_does_not_take_a_place_above_a_protected_name(self):
        """Another cell could put a folder in the place of the file that was looked at."""
        self.write("project", "file")
        self.assertEqual(self.attempts("attempt(os.rename,'file','.tool')\n"
                                       "attempt(os.rename,'file','other')\n"), [EPERM, 0])

    RACE = ("import threading,time\nend=time.monotonic()+1.5\n"
            "def until(f):\n"
            " while time.monotonic()<end:\n"
            "  try: f()\n"
            "  except OSError: pass\n"
            "def waits(): os.close(os.open('ff',os.O_WRONLY))\n"
            # Two threads of the warden: one has waited for a FIFO, another took its place.
            "os.mkfifo('ff'); w=threading.Thread(target=waits); w.start(); time.sleep(.1)\n"
            "os.close(os.open('ff',os.O_RDONLY)); w.join()\n")

    def test_T05_race_for_the_kind_of_what_moves_is_not_won(self):
        script = (self.RACE + "os.makedirs('w/d/deep'); write('w/f')\n"
                  "t=threading.Thread(target=until,args=(lambda: exchange('w/f','w/d'),)); t.start()\n"
                  "until(lambda: os.rename('w/f','.tool'))\nt.join()\n"
                  "print(int(os.path.lexists('.tool')))\n")
        self.assertEqual(self.attempts(script), [0])

    def test_T07_race_for_the_age_of_a_folder_is_not_won(self):
        os.makedirs(os.path.join(self.project, "a", "old", ".git", "hooks"))
        script = (self.RACE + "os.makedirs('new/.git/hooks')\n"
                  "def swap(): exchange('a','new')\n"
                  "t=threading.Thread(target=until,args=(swap,)); t.start()\n"
                  "until(lambda: write('a/old/.git/../.git/hooks/x'))\nt.join()\n"
                  "print(sum(os.path.exists(p+'/old/.git/hooks/x') for p in ('a','new')))\n")
        self.assertEqual(self.attempts(script), [0])

    def test_T24_memory_of_no_thread_of_the_warden_is_read(self):
        """Threads come and go while their numbers are asked for."""
        script = (self.RACE + "found=[]\n"
                  "def churn():\n"
                  " w=threading.Thread(target=waits); w.start()\n"
                  " os.close(os.open('ff',os.O_RDONLY)); w.join()\n"
                  "t=threading.Thread(target=until,args=(churn,)); t.start()\n"
                  "def look():\n"
                  " for n in range(2,max(map(int,os.listdir('/proc/self/task')))+6):\n"
                  "  try: fd=os.open(f'/proc/{n}/maps',os.O_RDONLY|os.O_CREAT)\n"
                  "  except OSError: continue\n"
                  "  if b'/caisson' in os.read(fd,65536): found.append(n)\n"
                  "  os.close(fd)\n"
                  "until(look)\nt.join()\nprint(len(found))\n")
        self.assertEqual(self.attempts(script), [0])

    def test_new_repository_has_its_hooks_and_an_old_one_keeps_its_own(self):
        os.makedirs(os.path.join(self.project, "old", ".git", "hooks"))
        script = ("os.makedirs('new/.git/hooks')\nattempt(write,'new/.git/hooks/pre-commit')\n"
                  "attempt(write,'old/.git/hooks/pre-commit')\n"
                  "attempt(os.rmdir,'old/.git/hooks')\nattempt(os.rmdir,'old/.git')\n")
        self.assertEqual(self.attempts(script), [0, EPERM, EPERM, EPERM])

    def folders(self, *names):
        for name in names:
            os.makedirs(os.path.join(self.project, name))

    def test_T05_name_that_begins_in_an_older_folder_is_protected_though_the_rest_is_new(self):
        """A repository of the cell's own in a folder that was there would steer who works in it."""
        self.folders("old", "other")
        self.write("project", "file")
        script = ("os.makedirs('new/.git/hooks')\nos.symlink('new/.git','link')\n"
                  "attempt(os.mkdir,'old/.git')\nattempt(os.mkdir,'old/.git/hooks')\n"
                  "attempt(os.symlink,'../new','old/.git/hooks')\n"
                  "attempt(write,'other/.git')\nattempt(os.mknod,'other/.git')\n"
                  "attempt(os.link,'file','other/.git')\n"
                  "attempt(os.rename,'new/.git','other/.git')\n"
                  "attempt(os.symlink,'../new/.git','other/.git')\n"
                  "attempt(os.rename,'link','other/.git')\n"
                  "attempt(lambda: os.link('link','other/.git',follow_symlinks=False))\n"
                  "attempt(exchange,'new/.git','old/.git')\n"
                  # What begins in a folder of its own is its own, whatever stands above.
                  "attempt(write,'new/file')\n"
                  "attempt(os.makedirs,'old/.git/trees/one/.git/hooks')\n"
                  "attempt(os.rename,'new','old/new')\n"
                  "attempt(write,'old/new/.git/hooks/pre-commit')\n")
        self.assertEqual(self.attempts(script), [0] + [EPERM] * 10 + [0] * 4)

    def test_T05_link_leads_past_no_name_behind_two_stars(self):
        self.folders("old/.git/modules")
        script = ("os.makedirs('new/.git/modules')\nos.mkdir('evil')\n"
                  "attempt(os.symlink,'../../../evil','old/.git/modules/lib')\n"
                  "attempt(os.symlink,'../../../evil','new/.git/modules/lib')\n")
        rules = {"protect": [self.project + "/**/.git/modules/**/hooks"]}
        self.assertEqual(self.attempts(script, **rules), [EPERM, 0])

    def test_T07_place_of_an_older_folder_stays_old(self):
        """Moved or removed, alone or with the one above it: what is made there is protected."""
        self.folders("a/sub", "gone")
        script = ("attempt(os.rename,'a','a2')\nattempt(os.rmdir,'gone')\n"
                  "for n in ('a','a/sub','gone'): os.makedirs(n+'/.git')\n"
                  "for n in ('a','a/sub','gone','GONE'): attempt(os.makedirs,n+'/.git/hooks')\n"
                  # Nothing was there before.
                  "attempt(os.makedirs,'a/other/.git/hooks')\n")
        # On a disk that tells letters apart "GONE" is another name, and no other here.
        self.assertEqual(self.attempts(script), [0, 0] + [EPERM] * 4 + [0])

    def test_T07_nothing_brings_protected_names_to_the_place_of_an_older_folder(self):
        self.folders("gone", "stays", "empty", "b/sub", "back/sub")
        script = ("os.makedirs('evil/.git/hooks')\nos.makedirs('deep/sub/.git/hooks')\n"
                  "os.symlink('evil','link')\nos.rmdir('gone')\nos.rename('b','b2')\n"
                  "attempt(os.rename,'evil','gone')\nattempt(os.symlink,'evil','gone')\n"
                  "attempt(os.rename,'link','gone')\nattempt(exchange,'stays','evil')\n"
                  "attempt(lambda: os.link('link','gone',follow_symlinks=False))\n"
                  "attempt(os.rename,'evil','empty')\nattempt(os.rename,'deep','b')\n"
                  # What brings none may come, and what was there may come back.
                  "os.makedirs('plain/inner')\nwrite('plain/inner/file')\n"
                  "attempt(os.rename,'plain','gone')\nos.rename('back','x')\n"
                  "attempt(os.rename,'x','back')\nattempt(os.rename,'evil','elsewhere')\n")
        self.assertEqual(self.attempts(script), [EPERM] * 7 + [0] * 3)

    def test_T07_race_for_the_place_of_an_older_folder_is_not_won(self):
        self.folders("a")
        script = (self.RACE + "os.makedirs('new/.git/hooks')\n"
                  "def churn():\n"
                  " for f,*n in ((os.rename,'a','x'),(os.mkdir,'a'),(os.rename,'a','y'),"
                  "(os.rename,'x','a'),(os.rmdir,'y')):\n"
                  "  try: f(*n)\n"
                  "  except OSError: pass\n"
                  "def put():\n"
                  " for f,*n in ((os.makedirs,'a/.git/hooks'),(exchange,'new','a'),"
                  "(os.rename,'new','a')):\n"
                  "  try: f(*n)\n"
                  "  except OSError: pass\n"
                  "t=threading.Thread(target=until,args=(churn,)); t.start()\n"
                  "until(put)\nt.join()\nprint(int(os.path.exists('a/.git/hooks')))\n")
        self.assertEqual(self.attempts(script), [0])

    def test_folder_that_is_there_is_told_before_the_rule(self):
        self.folders("old/.git/hooks")
        self.assertEqual(self.attempts("attempt(os.mkdir,'old/.git/hooks')\n"), [17])

    def test_refusals_are_told_with_path_and_rule(self):
        ended = self.shell("echo x > .bashrc; echo x > .bashrc; echo x > /etc/absent-name",
                           **self.protected())
        told = {one["resource"]: one for one in ended.denials}
        self.assertEqual(len(ended.denials), 2)
        self.assertIn("policy.json", told[self.project + "/.bashrc"]["rule"])
        self.assertIn("allowWrite", told["/etc/absent-name"]["how_to_allow"])


class Answers(cell.FilesCase):
    """The warden's process has the program's ids, and can be killed by it."""

    # A filter that asks about every openat, and the attempt to be the one who answers.
    KILL = (Names.TRY + "import platform,struct,time\n"
            "seccomp,openat=(317,257) if platform.machine()=='x86_64' else (277,56)\n"
            "code=ctypes.create_string_buffer(b''.join(struct.pack('HBBI',*op) for op in (\n"
            " (0x20,0,0,0),(0x15,0,1,openat),(6,0,0,0x7fc00000),(6,0,0,0x7fff0000))))\n"
            "class Program(ctypes.Structure): _fields_=[('n',ctypes.c_ushort),('f',ctypes.c_void_p)]\n"
            "program=Program(4,ctypes.addressof(code))\n"
            "def listen():\n"
            " if libc.syscall(seccomp,1,8,ctypes.byref(program))<0: "
            "raise OSError(ctypes.get_errno(),'')\n"
            "def kill_others():\n"
            " for n in map(int,filter(str.isdigit,os.listdir('/proc'))):\n"
            "  if n not in (1,os.getpid()): os.kill(n,9)\n")

    def test_T39_cell_ends_with_its_warden(self):
        ended = self.python(self.KILL + "print('first',flush=True)\nkill_others()\n"
                            "time.sleep(20)\nprint('last')\n", **self.protected())
        self.assertEqual(ended.out, "first\n", ended.inner_err)
        self.assertEqual(ended.code, 137)

    def test_T39_program_that_ends_by_itself_is_not_taken_for_killed(self):
        codes = {self.shell(f"mkdir d{n}; exit 3", **self.protected()).code for n in range(12)}
        self.assertEqual(codes, {3})

    def test_T39_nobody_takes_the_place_of_a_warden_that_was_killed(self):
        """In the moment that pid 1 needs to end the cell, and without it (mutant `warden-end`)."""
        ended = self.python(self.KILL + "from functools import partial\n"
                            "print=partial(print,flush=True)\nattempt(listen)\nkill_others()\n"
                            "for n in range(200): attempt(listen); attempt(write,'.bashrc')\n",
                            **self.protected())
        answers = ended.out.split()
        self.assertEqual(set(answers[:1] + answers[1::2]), {str(errno.EBUSY)}, ended.inner_err)
        self.assertNotIn("0", answers)
        self.assertFalse(os.path.lexists(os.path.join(self.project, ".bashrc")))


class Reads(cell.FilesCase):
    def rules(self):
        return {"deny_read": ["/**/*.secret", self.project + "/vault*"],
                "allow_read": [self.project + "/vault/public"]}

    def test_pattern_covers_what_appears_later_under_any_folder(self):
        self.write("project", "a.secret")
        self.write("else", "b.secret")
        ended = self.shell(f"cat a.secret {self.path('else')}/b.secret; echo new > c.secret;"
                           "cat c.secret; ln -s a.secret l; cat l; cat a.secre[t]; echo end",
                           **self.rules())
        self.assertEqual(ended.out, "end\n")
        self.assertEqual(ended.inner_err.count("Permission denied"), 5)
        self.assertTrue(any("file-read" in one["rule"] for one in ended.denials))
        self.assertEqual(self.shell("cat a.secret").out, "text\n")

    def test_denied_name_is_not_read_under_another(self):
        self.write("project", "a.secret")
        ended = self.shell("mv a.secret x; ln a.secret y; cat x y; echo end", **self.rules())
        self.assertEqual(ended.out, "end\n")

    def test_denied_name_is_not_read_when_it_is_gone(self):
        """Nor by a descriptor that outlives it."""
        for name in ("a.secret", "b.open"):
            self.write("project", name)
        ended = self.python("import os\n"
                            "for n in ('a.secret','b.open'):\n"
                            " fd=os.open(n,os.O_PATH); os.unlink(n)\n"
                            " try: print(open(f'/proc/self/fd/{fd}').read().strip())\n"
                            " except OSError as e: print(e.errno)\n", **self.rules())
        self.assertEqual(ended.out.split(), ["13", "text"], ended.inner_err)

    def test_most_specific_wins_among_patterns(self):
        self.write("project", "vault", "no")
        self.write("project", "vault", "public", "yes", text="yes\n")
        ended = self.shell("cat vault/public/yes; cat vault/no; mv vault v; cat v/no", **self.rules())
        self.assertEqual(ended.out, "yes\n")

    def test_other_reading_works(self):
        ended = self.shell("cat /etc/passwd | head -c1 | wc -c; python3 -c 'import json; print(1)'; "
                           "head -c4 /proc/self/status; echo; cat < /dev/null", **self.rules())
        self.assertEqual(ended.out, "1\n1\nName\n", ended.inner_err)
