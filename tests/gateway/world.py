"""Two network namespaces and a wire between them.

This process is in `near`, with a mount namespace of its own where the machine's resolver, hosts
file and authorities are the tests' own; `far` has the servers. Both are gone when the last process
in them is, and every process of `far` dies with this one.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import names
import servers

ORDINARY_USER = int(os.environ.get("TEST_UID", 54321))  # a uid that owns nothing on any machine
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
NEEDED = {  # program → Debian package
    "ip": "iproute2", "unshare": "util-linux", "setpriv": "util-linux", "mount": "mount",
    "openssl": "openssl", "nginx": "nginx", "redis-server": "redis-server",
    "redis-cli": "redis-tools", "sshd": "openssh-server", "ssh": "openssh-client",
    "psql": "postgresql-client", "git": "git", "curl": "curl", "wget": "wget",
    "node": "nodejs", "javac": "openjdk-17-jdk-headless"}
SEARCH = os.environ.get("PATH", "") + ":/usr/local/go/bin:/usr/sbin:/sbin:/usr/bin:/bin"


def has_go():
    """Go is tested where it is: as a package it is large, and people install it otherwise."""
    return shutil.which("go", path=SEARCH) is not None


def what_is_missing():
    """What this machine lacks for the tests, one line each."""
    if os.geteuid() != 0:
        return ["root: the tests make network and mount namespaces of their own"]
    missing = [f"{program} (package {package})" for program, package in NEEDED.items()
               if not shutil.which(program, path=SEARCH)]
    if not servers.postgres_program("initdb"):
        missing.append("initdb (package postgresql)")
    for module in ("grpc", "requests"):
        if subprocess.run([servers.PYTHON, "-c", f"import {module}"],
                          stderr=subprocess.DEVNULL).returncode != 0:
            package = {"grpc": "python3-grpcio"}.get(module, f"python3-{module}")
            missing.append(f"{module} for {servers.PYTHON} (package {package})")
    return missing


class Canary:
    """Listens in `near` where a cell must not come, and counts who does."""

    def __init__(self, port):
        self.port, self.accepted, self.asked = port, 0, 0
        self.listener = socket.create_server(("::", port), family=socket.AF_INET6, backlog=256,
                                             dualstack_ipv6=True)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _address = self.listener.accept()
            self.accepted += 1
            threading.Thread(target=self.answer, args=(peer,), daemon=True).start()

    def hits(self):
        """Who has come so far. Whoever came before this question is accepted before it, so a busy
        machine can't lay one test's visitor at the door of the next."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as own:
            own.sendall(b"?")
            own.recv(1)
        self.asked += 1
        return self.accepted - self.asked

    def answer(self, peer):
        with peer:
            peer.settimeout(5)
            try:
                peer.recv(4096)
                peer.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\ncanary\n")
            except OSError:
                pass


class World:
    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="caisson-gateway-")
        os.chmod(self.folder, 0o755)
        self.far = None
        # The checkout may lie where an ordinary user can't read.
        self.binary = shutil.copy(binary, os.path.join(self.folder, "caisson"))
        os.chmod(self.binary, 0o755)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def start(self):
        clients = self.start_compilers()
        servers.prepare(self.folder)
        self.start_far()
        self.join()
        self.cover_system_files()
        self.canaries = {port: Canary(port) for port in names.CANARIES}
        shutil.copy(self.path("client_key"), self.path("inside"))
        print("go", file=self.far.stdin, flush=True)
        self.expect_line("started")
        self.wait_for_servers()
        for compiler in clients:
            if compiler.wait(timeout=300) != 0:
                raise SystemExit(f"{compiler.args[0]} could not make a client")

    def start_compilers(self):
        """Puts the clients where a cell can see them; those in Go and Java are still compiled."""
        inside = shutil.copytree(os.path.join(servers.HERE, "inside"), self.path("inside"))
        cache = os.path.join(servers.HERE, "..", "..", "build", "gateway", "go")
        env = {**os.environ, "PATH": SEARCH, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod",
               "GOCACHE": os.path.abspath(cache), "GOTOOLCHAIN": "local"}
        commands = [["javac", "-d", ".", "Fetch.java"]]
        if has_go():
            commands.append(["go", "build", "-o", "gofetch", "fetch.go"])
        return [subprocess.Popen(command, cwd=inside, env=env) for command in commands]

    def start_far(self):
        # The outer unshare keeps this pid and so names the namespace; the inner one forks.
        self.far = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "unshare", "--mount", "--pid",
             "--fork", "--kill-child", "--mount-proc", servers.PYTHON,
             os.path.join(servers.HERE, "servers.py"), self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        own = os.readlink("/proc/self/ns/net")
        self.wait_for(lambda: os.readlink(f"/proc/{self.far.pid}/ns/net") != own, "the far side")

    def ip(self, *words, far=False):
        where = ["nsenter", f"--net=/proc/{self.far.pid}/ns/net"] if far else []
        subprocess.run([*where, "ip", *words], check=True)

    def join(self):
        self.ip("link", "set", "lo", "up")
        self.ip("link", "set", "lo", "up", far=True)
        self.ip("link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns",
                str(self.far.pid))
        self.ip("address", "add", f"{names.NEAR}/24", "dev", "near0")
        self.ip("address", "add", f"{names.NEAR6}/64", "dev", "near0", "nodad")
        for address in names.FAR_ADDRESSES:
            width = 24 if address.startswith("203.") else 32
            self.ip("address", "add", f"{address}/{width}", "dev", "far0", far=True)
        self.ip("address", "add", f"{names.FAR6}/64", "dev", "far0", "nodad", far=True)
        self.ip("link", "set", "near0", "up")
        self.ip("link", "set", "far0", "up", far=True)
        self.ip("route", "add", "169.254.0.0/16", "dev", "near0")

    def cover_system_files(self):
        bundle = ""
        for path in (BUNDLE, self.path("ca.pem")):
            with open(path, encoding="utf-8") as pem:
                bundle += pem.read()
        for path, text in {
                "/etc/resolv.conf": f"nameserver {names.DNS}\n",
                "/etc/hosts": "127.0.0.1 localhost listed-loopback.harbor.test\n::1 localhost\n"
                              f"{names.FAR} listed.harbor.test\n",
                BUNDLE: bundle}.items():
            own = self.path("etc", os.path.basename(path))
            servers.write(own, text)
            subprocess.run(["mount", "--bind", own, path], check=True)

    def expect_line(self, text):
        line = self.far.stdout.readline().strip()
        if line != text:
            raise SystemExit(f"the far side said {line!r} and not {text!r}\n{self.logs()}")

    def wait_for_servers(self):
        for port in names.FAR_PORTS:
            self.wait_for(lambda port=port: self.connects(names.FAR, port), f"port {port} of far")

    @staticmethod
    def connects(host, port):
        try:
            socket.create_connection((host, port), timeout=1).close()
            return True
        except OSError:
            return False

    def wait_for(self, condition, what, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or self.far.poll() is not None:
                raise SystemExit(f"no {what} after {seconds} s\n{self.logs()}")
            time.sleep(0.02)

    def logs(self):
        """The end of what each server said, for a failure."""
        parts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".out"):
                with open(self.path(name), encoding="utf-8", errors="replace") as text:
                    parts.append(f"-- {name}\n{text.read()[-1000:]}")
        return "\n".join(parts)

    def stop(self):
        if self.far:
            self.far.kill()
            self.far.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def enter_near(arguments):
    """Starts this script again in namespaces of its own, which is all that makes `near`."""
    os.execvp("unshare", ["unshare", "--net", "--mount", "--propagation", "private",
                          sys.executable, *arguments])
