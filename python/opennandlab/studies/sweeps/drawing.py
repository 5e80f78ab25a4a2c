"""Points of a store as a figure: a number against what was varied, means over seeds, and theory.

```text
where ──Store.rows──► points ──► groups of seeds ──runs.choose──► figures and a table
```
Points that differ in more than the seed are refused where no key says so: they would be one point
of the figure, and look like scatter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from opennandlab.base.errors import ConfigError
from opennandlab.base.plain import is_number
from opennandlab.documents.record import JsonObject
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.figure.paper import Paper
from opennandlab.reports.model import Item, Report, Table
from opennandlab.reports.output import write
from opennandlab.reports.runs import Formula, Wanted, choose, named, report, subject
from opennandlab.reports.thinned import cut, thinned
from opennandlab.stats.groups import Group, grouped
from opennandlab.store import Rows, Store
from opennandlab.store.conditions import resolved, unknown
from opennandlab.store.entry import Scalar
from opennandlab.studies.sweeps.predicted import predicted_at

# What theory predicts, by the number that it predicts.
THEORY = {"waf": "predicted_waf"}
# Numbers that are drawn where nothing is asked for, the first that there is.
USUAL = ("waf", "fer", "rber", "average_1", "iops.total", "latency_us_mean", "tbw_tb")
# What a rate of frame errors is drawn by, next to itself.
BESIDE = (
    "fer", "frames", "frame_errors", "fer_low", "fer_high", "channel_ber", "relative_error",
    "unseen_share",
)  # fmt: skip
# What tells points apart that have the same coordinates.
IDENTITY = ("verb", "settings", "model_version", "program")


@dataclass(frozen=True)
class Point:
    """A point of a store, as far as it is drawn."""

    coordinates: Mapping[str, Scalar]
    metrics: Mapping[str, float]
    error: str | None = None


@dataclass(frozen=True)
class Drawn:
    """Points as a figure.

    Args:
        report: The page: figures, and the table of all groups.
        wanted: What is drawn along the axis, up, and as lines.
        points: How many points are in it.
        varied: The coordinates that differ among them.
        metrics: The numbers that they have.
    """

    report: Report
    wanted: Wanted
    points: int
    varied: tuple[str, ...]
    metrics: tuple[str, ...]


def draw(
    store: Store,
    path: str | Path,
    *,
    where: Sequence[str] = (),
    title: str = "",
    paper: Paper | None = None,
    **asked: str | None,
) -> Drawn:
    """Draw points of a store into a file, and return what was drawn.

    Args:
        store: The store.
        path: The file: SVG, PNG, PDF or HTML by its ending.
        where: Conditions that the points hold, as `Store.rows` takes them.
        title: Title of the figure; empty for what it shows.
        paper: Its page, for print; None for a report.
        **asked: What is drawn, by name: `x`, `y`, `lines`, `facets`; None for the usual.

    Raises:
        ConfigError: for what was not varied, and where unlike points would be mixed up.
        StoreError: for an invalid condition, and for a name that no point has.
        OutputError: when the file cannot be written.
    """
    given = {key: name for key, name in asked.items() if name is not None}
    drawn = drawing(store, where, given, title)
    write(drawn.report, Path(path), paper=paper)
    return drawn


def drawing(
    store: Store,
    where: Sequence[str],
    asked: Mapping[str, str],
    title: str = "",
    most: int | None = None,
) -> Drawn:
    """Return points of a store as a figure.

    Args:
        store: The store.
        where: Conditions that the points hold.
        asked: What is drawn, by name: `x`, `y`, `lines`, `facets`.
        title: Title of the figure; empty for what it shows.
        most: Points that are drawn one by one; of more, neighbours are one. None: all.

    Raises:
        ConfigError: for what was not varied, and where unlike points would be mixed up.
        StoreError: for an invalid condition, and for a name that no point has.
    """
    wanted = [*where, "status=done"]
    rows = store.rows(where=wanted)
    kinds = store.rows(where=wanted, columns=IDENTITY)
    found = of_rows(rows, kinds, asked, title, lambda key: store.entry(key).settings)
    settings = store.entry(str(next(iter(rows))["key"])).settings
    found = replace(found, report=named(found.report, settings, found.varied))
    return found if most is None else replace(found, report=_fewer(found.report, most))


def _fewer(whole: Report, most: int) -> Report:
    """Return a report whose figures and tables are no more than a browser shows at once."""

    def fewer(item: Item) -> Item:
        if isinstance(item, Plot):
            return thinned(item, most)
        return cut(item, most) if isinstance(item, Table) else item

    chapters = [
        replace(chapter, sections=tuple(
            replace(section, items=tuple(map(fewer, section.items))) for section in chapter.sections
        ))
        for chapter in whole.chapters
    ]  # fmt: skip
    return replace(whole, chapters=tuple(chapters))


def of_rows(
    rows: Rows,
    kinds: Rows,
    asked: Mapping[str, str],
    title: str = "",
    settings: Callable[[str], JsonObject] | None = None,
) -> Drawn:
    """Return points as a figure.

    Args:
        rows: The points.
        kinds: The same, with the columns of `IDENTITY`.
        asked: What is drawn, by name: `x`, `y`, `lines`, `facets`.
        title: Title of the figure; empty for what it shows.
        settings: Those of a point by its key, which a curve of theory follows from.

    Raises:
        ConfigError: for what was not varied, and where unlike points would be mixed up.
        StoreError: for a name that no point has.
    """
    if not len(rows):
        raise ConfigError("--where", "no finished point is left")
    varied = [name for name in rows.coordinates if len(set(rows.column(name))) > 1]
    _refuse_unlike(rows, kinds, varied)
    asked = {key: _whole(name, rows) for key, name in asked.items()}
    known = rows.metrics
    usual = next((name for name in USUAL if name in known), known[0] if known else "waf")
    metric = asked.get("y", usual)
    # Means of all numbers would take most of the time, and few are drawn.
    needed = [name for name in known if name in {metric, THEORY.get(metric), *BESIDE}]
    points = [
        Point(
            {name: row[name] for name in varied},
            {name: value for name in needed if isinstance(value := row[name], float)},
        )
        # Rows are the newest first; tables and lines have the order in which points were run.
        for row in reversed(list(rows))
    ]
    groups = _in_order(grouped(points), varied)
    names = list(dict.fromkeys(name for group in groups for name in group.means))
    wanted = choose(groups, asked, metric, THEORY.get(metric))
    if settings is not None and wanted.theory is not None:
        wanted = replace(wanted, formula=_formula(rows, varied, settings))
    shown = [name for name in (metric, THEORY.get(metric)) if name in names]
    made = report(title or subject(wanted), groups, wanted, shown)
    return Drawn(made, wanted, len(points), tuple(varied), known)


def _in_order(groups: Sequence[Group], varied: Sequence[str]) -> list[Group]:
    """Return groups by their settings: numbers rise, words keep the order in which they come.

    Points that ran next to each other end in any order.
    """
    places: dict[str, dict[Scalar, int]] = {name: {} for name in varied}
    for group in groups:
        for name, known in places.items():
            known.setdefault(group.coordinates[name], len(known))

    def rank(group: Group) -> list[tuple[bool, float]]:
        found = ((known, group.coordinates[name]) for name, known in places.items())
        return [
            (False, float(value)) if is_number(value) else (True, known[value])
            for known, value in found
        ]

    return sorted(groups, key=rank)


def _formula(rows: Rows, varied: Sequence[str], settings: Callable[[str], JsonObject]) -> Formula:
    """Return what theory predicts next to the points of a store."""
    keys = {tuple(row[name] for name in varied): str(row["key"]) for row in rows}

    @cache
    def settings_of(place: tuple[Scalar, ...]) -> JsonObject:
        return settings(keys[place])

    def formula(coordinates: Mapping[str, Scalar], key: str, value: float) -> float | None:
        place = tuple(coordinates.get(name) for name in varied)
        return predicted_at(settings_of(place), key, value)

    return formula


def _whole(name: str, rows: Rows) -> str:
    """Return the whole name of a coordinate or metric that may be given by its end."""
    known = [*rows.coordinates, *rows.metrics]
    found = resolved(name, known)
    if found is None:
        raise unknown(name, known)
    return found


def _refuse_unlike(rows: Rows, kinds: Rows, varied: Sequence[str]) -> None:
    """Refuse to average points that differ in more than the seed, where no key states this."""
    found: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    for row, kind in zip(rows, kinds, strict=True):
        place = tuple(row[name] for name in varied)
        found.setdefault(place, set()).add(tuple(kind[name] for name in IDENTITY))
    if any(len(there) > 1 for there in found.values()):
        raise ConfigError(
            "--where",
            "points of different settings, models or programs would be one point of the plot; "
            "accepted: fewer of them, such as `--where sweep=NAME` or `--where program=…`",
        )
