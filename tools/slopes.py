"""Counts instructions of the simulator: what a command costs, whoever else uses the machine.

Usage: `python tools/slopes.py [--check | --record] [--only LOAD] [EXECUTABLE]`, the built example
`slope` of crates/sim; without one it is built. Needs valgrind. The loads and what they took are in
`benches/counts.json`; counted is the middle of each run, so that start-up is left out. A result
that differs from the recorded one has no count to compare: it is refused.

`--check` fails if a load takes 2 % more than recorded; without valgrind it says so and checks
nothing. `--record` writes what was counted into the file. The counts hold for the release profile,
the compiler that the file names, and x86-64.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COUNTS = Path(__file__).parent.parent / "benches" / "counts.json"
BUILD = ("cargo", "build", "--release", "--locked", "-p", "opennandlab-sim", "--example", "slope")
MORE_MAX = 0.02


def count(executable: Path, load: str, commands: int) -> tuple[float, str]:
    """Return the instructions of a command, and the digest of the run."""
    with tempfile.TemporaryDirectory() as folder:
        options = (f"--callgrind-out-file={folder}/out", "--toggle-collect=slope::measured")
        words = (str(executable), str(COUNTS), load, str(commands))
        command = ["valgrind", "--tool=callgrind", *options, *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or found is None:
        raise SystemExit(done.stderr)
    result = json.loads(done.stdout)
    return int(found.group(1)) / result["commands"], result["digest"]


def fault(row: Mapping[str, Any], instructions: float, digest: str) -> str | None:
    """Return what is wrong with a count, or `None`."""
    if digest != row["digest"]:
        return f"other result: digest {digest}, recorded {row['digest']}"
    if instructions > row["instructions"] * (1 + MORE_MAX):
        return f"more than {MORE_MAX:.0%} above the recorded {row['instructions']:,.1f}"
    return None


def write(table: Mapping[str, Any]) -> None:
    """Write the drives and loads, one a line."""
    parts = [f' "compiler": {json.dumps(table["compiler"])}']
    for name in ("drives", "loads"):
        rows = table[name]
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
        parts.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    COUNTS.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Print a line for each load; return the exit status."""
    parser = argparse.ArgumentParser(description="Instructions that a command costs.")
    parser.add_argument("executable", nargs="?", type=Path, help="the built example `slope`")
    parser.add_argument("--only", default="", help="loads whose name has this in it")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="fail on a count above the recorded")
    what.add_argument("--record", action="store_true", help="write counts and digests to the file")
    given = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        print("slopes: valgrind is not installed; accepted: apt-get install valgrind")
        return 0 if given.check else 2
    if given.executable is None:
        subprocess.run(BUILD, check=True)
    built = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release/examples/slope"
    executable = given.executable or built
    table = json.loads(COUNTS.read_text(encoding="utf-8"))
    compiler = subprocess.run(["rustc", "-V"], check=True, capture_output=True, text=True)
    found = compiler.stdout.strip()
    if found != table["compiler"] and not given.record:
        print(f"slopes: counted with {table['compiler']}, this is {found}")
    faults = 0
    for name, row in table["loads"].items():
        if given.only not in name:
            continue
        instructions, digest = count(executable, name, row["commands"])
        wrong = None if given.record else fault(row, instructions, digest)
        if wrong is None or digest == row["digest"]:
            change = instructions / row["instructions"] - 1 if row["instructions"] else 0.0
            print(f"{name:24}{instructions:10,.1f} instructions a command {change:+8.1%}")
        if wrong is not None:
            faults += 1
            print(f"{name:24}{wrong}")
        if given.record:
            row.update(instructions=round(instructions, 1), digest=digest)
    if given.record:
        write({**table, "compiler": found})
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
