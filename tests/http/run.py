#!/usr/bin/env python3
"""Black-box tests of `caisson serve` and `caisson session`.

    python3 tests/http/run.py BINARY [-k PATTERN]... [-v]
    python3 tests/http/run.py BINARY --mutants       BINARY is caisson of the preset `mutant`: each
                                                     control of controls.txt is taken away once, and
                                                     its tests must notice

Standard library only; runs as root and as an ordinary user. The last line is "N passed, M failed".
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "runner")]
sys.path.append(os.path.join(os.path.dirname(HERE), "mcp"))  # the intruder
sys.dont_write_bytecode = True

import harness  # noqa: E402
import runner  # noqa: E402


def use_mutant(name):
    os.environ.pop("CAISSON_MUTANT", None)
    if name:
        os.environ["CAISSON_MUTANT"] = name


if __name__ == "__main__":
    WORDS = runner.parser()
    WORDS.add_argument("--mutants", action="store_true")
    OPTIONS = WORDS.parse_args()
    harness.use_binary(OPTIONS.binary)
    if OPTIONS.mutants:
        sys.exit(runner.last_line(*runner.run_mutants(HERE, use_mutant, OPTIONS.k)))
    sys.exit(runner.run(HERE, OPTIONS))
