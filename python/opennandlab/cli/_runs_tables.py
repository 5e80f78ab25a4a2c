"""What `runs` prints: lists of points, one point, and tables of means."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import inert
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._tables import wrapped
from opennandlab.store.packing import SMOKE, is_smoke
from opennandlab.store.shown import KEY_DIGITS, MAIN, age, main_metrics, plain_value, shortened

if TYPE_CHECKING:
    from opennandlab.store import Entry, Means, Rows
    from opennandlab.store.remarks import Remark

# Metrics of a table of points that has none of these.
SHOWN_MAX = 4
# Coordinates that take more characters do not fit next to each other.
COLUMNS_CHARS_MAX = 44
ERROR_CHARS_MAX = 60


def points(rows: "Rows", *, now: dt.datetime) -> terminal.Grid:
    """Return a list of points; what was varied has columns where it is the same for all."""
    found = list(rows)
    short = shortened(rows.coordinates)
    has_columns = _fits(found, short)
    varied = [short[name] for name in rows.coordinates] if has_columns else ["varied"]
    heads = ("key", "verb", *varied, "seed", "metrics", "age", "status")
    lines: list[list[str]] = []
    styles = {}
    for point in found:
        values = {name: point[name] for name in rows.coordinates if point[name] is not None}
        text = " ".join(f"{short[name]}={plain_value(value)}" for name, value in values.items())
        error = point["error"]
        if error is not None:
            styles[len(lines)] = "red"
        lines.append(
            [
                str(point["key"])[:KEY_DIGITS],
                str(point["verb"]),
                *([plain_value(point[name]) for name in short] if has_columns else [text]),
                plain_value(point["seed"]),
                main_metrics(point, rows.metrics) if error is None else _cut(str(error)),
                age(str(point["created"]), now),
                str(point.get("caution") or point["status"]).partition(":")[0],
            ]
        )
    right = {len(heads) - 4, len(heads) - 2}
    left = set(range(len(heads))) - right
    return terminal.Grid(heads, lines, left=left, styles=styles)


def _fits(points: Sequence[Mapping[str, Any]], short: Mapping[str, str]) -> bool:
    """Return whether the coordinates of points fit next to each other."""
    widths = [
        max([len(head), *(len(plain_value(point[name])) for point in points)])
        for name, head in short.items()
    ]
    return sum(widths) + 3 * len(widths) <= COLUMNS_CHARS_MAX


def points_json(rows: "Rows") -> list[dict[str, Any]]:
    """Return a list of points as JSON: each with the coordinates and metrics that it has."""
    parts = {"coordinates": rows.coordinates, "metrics": rows.metrics}
    inner = {name for names in parts.values() for name in names}
    return [
        {name: value for name, value in point.items() if name not in inner}
        | {
            part: {name: point[name] for name in names if point[name] is not None}
            for part, names in parts.items()
        }
        for point in rows
    ]


def _cut(text: str) -> str:
    first, *more = wrapped(text, ERROR_CHARS_MAX)
    return f"{first} …" if more else first


def show_entry(entry: "Entry", remark: "Remark | None" = None) -> None:
    """Print a point: what it is, the remarks of its reader, its settings, its metrics."""
    from opennandlab.base.plain import leaves
    from opennandlab.base.words import number

    console = terminal.stdout()
    seed = "" if entry.seed is None else f", seed {entry.seed}"
    status = "done" if entry.error is None else "failed"
    status = SMOKE if entry.done and is_smoke(entry.settings) else status
    console.print(f"{entry.verb}{seed}: {status}", style="bold", markup=False)
    facts = {
        "key": entry.key,
        "sweep": entry.sweep,
        "varied": ", ".join(f"{name}={plain_value(it)}" for name, it in entry.coordinates.items()),
        "created": entry.created,
        "took": f"{entry.wall_s:.3g} s" if entry.wall_s else None,
        "program": f"{entry.program}, model version {entry.model_version or 'unknown'}",
        "host": entry.host,
        "error": entry.error,
        "tags": ", ".join(remark.tags) if remark else None,
        "note": remark.note if remark else None,
    }
    for name, value in facts.items():
        if value:
            console.print(f"{name:8} {inert(value)}", markup=False, soft_wrap=True)
    if entry.metrics:
        console.print()
        rows = [[name, number(value)] for name, value in entry.metrics.items()]
        console.print(terminal.plain_table(["metric", "value"], rows))
    console.print("\nsettings", style="bold")
    keys = [
        (path, json.dumps(value) if isinstance(value, list) else plain_value(value))
        for path, value in leaves(entry.settings)
    ]
    console.print(terminal.Grid(("", ""), keys, left=(0, 1), is_plain=True))


def picked(rows: "Rows", metrics: Sequence[str]) -> "Rows":
    """Return points with some of their metrics, in the order in which these were asked for.

    Args:
        rows: The points, with all columns.
        metrics: Names, or their ends; none for all columns.

    Raises:
        StoreError: for a name that no point has.
    """
    from opennandlab.store.conditions import resolved, unknown
    from opennandlab.store.rows import Rows

    if not metrics:
        return rows
    wanted = [resolved(name, rows.columns) for name in metrics]
    for name, found in zip(metrics, wanted, strict=True):
        if found is None:
            raise unknown(name, [*rows.coordinates, *rows.metrics])
    cautions = ["caution"] * ("caution" in rows.columns)
    names = [*rows.coordinates, "seed", *(name for name in wanted if name), *cautions]
    columns = list(dict.fromkeys(names))
    places = [rows.columns.index(name) for name in columns]
    return Rows(
        columns,
        [[row[place] for place in places] for row in rows.rows],
        rows.matched,
        rows.coordinates,
        tuple(name for name in columns if name in rows.metrics),
    )


def rows_cells(rows: "Rows") -> tuple[list[str], list[list[str]]]:
    """Return heads and cells of points, as they are printed."""
    from opennandlab.base.words import number

    is_whole = "key" in rows.columns
    main = [name for name in MAIN if name in rows.metrics] or list(rows.metrics)[:SHOWN_MAX]
    few = {"key", "verb", *rows.coordinates, "seed", *main, "caution"}
    chosen = [name for name in rows.columns if name in few or not is_whole]
    heads = shortened(chosen)
    cells = [
        [
            number(row[name]) if name in rows.metrics
            else str(row[name])[:KEY_DIGITS] if name in {"key", "digest"}
            else plain_value(row[name])
            for name in chosen
        ]
        for row in rows
    ]  # fmt: skip
    return [heads[name] for name in chosen], cells


def means_cells(found: "Means", metrics: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells of a table of means, as they are printed."""
    from opennandlab.reports.runs import told

    short = shortened(found.by)
    names = metrics if len(metrics) == len(found.metrics) else found.metrics
    rows = [
        [
            *map(_group_value, found.by, group.values),
            str(group.points),
            *map(told, group.means),
        ]
        for group in found.groups
    ]
    return [*(short[name] for name in found.by), "seeds", *names], rows


def show(found: "Means | Rows", metrics: Sequence[str]) -> None:
    """Print a table of means, or of points."""
    from opennandlab.store.rows import Rows

    if isinstance(found, Rows):
        show_rows(found)
    else:
        show_means(found, metrics)


def show_rows(rows: "Rows") -> None:
    """Print points, a row for each: what was varied, and the metrics that were asked for.

    Of points with all their columns those metrics are shown that people ask for first.
    """
    if not rows.rows:
        terminal.note("no points")
        return
    heads, cells = rows_cells(rows)
    labels = 1 if "key" in rows.columns else len(rows.coordinates) + 1
    table = terminal.plain_table(heads, cells, labels=labels)
    terminal.stdout(is_numbers=True).print(table)
    if "key" in rows.columns:
        terminal.note(
            f"{len(heads)} of {len(rows.columns)} columns; --csv, --parquet and --json have all, "
            "and `runs table METRIC,…` chooses",
            style="dim",
        )


def show_means(found: "Means", metrics: Sequence[str]) -> None:
    """Print a table of means; the heads of metrics are as they were typed."""
    if found.added:
        names = ", ".join(f"`{name}`" for name in found.added)
        terminal.note(f"note: also grouped by {names}: these points differ in more than the seed")
    if found.failed:
        count = "1 failed point is" if found.failed == 1 else f"{found.failed} failed points are"
        terminal.note(f"note: {count} left out", style="yellow")
    if not found.groups:
        terminal.note("no points")
        return
    heads, rows = means_cells(found, metrics)
    labels = len(found.by)
    left = {
        at
        for at, values in enumerate(zip(*(group.values for group in found.groups), strict=True))
        if not all(isinstance(value, int | float) for value in values)
    }
    console = terminal.stdout()
    console.print(terminal.Grid(heads, rows, labels, left))
    if any(mean is not None and mean.half is not None for g in found.groups for mean in g.means):
        console.print("±: 95 % interval of the mean over seeds (Student's t)", style="dim")


def _group_value(name: str, value: object) -> str:
    """Write a value that distinguishes groups; of a hash, enough digits."""
    return plain_value(value)[:KEY_DIGITS] if name == "settings" else plain_value(value)


def means_json(found: "Means") -> dict[str, Any]:
    """Return a table of means as JSON."""
    return {
        "by": found.by,
        "added": found.added,
        "metrics": found.metrics,
        "failed": found.failed,
        "rows": [
            {
                "by": dict(zip(found.by, group.values, strict=True)),
                "points": group.points,
                "means": {
                    name: None
                    if mean is None
                    else {
                        "mean": mean.mean,
                        "low": None if mean.half is None else mean.low,
                        "high": None if mean.half is None else mean.high,
                        "count": mean.count,
                    }
                    for name, mean in zip(found.metrics, group.means, strict=True)
                },
            }
            for group in found.groups
        ],
    }
