"""Fits find what is to be found, name what is not, and go on where they were cut."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.cli import app
from opennandlab.documents import pts_header
from opennandlab.documents.calibration import CalibrationDocument
from opennandlab.documents.pts import PtsDocument, to_json
from opennandlab.measured import reference
from opennandlab.measured.document import Cell, Said, made
from opennandlab.pts.bench.cells import Question, measured
from opennandlab.reports import calibration as pages
from opennandlab.studies.calibration import calibrating, ends, search, sensitivity
from opennandlab.studies.calibration import objective as objective_module
from opennandlab.studies.calibration.cells import Target, held_out, targets
from opennandlab.studies.calibration.conditions import Asked
from opennandlab.studies.calibration.ends import why_flat
from opennandlab.studies.calibration.journal import Journal
from opennandlab.studies.calibration.keys import Key, keys_of, limits, parse
from opennandlab.studies.calibration.objective import Objective, Progress, Values, start
from opennandlab.studies.calibration.planning import plan
from opennandlab.targets.base import Limit, Stimulus
from opennandlab.targets.simulated import SimulatedTarget

SMALL: dict[str, Any] = {
    "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
             "pages_per_block": 32,
             "timing": {"t_read_us": 55, "t_program_us": 600, "t_erase_us": 3000}},
    "ftl": {"over_provisioning_pct": 0.28},
    "host": {"command_overhead_us": 7, "command_cost_us": {"read": 9, "write": 4}},
}  # fmt: skip
SIZES = [(size, mix) for mix in (100.0, 50.0, 0.0) for size in (65536, 16384, 4096)]
QUICK = Asked(requests=200, settle=0.5)


def document(
    device: dict[str, Any], cells: Sequence[tuple[int, float]] = SIZES, **changes: Any
) -> PtsDocument:
    """Return what a drive gives, as if somebody else had measured it."""
    question = Question(tuple(cells), threads=2, queue_depth=4, requests=200, settle=0.5, **changes)
    rows = measured(device, question, 42)["cells"]
    found = [Cell(one["block_bytes"], one["read_pct"], {"iops": one["iops"]}) for one in rows]
    imported = pts_header.Imported(origin="CSV", files=[], source="a test", unknown=[])
    return made(Said("iops", "small", threads=2, queue_depth=4), found, imported)


def changed(**timing: Any) -> dict[str, Any]:
    return {**SMALL, "nand": {**SMALL["nand"], "timing": {**SMALL["nand"]["timing"], **timing}}}


# -- closed form ---------------------------------------------------------------------------------

TRUTH = {"a": 7.7, "b": 1.8, "c": 4.5, "p": 3.0, "q": 2.0}


def closed(values: Values, names: Sequence[tuple[float, float]]) -> list[float]:
    """Requests a second of a drive that serves one at a time; p and q only act together."""
    read = [values["a"] + values["b"] * size for size, _ in names]
    write = [values["c"] + values["p"] * values["q"] * size for size, _ in names]
    shares = [mix / 100 for _, mix in names]
    return [
        1e6 / (share * one + (1 - share) * other)
        for share, one, other in zip(shares, read, write, strict=True)
    ]


def fitted(free: Sequence[Key], runs: int) -> tuple[Objective, sensitivity.Sensitivity]:
    places = [(float(size), mix) for mix in (0.0, 35.0, 65.0, 100.0) for size in (1, 4, 16, 64)]
    figures = closed(TRUTH, places)
    found = [
        Target(f"{size:g}", f"{mix:g}", int(size) * 1024, mix, value)
        for (size, mix), value in zip(places, figures, strict=True)
    ]

    def model(batch: Sequence[Values]) -> list[list[float] | None]:
        return [closed({**TRUTH, **values}, places) for values in batch]

    objective = Objective(free, found, set(), model, runs)
    start(objective, model)
    search.find(objective, runs, 42)
    slopes = calibrating.slopes_at_best(objective)
    assert slopes is not None
    assert objective.best is not None
    assert objective.best_residuals is not None
    judged = sensitivity.judged(
        free,
        objective.best,
        slopes.slopes,
        objective.best_residuals,
        objective.weighted,
        slopes.noise,
    )
    return objective, judged


def test_five_keys_are_recovered_as_far_as_they_can_be() -> None:
    """Of p and q only the product is in the data: both are named, with each other."""
    free = [Key(name, 0.2, 50.0, 1.0) for name in TRUTH]
    objective, judged = fitted(free, 200)
    assert objective.best is not None
    values = objective.values(objective.best)
    for name in "abc":
        assert values[name] == pytest.approx(TRUTH[name], rel=0.02)
    assert values["p"] * values["q"] == pytest.approx(6.0, rel=0.02)
    verdicts = {key.path: one for key, one in zip(free, judged.keys, strict=True)}
    assert [verdicts[name].verdict for name in "abcpq"] == ["determined"] * 3 + ["correlated"] * 2
    assert verdicts["p"].partner == 4
    assert verdicts["p"].correlation == pytest.approx(-1, abs=1e-3)
    assert verdicts["p"].standard_error is None
    assert judged.directions[-1][0] < 1e-3
    assert np.abs(judged.directions[-1][1]).tolist() == pytest.approx(
        [0, 0, 0, 0.5**0.5, 0.5**0.5], abs=0.02
    )
    assert objective.runs <= 200


def test_slopes_are_those_of_the_formula() -> None:
    _, judged = fitted([Key("b", 0.5, 5.0, 1.0)], 60)
    expected = [-1.8 * size / (7.7 + 1.8 * size) for size in (1, 4, 16, 64)]
    assert judged.slopes[12:, 0] == pytest.approx(expected, rel=0.01)
    assert judged.slopes[:4, 0] == pytest.approx(0, abs=1e-9)


def test_the_same_seed_finds_the_same(tmp_path: Path) -> None:
    del tmp_path
    free = [Key(name, 0.2, 50.0, 1.0) for name in "ab"]
    one, other = fitted(free, 100)[0], fitted(free, 100)[0]
    assert one.best is not None
    assert other.best is not None
    assert one.best.tolist() == other.best.tolist()
    assert one.steps == other.steps


def searched(
    formula: Callable[[Values, float], float], truth: Values, free: Sequence[Key], starts: int
) -> tuple[Objective, sensitivity.Sensitivity, list[str]]:
    """Fit keys of a formula over sizes to what it gives for the truth."""
    sizes = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)

    def model(batch: Sequence[Values]) -> list[list[float] | None]:
        return [[formula(values, size) for size in sizes] for values in batch]

    figures = model([truth])[0]
    assert figures is not None
    found = [
        Target(f"{size:g}", "100/0", int(size) * 1024, 100.0, value)
        for size, value in zip(sizes, figures, strict=True)
    ]
    objective = Objective(free, found, set(), model, 100)
    start(objective, model)
    search.find(objective, 100, 42, starts)
    slopes = calibrating.slopes_at_best(objective)
    assert slopes is not None
    assert objective.best is not None
    assert objective.best_residuals is not None
    judged = sensitivity.judged(
        free, objective.best, slopes.slopes, objective.best_residuals, objective.weighted,
        slopes.noise,
    )  # fmt: skip
    return objective, *ends.doubted(judged, objective)


def folded(values: Values, size: float) -> float:
    """Give the same for `a` and for 9 / a: two minima that fit equally well."""
    return values["b"] * size * math.exp(math.log(values["a"] / 3.0) ** 2 / (1 + size))


def test_two_minima_are_told_though_each_seems_determined() -> None:
    free = [Key("a", 0.5, 20.0, 1.0), Key("b", 0.1, 10.0, 1.0)]
    objective, judged, warnings = searched(folded, {"a": 7.0, "b": 2.0}, free, 4)
    assert [one.verdict for one in judged.keys] == ["ambiguous", "determined"]
    text = next(one for one in warnings if one.startswith("a: "))
    values = [float(one) for one in re.findall(r"(?:: |or )([\d.]+) \(", text)]
    assert sorted(values) == pytest.approx([9 / 7, 7.0], rel=0.05)
    assert len(objective.ends) == 2, "two starts that end equally well are enough"
    assert len(ends.told(objective) or []) == 2
    assert len(searched(folded, {"a": 7.0, "b": 2.0}, free, 1)[0].ends) == 1


def test_a_minimum_that_was_found_once_is_doubted() -> None:
    free = [Key("a", 0.5, 20.0, 1.0), Key("b", 0.1, 10.0, 1.0)]
    objective, judged, _ = searched(folded, {"a": 7.0, "b": 2.0}, free, 1)
    best = objective.ends[0]
    elsewhere = np.array([best.place[0], 0.0])
    objective.ends.append(objective_module.End(elsewhere, best.residuals + 0.5, 200))
    objective.seen.clear()
    found, warnings = ends.doubted(
        replace(judged, keys=[replace(one, verdict="determined") for one in judged.keys]), objective
    )
    assert [one.verdict for one in found.keys] == ["determined", "ambiguous"]
    assert "only one of 2 starts led to the best minimum" in warnings[-1]


def test_figures_that_jump_determine_nothing() -> None:
    """Differences of chance look like slopes: a key that does nothing else is not determined."""

    def jumping(values: Values, size: float) -> float:
        return values["b"] * size * (1 + 0.1 * math.sin(1e7 * values["a"] * size))

    free = [Key("a", 0.5, 20.0, 1.0), Key("b", 0.1, 10.0, 1.0)]
    _, judged, _ = searched(jumping, {"a": 7.0, "b": 2.0}, free, 2)
    assert judged.keys[0].verdict == "flat"


# -- a simulated drive ---------------------------------------------------------------------------


def test_a_small_drive_is_recovered_and_its_erases_are_not() -> None:
    """Reads alone: their time is in the data, that of erases is not."""
    reads = [(size, 100.0) for size in (65536, 16384, 8192, 4096)]
    free = ["nand.timing.t_read_us=20:200", "nand.timing.t_erase_us=1000:10000"]
    found = onl.calibrate(
        changed(t_read_us=100), document(SMALL, reads), free, hold_out=0, runs=40, asked=QUICK
    )
    read, erase = found.document.keys
    assert read.value == pytest.approx(55, rel=0.02)
    assert (read.verdict, erase.verdict) == ("determined", "flat")
    assert erase.standard_error_pct is None
    assert found.device["nand.timing.t_read_us"] == read.value
    assert "# Fitted to 4 cells of small" in found.text
    again = onl.load_device(json.loads(json.dumps(found.document.config)))
    assert again.json == found.device.json


@pytest.mark.long
def test_five_keys_of_a_small_drive() -> None:
    """Dies are the bottleneck: times of flash are recovered, those of the host are named."""
    free = [
        "nand.timing.t_read_us=20:200", "nand.timing.t_program_us=200:2000",
        "host.command_overhead_us=1:50", "host.command_cost_us.read=1:50",
        "nand.timing.t_erase_us=1000:10000",
    ]  # fmt: skip
    device = changed(t_read_us=100, t_program_us=1200)
    device["host"] = {"command_overhead_us": 20, "command_cost_us": {"read": 3, "write": 4}}
    cells = [(size, mix) for mix in (100.0, 65.0, 35.0, 0.0) for size in (65536, 16384, 4096)]
    found = onl.calibrate(device, document(SMALL, cells), free, hold_out=0.25, asked=QUICK)
    truth = (55, 600, 7, 9, 3000)
    for key, value in zip(found.document.keys, truth, strict=True):
        if key.verdict == "determined":
            assert key.value == pytest.approx(value, rel=0.02), key.key
    verdicts = [key.verdict for key in found.document.keys]
    assert verdicts == ["determined", "determined", "flat", "flat", "correlated"]
    overhead, cost = found.document.keys[2:4]
    assert overhead.partner == cost.key
    assert found.document.held_out is not None
    assert found.document.held_out.rms_pct < 0.1


def test_a_cut_calibration_goes_on_to_the_same_document(tmp_path: Path) -> None:
    wanted = plan(
        changed(t_read_us=100),
        document(SMALL, SIZES[:4]),
        {"nand.timing.t_read_us": (20, 200), "nand.timing.t_program_us": (200, 2000)},
        hold_out=0,
        runs=60,
        asked=QUICK,
    )
    journal = tmp_path / "journal"

    def cut(state: Progress) -> None:
        if state.runs >= 10:
            raise KeyboardInterrupt

    partial = calibrating.run(wanted, jobs=2, journal=journal, watch=cut)
    assert partial.document.partial
    assert partial.document.keys[0].verdict == "unknown"
    assert partial.text.startswith("# custom, calibrated")
    whole = calibrating.run(wanted, jobs=1, journal=journal)
    assert whole.document.run.known >= 10
    assert not journal.exists()
    assert whole.document.digest == calibrating.run(wanted, jobs=2).document.digest
    other = Journal(journal, "of another calibration")
    other.add("key", [1.0])
    with pytest.raises(ConfigError, match="is used by another process"):
        calibrating.run(wanted, journal=journal)
    other.close(is_done=False)
    with pytest.raises(ConfigError, match="is of other settings"):
        calibrating.run(wanted, journal=journal)
    empty = tmp_path / "empty"
    Journal(empty, "of a run that never came to its end").close(is_done=False)
    assert not empty.exists()


def test_without_keys_the_device_is_held_against_the_document_as_it_is() -> None:
    """A drive against its own figures has no error; with slower reads these are too slow."""
    drive = document(SMALL, SIZES[:4])
    same = onl.calibrate(SMALL, drive, asked=QUICK).document
    assert (same.runs, same.keys, same.held_out, same.fitted.count) == (1, [], None, 4)
    assert same.fitted.rms_pct == pytest.approx(0, abs=1e-9)
    assert same.optimiser == "none"
    slow = onl.calibrate(changed(t_read_us=100), drive, asked=QUICK).document
    errors = {one.column: one.error_pct for one in slow.fitted.cells}
    assert errors["100/0"] < -10
    shown = pages.report(slow)
    assert [section.id for section in shown.chapters[0].sections] == ["errors", "conditions"]
    for what in ({"hold_out": 0.5}, {"runs": 5}):
        with pytest.raises(ConfigError, match="belongs to a fit, and no key is free"):
            plan(SMALL, drive, asked=QUICK, **what)  # type: ignore[arg-type]


# -- keys, cells, the command --------------------------------------------------------------------


def test_bounds_come_from_the_schema_and_the_value() -> None:
    device = onl.load_device("client_sata_2013")
    program, blocks = keys_of(
        parse(["nand.timing.t_program_us", "ftl.write_buffer_pages=1:1024"]), device
    )
    assert (program.low, program.high, program.is_log) == (95.6, 9560, True)
    assert blocks.is_integer
    assert [blocks.value(at) for at in (0, 1)] == [1, 1024]
    assert limits("nand.no_such_key") == (False, None, None)


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        (["nand.timing.t_raed_us"], r"no such key.*did you mean `nand.timing.t_read_us`"),
        (["nand.cell_type"], "`TLC`, which is not a number"),
        (["nand.timing.t_read_us=200:20"], "200:20 is the wrong way round"),
        (["nand.timing.t_read_us=20:20"], "20:20 is not a range"),
        (["nand.timing.t_read_us=a:b"], "`a:b` are not bounds"),
        (["nand.timing.t_read_us=-5:20"], "with -5 the device is invalid"),
        (["nand.channels=1.5:8"], "holds whole numbers"),
        (["ftl.write_buffer_pages"], "is 0, which gives no range"),
        (["nand.timing.t_read_us", "nand.timing.t_read_us"], "named twice"),
        (["=1:2"], "names no key"),
        ([], "no key was named"),
    ],
)
def test_bad_keys_are_told(free: list[str], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        keys_of(parse(free), onl.load_device("tlc_standard"))


def test_cells_are_held_out_over_the_whole_table() -> None:
    found = [one.name for one in targets(reference("client_2013_iops"))]
    assert len(found) == 56
    one = held_out(found, None, 42)
    assert len(one) == 14
    assert one == held_out(found, "0.25", 42) != held_out(found, None, 43)
    assert held_out(found, "4:0/100, 8:100/0", 42) == {"4:0/100", "8:100/0"}
    assert held_out(found, "0", 42) == set()
    for bad in ("1", "-1", "many", "nan"):
        with pytest.raises(ResultError, match="accepted: a share"):
            held_out(found, bad, 42)
    with pytest.raises(ResultError, match="no cell is called `5:0/100`"):
        held_out(found, "5:0/100", 42)


def test_documents_without_common_cells_are_refused() -> None:
    with pytest.raises(ResultError, match="no common cell: it is of the test `skew`"):
        targets(reference("7450_skew"))
    whole = reference("client_2013_iops")
    with pytest.raises(ResultError, match="no common cell: it has no table `iops`"):
        targets(replace_tables(whole, []))
    table = whole.tables[0]
    odd = type(table)(**{name: getattr(table, name) for name in table.__struct_fields__}
                      | {"rows": [f"row {at}" for at in range(8)]})  # fmt: skip
    with pytest.raises(ResultError, match="no row of `iops` is a size"):
        targets(replace_tables(whole, [odd]))


def replace_tables(document: PtsDocument, tables: list[Any]) -> PtsDocument:
    from msgspec import structs

    return structs.replace(document, tables=tables)


def test_the_command_writes_device_document_and_page(tmp_path: Path) -> None:
    device, truth, out = tmp_path / "mine.yaml", tmp_path / "drive.json", tmp_path / "fit.yaml"
    device.write_text(
        "# My drive.\nnand:\n  channels: 2\n  dies_per_channel: 2\n  planes_per_die: 1\n"
        "  blocks_per_plane: 64\n  pages_per_block: 32\n  timing:\n    # A guess.\n"
        "    t_read_us: 100\nftl:\n  over_provisioning_pct: 0.28\n"
    )
    truth.write_text(json.dumps(to_json(document(SMALL, SIZES[:4]))))
    run = CliRunner()
    arguments = [
        "calibrate", "--device", str(device), "--to", str(truth), "--output", str(out),
        "--requests", "100", "--settle", "0.5", "--runs", "20",
        "--html", str(tmp_path / "fit.html"),
    ]  # fmt: skip
    done = run.invoke(app, [*arguments, "--free", "nand.timing.t_read_us=20:200"])
    assert done.exit_code == 0, done.output
    text = out.read_text()
    assert "# My drive." in text
    assert "A guess" not in text
    assert "# Fitted to 3 cells of small (iops), 100 before" in text
    assert onl.load_device(str(out))["nand.timing.t_read_us"] != 100
    found = onl.load(out.with_suffix(".json"))
    assert isinstance(found, CalibrationDocument)
    assert found.measured.source == "a test"
    assert "standard error, %" in (tmp_path / "fit.html").read_text()
    page = run.invoke(
        app, ["report", str(out.with_suffix(".json")), "--html", str(tmp_path / "p.html")]
    )
    assert page.exit_code == 0, page.output
    for extra in (
        ["--free", "nand.timing.t_read_us=200:20"],
        ["--free", "nand.no_such"],
        ["--free", "nand.timing.t_read_us", "--hold-out", "2"],
        ["--free", "nand.timing.t_read_us", "--to", "reference:7450_skew"],
        ["--free", "nand.timing.t_read_us", "--to", str(device)],
        ["--free", "nand.timing.t_read_us", "--output", str(device)],
        ["--free", "nand.timing.t_read_us", "--blocks", "1000000"],
        ["--free", "nand.timing.t_read_us", "--ar-amount", "900TiB"],
        ["--free", "nand.timing.t_read_us", "--ar-amount", "0"],
        [],
    ):
        before = out.read_bytes()
        refused = run.invoke(app, [*arguments, *extra])
        assert refused.exit_code == 2, (extra, refused.output)
        assert out.read_bytes() == before
    alone = ["calibrate", "--device", str(device), "--to", str(truth), "--requests", "100"]
    figure, errors = tmp_path / "e.svg", tmp_path / "e.json"
    done = run.invoke(app, [*alone, "--plot", str(figure), "--output", str(errors)])
    assert done.exit_code == 0, done.output
    assert "as it is, against 4 cells of iops" in done.output
    assert figure.read_text().startswith("<?xml")
    assert onl.load(errors).keys == []
    done = run.invoke(app, [*alone, "--free", "nand.timing.t_read_us"])
    assert done.exit_code == 2
    assert "the fitted device needs a place" in done.output


def test_what_cannot_run_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    tiny = changed()
    journal = tmp_path / ".fitted.yaml.journal"
    wanted = plan(
        {**tiny, "nand": {**tiny["nand"], "max_pe_cycles": 1}}, document(SMALL),
        ["nand.timing.t_read_us"], asked=replace(QUICK, settle=50),
    )  # fmt: skip
    with pytest.raises((ResultError, ConfigError), match="the device as it is"):
        calibrating.run(wanted, journal=journal)
    assert not journal.exists()


# -- how long a cell is ---------------------------------------------------------------------------

# A buffer of 4096 pages, and one group of superblocks of 256.
BUFFERED: dict[str, Any] = {
    "nand": {"channels": 2, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 128,
             "pages_per_block": 64},
    "ftl": {"over_provisioning_pct": 0.28, "gc_reserve_blocks": 4, "allocation": "superblock",
            "write_buffer_pages": 4096},
    "host": {"power_loss_protected": True},
}  # fmt: skip


def asked_of(device: dict[str, Any], *cells: tuple[int, float], **changes: Any) -> list[Any]:
    question = Question(cells, threads=2, queue_depth=4, **changes)
    return list(measured(device, question, 42)["cells"])


def test_a_cell_of_writes_is_that_of_a_drive_that_collects() -> None:
    """2000 requests fit into a large write buffer: the cell was the buffer's, +527 % on a drive.

    The other side is one cell of 200 reclaimed superblocks after three drive writes.
    """
    drive = SimulatedTarget(BUFFERED)
    size = drive.capacity_bytes // 4096 * 4096
    drive.run(
        Stimulus("sequential", block_bytes=1 << 17), Limit(bytes=size), seed=1, is_measured=False
    )
    drive.run(Stimulus(), Limit(bytes=3 * size), seed=2, is_measured=False)
    load = Stimulus(threads=2, queue_depth=4)
    long = drive.run(load, Limit(reclaims=200, seconds_max=1e4, ramp_ratio=0.1), seed=3)
    reads, mixed, writes = asked_of(BUFFERED, (4096, 100.0), (4096, 50.0), (4096, 0.0))
    assert writes["iops"] == pytest.approx(long.iops, rel=0.05)
    assert writes["waf"] == pytest.approx(long.inside["waf"], rel=0.05)
    # Half of the requests write, so there are about twice as many of them a second.
    assert mixed["iops"] == pytest.approx(2 * writes["iops"], rel=0.1)
    assert reads["waf"] is None


def test_a_cell_that_would_be_too_long_is_refused_with_the_arithmetic() -> None:
    with pytest.raises(ConfigError) as refused:
        asked_of(BUFFERED, (4096, 99.0), requests_max=50_000)
    found = re.fullmatch(
        r"cell 4:99/1: takes (\d+) requests \(16 x 256 units of 4096 B to reclaim, by WAF "
        r"([\d.]+), requests of 4096 B and 1 % writes\); accepted: at most 50000: larger "
        r"--requests-max, or a device of fewer nand.pages_per_block",
        str(refused.value),
    )
    assert found is not None
    # The queue, the buffer and a row before them.
    expected = 8 + 100 * (4096 + 17 * 256 / float(found[2]))
    assert int(found[1]) == pytest.approx(expected, rel=0.01)
    # A drive that nothing was written to but once is no drive that collects.
    with pytest.raises(ConfigError, match=r"nothing was collected in .* longer --settle"):
        asked_of(BUFFERED, (4096, 0.0), settle=0.0)


def test_what_fits_into_the_spare_area_is_as_long_as_its_requests() -> None:
    """A small part of a drive is never collected with live data: nothing is waited for."""
    (one,) = asked_of(BUFFERED, (4096, 0.0), share=0.5, amount_share=0.1, settle=0.1)
    assert one["waf"] is None or one["waf"] <= 1.01


def test_the_published_client_drive_has_the_range_that_was_tested() -> None:
    """Without it, all of the drive was taken, and the RMS error of the preset was 52 %."""
    for name in ("client_2013_iops", "client_2013_latency", "client_2013_throughput"):
        found = reference(name)
        assert found.header.active_range.amount_bytes == 8 << 30
        assert found.header.imported is not None
        assert "active range" not in found.header.imported.unknown
    held = onl.calibrate("client_sata_2013", "reference:client_2013_iops")
    assert held.document.fitted.count == 56
    assert held.document.fitted.rms_pct == pytest.approx(8.0, abs=0.5)
    assert not [text for text in held.document.warnings if "range" in text]


def test_a_fit_that_says_nothing_says_so() -> None:
    reads = document(changed(t_read_us=110), [(4096, 100.0), (65536, 100.0)])
    found = onl.calibrate(
        SMALL, reads, ["nand.timing.t_erase_us=2000:4000"], hold_out=0, asked=QUICK, starts=1
    )
    assert found.document.keys[0].verdict == "flat"
    flat, nothing, none = found.document.warnings[-3:]
    assert (found.document.verdict, none[:15]) == ("no variant fits", "no variant fits")
    assert flat.startswith("nand.timing.t_erase_us is flat: the fitted cells hardly change with it")
    assert nothing.startswith("the fit is no better than the device was: RMS error ")
    # Reads do tell their own time.
    told = onl.calibrate(
        SMALL, reads, ["nand.timing.t_read_us=20:200"], hold_out=0, asked=QUICK, starts=1
    )
    assert not [text for text in told.document.warnings if "flat" in text or "no better" in text]


def test_a_flat_key_that_the_cells_follow_is_not_said_to_leave_them_alone() -> None:
    """One cell with a slope of 0.85, fitted to 14 %, was said to hardly change with its key."""
    assert "hardly change with it" in why_flat(0.001, 5.0)
    assert "hardly change with it" in why_flat(0.5, None)
    said = why_flat(0.854, 0.18)
    assert "hardly" not in said
    assert "a standard error of 18 %" in said


def test_keys_that_cells_run_without_are_not_fitted() -> None:
    cells = document(BUFFERED, [(4096, 0.0), (4096, 100.0)])
    off = replace(QUICK, cache=False)
    volatile = {**BUFFERED, "host": {}}
    with pytest.raises(ConfigError, match="run with the write cache off, where it has no effect"):
        onl.calibrate(volatile, cells, ["ftl.write_buffer_pages=1:9000"], hold_out=0, asked=off)
    blocks = replace(QUICK, blocks=64)
    with pytest.raises(ConfigError, match=r"nand\.blocks_per_plane is fitted; accepted: one of"):
        onl.calibrate(SMALL, cells, ["nand.blocks_per_plane=64:80"], hold_out=0, asked=blocks)


@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_journal_that_was_edited_is_refused(line: int, tmp_path: Path) -> None:
    """A figure that was changed by hand, or by a disk, went into the fit without a word."""
    path = tmp_path / "journal"
    kept = Journal(path, "settings")
    kept.add("one", [1.5, 2.5])
    kept.add("two", None)
    kept.close(is_done=False)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line][:-3] + b"7" + lines[line][-2:]
    path.write_bytes(b"".join(lines))
    with pytest.raises(ConfigError, match=rf"line {line + 1} of .* is damaged or edited"):
        Journal(path, "settings")


def test_a_journal_that_another_process_began_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """Lines of both would have stood in one file, by two sums."""
    path = tmp_path / "journal"
    late, early = Journal(path, "settings"), Journal(path, "settings")
    early.add("one", [1.0])
    for _ in range(2):
        with pytest.raises(ConfigError, match="is used by another process"):
            late.add("two", [2.0])
        early.close(is_done=False)
    assert Journal(path, "settings").known == {"one": [1.0]}
