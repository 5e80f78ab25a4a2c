"""Scripts of applications, and what runs them in a directory: tiny suites, SQLite as the oracle.

Nothing here depends on how fast anything is: clocks are counters.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from typer.testing import CliRunner

from opennandlab.app import cases, executor, live, ops
from opennandlab.app.assembling import assemble
from opennandlab.app.suites import SUITES, Suite, suite
from opennandlab.base import scratch
from opennandlab.base.errors import ConfigError, WriteError
from opennandlab.cli import app as command_line
from opennandlab.documents.app import AppDocument
from opennandlab.documents.record import plain, read

if TYPE_CHECKING:
    from collections.abc import Iterator

TINY: dict[str, dict[str, int]] = {
    "camera": {"photo_bytes_min": 9000, "photo_bytes_max": 20000, "thumbnail_bytes": 500},
    "web": {"files": 10, "cache_bytes": 100_000},
    "contact": {"rows": 5},
    "install": {
        "package_bytes": 70_000, "libraries": 2, "library_bytes": 5000, "code_bytes": 40_960,
        "registry_bytes": 3000,
    },
    "mediascan": {"files": 60, "file_bytes_max": 3000},
    "gallery": {"photos": 14, "photo_bytes": 9000, "thumbnail_bytes": 700},
    "iozone": {"file_bytes": 20_000},
    "iozone_direct": {"file_bytes": 32_768},
    "fileio": {"file_bytes": 65_536, "written_bytes": 32_768, "random_requests": 4},
    "modes": {"file_bytes": 16_384},
    "rates": {"file_bytes": 65_536, "random_requests": 4},
    "transactions": {"rows": 6},
    "boot": {
        "kernel_bytes": 70_000, "drivers": 6, "driver_bytes": 2000, "settings": 4,
        "registry_bytes": 20_000, "registry_reads": 5,
    },
    "load": {"program_bytes": 200_000, "libraries": 2, "library_bytes": 9000, "resources": 3},
    "surf": {"files": 9, "reads": 3, "writes": 4},
    "media": {"film_bytes": 600_000, "recorded_bytes": 300_000, "copied_bytes": 300_000},
    "photo": {"photos": 4, "photo_bytes": 30_000, "looked_at": 3, "scratch_bytes": 600_000},
    "office": {
        "document_bytes": 30_000, "saves": 2, "mail_bytes": 90_000, "mail_reads": 4,
        "mail_writes": 2, "sheet_bytes": 20_000,
    },
}  # fmt: skip
MODES = len(ops.MODES) + 1


def script(name: str, iterations: int = 2, seed: int = 42) -> list[ops.AnyOp]:
    return list(cases.script(cases.make(name, seed, TINY), iterations))


def run(root: Path, script: list[ops.AnyOp]) -> list[executor.Marked]:
    """Run a script by a clock that counts its readings."""
    readings = itertools.count()
    runner = executor.Executor(root, executor.Profile(), 42, clock=lambda: next(readings))
    try:
        return list(runner.run(script))
    finally:
        runner.close()


@pytest.mark.parametrize("name", list(cases.HOMES))
def test_a_seed_decides_a_script_and_lines_keep_it(name: str) -> None:
    text = list(ops.lines(script(name)))
    assert text == list(ops.lines(script(name)))
    assert [msgspec.json.decode(line, type=ops.AnyOp) for line in text] == script(name)
    if name not in {"iozone", "iozone_direct", "media"}:  # which draw nothing
        assert list(ops.lines(script(name, 4))) != list(ops.lines(script(name, 4, seed=43)))


@pytest.mark.parametrize("name", list(cases.HOMES))
def test_a_case_runs_and_its_databases_are_well(name: str, tmp_path: Path) -> None:
    iterations = MODES if name == "modes" else 3
    marked = run(tmp_path, script(name, iterations))
    assert [(one.case, one.index) for one in marked] == [(name, at) for at in range(iterations)]
    assert all(one.end_ns > one.begin_ns for one in marked)
    assert [live.damage(path) for path in tmp_path.rglob("*.db")] == [[]] * len(
        list(tmp_path.rglob("*.db"))
    )
    taken = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert taken <= cases.make(name, 42, TINY).bytes(iterations)


def test_commits_and_rows_of_a_contact(tmp_path: Path) -> None:
    """Three commits insert one contact: one raw row, four data rows, five of lookup."""
    found = script("contact", 2)
    begin = next(at for at, op in enumerate(found) if isinstance(op, ops.Begin))
    end = next(at for at, op in enumerate(found) if isinstance(op, ops.End))
    assert sum(isinstance(op, ops.Txn | ops.Sql) for op in found[begin:end]) == 3
    run(tmp_path, found)
    rows = TINY["contact"]["rows"] + 2
    with sqlite3.connect(tmp_path / "contacts.db") as database:
        counts = {
            table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in ("raw", "data", "name_lookup", "phone_lookup")
        }
        assert database.execute("SELECT total FROM aggregate").fetchone() == (2,)
    assert counts == {"raw": rows, "data": 4 * rows, "name_lookup": 4 * rows, "phone_lookup": rows}


def test_a_page_takes_four_commits_and_one_fsync() -> None:
    found = script("web", 1)
    inside = found[next(at for at, op in enumerate(found) if isinstance(op, ops.Begin)) :]
    assert sum(isinstance(op, ops.Txn) for op in inside) == 4
    assert sum(isinstance(op, ops.Fsync) for op in inside) == 1
    assert sum(isinstance(op, ops.Create) for op in inside) == 19


def test_writes_are_as_random_as_asked() -> None:
    page = executor.pool(7, 0.25)[:4096]
    assert page[-1024:] == bytes(1024)
    assert len(set(page[:3072])) > 200
    assert executor.pool(7, 0.0) == executor.pool(7, 0.0) != executor.pool(8, 0.0)


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", ""])
def test_a_script_stays_in_its_directory(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="leaves the directory"):
        run(tmp_path, [ops.Create(file=name)])


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").write_text("kept")
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(WriteError, match="operation 1"):
        run(tmp_path / "inside", [ops.Create(file="link")])
    assert (tmp_path / "outside").read_text() == "kept"


def test_marks_must_match(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="without its begin"):
        run(tmp_path, [ops.End(case="web", i=0)])


def test_counts_are_those_of_the_source() -> None:
    heavy = {"camera": 10, "web": 100, "contact": 200, "install": 10, "mediascan": 0}
    assert SUITES["heavy"].counts == {**heavy, "gallery": 100}
    assert all(10 * count <= heavy.get(name, 100) for name, count in SUITES["light"].counts.items())


def plan(path: Path, **settings: object) -> live.Plan:
    chosen = Suite("light", {"contact": 2, "mediascan": 0, "gallery": 1})
    values = {"path": path, "suite": chosen, "runs": 2, "sizes": TINY, "evict": "dontneed"}
    return live.Plan(**{**values, **settings})  # type: ignore[arg-type]


@pytest.mark.parametrize(("percent", "stay"), [(0, 100), (25, 75), (60, 40), (100, 0)])
def test_photos_are_deleted_by_their_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, percent: float, stay: int
) -> None:
    seen: list[int] = []

    def used(root: Path) -> float:
        seen.append(len(list(root.glob("photos/*.jpg"))))
        return 0.95 if seen[-1] >= 100 else 0.94

    monkeypatch.setattr(live, "_used_ratio", used)
    outcome = live.run(
        plan(
            tmp_path,
            suite=Suite("main-full-main", {"contact": 1}, fill=True),
            sizes={**TINY, "camera": {"photo_bytes_min": 4096, "photo_bytes_max": 4096}},
            runs=1,
            may_fill=True,
            fill_rounds=2,
            delete_pct=percent,
        )
    )
    assert not outcome.is_partial
    # Full with 100 photos; some are deleted, and others are taken until it is full again.
    full = seen.index(100)
    assert seen[full + 1] == stay
    assert seen[-1] == 100


def test_a_file_has_a_rate_by_phase_and_by_place(tmp_path: Path) -> None:
    chosen = Suite("iozone", {"iozone": 384})
    size = 256 * 4096 + 100
    asked = plan(tmp_path, suite=chosen, sizes={"iozone": {"file_bytes": size}}, runs=5)
    outcome = live.run(asked)
    settings = {"mode": "live", "seed": 42, "runs": 5, "idle_ms": 0}
    document = assemble(
        outcome, chosen, settings | {"sizes": live.merged_sizes(asked)}, target="dir:x", wall_s=0.0
    )
    assert document.passed
    found = {one.part: one for one in document.parts or ()}
    assert list(found) == ["write", "rewrite", "read", "reread", "random read", "random write"]
    for part, (name, one) in enumerate(found.items()):
        assert (one.unit, len(one.rate.samples)) == ("MB", 5)
        for number, run in enumerate(outcome.samples):
            own = run[0].responses_ns[64 * part : 64 * part + 64]
            assert one.run_time_ms.samples[number] == pytest.approx(sum(own) / 1e6)
            assert one.rate.samples[number] == pytest.approx(size * 1e3 / sum(own))
        assert (one.slices is None) == name.startswith("random")
        first = sum(run[0].responses_ns[64 * part] for run in outcome.samples) / 5
        if one.slices is not None:
            assert len(one.slices) == 64
            assert one.slices[0] == pytest.approx(size / 64 * 1e3 / first)


def test_the_phases_of_a_file_are_all_of_it() -> None:
    sizes = {"iozone": {"file_bytes": 20_000}}
    lines = list(cases.script(cases.make("iozone", 42, sizes), 384))
    own: list[list[tuple[str, int]]] = [[] for _ in range(6)]
    phase, end = 0, 0
    for op in lines:
        if isinstance(op, ops.Begin):
            phase = op.i // 64
        elif isinstance(op, ops.Append):
            own[phase].append(("append", end))
            end += op.len
        elif isinstance(op, ops.Read | ops.Write):
            own[phase].append((type(op).__name__, op.off))
    starts = [0, 4096, 8192, 12288, 16384]
    kinds = ("append", "Write", "Read", "Read", "Read", "Write")
    for kind, found in zip(kinds, own, strict=True):
        assert {name for name, _ in found} == {kind}
        assert sorted(start for _, start in found) == starts
    assert end == 20_000
    # A file leaves the cache before its first read, and before random reads.
    assert sum(isinstance(op, ops.Evict) for op in lines) == 2
    assert sum(isinstance(op, ops.Fsync) for op in lines) == 3


def test_ways_and_statements_have_rates(tmp_path: Path) -> None:
    chosen = Suite("mobibench-like", {"modes": 8, "transactions": 3})
    asked = plan(tmp_path, suite=chosen, sizes={**TINY, "transactions": {"rows": 7}})
    outcome = live.run(asked)
    settings = {"mode": "live", "seed": 42, "runs": 2, "idle_ms": 0}
    document = assemble(
        outcome, chosen, settings | {"sizes": live.merged_sizes(asked)}, target="dir:x", wall_s=0.0
    )
    rows = [(one.case, one.part, one.unit) for one in document.parts or ()]
    assert len({part for case, part, _ in rows if case == "modes"}) == 8
    assert rows[8:] == [
        ("transactions", name, "statements") for name in ("insert", "update", "delete")
    ]
    insert = (document.parts or [])[8]
    took = outcome.samples[0][1].responses_ns[0]
    assert insert.rate.samples[0] == pytest.approx(7e9 / took)
    assert read(json.loads(json.dumps(plain(document))), AppDocument)[0] == document


def test_a_live_run_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    outcome = live.run(plan(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert [(one.case, len(one.responses_ns)) for one in outcome.samples[1]] == [
        ("contact", 2), ("gallery", 1),
    ]  # fmt: skip
    assert all(check.passed for check in outcome.checks)
    assert outcome.environment.eviction == "dontneed"


def test_ctrl_c_keeps_what_was_run(tmp_path: Path) -> None:
    seen: list[str] = []

    def stop(now: live.Progress) -> None:
        seen.append(now.what)
        if "gallery" in now.what:
            raise KeyboardInterrupt

    outcome = live.run(plan(tmp_path), stop)
    assert outcome.is_partial
    assert [one.case for run in outcome.samples for one in run] == ["contact"]
    assert not any(tmp_path.iterdir())
    assert not outcome.checks[0].passed


def test_what_cannot_be_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ConfigError, match="no such directory"):
        live.prepare(plan(tmp_path / "missing"))
    with pytest.raises(ConfigError, match="is not a directory"):
        live.prepare(plan(file))
    huge = {"contact": {"rows": 1 << 40}}
    with pytest.raises(ConfigError, match=r"bytes, and .* are free"):
        live.prepare(plan(tmp_path, sizes=huge))
    with pytest.raises(ConfigError, match="--may-fill"):
        live.prepare(plan(tmp_path, suite=suite("main-full-main")))
    with pytest.raises(ConfigError, match="accepted: rows"):
        live.prepare(plan(tmp_path, sizes={"contact": {"lines": 1}}))
    with pytest.raises(ConfigError, match="main-full-main"):
        suite("medium")
    with pytest.raises(ConfigError, match="not a case"):
        suite("light", {"phone": None})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def full_disk(*_: object) -> int:
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_an_error_that_names_the_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", full_disk)
    with pytest.raises(WriteError, match=r"operation \d+.*No space left"):
        live.run(plan(tmp_path, suite=Suite("light", {"gallery": 1})))
    # What had ended before is kept: the contacts, which SQLite writes.
    outcome = live.run(plan(tmp_path))
    assert outcome.is_partial
    assert "No space left" in outcome.failure
    assert [one.case for run in outcome.samples for one in run] == ["contact"]
    assert [check.name for check in outcome.checks if not check.passed] == [
        "iterations", "operations",
    ]  # fmt: skip
    assert not any(tmp_path.iterdir())


def test_what_failed_is_partial_with_the_code_of_a_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", full_disk)
    (tmp_path / "disk").mkdir()
    words = ["app", "run", "--target", f"dir:{tmp_path / 'disk'}", "--runs", "1", "--case",
             "contact=1", "--case", "gallery=1", "--size", "contact.rows=2", "--output",
             str(tmp_path / "out")]  # fmt: skip
    done = CliRunner().invoke(command_line, words)
    assert done.exit_code == 3, done.output
    document = json.loads((tmp_path / "out" / "app.json").read_bytes())
    assert document["partial"]
    assert not document["passed"]
    assert [one["iterations"] for one in document["cases"]] == [1, 0]


def test_a_killed_run_is_cleared_by_the_next(tmp_path: Path) -> None:
    with scratch.folder(live.PREFIX, tmp_path) as used:
        left, foreign = tmp_path / f"{live.PREFIX}dead", tmp_path / f"{live.PREFIX}mine"
        for one in (left, foreign):
            one.mkdir()
        (left / scratch.MARK).touch()
        (tmp_path / f"{live.PREFIX}link").symlink_to(used)
        assert scratch.remove_left(live.PREFIX, tmp_path) == 1
        assert used.is_dir()
        assert foreign.is_dir()
        assert not left.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "tape:x"], "accepted: sim:PRESET"),
        (["--target", "nbd+unix:///?socket=x"], "opennandlab attach"),
        (["--target", "dir:/nowhere-at-all"], "no such directory"),
        (["--target", "dir:.", "--mode", "replay"], "--mode live"),
        (["--target", "dir:.", "--state", "old-dirty"], "simulated drives"),
        (["--target", "dir:.", "--suite", "x"], "accepted: light"),
        (["--target", "dir:.", "--case", "web=many"], "NAME=N"),
        (["--target", "dir:.", "--size", "web=1"], "CASE.NAME=N"),
        (["--target", "dir:.", "--journal", "memory"], "truncate"),
        (["--target", "dir:.", "--compress-ratio", "nan"], "0 to below 1"),
        (["--target", "sim:emmc_16gb", "--state", "worn"], "young-clean"),
        (
            ["--target", "sim:emmc_16gb", "--state", "old-dirty", "--dirty-writes", "nan"],
            "0.95 to 100",
        ),
        (["--target", "sim:emmc_16gb", "--dcim-delete-pct", "10"], "no effect here"),
        (
            [
                "--target",
                "dir:.",
                "--suite",
                "main-full-main",
                "--may-fill",
                "--dcim-delete-pct",
                "101",
            ],
            "0 to 100",
        ),
        (["--target", "sim:emmc_16gb", "--suite", "none.yaml"], "none.yaml"),
        (["--target", "sim:emmc_16gb", "--size", "web.files=1"], "recording"),
        (["--target", "sim:emmc_16gb", "--trace", "maps=x"], "`maps` is not a case of this suite"),
    ],
)
def test_the_command_refuses(options: list[str], said: str) -> None:
    done = CliRunner().invoke(command_line, ["app", "run", *options, "--json"])
    assert done.exit_code == 2
    assert said in json.loads(done.stdout)["error"]["message"]


def test_the_command_runs_in_a_directory(tmp_path: Path) -> None:
    sizes = [
        part
        for case in ("contact", "camera")
        for name, value in TINY[case].items()
        for part in ("--size", f"{case}.{name}={value}")
    ]
    work = tmp_path / "work"
    work.mkdir()
    options = ["--case", "contact=2", "--case", "camera=1", "--runs", "2", "--evict", "dontneed"]
    kept = ["--output", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(
        command_line, ["app", "run", "--target", f"dir:{work}", *options, *sizes, *kept]
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "out" / "app.json").read_text())
    assert document["sizes"]["contact"] == TINY["contact"]
    assert [len(one["response_ms"]["samples"]) for one in document["cases"]] == [2, 2]
    assert document["io"] is None
    assert document["state"] is None
    assert (tmp_path / "out" / "app.html").read_text().startswith("<!")


def test_scripts_are_printed() -> None:
    done = CliRunner().invoke(
        command_line, ["app", "script", "contact", "--size", "contact.rows=5"]
    )
    printed = done.stdout.splitlines()
    assert printed == list(ops.lines(cases.script(cases.make("contact", 42, TINY), 1)))


def test_a_hint_is_no_reason_to_fail(tmp_path: Path) -> None:
    """Each way of writing leaves the same number of bytes."""

    def all_modes() -> Iterator[ops.AnyOp]:
        for mode in ops.MODES:
            yield ops.Write(file=mode, off=0, len=8192, mode=mode)
            yield ops.Read(file=mode, off=0, len=8192, hint="random")

    run(tmp_path, list(all_modes()))
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {8192}


def test_a_removal_that_is_interrupted_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, calls = shutil.rmtree, []

    def interrupted(path: Path, **options: bool) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        remove(path, **options)

    monkeypatch.setattr(live.shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), live.fresh(tmp_path) as root:
        (root / "photo").touch()
    assert len(calls) == 2
    assert not any(tmp_path.iterdir())
