"""Toolchains in home folders: the installation alone is visible, and nothing else of the home."""
import json
import os
import pwd
import subprocess

import harness
from harness import PYTHON, CliTest


class VirtualEnvironment(CliTest):
    def setUp(self):
        super().setUp()
        self.venv = self.home + "/envs/one"
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", self.venv], check=True,
                       env=self.environment(), timeout=harness.DEADLINE)
        site = next(os.path.join(folder, "site-packages")
                    for folder, names, _ in os.walk(self.venv + "/lib") if "site-packages" in names)
        with open(site + "/only_here.py", "w") as module:
            module.write("WORD = 'from the environment'\n")
        self.file("home/.ssh/id", "key")
        self.file("home/other/secret", "secret")
        self.file("home/envs/two/secret", "secret")
        self.file("home/envs/one/pip.conf", "[global]\nindex-url = https://user:token@host\n")

    CODE = "import sys, only_here; print(sys.prefix); print(only_here.WORD)"

    def test_it_works_by_path_and_by_name(self):
        expected = f"{self.venv}\nfrom the environment\n"
        ended = self.exec(self.venv + "/bin/python3", "-c", self.CODE)
        self.assertEqual((ended.code, ended.out), (0, expected), ended)
        activated = {"PATH": f"{self.venv}/bin:{harness.SYSTEM_PATH}", "VIRTUAL_ENV": self.venv}
        code = self.CODE + "; import os; print(os.environ['VIRTUAL_ENV'])"
        ended = self.exec("python3", "-c", code, env=activated)
        self.assertEqual((ended.code, ended.out), (0, expected + self.venv + "\n"), ended)

    def test_a_script_of_it_works(self):
        self.file("home/envs/one/bin/tool", f"#!{self.venv}/bin/python3\n{self.CODE}\n", 0o755)
        self.assertEqual(self.exec_ok(self.venv + "/bin/tool").out,
                         f"{self.venv}\nfrom the environment\n")

    def test_a_script_that_names_it_by_env_works(self):
        self.file("project/tool", f"#!/usr/bin/env python3\n{self.CODE}\n", 0o755)
        ended = self.exec_ok("./tool", env={"PATH": f"{self.venv}/bin:{harness.SYSTEM_PATH}"})
        self.assertEqual(ended.out, f"{self.venv}\nfrom the environment\n")

    def test_nothing_else_of_the_home_is_visible(self):
        code = "import os\nfor at, _, files in os.walk(%r): print(at, *files)" % self.home
        ended = self.exec_ok(self.venv + "/bin/python3", "-c", code)
        self.assertIn("only_here.py", ended.out)
        for hidden in (".ssh", "other", "two", "secret", "pip.conf"):
            self.assertNotIn(hidden, ended.out)

    def test_it_is_read_only(self):
        code = f"open({self.venv!r} + '/bin/new', 'w')"
        self.assertIn("Read-only", self.exec(self.venv + "/bin/python3", "-c", code).err)

    def test_explain_shows_it(self):
        told = self.caisson("explain", "--json", self.venv + "/bin/python3").json
        mounts = {mount["target"] for mount in told["policy"]["mounts"]}
        self.assertIn(self.venv + "/lib", mounts)
        self.assertTrue(all(mount["access"] == "ro" for mount in told["policy"]["mounts"]))
        text = self.caisson("explain", self.venv + "/bin/python3").out
        self.assertRegex(text, rf"ro {self.venv}/lib at {self.venv}/lib  \(.*virtualenv")

    def test_a_command_elsewhere_in_a_home_is_left_out_with_a_line(self):
        self.file("home/stray/tool", "#!/bin/sh\necho ran\n", 0o755)
        ended = self.exec(self.home + "/stray/tool")
        self.assertEqual((ended.code, ended.out), (127, ""), ended)
        self.assertIn("--mount", ended.err)


class OfAWorkspace(CliTest):
    """What an earlier cell has written there chooses a base interpreter, and nothing else of the home."""

    def setUp(self):
        super().setUp()
        self.file("home/.local/bin/deploy", "#!/bin/sh\n# the token\n", 0o755)
        self.file("home/secret/.venv/pyvenv.cfg", "home = /usr/bin\n")
        self.file("home/secret/.venv/lib/private.py", "SECRET = 1\n")
        self.file("home/secret/.venv/bin/python", "#!/bin/sh\n", 0o755)
        os.makedirs(self.project + "/venv/bin")

    def seen(self, command):
        told = self.caisson("explain", "--json", command).json
        return sorted(one["target"] for one in told["policy"]["mounts"] if one["target"] != self.project)

    def test_pyvenv_cfg_shows_no_file_and_no_other_virtualenv(self):
        os.symlink(PYTHON, self.project + "/venv/bin/python")
        for home in (".local/bin/deploy", ".local/bin", "secret/.venv/bin"):
            self.file("project/venv/pyvenv.cfg", f"home = {self.home}/{home}\n")
            self.assertEqual(self.seen("venv/bin/python"), [], home)
            code = f"import os; print(os.path.lexists({self.home!r}))"
            ended = self.exec("venv/bin/python", "-S", "-c", code)
            self.assertNotIn("True", ended.out, ended)

    def test_a_link_shows_no_other_virtualenv(self):
        os.symlink(self.home + "/secret/.venv/bin/python", self.project + "/venv/bin/python")
        self.assertEqual(self.seen("venv/bin/python"), [])
        self.assertIn("left out", self.exec("venv/bin/python").err)
        named = self.seen(self.home + "/secret/.venv/bin/python")
        self.assertIn(self.home + "/secret/.venv/lib", named, "the caller may")

    def test_a_first_line_shows_no_file(self):
        for line in ("/usr/bin/env deploy", self.home + "/.local/bin/deploy"):
            self.file("project/run", f"#!{line}\n", 0o755)
            env = {"PATH": self.home + "/.local/bin:/usr/bin"}
            told = self.caisson("explain", "--json", "./run", env=env).json
            self.assertEqual([one["target"] for one in told["policy"]["mounts"]], [self.project])

    def test_a_base_interpreter_is_found(self):
        self.file("home/.pyenv/versions/3.11/bin/python3", "#!/bin/sh\n", 0o755)
        self.file("project/venv/bin/python", "#!/bin/sh\n", 0o755)
        self.file("project/venv/pyvenv.cfg", f"home = {self.home}/.pyenv/versions/3.11/bin\n")
        self.assertEqual(self.seen("venv/bin/python"), [self.home + "/.pyenv"])


class OtherInstallations(CliTest):
    """By the shape of their folders: what is visible is decided by a table, not by running them."""

    TOOL = "#!/bin/sh\necho ran\n"

    def assert_visible(self, tool, *hidden):
        with self.subTest(tool):
            path = self.file("home/" + tool, self.TOOL, 0o755)
            for name in hidden:
                self.file("home/" + name, "secret")
            ended = self.exec(path)
            self.assertEqual((ended.code, ended.out), (0, "ran\n"), ended)
            told = self.caisson("explain", "--json", path).json["policy"]["mounts"]
            for name in hidden:
                secret = os.path.join(self.home, name)
                self.assertFalse([mount for mount in told if
                                  (secret + "/").startswith(mount["source"] + "/")], name)

    def test_each_of_the_table(self):
        self.assert_visible(".pyenv/versions/3.12.1/bin/python3", ".netrc")
        self.assert_visible(".nvm/versions/node/v20.1.0/bin/node",
                            ".nvm/versions/node/v20.1.0/etc/npmrc", ".npmrc")
        self.assert_visible(".asdf/installs/ruby/3.3/bin/ruby", ".gem/credentials")
        self.assert_visible(".local/share/mise/installs/node/20/bin/node", ".config/mise/secret")
        self.assert_visible(".cargo/bin/cargo-x", ".cargo/credentials.toml")
        self.assert_visible(".rustup/toolchains/stable/bin/rustc", ".cargo/credentials.toml")
        self.assert_visible("go/bin/gopls", "go/pkg/secret")

    def test_conda(self):
        self.file("home/miniconda3/conda-meta/history", "")
        self.assert_visible("miniconda3/bin/python3", ".condarc", "miniconda3/.condarc")

    def test_go(self):
        self.file("home/sdk/go1.22/src/runtime/proc.go", "")
        self.assert_visible("sdk/go1.22/bin/go", "sdk/token")


class OnThisMachine(CliTest):
    """What lies in the caller's real home runs as it does outside; or a small copy of it does."""

    def real_home(self):
        known = {entry.pw_uid: entry.pw_dir for entry in pwd.getpwall()}
        return known.get(os.getuid(), self.home)

    def outside(self, words, env):
        done = subprocess.run(words, capture_output=True, env=self.environment(env), text=True,
                              cwd=self.project, timeout=harness.DEADLINE)
        return done.stdout

    def test_pyenv(self):
        home = self.real_home()
        if not os.path.exists(home + "/.pyenv/shims/python3"):
            home = self.home
            self.file("home/.pyenv/shims/python3", f"#!/bin/sh\nexec {PYTHON} \"$@\"\n", 0o755)
        root = home + "/.pyenv"
        env = {"HOME": home, "PYENV_ROOT": root,
               "PATH": f"{root}/shims:{root}/bin:{harness.SYSTEM_PATH}"}
        code = "import json, os, sys; print(json.dumps([sys.prefix, os.listdir(%r)]))" % home
        ended = self.exec("python3", "-c", code, env=env)
        self.assertEqual(ended.code, 0, ended)
        prefix, names = json.loads(ended.out)
        self.assertEqual(prefix + "\n", self.outside(
            [root + "/shims/python3", "-c", "import sys; print(sys.prefix)"], env))
        self.assertEqual(names, [".pyenv"])

    def test_rustup(self):
        home = self.real_home()
        if not os.path.exists(home + "/.cargo/bin/rustup"):
            home = self.home
            for name in ("toolchains/stable", "update-hashes"):
                self.folder("home/.rustup/" + name)
            self.file("home/.rustup/settings.toml", "")
            # rustup makes the folder when it is missing, and fails when it can't.
            script = f"#!/bin/sh\ntest -d {home}/.rustup/update-hashes && echo cargo 1.0\n"
            self.file("home/.cargo/bin/cargo", script, 0o755)
        self.assertIn("cargo", self.outside([home + "/.cargo/bin/cargo", "--version"],
                                            {"HOME": home}))
        env = {"HOME": home, "PATH": f"{home}/.cargo/bin:{harness.SYSTEM_PATH}"}
        ended = self.exec("cargo", "--version", env=env)
        self.assertEqual((ended.code, ended.out),
                         (0, self.outside([home + "/.cargo/bin/cargo", "--version"], env)), ended)

    def test_a_virtualenv_on_the_default_python(self):
        """Its base may be a pyenv's: both are visible then."""
        home = self.real_home()
        shim = home + "/.pyenv/shims/python3"
        env = {"HOME": home} if os.path.exists(shim) else {}
        subprocess.run([shim if env else PYTHON, "-m", "venv", "--without-pip",
                        self.project + "/venv"], check=True, env=self.environment(env),
                       cwd=self.project, timeout=harness.DEADLINE)
        words = [self.project + "/venv/bin/python3", "-c",
                 "import sys, ssl, json; print(sys.prefix, sys.base_prefix)"]
        ended = self.exec(*words, env=env)
        self.assertEqual((ended.code, ended.out), (0, self.outside(words, env)), ended)
