"""The data sheet: which figures stand on it, under what conditions, and what is marked."""

from __future__ import annotations

import csv
import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from typer.testing import CliRunner

from fake_target import FakeTarget
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ResultError
from opennandlab.cli import app
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.record import plain
from opennandlab.pts import TESTS, Settings, run_test
from opennandlab.reports import pdf
from opennandlab.reports.model import Report, Table, page_of
from opennandlab.reports.pts import command, datasheet, source
from opennandlab.reports.pts import csv as pts_csv

NAMES = ("iops", "throughput", "latency", "wsat", "access_time", "burst", "consistency", "rw_ratio")
SMALL = """\
nand: {channels: 1, dies_per_channel: 2, planes_per_die: 1, blocks_per_plane: 128,
  pages_per_block: 32, page_size_bytes: 4096}
"""


@cache
def measured_of(test: str) -> PtsDocument:
    """Return what a test says of the drive of formulas."""
    return run_test(TESTS[test], FakeTarget(), settings=Settings(time_base="scaled"))


def document(test: str, **changes: Any) -> dict[str, Any]:
    """Return a document of a test, all of them of one drive."""
    made = plain(measured_of(test)) | changes
    made["digest"] = digest(made)
    return made


def saved(folder: Path, *documents: dict[str, Any]) -> list[Path]:
    paths = [folder / f"{one['name']}.json" for one in documents]
    for path, one in zip(paths, documents, strict=True):
        path.write_text(json.dumps(one), encoding="utf-8")
    return paths


def rows(report: Report) -> dict[str, tuple[Any, ...]]:
    """Return the rows of the figures by their names."""
    (chapter,) = report.chapters
    tables = [item for item in chapter.items if isinstance(item, Table)]
    return {str(row[0]): row for table in tables if len(table.columns) == 7 for row in table.rows}


def sources(report: Report) -> dict[str, dict[str, Any]]:
    """Return the conditions of the documents by the heads of their tables."""
    (chapter,) = report.chapters
    tables = [item for item in chapter.items if isinstance(item, Table)]
    return {table.title: dict(table.rows) for table in tables if len(table.columns) == 2}


def sheet(folder: Path, *documents: dict[str, Any]) -> Report:
    return datasheet.open_sheet(saved(folder, *documents)).report


def test_every_number_has_load_conditions_verdict_and_a_command(tmp_path):
    report = sheet(tmp_path, *map(document, NAMES))
    found = rows(report)
    numbers = [row for row in found.values() if row[1] is not None]
    assert len(numbers) >= 29
    for name, _, unit, load, how, conditions, verdict in numbers:
        assert unit or name.startswith("Write amplification"), name
        assert "TC" in load, name
        assert "QD" in load, name
        assert how, name
        assert conditions.startswith("["), name
        assert "PTS-E 2.0.2" in conditions
        assert "range" in conditions
        assert "cache" in conditions
        assert verdict
    cited = sources(report)
    assert {row[5].split()[0] for row in numbers} == {head.split()[0] for head in cited}
    for said in cited.values():
        assert said["Command"].startswith("opennandlab ")
        assert said["Steady state"]


def test_numbers_are_those_of_the_documents(tmp_path):
    iops, latency = document("iops"), document("latency")
    found = rows(sheet(tmp_path, iops, latency))
    assert found["Random read, 4 KiB"][1] == iops["results"]["iops_rnd_4kib_read"]
    assert found["Random write, 4 KiB"][1] == iops["results"]["iops_rnd_4kib_write"]
    mean = found["4 KiB write, mean"]
    written = latency["results"]["art_ms_rnd_4kib_write"]
    assert mean[1] == pytest.approx(written * (1e3 if mean[2] == "µs" else 1))
    # How many requests a percentile is of, from the cells of the window.
    columns, cells = latency["cells"]["columns"], latency["cells"]["rows"]
    at = {name: place for place, name in enumerate(columns)}
    window = latency["steady_state"][0]["window"]
    count = sum(
        row[at["ios"]] for row in cells
        if row[at["phase"]] == "round" and row[at["round"]] in window
        and (row[at["block_bytes"]], row[at["rw_pct"]]) == (4096, 0)
    )  # fmt: skip
    shown = found["4 KiB write, 99.99 %"][4].replace("\N{NO-BREAK SPACE}", "")
    assert shown.endswith(f" {count:.0f} requests")


def test_marks_are_a_column_of_csv_without_any_too(tmp_path):
    report = sheet(tmp_path, document("throughput"))
    texts = dict(pts_csv.files(report, [None]))
    lines = list(csv.DictReader(texts["sequential-requests.csv"].splitlines()))
    assert {line["mark"] for line in lines} == {""}
    assert all(float(line["value"]) > 0 for line in lines)


def test_conditions_name_the_fill_before_each_figure(tmp_path):
    """Of sequential requests each size has its own; some tests come after random writes too."""
    report = sheet(tmp_path, *map(document, NAMES))
    found = rows(report)
    for size in (128, 1024):
        told = found[f"Sequential write, {size} KiB"][5]
        assert told.endswith(f"after 2 × SEQ {size} KiB")
    assert found["Access time, read, mean"][5].endswith("after 2 × SEQ 128 KiB and RND 4 KiB 0/100")
    assert found["Random write, 4 KiB"][5].endswith("after 2 × SEQ 128 KiB")
    (said,) = [each for head, each in sources(report).items() if "Throughput" in head]
    assert said["WIPC"].startswith("sequential with the block size under test, before each")
    made = document("throughput")
    made["header"]["options"]["wipc_block"] = "128KiB"
    made["digest"] = digest(made)
    told = rows(sheet(tmp_path, made))["Sequential write, 1024 KiB"][5]
    assert told.endswith("after 2 × SEQ 128 KiB")


def test_a_test_that_was_not_run_is_a_row_with_its_command(tmp_path):
    found = rows(sheet(tmp_path, document("iops")))
    row = found["Sequential write, 128 KiB"]
    assert row[1] is None
    assert row[4:] == (
        "not measured",
        "by: opennandlab pts throughput --target fake:formulas --profile E",
        "not run",
    )  # fmt: skip
    assert "characterise --only access_time" in found["Access time, read, mean"][5]


def test_that_command_is_of_the_same_device(tmp_path):
    """It left out the keys that were changed: what it measured was another drive."""
    made = document("iops")
    moment = {
        "tool": {"version": "1"}, "created": "", "run": {"wall_s": 1.0},
        "digest": made["digest"], "overrides": {"nand.blocks_per_plane": 96},
    }  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps({"iops": moment}), encoding="utf-8")
    found = rows(sheet(tmp_path, made))
    assert found["Access time, read, mean"][5].endswith("--set nand.blocks_per_plane=96")


@pytest.mark.parametrize("word", ["smoke", "not steady", "no collection", "partial"])
def test_what_is_not_of_a_steady_drive_is_marked(tmp_path, word):
    made = document("iops")
    if word == "smoke":
        made["header"]["time_base"]["name"] = "smoke"
    elif word == "partial":
        made["partial"] = True
    else:
        steady = word == "no collection"
        for entry in made["steady_state"]:
            entry |= {"steady": steady, "attained": steady, "collection": "none"}
    made["digest"] = digest(made)
    report = sheet(tmp_path, made, document("throughput"))
    found = rows(report)
    value, verdict = found["Random write, 4 KiB"][1], found["Random write, 4 KiB"][6]
    assert value.endswith(" †")
    said = {
        "smoke": "SMOKE: not a result",
        "partial": "PARTIAL: the run was cut",
        "not steady": "steady state NOT ATTAINED",
        "no collection": "steady state NOT ATTAINED: not every round collected garbage",
    }
    assert verdict == said[word]
    # Those of the other document are not.
    assert isinstance(found["Sequential write, 1024 KiB"][1], float)
    stated = report.chapters[0].verdict
    assert stated is not None
    assert stated.kind == "bad"
    assert "marked †" in stated.text
    tones = next(item.tones for item in report.chapters[0].items if isinstance(item, Table))
    assert set(tones) <= {"bad", "warning"}


def test_a_sheet_of_runs_that_hold_says_so(tmp_path):
    report = sheet(tmp_path, document("throughput"))
    assert report.chapters[0].verdict is not None
    assert report.chapters[0].verdict.kind == "good"


def test_a_sheet_counts_what_its_runs_warn_of_and_who_conforms(tmp_path):
    kept = document("latency", warnings=["the drive was still changing"])
    full = document("throughput")
    full["header"] = full["header"] | {"conformance": "full"}
    full["digest"] = digest(full)
    told = [badge.text for badge in sheet(tmp_path, kept, full).chapters[0].badges]
    assert "1 warning of the runs, below" in told
    assert {"conformance: scaled, 1 of 2", "conformance: full, 1 of 2"} <= set(told)


def test_documents_of_several_drives_are_refused(tmp_path):
    other = document("latency")
    other["header"]["target"]["name"] = "fake:other"
    other["header"]["target"]["device"] |= {"config_sha256": "b" * 64}
    other["digest"] = digest(other)
    with pytest.raises(ResultError, match=r"of one drive.*iops \(.*latency \(fake:other\)"):
        sheet(tmp_path, document("iops"), other)


def test_of_two_documents_of_a_test_the_first_stands(tmp_path):
    again = document("iops")
    again["name"] = "iops-again"
    again["digest"] = digest(again)
    opened = datasheet.open_sheet(saved(tmp_path, document("iops"), again))
    assert [text for text in opened.warnings if text.startswith("iops-again: ")]


def test_of_tests_without_figures_none_has_to_stand(tmp_path):
    """`pts all` makes two documents of `dirth`, and a sheet has nothing of either."""
    first = document("latency")
    other = [first | {"test": "dirth", "name": name} for name in ("dirth", "dirth-video")]
    assert not datasheet.open_sheet(saved(tmp_path, first, *other)).warnings


def test_folders_stand_for_their_documents(tmp_path):
    inner = tmp_path / "latency"
    inner.mkdir()
    saved(tmp_path, document("iops"))
    saved(inner, document("latency"))
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    found = rows(datasheet.open_sheet([tmp_path]).report)
    assert found["Random write, 4 KiB"][1] is not None
    assert found["4 KiB write, mean"][1] is not None
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ResultError, match="no JSON document in this folder"):
        datasheet.open_sheet([empty])


OPTIONS = {
    "pts wsat": "--capacities 2 --ss-max-rounds 6 --seed 7 --profile C --cache disabled",
    "pts throughput": "--active-range-pct 50 --wipc-base range --data file --cell-seconds 0.05",
    "pts latency": "--pts 1.1 --ar-amount 2MiB --ar-segments 8 --wipc-capacities 1.5 --state old",
    "pts iops": "--oio 3 --set ftl.over_provisioning_pct=0.2 --set ftl.gc_policy.kind=fifo",
    "characterise": "--only access_time --threads 3 --queue-depth 2",
}


@pytest.mark.parametrize("verb", OPTIONS)
def test_the_command_of_a_document_makes_the_same_document(tmp_path, verb):
    device = tmp_path / "small.yaml"
    device.write_text(SMALL, encoding="utf-8")
    base = ["--target", f"sim:{device}", "--time-base", "smoke", "--quiet"]
    runner = CliRunner()
    asked = [*verb.split(), *base, *OPTIONS[verb].split(), "--output", str(tmp_path / "one")]
    assert runner.invoke(app, asked, catch_exceptions=False).exit_code == 0
    name = "access_time" if verb == "characterise" else verb.split()[1]
    path = tmp_path / "one" / f"{name}.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    measured = source.read(found, name, [], source.moment_of(path, found))
    assert command.knows_changes(measured)
    words = shlex.split(command.command(measured))
    assert words[0] == "opennandlab"
    again = [*words[1:], "--quiet", "--output", str(tmp_path / "two")]
    result = runner.invoke(app, again, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    second = json.loads((tmp_path / "two" / f"{name}.json").read_text(encoding="utf-8"))
    assert second["digest"] == found["digest"]


def test_report_makes_a_data_sheet(tmp_path):
    device = tmp_path / "small.yaml"
    device.write_text(SMALL, encoding="utf-8")
    folder = tmp_path / "drive"
    runner = CliRunner()
    asked = ["pts", "throughput", "--target", f"sim:{device}", "--time-base", "smoke"]
    assert runner.invoke(app, [*asked, "--quiet", "--output", str(folder)]).exit_code == 0
    result = runner.invoke(app, ["report", str(folder), "--datasheet"])
    assert result.exit_code == 0, result.output
    assert "datasheet.html" in result.output
    page = (folder / "datasheet.html").read_text(encoding="utf-8")
    assert "Data sheet of" in page
    assert "SMOKE: not a result" in page
    assert "opennandlab pts throughput " in page
    assert "<script>" not in page  # without figures there is nothing to draw
    tables = tmp_path / "tables"
    result = runner.invoke(app, ["report", str(folder), "--datasheet", "--csv", str(tables)])
    assert result.exit_code == 0, result.output
    written = (tables / "sequential-requests.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(written.splitlines()))
    heads = ["figure", "value", "mark", "unit", "load", "measured", "conditions", "verdict"]
    assert list(lines[0]) == heads
    document = json.loads((folder / "throughput.json").read_text(encoding="utf-8"))
    values = {line["figure"]: line["value"] for line in lines}
    rate = document["results"]["mb_s_seq_1024kib_write"]
    assert float(values["Sequential write, 1024 KiB"]) == rate
    assert {line["mark"] for line in lines} == {"†"}
    assert ",†,MB/s," in (tables / "report.csv").read_text(encoding="utf-8")
    paper = tmp_path / "sheet.pdf"
    result = runner.invoke(app, ["report", str(folder), "--datasheet", "--pdf", str(paper)])
    assert result.exit_code == 0, result.output
    assert paper.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_words_in_any_number_of_columns_are_printed(count):
    """As of the power study, whose tables of outcomes have three."""
    cells = tuple("abcdefg"[:count])
    made = page_of("t", "", [Table("t", "T", cells, (cells,), wraps=True)])
    assert pdf.document(made).startswith(b"%PDF")


def test_words_of_a_sheet_on_paper_stay_within_their_columns(tmp_path):
    report = sheet(tmp_path, *map(document, NAMES))
    (chapter,) = report.chapters
    for table in (item for item in chapter.items if isinstance(item, Table)):
        made = Figure(figsize=(pdf.WIDTH, pdf.HEIGHT))
        shares = pdf.PAIR if len(table.columns) == 2 else pdf.COLUMNS
        pdf._cards(table).draw(made, 1.0, 0.0)
        FigureCanvasAgg(made).draw()
        ends = [pdf.SIDE + pdf.WIDE * sum(shares[: at + 1]) for at in range(len(shares))]
        for text in made.texts:
            box = text.get_window_extent()
            left, right = box.x0 / made.dpi, box.x1 / made.dpi
            end = next(end for end in ends if left < end - 0.01)
            assert right <= end, (table.title, text.get_text())


def test_report_refuses_what_no_sheet_can_be_made_of(tmp_path):
    runner = CliRunner()
    result = runner.invoke(app, ["report", str(tmp_path), "--datasheet"])
    assert result.exit_code == 2
    assert "no JSON document in this folder" in result.output
    other = tmp_path / "result.json"
    other.write_text('{"schema": "opennandlab.result/1"}', encoding="utf-8")
    result = runner.invoke(app, ["report", str(other), "--datasheet"])
    assert result.exit_code == 2
    assert "opennandlab.result/1" in result.output
