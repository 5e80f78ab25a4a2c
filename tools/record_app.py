"""Records the canonical traces of `opennandlab app` again: needs root, FUSE and loop devices.

Usage: `python tools/record_app.py [CASE...] [--journal truncate] [--output DIR]`

```text
case ─► script ─► ext4 ─► loop device, direct I/O ─► nbdfuse ─► serve --timing off --record
                                                                 └─► requests, with marks between
```
A drive of 1 GiB without latency is served on a Unix socket in a fresh directory, attached as
`opennandlab attach --run` does, given a file system and mounted there; one case after the other is
run on it, and everything that was made is taken down again. Times in the traces are those of the
machine, in microseconds: what lies between a reply and the next request is the time of application,
kernel and FUSE.
"""

from __future__ import annotations

import argparse
import lzma
import os
import platform
import sqlite3
import tempfile
import time
from pathlib import Path

from opennandlab.app import cases, trace
from opennandlab.app.executor import Executor, Marked, Profile
from opennandlab.base.files import write_atomically
from opennandlab.core.config import load_device
from opennandlab.serving.recipes import attach, detach
from opennandlab.serving.server import Plan, Served

SEED = 42
# Iterations of each trace: at most 25 thousand requests.
COUNTS = {
    "camera": 10, "web": 40, "contact": 60, "install": 5, "mediascan": 3, "gallery": 30,
    "iozone": 384, "iozone_direct": 384, "fileio": 1, "modes": 8, "rates": 4, "transactions": 3,
    "boot": 1, "load": 3, "surf": 10, "media": 1, "photo": 1, "office": 2,
}  # fmt: skip
# Small enough that all cases fit into the file system together, and that traces stay short.
SIZES = {
    "gallery": {"photos": 24},
    "mediascan": {"files": 100, "file_bytes_max": 256 * 1024},
    "modes": {"file_bytes": 1024 * 1024},
    "transactions": {"rows": 100},
}
# The drive keeps books and takes no time: a bit more than 1 GiB for the user.
DEVICE = {
    "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 300,
             "pages_per_block": 256},
    "ftl": {"over_provisioning_pct": 0.1},
}  # fmt: skip


def record(names: list[str], profile: Profile, folder: Path) -> None:
    """Record cases and write their traces.

    Args:
        names: Of the cases.
        profile: Of SQLite.
        folder: Where the traces go.
    """
    with tempfile.TemporaryDirectory(prefix="record-app-") as work:
        place = Path(work)
        requests = place / "requests.csv"
        plan = Plan(
            device=load_device(DEVICE), socket=place / "socket", timing="off", record=requests
        )
        served = Served(plan)
        try:
            wall_ns = served.status()["wall_ns"]
            origin = time.monotonic_ns() - wall_ns
            made = attach(place / "socket", place / "mount", "ext4")
            try:
                spans = [run(name, profile, place / "mount") for name in names]
            finally:
                detach(made)
        finally:
            served.stop()
        recorded = trace.parse(requests.read_text() + marks(spans, origin), "requests.csv")
    for name, (marked, _) in zip(names, spans, strict=True):
        begin, end = marked[0].begin_ns - origin, marked[-1].end_ns - origin
        part = [one for one in recorded.requests if begin <= one.arrive <= end]
        write(name, part, profile, folder)


def run(name: str, profile: Profile, mount: Path) -> tuple[list[Marked], int]:
    """Run a case in a directory of its own; return its iterations and their number."""
    root = mount / name
    root.mkdir()
    os.sync()  # what the case before has left is not this one's
    executor = Executor(root, profile, SEED, eviction="drop_caches")
    try:
        case = cases.make(name, SEED, SIZES)
        marked = []
        script = cases.script(case, COUNTS[name])
        marked = list(executor.run(script))
    finally:
        executor.close()
    return marked, len(marked)


def marks(spans: list[tuple[list[Marked], int]], origin: int) -> str:
    """Return the marks of all cases as comments of a trace."""
    lines = []
    for marked, _ in spans:
        for one in marked:
            lines.append(f"# begin {one.case} {one.index} {one.begin_ns - origin}")
            lines.append(f"# end {one.case} {one.index} {one.end_ns - origin}")
    return "\n".join(lines) + "\n"


def write(name: str, part: list[trace.Request], profile: Profile, folder: Path) -> None:
    """Write the trace of a case: times from its first mark on, in whole microseconds.

    The connections of nbdfuse take turns and are nobody's, so all requests are of one stream.
    """
    start = part[0].arrive

    def whole(time_ns: int) -> int:
        return (time_ns - start) // 1000 * 1000

    moved = [
        trace.Request(
            one.kind, trace.STREAM, one.offset, one.length, whole(one.arrive), whole(one.reply),
            one.mark,
        )
        for one in part
    ]  # fmt: skip
    about = (
        f"opennandlab app trace: {name}, {COUNTS[name]} iterations, seed {SEED}; ext4 of 4 KiB "
        f"on a loop device, Linux {platform.release().split('-')[0]}; SQLite "
        f"{sqlite3.sqlite_version}, {profile.journal}, {profile.sync}"
    )
    text = "\n".join(trace.text_of(moved, about, SIZES.get(name))) + "\n"
    path = folder / f"{name}.csv.xz"
    write_atomically(path, lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    kinds = [one.kind for one in moved]
    print(
        f"{name}: {len(moved)} requests and marks, {kinds.count(trace.READ)} reads, "
        f"{kinds.count(trace.WRITE) + kinds.count(trace.FUA_WRITE)} writes, "
        f"{kinds.count(trace.FLUSH)} flushes, {kinds.count(trace.TRIM)} trims; "
        f"{path.stat().st_size} bytes"
    )


def main() -> None:
    """Record what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(COUNTS), metavar="CASE")
    parser.add_argument("--journal", default="truncate")
    parser.add_argument("--output", type=Path, default=trace.FOLDER)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    record(given.cases, Profile(journal=given.journal), given.output)


if __name__ == "__main__":
    main()
