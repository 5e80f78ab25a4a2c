"""Runs of one cell are its repeats: mean, deviation, interval and range; a difference needs both.

100, 104 and 96 are 100 with a deviation of 4 and an interval of +-9.94, by t = 4.303 of Student's
table for two degrees of freedom.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_importing_fio import cells, sample
from typer.testing import CliRunner

from opennandlab.base.errors import ResultError
from opennandlab.cli import app
from opennandlab.documents.pts import PtsDocument
from opennandlab.measured import import_files
from opennandlab.measured.importing import Wanted

Document = dict[str, Any]


def runs(folder: Path, rates: list[float], name: str = "run", **options: str) -> list[Path]:
    """Write outputs of as many IOPS, with the same requests in flight."""
    paths = []
    for at, rate in enumerate(rates):
        document = sample("plain")
        job = document["jobs"][0]
        side = job["read"]
        job["job options"] |= options
        flying = side["iops"] * side["lat_ns"]["mean"]
        side |= {"total_ios": round(rate * 10), "runtime": 10_000, "iops": rate,
                 "io_bytes": round(rate * 10) * 16384, "bw_bytes": round(rate) * 16384}  # fmt: skip
        job["job_runtime"] = 10_000
        # So that two runs are never one file.
        job["usr_cpu"] = at / 10
        for kind in ("lat_ns", "clat_ns"):
            most = 10 * flying / rate
            side[kind] |= {"mean": flying / rate, "N": round(rate * 10), "max": most}
        path = folder / f"{name}{at}.json"
        path.write_text(json.dumps(document))
        paths.append(path)
    return paths


def imported(paths: list[Path], **wanted: Any) -> PtsDocument:
    return import_files(paths, Wanted(**wanted))


def test_a_cell_has_the_mean_of_its_runs_and_how_far_it_may_be_off(tmp_path: Path) -> None:
    found = imported(runs(tmp_path, [100, 104, 96]))
    assert cells(found)["iops[16, 100/0]"] == pytest.approx(100)
    repeats = {one.table: one for one in found.header.imported.repeats}
    iops = repeats["iops"]
    assert (iops.count, iops.mean, iops.sd) == (3, pytest.approx(100), pytest.approx(4))
    assert iops.half_width == pytest.approx(9.94, abs=0.005)
    assert (iops.least, iops.greatest) == (pytest.approx(96), pytest.approx(104))
    table = next(one for one in found.tables if one.id == "iops")
    assert table.low == [[pytest.approx(90.06, abs=0.005)]]
    assert table.high == [[pytest.approx(109.94, abs=0.005)]]
    # MB/s in their own unit, and the longest of all.
    assert repeats["mb_s"].sd == pytest.approx(4 * 16384e-6)
    assert [row.round for row in found.cells.rows] == [1, 2, 3]
    latency = imported(runs(tmp_path, [100, 104, 96]), test="latency")
    assert cells(latency)["mrt[16, 100/0]"] == pytest.approx(
        max(row.lat_us_max for row in found.cells.rows) / 1000
    )
    assert any("the mean of 3 runs" in it for it in found.warnings)
    one = imported(runs(tmp_path, [100]))
    assert one.header.imported.repeats is None
    assert one.tables[0].low is None


def test_repeats_stand_on_the_terminal_and_the_page(tmp_path: Path) -> None:
    paths = [str(path) for path in runs(tmp_path, [100, 104, 96])]
    saved, page = tmp_path / "saved", tmp_path / "page.html"
    run = CliRunner()
    done = run.invoke(app, ["pts", "import", *paths, "-o", str(saved)], env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    line = next(it for it in done.output.splitlines() if it.startswith("16 KiB 100/0 │ "))
    shown = next(it for it in done.output.splitlines() if "│    3 │" in it and "IOPS" in it)
    assert [it.strip() for it in shown.split("│")][2:] == ["3", "100", "4", "9.937", "96", "104"]
    assert line
    done = run.invoke(app, ["report", str(saved), "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "Repeated runs" in page.read_text()


@pytest.mark.parametrize(("rates", "is_apart"), [([112, 118, 115], True), ([104, 108, 101], False)])
def test_a_difference_needs_intervals_that_are_apart(
    tmp_path: Path,
    rates: list[float],
    is_apart: bool,  # noqa: FBT001 (of a table)
) -> None:
    run = CliRunner()
    for name, given in (("old", [100, 101, 99]), ("new", rates)):
        folder = tmp_path / name
        folder.mkdir()
        paths = [str(path) for path in runs(folder, given)]
        done = run.invoke(app, ["pts", "import", *paths, "-o", str(tmp_path / f"{name}.json")])
        assert done.exit_code == 0, done.output
    asked = ["compare", *(str(tmp_path / f"{name}.json") for name in ("old", "new"))]
    done = run.invoke(app, asked)
    assert "Measured against measured" in done.output
    assert ("no difference in 1 of 1 cells of IOPS" in done.output) != is_apart
    assert ("In brackets: no difference" in done.output) != is_apart
    found = json.loads(run.invoke(app, [*asked, "--json"]).stdout)
    row = found["metrics"]["iops[16, 100/0]"]
    assert (row["best"] == [1]) == is_apart
    (errors,) = (one for one in found["errors"][0]["tables"] if one["table"] == "iops")
    assert errors["cells"][0]["is_apart"] is is_apart


def test_a_mean_of_two_loads_is_refused(tmp_path: Path) -> None:
    """Two drives, or two engines, in one cell were a mean of neither."""
    first = runs(tmp_path, [100])
    for key, value in (("filename", "/dev/other"), ("ioengine", "io_uring"), ("size", "1g")):
        other = runs(tmp_path, [104], "other", **{key: value})
        with pytest.raises(ResultError, match=rf"given twice: .* no repeats, since .* {key} \("):
            imported([*first, *other])
    same = runs(tmp_path, [104], "same", write_iops_log="x", randseed="7", description="second")
    assert imported([*first, *same]).header.imported.repeats
    with pytest.raises(ResultError, match=r"same file twice"):
        imported([*first, *first])


def change(job: Document, **options: str) -> None:
    job["job options"] |= options


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda job: job.update(error=5), "refused: .*ended with an error"),
        (lambda job: change(job, rate_iops="10"), "the rate is the one that was asked for"),
    ],
)
def test_a_bad_run_among_repeats_is_named(
    tmp_path: Path, spoil: Callable[[Document], None], said: str
) -> None:
    paths = runs(tmp_path, [100, 104, 96])
    for path in paths if "rate" in said else paths[2:]:
        document = copy.deepcopy(json.loads(path.read_text()))
        spoil(document["jobs"][0])
        path.write_text(json.dumps(document))
    found = imported(paths)
    text = "\n".join(found.warnings)
    assert [it for it in found.warnings if re.search(said, it)], text
    count = found.header.imported.repeats[0].count
    assert count == (3 if "rate" in said else 2)
    assert bool(found.header.imported.uncertain) == ("rate" in said)
