"""A comparison as a page: the table with best and worst marked, then what its family draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from opennandlab.comparing.layout import Glyphs, Screen, cells_of, chance_note
from opennandlab.comparing.naming import by_keys
from opennandlab.comparing.side import Side
from opennandlab.documents.comparison import Comparison, Row
from opennandlab.reports import agreement, versions
from opennandlab.reports.figure.model import Axis, Mark, Plot, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Item, Marked, Report, Section, Table

# From here on documents are rows: more columns are hard to read side by side.
COLUMNS_MAX = 6
# Rows of the figure, and those from which on it is tall.
ROWS_MAX, TALL_MIN = 24, 8
SIGNS = {"best": "▲", "worst": "▼"}
LEAD = "▲ best, ▼ worst of what can be distinguished. Deltas are against {}."


def report(side: Side, paths: Sequence[str]) -> Report:
    """Return the page of a comparison.

    Args:
        side: The documents and their comparison.
        paths: The rows of its table, in order.
    """
    found = side.comparison
    own = side.family.report(side.documents, found.names, found)
    if own is not None:
        # Cells of tables stand below as tables, with all their deltas.
        paths = [path for path in paths if "[" not in path] or paths
    shown = table(side, paths)
    first = Section("comparison", "Comparison", (shown,), _lead(side, paths))
    if own is not None:
        chapter = own.chapters[0]
        rest = [one for one in chapter.sections if not _is_told(one, shown)]
        sections = (*_errors(found), first, *rest)
        return replace(own, chapters=(replace(chapter, sections=sections), *own.chapters[1:]))
    chapter = Chapter(
        id="comparison",
        title=f"Comparison of {len(found.names)} documents",
        subtitle=" · ".join(found.names) if len(found.names) <= COLUMNS_MAX else "",
        badges=() if found.like else (Badge("UNLIKE THINGS", "bad"),),
        warnings=(
            *(f"Unlike things: {text}" for text in found.reasons),
            *_models(found),
            *found.warnings,
        ),
        sections=(
            *relative(found, paths),
            first,
            *_upright(side.family.sections(side.documents, found.names), found.names),
            *_files(found),
        ),
        brief=f"Comparison of {', '.join(found.names)}",
    )
    return Report(chapter.title, " ".join(side.summary()), (chapter,), kind="comparison")


def _lead(side: Side, paths: Sequence[str]) -> str:
    """Return what the signs of the table mean."""
    found = side.comparison
    note = chance_note([found.metrics[path] for path in paths], side.seeds)
    return LEAD.format(short_names(found.names)[1][0]) + (f" {note}." if note else "")


def short_names(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return what documents are named by, and their names: of many that set keys, the values."""
    found = by_keys(names) if len(names) > COLUMNS_MAX else None
    return found or ("document", list(names))


def _upright(sections: Sequence[Section], names: Sequence[str]) -> Iterator[Section]:
    """Yield sections whose tables have a row for each of many documents, rather than a column."""
    head, short = short_names(names)
    for section in sections:
        items = [
            replace(item, columns=(head, *(str(row[0]) for row in item.rows)),
                    rows=tuple(zip(short, *(row[1:] for row in item.rows), strict=True)))
            if isinstance(item, Table) and len(names) > COLUMNS_MAX
            and item.columns[1:] == tuple(names)
            else item
            for item in section.items
        ]  # fmt: skip
        yield replace(section, items=tuple(items))


def relative(found: Comparison, paths: Sequence[str]) -> Iterator[Section]:
    """Yield the numbers of all documents over those of the first, where these are above zero."""
    shown = [
        (found.metrics[path].label or path, values)
        for path in paths
        if None not in (values := found.metrics[path].values) and min(map(_float, values)) > 0.0
    ]
    if not shown or len(found.names) > COLUMNS_MAX:
        return
    shown = shown[:ROWS_MAX]
    ys = [float(len(shown) - at) for at in range(len(shown))]
    series = tuple(
        Series(name, [_float(values[at]) / _float(values[0]) for _, values in shown], ys, "points",
               colour=at, marks=["full"] * len(shown))
        for at, name in enumerate(found.names) if at
    )  # fmt: skip
    title = f"times the value of {found.names[0]}"
    title = f"{found.names[1]}: {title}" if len(series) == 1 else title[:1].upper() + title[1:]
    plot = Plot(
        "relative",
        title,
        Axis(f"times the value of {found.names[0]}", "log"),
        Axis("number", ticks=tuple((y, label) for y, (label, _) in zip(ys, shown, strict=True)),
             ends=(0.4, len(shown) + 0.6), decades=len(shown)),
        series,
        marks=(Mark("x", 1.0, "the same"),),
        is_tall=len(shown) > TALL_MIN,
    )  # fmt: skip
    yield Section("relative", plot.title, (plot,))


def _float(value: float | None) -> float:
    return 0.0 if value is None else float(value)


def _is_told(section: Section, shown: Table) -> bool:
    """Whether a table has all rows of a section that only lists results."""
    told = {row[0] for row in shown.rows}
    return section.id == "results" and all(
        isinstance(item, Table) and told.issuperset(row[0] for row in item.rows)
        for item in section.items
    )


def _errors(found: Comparison) -> Iterator[Section]:
    """Yield how far each simulated drive is from the measured one, cell by cell."""
    for place, one in enumerate(found.errors or (), 1):
        prefix = f"{place}-"
        names = agreement.sides(one)
        items: list[Item] = [agreement.summary(one.tables, f"agreement-{place}", names)]
        for table in one.tables:
            items += agreement.items(table, prefix, names=names)
        title = f"{one.simulated} against {one.measured}, as measured"
        yield Section(f"errors-{place}", title, tuple(items))


def table(side: Side, paths: Sequence[str]) -> Table:
    """Return rows of a comparison as a table of a page."""
    found = side.comparison
    screen = Screen(0, Glyphs(), side.family.shows_intervals)
    grid = [_cells(found.metrics[path], screen) for path in paths]
    labels = [found.metrics[path].label or path for path in paths]
    if len(found.names) <= COLUMNS_MAX:
        heads = ("number", *found.names)
        rows = [(label, *cells) for label, cells in zip(labels, grid, strict=True)]
    else:
        head, names = short_names(found.names)
        heads = (head, *labels)
        rows = [(name, *(cells[place] for cells in grid)) for place, name in enumerate(names)]
    return Table("side-by-side", "Side by side", heads, tuple(rows))


def _cells(row: Row, screen: Screen) -> list[Cell]:
    """Return values with their deltas; best and worst bear marks."""
    found: list[Cell] = []
    for value, cell in zip(row.values, cells_of(row, screen), strict=True):
        text = " ".join(filter(None, [cell.value, cell.spread, cell.delta and f"({cell.delta})"]))
        if cell.mark and value is not None:
            found.append(Marked.of(f"{SIGNS[cell.mark]} {text}", float(value), cell.mark))
        else:
            found.append(text)
    return found


def _files(found: Comparison) -> tuple[Section, ...]:
    """Return the file of each document."""
    if found.sources is None:
        return ()
    rows = tuple(zip(found.names, found.sources, strict=True))
    files = Table("documents", "Documents", ("document", "file or key"), rows)
    return (Section("documents", "Documents", (files,)),)


def _models(found: Comparison) -> list[str]:
    """Return what is between the versions of the model."""
    labels = {path: row.label or path for path, row in found.metrics.items()}
    blocks = versions.blocks(
        found.models or [], found.names, found.metrics, lambda path: labels[path]
    )
    return [f"Model versions differ: {' '.join(text)}" for text in blocks]
