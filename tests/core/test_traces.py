"""Trace formats: written here from their descriptions, counted exactly, and refused by place."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import opennandlab as onl
from conftest import Cli
from opennandlab import _core
from opennandlab.core.config import load_replay
from places import ROOT


class Request(NamedTuple):
    """A request in the units of this file."""

    time_us: int
    write: bool
    sector: int
    sectors: int
    volume: int

    @property
    def letter(self) -> str:
        return "W" if self.write else "R"

    @property
    def word(self) -> str:
        return "Write" if self.write else "Read"

    @property
    def offset(self) -> int:
        return self.sector * 512

    @property
    def size(self) -> int:
        return self.sectors * 512

    @property
    def seconds(self) -> str:
        return f"{self.time_us // 1_000_000}.{self.time_us % 1_000_000:06}"


def drawn(count: int, volumes: int) -> list[Request]:
    """Requests in order of time; the addresses of 2 TiB need 41 bits in bytes."""
    rng = random.Random(7)  # noqa: S311 - test patterns, no secrets
    times = sorted(rng.randrange(10**9) for _ in range(count))
    return [
        Request(
            1_456_095_145_000_000 + time,
            rng.random() < 0.4,
            rng.randrange(1 << 32),
            rng.randrange(1, 2049),
            rng.randrange(volumes),
        )
        for time in times
    ]


# Format, volumes (1 where it has none), first lines, a line.
TEXTS: list[tuple[str, int, str, Callable[[Request], str]]] = [
    (
        "mqsim",
        5,
        "",
        lambda r: f"{r.time_us * 1000} {r.volume} {r.sector} {r.sectors} {1 - r.write}",
    ),
    ("msr", 5, "", lambda r: f"{r.time_us * 10},h,{r.volume},{r.word},{r.offset},{r.size},90"),
    ("spc", 5, "", lambda r: f"{r.volume},{r.sector},{r.size},{r.letter},{r.seconds}"),
    ("tencent", 5, "", lambda r: f"{r.seconds},{r.sector},{r.sectors},{r.write:d},{r.volume}"),
    ("alibaba", 5, "", lambda r: f"{r.volume},{r.letter},{r.offset},{r.size},{r.time_us}"),
    (
        "systor17",
        5,
        "Timestamp,Response,IOType,LUN,Offset,Size\n",
        lambda r: (
            f"{r.seconds}000,{'' if r.write else '0.000806000'},{r.letter},{r.volume},"
            f"{r.offset},{r.size}"
        ),
    ),
    (
        "vscsi",
        1,
        (
            "#Vscsi Cmd Trace. (Trace Format Version 1)\n"
            "#Serial Number,IO Data Length,Num SG Entries,Command Type,LBN,"
            "Time Stamp (microseconds)\n"
        ),
        lambda r: f"2147483692,{r.size},1,{r.word.lower()},{r.sector},{r.time_us}",
    ),
    (
        "fiu",
        5,
        "",
        lambda r: (
            f"{r.time_us * 1000} 782 a b {r.sector} {r.sectors} {r.letter} 6 {r.volume} "
            f"{r.sector:032x}"
        ),
    ),
    (
        "mobile",
        5,
        "proces,device,rw_flag,sector,size,timestamp\n",
        lambda r: f"<...>,{r.volume},{r.letter},{r.sector},{r.sectors},{r.seconds}",
    ),
    (
        "fio_iolog",
        5,
        "fio version 3 iolog\n0 f add\n",
        lambda r: f"{r.time_us} f{r.volume} {r.word.lower()} {r.offset} {r.size}",
    ),
    (
        "blkparse",
        5,
        "",
        lambda r: (
            f"  8,{r.volume}    3        1     {r.seconds}   697  Q  {r.letter} {r.sector} + "
            f"{r.sectors} [a b]"
        ),
    ),
    (
        "biosnoop",
        5,
        "TIME(s)        COMM           PID    DISK    T  SECTOR    BYTES   QUE(ms) LAT(ms)\n",
        lambda r: f"{r.seconds} a b 7 sd{r.volume} {r.letter} {r.sector} {r.size} 0.03 0.50",
    ),
]
RECORDS: list[tuple[str, Callable[[Request], bytes]]] = [
    (
        "version 1",
        lambda r: struct.pack(
            "<IIIHHQQ", 7, r.size, 1, 0x2A if r.write else 0x28, 0x0100, r.sector, r.time_us
        ),
    ),
    (
        "version 2",
        lambda r: struct.pack(
            "<HHIIIQQQ", 0x8A if r.write else 0x88, 0x0200, 7, r.size, 1, r.sector, r.time_us, 90
        ),
    ),
]


def summary(path: Path, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read a trace as `replay` does and return what is in it."""
    replay = load_replay(options or {}, onl.load_device("tlc_standard"))
    found: dict[str, Any] = json.loads(_core.Trace(str(path), replay.core).summary())
    return found


def expected(name: str, requests: list[Request], volumes: int) -> dict[str, Any]:
    """Count what the reader should find."""
    return {
        "format": name,
        "read_count": sum(not request.write for request in requests),
        "write_count": sum(request.write for request in requests),
        "trim_count": 0,
        "bytes": sum(request.size for request in requests),
        "span_s": pytest.approx((requests[-1].time_us - requests[0].time_us) / 1e6, abs=1e-12),
        "volume_count": volumes,
        "sector_end_max": max(request.sector + request.sectors for request in requests),
        "skipped_lines": 0,
    }


@pytest.mark.parametrize(("name", "volumes", "head", "line"), TEXTS, ids=[row[0] for row in TEXTS])
def test_every_text_format_is_recognised_and_counted_exactly(
    tmp_path: Path, name: str, volumes: int, head: str, line: Callable[[Request], str]
) -> None:
    requests = drawn(20_000, volumes)
    text = head + "".join(line(request) + "\n" for request in requests)
    path = tmp_path / "trace"
    wanted = expected(name, requests, volumes)
    variants = {
        "as it is": text.encode(),
        "no last line feed": text.rstrip("\n").encode(),
        "lines of another system": text.replace("\n", "\r\n").encode(),
        "blank lines": text.replace("\n", "\n\n").encode(),
        "a byte-order mark": b"\xef\xbb\xbf" + text.encode(),
    }
    for variant, content in variants.items():
        path.write_bytes(content)
        assert summary(path) == wanted, variant
        assert summary(path, {"format": name}) == wanted, variant
    # Out of order: sorted, so nothing changes.
    lines = text.removeprefix(head).splitlines(keepends=True)
    random.Random(1).shuffle(lines)  # noqa: S311 - test patterns, no secrets
    path.write_text(head + "".join(lines))
    assert summary(path) == wanted


@pytest.mark.parametrize(("name", "record"), RECORDS)
def test_binary_records_are_recognised_and_counted_exactly(
    tmp_path: Path, name: str, record: Callable[[Request], bytes]
) -> None:
    requests = drawn(20_000, 1)
    path = tmp_path / name
    content = b"".join(map(record, requests))
    path.write_bytes(content)
    wanted = expected("vscsi", requests, 1)
    assert summary(path) == wanted
    path.write_bytes(content[:-5])
    size = len(content) // len(requests)
    start = len(content) - size
    with pytest.raises(onl.TraceError, match=f"byte {start}: the file ends after {size - 5} bytes"):
        summary(path)
    assert summary(path, {"skip_bad_lines": True})["skipped_lines"] == 1


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_told_by_content(
    small: Any, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    texts = [f"{i * 1000} 0 {i * 8} 8 {i % 2}\n".encode() for i in range(1000)]
    plain, packed = tmp_path / "trace", tmp_path / "packed" / "trace"
    plain.write_bytes(b"".join(texts))
    packed.parent.mkdir()
    # Two streams, as `cat a.xz b.xz` makes them.
    content = pack(b"".join(texts[:400])) + pack(b"".join(texts[400:]))
    packed.write_bytes(content)
    assert onl.replay(small, packed).digest == onl.replay(small, plain).digest
    packed.write_bytes(content[:-20])
    with pytest.raises(onl.TraceError, match="trace: cannot be read"):
        onl.replay(small, packed)


def test_a_file_that_unpacks_too_far_is_stopped(cli: Cli, folder: Path) -> None:
    text = b"0 0 0 8 1\n" + b"# nothing\n" * 300_000
    for name, content in (
        ("a.gz", gzip.compress(text)),
        ("a.bz2", bz2.compress(text)),
        ("a.xz", lzma.compress(text)),
    ):
        (folder / name).write_bytes(content)
        assert summary(folder / name)["read_count"] == 1
        shown = cli("replay", name, "-c", "small.yaml", "--unpacked-max", "1MiB")
        assert shown.returncode == 2
        for words in (name, "unpack to more than 1048576", "unpacked_bytes_max", "--unpacked-max"):
            assert words in shown.stderr
        assert summary(folder / name, {"unpacked_bytes_max": len(text)})["read_count"] == 1
    # The limit is for what is packed.
    (folder / "plain").write_bytes(text)
    assert summary(folder / "plain", {"unpacked_bytes_max": 1024})["read_count"] == 1
    shown = cli("replay", "plain", "-c", "small.yaml", "--unpacked-max", "0")
    assert "unpacked_bytes_max" in shown.stderr


def test_a_window_of_xz_beyond_the_memory_for_it_is_refused(tmp_path: Path) -> None:
    content = bytearray(lzma.compress(b"0 0 0 8 1\n"))
    # The block header: size, flags, filter, size of its properties, dictionary (1 GiB), CRC32.
    head = content[12 : 12 + (content[12] + 1) * 4]
    assert head[2:4] == b"\x21\x01"
    head[4] = 36
    head[-4:] = zlib.crc32(head[:-4]).to_bytes(4, "little")
    content[12 : 12 + len(head)] = head
    (tmp_path / "t.xz").write_bytes(content)
    with pytest.raises(onl.TraceError, match="memory limit"):
        summary(tmp_path / "t.xz")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no line with a request"),
        ("1 0 0 8 1\n".encode("utf-16"), "trace:1: not text: UTF-16"),
        (b"1 0 0 8 1\n1 0 \x00 8 1\n", "trace:2: not text: it holds zero bytes"),
        (b"1.0,,R,0,99999999999999999999,512\n", "trace:1"),
        (b"1.0,,R,0,0,512\n1.0,,R,0,99999999999999999999,512\n", "trace:2: offset"),
        (b"1.0,,R,0,0,512\n1.0,,R,0,0,0\n", "trace:2: the request has no size"),
        (b"1.0,,R,0,0,512\n1.0,,R,0,18446744073709551615,512\n", "beyond 2\\^64 bytes"),
        (b"x,1,W,1,8,99999999999.5\n", "trace:1"),
    ],
)
def test_a_trap_is_refused_by_place(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(onl.TraceError, match=words):
        summary(path)


def test_bytes_that_are_no_sectors_are_rounded_and_times_of_a_second_kept(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("5,0.1,R,0,511,2\n5,,W,1,1024,1\n7,,W,1,0,512\n")
    found = summary(path)
    assert (found["format"], found["bytes"], found["span_s"]) == ("systor17", 4 * 512, 2.0)
    assert found["volume_count"] == 2


def test_what_a_reader_chose_is_told(small: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text("8,0 0 1 0.5 7 C W 8 + 8 [0]\n8,0 0 2 0.6 7 D W 16 + 8 [a]\n")
    result = onl.replay(small, path)
    assert result.document["checks"]["served"] == 1
    assert any("no events Q (queued)" in text for text in result.warnings)
    given = onl.replay(small, path, {"format": {"kind": "blkparse", "event": "C"}})
    assert not any("no events" in text for text in given.warnings)
    path.write_text("5.5,0.1,R,0,512,512\n5.6,0.1,,0,512,512\n")
    result = onl.replay(small, path)
    assert any("1 request without a type was skipped" in text for text in result.warnings)


def test_any_table_is_read_by_its_columns(cli: Cli, folder: Path) -> None:
    requests = drawn(5000, 3)
    text = "when|x\n" + "".join(
        f"{r.time_us},sd{r.volume},{r.write:d},{r.sector},{r.size // 512},note\n" for r in requests
    )
    (folder / "t.csv").write_text(text)
    columns = "time:us,volume,op:0=read,offset:sectors,size:sectors,..."
    table = {"kind": "columns", "columns": columns, "header_lines": 1}
    found = summary(folder / "t.csv", {"format": table | {"separator": "comma"}})
    assert found == expected("columns", requests, 3)
    arguments = ("t.csv", "-c", "small.yaml", "--columns", columns, "--header-lines", "1")
    shown = cli(
        *("replay", *arguments, "--separator", "comma", "--wrap", "--closed-loop", "8"),
        *("--output", "r.json"),
    )
    assert shown.returncode == 0, shown.stderr
    recorded = json.loads((folder / "r.json").read_text())["workload"]["format"]
    assert recorded == table | {"separator": "comma"}
    assert cli("verify", "r.json").returncode == 0
    # The header has no comma: without the option the separator would be found in line 2.
    with (folder / "t.csv").open("a") as file:
        file.write("1,sda,0,x,8,note\n")
    shown = cli("replay", *arguments)
    assert shown.returncode == 2
    assert "t.csv:5002: column 4 (`offset`) is `x`, not a whole number (sectors)" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--columns", "op,offset"), "format.columns: `op,offset` has no column `size`"),
        (("--columns", "op,offset,length"), "column 3 of `op,offset,length` is `length`; accepted"),
        (("--columns", "op,offset:mib,size"), "accepted: bytes, kib, sectors, 4k"),
        (("--columns", "time:h,op,offset,size"), "accepted: s, ms, us, ns, 100ns"),
        (("--columns", "op:0=erase,offset,size"), "accepted: CODE=read"),
        (("--columns", "op,offset,size", "--trace-format", "msr"), "drop --trace-format msr"),
        (("--separator", "tab"), "--separator describes --columns"),
        (("--header-lines", "2"), "--header-lines describes --columns"),
        (("--trace-format", "columns"), "format.columns"),
        (("--columns", "op,offset,size"), "t.csv:1: column 4 is `5`, but 3 were named"),
        (("--columns", "op,offset,size,volume,_"), "column 5 (`_`) is missing"),
    ],
)
def test_columns_that_do_not_fit_are_named(
    cli: Cli, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    (folder / "t.csv").write_text("R,0,512,5\n")
    shown = cli("replay", "t.csv", "-c", "small.yaml", *arguments)
    assert shown.returncode == 2
    assert words in shown.stderr


def test_published_samples_have_their_known_counts() -> None:
    """Third-party data, next to the checkout only; what is known of them stands next to them."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    for file, name, reads, writes, volumes in (
        ("mqsim-tpcc-small.trace.gz", "mqsim", 4_381, 2_618, 16),
        ("mqsim-wsrch-small.trace.gz", "mqsim", 24_779, 4, 6),
        ("msr-cambridge-hm_0-1k.csv.gz", "msr", 508, 492, 1),
        ("tencent-cbs-50k.csv.gz", "tencent", 24_521, 25_479, 2_038),
        ("spc-financial1-10k.ascii.gz", "mqsim", 4_077, 5_923, 22),
    ):
        found = summary(folder / file)
        assert (found["format"], found["volume_count"]) == (name, volumes), file
        assert (found["read_count"], found["write_count"]) == (reads, writes), file
