"""Untimed writes against the roof of this machine, their cost on larger drives, and two cores.

    python benches/roof.py [--rounds N] [--pages 1,8,64]

The roof is `benches/roof.rs`, compiled here: a map of pages, its reverse and a collector that
writes into both, with nothing else; its head says which memory it touches. Both sides overwrite a
drive of 7 % over-provisioning in turns: in order (`fill`, 128 KiB at a time) and, once steady, at
random (`uniform`, 4 KiB).

On one core, rates are of processor time. `growth` is what a uniform write of the largest drive
costs over one of the smallest (aim: 2.2). `two cores` is the rate of two threads over that of one,
by the clock, on a drive of 16 dies; that of bare loops, with half a drive each; and the first over
the second (aim: 0.9). It needs a machine without other work.
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
WRITES = {"fill": 64_000_000, "uniform": 8_000_000}  # pages
MI = 1 << 20
RUN_PAGES = 32  # pages of a write of `fill`
Sample = tuple[float, float, float]  # seconds of clock and of processor, write amplification


def said(command: list[str]) -> dict[str, Sample]:
    """Return what a process prints: a line for each load."""
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [tuple(map(float, line.split())) for line in text.splitlines()]
    return {load: (line[0], line[1], line[2]) for load, line in zip(WRITES, lines, strict=True)}


def simulate(pages: int, dies: int, threads: int) -> None:
    """Print the same of this simulator, in this process."""
    import opennandlab as onl

    channels = min(dies, 8)
    nand = {"channels": channels, "dies_per_channel": dies // channels, "planes_per_die": 1,
            "blocks_per_plane": pages // 256 // dies, "pages_per_block": 256,
            "page_size_bytes": 4096}  # fmt: skip
    # One block of each die that is kept for collections: the least.
    ftl = {"over_provisioning_pct": 0.07, "gc_reserve_blocks": dies}
    onl.set_threads(threads)
    drive = onl.Simulation({"nand": nand, "ftl": ftl}, 42)

    def run(**load: object) -> None:
        began, began_s = time.perf_counter(), time.process_time()
        result = drive.run({"timed": False, **load})
        print(time.perf_counter() - began, time.process_time() - began_s, result.metrics["waf"])

    drive.precondition([{"kind": "sequential_fill"}])
    run(pattern="sequential", block_size_bytes=RUN_PAGES * 4096,
        total={"ios": WRITES["fill"] // RUN_PAGES})  # fmt: skip
    drive.run({"pattern": "random", "timed": False, "total": {"ios": pages * 3 // 2}})
    run(pattern="random", total={"ios": WRITES["uniform"]})


def middle(samples: list[dict[str, Sample]], load: str) -> Sample:
    """Return the medians of a load."""
    clock_s, used_s, waf = map(statistics.median, zip(*(it[load] for it in samples), strict=True))
    return clock_s, used_s, waf


def measure(binary: Path, pages: int, rounds: int, cores: int) -> dict[str, list[Sample]]:
    """Return of each load: roof and simulator on one core.

    If there are two, these on two follow, and the simulator's 16 dies on one.
    """
    bare = [str(binary), *map(str, (pages, WRITES["fill"], WRITES["uniform"]))]
    own = [sys.executable, __file__, "--one", str(pages)]
    # Each in a process of its own, which gives its memory back.
    commands = [[*bare, "1"], [*own, "1", "1"]]
    if cores > 1:
        commands += [[*bare, "2"], [*own, "16", "2"], [*own, "16", "1"]]
    samples = [[said(command) for command in commands] for _ in range(rounds)]
    by_command = [list(column) for column in zip(*samples, strict=True)]
    return {load: [middle(column, load) for column in by_command] for load in WRITES}


def main() -> int:
    """Measure, and print a line for each size and load; return the exit status."""
    parser = argparse.ArgumentParser(description="Untimed writes against the roof of this machine.")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side (3)")
    parser.add_argument("--pages", default="1,8,64", help="2^20 pages of each drive (1,8,64)")
    parser.add_argument("--one", nargs=3, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        simulate(*given.one)
        return 0
    rustc = shutil.which("rustc")
    if rustc is None:
        print("roof: there is no rustc to compile it", file=sys.stderr)
        return 77
    cores = len(os.sched_getaffinity(0))
    heads = f"{'2^20 pages':<12}{'load':<9}{'roof':>10}{'WAF':>6}{'simulator':>11}{'WAF':>6}"
    two = "   two cores: simulator, bare loops, ratio" if cores > 1 else ""
    print(f"{heads}{'of roof':>9}{two}")
    uniform = []
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "roof"
        subprocess.run([rustc, "-O", "--edition", "2021", "-o", binary, SOURCE], check=True)
        for pages in map(int, given.pages.split(",")):
            for load, sides in measure(binary, pages * MI, given.rounds, cores).items():
                (top_clock, top, top_waf), (_, own, own_waf), *two = sides
                scale = [top_clock / two[0][0], two[2][0] / two[1][0]] if two else []
                tail = (
                    f"{scale[1]:>23.2f}{scale[0]:>12.2f}{scale[1] / scale[0]:>7.2f}" if two else ""
                )
                print(f"{pages:<12}{load:<9}{WRITES[load] / 1e6 / top:>8.1f} M{top_waf:>6.2f}"
                      f"{WRITES[load] / 1e6 / own:>9.1f} M{own_waf:>6.2f}{top / own:>9.2f}{tail}",
                      flush=True)  # fmt: skip
                uniform += [own] if load == "uniform" else []
    if len(uniform) > 1:
        print(f"growth: {uniform[-1] / uniform[0]:.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
