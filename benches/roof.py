"""Untimed writes against the roof of this machine, and their cost on larger drives.

    python benches/roof.py [--rounds N] [--pages 1,8,64]

The roof is `benches/roof.rs`, compiled here: a map of pages, its reverse and a collector that
writes into both, with nothing else; its head says which memory it touches. Both sides overwrite a
steady drive of 7 % over-provisioning at random, 4 KiB at a time, in turns. On one core, rates are
of processor time; on two, of the clock, so that these need a machine without other work. `growth`
is what a write of the largest drive costs over one of the smallest (aim: 2.2).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).with_name("roof.rs")
WRITES = 8_000_000
MI = 1 << 20
Sample = tuple[float, float]  # millions of host writes a second, write amplification


def roof(binary: Path, pages: int, threads: int) -> Sample:
    """Return what bare memory allows."""
    command = [str(binary), str(pages), str(threads), str(WRITES)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    clock_s, used_s, waf = map(float, said.split())
    return WRITES / 1e6 / (used_s if threads == 1 else clock_s), waf


def simulated(pages: int, threads: int) -> Sample:
    """Return the same of this simulator, in this process: on one die, or on 16 for two threads."""
    import opennandlab as onl

    channels, dies = (1, 1) if threads == 1 else (8, 2)
    nand = {"channels": channels, "dies_per_channel": dies, "planes_per_die": 1,
            "blocks_per_plane": pages // 256 // channels // dies, "pages_per_block": 256,
            "page_size_bytes": 4096}  # fmt: skip
    # One block of each die that is kept for collections: the least.
    ftl = {"over_provisioning_pct": 0.07, "gc_reserve_blocks": channels * dies}
    onl.set_threads(threads)
    drive = onl.Simulation({"nand": nand, "ftl": ftl}, 42)
    drive.precondition([{"kind": "sequential_fill"}])
    drive.run({"pattern": "random", "timed": False, "total": {"ios": pages * 3 // 2}})
    began, began_s = time.perf_counter(), time.process_time()
    result = drive.run({"pattern": "random", "timed": False, "total": {"ios": WRITES}})
    used_s, clock_s = time.process_time() - began_s, time.perf_counter() - began
    return WRITES / 1e6 / (used_s if threads == 1 else clock_s), float(result.metrics["waf"])


def ours(pages: int, threads: int) -> Sample:
    """Return the same from a process of its own, which gives its memory back."""
    command = [sys.executable, __file__, "--one", str(pages), str(threads)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate, waf = map(float, said.split())
    return rate, waf


def main() -> int:
    """Measure, and print a line for each size; return the exit status."""
    parser = argparse.ArgumentParser(description="Untimed writes against the roof of this machine.")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side (3)")
    parser.add_argument("--pages", default="1,8,64", help="2^20 pages of each drive (1,8,64)")
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(*simulated(*given.one))
        return 0
    rustc = shutil.which("rustc")
    if rustc is None:
        print("roof: there is no rustc to compile it", file=sys.stderr)
        return 77
    heads = f"{'2^20 pages':<12}{'cores':>6}{'roof':>10}{'WAF':>6}"
    print(f"{heads}{'simulator':>11}{'WAF':>6}{'of roof':>9}")
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "roof"
        subprocess.run([rustc, "-O", "--edition", "2021", "-o", binary, SOURCE], check=True)
        for cores in (1, 2)[: len(os.sched_getaffinity(0))]:
            rates = []
            for pages in map(int, given.pages.split(",")):
                pairs = [(roof(binary, pages * MI, cores), ours(pages * MI, cores))
                         for _ in range(given.rounds)]  # fmt: skip
                (top, top_waf), (own, own_waf) = (
                    map(statistics.median, zip(*side, strict=True))
                    for side in zip(*pairs, strict=True)
                )
                rates.append(own)
                print(f"{pages:<12}{cores:>6}{top:>8.1f} M{top_waf:>6.2f}{own:>9.1f} M"
                      f"{own_waf:>6.2f}{own / top:>9.2f}", flush=True)  # fmt: skip
            if len(rates) > 1:
                print(f"growth on {cores}: {rates[0] / rates[-1]:.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
