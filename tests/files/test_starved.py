"""A warden that can't look at a name, for want of descriptors. Then nothing moves."""
import os
import subprocess

import cell

EMFILE = 24


class Starved(cell.FilesCase):
    # A line of numbers for each line that is read: each attempt's errno, 0 where it went well.
    SCRIPT = ("import ctypes,os,sys\n"
              "libc=ctypes.CDLL(None,use_errno=True)\n"
              "def exchange(a,b):\n"
              " if libc.renameat2(-100,a,-100,b,2): raise OSError(ctypes.get_errno(),'')\n"
              "def attempt(f,*a):\n"
              " try: f(*a); return 0\n"
              " except OSError as e: return e.errno\n"
              "os.makedirs('new/.git/hooks')\nos.symlink('.git','new/link')\n"
              "def link(): os.link('new/link','old/.git',follow_symlinks=False)\n"
              "print(os.getpid(),flush=True)\n"
              "for line in sys.stdin:\n"
              " print(attempt(os.rename,'repo/.git','g'),attempt(os.rename,'repo','r'),\n"
              "  attempt(exchange,b'repo',b'new'),attempt(exchange,b'new',b'repo'),\n"
              "  attempt(os.rename,'new/.git','old/.git'),attempt(os.rmdir,'empty/.git'),\n"
              "  attempt(os.unlink,'module/.git'),attempt(os.rename,'module','m'),\n"
              "  attempt(os.truncate,'module/.git',0),attempt(link),flush=True)\n")

    def start(self):
        words, environment = self.command(self.protected())
        return subprocess.Popen(words + ["--", cell.PYTHON, "-c", self.SCRIPT], cwd=self.project,
                                env=environment, preexec_fn=cell.take_identity, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @staticmethod
    def inside(outer):
        """The numbers that the processes below `outer` have in their cell: {inside: outside}."""
        found, parents = {}, {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/status", encoding="utf-8") as file:
                    said = dict(line.split(":", 1) for line in file if ":" in line)
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(name)] = (int(said["PPid"]), said["NSpid"].split())
        for process, (parent, numbers) in parents.items():
            while parent in parents and parent != outer:
                parent = parents[parent][0]
            if parent == outer and len(numbers) > 1:
                found[int(numbers[-1])] = process
        return found

    def test_T07_nothing_moves_that_the_warden_cant_look_at(self):
        for name in ("repo/.git/hooks", "old", "empty/.git", "module"):
            os.makedirs(os.path.join(self.project, name))
        self.write("project", "module", ".git", text="gitdir: elsewhere")
        running = self.start()
        with running:
            own = int(running.stdout.readline())
            warden = [outer for inner, outer in self.inside(running.pid).items()
                      if inner not in (1, own)]
            self.assertEqual(len(warden), 1)
            answers = set()
            for most in range(3, 24):
                subprocess.run(["prlimit", f"--nofile={most}:", "--pid", str(warden[0])],
                               preexec_fn=cell.take_identity, check=True)
                running.stdin.write("\n")
                running.stdin.flush()
                answers.add(tuple(map(int, running.stdout.readline().split())))
            running.stdin.close()
        for line in answers:
            self.assertEqual(len(line), 10, answers)
            self.assertNotIn(0, line)
        # Some found none left, and the last ones had enough.
        self.assertTrue(any(EMFILE in line for line in answers), answers)
        self.assertTrue(any(EMFILE not in line for line in answers), answers)
        for name in ("repo/.git/hooks", "empty/.git", "module/.git"):
            self.assertTrue(os.path.exists(os.path.join(self.project, name)), name)
        self.assertEqual(os.listdir(os.path.join(self.project, "old")), [])

    def test_T07_limits_of_the_warden_are_not_the_cells_to_set(self):
        ended = self.python("import os,resource\n"
                            "for n in map(int,filter(str.isdigit,os.listdir('/proc'))):\n"
                            " if n==os.getpid(): continue\n"
                            " try: resource.prlimit(n,resource.RLIMIT_NOFILE,(7,7)); print(n)\n"
                            " except PermissionError: print('no')\n", **self.protected())
        self.assertEqual(set(ended.out.split()), {"no"}, ended.inner_err)
