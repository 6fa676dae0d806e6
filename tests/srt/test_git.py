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


class Brackets(SrtTest):
    """The current folder's own name has wildcards in it."""

    def setUp(self):
        super().setUp()
        self.here = self.folder("project/[slug]*")
        for name in (".env", "sub/.env", "a.pem", "deploy.sh"):
            self.project_file(f"[slug]*/{name}", "secret\n")

    def test_rules_hold_there(self):
        said = settings(read=["**/.env", "*.pem"], write=["."],
                        filesystem={"denyWrite": ["deploy.sh", "absent.sh", "*.cfg"]})
        ended = self.sh("cat .env sub/.env a.pem; for n in deploy.sh absent.sh x.cfg .bashrc; do "
                        "(echo evil > $n) 2>/dev/null && echo $n; done; echo > fine && echo end",
                        said=said, cwd=self.here)
        self.assertEqual(ended.out, "end\n", ended)

    def test_rules_of_the_home_folder_hold(self):
        home = self.folder("h[o]me")
        self.file("h[o]me/keys/a.key", "secret\n")
        said = settings(read=["~/keys/*.key"], write=["~/project/**"])
        self.folder("h[o]me/project")
        ended = self.sh("cat ~/keys/a.key; echo > ~/project/file && echo end", said=said,
                        env={"HOME": home}, cwd=self.here)
        self.assertEqual(ended.out, "end\n", ended)

    def test_writable_folder_by_a_pattern(self):
        self.folder("project/[slug]*/out")
        ended = self.sh("echo > out/file && echo end; (echo > other) 2>/dev/null && echo other",
                        said=settings(write=["out/**"]), cwd=self.here)
        self.assertEqual(ended.out, "end\n", ended)

    def test_below_node_modules(self):
        """What the current folder itself is called is no reason to leave it alone."""
        here = self.folder("project/[x]/node_modules/q")
        ended = self.sh("git init -q . && echo init; (echo > .mcp.json) && echo mcp; mkdir a; true",
                        said=settings(write=["."]), cwd=here)
        self.assertEqual(ended.out, "", ended)


class Links(SrtTest):
    """A protected name that is a link, and links on the way to one."""

    def test_middle_links_of_a_rule_stay(self):
        self.project_file("v1/deploy.sh", "good\n")
        self.project_file("v1/bashrc", "good\n")
        for target, name in (("v1", "current"), ("current/deploy.sh", "deploy.sh"),
                             ("current/bashrc", ".bashrc")):
            os.symlink(target, os.path.join(self.project, name))
        said = settings(write=["."], filesystem={"denyWrite": ["deploy.sh"]})
        ended = self.sh("mkdir v2; echo evil | tee v2/bashrc > v2/deploy.sh; "
                        "ln -sfn v2 current 2>/dev/null && echo relinked; "
                        "rm -f current 2>/dev/null && echo removed; "
                        "mv current c 2>/dev/null && echo moved; "
                        "ln -s v2 other && rm other && echo end", said=said)
        self.assertEqual(ended.out, "end\n", ended)
        for name in ("deploy.sh", ".bashrc"):
            self.assertEqual(self.read(os.path.join(self.project, name)), "good\n")

    def test_settings_behind_links_stay(self):
        settings_text = '{"network":{"allowedDomains":[],"deniedDomains":[]},' \
            '"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}'
        self.project_file("b/real.json", settings_text)
        for target, name in (("b/real.json", "mid.json"), ("mid.json", "s.json"), ("b", "a")):
            os.symlink(target, os.path.join(self.project, name))
        for path, names in (("s.json", "s.json mid.json b/real.json b"), ("a/real.json", "a b")):
            ended = self.srt("-s", path, "sh", "-c", f"for n in {names}; do "
                             "rm -f $n 2>/dev/null && echo removed $n; "
                             "mv $n x 2>/dev/null && echo moved $n; done; true")
            self.assertEqual(ended.out, "", ended)

    def test_protected_name_that_is_a_link_is_not_written_or_read_through(self):
        for name in ("dot/bashrc", "conf/env.local", "shared.json"):
            self.project_file(name, "as it was\n")
        self.folder("project/prompts")
        self.folder("project/pkg/.claude")
        for target, name in (("../dot/bashrc", "pkg/.bashrc"), ("conf/env.local", ".env"),
                             ("../shared.json", "pkg/.mcp.json"),
                             ("../../prompts", "pkg/.claude/commands")):
            os.symlink(target, os.path.join(self.project, name))
        said = settings(read=["**/.env"], write=["."])
        ended = self.sh("cat .env ./.env 2>/dev/null; for n in pkg/.bashrc pkg/.mcp.json "
                        "pkg/.claude/commands/x pkg/../pkg/.claude/commands/./x; do "
                        "(echo evil > $n) 2>/dev/null && echo $n; done; "
                        "mkdir pkg/.claude/commands/d 2>/dev/null && echo d; "
                        "ln -s prompts p && echo > p/free && cat conf/env.local", said=said)
        self.assertEqual(ended.out, "as it was\n", ended)
        self.assertEqual(os.listdir(os.path.join(self.project, "prompts")), ["free"])

    def test_links_of_its_own_repository_are_its_own(self):
        self.sh_ok("git init -q new && cd new && rm -rf .git/hooks && mkdir h && "
                   "ln -s ../h .git/hooks && echo > .git/hooks/post-commit && test -e h/post-commit",
                   said=settings(write=["."]))
