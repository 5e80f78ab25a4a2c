"""Synthetic and desktop suites from their recordings, and suites from files."""

from __future__ import annotations

import itertools
import json
import lzma
import struct
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from opennandlab import _core
from opennandlab.app import cases, executor, live, ops, replaying, trace
from opennandlab.app.assembling import assemble
from opennandlab.app.suites import Suite, from_file, suite
from opennandlab.base.errors import ConfigError, TraceError
from opennandlab.cli import app as command_line
from opennandlab.core.config import load_device
from opennandlab.documents.app import AppDocument, figures
from opennandlab.documents.record import plain
from opennandlab.reports import app as pages
from opennandlab.reports.model import Table

SMALL: dict[str, Any] = {
    "nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 600,
             "pages_per_block": 256},
    "ftl": {"over_provisioning_pct": 0.2, "write_buffer_pages": 0},
}  # fmt: skip
BY_HAND = """\
# a trace by hand
0,0,write,0,0,4096,0,500,500
# begin boot 0 1000
1,0,write,0,0,4096,1000,1500,2000
2,0,read,0,0,4096,12000,12500,13000
3,0,flush,0,0,0,13000,13500,14000
# end boot 0 14500
"""


def played(chosen: Suite, **settings: Any) -> AppDocument:
    """Play a suite on a small drive."""
    plan = replaying.Plan(**{"device": load_device(SMALL), "suite": chosen, "runs": 1, **settings})
    known: dict[str, object] = {
        "mode": "replay", "seed": plan.seed, "runs": plan.runs, "idle_ms": 0, "sizes": {},
    }  # fmt: skip
    return assemble(replaying.replay(plan), chosen, known, target="sim:small", wall_s=0.0)


@pytest.mark.parametrize(
    ("name", "case"), [("iozone", "iozone"), ("iozone-direct", "iozone_direct")]
)
def test_phases_of_a_file_have_rates_on_a_simulated_drive(name: str, case: str) -> None:
    document = played(suite(name), runs=5)
    found = document.parts or []
    assert document.passed
    assert [one.part for one in found] == [
        "write", "rewrite", "read", "reread", "random read", "random write",
    ]  # fmt: skip
    [it] = document.cases
    assert it.response_ms is not None
    for part, one in enumerate(found):
        assert (one.case, one.unit, len(one.rate.samples)) == (case, "MB", 5)
        for rate, run in zip(one.rate.samples, it.response_ms.samples, strict=True):
            own = sum(run[64 * part : 64 * part + 64])
            assert rate == pytest.approx(16 * 1024**2 / 1e3 / own)
        if not one.part.startswith("random"):
            assert len(one.slices or ()) == 64


def test_direct_records_are_requests_of_the_drive() -> None:
    """Three phases of 4096 records read, and three write."""
    requests = trace.shipped("iozone_direct").requests
    small = [one for one in requests if one.length == 4096]
    for kinds in ({trace.READ}, {trace.WRITE, trace.FUA_WRITE}):
        assert sum(one.kind in kinds for one in small) == pytest.approx(3 * 4096, rel=0.002)


def test_ways_of_writing_and_statements_have_rates_on_a_simulated_drive() -> None:
    """A commit takes 9.1 writes and 6.1 flushes, as was measured alone (ext4, TRUNCATE, FULL)."""
    document = played(suite("mobibench-like"), runs=2)
    rows = {(one.case, one.part): one for one in document.parts or ()}
    ways = [part for case, part in rows if case == "modes"]
    assert ways == ["fsync", *ops.MODES]
    assert document.sizes == {"modes": {"file_bytes": 1 << 20}, "transactions": {"rows": 100}}
    insert = rows["transactions", "insert"]
    assert insert.unit == "statements"
    assert insert.rate.samples[0] == pytest.approx(100e3 / insert.run_time_ms.samples[0])
    kinds = [one.kind for one in trace.shipped("transactions").requests]
    assert kinds.count(trace.FLUSH) / 300 == pytest.approx(6.1, rel=0.05)
    assert kinds.count(trace.WRITE) / 300 == pytest.approx(9.1, rel=0.05)
    # A synchronised write waits for the drive, a buffered one does not.
    assert rows["modes", "sync"].rate.mean < rows["modes", "buffered"].rate.mean / 10


def test_every_case_of_a_desktop_has_rate_and_access_time() -> None:
    chosen = Suite("desktop-quick", dict.fromkeys(cases.DESKTOP, 1))
    document = played(chosen)
    assert [one.case for one in document.cases] == list(cases.DESKTOP)
    tables = [it for it in pages.report(document).chapters[0].items if isinstance(it, Table)]
    [table] = [it for it in tables if it.id == "access"]
    kept = figures(plain(document))
    for one, row in zip(document.cases, table.rows, strict=True):
        assert one.access is not None
        assert kept[f"{one.case}.mb_s"] == one.access.mb_s
        assert row[0] == one.case
        assert row[3:] == (one.access.mb_s, one.access.access_us)
        requests = trace.shipped(one.case).first(1)
        begin = next(at for at, it in enumerate(requests) if it.mark)
        moved = sum(
            it.length
            for it in requests[begin:]
            if it.kind in {trace.READ, trace.WRITE, trace.FUA_WRITE}
        )
        assert one.access.bytes == pytest.approx(moved, rel=0.01)
        assert one.drive_ms is not None
        assert one.access.mb_s == pytest.approx(one.access.bytes / one.drive_ms.mean / 1e3)


def test_rate_and_access_time_by_hand(tmp_path: Path) -> None:
    """Of a write, a read and a flush; the write before the iteration is not counted."""
    path = tmp_path / "hand.csv"
    path.write_text(BY_HAND)
    document = played(Suite("hand", {"boot": 1}), traces={"boot": path})
    player = _core.Player(load_device(SMALL).drive(42))
    found = trace.parse(BY_HAND, "hand")
    times = list(struct.iter_unpack("<QQ", player.play(trace.records(found.requests))))
    write, read, flush = (end - start for start, end in times[2:5])
    access = document.cases[0].access
    assert access is not None
    assert (access.operations, access.bytes) == (2, 8192)
    assert access.access_us == pytest.approx((write + read) / 2e3)
    assert access.mb_s == pytest.approx(8192e3 / (write + read + flush))


def test_access_in_a_directory_is_of_its_calls(tmp_path: Path) -> None:
    """By a clock that counts its readings: each call takes one, and syncs are writes' shares."""
    readings = itertools.count()
    runner = executor.Executor(tmp_path, executor.Profile(), 42, clock=lambda: next(readings))
    case = cases.make("media", 42, {"media": {"film_bytes": 600_000, "copied_bytes": 300_000}})
    script = list(cases.script(case, 1))
    list(runner.run(script))
    runner.close()
    inside = script[next(at for at, op in enumerate(script) if isinstance(op, ops.Begin)) :]
    moved = [op for op in inside if isinstance(op, ops.Read | ops.Append)]
    syncs = sum(isinstance(op, ops.Fsync) for op in inside)
    assert runner.moved.operations == len(moved)
    assert runner.moved.bytes == sum(op.len for op in moved)
    assert runner.moved.waited_ns == len(moved) + syncs


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (-1, r"transactions.csv:\d+: cut short: transactions 2 does not end"),
        (-900, r"transactions.csv:\d+: cut short"),
        (3000, r"transactions.csv:3000: cut short"),
    ],
)
def test_a_recording_that_was_cut_short_is_refused_with_the_line(
    kept: int, said: str, tmp_path: Path
) -> None:
    text = lzma.decompress(trace.canonical("transactions").read_bytes()).decode()
    path = tmp_path / "transactions.csv"
    path.write_text("\n".join(text.splitlines()[:kept]) + "\n")
    with pytest.raises(TraceError, match=said):
        trace.load(path)


def test_a_recording_without_its_last_iterations_is_refused(tmp_path: Path) -> None:
    text = lzma.decompress(trace.canonical("surf").read_bytes()).decode()
    cut = text.index("\n", text.index("# end surf 6 ")) + 1
    (tmp_path / "surf.csv").write_text(text[:cut])
    line = text[:cut].count("\n")
    with pytest.raises(TraceError, match=rf"surf.csv:{line}: cut short: 7 iterations .* 10"):
        trace.load(tmp_path / "surf.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: empty\n", "suite.cases: .* has no case"),
        ("cases: {}\n", "suite.cases: .* has no case"),
        ("cases: [boot]\n", "suite.cases: .* has no case"),
        ("cases: {boots: 1}\n", "suite.cases.boots: is not a case"),
        ("cases: {boot: 0}\n", "suite.cases.boot: `0`"),
        ("cases: {boot: true}\n", "suite.cases.boot: `True`"),
        ("cases: {boot: 1}\nsizes: {boot: {doors: 2}}\n", "boot.doors"),
        ("cases: {boot: 1}\nsizes: [1]\n", "suite.sizes"),
        ("cases: {boot: 1}\ntitle: 3\n", "suite.title"),
        ("cases: {boot: 1}\nruns: 3\n", "suite.runs: is unknown"),
    ],
)
def test_bad_suite_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        from_file(path)


def test_a_suite_of_a_file_runs_on_both_kinds_of_target(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("title: mornings\ncases: {surf: 2, office: 1}\n")
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL))
    options = ["app", "run", "--suite", str(mine), "--runs", "1", "--json", "--target"]
    done = CliRunner().invoke(command_line, [*options, f"sim:{tmp_path / 'small.yaml'}"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["suite"], [one["iterations"] for one in found["cases"]]) == ("mine", [2, 1])
    sizes = "{surf: {files: 9, reads: 2, writes: 3}, office: {mail_bytes: 90000, saves: 1}}"
    mine.write_text(f"cases: {{surf: 2, office: 1}}\nsizes: {sizes}\n")
    done = CliRunner().invoke(command_line, [*options, f"sim:{tmp_path / 'small.yaml'}"])
    assert done.exit_code == 2
    assert "sizes of its recording; accepted: with dir:PATH" in " ".join(done.output.split())
    done = CliRunner().invoke(command_line, [*options, f"dir:{tmp_path}"])
    assert done.exit_code == 0, done.output
    access = [one["access"] for one in json.loads(done.stdout)["cases"]]
    assert all(one["mb_s"] > 0 and one["access_us"] > 0 for one in access)
    assert live.damage(tmp_path / "none") == []
