"""The longest standard tests of simulated drives, next to another build of this package.

    AGAINST=PYTHON python benches/latency.py

`AGAINST` is the Python of an environment with the other build. Both run the same test at the same
time, each on a core of its own, so that what else the machine does troubles both; the ratio is that
of their processor times. Tests whose results differ have no ratio: the exit status is 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TEST = ("pts", "latency", "--time-base", "full", "--quiet", "--json")
DRIVES = (("nvme_gen4_tlc", "C"), ("micron_7450_max_800gb", "E"))


def begin(python: str, drive: str, profile: str, core: int, out: Path) -> int:
    """Start a test on a core of its own; return its process."""
    words = (python, "-m", "opennandlab", *TEST, "--target", f"sim:{drive}", "--profile", profile)
    with out.open("wb") as file:
        child = subprocess.Popen(words, cwd=out.parent, stdout=file).pid
    os.sched_setaffinity(child, {core})
    return child


def measured(out: Path) -> dict[str, Any]:
    """Return the document of a test, without its digest and the version of the program."""
    document: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    target = document["header"]["target"]
    del document["digest"], target["device"]["firmware"], target["platform"]["simulator_version"]
    return document


def main() -> int:
    """Measure, print a line for each drive, and return the exit status."""
    other, cores = os.environ.get("AGAINST"), sorted(os.sched_getaffinity(0))
    if not other or len(cores) < 2:
        print("latency: no AGAINST with another build, or no two cores", file=sys.stderr)
        return 77
    print(f"{'processor seconds of pts latency, full':<44}{'own':>8}{'other':>8}{'ratio':>7}")
    agrees = True
    for drive, profile in DRIVES:
        with tempfile.TemporaryDirectory() as folder:
            outs = [Path(folder) / name for name in ("own", "other")]
            builds = zip((sys.executable, other), cores, outs, strict=False)
            began = [begin(python, drive, profile, core, out) for python, core, out in builds]
            used_s = {}
            for _ in began:
                child, status, used = os.wait3(0)
                if status:
                    raise SystemExit(f"latency: the test of {drive} ended with {status}")
                used_s[child] = used.ru_utime + used.ru_stime
            documents = [measured(out) for out in outs]
        own_s, other_s = (used_s[child] for child in began)
        ratio = f"{other_s / own_s:7.2f}" if documents[0] == documents[1] else "  results differ"
        agrees &= documents[0] == documents[1]
        print(f"{f'{drive}, profile {profile}':<44}{own_s:8.1f}{other_s:8.1f}{ratio}", flush=True)
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
