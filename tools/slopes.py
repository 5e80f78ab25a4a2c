"""Counts instructions of the simulator: what a drive write costs, whoever else uses the machine.

Usage: `python tools/slopes.py [EXECUTABLE]`, the built example `slope` of crates/sim; without one
it is built. Needs valgrind. Two lengths of each run are counted, and their difference divided by
the drive writes between them, so that start-up cancels.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = ("untimed", "timed", "full")
LENGTHS = (2, 22)
BUILD = ("cargo", "build", "--release", "--locked", "-p", "opennandlab-sim", "--example", "slope")


def instructions(executable: Path, kind: str, drive_writes: int) -> int:
    """Return the instructions of one run, start-up included."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"--callgrind-out-file={folder}/out"
        command = ["valgrind", "--tool=callgrind", out, str(executable), kind, str(drive_writes)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(done.stderr)
    return int(found.group(1))


def main(arguments: list[str]) -> int:
    """Print a line for each kind of run; return the exit status."""
    if shutil.which("valgrind") is None:
        raise SystemExit("slopes: valgrind is not installed; accepted: apt-get install valgrind")
    if not arguments:
        subprocess.run(BUILD, check=True)
    executable = Path(arguments[0] if arguments else "target/release/examples/slope")
    for kind in KINDS:
        short, long = (instructions(executable, kind, length) for length in LENGTHS)
        slope = (long - short) / (LENGTHS[1] - LENGTHS[0])
        print(f"{kind:8} {slope / 1e6:8.3f} M instructions a drive write")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
