"""Places that lead git elsewhere: each of these had git outside run a program of the command's."""
import os
import subprocess

from srt_harness import SrtTest, settings


class Elsewhere(SrtTest):
    def setUp(self):
        super().setUp()
        self.env.update(GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                        GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_COUNT="1",
                        GIT_CONFIG_KEY_0="protocol.file.allow", GIT_CONFIG_VALUE_0="always")
        self.said = settings(write=["."])

    def outside(self, text, cwd=None):
        done = subprocess.run(text, shell=True, cwd=cwd or self.project, env=self.environment(),
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def refused(self, *names, cwd=None):
        """Written, made beside and renamed into place, removed: none of it."""
        words = " ".join(names)
        ended = self.sh(f"for n in {words}; do mkdir -p $(dirname $n) 2>/dev/null; "
                        "(echo evil > $n) 2>/dev/null && echo wrote $n; "
                        "echo evil > beside; mv -f beside $n 2>/dev/null && echo moved $n; "
                        "done; true", said=self.said, cwd=cwd)
        self.assertEqual(ended.out, "", ended)

    NAMES = ("hooks/x", "commondir", "config", "config.worktree")

    def test_repository_that_a_file_leads_to_in_the_project(self):
        self.outside("git init -q --bare .bare && echo gitdir: ./.bare > .git && "
                     "git config core.bare false && git commit -q --allow-empty -m x && "
                     "git worktree add -q tree")
        self.refused(*(f".bare/{name}" for name in self.NAMES), ".bare/modules/a/config",
                     ".bare/worktrees/tree/commondir", ".bare/worktrees/tree/gitdir", ".git")
        self.sh_ok("git commit -q --allow-empty -m y && cd tree && "
                   "git commit -q --allow-empty -m z && git worktree add -q ../two && "
                   "git -C ../two status", said=self.said)

    def test_repository_of_a_worktree(self):
        main = self.folder("main")
        self.outside("git init -q . && git commit -q --allow-empty -m x && "
                     "git worktree add -q ../project/tree", cwd=main)
        tree = os.path.join(self.project, "tree")
        self.said = settings(write=[".", main + "/.git"])
        own = main + "/.git/worktrees/tree/"
        self.refused(*(f"{main}/.git/{name}" for name in self.NAMES), own + "commondir",
                     own + "gitdir", own + "config.worktree", own + "modules/a/config",
                     main + "/.git/modules/a/hooks/x", cwd=tree)
        self.sh_ok("echo > file && git add file && git commit -q -m y && "
                   "git worktree add -q new && git -C new status", said=self.said, cwd=tree)

    def test_submodule_of_a_worktree(self):
        self.outside("git init -q up && git -C up commit -q --allow-empty -m x && "
                     "git init -q repo && cd repo && git submodule --quiet add ../up sub && "
                     "git commit -q -m s && git worktree add -q ../tree && cd ../tree && "
                     "git submodule --quiet update --init")
        inner = "repo/.git/worktrees/tree/modules/sub/"
        self.assertTrue(os.path.isdir(os.path.join(self.project, inner)))
        self.refused(*(inner + name for name in self.NAMES))
        self.sh_ok("cd repo && git worktree add -q ../new && cd ../new && "
                   "git submodule --quiet update --init && git -C sub config a.b c && "
                   "cd ../tree/sub && git commit -q --allow-empty -m y", said=self.said)

    def test_worktree_of_a_bare_repository(self):
        self.outside("git init -q up && git -C up commit -q --allow-empty -m x && "
                     "git clone -q --bare up proj.git && git -C proj.git worktree add -q ../main")
        self.refused("proj.git/worktrees/main/commondir", "proj.git/worktrees/main/gitdir",
                     "proj.git/worktrees/main/config.worktree", "proj.git/commondir")
        self.sh_ok("cd main && git commit -q --allow-empty -m y && git worktree add -q ../two && "
                   "git -C ../two status", said=self.said)

    def test_git_folder_that_is_a_link(self):
        self.outside("git init -q . && git commit -q --allow-empty -m x && mkdir store && "
                     "mv .git store/real && ln -s store/real .git")
        for folder in (".git", "store/real"):
            self.refused(*(f"{folder}/{name}" for name in self.NAMES),
                         f"{folder}/modules/a/config", f"{folder}/modules/a/hooks/x")
        ended = self.sh("git init -q evil; rm -f .git 2>/dev/null && echo removed; "
                        "mv -T .git g 2>/dev/null && echo moved; "
                        "ln -sfnT evil/.git .git 2>/dev/null && echo led", said=self.said)
        self.assertEqual(ended.out, "", ended)
        self.sh_ok("echo > file && git add file && git commit -q -m y", said=self.said)

    def test_nothing_of_it_reaches_git_outside(self):
        """The attack itself, to its end."""
        mark = os.path.join(self.folder("marks"), "mark")
        self.outside("git init -q --bare .bare && echo gitdir: ./.bare > .git && "
                     "git config core.bare false && git config core.worktree ..")
        self.sh("mkdir evil; cp -r .bare/objects .bare/refs evil/; printf '[core]\\n\\t"
                "repositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = "
                f"\"echo > {mark}; false\"\\n' $PWD > evil/config; echo ../evil > .bare/commondir",
                said=self.said)
        self.outside("git status")
        self.assertFalse(os.path.exists(mark))
        with open(os.path.join(self.project, ".bare/commondir"), "w", encoding="utf-8") as file:
            file.write("../evil\n")  # the negative control
        self.outside("git status")
        self.assertTrue(os.path.exists(mark))

    def test_allow_git_config_leaves_the_rest(self):
        self.outside("git init -q --bare .bare && echo gitdir: ./.bare > .git")
        self.said = settings(write=["."], filesystem={"allowGitConfig": True})
        self.refused(".bare/hooks/x", ".bare/commondir")
        self.sh_ok("git config a.b c", said=self.said)
