"""Traces as tenants, from the files to the rows of each tenant and volume."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from conftest import SMALL, Cli

# 5 microseconds a request on two volumes, and a request in 20 on one.
WEB = "".join(f"{i * 5000} {i % 2} {i * 7919 % 700 * 8} 8 {int(i % 4 > 0)}\n" for i in range(3000))
DB = "".join(f"{i * 100_000} 0 {i * 31 % 600 * 8} 8 0\n" for i in range(100))
FILL = [{"kind": "sequential_fill"}]
WHOLE = {"volumes": "overlay"}


@pytest.fixture
def traces(folder: Path) -> Path:
    """Return a folder with two traces, and a workload that is elsewhere."""
    (folder / "in").mkdir()
    (folder / "in" / "web.trace").write_text(WEB, encoding="utf-8")
    (folder / "in" / "db.trace").write_text(DB, encoding="utf-8")
    write(folder, {"file": "web.trace", **WHOLE}, "db.trace")
    return folder


def write(folder: Path, web: Any, db: Any, **more: Any) -> None:
    tenants = [{"name": "web", "trace": web, "weight": 3}, {"name": "db", "trace": db}]
    work = {"name": "two", "precondition": FILL, "tenants": tenants, **more}
    (folder / "in" / "two.yaml").write_text(json.dumps(work), encoding="utf-8")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(cli: Cli, *more: str) -> Any:
    shown = cli("benchmark", "-w", "in/two.yaml", "-c", "small.yaml", "-o", "two.json", *more)
    assert shown.returncode == 0, shown.stderr
    return shown


def test_tenants_get_what_the_joined_trace_gets(cli: Cli, traces: Path) -> None:
    shown = run(cli, "--requests", "r.csv")
    assert "web: web.trace: read as mqsim: 2 250 reads, 750 writes" in shown.stdout
    assert "db: db.trace: read as mqsim: 100 writes" in shown.stdout
    result = json.loads((traces / "two.json").read_text())
    web, db = result["metrics"]["tenants"]
    assert (web["trace_requests"], web["served"], db["served"]) == (3000, 3000, 100)
    assert [(row["name"], row["served"]) for row in web["volumes"]] == [("0", 1500), ("1", 1500)]
    assert "volumes" not in db
    assert result["workload"]["tenants"][1]["trace"]["file"] == "db.trace"
    assert "pattern" not in result["workload"]["tenants"][1]
    for line in ("web", "  0", "  1", "db"):
        assert f"\n{line} " in shown.stdout
    # The rows of the requests name tenant and volume.
    rows = rows_of(traces / "r.csv")
    found = Counter((row["tenant"], row["volume"]) for row in rows)
    assert found == {("web", "0"): 1500, ("web", "1"): 1500, ("db", ""): 100}
    by_time = sorted(rows, key=lambda row: int(row["seq"]))
    assert [int(row["arrival_ns"]) for row in by_time] == sorted(
        [i * 5000 for i in range(3000)] + [i * 100_000 for i in range(100)]
    )
    # At the same time the first tenant comes first.
    assert [row["tenant"] for row in by_time[:3]] == ["web", "db", "web"]
    # The joined trace, alone.
    joined = ("in/web.trace", "in/db.trace", "--to", "mqsim", "-o", "all.trace")
    assert cli("trace", "convert", *joined).returncode == 0
    alone = onl.replay(SMALL, traces / "all.trace", {"volumes": "overlay", "precondition": FILL})
    for key in ("latency_us", "iops", "waf", "host_pages"):
        assert result["metrics"][key] == alone.metrics[key], key
    assert alone.document["metrics"].get("tenants") is None


def test_a_result_is_verified_with_its_traces(cli: Cli, traces: Path) -> None:
    run(cli)
    assert cli("verify", "two.json").returncode == 0
    moved = [traces / name for name in ("w.trace", "d.trace")]
    for name, path in zip(("web", "db"), moved, strict=True):
        shutil.move(traces / "in" / f"{name}.trace", path)
    lost = cli("verify", "two.json")
    assert lost.returncode == 2
    assert "tenants[0] web: " in lost.stderr
    both = ("--trace", "w.trace", "--trace", "d.trace")
    assert cli("verify", "two.json", *both).returncode == 0
    wrong = cli("verify", "two.json", "--trace", "w.trace", "--trace", "w.trace")
    assert wrong.returncode == 2
    assert "another trace than the one recorded as `db.trace`" in " ".join(wrong.stderr.split())
    few = cli("verify", "two.json", "--trace", "w.trace")
    assert few.returncode == 2
    assert "1 traces were given; accepted: one for each of 2" in " ".join(few.stderr.split())


def test_a_trace_that_cannot_be_read_names_its_tenant(cli: Cli, traces: Path) -> None:
    (traces / "in" / "empty.trace").write_text("", encoding="utf-8")
    (traces / "in" / "bad.trace").write_text(DB + "1 2 three\n", encoding="utf-8")
    for name, words in (
        ("nowhere.trace", "tenants[1] db: in/nowhere.trace: "),
        ("empty.trace", "tenants[1] db: in/empty.trace: "),
        ("bad.trace", "tenants[1] db: in/bad.trace:101: "),
        (".", "tenants[1] db: in: "),
    ):
        write(traces, "web.trace", name)
        shown = cli("benchmark", "-w", "in/two.yaml", "-c", "small.yaml")
        assert shown.returncode == 2, shown.stdout
        assert words in " ".join(shown.stderr.split())
    # As `replay`, with the line counted.
    write(traces, "web.trace", {"file": "bad.trace", "skip_bad_lines": True})
    assert "tenant db: 1 line skipped" in " ".join(run(cli).stderr.split())


def test_what_does_not_fit_a_range_is_refused_or_counted(cli: Cli, traces: Path) -> None:
    page = 4096
    pages = onl.load_device(SMALL).effective["logical_pages"]
    far = "".join(f"{i} 0 {i * 8} 8 0\n" for i in range(pages))
    (traces / "in" / "far.trace").write_text(far, encoding="utf-8")
    tenants = [{"name": "web", "trace": "web.trace"},
               {"name": "far", "trace": {"file": "far.trace"}, "range_pct": [50, 100]}]  # fmt: skip

    def measured(beyond: str) -> Any:
        tenants[1]["trace"] = {"file": "far.trace", "beyond": beyond}
        write(traces, "web.trace", "db.trace", tenants=tenants)
        return cli("benchmark", "-w", "in/two.yaml", "-c", "small.yaml", "-o", "two.json")

    refused = measured("error")
    assert refused.returncode == 2
    said = " ".join(refused.stderr.split())
    assert f"tenants[1].trace.beyond: in/far.trace reaches byte {pages * page - 1}" in said
    assert measured("wrap").returncode == 0
    result = json.loads((traces / "two.json").read_text())
    web, far_row = result["metrics"]["tenants"]
    assert "trace_pages" not in web
    assert far_row["trace_pages"]["trace"] == pages
    assert far_row["trace_pages"]["merged"] == pages - pages // 2
    assert any(text.startswith("tenant far: the trace spans") for text in result["warnings"])
    assert any("overloaded" in text and "tenant far" in text for text in result["warnings"])


def test_outputs_do_not_replace_a_trace(cli: Cli, traces: Path) -> None:
    shown = cli("benchmark", "-w", "in/two.yaml", "-c", "small.yaml", "-o", "in/db.trace")
    assert shown.returncode != 0
    assert "is also the trace in/db.trace" in " ".join(shown.stderr.split())
    assert (traces / "in" / "db.trace").read_text() == DB


def test_volumes_of_a_replay_are_tenants(cli: Cli, traces: Path) -> None:
    command = ("replay", "in/web.trace", "-c", "small.yaml", "--volumes", "overlay")
    shown = cli(*command, "--tenants", "volume", "-o", "v.json", "--requests", "r.csv")
    assert shown.returncode == 0, shown.stderr
    assert cli(*command, "-o", "plain.json").returncode == 0
    shared, plain = (json.loads((traces / name).read_text()) for name in ("v.json", "plain.json"))
    assert shared["metrics"]["latency_us"] == plain["metrics"]["latency_us"]
    assert [row["name"] for row in shared["metrics"]["tenants"]] == ["0", "1"]
    assert "tenants" not in plain["workload"]
    found = Counter((row["tenant"], row["volume"]) for row in rows_of(traces / "r.csv"))
    assert found == {("0", "0"): 1500, ("1", "1"): 1500}
    assert cli("verify", "v.json").returncode == 0
    closed = cli(*command, "--tenants", "volume", "--closed-loop", "2", "--json")
    rows = json.loads(closed.stdout)["metrics"]["tenants"]
    assert [row["served"] for row in rows] == [1500, 1500]


def test_rows_of_a_trace_that_is_repeated_have_their_volumes(tmp_path: Path) -> None:
    """Rows of the second round had no line of the trace, and the writer of the file failed."""
    (tmp_path / "t.trace").write_text("0 0 0 8 0\n5 1 8 8 0\n9 0 16 8 0\n", encoding="utf-8")
    options = {"volumes": "overlay", "repeat": 4}
    onl.replay(SMALL, tmp_path / "t.trace", options, requests=tmp_path / "r.csv")
    rows = sorted(rows_of(tmp_path / "r.csv"), key=lambda row: int(row["seq"]))
    assert [row["volume"] for row in rows] == ["0", "1", "0"] * 4


def test_a_drive_that_is_run_step_by_step_replays_tenants(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = onl.Simulation(SMALL)
    first = drive.run(traces / "in" / "two.yaml")
    assert first.digest == onl.benchmark(SMALL, traces / "in" / "two.yaml").digest
    # Without a file traces are seen from here.
    monkeypatch.chdir(traces / "in")
    again = drive.run(json.loads((traces / "in" / "two.yaml").read_text()))
    assert again.metrics["tenants"][1]["served"] == 100
    loaded = onl.load_workload(traces / "in" / "two.yaml", onl.load_device(SMALL))
    assert onl.benchmark(SMALL, loaded).digest == first.digest


def test_a_sweep_of_traces_of_tenants_is_refused(cli: Cli, traces: Path) -> None:
    """Its points had no digest of the traces, and took files of the current folder."""
    shown = cli(
        "sweep",
        "-w",
        str(traces / "in" / "two.yaml"),
        "--vary",
        "ftl.over_provisioning_pct=0.2,0.3",
    )
    assert shown.returncode == 2, shown.stderr
    assert "workload.tenants[0].trace" in shown.stderr
