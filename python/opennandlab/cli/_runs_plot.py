"""Points of a store as a figure, and points run again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.store import Entry, Rows
    from opennandlab.store.entry import Scalar

# What theory predicts, by the number that it predicts.
THEORY = {"waf": "predicted_waf"}
# Numbers that are drawn where nothing is asked for, the first that there is.
USUAL = ("waf", "fer", "rber", "average_1", "iops.total", "latency_us_mean", "tbw_tb")
# What tells points apart that have the same coordinates.
IDENTITY = ("verb", "settings", "model_version", "program")


@dataclass(frozen=True)
class Point:
    """A point of a store, as far as it is drawn."""

    coordinates: "Mapping[str, Scalar]"
    metrics: Mapping[str, float]
    error: str | None = None


def draw(rows: "Rows", kinds: "Rows", asked: Mapping[str, str], title: str, path: Path) -> int:
    """Draw points into a file, and return how many they are.

    Args:
        rows: The points.
        kinds: The same, with the columns of `IDENTITY`.
        asked: What is drawn, by name: `x`, `y`, `lines`, `facets`.
        title: Of the figure; empty for what it shows.
        path: The file.

    Raises:
        ConfigError: for what was not varied, and where unlike points would be mixed up.
    """
    from opennandlab.errors import ConfigError
    from opennandlab.reports.output import write
    from opennandlab.reports.runs import choose, report
    from opennandlab.stats.groups import grouped

    if not len(rows):
        raise ConfigError("--where", "no point is left that is done")
    varied = [name for name in rows.coordinates if len(set(rows.column(name))) > 1]
    _refuse_unlike(rows, kinds, varied)
    points = [
        Point(
            {name: row[name] for name in varied},
            {name: value for name in rows.metrics if isinstance(value := row[name], float)},
        )
        for row in rows
    ]
    asked = {key: _whole(name, rows) for key, name in asked.items()}
    groups = grouped(points)
    names = list(dict.fromkeys(name for group in groups for name in group.means))
    usual = next((name for name in USUAL if name in names), names[0] if names else "waf")
    metric = asked.get("y", usual)
    wanted = choose(groups, asked, metric, THEORY.get(metric))
    shown = [name for name in (metric, THEORY.get(metric)) if name in names]
    write(report(title or f"{wanted.y} against {wanted.x}", groups, wanted, shown), path)
    return len(points)


def _whole(name: str, rows: "Rows") -> str:
    """Return the whole name of a coordinate or metric that may be given by its end."""
    from opennandlab.store.conditions import resolved, unknown

    known = [*rows.coordinates, *rows.metrics]
    found = resolved(name, known)
    if found is None:
        raise unknown(name, known)
    return found


def _refuse_unlike(rows: "Rows", kinds: "Rows", varied: Sequence[str]) -> None:
    """Refuse to average points that differ in more than the seed, where no key says so."""
    from opennandlab.errors import ConfigError

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


def run_again(entry: "Entry", *, quiet: bool) -> bool:
    """Run a point of a store again; return whether it gives the same document.

    Raises:
        ConfigError: for a verb that cannot be run, such as that of an adopted document.
    """
    from opennandlab.cli._progress import shown
    from opennandlab.store.packing import digest_of
    from opennandlab.sweeps.engine import run_point
    from opennandlab.sweeps.verbs import verb_of

    verb_of(entry.verb)
    with shown(_line, quiet=quiet) as watch:
        done = run_point(
            entry.verb, entry.key, entry.settings, entry.seed, watch or (lambda _: None)
        )
    short = entry.key[:12]
    if done.document is None or entry.document is None:
        is_same = done.error == entry.error
        terminal.note(f"{short}: {done.error or 'it runs now'}; before: {entry.error or 'it ran'}")
        return is_same
    ours, theirs = digest_of(done.document), digest_of(entry.document)
    if ours != theirs:
        from opennandlab.canonical import deterministic_part, first_difference

        parts = (deterministic_part(entry.document), deterministic_part(done.document))
        where = first_difference(*parts)
        terminal.note(f"{short}: differs: {where} (kept against run again)", style="bold red")
        return False
    if not quiet:
        terminal.note(f"{short}: identical, digest {ours[:12]}")
    return True


def _line(share: float | None) -> str:
    return "running" if share is None else f"{100 * share:.0f} %"
