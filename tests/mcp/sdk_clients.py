#!/usr/bin/env python3
"""The SDKs' own clients, of TypeScript and of Python: both dialects, over stdio and over HTTP.

    python3 tests/mcp/sdk_clients.py BINARY [--cache FOLDER] [--venv FOLDER]

Packages come from their registries, once, into the two folders; where one can't be reached, this says
so and goes on. The HTTP server is `caisson serve --mcp` with its token.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import registry

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "@modelcontextprotocol/client@2"
PROGRAM = "@modelcontextprotocol/client/dist/index.mjs"
PYTHON_PACKAGE = "mcp>=2,<3"
SECONDS = 120


def typescript(cache):
    """Words, a folder and an input that run the client, or None."""
    installed = registry.install(cache, PACKAGE, PROGRAM)
    if installed is None:
        return None
    with open(os.path.join(HERE, "clients", "typescript_client.mjs"), encoding="utf-8") as file:
        return [installed[0], "--input-type=module", "-"], cache, file.read()


def python(venv):
    program = os.path.join(venv, "bin", "python3")
    client = os.path.join(HERE, "clients", "python_client.py")
    if subprocess.run([program, "-c", "from mcp import Client"], capture_output=True,
                      check=False).returncode if os.path.exists(program) else True:
        done = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, check=False)
        if done.returncode == 0:
            done = subprocess.run([program, "-m", "pip", "install", "--disable-pip-version-check", "-q",
                                   PYTHON_PACKAGE], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print("skipped: pip could not install the package:", str(done.stderr).strip()[-300:])
            return None
    return [program, client], HERE, None


class Serve:
    """`caisson serve --mcp` on a free port of the loopback."""

    def __init__(self, binary, folder, env):
        self.token = "t" * 32
        path = os.path.join(folder, "token")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(self.token)
        self.process = subprocess.Popen(
            [binary, "serve", "--api", "127.0.0.1:0", "--mcp", "--token-file", path,
             "--socket", os.path.join(folder, "serve.sock")],
            stderr=subprocess.PIPE, text=True, env=env, cwd=folder)
        for line in self.process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.url = f"http://127.0.0.1:{found[1]}/mcp"
                return
        raise SystemExit("caisson serve gave no address")

    def end(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stderr.close()


def run(name, client, target, era):
    words, folder, text = client
    where = "http" if "url" in target else "stdio"
    try:
        done = subprocess.run([*words, json.dumps(target), era], cwd=folder, input=text, text=True,
                              capture_output=True, timeout=SECONDS, check=False)
        trouble = "" if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-4000:]
    except subprocess.TimeoutExpired:
        trouble = f"it took more than {SECONDS} s"
    print(f"{name}, {where}, {era}: {'failed: ' + trouble if trouble else 'passed'}", flush=True)
    return not trouble


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--cache", default=registry.CACHE)
    parser.add_argument("--venv", default=os.path.join(registry.CACHE, "python"))
    options = parser.parse_args()
    binary = os.path.realpath(options.binary)
    clients = {"TypeScript": typescript(os.path.abspath(options.cache)),
               "Python": python(os.path.abspath(options.venv))}
    good = []
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_STATE_HOME": folder + "/state",
               "XDG_RUNTIME_DIR": folder + "/run", "LANG": "C.UTF-8"}
        note = os.path.join(folder, "note.txt")
        with open(note, "w", encoding="ascii") as file:
            file.write("eleven char")
        server = Serve(binary, folder, env)
        try:
            stdio = {"command": binary, "args": ["mcp"], "env": env, "cwd": folder, "file": note}
            http = {"url": server.url, "headers": {"Authorization": f"Bearer {server.token}"},
                    "file": note}
            for name, client in clients.items():
                for target in (stdio, http) if client else ():
                    good += [run(name, client, target, era) for era in ("legacy", "modern")]
        finally:
            server.end()
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
