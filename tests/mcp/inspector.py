#!/usr/bin/env python3
"""The Inspector of MCP as a client: both dialects, over stdio and over HTTP.

    python3 tests/mcp/inspector.py BINARY MCP_FIXTURES [--cache FOLDER]

Where the package registry can't be reached, this says so and is done.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import registry

PACKAGE = "@modelcontextprotocol/inspector@2"
PROGRAM = ".bin/mcp-inspector"


class Inspector:
    def __init__(self, node, program, folder):
        self.words = [node, program, "--cli"]
        self.env = {"PATH": os.path.dirname(node) + ":" + os.environ["PATH"], "HOME": folder,
                    "XDG_STATE_HOME": folder}
        self.folder, self.failed = folder, 0

    def ask(self, target, era, *words):
        done = subprocess.run([*self.words, *target, "--protocol-era", era, "--method", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                              env=self.env, cwd=self.folder)
        if done.returncode != 0:
            raise ValueError(done.stdout[-2000:] + done.stderr[-2000:])
        return json.loads(done.stdout)

    def check(self, target, era):
        name = f"{'http' if len(target) > 2 else 'stdio'} {era}"
        try:
            tools = self.ask(target, era, "tools/list", "--strict")["tools"]
            assert len(tools) == 9, tools
            result = self.ask(target, era, "tools/call", "--tool-name", "rlm_exec", "--tool-arg",
                              "code=print(6*7)")
            assert result["content"][0]["text"].split("\n")[0] == "42", result
            assert len(self.ask(target, era, "prompts/list")["prompts"]) == 2
            assert self.ask(target, era, "resources/list")["resources"] == []
            print(f"{name}: passed", flush=True)
        except (ValueError, AssertionError, KeyError) as error:
            self.failed += 1
            print(f"{name}: failed: {error}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("fixtures")
    parser.add_argument("--cache", default=registry.CACHE)
    options = parser.parse_args()
    binary = os.path.realpath(options.binary)
    installed = registry.install(os.path.abspath(options.cache), PACKAGE, PROGRAM)
    if installed is None:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("state", "home", "project"):
            os.mkdir(os.path.join(folder, name), 0o700)
        server = subprocess.Popen([os.path.realpath(options.fixtures), binary, folder],
                                  stdout=subprocess.PIPE, text=True)
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
            inspector = Inspector(*installed, folder)
            for era in ("modern", "legacy"):
                inspector.check([binary, "mcp"], era)
                inspector.check([url, "--transport", "http"], era)
        finally:
            server.kill()
            server.wait()
    return 1 if inspector.failed else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
