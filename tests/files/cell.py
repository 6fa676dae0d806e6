"""What the tests share: a project folder of each test's own, and caisson run in it."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

IDENTITY = "root"
MUTANT = None
BINARY = STAGE = None
USER = int(os.environ.get("TEST_UID", 54321))  # a uid that owns nothing on any machine
DEADLINE = 60
PYTHON = "/usr/bin/python3"


def stage_at(folder, binary):
    global STAGE, BINARY
    STAGE, BINARY = folder, os.path.join(folder, "caisson")
    shutil.copyfile(binary, BINARY)
    os.chmod(BINARY, 0o755)


def take_identity():
    if os.geteuid() == 0 and IDENTITY == "user":
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)


class Ended:
    def __init__(self, done):
        self.code, self.err = done.returncode, done.stderr.decode("utf-8", "replace")
        try:
            self.result = json.loads(done.stdout)
        except ValueError:
            self.result = {}
        self.out = self.result.get("stdout", "")
        self.inner_err = self.result.get("stderr", "")
        self.denials = self.result.get("denials", [])


class FilesCase(unittest.TestCase):
    """A folder with `project` in it, which the cell may write."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="t-", dir=STAGE)
        self.project = self.path("project")
        os.mkdir(self.project)
        os.chmod(self.top, 0o755)

    def tearDown(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.top, *names)

    def write(self, *names, text="text\n", mode=0o644):
        path = self.path(*names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def own(self):
        """Everything made so far belongs to who runs the cell."""
        if os.geteuid() != 0 or IDENTITY != "user":
            return
        for folder, folders, files in os.walk(self.top):
            for name in [folder] + [os.path.join(folder, one) for one in folders + files]:
                os.lchown(name, USER, USER)

    def command(self, rules, timeout="30s"):
        """Words and environment of `caisson exec`; the cell's own words come behind them."""
        os.makedirs(self.path("state"), mode=0o700, exist_ok=True)
        self.own()
        rules.setdefault("allow_write", [self.project])
        sockets = rules.pop("sockets", [])
        policy = {"host_view": dict(rules, on=True), "limits": {"timeout": timeout},
                  "network": {"sockets": sockets}}
        text = self.path("policy.json")
        with open(text, "w", encoding="utf-8") as file:
            json.dump(policy, file)
        os.chmod(text, 0o644)
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.top, "XDG_STATE_HOME": self.path("state")}
        if MUTANT:
            environment["CAISSON_MUTANT"] = MUTANT
        return [BINARY, "exec", "--policy", text], environment

    def run_cell(self, argv, cwd=None, timeout="30s", before=(), **rules):
        """`before`: the words of a program that executes the rest."""
        words, environment = self.command(rules, timeout)
        done = subprocess.run([*before] + words + ["--json-output", "--"] + argv, cwd=cwd or self.project,
                              env=environment, preexec_fn=take_identity, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=DEADLINE, check=False)
        ended = Ended(done)
        self.assertIn("status", ended.result, ended.err)
        self.assertNotEqual(ended.result["status"], "setup_error", ended.err)
        return ended

    def shell(self, script, **rules):
        return self.run_cell(["/bin/sh", "-c", script], **rules)

    def python(self, script, **rules):
        return self.run_cell([PYTHON, "-c", script], **rules)

    def protected(self):
        return {"deny_write": [self.project + "/**/.bashrc", self.project + "/**/.tool/commands"],
                "protect": [self.project + "/**/.git/hooks"]}
