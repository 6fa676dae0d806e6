"""Packages of the registry that tests need, installed once into a cache folder."""
import os
import shutil
import subprocess

MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "caisson-mcp-tests")


def install(cache, package, file):
    """(node, the package's file), or None, after saying why, when the registry can't be reached."""
    # The package `node` fetches its binary by a script; the one for this machine is the binary.
    node_package = "node-linux-" + MACHINES[os.uname().machine]
    node = os.path.join(cache, "node_modules", node_package, "bin", "node")
    wanted = os.path.join(cache, "node_modules", file)
    if os.path.exists(node) and os.path.exists(wanted):
        return node, wanted
    if not shutil.which("npm"):
        print("skipped: there is no npm")
        return None
    os.makedirs(cache, exist_ok=True)
    try:
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", cache,
             f"{node_package}@22", package],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"skipped: npm could not be run: {error}")
        return None
    if done.returncode != 0:
        print("skipped: npm could not install the package:", done.stdout.strip()[-300:])
        return None
    return node, wanted
