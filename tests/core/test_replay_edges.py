"""What a trace says next to reads and writes, and when a replay is not what it seems."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import Cli
from opennandlab.serving import record

PAGE = 4096
# A page over the channel at 800 MB/s, and programmed.
SYNCED_US = 5.12 + 700.0
# Writes and flushes of a database, 1 ms apart; the last one is forced.
SERVED = "seq,conn,op,flags,off,len,t_arrive,t_target,t_reply\n" + "".join(
    f"{2 * i},0,write,0,{i * PAGE},{PAGE},{2 * i}000000,{2 * i}000001,9\n"
    f"{2 * i + 1},0,flush,0,0,0,{2 * i + 1}000000,{2 * i + 1}000001,9\n"
    for i in range(20)
)
FORCED = f"40,0,write,1,{20 * PAGE},{PAGE},40000000,40000001,9\n"
POISSON = {"arrival": "poisson", "iops": 100_000}
READS = {
    "read_pct": 100,
    "queue_depth": POISSON,
    "total": {"ios": 5000},
    "precondition": [{"kind": "sequential_fill"}],
}


@pytest.fixture
def cached(small: Any) -> Any:
    """Return a small TLC drive whose writes are complete in memory."""
    return small | {"host": {"write_cache": {"pages": 1024}}}


def replayed(device: Any, folder: Path, text: str, **options: Any) -> onl.Result:
    """Replay a text on an empty drive."""
    path = folder / "t.trace"
    path.write_text(text, encoding="utf-8")
    return onl.replay(device, path, {"precondition": [], **options})


def warned(result: onl.Result, words: str) -> list[str]:
    return [text for text in result.warnings if words in text]


def test_what_a_fill_left_in_the_cache_is_told(cached: Any, tmp_path: Path) -> None:
    """Two flushes behind a fill printed WAF 171 and 21 ms a flush, without a word on why.

    Half of the cache, 512 pages of the fill, is programmed by the first flush; one of the part is
    in memory when the run ends.
    """
    rows = "".join(SERVED.splitlines(keepends=True)[:6])
    filled = [{"kind": "sequential_fill"}]
    result = replayed(cached, tmp_path, rows, precondition=filled)
    metrics = result.content.metrics
    assert metrics is not None
    assert metrics.programs.host > 500
    (text,) = warned(result, "written before the measured part")
    earlier = metrics.programs.host - metrics.host_pages.written
    assert text.startswith(f"at least {earlier} of the {metrics.programs.host} pages")
    # An empty drive has nothing from before, and a long part hardly notices.
    assert not warned(replayed(cached, tmp_path, rows), "written before the measured part")
    long = {"pattern": "random", "total": {"ios": 20_000}, "precondition": filled}
    assert not warned(onl.benchmark(cached, long), "written before the measured part")


def test_a_synced_write_takes_a_program_in_every_format(cached: Any, tmp_path: Path) -> None:
    """Readers dropped flushes and force unit access: a database that syncs took 0 us a write."""
    rows = (SERVED + FORCED).splitlines(keepends=True)
    forms = {
        "served": "".join(rows),
        "fio_iolog": "".join(record.as_iolog(rows)),
        "blkparse": "".join(record.as_blkparse(rows)),
    }
    for name, text in forms.items():
        result = replayed(cached, tmp_path, text)
        assert result.document["workload"]["format"]["kind"] == "auto"
        latency, pages = result.metrics["latency_us"], result.metrics["host_pages"]
        # fio has no word for force unit access: a datasync comes behind such a write.
        flushes = 21 if name == "fio_iolog" else 20
        assert pages["flush_commands"] == latency["flush"]["count"] == flushes, name
        assert latency["flush"]["mean"] == latency["flush"]["max"] == pytest.approx(SYNCED_US)
        assert pages.get("fua_commands", 0) == 21 - flushes, name
        slowest = 0.0 if name == "fio_iolog" else SYNCED_US
        assert latency["write"]["max"] == pytest.approx(slowest), name
        assert not warned(result, "skipped")
        untimed = replayed(cached, tmp_path, text, timed=False, loop="closed")
        assert untimed.metrics["host_pages"]["flush_commands"] == flushes
        assert untimed.metrics["programs"]["host"] == 21


def test_flushes_that_a_drive_cannot_use_are_told(small: Any, tmp_path: Path) -> None:
    result = replayed(small, tmp_path, SERVED)
    assert warned(result, "20 flush commands had no effect: without a write-back cache")
    assert result.metrics["latency_us"]["flush"]["max"] == 0


@pytest.mark.usefixtures("allowed")
def test_tables_and_readers_of_ones_own_can_flush(
    cached: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"kind": "columns", "columns": "op:f=flush:x=fua,offset,size"}
    table = f"W,0,{PAGE}\nf,,\nx,{PAGE},{PAGE}\nFlush,-1,0\n"
    code = (
        '__opennandlab__ = {"traces": ["read"]}\n'
        "def read(path):\n    import numpy as np\n"
        "    yield np.array([1, 3, 4, 3]), np.array([0, 0, 8, 0]), np.array([8, 0, 8, 0])\n"
    )
    (tmp_path / "own_reader_of_flushes.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for form in (columns, "own_reader_of_flushes:read"):
        closed = {"kind": "closed", "queue_depth": 1}
        result = replayed(cached, tmp_path, table, format=form, loop=closed)
        pages = result.metrics["host_pages"]
        assert (pages["written"], pages["flush_commands"], pages["fua_commands"]) == (2, 2, 1)


def test_the_command_counts_flushes(cli: Cli, folder: Path) -> None:
    (folder / "t.csv").write_text(SERVED + FORCED, encoding="utf-8")
    shown = cli("replay", "t.csv", "-c", "small.yaml", "--state", "fresh")
    assert shown.returncode == 0, shown.stderr
    head = "t.csv: read as served: 21 writes (1 with force unit access), 20 flushes, 84 KiB"
    assert shown.stdout.startswith(head), shown.stdout


def test_a_closed_loop_keeps_the_order_of_the_file(small: Any, tmp_path: Path) -> None:
    """It was sorted by time: ten copies of a part became ten overwrites of each page in a row."""
    rng = random.Random(1)  # noqa: S311 - a test pattern
    pages = onl.load_device(small).effective["logical_pages"]
    part = [f"{1000 * i} 0 {rng.randrange(pages) * 8} 8 0\n" for i in range(2000)]
    closed = {"loop": {"kind": "closed", "queue_depth": 8}, "timed": False}
    fill = {"precondition": [{"kind": "sequential_fill"}]}
    copies = replayed(small, tmp_path, "".join(part * 10), **closed, **fill)
    # The same order, with times that say so.
    lines = [f"{i} {line.split(' ', 1)[1]}" for i, line in enumerate(part * 10)]
    straight = replayed(small, tmp_path, "".join(lines), **closed, **fill)
    assert copies.metrics["waf"] == straight.metrics["waf"] > 1
    assert warned(copies, "out of time order; the order is that of the file")
    assert not warned(straight, "time order")
    # Read behind the write, and before it in an open loop.
    text = "1000 0 40 8 0\n0 0 40 8 1\n"
    for loop, unmapped in (("closed", 0), ("open", 1)):
        result = replayed(small, tmp_path, text, loop=loop, timed=loop == "open")
        assert result.metrics["host_pages"]["unmapped_read"] == unmapped


def test_overload_is_told(small: Any, tmp_path: Path) -> None:
    """100,000 requests a second on a drive that serves 30,000 ran thrice as long."""
    result = onl.benchmark(small, READS)
    (text,) = warned(result, "overloaded")
    served = result.metrics["iops"]["total"]
    assert f", {served:.0f}/s were served, and " in text
    assert "latency measures the length of the run" in text
    slow = READS | {"queue_depth": {"arrival": "poisson", "iops": 10_000}}
    assert not warned(onl.benchmark(small, slow), "overloaded")
    assert not warned(onl.benchmark(small, READS | {"queue_depth": 64}), "overloaded")
    # A burst at the end is no overload; nor are a few requests at once.
    burst = "".join(f"{min(i, 150) * 10_000_000} 0 {i * 8} 8 0\n" for i in range(200))
    assert not warned(replayed(small, tmp_path, burst), "overloaded")
    assert not warned(replayed(small, tmp_path, "0 0 0 8 0\n" * 50), "overloaded")
    (text,) = warned(replayed(small, tmp_path, "0 0 0 8 0\n" * 500), "overloaded")
    assert "all 500 requests came at once" in text


def test_overload_names_the_tenant(small: Any) -> None:
    tenants = [
        {"name": "greedy", "read_pct": 100, "queue_depth": POISSON},
        {"name": "calm", "read_pct": 100, "queue_depth": 1},
    ]
    total = {"seconds": 0.05}
    shared = {"tenants": tenants, "total": total, "precondition": READS["precondition"]}
    (text,) = warned(onl.benchmark(small, shared), "overloaded")
    assert text.startswith("tenant greedy: the drive is overloaded: ")


@pytest.mark.parametrize(
    ("total", "options", "said"),
    [
        # 200 pages of 3200.
        ({"drive_writes": 20}, {}, "0.0625 of the 20 drive writes of `total.drive_writes`"),
        ({"drive_writes": 20}, {"timed": False}, "0.0625 of the 20 drive writes"),
        ({"bytes": 10**6}, {}, "819200 of the 1000000 bytes of `total.bytes` (81.92 %)"),
        ({"ios": 800}, {}, "200 of the 800 requests of `total.ios` (25.00 %)"),
        ({"seconds": 10.0}, {"loop": "open"}, "0.399 of the 10 seconds of `total.seconds`"),
        ({"ios": 200}, {}, None),
        ({"ios": 100}, {}, None),
        ({"seconds": 0.1}, {"loop": "open"}, None),
        ({"bytes": 200 * PAGE}, {"timed": False}, None),
    ],
)
def test_a_trace_that_ends_before_its_total_says_so(
    small: Any, tmp_path: Path, total: Any, options: Any, said: str | None
) -> None:
    """`total: {drive_writes: 20}` of a trace of 0.06 drive writes ended without a word."""
    lines = "".join(f"{i * 2_000_000} 0 {i * 8} 8 0\n" for i in range(200))
    result = replayed(small, tmp_path, lines, **{"loop": "closed", "total": total, **options})
    found = warned(result, "the trace ended after")
    assert len(found) == (said is not None)
    assert all(said in text and "not repeated" in text for text in found if said)


def test_merged_pages_are_counted(cli: Cli, folder: Path, small: Any) -> None:
    """`--wrap` and `--scale` put several pages of a trace on one, and did not say how many."""
    pages = onl.load_device(small).effective["logical_pages"]
    rng = random.Random(3)  # noqa: S311 - a test pattern
    drawn = [rng.randrange(5 * pages) for _ in range(3000)]
    touched = set(drawn) | {5 * pages - 1}
    (folder / "t.trace").write_text(
        "".join(f"0 0 {page * 8} 8 0\n" for page in [*drawn, 5 * pages - 1]), encoding="utf-8"
    )
    places = {"wrap": {page % pages for page in touched}, "scale": {page // 5 for page in touched}}
    for beyond, left in places.items():
        arguments = ("replay", "t.trace", "-c", "small.yaml", f"--{beyond}", "-o", f"{beyond}.json")
        shown = cli(*arguments, "--closed-loop", "8")
        assert shown.returncode == 0, shown.stderr
        document = json.loads((folder / f"{beyond}.json").read_text())
        merged = len(touched) - len(left)
        assert document["metrics"]["trace_pages"] == {
            "trace": len(touched),
            "device": len(left),
            "merged": merged,
            "sampled_one_in": 1,
        }
        words = f"the {len(touched)} pages that the trace touches became {len(left)} pages"
        assert words in " ".join(document["warnings"])
        assert words in " ".join(shown.stderr.split())
        assert "Pages of the trace merged" in shown.stdout
        assert cli("verify", f"{beyond}.json").returncode == 0
    # Nothing is merged, and nothing said, where addresses are those of the trace.
    assert "trace_pages" not in replayed(small, folder, "0 0 0 8 0\n", beyond="wrap").metrics


def test_waits_of_fio_are_those_that_fio_makes(small: Any, tmp_path: Path) -> None:
    """Version 2: fio 3.33 takes 4 s for these lines; replay took 7 ms."""
    text = (
        "fio version 2 iolog\nd add\nd open\nd write 0 4096\nd wait 3000 0\nd write 4096 4096\n"
        "d wait 4000 0\nd write 8192 4096\nd close\n"
    )
    result = replayed(small, tmp_path, text)
    assert result.metrics["duration_s"] == pytest.approx(4.0, abs=0.01)
    assert warned(result, "milliseconds since the start, as fio runs them")


def test_the_layer_of_a_stack_is_chosen(cli: Cli, folder: Path) -> None:
    """A request that LVM passed to a disk was replayed at both."""
    (folder / "lvm.txt").write_text(
        "253,0 1 1 0.0 1 Q WS 2048 + 16 [db]\n"
        "8,0 1 1 0.1 1 A WS 9048 + 16 <- (253,0) 2048\n"
        "8,0 1 2 0.2 1 Q WS 9048 + 8 [db]\n"
        "8,0 1 3 0.2 1 Q WS 9056 + 8 [db]\n",
        encoding="utf-8",
    )
    for options, writes in (((), "2 writes"), (("--layer", "top"), "1 write"),
                            (("--layer", "all"), "3 writes")):  # fmt: skip
        shown = cli("replay", "lvm.txt", "-c", "small.yaml", "--state", "fresh", *options)
        assert shown.returncode == 0, shown.stderr
        assert f"read as blkparse: {writes}, " in shown.stdout
        assert "device 253,0 lies on 8,0" in " ".join(shown.stderr.split())
    for wrong in (("--trace-format", "msr"), ("--columns", "op,offset,size")):
        refused = cli("replay", "lvm.txt", "-c", "small.yaml", "--layer", "top", *wrong)
        assert refused.returncode == 2
        assert "--layer" in refused.stderr


def test_files_that_are_no_traces_say_the_way_out(cli: Cli, folder: Path) -> None:
    """A tar archive was refused for its zero bytes, or replayed with `--skip-bad-lines`."""
    text = b"0 0 0 8 1\n5000 0 8 8 0\n"
    (folder / "t.txt").write_bytes(text)
    with tarfile.open(folder / "t.tar", "w") as tar:
        tar.add(folder / "t.txt", "t.txt")
    (folder / "t.tar.gz").write_bytes(gzip.compress((folder / "t.tar").read_bytes()))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("t.txt", text)
    (folder / "t.zip").write_bytes(packed.getvalue())
    (folder / "t.lz4").write_bytes(b"\x04\x22\x4d\x18\x64\x40\xa7" + text)
    (folder / "wide.txt").write_bytes(text.decode().encode("utf-16-le"))
    (folder / "cut.txt").write_bytes(text[:-4])
    (folder / "cut.gz").write_bytes(gzip.compress(text * 1000)[:-30])
    for name, words in {
        "t.tar": "a tar archive; accepted: one file of it, after `tar -xf t.tar`",
        "t.tar.gz": "`tar -xf t.tar.gz`",
        "t.zip": "`unzip t.zip`",
        "t.lz4": "`lz4 -d t.lz4`",
        "wide.txt": "`iconv -f UTF-16LE -t UTF-8 wide.txt`",
        "cut.gz": "the compressed file is cut off",
    }.items():
        for more in ((), ("--skip-bad-lines",)):
            shown = cli("replay", name, "-c", "small.yaml", *more)
            assert shown.returncode == 2, shown.stdout
            assert words in " ".join(shown.stderr.split()), shown.stderr
    shown = cli("replay", "cut.txt", "-c", "small.yaml")
    assert "cut.txt:2: " in shown.stderr
    assert "seems to be cut off: --skip-bad-lines" in " ".join(shown.stderr.split())
    shown = cli("replay", "cut.txt", "-c", "small.yaml", "--skip-bad-lines")
    assert shown.returncode == 0
    said = " ".join(shown.stderr.split())
    assert "1 line skipped; the first: cut.txt:2" in said
    assert "seems to be cut off" in said
    assert "--skip-bad-lines" not in said


def test_biosnoop_prints_flushes_at_the_last_sector(cached: Any, tmp_path: Path) -> None:
    """The sector of a flush is 2^64 - 1, which was refused as too large."""
    text = (
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n1.0 db 7 sda W 0 4096 0.10\n"
        "1.1 jbd2 8 sda R 18446744073709551615 0 0.50\n1.2 db 7 sda WS 8 4096 0.10\n"
        "1.3 jbd2 8 sda FF -1 0 0.50\n"
    )
    result = replayed(cached, tmp_path, text)
    assert result.metrics["latency_us"]["flush"]["mean"] == pytest.approx(SYNCED_US)
    assert result.metrics["host_pages"]["flush_commands"] == 2
