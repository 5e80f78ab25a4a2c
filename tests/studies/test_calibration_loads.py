"""Fits to cells that look into an FTL: tables, lengths, choices, what is known afterwards."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.cli import app
from opennandlab.core.run import benchmark
from opennandlab.measured import reference
from opennandlab.pts.bench.cells import reclaimed
from opennandlab.reports import calibration as pages
from opennandlab.studies.calibration import calibrating, posterior
from opennandlab.studies.calibration.cells import Target
from opennandlab.studies.calibration.conditions import Asked
from opennandlab.studies.calibration.keys import Key, choices, parse
from opennandlab.studies.calibration.loads import FIGURES, LARGE, MIB, Load, figures, pattern_of
from opennandlab.studies.calibration.objective import Objective, Values, start
from opennandlab.studies.calibration.planning import plan
from opennandlab.studies.calibration.posterior import Variant
from opennandlab.studies.calibration.tables import HEAD, WEIGHTS, measured, weights_of

CAPACITY = 30_000_000
CELLS = (
    Load("sequential", block_bytes=65536, queue_depth=8),
    Load("uniform", queue_depth=16),
    Load("uniform", share=0.5, queue_depth=16),
    Load("static:0.6", queue_depth=16),
)


def device(
    wordline_us: float = 1200, policy: str = "greedy", spare: float = 0.25
) -> dict[str, Any]:
    """Return a small drive with a write buffer."""
    return {
        "nand": {
            "cell_type": "TLC", "channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
            "page_size_bytes": 4096, "pages_per_block": 48, "blocks_per_plane": 96,
            "max_pe_cycles": 1_000_000,
            "program": {"kind": "one_shot", "t_wordline_us": wordline_us},
        },
        "ftl": {
            "over_provisioning_pct": spare, "write_buffer_pages": 64, "gc_policy": policy,
            "allocation": {"kind": "superblock", "dies": "all"}, "write_frontiers": "host_gc",
        },
        "host": {"link": {"kind": "pcie4x4"}, "power_loss_protected": True,
                 "command_cost_us": {"read": 3, "write": 3}},
    }  # fmt: skip


def table(path: Path, of: dict[str, Any], factor: float = 1.0, seed: int = 7) -> Path:
    """Write the figures of a drive as a CSV of cells."""
    whole = onl.load_device(of)
    capacity = int(whole.effective["logical_bytes"])
    rows = ["pattern,region_bytes,block_size_bytes,queue_depth,mb_s,waf"]
    for one in CELLS:
        run = one.run(whole)
        found = figures(one, run.row, benchmark(run.device, run.workload, seed=seed).document)
        size = int(capacity * one.share)
        assert found[0] is not None
        rate = found[0] * factor
        rows.append(
            f"{one.pattern},{size},{one.block_bytes},{one.queue_depth},{rate:.5g},{found[1]:.5g}"
        )
    path.write_text("\n".join(rows) + "\n")
    return path


# -- patterns, tables ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "zipf", "zipf:0", "zipf:11", "zipf:0.8:1", "static:1", "static:0", "hot:0.1", "hot:1:0.5",
     "uniform:1", "zipf:nan", "zipf:1e3", "zipf:-1", "random", "first:1", "zipf:٣"],
)  # fmt: skip
def test_a_pattern_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="accepted: sequential, uniform, zipf:THETA"):
        pattern_of(text)


def test_published_tables_are_cells() -> None:
    """Figures by hand from the tables: 39 600 writes of 4 KiB a second, 0.371 ms."""
    found = measured(
        [reference(f"7450_{name}") for name in ("skew", "fill", "zones", "load", "sequential")],
        WEIGHTS, 800_000_000_000,
    )  # fmt: skip
    values = {(one.row, one.column): one.value for one in found.targets}
    assert values["zipf:0.8", "mb_s"] == 580
    assert values["first", "mb_s"] == 1453
    # The whole drive is in both tables: 653 and 654.
    assert values["uniform", "mb_s"] == 653.5
    assert values["uniform 50 %", "waf"] == 1.1
    assert values["zones 2 x 8192 MiB", "waf"] == 1.15
    assert values["load 40000/s", "mb_s"] == pytest.approx(162.2016)
    assert values["load 40000/s", "r99"] == pytest.approx(371)
    assert values["sequential", "mb_s"] == 1458
    loads = {one.row: one.load for one in found.targets}
    assert loads["load 100000/s"] is not None
    assert loads["load 100000/s"].is_saturated
    assert loads["load 70000/s"] is not None
    assert not loads["load 70000/s"].is_saturated
    weights = {one.column: one.weight for one in found.targets}
    assert (weights["waf"], weights["mb_s"], weights["r99.9"]) == (3, 1, 0.25)
    assert found.name.startswith("7450_skew and 7450_fill")


def test_a_cell_that_was_not_steady_is_left_out() -> None:
    from msgspec import structs

    whole = reference("7450_skew")
    (one,) = whole.tables
    rows = [[*values, "NO" if row == "zipf:1" else "yes"]
            for row, values in zip(one.rows, one.values, strict=True)]  # fmt: skip
    marked = structs.replace(one, columns=[*one.columns, "steady"], values=rows)
    found = measured([structs.replace(whole, tables=[marked])], WEIGHTS, CAPACITY)
    assert "zipf:1" not in {one.row for one in found.targets}
    assert found.warnings == [
        "7450_skew: zipf:1 was not steady when it was measured: left out (--force takes it)"
    ]


def test_two_drives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="two different drives: 7450_skew is of `Micron 7450 MAX"):
        measured([reference("7450_skew"), reference("p5520_skew")], WEIGHTS, CAPACITY)
    path = tmp_path / "both.csv"
    path.write_text("pattern,mb_s\nuniform,653\nuniform,532\n")
    with pytest.raises(
        ResultError, match=r"two different drives\? mb_s of the cell uniform is 532"
    ):
        measured([path], WEIGHTS, CAPACITY)
    path.write_text("pattern,mb_s\nuniform,600\nuniform,640\n")
    assert [one.value for one in measured([path], WEIGHTS, CAPACITY).targets] == [620]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pattern,mbs\nuniform,1\n", ":1: the column `mbs` is unknown; accepted: pattern,region"),
        ("pattern,mb_s,mb_s\nuniform,1,1\n", "the column `mb_s` is given twice"),
        ("pattern,mb_s\n", "no cell; accepted"),
        ("pattern,mb_s,waf\nuniform,,\n", ":2: a row without a figure"),
        ("pattern,mb_s\nuniform,0\n", ":2: mb_s is `0`; accepted: a number above 0"),
        ("pattern,mb_s\nuniform,nan\n", "mb_s is `nan`"),
        ("pattern,mb_s\nuniform,1e400\n", "mb_s is `1e400`"),
        ("pattern,mb_s\nuniform,1,2\n", ":2: 3 fields; accepted: 2"),
        ("pattern,mb_s\n,1\n", ":2: `` is not a pattern"),
        ("pattern,mb_s\nzones,1\n", "zone_bytes is missing"),
        ("pattern,mb_s\nload,1\n", "rate is missing"),
        ("pattern,rate,mb_s\nuniform,9,1\n", "rate is of load only"),
        ("pattern,rate,mb_s\nload,5000,1\n", "rate is 5000; accepted: above 5000"),
        ("pattern,region_bytes,mb_s\nuniform,9e9,1\nuniform,,1\n", "another drive"),
    ],
)
def test_a_bad_table_is_told(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(text)
    with pytest.raises(ResultError) as caught:
        measured([path], WEIGHTS, CAPACITY)
    assert expected in str(caught.value)


def test_an_empty_field_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(
        f"{HEAD}\nuniform,{CAPACITY},,,,,,653,,,,,,,\nzipf:0.80,15000000,,,,,32,,2,,,,,,"
    )
    found = measured([path], WEIGHTS, CAPACITY).targets
    assert [(one.row, one.column, one.value) for one in found] == [
        ("uniform", "mb_s", 653), ("zipf:0.8 50 %", "waf", 2),
    ]  # fmt: skip
    assert found[1].load is not None
    assert found[1].load.queue_depth == 32


@pytest.mark.parametrize("text", ["waf", "waf=-1", "speed=1", "waf=nan", "waf=1e9"])
def test_bad_weights_are_told(text: str) -> None:
    with pytest.raises(ResultError, match=r"--weights: .*accepted: KIND=WEIGHT"):
        weights_of(text)


# -- lengths -------------------------------------------------------------------------------------


def test_a_cell_is_as_long_as_what_is_reclaimed() -> None:
    """By hand: 33 of 2112 pages, 16 superblocks of 64 x 33 pages of 4 units, metadata off."""
    whole = onl.load_device("micron_7450_max_800gb")
    run = Load("uniform").run(whole)
    assert run.divisor == 64
    assert (
        run.row == reclaimed(run.device)[1] == pytest.approx(64 * 33 * 4 * (1 - 0.03846), rel=0.01)
    )
    assert run.workload["total"]["ios"] == 16 * run.row
    timed = run.workload["precondition"][-1]
    before = timed["drive_writes"] * run.device.effective["logical_pages"]
    assert before == pytest.approx(1024 + 512 + run.row)
    assert run.workload["precondition"][1]["max_drive_writes"] == 5.5
    zones = Load("zones", zone_bytes=1086 * MIB, block_bytes=LARGE, queue_depth=1).run(whole)
    assert zones.workload["pattern"]["zone_bytes"] == 34 * LARGE
    with pytest.raises(
        ConfigError, match=r"cell uniform: takes .* requests .*16 x .* units of 4096"
    ):
        Load("uniform").run(whole, requests_max=1000)


def test_a_cell_that_closes_no_superblock_is_an_error() -> None:
    one = CELLS[0]
    run = one.run(onl.load_device(device()))
    short = {**run.workload, "total": {"ios": 2}}
    document = benchmark(run.device, short, seed=1).document
    with pytest.raises(ConfigError, match="a superblock has 96, so none was closed"):
        figures(one, run.row, document)


def test_probes_and_reads_have_their_figures() -> None:
    columns = list(FIGURES)
    for one, named in (
        (Load("load", rate=5600, queue_depth=64), "r99"),
        (Load("uniform", read_pct=100, queue_depth=4), "r50"),
    ):
        small = onl.load_device(device(wordline_us=50))
        run = one.run(small)
        found = figures(one, run.row, benchmark(run.device, run.workload, seed=1).document)
        value = found[columns.index(named)]
        assert value is not None
        assert value > 0


# -- fits ----------------------------------------------------------------------------------------

FREE = ["nand.program.t_wordline_us", "ftl.gc_policy=greedy,cost_benefit"]


@pytest.mark.parametrize("policy", ["greedy", "cost_benefit"])
def test_policy_and_program_time_of_a_small_drive(policy: str, tmp_path: Path) -> None:
    cells = table(tmp_path / "cells.csv", device(1500, policy))
    found = onl.calibrate(device(1000), cells, FREE, seed=3)
    best, other = sorted(found.document.variants or (), key=lambda one: -float(one.weight))
    assert best.choice == {"ftl.gc_policy": policy}
    assert best.weight > 0.99 > other.weight
    (key,) = found.document.keys
    assert key.value == pytest.approx(1500, rel=0.03)
    assert key.verdict == "determined"
    assert key.p5 is not None
    assert key.p95 is not None
    assert key.p5 < 1500 < key.p95
    assert found.document.verdict == "fits"
    assert policy in str(found.device["ftl.gc_policy"])
    assert "# Chosen; probability: greedy" in found.text
    again = onl.calibrate(device(1000), cells, FREE, seed=3, jobs=1)
    assert again.document.digest == found.document.digest


def test_held_out_cells_have_bands(tmp_path: Path) -> None:
    cells = table(tmp_path / "cells.csv", device(1500))
    found = onl.calibrate(device(1000), cells, FREE[:1], hold_out="uniform 50 %", seed=3).document
    assert found.posterior is not None
    assert [one.row for one in found.posterior.bands] == ["uniform 50 %"] * 2
    assert found.posterior.coverage_pct == 100
    assert not found.posterior.is_too_sure
    assert "bands" in str([one.id for one in pages.report(found).chapters[0].sections[1].items])
    # By default no cell is held out that is the only one of its kind.
    assert plan(device(), cells, FREE).held == set()


def test_a_table_of_another_drive_fits_no_variant(tmp_path: Path) -> None:
    cells = table(tmp_path / "cells.csv", device(1500))
    text = cells.read_text().splitlines()
    row = text[2].split(",")
    text[2] = ",".join([*row[:4], str(float(row[4]) * 4), row[5]])
    cells.write_text("\n".join(text))
    path = tmp_path / "drive.yaml"
    path.write_text(json.dumps(device()))
    done = CliRunner().invoke(
        app,
        ["calibrate", "-d", str(path), "--to", str(cells), "--free", "ftl.over_provisioning_pct",
         "--runs", "8", "-o", str(tmp_path / "fit.yaml")],
    )  # fmt: skip
    assert done.exit_code == 1, done.output
    written = json.loads((tmp_path / "fit.json").read_text())
    assert written["verdict"] == "no variant fits"
    assert any("ended at --runs (8)" in one for one in written["warnings"])


@pytest.mark.parametrize(("factor", "way"), [(1e3, "above"), (1024, "above"), (1e-3, "below")])
def test_units_that_are_off_are_told(factor: float, way: str, tmp_path: Path) -> None:
    cells = table(tmp_path / "cells.csv", device(), factor)
    with pytest.raises(ResultError, match=rf"rate: .* times {way} .*a factor of 1000 or 1024"):
        onl.calibrate(device(), cells)


def test_choices_are_limited_and_checked() -> None:
    whole = onl.load_device(device())
    many = parse(["ftl.gc_policy=greedy,cost_benefit", f"a.b={','.join(map(str, range(13)))}"])
    with pytest.raises(ConfigError, match="26 combinations; accepted: up to 24"):
        choices(many, whole)
    with pytest.raises(ConfigError, match="named twice"):
        choices(parse(["ftl.gc_policy=greedy,greedy"]), whole)
    with pytest.raises(ConfigError, match=r"with ftl.gc_policy greed the device is invalid"):
        choices(parse(["ftl.gc_policy=greedy,greed"]), whole)
    with pytest.raises(ConfigError, match="is not a value"):
        parse(["ftl.gc_policy=greedy,[1]"])
    pages = choices(parse(["nand.pages_per_block=24,48", "ftl.gc_policy=greedy,fifo"]), whole)
    assert len(pages) == 4
    assert pages[0] == {"nand.pages_per_block": 24, "ftl.gc_policy": "greedy"}


def test_options_of_sizes_are_refused(tmp_path: Path) -> None:
    cells = table(tmp_path / "cells.csv", device())
    with pytest.raises(ConfigError, match="--threads: is of tables of sizes and mixes"):
        plan(device(), cells, asked=Asked(threads=2))
    with pytest.raises(ConfigError, match="--weights: are of tables with several kinds"):
        plan("client_sata_2013", "reference:client_2013_iops", weights="waf=1")


# -- what is known -------------------------------------------------------------------------------


def fit(formula: Callable[[Values, int], float], value: float) -> Objective:
    """Return the objective of a formula over five cells that are all 1, at one place."""
    cells = [Target(str(at), "mb_s", 4096, 0.0, 1.0, load=Load("uniform")) for at in range(5)]
    key = Key("a", 0.1, 10.0, value)

    def model(batch: Any) -> list[list[float] | None]:
        return [[formula(values, at) for at in range(5)] for values in batch]

    objective = Objective([key], cells, {"4:mb_s"}, model, 10)
    start(objective, model)
    return objective


def test_weights_are_those_of_the_formula() -> None:
    """By hand: four residuals r of 0.02 and of 0.10; s^2 = 0.01^2 + (0.08^2 + 4 r^2) / 5."""
    near, far = fit(lambda _, __: math.exp(0.02), 1.0), fit(lambda _, __: math.exp(0.1), 1.0)
    variants = [Variant({"x": 1}, near), Variant({"x": 2}, far)]
    cells = [Target(str(at), "mb_s", 4096, 0.0, 1.0, load=Load("uniform")) for at in range(5)]
    deviations = posterior.weighed(variants, cells)
    variance = 0.01**2 + (0.08**2 + 4 * 0.02**2) / 5
    assert deviations[0] ** 2 == pytest.approx(variance)
    ratio = math.exp(-4 * (0.1**2 - 0.02**2) / variance / 2)
    assert variants[1].weight / variants[0].weight == pytest.approx(ratio)
    assert variants[0].weight + variants[1].weight == pytest.approx(1)


def test_a_band_that_misses_is_too_sure() -> None:
    """The held-out cell is twice what every other tells."""
    objective = fit(lambda values, at: float(values["a"]) * (2.0 if at == 4 else 1.0), 1.0)
    variants = [Variant({}, objective)]
    cells = [Target(str(at), "mb_s", 4096, 0.0, 1.0, load=Load("uniform")) for at in range(5)]
    deviations = posterior.weighed(variants, cells)
    slopes = calibrating.slopes_at_best(objective)
    assert slopes is not None
    from opennandlab.studies.calibration import sensitivity

    judged = sensitivity.judged(
        objective.keys, np.array([0.5]), slopes.slopes, np.zeros(5), objective.weighted
    )
    found = posterior.predicted(cells, variants, deviations, judged)
    assert found.coverage_pct == 0
    assert found.is_too_sure
    assert found.bands[0].low > 1.5
