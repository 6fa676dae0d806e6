"""The names that always stay as they are, and the programs that must work all the same."""
import os
import shutil
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
        """Below, what stands in a .claude that the command made itself is its own."""
        below = " ".join(SHELLS + [one for one in OF_REPOSITORIES if "/" not in one])
        for folder, names in ((".", " ".join(SHELLS + OF_REPOSITORIES)), ("sub", below),
                              ("sub/deep", below)):
            with self.subTest(folder=folder):
                self.refused(f"cd {folder}; for n in {names}; do mkdir -p $(dirname $n); "
                             "(: > $n) 2>/dev/null && echo $n; mkdir $n 2>/dev/null && echo $n; "
                             "ln -s x $n 2>/dev/null && echo $n; done")
        ended = self.srt_ok("find", ".", "-mindepth", "1", "-not", "-name", ".claude")
        self.assertEqual(sorted(ended.out.split()), ["./sub", "./sub/deep"])

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

    def test_what_is_deleted_is_not_made_anew(self):
        self.project_file("sub/.profile", "as it was")
        self.refused("rm -f sub/.profile; (echo x > sub/.profile) 2>/dev/null && echo made")

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


class OwnGit(SrtTest):
    """The repository is the current folder itself."""

    def test_hooks_and_configuration_cant_be_deleted(self):
        subprocess.run(["git", "init", "-q", "."], check=True, cwd=self.project,
                       env=self.environment())
        for text in ("rm .git/config", "rm -rf .git/hooks", "rm -rf .git", "mv .git g"):
            with self.subTest(text=text):
                self.assertNotEqual(self.sh(text + " 2>/dev/null", said=SAID).code, 0)
        self.assertTrue(os.path.exists(os.path.join(self.project, ".git/config")))


class Programs(SrtTest):
    """Programs as users run them; each that is installed here."""

    PROGRAMS = {
        "tmux": ("tmux new-session -d -s s cat && tmux list-sessions | grep -q '^s:' && "
                 "tmux kill-server && echo inside"),
        "gpg": ("export GNUPGHOME=$TMPDIR/g && mkdir -m 700 $GNUPGHOME && gpg --batch --quiet "
                "--passphrase '' --quick-gen-key a@b ed25519 2>/dev/null && echo x | "
                "gpg --batch --clearsign 2>/dev/null | grep -q BEGIN && echo inside; "
                "gpgconf --kill all"),
        "node": "node -e 'console.log(\"inside\")'",
        "java": "echo 'class T { public static void main(String[] a) { "
                "System.out.println(\"inside\"); } }' > T.java && java T.java",
        "zsh": "zsh -c 'cat <<E\ninside\nE'",
        "git": "git init -q r && git -C r status > /dev/null && echo inside",
        "make": "printf 'all:\\n\\t@echo inside\\n' > Makefile && make -s",
        "gcc": "echo 'int main(){return 0;}' > t.c && gcc t.c -o t && ./t && echo inside",
    }

    def test_each(self):
        seen = 0
        for name, text in self.PROGRAMS.items():
            if not shutil.which(name, path=self.env["PATH"]):
                continue
            seen += 1
            with self.subTest(program=name):
                ended = self.srt("-c", text, said=SAID)
                self.assertEqual((ended.code, ended.out), (0, "inside\n"), ended)
        self.assertGreater(seen, 1)
