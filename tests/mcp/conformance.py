#!/usr/bin/env python3
"""The official conformance suite of MCP against the fixtures server.

    python3 tests/mcp/conformance.py MCP_FIXTURES [--cache FOLDER] [REQUIREMENTS]...

REQUIREMENTS are 2025-11-25 and 2026-07-28 unless told. The suite and the Node that it needs come from
the package registry, once, into the cache folder; where that can't be reached, this says so and is
done. Every scored scenario must pass; those that the suite itself doesn't score (extensions, pending
ones) don't count.
"""
import argparse
import re
import subprocess
import sys

import registry

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
PROGRAM = "@modelcontextprotocol/conformance/dist/index.js"
EXPECTED = {"2025-11-25": 30, "2026-07-28": 37}  # scored scenarios for servers


def run(node, suite, url, requirements):
    """True when every scored scenario passed."""
    done = subprocess.run([node, suite, "server", "--url", url, "--requirements", requirements],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    scored, _, rest = summary.partition("Not scored for")
    unscored = set(re.findall(r"^\s+[✓✗] (\S+) \(", rest, re.M))
    passed = set(re.findall(r"^✓ (\S+):", scored, re.M)) - unscored
    failed = set(re.findall(r"^✗ (\S+):", scored, re.M)) - unscored
    print(f"{requirements}: {len(passed)} scored scenarios passed, {len(failed)} failed", flush=True)
    if failed or len(passed) != EXPECTED[requirements]:
        print(done.stdout[-20000:])
        return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fixtures")
    parser.add_argument("requirements", nargs="*", default=list(EXPECTED))
    parser.add_argument("--cache", default=registry.CACHE)
    options = parser.parse_args()
    installed = registry.install(options.cache, SUITE, PROGRAM)
    if installed is None:
        return 0
    server = subprocess.Popen([options.fixtures], stdout=subprocess.PIPE, text=True)
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        good = [run(*installed, url, one) for one in options.requirements]
    finally:
        server.kill()
        server.wait()
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
