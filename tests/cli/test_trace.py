"""`trace`: statistics, checks and conversions of recorded block traces.

The inputs and right values of the first tests are vectors next to the checkout, made and counted by
hand and by other programs; these tests are skipped where they are absent.
"""

from __future__ import annotations

import io
import json
import lzma
import shutil
import struct
import tarfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from conftest import SMALL
from opennandlab.cli import app
from places import ROOT

VECTORS = ROOT.parent / "shared" / "migrate" / "vectors"
HEAD = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n"
OPS = ("read", "write", "trim", "flush", "reset", "append")

needs_vectors = pytest.mark.skipif(not VECTORS.is_dir(), reason=f"no {VECTORS.name} beside it")


def ran(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


def asked(*words: object) -> Any:
    code, said = ran(*words, "--json")
    assert code == 0, said
    return json.loads(said)


def counts(found: Any) -> dict[str, int]:
    """Return what is counted of each kind, and writes with force unit access."""
    ops = {name: one["count"] for name, one in zip(OPS, found["ops"], strict=True)}
    return {name: ops[name] for name in OPS[:4]} | {"fua": dict(found["flags"])["fua"]}


def binned(values: list[int]) -> list[int]:
    bins = [0] * (max(values).bit_length() + 1)
    for value in values:
        bins[value.bit_length()] += 1
    return bins


@needs_vectors
def test_ten_requests_as_they_were_counted_by_hand() -> None:
    found = asked("trace", "info", VECTORS / "tiny.csv")
    right = json.loads((VECTORS / "tiny.expected.json").read_text())
    letters = dict(zip(OPS[:4], "RWDF", strict=True))
    for name, one in zip(OPS[:4], found["ops"][:4], strict=True):
        assert one["count"] == right["count"][letters[name]]
        assert one["bytes"] == right["bytes"][letters[name]]
    gaps = right["ia"]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert found["span_ns"] == right["span_us"] * 1000
    assert found["gap_ns_mean"] == pytest.approx(mean * 1000)
    assert found["gap_cv"] == pytest.approx(deviation / mean)
    for ours, theirs in (
        ("footprint_sectors", "footprint_sectors"), ("footprint_pages", "footprint_pages"),
        ("read_pages", "read_pages"), ("written_pages", "write_pages"), ("both_pages", "both"),
        ("page_writes", "written_pages"),
    ):  # fmt: skip
        assert found[ours] == right[theirs], ours
    assert [found["sequential"], found["ops"][0]["count"] + found["ops"][1]["count"]] == right[
        "sequential"
    ]
    assert found["reuse_cold"] == right["reuse"].count("cold")
    assert found["reuse"]["bins"] == binned([one for one in right["reuse"] if one != "cold"])
    assert found["overwrite_pages"]["bins"] == binned([one[1] for one in right["overwrite"]])
    assert found["overwrite_us"]["bins"] == binned([one[2] for one in right["overwrite"]])
    assert found["sampled_one_in"] == 1


@needs_vectors
@pytest.mark.parametrize(
    ("files", "options", "right"),
    [
        (["lvm.blk"], [], (2, 2, 1, 1, 1)),
        (["lvm.blk"], ["--layer", "bottom"], (2, 2, 1, 1, 1)),
        (["lvm.blk"], ["--layer", "top"], (1, 2, 1, 1, 1)),
        (["fl.blk"], [], (0, 2, 0, 2, 0)),
        (["fl.iolog"], [], (0, 2, 0, 2, 0)),
        (["sda.blktrace.0", "sda.blktrace.1"], [], (1, 3, 1, 2, 2)),
    ],
)
def test_flushes_and_stacks_count_as_they_should(
    files: list[str], options: list[str], right: tuple[int, ...], tmp_path: Path
) -> None:
    paths = [VECTORS / name for name in files]
    wanted = dict(zip((*OPS[:4], "fua"), right, strict=True))
    assert counts(asked("trace", "info", *paths, *options)) == wanted
    table = tmp_path / "t.csv"
    asked("trace", "convert", *paths, *options, "-o", table)
    assert counts(asked("trace", "info", table)) == wanted


@needs_vectors
def test_records_of_blktrace_are_merged_by_time(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    paths = [VECTORS / f"sda.blktrace.{cpu}" for cpu in (1, 0)]
    asked("trace", "convert", *paths, "-o", table)
    assert table.read_text() == HEAD + "".join(
        f"{ns},{op},{sector * 512},{sectors * 512},8:0,{pid},{flags}\n"
        for ns, op, sector, sectors, pid, flags in [
            (0, "write", 2048, 8, 100, "sync"), (2000, "write", 2056, 8, 101, "fua"),
            (4000, "read", 4096, 16, 100, ""), (19000, "flush", 0, 0, 100, "sync"),
            (29000, "flush", 0, 0, 101, ""), (29000, "write", 2064, 8, 101, "fua"),
            (39000, "trim", 8192, 128, 100, ""),
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("addresses", "after", "merged"),
    [("wrap", 5, 1), ("scale", 3, 3), ("dense", 6, 0), ("keep", 6, 0)],
)
def test_pages_that_meet_are_told(addresses: str, after: int, merged: int, tmp_path: Path) -> None:
    """Pages 0, 1, 5, 100, 101 and 4096 on a target of 64 pages."""
    trace, out = tmp_path / "t.trace", tmp_path / "o.csv"
    trace.write_text("".join(f"{at} 0 {page * 8} 8 0\n" for at, page in enumerate(
        (0, 1, 5, 100, 101, 4096))))  # fmt: skip
    found = asked(
        "trace", "convert", trace, "-o", out, "--addresses", addresses, "--size", "256KiB"
    )
    assert found["pages"] == {"before": 6, "after": after, "merged": merged}
    assert asked("trace", "info", out)["footprint_pages"] == after


def test_a_trace_is_repeated_cut_and_split(tmp_path: Path) -> None:
    trace, out = tmp_path / "t.csv", tmp_path / "o.csv"
    trace.write_text(HEAD + "0,write,0,512,a,7,\n1000,read,0,512,b,8,\n3000,trim,0,512,a,8,\n")
    asked("trace", "convert", trace, "-o", out, "--repeat", 2)
    times = [int(line.split(",")[0]) for line in out.read_text().splitlines()[1:]]
    assert times == [0, 1000, 3000, 4500, 5500, 7500]
    found = asked("trace", "convert", trace, "-o", out, "--split-by", "volume")
    assert [(Path(one["file"]).name, one["written"]) for one in found["files"]] == [
        ("o.a.csv", 2), ("o.b.csv", 1),
    ]  # fmt: skip
    found = asked("trace", "convert", trace, "-o", out, "--to-time", "2e-6")
    assert found["files"][0]["written"] == 2
    assert ran("trace", "convert", trace, "-o", trace)[0] == 2
    assert ran("trace", "convert", trace, "-o", out, "--from-time", 1)[0] == 2
    assert ran("trace", "convert", trace, "-o", out, "--addresses", "wrap")[0] == 2


def test_requests_that_two_files_have_are_told(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text(HEAD + "0,write,0,512,a,7,\n9000,read,0,512,a,7,\n")
    two.write_text(HEAD + "500,write,0,512,a,7,\n9000,read,512,512,a,7,\n")
    found = asked("trace", "info", one, two, "--align", "clock")
    assert (found["duplicates"], counts(found)["write"]) == (1, 2)
    found = asked("trace", "info", one, two, "--align", "clock", "--dedupe")
    assert counts(found)["write"] == 1


def record(bytes_: int, action: int) -> bytes:
    values = (0x65617407, 1, 5, 8, bytes_, action, 1, 8 << 20, 0, 0, 0)
    return struct.pack("<IIQQIIIIIHH", *values)


def old_tar() -> bytes:
    """Return the header of a file in an archive as before POSIX, and a line."""
    with tarfile.open(fileobj=(out := io.BytesIO()), mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("t.trace"))
    header = bytearray(out.getvalue()[:512])
    header[257:265] = bytes(8)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"0 0 0 8 0\n" * 60


BAD = {
    "back.trace": (b"5 0 0 8 0\n9 0 0 8 0\n7 0 0 8 0\n", 0, "back.trace:3"),
    "cut.trace": (b"5 0 0 8 0\n9 0 0", 2, "cut.trace:2"),
    "columns.trace": (b"5 0 0 8 0\n9 0 0 8 0 1\n", 2, "columns.trace:2: 6 blank-separated"),
    "archive.zip": (b"PK\x03\x04" + bytes(40), 2, "unzip"),
    "utf16.csv": ("\ufeff0,1,2".encode("utf-16-le"), 2, "iconv"),
    "big.blktrace.0": (struct.pack(">I", 0x65617407) + bytes(44), 2, "big-endian"),
    "cut.blktrace.0": (
        record(4096, 0x00120001) + record(4096, 0x00120001)[:20], 2, "byte 48: the file ends"
    ),
    "empty.csv": (b"", 2, "no line with a request"),
    "marked.csv": ("\ufeff0,1,2".encode("utf-16"), 2, "byte-order mark"),
    "old.tar": (old_tar(), 2, "a tar archive"),
    "t.lz4": (b"\x04\x22\x4d\x18" + bytes(9), 2, "lz4 -d"),
    "old.lz4": (b"\x02\x21\x4c\x18" + bytes(9), 2, "lz4 -d"),
    "t.lz": (b"LZIP\x01" + bytes(9), 2, "lzip -d"),
    "t.lzma": (lzma.compress(b"0 0 0 8 0\n", lzma.FORMAT_ALONE), 2, "xz --format=lzma -d"),
    "t.tar.xz": (lzma.compress(old_tar()), 2, "a tar archive"),
    "t.7z": (b"7z\xbc\xaf\x27\x1c" + bytes(9), 2, "7z x"),
    "cut.xz": (lzma.compress(b"0 0 0 8 0\n" * 99)[:-20], 2, "cut off"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_with_a_file_is_said_with_its_place(name: str, tmp_path: Path) -> None:
    content, wanted, words = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    code, said = ran("trace", "check", path)
    assert code == wanted, said
    assert words in said.replace("\n", " ")
    for verb in (["info"], ["convert", "-o", tmp_path / "out.csv"]):
        assert ran("trace", *verb, path)[0] == wanted
    assert ran("trace", "info", path, "--page", "5000")[0] == 2


def test_a_record_that_is_cut_is_named_with_its_file(tmp_path: Path) -> None:
    """The files of two processors are one trace; the first of them ends within a record."""
    one, two = tmp_path / "sda.blktrace.0", tmp_path / "sda.blktrace.1"
    one.write_bytes(record(4096, 0x00120001) * 2 + record(4096, 0x00120001)[:20])
    two.write_bytes(record(512, 0x00110001) * 3)
    for verb in ("info", "check"):
        code, said = ran("trace", verb, one, two)
        assert code == 2
        assert f"{one}: byte 96: the file ends after 20 bytes" in said.replace("\n", "")
    found = asked("trace", "info", one, two, "--skip-bad-lines")
    assert (counts(found)["read"], counts(found)["write"], found["skipped_lines"]) == (3, 2, 1)


def test_pages_beyond_those_that_are_kept_are_estimated(tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    trace.write_text("".join(f"{at} 0 {at % 6000 * 8} 8 0\n" for at in range(12_000)))
    found = asked("trace", "info", trace)
    assert (found["sampled_one_in"], found["footprint_pages"]) == (1, 6000)
    assert found["reuse"]["bins"] == [0] * 13 + [6000]
    found = asked("trace", "info", trace, "--exact", 1024)
    assert found["sampled_one_in"] == 8
    assert found["footprint_pages"] == pytest.approx(6000, rel=0.15)
    assert found["page_writes"] == 12_000


ZONES = "0,append,0,4096,a,1,fua\n9000,reset,524288,0,a,1,sync\n20000,write,524288,4096,a,1,meta\n"


def test_commands_of_zones_and_flags_are_told(tmp_path: Path) -> None:
    trace, out = tmp_path / "t.csv", tmp_path / "o"
    trace.write_text(HEAD + ZONES)
    found = asked("trace", "info", trace)
    assert [one["count"] for one in found["ops"]] == [0, 1, 0, 0, 1, 1]
    assert dict(found["flags"]) == {"fua": 1, "ahead": 0, "sync": 1, "meta": 1}
    said = " ".join(ran("trace", "info", trace)[1].split())
    for words in ("requests with the flag sync │ 1", "append │ 1", "reset │ 1"):
        assert words in said
    asked("trace", "convert", trace, "--to", "blkparse", "-o", out)
    letters = [line.split()[6] for line in out.read_text().splitlines()]
    assert letters == ["ZAF", "ZRS", "WM"]
    (told,) = asked("trace", "convert", trace, "--to", "fio_iolog", "-o", out)["files"]
    assert (told["written"], told["resets"], told["appends"], told["flags"]) == (1, 1, 1, 1)
    # Places of zones stay those of zones, and this drive has none.
    for words in (("convert", "-o", out, "--addresses", "dense"), ("info", "--exact", 5)):
        assert ran("trace", words[0], trace, *words[1:])[0] == 2
    code, said = ran("replay", trace, "-c", "tlc_standard")
    assert code == 2
    assert "2 resets of zones and appends" in " ".join(said.split())


def test_of_zones_only_resets_and_appends_are_requests(tmp_path: Path) -> None:
    trace = tmp_path / "t.blk"
    lines = ("ZA 0 + 8", "ZR 1024 + 0", "ZR", "ZRA 0 + 0", "ZO 0 + 0", "W 8 + 8")
    trace.write_text("".join(f"8,0 0 1 {at}.0 7 Q {it} [x]\n" for at, it in enumerate(lines)))
    found = asked("trace", "info", trace)
    assert [one["count"] for one in found["ops"]] == [0, 1, 0, 0, 1, 1]
    assert any("3 requests to zones" in warning for warning in found["warnings"])


MAP = "volume,offset_bytes,size_bytes,to_volume,to_offset_bytes\n"


def test_requests_are_moved_by_a_table_of_ranges(tmp_path: Path) -> None:
    """A volume of two pieces on a disk, the second before the first."""
    trace, table, out = tmp_path / "t.csv", tmp_path / "map.csv", tmp_path / "o.csv"
    trace.write_text(
        HEAD + "0,write,0,4096,v,1,\n1,write,0,8192,v,1,fua\n2,flush,,,v,1,\n"
        "3,read,4096,4096,v,2,\n4,read,8192,4096,v,2,\n5,read,0,512,w,2,\n"
    )
    table.write_text(MAP + "v,0,4096,sda,8192\nv,4096,4096,sda,0\n")
    words = ("--addresses", f"remap:{table}")
    found = asked("trace", "convert", trace, "-o", out, *words)
    assert out.read_text() == (
        HEAD + "0,write,8192,4096,sda,1,\n1,write,8192,4096,sda,1,fua\n"
        "1,write,0,4096,sda,1,fua\n2,flush,0,0,sda,1,\n3,read,0,4096,sda,2,\n"
    )
    assert (found["unmapped"], found["split"]) == (2, 1)
    assert found["pages"] == {"before": 2, "after": 2, "merged": 0}
    assert any("2 requests were left out" in warning for warning in found["warnings"])
    document = tmp_path / "r.json"
    device = tmp_path / "small.yaml"
    device.write_text(json.dumps(SMALL))
    code, said = ran("replay", trace, "-c", device, *words, "-q", "--output", document)
    assert code == 0, said
    result = json.loads(document.read_text())
    latency = result["metrics"]["latency_us"]
    assert (latency["write"]["count"], latency["read"]["count"]) == (3, 1)
    assert any("2 requests were left out" in warning for warning in result["warnings"])
    assert ran("verify", document)[0] == 0
    table.write_text(table.read_text() + "v,8192,4096,sda,4096\n")
    assert ran("verify", document)[0] != 0


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("v,0,4096,sda\n", "map.csv:2: 4 comma-separated fields instead of 5"),
        ("v,0,4096,sda,1\n", "map.csv:2: to_offset_bytes `1` is not a multiple of 512"),
        ("v,0,4096,sda,0\nv,512,512,sda,0\n", "map.csv:3: the range overlaps that of line 2"),
        ("", "no range"),
        ("x,0,4096,sda,0\n", "no request is in a range: the trace has the volumes v"),
    ],
)
def test_a_table_of_ranges_that_is_wrong_is_named(lines: str, words: str, tmp_path: Path) -> None:
    trace, table, out = tmp_path / "t.csv", tmp_path / "map.csv", tmp_path / "o.csv"
    trace.write_text(HEAD + "0,write,0,4096,v,1,\n")
    table.write_text(MAP + lines)
    for verb in (("trace", "convert", trace, "-o", out), ("replay", trace, "-c", "tlc_standard")):
        code, said = ran(*verb, "--addresses", f"remap:{table}")
        assert code == 2
        assert words in " ".join(said.split())
        assert ran(*verb, "--addresses", "remap:")[0] == 2
        assert ran(*verb, "--addresses", f"remap:{tmp_path / 'none'}")[0] == 2
        assert ran(*verb, "--addresses", "remap:/dev/zero")[0] == 2


def replayed(trace: Path, **options: Any) -> Any:
    return onl.replay(SMALL, trace, {"precondition": [], **options}).document


def test_a_replay_repeats_and_orders_as_asked(tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    trace.write_text("0 0 0 8 0\n2000000 0 8 8 0\n1000000 0 16 8 0\n")
    once, twice = replayed(trace), replayed(trace, repeat=2)
    assert "repeat" not in once["workload"]
    assert twice["workload"]["repeat"] == 2
    counts = [one["metrics"]["latency_us"]["write"]["count"] for one in (once, twice)]
    assert counts == [3, 6]
    # The second begins after the span and the mean gap: 3 ms.
    times = [one["metrics"]["duration_s"] for one in (once, twice)]
    assert times[1] - times[0] == pytest.approx(3e-3, abs=1e-4)
    closed = {"kind": "closed", "queue_depth": 1}
    for order, said in (("file", "the order is that of the file"), ("time", "they were sorted")):
        warnings = replayed(trace, loop=closed, order=order)["warnings"]
        assert any(said in warning for warning in warnings), warnings
    with pytest.raises(onl.ConfigError, match="order"):
        replayed(trace, order="file")


def test_requests_out_of_order_are_counted_in_the_order_of_time(tmp_path: Path) -> None:
    """Gaps of 10, 20 and 30 us, and a page that is written before it is read."""
    late, sorted_ = tmp_path / "late.trace", tmp_path / "sorted.trace"
    lines = [f"{at} 0 {page * 8} 8 {read}\n" for at, page, read in (
        (0, 1, 0), (10_000, 2, 0), (30_000, 1, 1), (60_000, 2, 0))]  # fmt: skip
    sorted_.write_text("".join(lines))
    late.write_text("".join(lines[at] for at in (2, 0, 3, 1)))
    found, right = asked("trace", "info", late), asked("trace", "info", sorted_)
    assert found["gap_cv"] == pytest.approx(right["gap_cv"])
    for key in ("gap_ns_mean", "reuse", "overwrite_us", "sequential", "span_ns"):
        assert found[key] == right[key], key
    assert any("so they were sorted" in warning for warning in found["warnings"])


def test_one_of_several_files_of_blktrace_is_noted(tmp_path: Path) -> None:
    for cpu in (0, 1):
        (tmp_path / f"sda.blktrace.{cpu}").write_bytes(record(4096, 0x00120001))
    device = tmp_path / "small.yaml"
    device.write_text(json.dumps(SMALL))
    code, said = ran("replay", tmp_path / "sda.blktrace.0", "-c", device, "-q")
    assert code == 0, said
    assert "trace convert sda.blktrace.*" in " ".join(said.split())
    (tmp_path / "sda.blktrace.1").unlink()
    assert "convert" not in ran("replay", tmp_path / "sda.blktrace.0", "-c", device, "-q")[1]


needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


@needs_fio
@pytest.mark.parametrize("depth", [(), ("--closed-loop", 4)])
def test_a_trace_is_replayed_on_a_file_behind_the_gate(
    depth: tuple[object, ...], tmp_path: Path
) -> None:
    trace, drive = tmp_path / "t.csv", tmp_path / "drive.img"
    trace.write_text(
        HEAD + "0,write,0,4096,a,1,fua\n9000,flush,0,0,a,1,\n20000,read,0,4096,a,1,\n"
        "30000,trim,0,4096,a,1,\n40000,write,8192,8192,a,1,\n"
    )
    words = ("replay", trace, "--target", f"file:{drive}?size=4MiB", *depth)
    found = asked(*words)
    assert (found["read"]["ios"], found["write"]["ios"]) == (1, 2)
    assert (found["write"]["bytes"], found["trims_lost"], found["fua_lost"]) == (12288, 1, 1)
    code, said = ran(*words)
    assert code != 0
    assert "--destructive" in said
    assert asked(*words, "--destructive", "--repeat", 3)["write"]["ios"] == 6


@needs_fio
def test_what_a_target_cannot_take_is_refused_before_it_is_written(tmp_path: Path) -> None:
    trace, drive = tmp_path / "t.csv", tmp_path / "drive.img"
    for lines, words in (
        ("0,write,8388608,512,a,1,\n", "--addresses"),
        ("0,write,0,512,a,1,\n1,write,0,512,b,1,\n", "2 volumes"),
        ("0,flush,0,0,a,1,\n", "no read or write"),
    ):
        trace.write_text(HEAD + lines)
        code, said = ran("replay", trace, "--target", f"file:{drive}?size=4MiB", "--destructive")
        assert code == 2, said
        assert words in " ".join(said.split())
    for target in ("sim:tlc_standard", "nothing:x"):
        assert ran("replay", trace, "--target", target)[0] == 2
    assert ran("replay", trace, "--destructive")[0] == 2
