#!/usr/bin/env python3
"""What the host view costs a program that uses files.

    python3 bench/files.py CAISSON [--rounds N] [--turns N] [--start]

Compiles bench/files.c, runs it bare, behind a filter of one instruction and in a cell with protected
names and reports, in turns, and prints one JSON line for each operation: the medians in microseconds,
and the median of the ratios of neighbouring turns (1 is the bare rate, 0.5 half of it). ratio_to_filter
leaves out what the kernel takes for having a filter at all. With --start also the start of a cell and of
srt in an empty folder and in one with 800 nested repositories, 200,000 files and 250 worktrees, and
how many times the one is of the other.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = (".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile",
         ".ripgreprc", ".mcp.json", ".vscode", ".idea", ".claude/commands", ".claude/agents")


def policy_for(folder, path):
    rules = {"on": True, "allow_write": [folder],
             "deny_write": [f"{folder}/**/{name}" for name in NAMES],
             "protect": [f"{folder}/**/.git/hooks", f"{folder}/**/.git/config"]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"host_view": rules, "limits": {"timeout": "5m"}}, file)


def cell(options, policy, argv, folder):
    return subprocess.run([options.caisson, "exec", "--policy", policy, "--"] + argv, cwd=folder,
                          check=True, capture_output=True).stdout


def plain(argv):
    return subprocess.run(argv, check=True, capture_output=True).stdout


def median_of(turns, name):
    return round(statistics.median(turn[name] for turn in turns), 3)


def ratio_of(ones, others, name):
    return round(statistics.median(a[name] / b[name] for a, b in zip(ones, others)), 3)


def operations(options, stage):
    program, folder = os.path.join(stage, "files"), os.path.join(stage, "folder")
    os.mkdir(folder)
    subprocess.run(["cc", "-O2", "-o", program, os.path.join(HERE, "files.c")], check=True)
    policy = os.path.join(stage, "policy.json")
    policy_for(folder, policy)
    argv = [program, folder, str(options.rounds)]
    bare, filtered, inside = [], [], []
    for _ in range(options.turns):
        bare.append(json.loads(plain(argv)))
        filtered.append(json.loads(plain(argv + ["filter"])))
        inside.append(json.loads(cell(options, policy, argv, folder)))
    for name in bare[0]:
        print(json.dumps({"case": f"files {name}",
                          "bare_us": median_of(bare, name),
                          "filter_us": median_of(filtered, name),
                          "cell_us": median_of(inside, name),
                          "ratio": ratio_of(bare, inside, name),
                          "ratio_to_filter": ratio_of(filtered, inside, name)}), flush=True)


def make_file(*names):
    with open(os.path.join(*names), "w", encoding="utf-8"):
        pass


def make_tree(folder):
    for repository in range(800):
        top = os.path.join(folder, f"d{repository % 20}", f"r{repository}")
        os.makedirs(os.path.join(top, ".git", "hooks"))
        for number in range(250):
            make_file(top, f"f{number}")
    for number in range(250):
        behind = os.path.join(folder, ".git", "worktrees", f"w{number}")
        tree = os.path.join(folder, "trees", f"w{number}")
        os.makedirs(behind)
        os.makedirs(tree)
        make_file(behind, "HEAD")
        with open(os.path.join(tree, ".git"), "w", encoding="utf-8") as file:
            file.write(f"gitdir: {behind}\n")


def starts(options, stage):
    folders = {"empty": os.path.join(stage, "empty"), "large": os.path.join(stage, "large")}
    for folder in folders.values():
        os.mkdir(folder)
    make_tree(folders["large"])
    srt, home = os.path.join(stage, "srt"), os.path.join(stage, "home")
    os.symlink(options.caisson, srt)
    os.mkdir(home)
    settings = os.path.join(home, ".srt-settings.json")
    with open(settings, "w", encoding="utf-8") as file:
        json.dump({"network": {"allowedDomains": [], "deniedDomains": []},
                   "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}, file)

    def start(door, name, folder):
        policy = os.path.join(stage, f"{name}.json")
        policy_for(folder, policy)
        began = time.monotonic()
        if door == "srt":
            subprocess.run([srt, "true"], cwd=folder, env={**os.environ, "HOME": home}, check=True,
                           stdin=subprocess.DEVNULL)
        else:
            cell(options, policy, ["/bin/true"], folder)
        return (time.monotonic() - began) * 1e3

    for door in ("exec", "srt"):
        times = {name: [] for name in folders}
        for _ in range(options.turns * 12):
            for name, folder in folders.items():
                times[name].append(start(door, name, folder))
        medians = {name: statistics.median(found) for name, found in times.items()}
        print(json.dumps({"case": f"{door}, start in a large folder, of an empty one",
                          "empty_ms": round(medians["empty"], 3),
                          "large_ms": round(medians["large"], 3),
                          "ratio": round(medians["large"] / medians["empty"], 3)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("caisson")
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--start", action="store_true")
    parser.add_argument("--folder", help="where to work; the filesystem counts")
    options = parser.parse_args()
    options.caisson = os.path.abspath(options.caisson)
    stage = tempfile.mkdtemp(prefix="caisson-bench-files-", dir=options.folder)
    try:
        operations(options, stage)
        if options.start:
            starts(options, stage)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


if __name__ == "__main__":
    main()
