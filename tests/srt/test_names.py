"""The names that always stay as they are, and the programs that must work all the same."""
import os
import subprocess

from srt_harness import SrtTest, settings

SHELLS = [".gitconfig", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile", ".ripgreprc"]
OF_REPOSITORIES = [".gitmodules", ".mcp.json", ".vscode", ".idea", ".claude/commands",
                   ".claude/agents"]
SAID = settings(write=["."])


class Names(SrtTest):
    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.project, "sub/deep"))

    def refused(self, text):
        """The command must fail to make each of its names; what it says is the name."""
        ended = self.sh(text, said=SAID)
        self.assertEqual(ended.out, "", (text, ended))

    def test_absent_names_are_not_made(self):
        names = " ".join(SHELLS + OF_REPOSITORIES)
        for folder in (".", "sub", "sub/deep"):
            with self.subTest(folder=folder):
                self.refused(f"cd {folder}; for n in {names}; do mkdir -p $(dirname $n); "
                             "(: > $n) 2>/dev/null && echo $n; mkdir $n 2>/dev/null && echo $n; "
                             "ln -s x $n 2>/dev/null && echo $n; done")
        ended = self.srt_ok("find", ".", "-mindepth", "1", "-not", "-name", ".claude")
        self.assertEqual(sorted(ended.out.split()), ["./sub", "./sub/deep"])

    BIND = ("import os, socket, sys\n"
            "def bind(path, kind=socket.SOCK_STREAM):\n"
            "    s = socket.socket(socket.AF_UNIX, kind)\n"
            "    try:\n"
            "        s.bind(path)\n"
            "    except OSError as error:\n"
            "        return error.strerror\n"
            "    return s\n")

    def test_absent_names_are_not_made_by_sockets(self):
        here = os.path.join(self.project, "sub")
        code = self.BIND + (
            f"names = {SHELLS + ['.mcp.json', '.vscode', '.claude', 'sub/.git', '.husky', 'later.cfg']}\n"
            "where = os.open('sub', os.O_RDONLY)\n"
            f"for way in ('', 'sub/', './sub/../', {here!r} + '/', '/proc/self/cwd/', f'/proc/self/fd/{{where}}/', 'link/'):\n"
            "    for name in names:\n"
            "        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
            "            said = bind(way + name, kind)\n"
            "            if said not in ('Operation not permitted', 'No such file or directory'): print(way + name, said)\n")
        os.symlink("sub", os.path.join(self.project, "link"))
        said = settings(write=["."], filesystem={"denyWrite": ["**/.husky", "later.cfg", "sub/later.cfg"]})
        ended = self.srt("python3", "-c", code, said=said)
        self.assertEqual((ended.code, ended.out), (0, ""), ended)
        ended = self.srt_ok("find", ".", "-type", "s")
        self.assertEqual(ended.out, "")

    def test_a_socket_of_any_other_name_has_the_address_that_it_was_given(self):
        code = self.BIND + (
            "os.umask(0o027)\n"
            "where = os.open('sub', os.O_RDONLY)\n"
            "os.chdir('sub/deep')\n"
            "for path in ('a.sock', './b.sock', '../c.sock', os.getcwd() + '/d.sock', f'/proc/self/fd/{where}/e.sock',"
            " '/proc/self/cwd/f.sock', '\\0abstract', 'x' * 100):\n"
            "    s = bind(path)\n"
            "    name = s if isinstance(s, str) else s.getsockname()\n"
            "    name = name.decode() if isinstance(name, bytes) else name\n"
            "    print(path == name or name)\n"
            "    if path[0] == '\\0': continue\n"
            "    s.listen(); socket.socket(socket.AF_UNIX).connect(path)\n"
            "    print(oct(os.stat(path).st_mode), bind(path))\n"
            "print(sorted(os.listdir('.')), sorted(os.listdir('..')))\n"
            "s = socket.socket(socket.AF_UNIX); s.bind(b''); print(len(s.getsockname()))\n"
            "s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[0])\n")
        lines = self.srt_ok("python3", "-c", code, said=SAID).out.splitlines()
        known = ["True", "0o140750 Address already in use"]
        self.assertEqual(lines[:8], known * 4)
        for said in lines[8], lines[10]:  # what these mean is another folder for the warden
            self.assertRegex(said, "^/proc/self/fd/[0-9]+/[ef].sock$")
        self.assertEqual(lines[12:15], ["True", *known])
        self.assertEqual(lines[15:], [f"{['a.sock', 'b.sock', 'd.sock', 'f.sock', 'x' * 100]} {['c.sock', 'deep', 'e.sock']}",
                                      "6", "127.0.0.1"])

    def test_a_socket_is_bound_or_refused_as_by_the_kernel(self):
        code = self.BIND + (
            "import ctypes, errno, os\n"
            "top = os.getcwd(); os.chdir('shut'); os.chmod('.', 0)\n"
            f"print(bind({os.path.join(self.project, 'absolute')!r}).__class__.__name__)\n"
            "os.chdir(top); os.chmod('shut', 0o755)\n"
            "print(bind('absent/')); print(bind('shut/'))\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "s = socket.socket(socket.AF_UNIX)\n"
            "print(libc.bind(s.fileno(), b'\\1\\0' + b'toolong'.ljust(120, b'\\0'), 111), errno.errorcode[ctypes.get_errno()])\n"
            "print(sorted(os.listdir('.')))\n")
        self.folder("project/shut")
        lines = self.srt_ok("python3", "-c", code, said=SAID).out.splitlines()
        self.assertEqual(lines, ["socket", "No such file or directory", "Address already in use", "-1 EINVAL",
                                 "['absolute', 'shut', 'sub']"])

    def test_sockets_of_threads(self):
        """One with descriptors of its own, and one that is left of a process whose first thread has ended."""
        bind = ("s = socket.socket(socket.AF_UNIX); s.bind('\\0' + name); s.listen()\n"
                "    socket.socket(socket.AF_UNIX).connect('\\0' + name); print(name, flush=True)\n")
        code = ("import ctypes, os, socket, threading\n"
                "libc = ctypes.CDLL(None)\n"
                "def own(name):\n"
                "    if libc.unshare(0x400): raise OSError\n    " + bind +
                "def last(name):\n"
                "    import time; time.sleep(0.3)\n    " + bind + "    os._exit(0)\n"
                "thread = threading.Thread(target=own, args=('own',)); thread.start(); thread.join()\n"
                "threading.Thread(target=last, args=('last',)).start()\n"
                "libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n")  # exit(2), of this thread alone
        if [int(part) for part in os.uname().release.split(".")[:2]] < [6, 9]:
            self.skipTest("no descriptor of a thread (PIDFD_THREAD)")
        self.assertEqual(self.srt_ok("python3", "-c", code, said=SAID).out.split(), ["own", "last"])

    def test_names_are_not_moved_into_place(self):
        self.project_file("own", "x")
        self.refused("for n in .bashrc sub/.vscode; do mv own $n 2>/dev/null && echo $n; "
                     "ln own $n 2>/dev/null && echo $n; done")
        self.refused("mkdir d && echo > d/bashrc && mv d/bashrc .bashrc 2>/dev/null && echo moved")

    def test_existing_names_stay(self):
        for name in (".bashrc", ".vscode/x", "sub/.profile", "sub/.mcp.json"):
            self.project_file(name, "as it was")
        self.refused("for n in .bashrc .vscode/x sub/.profile sub/.mcp.json; do "
                     "(echo x > $n) 2>/dev/null && echo $n; (echo x >> $n) 2>/dev/null && echo $n; "
                     "mv $n away 2>/dev/null && echo $n; done; "
                     "mv .vscode v 2>/dev/null && echo .vscode; "
                     "rm -f .bashrc .vscode/x 2>/dev/null && echo removed")
        for name in (".bashrc", ".vscode/x", "sub/.profile", "sub/.mcp.json"):
            self.assertEqual(self.read(os.path.join(self.project, name)), "as it was")

    def test_names_below_are_not_taken_away(self):
        """srt lays a mount on each that it finds, and on the folders above: EBUSY for all of these."""
        names = ("sub/.profile", "sub/.vscode/x", "sub/deep/.git/hooks/pre-commit",
                 "sub/deep/.git/config")
        for name in names:
            self.project_file(name, "as it was")
        self.refused("for n in sub/.profile sub/.vscode/x sub/deep/.git/config "
                     "sub/deep/.git/hooks/pre-commit; do rm -f $n 2>/dev/null && echo $n; done; "
                     "rm -rf sub/deep/.git/hooks 2>/dev/null && echo hooks; "
                     "rm -rf sub 2>/dev/null && echo sub; "
                     "python3 -c 'import os; os.unlink(\"sub/.profile\")' 2>/dev/null && echo u; "
                     "mv sub/deep/.git sub/deep/g 2>/dev/null && echo .git")
        for name in names:
            self.assertEqual(self.read(os.path.join(self.project, name)), "as it was")

    def test_a_folder_above_them_does_not_move(self):
        """Another one, with hooks of its own, could take its place."""
        self.project_file("sub/deep/.git/hooks/pre-commit", "as it was")
        self.folder("project/evil/deep/.git/hooks")
        move = ("python3 -c 'import os, sys; os.rename(*sys.argv[1:])' {} {} 2>/dev/null && "
                "echo {}")
        exchange = ("python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, "
                    "b\"sub\", -100, b\"evil\", 2))' && echo exchanged")
        self.refused("; ".join([move.format("sub", "away", "sub"),
                                move.format("sub/deep", "away", "deep"), exchange,
                                "mv sub away 2>/dev/null && echo mv"]))
        self.assertEqual(self.read(os.path.join(self.project, "sub/deep/.git/hooks/pre-commit")),
                         "as it was")
        # Folders that hold nothing of the kind move, old or new, and so do files.
        self.project_file("old/inner/file")
        self.sh_ok("mv old moved && mv moved/inner . && mkdir new && mv new newer && "
                   "rm inner/file && rmdir inner moved newer", said=SAID)

    def test_folders_of_npm_are_its_own(self):
        """Packages carry names of all kinds; as with srt nothing below node_modules is searched."""
        for name in ("node_modules/p/.vscode/settings.json", "node_modules/p/.gitmodules"):
            self.project_file(name, "x")
        self.sh_ok("rm node_modules/p/.gitmodules && mv node_modules/p node_modules/.p-1 && "
                   "mkdir node_modules/p && echo > node_modules/p/.mcp.json && rm -rf node_modules",
                   said=SAID)
        # What is protected can't be brought there.
        self.project_file("sub/.git/hooks/pre-commit", "as it was")
        self.refused("mkdir -p node_modules/x; "
                     "mv sub node_modules/x/ 2>/dev/null && echo in; "
                     "mv sub node_modules_2 2>/dev/null && echo away")
        self.assertTrue(os.path.exists(os.path.join(self.project, "sub/.git/hooks/pre-commit")))

    def test_folders_that_are_made_anew_are_those_that_were_there(self):
        """An editor and git know them by their path."""
        self.project_file("sub/file")
        self.refused("mv sub away && mkdir sub && mv away/* sub/ && rm -rf sub/deep && "
                     "mkdir sub/deep; for n in sub sub/deep; do "
                     "(: > $n/.mcp.json) 2>/dev/null && echo $n/.mcp.json; "
                     "mkdir -p $n/.claude/commands 2>/dev/null && echo $n/.claude; "
                     "git init -q $n 2>/dev/null && echo $n/.git; done; "
                     "git init -q evil && rm -rf sub/deep && "
                     "mv evil sub/deep 2>/dev/null && echo moved; "
                     "ln -s ../evil sub/deep 2>/dev/null && echo linked")
        self.assertFalse(os.path.lexists(os.path.join(self.project, "sub/deep/.git")))
        self.assertTrue(os.path.exists(os.path.join(self.project, "sub/file")))

    def test_a_link_in_an_older_folders_place_is_told(self):
        lines = self.violations(self.sh("rm -rf sub; ln -s /tmp sub", said=SAID))
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("a link where a folder was before", lines[0])

    def test_folders_are_built_anew(self):
        """As tools do it, that make the new one beside the old."""
        self.project_file("dist/js/file")
        self.sh_ok("mkdir -p next/js && echo > next/js/file && rm -rf dist && mv next dist && "
                   "mkdir next && ln -s file dist/js/link && mv dist old && mv next dist && "
                   "mkdir dist/lib && ln -s lib dist/lib64 && rm -rf old", said=SAID)

    def test_what_the_command_made_itself_it_takes_away(self):
        self.sh_ok("git init -q own && mv own own2 && rm -rf own2 && echo > f && rm f", said=SAID)

    def test_files_of_shells_in_folders_made_later(self):
        names = " ".join(SHELLS)
        self.refused(f"mkdir new && cd new && for n in {names}; do (: > $n) 2>/dev/null && echo $n; "
                     "done")

    def test_outside_of_the_current_folder(self):
        """The scope is the current folder, as with srt."""
        other = self.folder("other")
        self.sh_ok(f"echo > {other}/.bashrc", said=settings(write=[other]))

    def test_what_was_refused_is_told(self):
        ended = self.sh("echo > .bashrc", said=SAID)
        lines = self.violations(ended)
        self.assertEqual(len(lines), 1, ended)
        self.assertIn(os.path.join(self.project, ".bashrc"), lines[0])
        self.assertIn("always denied", lines[0])

    def test_allowlist_reading_protects_them_too(self):
        said = settings(write=["."], filesystem={"readMode": "allowlist"})
        ended = self.sh("echo > .bashrc || echo > fine", said=said)
        self.assertEqual(ended.code, 0, ended)
        self.assertFalse(os.path.exists(os.path.join(self.project, ".bashrc")))
        self.assertTrue(os.path.exists(os.path.join(self.project, "fine")))


class Git(SrtTest):
    def setUp(self):
        super().setUp()
        self.env.update(GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                        GIT_COMMITTER_EMAIL="a@b")
        self.source = self.folder("project/source")
        for name in (".vscode/settings.json", ".gitmodules", ".mcp.json", ".claude/commands/x.md",
                     "file"):
            self.project_file(f"source/{name}", "")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")

    def git(self, *words):
        subprocess.run(["git", *words], check=True, cwd=self.source, env=self.environment(),
                       capture_output=True)

    def test_clone_commit_and_configure(self):
        self.sh_ok("git clone -q source copy && cd copy && git config user.name x && echo > new && "
                   "git add new && git commit -q -m second", said=SAID)

    def test_commit_in_a_repository_that_was_there(self):
        self.sh_ok("cd source && echo > new && git add new && git commit -q -m second && "
                   "git branch b && git checkout -q b", said=SAID)

    def test_worktree(self):
        self.sh_ok("cd source && git worktree add -q ../tree && cd ../tree && git status", said=SAID)

    def test_hooks_and_configuration_of_a_repository_that_was_there(self):
        for text in ("git config user.name x", "echo > .git/hooks/post-commit",
                     "mv .git/hooks .git/h", "git config core.hooksPath /x",
                     "rm .git/config; echo '[core] hooksPath = /x' > .git/config",
                     "mv .git g && mkdir .git && cp -r g/. .git && echo > .git/hooks/new"):
            with self.subTest(text=text):
                self.assertNotEqual(self.sh("cd source && " + text, said=SAID).code, 0)


    def test_other_ways_to_hooks_of_a_repository_that_was_there(self):
        """Each of these had git outside run a program of the command's choice."""
        self.folder("project/source/.git/modules/sub/hooks")
        self.project_file("source/sub/.git", "gitdir: ../.git/modules/sub")
        self.git("worktree", "add", "-q", "../tree")
        for text in ("mkdir ../evil && echo ../evil > .git/commondir", "echo x > .git/config.worktree",
                     "echo x > .git/modules/sub/config", "echo x > .git/modules/sub/hooks/pre-commit",
                     "echo ../../evil > .git/modules/sub/commondir",
                     "echo ../../evil > .git/worktrees/tree/commondir",
                     "rm sub/.git", "mv sub/.git sub/g", "echo gitdir: ../evil > sub/.git",
                     "echo gitdir: ../evil > x && mv x sub/.git", "truncate -s 0 sub/.git",
                     "mv sub gone && mkdir -p sub/.git", "rm -f ../tree/.git"):
            with self.subTest(text=text):
                self.assertNotEqual(self.sh("cd source && " + text, said=SAID).code, 0)
        self.sh_ok("cd source && git worktree add -q ../mine && cd ../mine && git commit -q "
                   "--allow-empty -m x && git submodule --quiet foreach true", said=SAID)


class OwnGit(SrtTest):
    """The repository is the current folder itself."""

    def test_hooks_and_configuration_cant_be_deleted(self):
        subprocess.run(["git", "init", "-q", "."], check=True, cwd=self.project,
                       env=self.environment())
        for text in ("rm .git/config", "rm -rf .git/hooks", "rm -rf .git", "mv .git g"):
            with self.subTest(text=text):
                self.assertNotEqual(self.sh(text + " 2>/dev/null", said=SAID).code, 0)
        self.assertTrue(os.path.exists(os.path.join(self.project, ".git/config")))


class NewGit(SrtTest):
    """Repositories that the command makes: its own in folders of its own, and none elsewhere."""

    def setUp(self):
        super().setUp()
        self.env.update(GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                        GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_COUNT="1",
                        GIT_CONFIG_KEY_0="protocol.file.allow", GIT_CONFIG_VALUE_0="always")
        self.folder("project/package")

    def test_none_is_made_in_a_folder_that_was_there(self):
        """Each of these had git outside run what the new configuration names."""
        for folder in (".", "package"):
            for text in ("git init -q .", "git init -q --separate-git-dir=evil .",
                         "mkdir .git", "git init -q evil && mv evil/.git .git",
                         "git init -q evil && ln -s evil/.git .git",
                         "git init -q evil && echo gitdir: evil/.git > .git",
                         "git init -q evil && echo gitdir: evil/.git > x && mv x .git"):
                with self.subTest(folder=folder, text=text):
                    ended = self.sh(f"cd {folder} && " + text, said=SAID)
                    self.assertNotEqual(ended.code, 0, ended)
                    self.assertFalse(os.path.lexists(os.path.join(self.project, folder, ".git")))
                    subprocess.run(["rm", "-rf", "evil"], check=True,
                                   cwd=os.path.join(self.project, folder))

    BARE = ("printf '[core]\nrepositoryformatversion=0\nbare=false\nworktree=.\n"
            "fsmonitor=\"echo > $MARK; false\"\n' > config; mkdir -p objects refs")

    def test_no_bare_repository_is_made_of_a_folder_that_was_there(self):
        """git takes a folder with a HEAD for one, before it looks for a `.git` above."""
        subprocess.run(["git", "init", "-q", "."], check=True, cwd=self.project,
                       env=self.environment())
        mark = os.path.join(self.folder("marks"), "mark")
        exchange = ("python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, "
                    "b\"HEAD\", -100, b\"x\", 2))'")
        bound = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"HEAD\")'; "
        package = ("git init -q --bare .", "echo ref: refs/heads/main > HEAD",
                   "ln -s refs/heads/main HEAD", "mkfifo HEAD",
                   "git init -q --bare evil && mv evil/HEAD HEAD",
                   "git init -q --bare evil && ln evil/HEAD HEAD",
                   "echo ref: refs/heads/main > x; mkdir HEAD; " + exchange,
                   bound + "echo ref: refs/heads/main > x; " + exchange,
                   bound + "echo ref: refs/heads/main > x; mv -fT x HEAD",
                   "mkdir HEAD; rmdir HEAD; echo ref: refs/heads/main > Head",
                   "cd ..; mv package away && git init -q --bare package",
                   "cd ..; git init -q --bare evil && mv package away && mv evil package",
                   "cd ..; rm -r package/*; git init -q --bare evil && mv -T evil package")
        for folder, text in [(".", "git init -q --bare .")] + [("package", one) for one in package]:
            inside = os.path.join(self.project, folder)
            with self.subTest(folder=folder, text=text):
                ended = self.sh(f"cd {folder} && {{ " + self.BARE.replace("$MARK", mark) + "; " +
                                text + "; }", said=SAID)
                self.assertNotEqual(ended.code, 0, ended)
                self.assertFalse(os.path.isfile(os.path.join(inside, "HEAD")))
                os.makedirs(inside, exist_ok=True)
                subprocess.run(["git", "status"], cwd=inside, env=self.environment(),
                               capture_output=True, check=False)
                self.assertFalse(os.path.exists(mark))
            subprocess.run("rm -rf package evil away config objects refs; mkdir package",
                           shell=True, check=True, cwd=self.project)

    def test_bare_repositories_that_were_there_keep_their_configuration_and_work(self):
        subprocess.run("git init -q --bare x.git && git init -q --bare plain && "
                       "git init -q seed && cd seed && git commit -q --allow-empty -m x && "
                       "git push -q ../x.git HEAD:main && cd .. && mkdir layout && cd layout && "
                       "git clone -q --bare ../x.git .bare && echo gitdir: ./.bare > .git && "
                       "git worktree add -q tree main", shell=True, check=True, cwd=self.project,
                       env=self.environment(), capture_output=True)
        for text in ("git -C x.git config core.fsmonitor x", "echo > x.git/hooks/post-update",
                     "echo ../evil > x.git/commondir", "mv x.git y.git", "rm x.git/config",
                     "rm -r x.git/hooks"):
            with self.subTest(text=text):
                self.assertNotEqual(self.sh(text, said=SAID).code, 0)
        self.sh_ok("git init -q --bare new.git && git -C new.git config a.b c && "
                   "git clone -q x.git copy && cd copy && git commit -q --allow-empty -m x && "
                   "git push -q origin HEAD:next && git push -q ../new.git HEAD:next && "
                   "git -C ../x.git symbolic-ref HEAD refs/heads/next && "
                   "git -C ../plain symbolic-ref HEAD refs/heads/next && mkdir ../package/head && "
                   "cd ../layout/tree && git checkout -q -b topic && "
                   "git commit -q --allow-empty -m x && git worktree add -q ../two && "
                   "git -C ../two checkout -q --detach && "
                   "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main && "
                   "cd ../../seed && git checkout -q -b b && git checkout -q --detach && "
                   "git remote add o ../x.git; git fetch -q ../x.git && git gc -q && "
                   "git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main", said=SAID)

    def test_it_is_told_how_to_allow_one(self):
        lines = self.violations(self.sh("git init .", said=SAID))
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(os.path.join(self.project, ".git"), lines[0])
        self.assertIn("filesystem.allowGitConfig", lines[0])

    def test_allow_git_config_allows_one(self):
        said = settings(write=["."], filesystem={"allowGitConfig": True})
        self.folder("project/bare")
        self.sh_ok("git init -q . && git config user.name x && git commit -q --allow-empty -m x && "
                   "git init -q --bare bare && cd package && git init -q . && git status", said=said)

    def test_in_new_folders_they_work(self):
        self.sh_ok("git init -q one && cd one && git commit -q --allow-empty -m x && "
                   "git config user.name x && echo > .git/hooks/post-commit && cd .. && "
                   "git clone -q one two && cd two && git worktree add -q ../three && "
                   "git submodule --quiet add ../one sub && git commit -q -m x && cd .. && "
                   "git clone -q --recurse-submodules two four && git -C four/sub config a.b c && "
                   "git clone -q one package/five && git -C package/five gc -q && "
                   "mkdir six && cd six && echo {} > package.json && git init -q .", said=SAID)
        for name in ("one", "two", "three", "two/sub", "four/sub", "package/five", "six"):
            self.assertTrue(os.path.exists(os.path.join(self.project, name, ".git")), name)

    def test_a_worktree_in_the_claude_folder_has_its_own_commands(self):
        """What stands above it is a `.claude` too, and not the one that counts."""
        self.sh_ok("git init -q main && cd main && mkdir -p .claude/commands && "
                   "echo > .claude/commands/x.md && git add -A && git commit -q -m x && "
                   "git worktree add -q ../.claude/worktrees/one", said=SAID)
        self.assertTrue(os.path.exists(os.path.join(
            self.project, ".claude/worktrees/one/.claude/commands/x.md")))
