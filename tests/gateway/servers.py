"""The servers of the far side: what they need on disk, and how each is started."""
import glob
import os
import pwd
import shutil
import subprocess
import sys

import names

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"  # the system's: Debian's modules are its own
POSTGRES_USER = "postgres"
TEXT = "".join(f"{i}: the tide tables of harbor\n" for i in range(8000))  # about 256 KiB
SPARSE_SIZE = 10_000_000_000


def run(*words, **how):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                   timeout=60, **how)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


def postgres_program(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


# -- what lies on disk ------------------------------------------------------------------------

def make_certificates(folder):
    """An authority that nobody but the near side trusts, and one certificate for all names."""
    def path(name):
        return os.path.join(folder, name)
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    run("openssl", "req", "-x509", *curve, "-keyout", path("ca.key"), "-out", path("ca.pem"),
        "-days", "30", "-subj", "/CN=Harbor authority", "-addext",
        "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    run("openssl", "req", "-new", *curve, "-keyout", path("server.key"), "-out",
        path("server.csr"), "-subj", "/CN=harbor.test")
    hosts = [f"DNS:{name}" for name in names.CERTIFIED]
    hosts += [f"IP:{address}" for address in (names.FAR, names.OTHER, names.FAR6)]
    write(path("server.ext"), f"subjectAltName={','.join(hosts)}\nbasicConstraints=CA:FALSE\n")
    run("openssl", "x509", "-req", "-in", path("server.csr"), "-CA", path("ca.pem"), "-CAkey",
        path("ca.key"), "-CAcreateserial", "-days", "30", "-extfile", path("server.ext"), "-out",
        path("server.pem"))


def make_site(folder):
    site = os.path.join(folder, "site")
    write(os.path.join(site, "text"), TEXT)
    write(os.path.join(site, "repos", "one"), "one\n")
    write(os.path.join(site, "private", "two"), "two\n")
    with open(os.path.join(site, "sparse"), "wb") as sparse:
        sparse.truncate(SPARSE_SIZE)
    with open(os.path.join(site, "bytes"), "wb") as random:
        random.write(os.urandom(4 << 20))


def make_repository(folder):
    work, bare = os.path.join(folder, "work"), os.path.join(folder, "site", "repo.git")
    write(os.path.join(work, "README"), "a harbor\n")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for name in ("AUTHOR", "COMMITTER"):
        env.update({f"GIT_{name}_NAME": "h", f"GIT_{name}_EMAIL": "h@harbor.test"})
    git = ("git", "-C", work)
    run(*git, "init", "-q", "-b", "main", env=env)
    run(*git, "add", "README", env=env)
    run(*git, "commit", "-q", "-m", "first", env=env)
    run("git", "clone", "-q", "--bare", work, bare, env=env)
    run("git", "-C", bare, "update-server-info", env=env)  # readable by plain HTTP


def make_keys(folder):
    for name in ("host_key", "client_key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f",
            os.path.join(folder, name))
    os.chmod(os.path.join(folder, "client_key"), 0o644)  # cells copy it
    shutil.copy(os.path.join(folder, "client_key.pub"), os.path.join(folder, "authorized_keys"))


def make_database(folder):
    """Starts initdb; wait for what it returns."""
    data = os.path.join(folder, "postgres")
    os.mkdir(data, 0o700)
    user = pwd.getpwnam(POSTGRES_USER)
    os.chown(data, user.pw_uid, user.pw_gid)
    return subprocess.Popen(
        [postgres_program("initdb"), "-D", data, "-A", "trust", "-U", "harbor", "--no-sync",
         "--no-locale", "-E", "UTF8"], cwd="/", user=user.pw_uid, group=user.pw_gid,
        extra_groups=[], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin"})


def prepare(folder):
    database = make_database(folder)
    make_certificates(folder)
    make_site(folder)
    make_repository(folder)
    make_keys(folder)
    _out, err = database.communicate(timeout=60)
    if database.returncode != 0:
        raise SystemExit(f"initdb failed: {err.decode(errors='replace')}")


# -- how each is started ----------------------------------------------------------------------

NGINX = """
daemon off; worker_processes 1; error_log {folder}/nginx.log; pid {folder}/nginx.pid; user root;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; default_type application/octet-stream; keepalive_requests 100000;
  client_body_temp_path {folder}/nginx-body; proxy_temp_path {folder}/nginx-proxy;
  fastcgi_temp_path {folder}/nginx-f; uwsgi_temp_path {folder}/nginx-u;
  scgi_temp_path {folder}/nginx-s;
  ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
  server {{
    listen 80 default_server backlog=4096; listen [::]:80 default_server; listen 8080;
    listen 443 ssl http2 default_server; listen [::]:443 ssl http2 default_server;
    listen 8443 ssl http2;
    root {folder}/site; client_max_body_size 0;
    location = /redirect-denied {{ return 302 http://denied.quay.test/text; }}
    location = /redirect-allowed {{ return 302 http://api.harbor.test/text; }}
    location = /protocol {{ return 200 "$server_protocol $ssl_server_name\\n"; }}
    location = /take {{ client_body_buffer_size 64k; proxy_pass http://127.0.0.1:{recorder};
                        proxy_request_buffering off; proxy_http_version 1.1; }}
    location = /account {{ add_header X-Seen $http_authorization;
                           return 200 "you sent $http_authorization\\n"; }}
    location = /piece {{ return 206 "$http_authorization\\n"; }}
  }}
}}
"""

SSHD = """
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
"""


def start_all(folder):
    """Starts every server in the namespace that this process is in. {name: Popen}"""
    def start(name, *words, **how):
        log = open(os.path.join(folder, f"{name}.out"), "w", encoding="utf-8")
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                cwd=folder, **how)
    write(os.path.join(folder, "nginx.conf"),
          NGINX.format(folder=folder, recorder=names.RECORDER))
    write(os.path.join(folder, "sshd.conf"), SSHD.format(folder=folder, port=names.SSH))
    user = pwd.getpwnam(POSTGRES_USER)
    return {
        "peers": start("peers", PYTHON, os.path.join(HERE, "peers.py"), folder),
        "grpc": start("grpc", PYTHON, os.path.join(HERE, "grpc_service.py"), folder),
        "postgres": start(
            "postgres", postgres_program("postgres"), "-D", os.path.join(folder, "postgres"), "-F",
            "-c", "listen_addresses=*", "-c", "unix_socket_directories=", "-c",
            "shared_buffers=8MB", user=user.pw_uid, group=user.pw_gid, extra_groups=[]),
        "redis": start("redis", "redis-server", "--bind", "*", "--protected-mode", "no", "--port",
                       str(names.REDIS), "--save", "", "--appendonly", "no"),
        "sshd": start("sshd", shutil.which("sshd", path="/usr/sbin:/sbin"), "-D", "-e", "-f",
                      os.path.join(folder, "sshd.conf")),
        "nginx": start("nginx", shutil.which("nginx", path="/usr/sbin:/usr/bin"), "-c",
                       os.path.join(folder, "nginx.conf"), "-p", folder, "-e",
                       os.path.join(folder, "nginx.log")),
    }


def main():
    """servers.py FOLDER: starts all once the network is there, says so, and stays until killed.

    Process 1 of a pid namespace: whatever the servers start dies with it.
    """
    folder = sys.argv[1]
    with open(os.path.join(folder, "postgres", "pg_hba.conf"), "a", encoding="utf-8") as rules:
        rules.write("host all all 0.0.0.0/0 trust\nhost all all ::/0 trust\n")
    run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")  # sshd's folder, not the host's
    os.mkdir("/run/sshd", 0o755)
    sys.stdin.readline()  # the near side has made the wire
    started = start_all(folder)
    print("started", flush=True)
    while started:
        pid, status = os.wait()
        for name, child in list(started.items()):
            if child.pid == pid:
                del started[name]
                print(f"{name} ended: {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
