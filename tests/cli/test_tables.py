"""Tables of the command line on narrow terminals: no number is cut, broken or left out.

The first command of the README showed a largest latency of `188 8` for 188 853 µs where a terminal
has 80 columns, a sweep `5621` for 56 210, and its column of runs had no width at all: cells were
cropped at the end of the line, and numbers were broken at the space of their thousands.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
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
from conftest import SHORT, SMALL
from drawn_tables import drawn, missing, numbers, parts
from opennandlab.base.errors import UNPRINTABLE
from opennandlab.cli import _process, _streams, app
from opennandlab.cli._tables import Grid, plain_table

WIDTHS = (40, 50, 60, 72, 80, 90, 100, 110, 120, 140, 160, 200)

# Verbs that print tables, on files that the fixture `place` makes; a later one may read what an
# earlier one wrote.
VERBS = """
benchmark -w W2 -c small.yaml --breakdown -o a.json
benchmark -w short.yaml -c small.yaml --set ftl.gc_policy=fifo -o b.json
benchmark -w shared.yaml -c small.yaml
runs add a.json b.json --store kept
runs list --store kept
runs table --store kept
runs table waf,iops.total --store kept
sweep -c small.yaml -w short.yaml --store kept --seeds 2 --vary ftl.gc_policy=greedy,fifo
runs table "waf,iops.total by ftl.gc_policy" --store kept
runs list --store kept
runs sweeps --store kept
pts iops --target sim:small.yaml --time-base smoke --dry-run
pts iops --target sim:small.yaml --time-base smoke -o iops --block-sizes 4k,64k --mixes 100,0
pts latency --target sim:small.yaml --time-base smoke -o latency
pts identify --target sim:small.yaml --time-base smoke
pts steady-state --values 5300,5200,5050,4900,4770
pts import --list
pts import reference:client_2013_iops
compare iops/iops.json reference:client_2013_iops --force
ecc curve --code bch:m=8,t=4 --channel bsc --points 1e-4,1e-3,5e-3
ecc compare bch:m=13,t=8,data_bits=4096 bch:m=13,t=9,data_bits=4096 --points 2e-3
ecc llr --rber 5e-3 --reads 3
ecc limits --rate 0.9
reliability states --pe 3000 --retention-h 8760
reliability rber --pe 3000 --retention-h 0,720,8760 --temperature-c 25,40
reliability llr --page-type lower --pe 3000 --retention-h 8760
reliability retry --pe 3000 --retention-h 8760 --steps 4
reliability arrhenius --from 40 --to 85 --ea 1.1
reliability life --analytic -c tlc_standard --set ecc.bch_m=14 --set ecc.bch_t=72
reliability table
theory waf --spare-factor 0.0654 --pages-per-block 64 --trim-pct 10 --trim-target mapped
theory examples garbage_collection
theory bandwidth --cell slc
theory scaling --rates 1:500,300,250,220,200 --rates 2:900,540,450,380,340 --watts 5
config show emmc_16gb
config presets
validate ablation --quick --case planes-*
plugins --no-load
fleet devices fleet.yaml
fleet run fleet.yaml -o fleet
fleet run stages.yaml -o stages
fleet show stages/fleet.json
fleet show stages/fleet.json --device 1
power self-test --count 24
power run --cuts 20 -o cuts
pts import drive.csv --threads 1 --queue-depth 4 -o drive.json
calibrate --device small.yaml --to drive.json
app run --target sim:emmc_16gb --case camera=2 --runs 1 --keep --store kept
app history --store kept
quick --target sim:small.yaml --size 8MiB --runs 1 --seconds 0.05 --set nand.blocks_per_plane=128
quick --target sim:tlc_standard --dry-run
check-data --target file:drive.img?size=2MiB
check-data --target file:none.img?size=2MiB --dry-run
ocp after.json smart.json monitor.json --before before.json --before monitor.json
trace info t.csv
trace capture t.csv
trace convert t.csv --addresses dense -o dense.csv
"""


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
    # A line is longer only where one number beside its label is.
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


def test_a_number_wider_than_the_terminal_is_printed_whole() -> None:
    table = plain_table(["what", "count"], [["bytes", "123 456 789 012 345 678"]])
    assert any("123 456 789 012 345 678" in line for line in drawn(table, 12))


# ------------------------------------------------------------------------------------------------
# The tables of every verb
# ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the verbs read."""
    folder = tmp_path_factory.mktemp("tables")
    tenants = [
        {"name": "one", "pattern": "random"},
        {"name": "two", "pattern": "random", "read_pct": 50},
    ]
    fleet = {
        "name": "few", "devices": 3, "device": "small.yaml",
        "spread": {"nand.timing.t_program_us": {"normal": [700, 50]}},
        "suites": {"writes": {"run": "benchmark", "workload": "short.yaml"}},
    }  # fmt: skip
    cut = {"run": "power", "power": {"cuts": 3}}
    suites = {"life": {"run": "chain", "stages": {"cut": cut, "old": {"run": "age"}}}}
    files = {
        "stages.yaml": json.dumps({**fleet, "set": {"ftl.gc_reserve_blocks": 8}, "suites": suites}),
        "small.yaml": json.dumps(SMALL),
        "short.yaml": json.dumps(SHORT),
        "shared.yaml": json.dumps({"total": SHORT["total"], "tenants": tenants}),
        "fleet.yaml": json.dumps(fleet),
        "t.csv": "0 0 0 8 0\n5000 1 8 8 1\n9000 0 0 8 0\n",
        "drive.csv": "Block size (KiB),0/100,100/0\n4,1306,55340\n",
    }
    files |= logs_of_a_drive()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def logs_of_a_drive() -> dict[str, str]:
    """Return files of nvme-cli with counters that are long."""
    c0, c3 = "0xafd514c97c6f4f9ca4f2bfea2810afc5", "85D45E58D4E643709C6C84D08CC07A92"
    rows = {
        f"{window} Bucket Counter: Bucket {bucket}": {"Read": 4_294_967_295, "Write": 17, "Trim": 0}
        for window in ("Active", "Static")
        for bucket in range(4)
    }
    limits = dict(
        zip((f"Active Threshold {it}" for it in "ABCD"), (30, 100, 155, 235), strict=True)
    )
    files = {
        "before.json": {"Physical media units written": {"hi": 0, "lo": 1 << 50},
                        "Soft ecc error count": 1 << 60, "Log page GUID": c0},
        "after.json": {"Physical media units written": {"hi": 0, "lo": 3 << 50},
                       "Soft ecc error count": 3 << 60, "Log page GUID": c0},
        "smart.json": {"data_units_written": 123_456_789_012},
        "monitor.json": {**limits, **rows, "Log Page GUID": c3},
    }  # fmt: skip
    return {name: json.dumps(content) for name, content in files.items()}


def ran(line: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = _process.run(app, shlex.split(line))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


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
