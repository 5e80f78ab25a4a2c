"""`trace`: statistics, checks and conversions of recorded block traces.

The inputs and right values of the first tests are vectors beside the checkout, made and counted by
hand and by other programs; these tests are skipped where they are absent.
"""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import opennandlab as onl
from conftest import SMALL
from opennandlab.cli import app
from places import ROOT

VECTORS = ROOT.parent / "shared" / "migrate" / "vectors"
HEAD = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n"
OPS = ("read", "write", "trim", "flush")

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
    return ops | {"fua": found["ops"][1]["fua_count"]}


def binned(values: list[int]) -> list[int]:
    bins = [0] * (max(values).bit_length() + 1)
    for value in values:
        bins[value.bit_length()] += 1
    return bins


@needs_vectors
def test_ten_requests_as_they_were_counted_by_hand() -> None:
    found = asked("trace", "info", VECTORS / "tiny.csv")
    right = json.loads((VECTORS / "tiny.expected.json").read_text())
    letters = dict(zip(OPS, "RWDF", strict=True))
    for name, one in zip(OPS, found["ops"], strict=True):
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
    wanted = dict(zip((*OPS, "fua"), right, strict=True))
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
            (0, "write", 2048, 8, 100, ""), (2000, "write", 2056, 8, 101, "fua"),
            (4000, "read", 4096, 16, 100, ""), (19000, "flush", 0, 0, 100, ""),
            (29000, "flush", 0, 0, 101, ""), (29000, "write", 2064, 8, 101, "fua"),
            (39000, "trim", 8192, 128, 100, ""),
        ]
    )  # fmt: skip


REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 10**6), st.sampled_from([*OPS, "fua"]), st.integers(0, 10**6),
        st.integers(1, 300), st.sampled_from(["0", "3", "7"]), st.sampled_from(["11", "12", "5"]),
    ),
    min_size=1, max_size=30,
)  # fmt: skip
# What a format cannot say.
SILENT = {
    "csv": set(), "blkparse": set(), "fio_iolog": {"fua"}, "mqsim": {"fua", "trim", "flush"},
}  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(requests=REQUESTS)
def test_every_format_keeps_what_it_can_say(
    requests: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    source = folder / "source.csv"
    requests = sorted(requests, key=lambda one: one[0])
    lines = [
        f"{us * 1000},{'write' if op == 'fua' else op},{0 if op == 'flush' else sector * 512},"
        f"{0 if op == 'flush' else count * 512},{volume},{process},{'fua' if op == 'fua' else ''}\n"
        for us, op, sector, count, volume, process in requests
    ]
    source.write_text(HEAD + "".join(lines))
    before = asked("trace", "info", source)
    for to, silent in SILENT.items():
        path = folder / f"t.{to}"
        code, said = ran("trace", "convert", source, "--to", to, "-o", path, "--json")
        assert code == 0, said
        (written,) = json.loads(said)["files"] or [None]
        kept = [one for one in requests if one[1] not in silent - {"fua"}]
        if not kept:
            assert written is None
            continue
        assert written["written"] == len(kept)
        after = asked("trace", "info", path, "--trace-format", to)
        lost = {"fua": 0} if "fua" in silent else {}
        gone = {name: 0 for name in ("trim", "flush") if name in silent}
        assert counts(after) == counts(before) | lost | gone
        assert written["fua"] == (counts(before)["fua"] if lost else 0)
        for name, one, other in zip(OPS, before["ops"], after["ops"], strict=True):
            assert name in silent or one["bytes"] == other["bytes"]
        times = [one[0] for one in kept]
        assert after["span_ns"] == (times[-1] - times[0]) * 1000
        assert len(after["volumes"]) == len({one[4] for one in kept})
        if to in {"csv", "blkparse"}:
            assert len(after["processes"]) == len({one[5] for one in kept})


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


# A write, a flush if the format has one, and a read, as each format has them.
SAMPLES = {
    "mqsim": "0 1 0 8 0\n1000000 1 8 8 1\n",
    "msr": "10,h,0,Write,0,4096,9\n10010,h,0,Read,4096,4096,9\n",
    "spc": "1,0,4096,W,0.0\n1,8,4096,R,0.001\n",
    "tencent": "1,0,8,1,1\n2,8,8,0,1\n",
    "alibaba": "1,W,0,4096,5000\n1,R,4096,4096,6000\n",
    "systor17": "1.0,0.1,W,0,0,4096\n1.001,,R,0,4096,4096\n",
    "fiu": "1000 7 a 0 8 W 6 0 56f1\n2000 7 a 8 8 R 6 0 56f2\n",
    "mobile": "a,83,WFS,0,8,1.0\na,83,FF,0,0,1.0005\na,83,R,8,8,1.001\n",
    "fio_iolog": "fio version 3 iolog\n0 f write 0 4096\n5 f sync 0 0\n9 f read 4096 4096\n",
    "blkparse": "8,0 0 1 0.1 7 Q WFS 0 + 8 [a]\n8,0 0 2 0.2 7 Q FN [a]\n"
    "8,0 0 3 0.3 7 Q R 8 + 8 [a]\n",
    "biosnoop": "1.0 a 7 sda WFS 0 4096 0.1\n1.1 a 7 sda FF 0 0 0.1\n1.2 a 7 sda R 8 4096 0.1\n",
    "tracepoint": "a-7 [0] 1.0: block_rq_issue: 8,0 WFS 4096 () 0 + 8 [a]\n"
    "a-7 [0] 1.1: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [a]\n"
    "a-7 [0] 1.2: block_rq_issue: 8,0 R 4096 () 8 + 8 [a]\n",
    "xperf": "DiskWrite, 50, a (7), 1, 0xe, 0x0, 0x1000, 5, 0\nDiskFlush, 60, a (7), 1, 0xe, 5, 0\n"
    "DiskRead, 70, a (7), 1, 0xe, 0x1000, 0x1000, 5, 0\n",
    "served": "0,0,write,1,0,4096,1,2,3\n1,0,flush,0,0,0,2,3,4\n2,0,read,0,4096,4096,5,6,7\n",
    "libcachesim": "1,5,2a,4096,0\n1,6,35,0,0\n1,7,28,4096,8\n",
    "vscsi": "1,4096,1,write,0,5\n1,4096,1,read,8,9\n",
    "csv": HEAD + "0,write,0,4096,a,7,fua\n5,flush,0,0,a,7,\n9,read,4096,4096,a,7,\n",
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_a_trace_of_any_format_is_the_same_after_conversion(name: str, tmp_path: Path) -> None:
    source, table = tmp_path / "t.trace", tmp_path / "t.csv"
    source.write_text(SAMPLES[name])
    before = asked("trace", "info", source)
    assert before["format"] == name
    has_flush, has_fua = "\n" in SAMPLES[name].strip() and name not in {
        "mqsim", "msr", "spc", "tencent", "alibaba", "systor17", "fiu", "vscsi",
    }, name in {"mobile", "blkparse", "biosnoop", "tracepoint", "served", "csv"}  # fmt: skip
    assert counts(before) == {
        "read": 1, "write": 1, "trim": 0, "flush": int(has_flush), "fua": int(has_fua),
    }  # fmt: skip
    asked("trace", "convert", source, "-o", table)
    after = asked("trace", "info", table)
    for key in ("ops", "span_ns", "gap_ns_mean", "footprint_sectors", "sizes", "reuse"):
        assert after[key] == before[key], key


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
