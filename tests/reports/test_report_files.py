"""The files of a report: whole, offline, the same each time, and safe whatever a document says."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import threading
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import pts_documents
from conftest import SHORT, SMALL, Cli
from opennandlab.base.canonical import digest
from opennandlab.base.errors import OutputError, ResultError
from opennandlab.cli import report as command
from opennandlab.reports import html, pdf
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.model import Report, Table
from opennandlab.reports.pts import book, views
from opennandlab.reports.pts import csv as csv_files

REFERENCES = {"href", "src", "srcset", "action", "data", "poster", "background", "xlink:href"}


class Page(HTMLParser):
    """Collects what a page refers to, its texts, and whether its elements are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.figures = 0
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.references += [value or "" for name, value in attributes if name in REFERENCES]
        self.tags.add(tag)
        self.figures += tag == "figure"
        if tag not in {"meta", "br", "hr", "img", "input", "link"}:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.texts.append(data)


def page(document: dict[str, Any]) -> str:
    chapter = views.chapter(document, "name")
    return html.page(Report(chapter.title, "", (chapter,)))


@pytest.fixture(scope="module", params=["iops", "dirth", "surface", "stability"])
def made(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    document = pts_documents.MAKERS[request.param]()
    return page(document), document


def test_a_page_refers_to_nothing_outside_itself(made: tuple[str, dict[str, Any]]) -> None:
    parsed = Page(made[0])
    assert parsed.open == []
    assert all(reference.startswith("#") for reference in parsed.references)
    ours = made[0].replace(html.plotly_script(), "")
    assert "http" not in re.sub(r'xmlns="http://www.w3.org/2000/svg"', "", ours)
    assert not re.search(r"@import|url\([^#]", ours)


def test_every_figure_has_a_drawing_its_data_and_its_numbers(
    made: tuple[str, dict[str, Any]],
) -> None:
    parsed = Page(made[0])
    figures = [item for item in views.chapter(made[1], "name").items if not isinstance(item, Table)]
    assert parsed.figures == len(figures)
    assert made[0].count('<svg role="img" aria-label="') == len(figures)
    assert made[0].count("<summary>Numbers: ") == len(figures)
    data = [json.loads(text) for text in parsed.scripts[: len(figures)]]
    assert all(entry["data"] and entry["layout"] for entry in data)
    assert made[0].count(html.plotly_script()[:200]) == 1


def test_the_same_document_gives_the_same_page(made: tuple[str, dict[str, Any]]) -> None:
    assert page(made[1]) == made[0]


def test_what_a_document_says_is_text_never_markup() -> None:
    document = pts_documents.iops()
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    document["title"] = document["name"] = document["tables"][0]["title"] = evil
    document["header"]["deviations"] = [evil]
    document["header"]["target"]["name"] = evil
    document["tables"][0]["rows"][0] = evil
    for state in document["steady_state"]:
        state["tracking"]["label"] = evil
    text = page(document)
    parsed = Page(text)
    assert "img" not in parsed.tags
    assert len(parsed.scripts) == len(Page(page(pts_documents.iops())).scripts)
    assert evil in parsed.texts


def test_an_empty_report_has_no_script() -> None:
    chapter = views.chapter({"schema": "opennandlab.pts/1", "test": "iops"}, "name")
    text = html.page(Report(chapter.title, "", (chapter,)))
    assert "<script>" not in text
    assert "The document has no title, name, header, phases" in text


def test_csv_holds_every_table_and_all_cells(tmp_path: Path) -> None:
    (tmp_path / "iops.json").write_text(json.dumps(pts_documents.iops()), encoding="utf-8")
    opened = book.open_book([tmp_path / "iops.json"])
    written = csv_files.write(opened.report, opened.measured, tmp_path / "csv")
    names = {path.name for path in written}
    items = {f"{item.id}.csv" for item in opened.report.chapters[0].items}
    assert names == items | {"cells.csv", "report.csv"}
    whole = list(csv.reader(io.StringIO((tmp_path / "csv" / "report.csv").read_text())))
    assert whole[0][0] == "IOPS"
    # Each table under its title: one file with everything, for a spreadsheet.
    for item in opened.report.chapters[0].items:
        if isinstance(item, Table):
            assert [item.title] in whole
            assert list(item.columns) in whole
    rows = list(csv.reader(io.StringIO((tmp_path / "csv" / "cells.csv").read_text())))
    assert len(rows) == 1 + 8 * 56
    first = dict(zip(rows[0], rows[1], strict=True))
    assert opened.measured[0] is not None
    cell = opened.measured[0].cells[0]
    assert float(first["iops"]) == cell.iops
    assert first["lat_us_p99999"] == ""
    table = list(csv.reader(io.StringIO((tmp_path / "csv" / "iops.csv").read_text())))
    stated = pts_documents.iops()["tables"][0]["values"]
    assert [[float(text) for text in row[1:]] for row in table[1:]] == stated


@pytest.mark.always
def test_a_pdf_is_whole_and_the_same_each_time() -> None:
    chapter = views.chapter(pts_documents.surface(), "surface")
    report = Report(chapter.title, "", (chapter,), foot="foot")
    content = pdf.document(report)
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert content == pdf.document(report)
    assert len(re.findall(rb"/Type /Page\b(?!s)", content)) >= 4


def test_a_suite_is_a_report_with_chapters(tmp_path: Path) -> None:
    for test in ("wsat", "xsr"):
        text = json.dumps(pts_documents.MAKERS[test]())
        (tmp_path / f"{test}.json").write_text(text, encoding="utf-8")
    suite = {"schema": "opennandlab.suite/1", "documents": ["wsat.json", "xsr.json", "gone.json"]}
    (tmp_path / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    opened = book.open_book([tmp_path / "suite.json"])
    assert [chapter.test for chapter in opened.report.chapters] == ["wsat", "xsr"]
    assert any("gone.json" in text for text in opened.warnings)


def test_files_as_a_shell_lists_them_make_each_chapter_once(tmp_path: Path) -> None:
    """`report drive/*.json` drew each test twice, by the alphabet first, and blamed `run.json`."""
    documents = {test: pts_documents.MAKERS[test]() for test in ("hir", "wsat", "xsr")}
    for test, document in documents.items():
        document["name"] = test
        document["digest"] = digest(document)
        (tmp_path / f"{test}.json").write_text(json.dumps(document), encoding="utf-8")
    suite = {"schema": "opennandlab.suite/1", "documents": ["xsr", "wsat"]}
    (tmp_path / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    tool = documents["xsr"]["tool"]
    moment = {"tool": tool, "created": "2026-01-02T03:04:05Z", "run": {"wall_s": 1.0}}
    said = {"operator": "A. N.", "notes": ["one", "two"], "model": "X-25"}
    runs = {
        "xsr": {**moment, **said, "digest": documents["xsr"]["digest"]},
        "wsat": {**moment, "digest": "that of another run"},
    }
    (tmp_path / "run.json").write_text(json.dumps(runs), encoding="utf-8")
    opened = book.open_book(sorted(tmp_path.glob("*.json")))
    assert [chapter.test for chapter in opened.report.chapters] == ["hir", "xsr", "wsat"]
    assert not [text for text in opened.warnings if "run.json" in text]
    facts = [{k: v for _, rows in one.facts for k, v in rows} for one in opened.report.chapters]
    assert [one["Created"] for one in facts] == [
        "not recorded", "2026-01-02 03:04:05 UTC", "not recorded",
    ]  # fmt: skip
    assert facts[1]["Operator"] == "A. N."
    assert facts[1]["Model"].startswith("X-25 (given by hand")
    assert [rows for _, rows in opened.report.chapters[1].facts][-1].count(("Note", "two")) == 1
    summary = opened.report.summary
    assert summary is not None
    assert [row[0] for row in summary.rows] == [one.title for one in opened.report.chapters]
    page = html.page(opened.report)
    assert all(f'<a href="#c{place}">' in page for place in (1, 2, 3))
    written = dict(csv_files.files(opened.report, opened.measured))
    assert written["summary.csv"].count("\r\n") == 4


def test_a_folder_stands_for_its_documents(cli: Cli, folder: Path) -> None:
    made = folder / "made"
    made.mkdir()
    for test in ("hir", "xsr"):
        text = json.dumps(pts_documents.MAKERS[test]())
        (made / f"{test}.json").write_text(text, encoding="utf-8")
    (made / "run.json").write_text("{}", encoding="utf-8")
    opened = book.open_book([made])
    assert [chapter.test for chapter in opened.report.chapters] == ["hir", "xsr"]
    suite = {"schema": "opennandlab.suite/1", "documents": ["xsr"]}
    (made / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    assert [chapter.test for chapter in book.open_book([made]).report.chapters] == ["xsr"]
    done = cli("report", "made")
    assert done.returncode == 0, done.stderr
    assert (made / "report.html").exists()
    (folder / "empty").mkdir()
    refused = cli("report", "empty")
    assert refused.returncode == 2
    assert "no JSON document in this folder" in refused.stderr


def test_dates_alone_are_no_report(tmp_path: Path) -> None:
    moment = {"tool": {}, "created": "2026-01-02T03:04:05Z", "run": {"wall_s": 1.0}}
    (tmp_path / "run.json").write_text(json.dumps({"iops": moment}), encoding="utf-8")
    with pytest.raises(ResultError, match="holds the dates of runs"):
        book.open_book([tmp_path / "run.json"])


def test_a_suite_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    suite = {"schema": "opennandlab.suite/1", "documents": ["../secret.json", "a/b.json", 7]}
    (tmp_path / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    with pytest.raises(ResultError, match="not the name of a file next to it"):
        book.open_book([tmp_path / "suite.json"])


def test_a_suite_that_names_itself_ends(tmp_path: Path) -> None:
    for name, inner in (("one", ["one"]), ("two", ["three"]), ("three", ["two"])):
        suite = {"schema": "opennandlab.suite/1", "documents": inner}
        (tmp_path / f"{name}.json").write_text(json.dumps(suite), encoding="utf-8")
    for name in ("one", "two"):
        with pytest.raises(ResultError, match="a suite within a suite"):
            book.open_book([tmp_path / f"{name}.json"])


def test_a_document_from_a_pipe_is_drawn(cli: Cli, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    text = json.dumps(pts_documents.wsat())
    writer = threading.Thread(target=(folder / "pipe").write_text, args=(text,), daemon=True)
    writer.start()
    done = cli("report", "pipe", "--html", "x.html")
    assert done.returncode == 0, done.stderr
    assert (folder / "x.html").exists()
    writer.join(10)


def test_the_command_writes_all_forms(cli: Cli, folder: Path) -> None:
    (folder / "xsr.json").write_text(json.dumps(pts_documents.xsr()), encoding="utf-8")
    done = cli("report", "xsr.json", "--html", "x.html", "--csv", "tables", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["missing"] == []
    assert (folder / "x.html").stat().st_size > 4_000_000
    assert str(Path("tables") / "cells.csv") in answer["written"]
    # Without an option for a form it writes the page next to the document.
    assert cli("report", "xsr.json").returncode == 0
    assert (folder / "xsr.html").exists()


def test_a_form_that_fails_keeps_no_other_from_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`report --pdf --csv` wrote the page, failed at the PDF and left the CSV out."""

    def broken(_: Report) -> bytes:
        raise ImportError("No module named 'matplotlib'")

    monkeypatch.setattr(pdf, "document", broken)
    (tmp_path / "xsr.json").write_text(json.dumps(pts_documents.xsr()), encoding="utf-8")
    opened = book.open_book([tmp_path / "xsr.json"])
    alone = command.Alone(None, None, None, is_told=False)
    outputs = command.Outputs(
        None, tmp_path / "x.pdf", tmp_path / "tables", None, alone, is_log=False
    )
    with pytest.raises(OutputError, match="--pdf: No module named"):
        command._write(opened.report, opened.measured, outputs)
    assert (tmp_path / "tables" / "cells.csv").is_file()


def test_the_command_draws_on_log_scales(cli: Cli, folder: Path) -> None:
    (folder / "hir.json").write_text(json.dumps(pts_documents.hir()), encoding="utf-8")
    done = cli("report", "hir.json", "--figures", "a", "--log-axes")
    assert done.returncode == 0
    names = {path.name for path in (folder / "a").iterdir()}
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("wrote")]
    assert said.startswith(f"wrote {len(names)} files into a: ")
    assert set(said.partition(": ")[2].split(", ")) == names
    assert "log scale" in (folder / "a" / "iops-time.svg").read_text(encoding="utf-8")


def test_the_command_never_overwrites_what_it_reads(cli: Cli, folder: Path) -> None:
    (folder / "xsr.json").write_text(json.dumps(pts_documents.xsr()), encoding="utf-8")
    done = cli("report", "xsr.json", "--html", "xsr.json")
    assert done.returncode == 2
    assert "overwritten" in done.stderr
    assert json.loads((folder / "xsr.json").read_text())["test"] == "xsr"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"a": 1}', "no `schema` of ours"),
        ('{"schema": "opennandlab.validation/1"}', "damaged: passed: missing"),
        ("", "empty"),
        ("not json", "no JSON document"),
        ("[1, 2]", "no JSON document"),
        ('{"schema": "opennandlab.pts/1"}', "nothing of it can be drawn"),
    ],
)
def test_what_cannot_be_drawn_is_refused(cli: Cli, folder: Path, content: str, reason: str) -> None:
    (folder / "f.json").write_text(content, encoding="utf-8")
    done = cli("report", "f.json", "--html", "f.html")
    assert done.returncode == 2
    assert reason in done.stderr
    assert not (folder / "f.html").exists()


def test_a_damaged_document_is_drawn_with_a_warning(cli: Cli, folder: Path) -> None:
    whole = json.dumps(pts_documents.iops())
    (folder / "cut.json").write_text(whole[: len(whole) // 2], encoding="utf-8")
    done = cli("report", "cut.json", "--html", "cut.html")
    assert done.returncode == 0
    assert "damaged or cut off" in done.stderr
    assert "has no steady_state" in done.stderr
    assert "Missing from the document" in (folder / "cut.html").read_text(encoding="utf-8")


def test_a_result_of_a_run_is_drawn_as_its_plot(cli: Cli, folder: Path) -> None:
    (folder / "d.yaml").write_text(json.dumps(SMALL), encoding="utf-8")
    (folder / "w.yaml").write_text(json.dumps(SHORT), encoding="utf-8")
    assert cli("benchmark", "-w", "w.yaml", "-c", "d.yaml", "-o", "r.json", "-q").returncode == 0
    assert cli("report", "r.json", "--html", "r.html").returncode == 0
    assert "Plotly" in (folder / "r.html").read_text(encoding="utf-8")
    forms = ("--pdf", "r.pdf", "--csv", "tables", "--figures", "figures")
    assert cli("report", "r.json", *forms).returncode == 0
    assert (folder / "r.pdf").read_bytes().startswith(b"%PDF-")
    assert {"metrics.csv", "throughput.csv"} <= {p.name for p in (folder / "tables").iterdir()}
    assert (folder / "figures" / "throughput.svg").exists()
    shutil.copy(folder / "r.json", folder / "s.json")
    refused = cli("report", "r.json", "s.json", "--html", "both.html")
    assert refused.returncode == 2
    assert "drawn alone; `compare` puts several next to each other" in refused.stderr


def test_what_is_drawn_alone_and_not_compared_says_so(cli: Cli, folder: Path) -> None:
    """Images were said to be compared by `compare`, which refused them as damaged JSON."""
    (folder / "d.yaml").write_text(json.dumps(SMALL), encoding="utf-8")
    (folder / "w.yaml").write_text(json.dumps(SHORT), encoding="utf-8")
    run = ("benchmark", "-w", "w.yaml", "-c", "d.yaml", "-q")
    for name in ("a", "b"):
        assert cli(*run, "-o", f"{name}.json", "--save-image", f"{name}.onl").returncode == 0
    for files in (("a.onl", "b.onl"), ("a.json", "b.onl")):
        refused = cli("report", *files, "--html", "both.html")
        assert refused.returncode == 2
        assert "a device image is drawn alone; accepted: one `report FILE`" in refused.stderr
        assert "compare" not in refused.stderr
        refused = cli("compare", *files)
        assert refused.returncode == 2
        assert ".onl: a device image, and no document: `report` draws its wear" in refused.stderr
    assert cli("report", "b.onl", "--html", "b.html").returncode == 0


def test_what_a_command_prints_is_no_document(cli: Cli, folder: Path) -> None:
    """The refusal of `reliability life --drives --json` listed 19 schemas, and no way to a page."""
    printed = cli("reliability", "rber", "--json").stdout
    (folder / "rber.json").write_text(printed, encoding="utf-8")
    life = {"schema": "opennandlab.cli.reliability.life/1"}
    (folder / "life.json").write_text(json.dumps(life), encoding="utf-8")
    for name, said in (
        ("rber", "is what `reliability rber --json` prints, and no document; its --output or"),
        ("life", "`runs show KEY --output FILE` saves the document of each drive of the sample"),
    ):
        for verb in ("report", "runs add"):
            refused = cli(*verb.split(), f"{name}.json")
            assert refused.returncode == 2
            assert said in refused.stderr


def test_a_varied_parameter_is_drawn_above_one_another(tmp_path: Path) -> None:
    names = []
    for place, threads in enumerate((1, 2, 4)):
        document = pts_documents.wsat()
        document["header"]["threads"] = threads
        document["steady_state"][0]["average"] = 1000.0 * threads
        document["digest"] = digest(document)
        names.append(f"wsat-threads-{threads}")
        (tmp_path / f"{names[place]}.json").write_text(json.dumps(document), encoding="utf-8")
    suite = {
        "schema": "opennandlab.suite/1",
        "documents": names,
        "digests": {names[0]: "another"},
        "varied": {"key": "threads", "values": ["1", "2", "4"], "documents": names},
        "left_out": {"device-only": "needs a target of the kind device"},
    }
    (tmp_path / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    opened = book.open_book([tmp_path / "suite.json"])
    first = opened.report.chapters[0]
    assert first.title == "Write saturation by threads"
    assert first.warnings == ()
    bars = next(item for item in first.items if item.id == "by-value-1")
    assert isinstance(bars, Plot)
    assert list(bars.series[0].y) == [1000.0, 2000.0, 4000.0]
    curve = next(item for item in first.items if item.id == "iops-tgbw-linear")
    assert isinstance(curve, Plot)
    assert [line.name for line in curve.series] == ["threads 1", "threads 2", "threads 4"]
    assert len(opened.report.chapters) == 4
    assert [chapter.title for chapter in opened.report.chapters[1:]] == [
        f"Write saturation: {name}" for name in ("wsat of sim:tlc_standard",) * 3
    ]
    assert any("not the document that the suite was made with" in text for text in opened.warnings)
    written = dict(csv_files.files(opened.report, opened.measured))
    assert [name for name in written if "cells" in name] == [
        "wsat-cells.csv", "wsat-2-cells.csv", "wsat-3-cells.csv",
    ]  # fmt: skip
    assert any("device-only was left out" in text for text in opened.warnings)


def test_parameters_that_were_varied_one_by_one_have_a_chapter_each(tmp_path: Path) -> None:
    own = {"threads": ["1", "2"], "oio": list("12345678")}
    for key, values in own.items():
        names = [f"wsat-{key}-{value}" for value in values]
        for value, name in zip(values, names, strict=True):
            document = pts_documents.wsat()
            document["header"]["seed"] = int(value)
            document["header"]["deviations"] = ["a", f"b {value}"] if value < "3" else ["a"]
            document["digest"] = digest(document)
            (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        suite = {
            "schema": "opennandlab.suite/1",
            "documents": names,
            "varied": {"key": key, "values": values, "documents": names},
        }
        (tmp_path / f"{key}.json").write_text(json.dumps(suite), encoding="utf-8")
    report = book.open_book([tmp_path / f"{key}.json" for key in own]).report
    first, second = report.chapters[:2]
    assert [first.title, second.title] == [f"Write saturation by {key}" for key in own]
    assert first.badges[0].text == "2 values of threads"
    assert first.deviations == ("a", "threads 1: b 1", "threads 2: b 2")
    # Nothing of eight runs is higher than a page, and no column is lost.
    room = pdf.HEIGHT - pdf.TOP - pdf.BOTTOM
    assert all(block.height <= room for block in pdf._blocks(report, second))
    table = next(item for item in second.items if isinstance(item, Table) and item.id == "results")
    parts = list(pdf._column_parts(table))
    assert len(parts) > 1
    assert [at for part in parts for at in part[1:]] == list(range(1, len(table.columns)))


def test_a_folder_does_not_stand_for_the_files_of_fio(tmp_path: Path) -> None:
    (tmp_path / "fio").mkdir()
    (tmp_path / "fio" / "0000-probe.json").write_text("{}", encoding="utf-8")
    (tmp_path / "iops.json").write_text(json.dumps(pts_documents.iops()), encoding="utf-8")
    assert book.in_folders([tmp_path]) == [tmp_path / "iops.json"]


def test_json_of_fio_without_jobs_is_refused(cli: Cli, folder: Path) -> None:
    (folder / "fio.json").write_text('{"fio version": "fio-3.33", "jobs": []}', encoding="utf-8")
    for words in (("report", "fio.json"), ("compare", "fio.json", "fio.json")):
        done = cli(*words)
        assert done.returncode == 2
        assert "fio.json: `jobs` holds no jobs" in done.stderr
