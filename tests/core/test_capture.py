"""Captures: streams counted again from the files by other code, steps by hand, and bad input."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.canonical import digest, readable_json
from opennandlab.cli import app
from opennandlab.core.capture import capture, load_capture
from opennandlab.documents.record import plain
from places import ROOT

SHARED = ROOT.parent / "shared" / "traces"
READING = json.dumps({"format": "auto", "skip_bad_lines": False})
HEAD = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n"


def ran(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


def requests_of(file: str) -> Iterator[tuple[float, str, str, int, int]]:
    """Yield time, volume, operation, first byte and bytes of a shared trace, with csv alone."""
    with gzip.open(SHARED / file, "rt") as stream:
        if file.startswith("msr"):
            for row in csv.reader(stream):
                yield int(row[0]), row[2], row[3][0], int(row[4]), int(row[5])
        elif file.startswith("tencent"):
            for time, sector, sectors, kind, volume in csv.reader(stream):
                yield int(time), volume, "RW"[int(kind)], int(sector) * 512, int(sectors) * 512
        else:
            for line in stream:
                time, volume, sector, sectors, kind = line.split()
                yield float(time), volume, "WR"[int(kind)], int(sector) * 512, int(sectors) * 512


def counted(file: str) -> Counter[tuple[str, int, str]]:
    """Count streams by the last 32 ends of each volume and operation."""
    found: Counter[tuple[str, int, str]] = Counter()
    ends: dict[tuple[str, str], list[int]] = defaultdict(list)
    for _, volume, op, begin, size in sorted(requests_of(file), key=lambda one: one[0]):
        before = ends[volume, op]
        found["SEQ" if begin in before[-32:] else "RND", size, op] += 1
        before.append(begin + size)
    return found


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared traces next to the checkout")
@pytest.mark.parametrize("file", [
    "msr-cambridge-hm_0-1k.csv.gz", "mqsim-tpcc-small.trace.gz", "mqsim-wsrch-small.trace.gz",
    "spc-financial1-10k.ascii.gz", "tencent-cbs-50k.csv.gz",
])  # fmt: skip
def test_streams_are_those_that_other_code_counts(file: str) -> None:
    found = capture([[str(SHARED / file)]], READING)
    streams = {(one.order, one.size_bytes, one.op): one.count for one in found.streams}
    assert streams == counted(file)
    assert sum(one.share for one in found.streams) == pytest.approx(1, abs=1e-12)
    if found.steps is not None:
        by_stream: Counter[int] = Counter()
        for step in found.steps:
            by_stream.update({one.stream: one.count for one in step.counts})
        assert dict(by_stream) == {at: one.count for at, one in enumerate(found.streams)}


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared traces next to the checkout")
def test_the_sample_of_msr_has_its_known_streams(tmp_path: Path) -> None:
    """67 streams, 11 make 80 % and 19 make 90 %; the nine of the test 77.7 %."""
    file = SHARED / "msr-cambridge-hm_0-1k.csv.gz"
    code, said = ran("trace", "capture", file, "-o", tmp_path / "c.json")
    assert code == 0
    assert max(map(len, said.splitlines())) <= 80
    found = load_capture(tmp_path / "c.json")
    top = [(one.label, one.count) for one in found.streams[:3]]
    assert top == [("RND 4 KiB R", 211), ("RND 4 KiB W", 173), ("SEQ 4 KiB R", 99)]
    assert len(found.streams) == 67
    assert sum(one.share for one in found.streams[:9]) == pytest.approx(0.777)
    assert sum(one.share for one in found.streams if one.order == "SEQ") == pytest.approx(0.246)
    for words in ("streams that make 80 % │                11", "90 % │                19"):
        assert words in said
    # Time of responses until the last arrival: by steps it is the same.
    with gzip.open(file, "rt") as stream:
        spans = [(int(row[0]), int(row[0]) + int(row[6])) for row in csv.reader(stream)]
    last = max(begin for begin, _ in spans)
    waited = sum(min(end, last) - begin for begin, end in spans) * 1e-7
    steps = found.steps or []
    assert (len(steps), found.step_s) == (290, pytest.approx(127.2334941 / 290, abs=1e-8))
    busy = [found.step_s - one.idle_s for one in steps if one.idle_s is not None]
    total = sum(time * (one.queue_depth or 0) for time, one in zip(busy, steps, strict=True))
    assert total == pytest.approx(waited, rel=1e-5)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared traces next to the checkout")
def test_times_of_whole_seconds_make_no_steps() -> None:
    found = capture([[str(SHARED / "tencent-cbs-50k.csv.gz")]], READING)
    assert (found.steps, found.step_s) == (None, None)
    assert found.no_steps == "all times are whole seconds"
    assert not any(str(SHARED) in text for text in found.warnings)


def test_steps_queue_depth_and_idle_time_by_hand(tmp_path: Path) -> None:
    """Two requests overlap in the first second, one reaches from the second into the third."""
    tick = 10_000_000
    rows = [
        (0, "Read", 0, 4096, 0.4), (0.2, "Read", 4096, 4096, 0.4), (1.5, "Write", 0, 8192, 1.0),
        (2.9, "Write", 65536, 8192, 0.1),
    ]  # fmt: skip
    trace = tmp_path / "t.csv"
    trace.write_text("".join(
        f"{128166372003061629 + round(at * tick)},hm,0,{op},{begin},{size},{round(took * tick)}\n"
        for at, op, begin, size, took in rows
    ))  # fmt: skip
    found = capture([[str(trace)]], READING, step="1s")
    assert [one.label for one in found.streams] == ["RND 8 KiB W", "RND 4 KiB R", "SEQ 4 KiB R"]
    steps = found.steps or []
    assert [[tuple(plain(one)) for one in step.counts] for step in steps] == [
        [(1, 1), (2, 1)], [(0, 1)], [(0, 1)]
    ]  # fmt: skip
    # 0.8 s of requests in 0.6 s; 0.5 s; 0.5 s up to the last arrival at 2.9 s, and 0.1 s behind it.
    assert [step.queue_depth for step in steps] == pytest.approx([0.8 / 0.6, 1, 1])
    assert [step.idle_s for step in steps] == pytest.approx([0.4, 0.5, 0.3])
    assert [step.mb_s for step in steps] == pytest.approx([0.008192, 0.008192, 0.008192 / 0.9])
    short = capture([[str(trace)]], READING, step="500ms")
    assert [step.idle_s for step in short.steps or []][:2] == pytest.approx([0.0, 0.4])


def test_depths_are_those_of_the_reads_and_writes_that_are_counted(tmp_path: Path) -> None:
    """A flush before the first of them moves no step; without lines of duplicates, no depth."""
    trace = tmp_path / "served.csv"
    trace.write_text(
        "0,0,block_status,0,0,0,1,2,3\n1,0,flush,0,0,0,1000,1000,900000\n"
        "2,0,write,0,0,4096,2001000,2001000,2011000\n"
        "3,0,read,0,0,4096,2021000,2021000,2041000\n4,0,read,0,0,4096,2101000,2101000,2111000\n"
    )
    steps = capture([[str(trace)]], READING, step="50us").steps or []
    assert [one.queue_depth for one in steps] == [1, None, 1]
    assert [one.idle_s for one in steps] == pytest.approx([20e-6, 50e-6, 0])
    copy = tmp_path / "copy.csv"
    copy.write_bytes(trace.read_bytes())
    both = capture(
        [[str(trace)], [str(copy)]], json.dumps(json.loads(READING) | {"dedupe": True}), step="50us"
    )
    assert both.requests == 3
    assert [one.queue_depth for one in both.steps or []] == [None] * 3


def test_a_sequential_request_starts_at_one_of_the_last_32_ends(tmp_path: Path) -> None:
    """The end of the 32nd request before counts, that of the 33rd does not, of others neither."""

    def lines(between: int) -> str:
        rows = [(0, "read", 0, "v"), *((at + 1, "read", (at + 9) << 20, "v")
                                       for at in range(between))]  # fmt: skip
        rows += [(90, "read", 4096, "v"), (91, "write", 4096, "v"), (92, "read", 4096, "w")]
        return HEAD + "".join(f"{at},{op},{begin},4096,{name},,\n" for at, op, begin, name in rows)

    trace = tmp_path / "t.csv"
    for between, sequential in ((31, 1), (32, 0)):
        trace.write_text(lines(between))
        found = capture([[str(trace)]], READING)
        assert sum(one.count for one in found.streams if one.order == "SEQ") == sequential


def test_bad_traces_are_refused_with_the_reason(tmp_path: Path) -> None:
    for name, text, words in (
        ("trims.csv", HEAD + "0,trim,0,4096,v,,\n5,trim,0,4096,v,,\n", "no read or write in it (2"),
        ("empty.csv", "", "empty.csv"),
        ("head.csv", HEAD, "head.csv"),
    ):
        (tmp_path / name).write_text(text)
        code, said = ran("trace", "capture", tmp_path / name)
        assert (code, words in said) == (2, True), said
    good = tmp_path / "good.csv"
    good.write_text(HEAD + "0,read,0,4096,v,,\n7000000500,read,0,4096,v,,\n")
    for step in ("0s", "5 parsecs", "-1s", "1e99s", "us", "1us"):
        code, said = ran("trace", "capture", good, "--step", step)
        assert (code, "step" in said, "accepted" in said) == (2, True, True), said
    assert ran("trace", "capture", good, "-o", good)[0] == 2
    os.mkfifo(tmp_path / "pipe")
    assert ran("trace", "capture", tmp_path / "none.csv")[0] == 2
    # One instant: streams, but no steps.
    good.write_text(HEAD + "5,read,0,4096,v,,\n5,read,0,4096,v,,\n")
    assert capture([[str(good)]], READING).no_steps == "all requests have the same time"


def test_names_with_control_characters_stay_inert(tmp_path: Path) -> None:
    trace = tmp_path / "a\x1b[31mb.csv"
    trace.write_text(HEAD + "0,read,0,4096,\x1b[31mv\x07,,\n5,write,0,4096,\x1b]0;x,,\n")
    code, said = ran("trace", "capture", trace)
    assert (code, "\x1b" in said) == (0, False)
    found = capture([[str(trace)]], READING)
    assert (found.name, found.volumes) == (r"a\x1b[31mb.csv", 2)


def good_capture(folder: Path) -> dict[str, Any]:
    trace = folder / "t.csv"
    trace.write_text(HEAD + "".join(
        f"{at * 10**8 + 1},{'read' if at % 3 else 'write'},{at * 8192},4096,v,,\n"
        for at in range(30)
    ))  # fmt: skip
    return plain(capture([[str(trace)]], READING, step="1s"))


def test_a_capture_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    right = good_capture(tmp_path)
    path = tmp_path / "c.json"

    def refused(change: dict[str, Any]) -> str:
        made = right | change
        path.write_text(readable_json(made | {"digest": digest(made)}))
        with pytest.raises(onl.ResultError) as caught:
            load_capture(path)
        return str(caught.value)

    def first(**keys: Any) -> dict[str, Any]:
        return {"streams": [right["streams"][0] | keys, *right["streams"][1:]]}

    path.write_text(readable_json(right))
    assert load_capture(path).requests == 30
    assert "holds `opennandlab.capture/2`" in refused({"schema": "opennandlab.capture/2"})
    assert "streams[0].count" in refused(first(count=-1))
    assert "streams: shares sum to" in refused(first(share=right["streams"][0]["share"] + 1e-8))
    assert "sum" not in refused(first(share=right["streams"][0]["share"] + 1e-10, count=-1))
    assert "streams[0].size_bytes" in refused(first(size_bytes=1000))
    assert "streams[0].op" in refused(first(op="T"))
    assert "streams: none" in refused({"streams": []})
    assert "requests: 31" in refused({"requests": 31})
    twice = {"streams": [right["streams"][0] | {"share": 0.5, "count": 15}] * 2}
    assert "streams[1]" in refused(twice)
    swapped = [one | {"share": right["streams"][1 - at]["share"]}
               for at, one in enumerate(right["streams"])]  # fmt: skip
    assert "streams[0].share" in refused({"streams": swapped})
    assert "streams[1].count" in refused({"streams": right["streams"][::-1], "steps": None})
    steps = right["steps"]
    assert "counts[0][0]: 9" in refused({"steps": [steps[0] | {"counts": [[9, 1]]}]})
    assert "streams[0].count" in refused({"steps": steps[:-1]})
    assert "step_s" in refused({"step_s": None})
    assert "idle_s: 2.0" in refused({"steps": [steps[0] | {"idle_s": 2.0}, *steps[1:]]})
    path.write_text(readable_json(right | {"name": "other"}))
    with pytest.raises(onl.ResultError, match="digest"):
        load_capture(path)
    path.write_text('{"captureVersion": 3, "streams": []}')
    with pytest.raises(onl.ResultError, match="no `schema` of ours"):
        load_capture(path)
