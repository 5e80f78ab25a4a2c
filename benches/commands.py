"""Processor time of commands, start of Python included: `python benches/commands.py`.

Each has an aim in seconds of one core, and runs once, in a folder of its own. All take two minutes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

COMMANDS = {
    "benchmark -w W2 -c tlc_standard": 15,
    "benchmark -w W5 -c tlc_standard": 75,
    "validate --quick": 60,
    "pts iops --target sim:tlc_standard -o iops": 60,
    "pts all --target sim:tlc_standard --time-base smoke -o all": 60,
    "power run --cuts 20000 --seed 13 --jobs 1 -o cuts": 10,
}


def main() -> None:
    """Run, and print a line each."""
    print(f"{'processor seconds of opennandlab …':<60}{'measured':>9}{'aim':>6}")
    for words, aim_s in COMMANDS.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "opennandlab", *words.split()]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env=os.environ)  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{words:<60}{used_s:>9.1f}{aim_s:>6}", flush=True)


if __name__ == "__main__":
    main()
