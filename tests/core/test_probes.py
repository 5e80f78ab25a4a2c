"""Timed probes of untimed runs: the run stays as it is, and the rates are those of a timed run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from opennandlab.base.canonical import canonical_json, deterministic_part
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.core.probes import NAMES, Probes
from opennandlab.core.run import Run, Start, prepare_benchmark
from opennandlab.documents.record import plain

SMALL: dict[str, Any] = {
    "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 128,
             "pages_per_block": 64},
    "ftl": {"over_provisioning_pct": 0.1, "write_buffer_pages": 0},
}  # fmt: skip
AGING: dict[str, Any] = {
    "name": "aging", "pattern": "random", "queue_depth": 16, "timed": False,
    "total": {"drive_writes": 8}, "precondition": [{"kind": "sequential_fill", "fills": 1}],
}  # fmt: skip


def prepared(workload: dict[str, Any] = AGING) -> Run:
    return prepare_benchmark(Start(SMALL), workload)


def test_a_run_is_the_same_with_probes() -> None:
    """Its whole document, with the series of WAF and RBER; and the probes, at any second run."""
    alone = prepared().measure()
    rows = []
    for _ in range(2):
        run = prepared()
        probes = Probes(run, count=10, requests=500)
        found = run.measure(progress=probes.look, slice_ops=probes.slice_ops)
        assert canonical_json(deterministic_part(plain(found.content))) == canonical_json(
            deterministic_part(plain(alone.content))
        )
        assert found.digest == alone.digest
        assert found.content.series == alone.content.series
        rows.append(probes.rows)
    assert rows[0] == rows[1]
    assert [row.share for row in rows[0]] == [number / 10 for number in range(1, 11)]


def test_rates_are_those_of_a_timed_run_in_the_same_state() -> None:
    """The steady drive under a clock: another run, made without probes."""
    run = prepared()
    probes = Probes(run, count=10, requests=20_000)
    run.measure(progress=probes.look, slice_ops=probes.slice_ops)
    steady = probes.rows[4:]
    steps = [*AGING["precondition"], {"kind": "workload", "until": "steady"}]
    timed = {**AGING, "timed": True, "total": {"ios": 60_000}, "precondition": steps}
    alone = prepared(timed).measure().content.metrics
    assert alone is not None
    for row in steady:
        assert row.iops == pytest.approx(alone.iops.total, rel=0.02)
        assert row.mb_s == pytest.approx(row.iops * 4096 / 1e6)
        # By Little's law, with 16 outstanding.
        assert row.mean_us == pytest.approx(16e6 / row.iops, rel=0.02)
    assert sum(row.waf or 0 for row in steady) / len(steady) == pytest.approx(alone.waf, rel=0.01)


@pytest.mark.parametrize(
    ("workload", "numbers", "said"),
    [
        ({**AGING, "timed": True, "total": {"ios": 10}}, {}, "timed: false"),
        (AGING, {"count": 0}, "probes.count: `0`"),
        (AGING, {"requests": 0}, "probes.requests: `0`"),
    ],
)
def test_what_cannot_be_probed_is_refused(
    workload: dict[str, Any], numbers: dict[str, int], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        Probes(prepared(workload), **numbers)


def test_a_drive_that_wears_out_has_no_probe_at_its_end() -> None:
    """It ends long before its work does; a last row said share 1.0 and latencies of 0."""
    worn = {**SMALL, "nand": {**SMALL["nand"], "max_pe_cycles": 20}}
    run = prepare_benchmark(Start(worn), {**AGING, "total": {"drive_writes": 100}})
    probes = Probes(run, count=50, requests=500)
    assert run.measure(progress=probes.look, slice_ops=probes.slice_ops).content.state.worn_out
    assert 0 < probes.rows[-1].share < 0.2
    assert all(row.mean_us > 0 and row.iops > 0 for row in probes.rows)


def test_a_run_too_short_for_its_probes_says_so(tmp_path: Path) -> None:
    """Its rows are fewer and uneven, which a table of means does not show."""
    device, work, rows = (tmp_path / name for name in ("d.yaml", "w.yaml", "p.csv"))
    device.write_text(json.dumps(SMALL))
    work.write_text(json.dumps({**AGING, "total": {"ios": 3000}, "precondition": []}))
    words = ["benchmark", "-c", str(device), "-w", str(work), "--probes", str(rows)]
    done = CliRunner().invoke(app, [*words, "--probe-ios", "50"])
    assert done.exit_code == 0, done.output
    taken = len(rows.read_text().splitlines()) - 1
    said = " ".join(done.stderr.split())
    assert f"{taken} of 50 probes: the run is too short" in said


def test_the_command_writes_a_row_for_each(tmp_path: Path) -> None:
    device, work, rows = (tmp_path / name for name in ("d.yaml", "w.yaml", "p.csv"))
    device.write_text(json.dumps(SMALL))
    work.write_text(json.dumps(AGING))
    base = ["benchmark", "-c", str(device), "-w", str(work)]
    options = ["--probes", str(rows), "--probe-count", "4", "--probe-ios", "300"]
    done = CliRunner().invoke(app, [*base, *options])
    assert done.exit_code == 0, done.output
    assert "4 timed probes on copies of the drive" in done.stdout
    alone = CliRunner().invoke(app, [*base, "--json"])
    assert json.loads(alone.stdout)["digest"] in done.stdout
    found = list(csv.DictReader(rows.read_text().splitlines()))
    assert tuple(found[0]) == NAMES
    assert [row["share"] for row in found] == ["0.25", "0.5", "0.75", "1.0"]
    for wrong, said in (
        (["--probe-count", "4"], "without probes"),
        ([*options, "--slice-ops", "9"], "--slice-ops"),
        (["--probes", str(device)], "d.yaml"),
        (["-w", "W1", "--probes", str(rows)], "timed: false"),
    ):
        refused = CliRunner().invoke(app, [*base, *wrong])
        assert refused.exit_code == 2, refused.output
        assert said in refused.output
