"""Two or more runs of one test in one report: plots above one another, tables with their deltas.

Each plot that all runs have is drawn once, with the lines of all: one colour for each line of the
plot where there are several, one for each run where there is one; runs differ by their stroke.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from opennandlab.documents import pts
from opennandlab.documents.comparison import Comparison, delta_pct
from opennandlab.documents.pts_rows import ratios
from opennandlab.reports import versions, words
from opennandlab.reports.figure.model import Axis, Plot, Relief, Series
from opennandlab.reports.model import Badge, Cell, Chapter, Facts, Item, Report, Section, Table
from opennandlab.reports.pts import header, likeness, tables, views
from opennandlab.reports.pts.source import Measured
from opennandlab.reports.pts.tables import in_one_unit, spoken_path


def report(measured: Sequence[Measured], names: Sequence[str], found: Comparison) -> Report:
    """Return the report that compares runs.

    Args:
        measured: The documents, of one test.
        names: What to call them, each once.
        found: The comparison of them.
    """
    chapters = [views.chapter_of(one) for one in measured]
    kinds: tuple[Badge, ...] = (Badge(f"{len(measured)} runs", "plain"),)
    if not found.like:
        kinds += (Badge("UNLIKE THINGS", "bad"),)
    chapter = Chapter(
        id="comparison",
        title=f"Comparison: {chapters[0].title}",
        subtitle=" · ".join(names),
        facts=_facts(measured, names),
        badges=kinds,
        deviations=(),
        warnings=(
            *(f"Unlike things: {text}" for text in found.reasons),
            *_models(found, names),
            *found.warnings,
        ),
        missing=(),
        sections=tuple(_sections(measured, chapters, names)),
        brief=f"Comparison of {chapters[0].title}: {', '.join(names)}. {header.brief(measured[0])}",
        test=measured[0].test,
    )
    lead = " ".join([*likeness.summary(measured, names), f"Deltas are against {names[0]}."])
    return Report(chapter.title, lead, (chapter,), (), header.foot(measured[0]))


def _models(found: Comparison, names: Sequence[str]) -> Iterator[str]:
    """Yield what is between the versions of the model, a paragraph for each pair of them."""
    for text in versions.blocks(found.models or [], names, found.metrics, spoken_path):
        yield f"Model versions differ: {' '.join(text)}"


def sweep(measured: Sequence[Measured], values: Sequence[str], key: str) -> Chapter:
    """Return the chapter of runs between which one parameter was varied on purpose.

    Args:
        measured: The documents, of one test.
        values: That of the parameter in each.
        key: The parameter.
    """
    names = [f"{key} {value}" for value in values]
    chapters = [views.chapter_of(one) for one in measured]
    by_value = _by_value(measured, values, key)
    first: tuple[Section, ...] = (Section("varied", f"By {key}", by_value),) if by_value else ()
    if key == "state":
        found = ratios([one.document for one in measured], values)
        first += (Section("ratios", f"Ratios to {values[0]}", tuple(map(tables.of_block, found))),)
    return Chapter(
        id=f"by-{key}",
        title=f"{chapters[0].title} by {key}",
        subtitle=" · ".join(names),
        facts=_facts(measured, names),
        badges=(Badge(f"{len(measured)} values of {key}"),),
        deviations=tuple(_deviations(measured, names)),
        warnings=tuple(likeness.unsteady(measured, names)),
        missing=(),
        sections=(*first, *_sections(measured, chapters, names)),
        brief=f"{chapters[0].title} by {key}. {header.brief(measured[0])}",
        test=measured[0].test,
    )


def _deviations(measured: Sequence[Measured], names: Sequence[str]) -> Iterator[str]:
    """Yield each deviation once, with the runs that have it where not all do."""
    own = [header.deviations(one) for one in measured]
    for text in dict.fromkeys(text for texts in own for text in texts):
        having = [name for name, texts in zip(names, own, strict=True) if text in texts]
        yield text if len(having) == len(names) else f"{', '.join(having)}: {text}"


def _by_value(measured: Sequence[Measured], values: Sequence[str], key: str) -> tuple[Plot, ...]:
    """Return the mean of the window of each tracking variable as bars, one for each value."""
    places = [float(place) for place in range(len(values))]
    plots = []
    for at, steady in enumerate(measured[0].steady):
        metric = steady.tracking.metric
        # Runs of unlike matrices are not judged by the same cell.
        cells = [one.steady[at].tracking.label for one in measured if at < len(one.steady)]
        tracked = " and ".join(dict.fromkeys(cells))
        label, factor = words.metric(metric)
        found = [one.steady[at].average if at < len(one.steady) else None
                 for one in measured]  # fmt: skip
        bars = [None if value is None else value * factor for value in found]
        plots.append(
            Plot(
                f"by-value-{at + 1}",
                f"{label}, mean of the window, of {tracked or metric}",
                Axis(key, ticks=tuple(zip(places, values, strict=True))),
                Axis(label, zero=True),
                (Series(label, places, bars, "bars", texts=list(map(words.value, bars))),),
            )
        )
    return tuple(plot for plot in plots if plot.drawable)


def _facts(measured: Sequence[Measured], names: Sequence[str]) -> Facts:
    """Return for each run what decides whether it may be compared."""
    wanted = {
        "Target", "State before", "Over-provisioning", "Conformance", "Profile", "Specification",
        "Time base",
        "Write cache", "Active range", "WIPC", "Threads / queue depth", "Steady state", "Seed",
        "User capacity", "Keys changed", "Digest",
    }  # fmt: skip
    return tuple(
        (name, tuple((k, v) for _, rows in header.facts(one) for k, v in rows if k in wanted))
        for name, one in zip(names, measured, strict=True)
    )


def _sections(
    measured: Sequence[Measured], chapters: Sequence[Chapter], names: Sequence[str]
) -> Iterator[Section]:
    scalars = _scalars(measured, names)
    if scalars:
        yield Section("results", "Results", (scalars,))
    deltas = [_delta_table(blocks, names) for blocks in _common_blocks(measured)]
    if deltas:
        yield Section("tables", "Tables", tuple(deltas))
    for section in chapters[0].sections:
        items = [
            merged
            for item in section.items
            if (merged := _merged([_same(chapter, item) for chapter in chapters], names))
        ]
        if items:
            yield Section(f"o-{section.id}", section.title, tuple(items))


def _same(chapter: Chapter, wanted: Item) -> Item | None:
    return next((item for item in chapter.items if item.id == wanted.id), None)


def _merged(items: Sequence[Item | None], names: Sequence[str]) -> Item | None:
    plots = [item for item in items if isinstance(item, Plot)]
    reliefs = [item for item in items if isinstance(item, Relief)]
    if len(plots) == len(items):
        return _overlaid(plots, names)
    if len(reliefs) == len(items) and len(items) == 2 and reliefs[0].shape == "columns":
        return _ratio(reliefs[0], reliefs[1], names)
    return None


def _overlaid(plots: Sequence[Plot], names: Sequence[str]) -> Plot:
    """Return the lines of all plots in one; guides of the single runs are left out."""
    lines = []
    order = list(dict.fromkeys(line.name for plot in plots for line in _own(plot)))
    for run, (plot, name) in enumerate(zip(plots, names, strict=True)):
        for line in _own(plot):
            several = len(order) > 1
            draw = "steps" if line.draw == "area" else line.draw
            lines.append(
                replace(
                    line,
                    name=f"{name}: {line.name}" if several else name,
                    colour=_colour(line, order.index(line.name)) if several else run,
                    draw=draw,
                    stroke=run,
                    texts=[text and f"{text} ({name})" for text in line.texts]
                    if draw != "bars"
                    else line.texts,
                )
            )
    first = plots[0]
    alike = len({plot.title for plot in plots}) == 1
    ticks = tuple(sorted({tick for plot in plots for tick in plot.x.ticks}))
    return replace(
        first,
        # The lines name what each is of.
        title=first.title if alike else first.title.split(": ")[0],
        x=replace(first.x, ticks=ticks if first.x.ticks else ()),
        series=tuple(lines),
        marks=(),
        ordered=first.ordered,
        note="",
    )


def _colour(line: Series, place: int) -> int:
    """Return the place of a line in the palette; what stands out from an order goes on doing so."""
    return place if line.colour is None or line.colour >= 0 else line.colour


def _own(plot: Plot) -> list[Series]:
    """Return the measured series, without guides."""
    return [line for line in plot.series if line.colour != -1 and not line.quiet]


def _ratio(one: Relief, other: Relief, names: Sequence[str]) -> Relief | None:
    """Return a grid of the second run in percent of the first."""
    if one.columns != other.columns or one.rows != other.rows:
        return None
    values = tuple(
        tuple(None if a is None or b is None or a <= 0 else 100 * b / a for a, b in pair)
        for pair in (zip(*rows, strict=True) for rows in zip(one.values, other.values, strict=True))
    )
    return replace(
        one,
        title=f"{one.title}: {names[1]} in percent of {names[0]}",
        z=Axis(f"% of {names[0]}", zero=True),
        values=values,
    )


def _scalars(measured: Sequence[Measured], names: Sequence[str]) -> Table | None:
    from opennandlab.reports.pts.tables import spoken

    found = [dict(likeness.numbers_of(one)) for one in measured]
    keys = [key for key in found[0] if key.startswith("results.")]
    rows: list[tuple[Cell, ...]] = []
    for key in keys:
        values = [one.get(key) for one in found]
        if not any(value is not None for value in values):
            continue
        deltas = [_signed(delta_pct(values[0], value)) for value in values[1:]]
        rows.append((spoken(key.removeprefix("results.")), *values, *deltas))
    if not rows:
        return None
    heads = ("result", *names, *(f"Δ {name}, %" for name in names[1:]))
    return Table("results", "Results", heads, tuple(rows))


def _common_blocks(measured: Sequence[Measured]) -> Iterator[list[pts.Table]]:
    for block in measured[0].tables:
        same = [one.table(block.id) for one in measured]
        found = [one for one in same if one is not None]
        values = (value for one in found for row in one.values for value in row)
        if len(found) == len(measured) and any(value is not None for value in values):
            yield found


def _delta_table(blocks: Sequence[pts.Table], names: Sequence[str]) -> Table:
    """Return a table with the rows of all runs, and below them the deltas against the first."""
    blocks = in_one_unit(blocks)
    first = blocks[0]
    columns = _all(block.columns for block in blocks)
    rows: list[tuple[Cell, ...]] = []
    for row in _all(block.rows for block in blocks):
        runs = [pair for pair in zip(names, blocks, strict=True) if row in pair[1].rows]
        base = _row(first, row, columns)
        rows.extend((row, name, *_row(block, row, columns)) for name, block in runs)
        for name, block in runs:
            if block is not first and row in first.rows:
                pairs = zip(base, _row(block, row, columns), strict=True)
                rows.append((row, f"Δ {name}, %", *(_signed(delta_pct(*pair)) for pair in pairs)))
    unit = f", {first.unit}" if first.unit and first.unit not in first.title else ""
    heads = (first.row_label or "", "run", *columns)
    return Table(f"delta-{first.id}", f"{first.title}{unit}", heads, tuple(rows))


def _all(lists: Iterable[Sequence[str]]) -> list[str]:
    """Return the names of all runs: block sizes and mixes from the least on, others as they come.

    >>> _all([["4", "16"], ["12"]]), _all([["0/100", "100/0"], ["70/30"]]), _all([["b"], ["a"]])
    (['4', '12', '16'], ['0/100', '70/30', '100/0'], ['b', 'a'])
    """
    lists = list(lists)
    names = list(dict.fromkeys(name for one in lists for name in one))
    if names == list(lists[0]):
        return names
    try:
        return sorted(names, key=lambda name: float(name.split("/")[0]))
    except ValueError:
        return names


def _row(block: pts.Table, row: str, columns: Sequence[str]) -> list[float | None]:
    if row not in block.rows:
        return [None] * len(columns)
    values = dict(zip(block.columns, block.values[block.rows.index(row)], strict=True))
    found = [values.get(column) for column in columns]
    return [None if isinstance(value, str) else value for value in found]


def _signed(delta: float | None) -> str:
    return words.NOTHING if delta is None else f"{delta:+.1f}".replace("-", "−")
