"""`compare`: any number of documents of one family next to each other, best and worst marked."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.fio import FioChoice
from opennandlab.cli.options.rows import argument, flag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from opennandlab.comparing.layout import Screen
    from opennandlab.comparing.model import UnlikeError
    from opennandlab.comparing.side import Side
    from opennandlab.documents.comparison import Row

# Columns of a line if neither a terminal nor COLUMNS states them.
WIDTH = 100
# Keys that differ: of more the first are shown, and the page has all.
KEYS_MAX = 20
STYLES = {"best": "green", "worst": "red"}


@dataclass(frozen=True, kw_only=True)
class CompareOptions(FioChoice, Printed):
    """Options of `compare`."""

    files: Annotated[
        list[str],
        argument(
            "Documents of one family: results, standard tests, ECC curves or comparisons of "
            "them, life tests, `validate`; or keys of points in a store (`runs list`).",
            metavar="FILE FILE...",
            show_default=False,
        ),
    ]
    force: Annotated[bool, flag("Compare unlike things; the objection stays in the output.")] = (
        False
    )
    every: Annotated[bool, flag("Show every number, not only the main ones.", "--all")] = False
    store: Annotated[
        Path | None,
        flag("Store in which keys are looked up. Default: the store of `runs`.", metavar="DIR"),
    ] = None
    cost: Annotated[
        Path | None,
        flag(
            "Prices of drives: also print the cost per TB, 1000 IOPS, TBW and year.",
            metavar="FILE",
        ),
    ] = None
    html: Annotated[
        Path | None,
        flag("Write a page with the table, and with all results in shared plots.", metavar="FILE"),
    ] = None
    csv: Annotated[Path | None, flag("Write the table as CSV; - is stdout.", metavar="FILE")] = None


def compare(given: CompareOptions) -> None:
    """Compare documents side by side, relative to the first; best and worst are marked."""
    inputs = {f"the input {path}": Path(path) for path in given.files}
    is_csv = terminal.csv_to_stdout(given.csv, as_json=given.as_json)
    outputs = {"--html": given.html, "--csv": None if is_csv else given.csv}
    if given.cost is not None:
        inputs["the prices"] = given.cost
    terminal.check_outputs(outputs, dict(inputs))
    from opennandlab.comparing.model import UnlikeError
    from opennandlab.comparing.opening import opened
    from opennandlab.comparing.side import made
    from opennandlab.documents.record import plain

    family, subjects = opened(given.files, given.store, given.chosen_of(given.files))
    try:
        side = made(family, subjects, force=given.force)
    except UnlikeError as refusal:
        _refuse(given, made(family, subjects, force=True), refusal)
    side = _with_chance(side, given.store)
    if given.cost is not None:
        side = _with_cost(side, given.cost)
    paths = side.every if given.every else side.main
    _write(side, paths, given)
    if given.as_json:
        terminal.emit_json(plain(side.comparison))
    elif is_csv and not given.quiet:
        for text in (*side.comparison.reasons, *side.comparison.warnings):
            terminal.note(f"warning: {text}", style="yellow")
    elif not given.quiet:
        _show(side, paths)
        _show_cost(side)
        _tell(outputs)


def _write(side: "Side", paths: "Sequence[str]", given: CompareOptions) -> None:
    """Write the page and the table, as far as they were asked for."""
    if given.html is not None:
        from opennandlab.comparing import page
        from opennandlab.reports import output

        output.write(page.report(side, paths), given.html, ".html")
    if given.csv is not None:
        from opennandlab.comparing import sheet

        sheet.write(side.comparison, paths, given.csv)


def _tell(outputs: "Mapping[str, Path | None]") -> None:
    for path in outputs.values():
        if path is not None:
            typer.echo(f"wrote {path}")


def _refuse(given: CompareOptions, side: "Side", refusal: "UnlikeError") -> NoReturn:
    """Show the numbers without a ranking, then refuse the comparison in a sentence."""
    done, why, verb = "not compared", "; ".join(refusal.reasons), "compares"
    if not given.as_json and not given.quiet and given.csv != Path("-"):
        from opennandlab.comparing.side import unranked

        _show(unranked(side), side.every if given.every else side.main, is_refused=True)
        first, *others = refusal.reasons
        rest = f" (and {len(others)} more above)" if others else ""
        done, why, verb = "shown, but not ranked", first + rest, "ranks"
    remedy = f"; {refusal.remedy}" if refusal.remedy else ""
    text = f"{done}: {why}{remedy}; --force {verb} them nevertheless and keeps this warning"
    terminal.stop(terminal.REFUSED, text, as_json=given.as_json, reasons=refusal.reasons)


def _with_chance(side: "Side", place: Path | None) -> "Side":
    """Return a comparison of points with the chance that other seeds in their store show."""
    entries = [one.entry for one in side.subjects if one.entry is not None]
    if not entries:
        return side
    from opennandlab.comparing import chance
    from opennandlab.store import Store

    with Store.open(place, create=False) as store:
        return chance.without(side, chance.noise(store, entries, list(side.comparison.metrics)))


def _show(side: "Side", paths: "Sequence[str]", *, is_refused: bool = False) -> None:
    """Print objections, what stands for which file, and the table."""
    from rich.text import Text

    from opennandlab.comparing import layout
    from opennandlab.reports import versions

    found = side.comparison
    console = terminal.stdout()
    wide = max(shutil.get_terminal_size((WIDTH, 24)).columns, layout.WIDTH_MIN)
    signs = layout.glyphs(sys.stdout.encoding)
    labels = {path: row.label or path for path, row in found.metrics.items()}
    rows = [(labels[path], found.metrics[path]) for path in paths]
    screen = layout.Screen(wide, signs, side.family.shows_intervals)
    drawn = layout.table(rows, found.names, found.sources, screen)
    # The refusal, which follows the table, has the first reason.
    for text in found.reasons[1:] if is_refused else found.reasons:
        _say(console, f"UNLIKE THINGS: {text}", wide, "bold red")
    for text in found.warnings:
        _say(console, f"warning: {text}", wide, "yellow")
    for block in versions.blocks(
        found.models or [], found.names, found.metrics, lambda path: labels[path]
    ):
        _say(console, "MODEL VERSIONS DIFFER", wide, "bold yellow")
        for text in block:
            _say(console, f"  {text}", wide, "yellow")
    for text in side.summary():
        _say(console, text, wide, "bold")
    _show_errors(side)
    for text in drawn.legend:
        _print(console, Text(text))
    styles = {place: STYLES[mark] for place, mark in drawn.marks.items()}
    console.print(terminal.Grid(drawn.heads, drawn.lines, styles=styles, repeated=1))
    for note in _notes([row for _, row in rows], screen, drawn.heads[1], side.seeds):
        _say(console, note, wide, "dim")
    _show_keys(side, drawn.heads)


def _notes(rows: "Sequence[Row]", screen: "Screen", first: str, seeds: int) -> "Iterator[str]":
    """Yield what the signs of a table mean."""
    from opennandlab.comparing.layout import chance_note

    signs = screen.signs
    reach = f"{signs.reach} 95 % intervals"
    has_intervals = screen.has_intervals and any(row.low for row in rows)
    if any(row.best or row.worst for row in rows):
        text = f"{signs.best} best, {signs.worst} worst; deltas are against {first}"
        yield f"{text}; {reach}" if has_intervals else text
    elif has_intervals:
        yield reach
    if note := chance_note(rows, seeds):
        yield signs.plain(note)


def _show_keys(side: "Side", heads: "Sequence[str]") -> None:
    """Print the keys of device and workload in which the documents differ, as the page does."""
    found = side.family.differing_keys(side.documents)
    if not found:
        return
    lines = [[key, *values] for key, values in found[:KEYS_MAX]]
    table = terminal.plain_table(["keys that differ", *heads[1:]], lines)
    console = terminal.stdout()
    console.print()
    console.print(table)
    if len(found) > KEYS_MAX:
        console.print(f"and {len(found) - KEYS_MAX} more keys: the page (--html) has all")


def _with_cost(side: "Side", path: Path) -> "Side":
    from dataclasses import replace

    from msgspec import structs

    from opennandlab.comparing.cost import cost

    found = cost(path, side.comparison.names, side.documents)
    return replace(side, comparison=structs.replace(side.comparison, cost=found))


def _show_cost(side: "Side") -> None:
    """Print what the drives cost, a column each."""
    from opennandlab.base.words import number

    found = side.comparison.cost
    if found is None:
        return
    names = {
        "price": "price", "watts": "watts", "energy": "energy", "total": "total",
        "per_tb": "per TB", "per_k_iops": "per 1000 IOPS", "per_tbw": "per TBW",
        "per_year": "per year",
    }  # fmt: skip
    lines = []
    for key, label in names.items():
        values = [getattr(row, key) for row in found.rows]
        if key != "energy" or found.kwh_price is not None:
            lines.append([label, *("-" if it is None else number(it) for it in values)])
    heads = [f"{found.currency}, {found.years:g} years", *(row.name for row in found.rows)]
    terminal.stdout(is_numbers=True).print(terminal.plain_table(heads, lines))


def _show_errors(side: "Side") -> None:
    """Print how far simulated drives are from the measured one, the first table cell by cell."""
    from opennandlab.reports import agreement, words
    from opennandlab.reports.model import Table

    console = terminal.stdout(is_numbers=True)
    for one in side.comparison.errors or ():
        title = f"{one.simulated} against {one.measured}, as measured"
        console.print(title, markup=False, style="bold", soft_wrap=True)
        names = agreement.sides(one)
        first = next(iter(agreement.items(one.tables[0], names=names)))
        tables = [agreement.summary(one.tables, names=names)]
        tables += [first] if isinstance(first, Table) else []
        for table in tables:
            lines = [[words.value(cell, table.digits) for cell in row] for row in table.rows]
            console.print(f"{table.title}. {table.note}".strip(), markup=False, soft_wrap=True)
            console.print(terminal.plain_table(list(table.columns), lines))
        console.print()


def _say(console: "Console", text: str, wide: int, style: str) -> None:
    from rich.text import Text

    from opennandlab.comparing.layout import paragraph

    for line in paragraph(text, wide):
        _print(console, Text(line, style=style))


def _print(console: "Console", text: object) -> None:
    """Print a line that is as wide as it is."""
    console.print(text, soft_wrap=True)
