"""Tables of the command line on narrow terminals: no number is cut, broken or left out.

The first command of the README showed a largest latency of `188 8` for 188 853 µs where a terminal
has 80 columns, a sweep `5621` for 56 210, and its column of runs had no width at all: cells were
cropped at the end of the line, and numbers were broken at the space of their thousands.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions

import opennandlab
from drawn_tables import drawn, missing, numbers, parts
from opennandlab.base.errors import UNPRINTABLE
from opennandlab.cli import _streams
from opennandlab.cli._tables import Grid, plain_table
from table_verbs import VERBS, place, ran

__all__ = ["place"]

WIDTHS = (40, 50, 60, 72, 80, 90, 100, 110, 120, 140, 160, 200)


def cells_of(table: Grid) -> Iterator[str]:
    yield from table.heads
    for cells in table.lines:
        for cell in cells:
            yield from parts(cell)


# ------------------------------------------------------------------------------------------------
# Any table
# ------------------------------------------------------------------------------------------------

WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=14)
WHOLE = st.integers(0, 10**12).map(lambda it: f"{it:,}".replace(",", " "))
FLOATS = st.floats(-1e6, 1e6).map(lambda it: f"{it:.4g}")
FIGURES = st.one_of(
    WHOLE,
    FLOATS,
    st.floats(1e-30, 1e-5).map(lambda it: f"{it:.3e}"),
    st.tuples(WHOLE, FLOATS, WHOLE).map(" / ".join),
    st.tuples(FLOATS, FLOATS).map(lambda it: f"{it[0]} ± {it[1].lstrip('-')}"),
    FLOATS.map(lambda it: f"{it} %"),
)
SENTENCES = st.lists(st.one_of(WORDS, WORDS, WHOLE), min_size=1, max_size=12).map(" ".join)


@st.composite
def tables(draw: Any) -> Grid:
    kinds = draw(st.lists(st.sampled_from([FIGURES, FIGURES, SENTENCES]), min_size=1, max_size=9))
    heads = [draw(SENTENCES.filter(lambda it: len(it) < 40)) for _ in range(len(kinds) + 1)]
    count = draw(st.integers(1, 6))
    lines = [[draw(WORDS), *(draw(kind) for kind in kinds)] for _ in range(count)]
    labels = draw(st.integers(1, min(2, len(heads))))
    return Grid(heads, lines, labels)


@settings(max_examples=150)
@given(tables(), st.integers(40, 200))
def test_every_number_of_any_table_stands_whole_on_a_line(table: Grid, width: int) -> None:
    assert not missing(table, width)
    lines = drawn(table, width)
    assert not [line for line in lines if "…" in line]
    # A line is longer only where one number next to its label is.
    longest = max(cell_len(word) for cell in cells_of(table) for word in pieces(cell))
    assert all(cell_len(line.rstrip()) <= max(width, 2 * longest + 3) for line in lines)
    for cell in cells_of(table):
        for word in re.findall(r"[a-z]+", cell):
            assert any(word in line for line in lines) or len(word) > 12


def pieces(cell: str) -> list[str]:
    return [cell] if not re.search("[a-z]{2}", cell) else [*re.split(r" (?!\d{3}\b)", cell)]


@given(tables())
def test_a_table_that_fits_is_one_block_with_a_line_for_each_row(table: Grid) -> None:
    lines = drawn(table, 5000)
    assert len(lines) == 2 + len(table.lines)
    for line, cells in zip(lines[2:], table.lines, strict=True):
        assert [cell.strip() for cell in line.split("│")] == [cell.strip() for cell in cells]


def test_texts_wrap_before_columns_move() -> None:
    sentence = "what a column of words says in a sentence of some length"
    table = plain_table(["key", "count", "unit"], [["a", "188 853", sentence]])
    assert drawn(table, 40) == [
        "key ┃   count ┃ unit                    ",
        "━━━━╇━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━",
        "a   │ 188 853 │ what a column of words  ",
        "    │         │ says in a sentence of   ",
        "    │         │ some length             ",
    ]


def test_few_rows_turn_and_many_rows_stand_in_blocks_below_their_labels() -> None:
    heads = ["latency, µs", "ops", "mean", "max"]
    few = plain_table(heads, [["write", "262 144", "34 529", "188 853"]])
    assert [line.split() for line in drawn(few, 30)] == [
        ["latency,", "µs", "┃", "write"],
        ["━━━━━━━━━━━━╇━━━━━━━━"],
        ["ops", "│", "262", "144"],
        ["mean", "│", "34", "529"],
        ["max", "│", "188", "853"],
    ]
    many = plain_table(heads, [[f"op {at}", "262 144", "34 529", "188 853"] for at in range(9)])
    lines = drawn(many, 34)
    first, second = lines[: lines.index("")], lines[lines.index("") + 1 :]
    assert first[0].split(" ┃ ")[0].strip() == second[0].split(" ┃ ")[0].strip() == "latency, µs"
    assert len(first) == len(second) == 11
    assert all(line.startswith("op ") for line in [*first[2:], *second[2:]])


def test_cells_that_are_missing_are_empty() -> None:
    table = plain_table(["dies", "MB/s", "error"], [["1", "114.29", "0.20"], ["64", "7314.29"]])
    assert drawn(table, 80)[2:] == ["1    │  114.29 │  0.20", "64   │ 7314.29 │      "]


def test_a_table_without_heads_keeps_the_names_of_its_rows() -> None:
    digest = "f75a0c17e1bcfc020c200c0ac44b2323" * 2
    rows = [("device.ecc.code.source_sha256", digest), ("device.ecc.algorithm", "bch")]
    lines = drawn(Grid(("", ""), rows, left=(0, 1), is_plain=True), 80)
    assert [line.split(maxsplit=1)[0] for line in lines if line[0] != " "] == [
        "device.ecc.code.source_sha256", "device.ecc.algorithm"
    ]  # fmt: skip
    assert "".join(line[31:] for line in lines[:2]).replace(" ", "") == digest


def test_a_number_wider_than_the_terminal_is_printed_whole() -> None:
    table = plain_table(["what", "count"], [["bytes", "123 456 789 012 345 678"]])
    assert any("123 456 789 012 345 678" in line for line in drawn(table, 12))


# ------------------------------------------------------------------------------------------------
# The tables of every verb
# ------------------------------------------------------------------------------------------------


def test_no_table_of_any_verb_loses_a_number_at_any_width(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Grid] = []
    draw = Grid.__rich_console__

    def noted(table: Grid, console: Console, options: ConsoleOptions) -> Any:
        found.append(table)
        return draw(table, console, options)

    monkeypatch.setattr(Grid, "__rich_console__", noted)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(place)
    silent = []
    for line in VERBS.strip().splitlines():
        before = len(found)
        code, _, said = ran(line)
        assert code == 0, f"{line}: {code}\n{said}"
        if len(found) == before:
            silent.append(line.split()[:2])
    assert silent == [["runs", "add"], ["plugins", "--no-load"]]
    monkeypatch.setattr(Grid, "__rich_console__", draw)
    cropped = [
        (width, table.heads, lost)
        for table in found
        for width in WIDTHS
        if (lost := missing(table, width))
    ]
    assert not cropped
    too_wide = [
        (width, line)
        for table in found
        for width in WIDTHS
        for line in drawn(table, width)
        if cell_len(line) > width
    ]
    assert not too_wide
    assert not [cell for table in found for cell in cells_of(table) if UNPRINTABLE.search(cell)]


def on_a_terminal(line: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a verb prints on a terminal of so many columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("PLAIN_WIDTH", "NUMBERS_WIDTH"):
        monkeypatch.setattr(_streams, name, columns)
    code, shown, said = ran(line)
    assert code == 0, said
    return shown


@pytest.mark.parametrize("width", WIDTHS)
def test_a_verb_keeps_to_the_columns_it_is_told(
    width: int, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(place)
    for line in (
        "benchmark -w short.yaml -c small.yaml",
        "reliability retry --pe 3000 --retention-h 8760 --steps 4",
        "compare a.json b.json --force --all",
    ):
        if line.startswith("compare"):
            for name, policy in (("a", "greedy"), ("b", "fifo")):
                ran(
                    f"benchmark -w short.yaml -c small.yaml --set ftl.gc_policy={policy} "
                    f"-q -o {name}.json"
                )
        wide, narrow = (on_a_terminal(line, columns, monkeypatch) for columns in (400, width))
        assert Counter(numbers(wide)) - Counter(numbers(narrow)) == Counter()
        drawn_lines = [text for text in narrow.splitlines() if re.search("[│┃|]", text)]
        assert drawn_lines
        assert all(cell_len(text) <= width for text in drawn_lines)


def test_no_table_is_drawn_elsewhere() -> None:
    folder = Path(os.fspath(opennandlab.__path__[0]))
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    assert [path for path, text in texts.items() if "rich.table" in text] == []
