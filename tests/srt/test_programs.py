"""Real programs inside, as users run them. What tools/install-packages brings is asked for; Chromium,
cargo and go are large, and are tested where they are installed."""
import json
import os
import pwd
import shutil
import socket
import subprocess
import unittest
import urllib.request

from srt_harness import IS_ROOT, SrtTest, settings
from harness import SYSTEM_PATH

CALLERS_PATH = f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}"
SAID = settings(write=["."])


def installed(name):
    return shutil.which(name, path=CALLERS_PATH)


def has_account():
    """ssh and sshd ask who a number is."""
    try:
        return bool(pwd.getpwuid(os.getuid()))
    except KeyError:
        return False


class Programs(SrtTest):
    """One line of shell each, in a writable project: it says "inside" when all went well."""

    LINES = {
        "tmux": ("tmux new-session -d -s s cat && tmux list-sessions | grep -q '^s:' && "
                 "tmux kill-server && echo inside"),
        "gpg": ("export GNUPGHOME=$TMPDIR/g && mkdir -m 700 $GNUPGHOME && gpg --batch --quiet "
                "--passphrase '' --quick-gen-key a@b ed25519 2>/dev/null && echo x | "
                "gpg --batch --clearsign 2>/dev/null | grep -q BEGIN && echo inside; "
                "gpgconf --kill all"),
        "node": ("node -e 'const net = require(\"net\"), p = process.env.TMPDIR + \"/s\";"
                 "net.createServer(c => c.end(\"inside\")).listen(p, function () {"
                 "net.connect(p).on(\"data\", d => { console.log(`${d}`); this.close(); }) })'"),
        "java": "echo 'class T { public static void main(String[] a) { "
                "System.out.println(\"inside\"); } }' > T.java && java T.java",
        "zsh": "zsh -c 'cat <<E\ninside\nE'",
        "git": "git init -q r && git -C r status > /dev/null && echo inside",
        "make": "printf 'all:\\n\\t@echo inside\\n' > Makefile && make -s",
        "gcc": "echo 'int main(){return 0;}' > t.c && gcc t.c -o t && ./t && echo inside",
        "python3": ("printf 'def test_it(tmp_path):\\n  (tmp_path / \"f\").write_text(\"x\")\\n' "
                    "> test_it.py && python3 -m pytest -q > log && grep -q '1 passed' log && "
                    "test -d .pytest_cache && echo inside"),
    }

    def test_each(self):
        for name, text in self.LINES.items():
            with self.subTest(program=name):
                self.assertTrue(installed(name), "not installed: tools/install-packages doors")
                ended = self.srt("-c", text, said=SAID)
                self.assertEqual((ended.code, ended.out), (0, "inside\n"), ended)


class Compilers(SrtTest):
    """cargo and go bring their own folders; here they are the run's."""

    def build(self, text, program, **env):
        env = {"PATH": CALLERS_PATH, **env}
        ended = self.srt("-c", text, said=SAID, env=env, deadline=120)
        self.assertEqual((ended.code, ended.out), (0, "inside\n"), ended)
        self.assertTrue(os.access(os.path.join(self.project, program), os.X_OK))

    @unittest.skipUnless(installed("cargo"), "cargo is not installed")
    def test_cargo_build(self):
        self.project_file("Cargo.toml", '[package]\nname = "hello"\nversion = "0.1.0"\n')
        self.project_file("src/main.rs", 'fn main() { println!("inside"); }\n')
        # One that rustup brought looks for its compilers in its user's home.
        home = os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
        self.build("CARGO_HOME=$TMPDIR/cargo cargo build -q && target/debug/hello",
                   "target/debug/hello", RUSTUP_HOME=home)

    @unittest.skipUnless(installed("go") and not installed("cargo"), "go, or cargo in its place")
    def test_go_build(self):
        self.project_file("go.mod", "module hello\ngo 1.19\n")
        self.project_file("main.go", 'package main\nfunc main() { print("inside\\n") }\n')
        self.build("GOCACHE=$TMPDIR/cache GOPATH=$TMPDIR/go go build -o hello . && "
                   "./hello 2>&1", "hello")


class Signing(SrtTest):
    """gpg-agent runs on the host and holds the key; the command gets the agent's socket alone."""

    def setUp(self):
        super().setUp()
        self.keys = self.folder("gpg")  # short: the path of a socket has 107 bytes
        os.chmod(self.keys, 0o700)
        self.env["GNUPGHOME"] = self.keys
        self.host("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key",
                  "Ada <ada@example.com>", "ed25519", "sign")
        self.addCleanup(self.host, "gpgconf", "--kill", "all")
        self.host("git", "init", "-q", ".")
        self.agent = os.path.join(self.keys, "S.gpg-agent")

    def host(self, *words):
        return subprocess.run(words, cwd=self.project, env=self.environment(), check=True,
                              capture_output=True, text=True).stdout

    def commit(self, *sockets):
        """The secret keys can't be read: a signature is the agent's."""
        said = settings(read=[os.path.join(self.keys, "private-keys-v1.d")], write=["."],
                        network={"allowUnixSockets": list(sockets)})
        return self.srt("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit",
                        "-q", "-S", "--allow-empty", "-m", "signed", said=said)

    def test_gpg_signs_by_the_agent_of_the_host(self):
        ended = self.commit(self.agent)
        self.assertEqual(ended.code, 0, ended)
        self.assertIn("BEGIN PGP SIGNATURE", self.host("git", "cat-file", "commit", "HEAD"))
        self.host("git", "verify-commit", "HEAD")

    def test_without_the_socket_nothing_is_signed(self):
        ended = self.commit()
        self.assertNotEqual(ended.code, 0, ended)
        self.assertTrue(any(self.agent in line and "network.allowUnixSockets" in line
                            for line in self.violations(ended)), ended)


SSHD = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/client_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
"""


@unittest.skipUnless(has_account(), "ssh wants its user to have an account")
class GitOverSsh(SrtTest):
    def setUp(self):
        super().setUp()
        self.ssh = self.folder("ssh")
        for name in ("host_key", "client_key"):
            self.host("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                      os.path.join(self.ssh, name))
        self.env.update(GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                        GIT_COMMITTER_EMAIL="a@b", GIT_SSH_COMMAND=(
                            f"ssh -F none -i {self.ssh}/client_key -o BatchMode=yes -o LogLevel=ERROR "
                            "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"))
        self.repository = os.path.join(self.top, "repository.git")
        self.host("git", "init", "-q", "--bare", "-b", "main", self.repository)
        self.port = self.start_sshd()
        user = pwd.getpwuid(os.getuid()).pw_name
        self.url = f"ssh://{user}@localhost:{self.port}{self.repository}"

    def host(self, *words):
        return subprocess.run(words, cwd=self.project, env=self.environment(), check=True,
                              capture_output=True, text=True).stdout

    def start_sshd(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        said = self.file("ssh/config", SSHD.format(folder=self.ssh, port=port))
        words = [shutil.which("sshd", path=SYSTEM_PATH), "-D", "-e", "-f", said]
        if IS_ROOT:  # its folder for privilege separation: not the host's
            words = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o mode=755 run /run && "
                     "mkdir -m 755 /run/sshd && exec \"$@\"", "sh", *words]
        server = subprocess.Popen(words, env=self.environment(), stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
        self.addCleanup(self.put_away, server)
        line = server.stderr.readline()
        self.assertIn(b"listening", line)
        return port

    def test_clone_commit_and_push(self):
        said = settings([f"localhost:{self.port}"], write=["."])
        self.sh_ok(f"git clone -q {self.url} copy 2>&1 && cd copy && echo inside > file && "
                   "git checkout -q -b main && git add file && git commit -q -m first && "
                   "git push -q origin main && git fetch -q", said=said)
        self.assertEqual(self.host("git", "-C", self.repository, "show", "main:file"), "inside\n")

    def test_a_port_that_is_not_allowed(self):
        ended = self.sh(f"git clone -q {self.url} copy", said=SAID)
        self.assertEqual(ended.code, 128, ended)


@unittest.skipUnless(has_account(), "ssh wants its user to have an account")
class Ssh(SrtTest):
    def test_ssh_shows_why_it_was_refused(self):
        """The reason of the rule, as a server's last words."""
        said = settings(["example.com"], ["example.com:22"], network={
            "deniedDomainReasons": {"example.com:22": "use https instead"}})
        ended = self.srt("ssh", "-F", "none", "-o", "BatchMode=yes", "-o",
                         "StrictHostKeyChecking=no", "git@example.com", said=said)
        self.assertEqual(ended.code, 255, ended)
        self.assertRegex(ended.err, r"isconnect.*Connection blocked by network allowlist.*"
                                    "use https instead")


class NpmInstall(SrtTest):
    REGISTRY = "registry.npmjs.org"

    def setUp(self):
        super().setUp()
        try:
            urllib.request.urlopen(f"https://{self.REGISTRY}/is-number", timeout=10).close()
        except OSError as why:
            self.skipTest(f"the registry can't be reached from here: {why}")
        self.project_file("package.json", "{}")
        # The host may reach it by an authority or a proxy of its own.
        self.env.update({name: value for name, value in os.environ.items()
                         if name in ("NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "https_proxy")})

    def install(self, *allowed):
        return self.srt("-c", "export npm_config_cache=$TMPDIR/npm npm_config_fetch_retries=0; "
                        "npm install --no-audit --no-fund --silent is-number@7.0.0 && "
                        "node -p 'require(\"is-number\")(5)'",
                        said=settings(allowed, write=["."]), env={"PATH": CALLERS_PATH}, deadline=60)

    def test_npm_installs_from_the_registry(self):
        ended = self.install(self.REGISTRY)
        self.assertEqual((ended.code, ended.out), (0, "true\n"), ended)
        with open(os.path.join(self.project, "package.json")) as said:
            self.assertIn("is-number", json.load(said)["dependencies"])

    def test_and_from_nowhere_else(self):
        ended = self.install("example.com")
        self.assertNotEqual(ended.code, 0, ended)
        self.assertIn(self.REGISTRY, " ".join(self.violations(ended)))


@unittest.skipUnless(installed("chromium"), "chromium is not installed")
class Chromium(SrtTest):
    """As agents run it: headless, its own sandbox left out since it is in one."""

    PAGE = ("<p id=a>before</p><script>document.getElementById('a').textContent = 'in' + 'side'"
            "</script>")

    def dom(self, address, *allowed, options="--no-sandbox", **more):
        return self.srt("-c", f"chromium --headless {options} --disable-gpu "
                        f"--user-data-dir=$TMPDIR/c --dump-dom '{address}'",
                        said=settings(allowed, write=["."], **more), deadline=120)

    def test_a_file(self):
        ended = self.dom("file://" + self.project_file("page.html", self.PAGE))
        self.assertIn('<p id="a">inside</p>', ended.out, ended)

    def test_a_server_that_is_allowed_and_one_that_is_not(self):
        port = self.web_server(self.PAGE.encode(), kind="text/html")
        ended = self.dom(f"http://localhost:{port}/", f"localhost:{port}")
        self.assertIn('<p id="a">inside</p>', ended.out, ended)
        ended = self.dom(f"http://localhost:{port}/")
        self.assertNotIn("inside", ended.out, ended)

    @unittest.skipIf(IS_ROOT, "root's Chromium has no sandbox of its own")
    def test_its_own_sandbox_by_nested_namespaces(self):
        ended = self.dom("file://" + self.project_file("page.html", self.PAGE), options="",
                         allowNestedUserNamespaces=True)
        self.assertIn('<p id="a">inside</p>', ended.out, ended)
