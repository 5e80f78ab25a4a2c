"""How fast traces are read: one file per format, written here, read as `replay` reads it.

    python benches/traces.py [RECORDS] [FOLDER]

Reading is opening the file, SHA-256 of its text, splitting, parsing and collecting the records, on
one thread. The rate is that of processor time, the best of three; the file is in the page cache.
"""

import json
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from opennandlab import _core, load_device
from opennandlab.core.config import load_replay

Request = tuple[int, bool, int, int]  # microseconds, write, sector, sectors


def requests(count: int) -> Iterator[Request]:
    """Requests of the sizes and times that servers have: 8 to 128 sectors, 1 TiB, in order."""
    draw = random.Random(42)  # noqa: S311 - traffic, no secrets
    time_us = 1_456_095_145_133_076
    for _ in range(count):
        time_us += draw.randrange(200)
        yield time_us, draw.random() < 0.5, draw.randrange(1 << 28) * 8, 8 << draw.randrange(5)


def seconds(time_us: int) -> str:
    """Return a time in seconds, with its microseconds."""
    return f"{time_us // 1_000_000}.{time_us % 1_000_000:06}"


def letter(write: bool) -> str:  # noqa: FBT001 (one of the parts of a request)
    """Return the usual code of an operation."""
    return "W" if write else "R"


TEXTS: dict[str, Callable[[int, bool, int, int], str]] = {
    "mqsim": lambda t, w, s, n: f"{t * 1000} 0 {s} {n} {int(not w)}",
    "msr": lambda t, w, s, n: f"{t * 10},hm,0,{'Write' if w else 'Read'},{s * 512},{n * 512},2833",
    "vscsi (CSV)": lambda t, w, s, n: f"7,{n * 512},1,{'write' if w else 'read'},{s},{t}",
    "spc": lambda t, w, s, n: f"0,{s},{n * 512},{letter(w)},{seconds(t)}",
    "tencent, 2038 volumes": lambda t, w, s, n: f"{t // 1000000},{s},{n},{int(w)},{s // 8 % 2038}",
    "alibaba, 1000 volumes": lambda t, w, s, n: (
        f"{s // 8 % 1000},{letter(w)},{s * 512},{n * 512},{t}"
    ),
    "systor17": lambda t, w, s, n: f"{seconds(t)}000,0.000806000,{letter(w)},4,{s * 512},{n * 512}",
    "fiu": lambda t, w, s, n: f"{t * 1000} 782 gzip {s} {n} {letter(w)} 6 0 {t:032x}",
    "mobile": lambda t, w, s, n: f"<...>,8388608,{letter(w)},{s},{n},{seconds(t)}",
    "fio_iolog": lambda t, w, s, n: f"{t} /dev/sda {'write' if w else 'read'} {s * 512} {n * 512}",
    "blkparse": lambda t, w, s, n: (
        f"  8,0    1      42   {seconds(t)}  697  Q   {letter(w)} {s} + {n} [fio]"
    ),
    "biosnoop": lambda t, w, s, n: (
        f"{seconds(t)}   fio   697   sda   {letter(w)} {s}   {n * 512}   0.07"
    ),
    "columns": lambda t, w, s, n: f"{t},{int(w)},{s},{n * 512},vol1",
}
BINARIES: dict[str, Callable[[int, bool, int, int], bytes]] = {
    "vscsi (version 1)": lambda t, w, s, n: struct.pack(
        "<IIIHHQQ", 7, n * 512, 1, 0x2A if w else 0x28, 0x0100, s, t
    ),
    "vscsi (version 2)": lambda t, w, s, n: struct.pack(
        "<HHIIIQQQ", 0x2A if w else 0x28, 0x0200, 7, n * 512, 1, s, t, 700
    ),
}
COLUMNS = {"kind": "columns", "columns": "time:us,op:1=write,offset:sectors,size,volume"}


def write(path: Path, name: str, count: int) -> None:
    """Write a trace of so many requests."""
    if name in BINARIES:
        with path.open("wb") as file:
            file.writelines(BINARIES[name](*request) for request in requests(count))
        return
    with path.open("w") as file:
        if name == "fio_iolog":
            file.write("fio version 3 iolog\n")
        file.writelines(TEXTS[name](*request) + "\n" for request in requests(count))


def rate(path: Path, name: str, count: int) -> float:
    """Return the records per second of processor time, the best of three."""
    replay = load_replay(
        {"format": COLUMNS} if name == "columns" else {}, load_device("tlc_standard")
    )
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        trace = _core.Trace(str(path), replay.core)
        best = min(best, time.process_time() - start)
        summary = json.loads(trace.summary())
        found = (summary["read_count"] + summary["write_count"], summary["format"])
        if found != (count, name.split(maxsplit=1)[0].rstrip(",")):
            raise SystemExit(f"{name}: read as {summary}")
        del trace
    return count / best


def main() -> None:
    """Print a row per format."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        for name in (*BINARIES, *TEXTS):
            path = Path(folder) / "trace"
            write(path, name, count)
            size = path.stat().st_size
            records = rate(path, name, count)
            mb = records * size / count / 1e6
            print(f"{name:22} {records / 1e6:6.1f} M records/s {mb:6.0f} MB/s", flush=True)


if __name__ == "__main__":
    main()
