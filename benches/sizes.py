"""What this package takes: bytes to install, memory per page, and processor time to start.

    python benches/sizes.py [WHEEL]

Memory is the growth of this process, at its peak, by a drive that is filled and overwritten by an
eighth, over its flash pages of 4 KiB; each drive is in a process of its own.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path

MI = 1 << 20
# Pages, and whether requests have times; with what the design aims at, in bytes a page.
DRIVES = ((64 * MI, False, 9), (8 * MI, True, 16))
STARTS = 20


def peak() -> int:
    """Return the most memory that this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def per_page(pages: int, *, timed: bool) -> float:
    """Return the bytes that a page of a drive takes, in this process."""
    import opennandlab as onl

    onl.set_threads(1)
    before = peak()
    nand = {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "pages_per_block": 256,
            "blocks_per_plane": pages // 256, "page_size_bytes": 4096}  # fmt: skip
    drive = onl.Simulation({"nand": nand, "ftl": {"gc_reserve_blocks": 1}}, 42)
    drive.precondition([{"kind": "sequential_fill"}])
    drive.run({"pattern": "random", "timed": timed, "total": {"ios": pages // 8}})
    return (peak() - before) / pages


def start_s(*words: str) -> float:
    """Return the processor time of a program that ends at once, the median of some."""
    times = []
    for _ in range(STARTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def main() -> None:
    """Measure, and print a line each."""
    if sys.argv[1:2] == ["--one"]:
        print(per_page(int(sys.argv[2]), timed=sys.argv[3] == "timed"))
        return
    for path in map(Path, sys.argv[1:]):
        print(f"{'wheel':<36}{path.stat().st_size / 1e6:8.1f} MB")
    from opennandlab import _core

    core = Path(str(_core.__file__))
    print(f"{'core, as installed':<36}{core.stat().st_size / 1e6:8.1f} MB")
    for pages, timed, aim in DRIVES:
        kind = "timed" if timed else "untimed"
        command = [sys.executable, __file__, "--one", str(pages), kind]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        name = f"memory, {kind}, {pages // MI} Mi pages"
        print(f"{name:<36}{float(said):8.1f} B a page (aim {aim})", flush=True)
    empty_s = start_s("-c", "")
    for name, words in (
        ("import of the package", ("-c", "import opennandlab")),
        ("opennandlab --help", ("-m", "opennandlab", "--help")),
    ):
        more_ms = 1e3 * (start_s(*words) - empty_s)
        print(f"{name:<36}{more_ms:8.0f} ms of processor time over an empty Python")


if __name__ == "__main__":
    main()
