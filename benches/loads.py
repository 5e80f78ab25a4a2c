"""Processor time of a command, next to that of another build of this package.

    python benches/loads.py [--against PYTHON|NAME] [--only LOAD] [--rounds N] [--instructions]
    python benches/loads.py --recorded

The loads are those of `benches/counts.json`, with more commands. `--against` names the Python of an
environment with the other build, or a variable that has it, such as PLAIN: if that is not set,
nothing is measured. By default it is `AGAINST`, the release before, if that is set. Both run in
turns, a process for each run, and the ratio is that of the medians. Builds whose results differ
have no ratio: the exit status is 1. `--instructions` counts them by
valgrind in place of the time, as the difference of two lengths: the same on a busy machine.
`--recorded` measures nothing: it prints what `tools/slopes.py --record` counted in the core alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COUNTS = Path(__file__).parent / "counts.json"
# Commands of a run that is timed: those of untimed ones take a tenth.
TIMED, UNTIMED = 1_000_000, 8_000_000
# Of two runs that are counted, of which the difference is taken.
SHORT, LONG = 20_000, 60_000


def measure(name: str, ios: int) -> dict[str, Any]:
    """Run a load in this process; return processor nanoseconds of a command, and the digest."""
    import opennandlab as onl

    onl.set_threads(1)
    table = json.loads(COUNTS.read_text(encoding="utf-8"))
    row = table["loads"][name]
    workload = {**row["workload"], "total": {"ios": ios}}
    drive = onl.Simulation(table["drives"][row["drive"]], 42)
    # Its own, so that only what follows is timed.
    drive.precondition(workload.pop("precondition", []))
    began = time.process_time()
    result = drive.run(workload)
    return {"value": (time.process_time() - began) / ios * 1e9, "digest": result.digest}


def timed(python: str, name: str, ios: int, front: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run a load in a process of a build; return what `measure` does."""
    command = [*front, python, __file__, "--one", name, str(ios)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    said: dict[str, Any] = json.loads(done.stdout)
    return said | ({"instructions": int(found.group(1))} if found else {})


def counted(python: str, name: str) -> dict[str, Any]:
    """Return the instructions of a command, and the digest of the longer run."""
    with tempfile.TemporaryDirectory() as folder:
        front = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out")
        short, long = (timed(python, name, ios, front) for ios in (SHORT, LONG))
    more = long["instructions"] - short["instructions"]
    return {"value": more / (LONG - SHORT), "digest": long["digest"]}


def row(name: str, own: list[dict[str, Any]], other: list[dict[str, Any]]) -> tuple[str, bool]:
    """Return the line of a load, and whether the builds agree."""
    value = statistics.median(one["value"] for one in own)
    if not other:
        return f"{name:<24}{value:10.1f}", True
    if len({one["digest"] for one in (*own, *other)}) > 1:
        return f"{name:<24}results differ: no ratio", False
    before = statistics.median(one["value"] for one in other)
    ratios = sorted(b["value"] / a["value"] for a, b in zip(own, other, strict=True))
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}" if len(ratios) > 1 else ""
    return f"{name:<24}{value:10.1f}{before:10.1f}{before / value:7.2f}  {spread}", True


def recorded(loads: dict[str, Any]) -> int:
    """Print the instructions of each load that are recorded; return the exit status."""
    if any(load["instructions"] is None for load in loads.values()):
        print("loads: not counted yet: `python tools/slopes.py --record`", file=sys.stderr)
        return 77
    print(f"{'instructions a command':<24}{'recorded':>10}")
    for name, load in loads.items():
        print(f"{name:<24}{load['instructions']:10,.1f}")
    return 0


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description="What a command takes in processor time.")
    parser.add_argument("--against", metavar="PYTHON|NAME", default=os.environ.get("AGAINST"),
                        help="that of the other build, or a variable that has it")  # fmt: skip
    parser.add_argument("--only", default="", help="loads whose name has this in it, or a|b")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each build (5)")
    parser.add_argument("--instructions", action="store_true", help="count them, in one round")
    parser.add_argument("--recorded", action="store_true", help="print what is recorded")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def samples(name: str, load: dict[str, Any], python: str, *, counts: bool) -> dict[str, Any]:
    """Return a sample of a load by a build."""
    if counts:
        return counted(python, name)
    ios = TIMED if load["workload"]["timed"] else UNTIMED
    # Longer requests are rather filled drives than commands.
    is_long = load["workload"].get("block_size_bytes", 4096) > 4096
    return timed(python, name, load["commands"] if is_long else ios)


def main() -> int:
    """Measure, print a line for each load, and return the exit status."""
    given = arguments()
    if given.one:
        print(json.dumps(measure(given.one[0], int(given.one[1]))))
        return 0
    if given.against and given.against.isupper():
        given.against = os.environ.get(given.against)
        if not given.against:
            print("loads: no other build is named by that variable", file=sys.stderr)
            return 77
    if not COUNTS.exists():
        print(f"loads: no {COUNTS.name} in benches, which names the loads", file=sys.stderr)
        return 77
    loads = json.loads(COUNTS.read_text(encoding="utf-8"))["loads"]
    if given.recorded:
        return recorded(loads)
    unit = "instructions" if given.instructions else "ns"
    builds = [sys.executable, *([given.against] if given.against else [])]
    print(
        f"{unit + ' a command':<24}{'own':>10}" + f"{'other':>10}{'ratio':>7}" * (len(builds) > 1)
    )
    agrees = True
    for name in filter(re.compile(given.only).search, loads):
        runs: list[list[dict[str, Any]]] = [[] for _ in builds]
        for _ in range(1 if given.instructions else given.rounds):
            for python, made in zip(builds, runs, strict=True):
                made.append(samples(name, loads[name], python, counts=given.instructions))
        line, same = row(name, runs[0], runs[1] if len(runs) > 1 else [])
        agrees &= same
        print(line, flush=True)
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
