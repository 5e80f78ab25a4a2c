"""What others measured comes in whole, or not at all, and says where from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from opennandlab.base.errors import ResultError
from opennandlab.cli import app
from opennandlab.documents.pts import PtsDocument
from opennandlab.measured import import_files, reference, references
from opennandlab.measured.importing import Wanted
from opennandlab.reports.model import Report
from opennandlab.reports.pts import csv as sheets
from opennandlab.reports.pts import source, views
from places import FOLDER, ROOT

MIXED = FOLDER / "fio" / "mixed.json"
WIDE = "Block size (KiB),0/100,65/35,100/0\n4,9000,12000,70000\n8,5000,7100,45000\n"


def table(folder: Path, text: str, name: str = "drive.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def fio(folder: Path, name: str = "run.json", **changes: Any) -> Path:
    document = json.loads(MIXED.read_text())
    job = document["jobs"][0]
    job["job options"] |= changes
    for side in (job["read"], job["write"]):
        for key in ("io_bytes", "io_kbytes", "bw_bytes", "bw"):
            side[key] *= 2 if changes.get("bs") == "8k" else 1
    if changes.get("rw") in {"read", "randread"}:
        job["write"] |= {"total_ios": 0, "io_bytes": 0, "runtime": 0}
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def refusal(path: Path, wanted: Wanted | None = None) -> str:
    with pytest.raises(ResultError) as caught:
        import_files([path], wanted)
    return str(caught.value)


# -- tables --------------------------------------------------------------------------------------


def test_a_wide_table_becomes_the_tables_of_the_test(tmp_path: Path) -> None:
    found = import_files([table(tmp_path, WIDE)], Wanted(model="X", threads=2, queue_depth=16))
    iops, mb_s = found.tables
    assert (iops.id, iops.rows, iops.columns) == ("iops", ["4", "8"], ["0/100", "65/35", "100/0"])
    assert iops.values == [[9000, 12000, 70000], [5000, 7100, 45000]]
    assert mb_s.values[1][2] == pytest.approx(45000 * 8192e-6)
    head = found.header
    assert head.imported is not None
    assert head.imported.files[0].name == "drive.csv"
    assert "steady state" in head.imported.unknown
    assert "model of the drive" not in head.imported.unknown
    assert (head.threads, head.queue_depth) == (2, 16)


def test_a_long_table_and_a_wide_one_of_another_figure_join(tmp_path: Path) -> None:
    long = table(tmp_path, "bs\trw\tiops\tart_ms\n4k\t100/0\t70000\t0.4\n4k\t35\t1000\t2\n")
    found = import_files([long])
    assert [block.id for block in found.tables] == ["iops", "mb_s", "art"]
    art = found.tables[2]
    assert (art.columns, art.values, art.unit) == (["35/65", "100/0"], [[2000, 400]], "µs")
    latency = import_files([long], Wanted(test="latency"))
    assert latency.tables[0].unit == "ms"
    assert latency.tables[0].values == [[2.0, 0.4]]


def test_what_a_report_exports_comes_back(tmp_path: Path) -> None:
    measured = source.read(json.loads(as_json(reference("client_2013_iops"))), "x")
    report = Report("", "", (views.chapter_of(measured),))
    names = dict(sheets.files(report, [measured]))
    text = next(text for name, text in names.items() if name == "iops.csv")
    again = import_files([table(tmp_path, text)])
    assert again.tables[0].values == reference("client_2013_iops").tables[0].values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WIDE.replace("7100,", ","), r"drive.csv:3: column 3 \(65/35\): the field is empty"),
        (WIDE.replace(",7100", ""), r"drive.csv:3: 3 columns, and the header has 4"),
        (WIDE.replace("7100", "7 ms"), r"drive.csv:3: column 3 \(65/35\): `7 ms` is not a number"),
        (WIDE.replace("7100", "-7"), r"out of range; accepted: above 0"),
        (WIDE.replace("65/35,100/0", "100/0,65/35"), r"column 4: 65/35 after 100/0.*exchanged"),
        (WIDE.replace("100/0", "65/35"), r"drive.csv:1: column 4: 65/35 is given twice"),
        (WIDE.replace("8,5", "4,5"), r"drive.csv:3: 4 KiB is given twice, first in line 2"),
        (WIDE.replace("8,5", "65/35,5"), r"column 1: `65/35` is a mix.*exchanged"),
        (WIDE.replace("8,5", "8192000,5"), r"drive.csv:3: column 1: .* KiB is not a request size"),
        (WIDE.replace("70000", "7e10"), r"would be 2.87e\+08 MB/s: the unit is wrong"),
        ("bs,rw,iops\n4,65/35,1\n4,65,2\n", r"drive.csv:3: 4 KiB 65/35 is given twice.*line 2"),
        ("bs,rw,speed\n4,65/35,1\n", r"`speed` is no figure; accepted: iops"),
        ("bs,rw,art_us,art_ms\n4,65/35,1,2\n", r"drive.csv:1: columns 3.*4 .* the same figure"),
        ("bs,rw,mb_s,iops\n4,65/35,9000,70\n", r"drive.csv:2: 70 IOPS of 4 KiB are 0.2867 MB/s"),
        ("bs,iops\n4,1\n", "no column of mixes"),
        ("hello\n", "neither JSON nor a table"),
        ("", "neither JSON nor a table"),
        ('{"a": 1', "incomplete JSON"),
        ('{"schema": "opennandlab.result/1"}', "holds `opennandlab.result/1`"),
    ],
)
def test_bad_tables_are_told_with_line_and_column(tmp_path: Path, text: str, expected: str) -> None:
    said = refusal(table(tmp_path, text))
    assert re.search(expected, said), said
    assert "accepted: " in said


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("KiB;0/100;100/0\n4;1306,5;55340\n0,5;756,25;31130\n", [[756.25, 31130], [1306.5, 55340]]),
        ("KiB;0/100;100/0\n4;1.306,5;55.340\n", [[1306.5, 55340]]),
        ("KiB\t0/100\t100/0\n4\t1306,5\t55340\n", [[1306.5, 55340]]),
        ("KiB;0/100;100/0\n4;1 306;55\u202f340,5\n", [[1306, 55340.5]]),
        ("KiB;0/100;100/0\n4;1'306;55'340\n", [[1306, 55340]]),
        ('KiB,0/100,100/0\n4,"1,306","55,340.5"\n', [[1306, 55340.5]]),
        ("KiB;0/100;100/0\n4;1,306.5;55,340\n", [[1306.5, 55340]]),
        ("Size (bytes),0/100,100/0\r\n4096,1306,55340\r\n", [[1306, 55340]]),
        ("Size [KiB] , 0/100 [IOPS] , 100/0 [IOPS] \r4 KiB, 1306 , 55340 \r", [[1306, 55340]]),
        ("KiB,0/100 (MB/s),100/0 (MB/s)\n4,4.096,8.192\n", [[1000, 2000]]),
        ("KiB,0/100,100/0,\n4,1306,55340,\n", [[1306, 55340]]),
    ],
)
def test_tables_of_other_countries_and_programs_come_in(
    tmp_path: Path, text: str, figures: list[list[float]]
) -> None:
    for content in (text.encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        path = tmp_path / "drive.csv"
        path.write_bytes(content)
        assert import_files([path]).tables[0].values == figures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("KiB;0/100;100/0\n4;1,306;55340\n", r"`1,306` may be 1306, or have decimals"),
        ("KiB;0/100;100/0\n4;1.306;55340\n", r"`1.306` may be 1306, or have decimals"),
        ("KiB;0/100;100/0\n4;1306,5;7100.5\n", "is not a number"),
        ("KiB,0/100 (furlongs),100/0\n4,1,2\n", "`furlongs` in its head"),
        ("KiB,0/100 (MB/s),100/0 (IOPS)\n4,1,2\n", "accepted: one unit: mb_s"),
        ("KiB,0/100,100/0\n4,n/a,2\n", "the field is empty"),
        ("KiB,0/100,100/0\n4,1,2\nMean,1,2\n", "`Mean` is not a size"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    said = refusal(table(tmp_path, text))
    assert re.search(expected, said), said
    assert "accepted: " in said


# -- fio -----------------------------------------------------------------------------------------


def test_an_output_of_fio_keeps_its_histogram(tmp_path: Path) -> None:
    found = import_files([MIXED])
    cell, *others = found.cells.rows
    assert not others
    assert (cell.block_bytes, cell.rw_pct, cell.label) == (4096, 65, "RND 4 KiB 65/35")
    assert cell.ios == found.histograms[0].count == 300
    assert cell.iops == pytest.approx(cell.ios / cell.seconds)
    assert found.header.target.platform["fio_version"] == "fio-3.33"
    several = import_files([MIXED, fio(tmp_path, bs="8k"), fio(tmp_path, "r.json", rw="randread")])
    assert len(several.cells.rows) == 3
    assert several.tables[0].values[0][0] == cell.iops
    assert several.tables[0].values[1][1] is None


def test_jobs_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"4 KiB 65/35 is given twice.*--queue-depth choose"):
        import_files([MIXED, fio(tmp_path, iodepth=32)])
    chosen = import_files([MIXED, fio(tmp_path, iodepth=32)], Wanted(queue_depth=32))
    assert chosen.header.queue_depth == 32
    with pytest.raises(ResultError, match=r"random and sequential.*--pattern"):
        import_files([MIXED, fio(tmp_path, rw="rw")])
    assert "`randtrim` is not a load" in refusal(fio(tmp_path, rw="randtrim"))
    assert "bs `none` is not a size" in refusal(fio(tmp_path, bs="none"))
    assert "ended with an error" in refusal(MIXED.with_name("full.json"))
    negative = json.loads(MIXED.read_text())
    negative["jobs"][0]["read"]["total_ios"] = -5
    assert "-5 is below 0" in refusal(table(tmp_path, json.dumps(negative), "negative.json"))
    assert "rwmixread 999 is not a share" in refusal(fio(tmp_path, rwmixread=999))
    assert "could not convert string to float" in refusal(fio(tmp_path, rwmixread="half"))
    for place, value in {"mean": -1.0, "bins": {"-5": 1}, "max": None}.items():
        odd = json.loads(MIXED.read_text())
        odd["jobs"][0]["read"]["lat_ns"][place] = value
        said = refusal(table(tmp_path, json.dumps(odd), "odd.json"))
        assert "has it in another form" in said, said
    cut = tmp_path / "cut.json"
    cut.write_text(MIXED.read_text()[:3000])
    assert "incomplete JSON" in refusal(cut)


# -- our own, references, the command ------------------------------------------------------------


def as_json(document: PtsDocument) -> str:
    from opennandlab.documents.pts import to_json

    return json.dumps(to_json(document))


def test_a_document_of_another_place_is_marked(tmp_path: Path) -> None:
    path = table(tmp_path, as_json(reference("client_2013_latency")), "theirs.json")
    found = import_files([path], Wanted(source="their laboratory"))
    assert found.header.imported is not None
    assert found.header.imported.origin == "pts/1"
    assert found.header.imported.source == "their laboratory"
    path.write_text(path.read_text().replace("0.19", "0.18"))
    assert "edited" in refusal(path)


def test_every_reference_reads_and_names_its_source() -> None:
    found = references()
    assert len(found) == 25
    for one in found:
        document = reference(f"reference:{one.name}")
        assert document.test == one.test
        assert document.header.imported is not None
        assert document.header.imported.source == one.source
        assert any(value is not None for row in document.tables[0].values for value in row)
    with pytest.raises(ResultError, match="did you mean `client_2013_iops`"):
        reference("client_2013_iop")


def test_references_are_the_published_figures() -> None:
    """Where the pages that they come from are at hand."""
    page = ROOT.parent / "shared" / "real-drives.md"
    if not page.is_file():
        pytest.skip("no page of measured drives beside the repository")
    text = page.read_text()
    skew = reference("7450_skew").tables[0]
    for row, cells in zip(skew.rows, skew.values, strict=True):
        law, _, value = row.partition(":")
        start = {"uniform": "| uniform", "zipf": f"| zipf {value}", "static": f"| static {value} "}
        line = next(one for one in text.splitlines() if one.startswith(start[law]))
        assert line.split("|")[3].strip() == f"{cells[1]:g}"


def test_the_command_writes_all_or_nothing(tmp_path: Path) -> None:
    out = tmp_path / "drive.json"
    run = CliRunner()
    bad = table(tmp_path, WIDE.replace("7100,", ","))
    refused = run.invoke(app, ["pts", "import", str(bad), "--output", str(out)])
    assert refused.exit_code == 2
    assert not out.exists()
    good = run.invoke(app, ["pts", "import", str(table(tmp_path, WIDE)), "-o", str(out)])
    assert good.exit_code == 0, good.output
    document = onl.load(out)
    assert isinstance(document, PtsDocument)
    page = tmp_path / "page.html"
    report = run.invoke(app, ["report", str(out), "--html", str(page)])
    assert report.exit_code == 0, report.output
    assert "Measured elsewhere" in page.read_text()
    same = run.invoke(app, ["pts", "import", str(bad), "--output", str(bad)])
    assert same.exit_code == 2
    assert "would be overwritten" in same.output
    assert run.invoke(app, ["pts", "import"]).exit_code == 2
    listed = run.invoke(app, ["pts", "import", "--list", "--json"])
    assert len(json.loads(listed.output)["references"]) == 25


# -- a model against a drive ---------------------------------------------------------------------


def beside(folder: Path) -> tuple[Path, Path]:
    """Return a simulated document, and one of a drive that is a tenth faster in one cell."""
    import pts_documents

    simulated = folder / "model.json"
    simulated.write_text(json.dumps(pts_documents.iops()))
    grid = json.loads(simulated.read_text())["tables"][0]
    lines = [",".join(["Block size (KiB)", *grid["columns"]])]
    for row, values in zip(grid["rows"], grid["values"], strict=True):
        cells = [value / 1.1 if (row, at) == ("4", 0) else value for at, value in enumerate(values)]
        lines.append(",".join([row, *map(repr, cells)]))
    drive = folder / "drive.json"
    found = import_files([table(folder, "\n".join(lines))])
    drive.write_text(as_json(found))
    return simulated, drive


def test_a_model_is_held_against_a_drive_cell_by_cell(tmp_path: Path) -> None:
    simulated, drive = beside(tmp_path)
    run = CliRunner()
    page, sheet = tmp_path / "page.html", tmp_path / "errors.csv"
    for order in ([simulated, drive], [drive, simulated]):
        done = run.invoke(app, ["compare", *map(str, order), "--json"])
        assert done.exit_code == 0, done.output
        (errors,) = json.loads(done.output)["errors"]
        assert (errors["measured"], errors["simulated"]) == ("drive", "model")
        (iops,) = errors["tables"]
        assert iops["worst"].startswith("4, ")
        assert iops["worst_pct"] == pytest.approx(10)
        assert iops["median_pct"] == pytest.approx(0, abs=1e-9)
        assert iops["rms_pct"] == pytest.approx(10 / iops["count"] ** 0.5)
    shown = run.invoke(
        app, ["compare", str(simulated), str(drive), "--html", str(page), "--csv", str(sheet)]
    )
    assert "RMS error, %" in shown.output
    assert "+10.0" in shown.output
    assert "seeds" not in shown.output
    assert "model against drive, as measured" in page.read_text()
    head, *rows = sheet.read_text().splitlines()
    assert head.endswith("ratio model,error_pct model")
    assert any(row.startswith('"iops[4, ') and "1.1" in row for row in rows)


def test_other_settings_that_both_tell_are_an_objection(tmp_path: Path) -> None:
    simulated, drive = beside(tmp_path)
    content = json.loads(simulated.read_text())
    threads = content["header"]["threads"]
    wanted = Wanted(threads=threads + 1, queue_depth=content["header"]["queue_depth"])
    drive.write_text(as_json(import_files([tmp_path / "drive.csv"], wanted)))
    refused = CliRunner().invoke(app, ["compare", str(simulated), str(drive)])
    assert refused.exit_code == 2
    assert "different threads" in refused.output
    assert "time base" not in refused.output.split("different threads")[1]


def test_references_stand_in_comparisons() -> None:
    done = CliRunner().invoke(
        app, ["compare", "reference:p5520_skew", "reference:7450_skew", "--json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["metrics"]["skew[uniform, steady MB/s]"]["values"] == [532, 653]
    wrong = CliRunner().invoke(app, ["compare", "reference:none", "reference:7450_skew"])
    assert wrong.exit_code == 2


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all values that hold no others."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from leaves(inner, (*path, key))
    else:
        yield path


@pytest.mark.parametrize("odd", [math.nan, -math.inf, 10**100, "\ud800"])
def test_what_no_document_holds_is_refused_wherever_it_stands(odd: Any, tmp_path: Path) -> None:
    """14 of 76 outputs of fio with one such value ended with a traceback."""
    text = MIXED.read_text()
    places = list(leaves(json.loads(text)))
    for place in places[:: max(1, len(places) // 40)]:
        document = json.loads(text)
        here = document
        for part in place[:-1]:
            here = here[part]
        here[place[-1]] = odd
        (tmp_path / "f.json").write_text(json.dumps(document), encoding="utf-8")
        said = refusal(tmp_path / "f.json")
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
        assert f"f.json: damaged: {where[1:]}: " in said
        assert "; accepted: " in said


@pytest.mark.parametrize("options", ["x", [1], 5])
def test_options_that_are_none_are_refused(options: Any, tmp_path: Path) -> None:
    """A TypeError: neither those of a job nor the common ones were looked at."""
    for change in ({"global options": options}, {}):
        document = json.loads(MIXED.read_text()) | change
        if not change:
            document["jobs"][0]["job options"] = options
        (tmp_path / "f.json").write_text(json.dumps(document), encoding="utf-8")
        assert "its options are not a mapping" in refusal(tmp_path / "f.json")
