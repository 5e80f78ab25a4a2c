"""What `sweep` shows: how far it is, the table of its points, failures, costs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.stats.groups import Group
    from opennandlab.sweeps.definition import Sweep
    from opennandlab.sweeps.runner import Progress, Row, Run

SCHEMA = "opennandlab.sweep/1"
FAILURES_SHOWN = 5


def line(state: "Progress") -> str:
    """Return how far a sweep is, in one line."""
    share = 100 * state.done / max(1, state.total)
    parts = [f"{state.done} of {state.total} points", f"{share:.0f} %"]
    if state.eta_s is not None:
        parts.append(f"{terminal.duration(state.eta_s)} left")
    if state.known:
        parts.append(f"{state.known} known")
    if state.failed:
        parts.append(f"{state.failed} failed")
    return " · ".join(parts)


def groups_of(rows: Sequence["Row"]) -> list["Group"]:
    """Return the rows of a sweep by what was varied."""
    from opennandlab.stats.groups import grouped

    return grouped(rows)


def names_of(groups: Sequence["Group"], wanted: "Sweep", chosen: Sequence[str] | None) -> list[str]:
    """Return the numbers that a table shows.

    Raises:
        ConfigError: for a number that the runs do not have.
    """
    from opennandlab.errors import ConfigError
    from opennandlab.hints import nearest

    known = list(dict.fromkeys(name for group in groups for name in group.means))
    if chosen is None:
        usual = [name for name in wanted.verb.columns if name in known]
        drawn = wanted.plot.get("y")
        return usual + ([drawn] if drawn in known and drawn not in usual else []) or known[:5]
    unknown = next((name for name in chosen if known and name not in known), None)
    if unknown is not None:
        near = nearest(unknown, known)
        meant = f"; did you mean `{near}`?" if near else ""
        accepted = ", ".join(known)
        raise ConfigError(
            "--metrics", f"`{unknown}` is no number of these runs; accepted: {accepted}{meant}"
        )
    return list(chosen)


def show(run: "Run", groups: Sequence["Group"], names: Sequence[str], plot: Path | None) -> None:
    """Print the table of a sweep."""
    from opennandlab.reports.runs import shown, told

    keys = run.sweep.varied
    heads = [*keys, "runs", *names]
    lines = [
        [shown(group.coordinates.get(key)) for key in keys]
        + [str(group.count)]
        + ([told(group.means.get(name)) for name in names] if group.count else ["failed"])
        for group in groups
    ]
    lines = [cells + [""] * (len(heads) - len(cells)) for cells in lines]
    terminal.stdout(is_numbers=True).print(terminal.plain_table(heads, lines))
    if any(group.count > 1 for group in groups):
        terminal.note("means over seeds, ± 95 % intervals", style="dim")
    if plot is not None:
        terminal.note(f"drawn in {plot}")


def show_failures(rows: Sequence["Row"], *, quiet: bool) -> None:
    """Say which points failed, and why."""
    failed = [row for row in rows if row.error is not None]
    terminal.note(f"{len(failed)} of {len(rows)} points failed", style="bold red")
    if quiet:
        return
    for row in failed[:FAILURES_SHOWN]:
        where = ", ".join(f"{key}={value}" for key, value in row.coordinates.items())
        seed = "" if row.seed is None else f" seed {row.seed}"
        terminal.note(f"  {where}{seed}: {row.error}")
    if len(failed) > FAILURES_SHOWN:
        terminal.note(
            f"  and {len(failed) - FAILURES_SHOWN} more; `runs list --where error!=` lists them"
        )


def draw(groups: Sequence["Group"], wanted: "Sweep", names: Sequence[str], path: Path) -> None:
    """Draw a sweep into a file; its ending is the form."""
    from opennandlab.reports.output import write
    from opennandlab.reports.runs import choose, report

    verb = wanted.verb
    drawn = choose(groups, wanted.plot, verb.metric, verb.theory)
    from opennandlab.sweeps.definition import UNNAMED

    title = f"{drawn.y} against {drawn.x}" if wanted.name == UNNAMED else wanted.name
    write(report(title, groups, drawn, names), path)


def show_cost(run: "Run", pilot_s: float | None, *, as_json: bool) -> None:
    """Say what a sweep would run, and how long that may take."""
    from opennandlab.summary import size
    from opennandlab.sweeps.engine import memory_bytes, slots_for

    missing = run.missing
    slots = min(slots_for(missing, None), max(1, len(missing)))
    cost_s = None if pilot_s is None else pilot_s * len(missing) / slots
    if as_json:
        terminal.emit_json(
            {
                "schema": SCHEMA, "name": run.sweep.name, "verb": run.sweep.verb.name,
                "points": run.count, "known": run.known_count, "missing": len(missing),
                "pilot_s": pilot_s, "cost_s": cost_s, "at_a_time": slots,
                "memory_bytes": memory_bytes(missing) * slots,
            }
        )  # fmt: skip
        return
    console = terminal.stdout(is_numbers=True)
    console.print(f"{run.count} points, {run.known_count} known, {len(missing)} to run")
    if run.sweep.seeds.until:
        console.print("more seeds may follow, by the rule of --until")
    if cost_s is not None and pilot_s is not None:
        console.print(
            f"about {terminal.duration(cost_s)}: {pilot_s:.3g} s for the first point, "
            f"{slots} at a time, {size(memory_bytes(missing) * slots)} of memory"
        )


def document(
    run: "Run", rows: Sequence["Row"], groups: Sequence["Group"], names: Sequence[str]
) -> dict[str, Any]:
    """Return what `--json` prints."""
    failed = sum(row.error is not None for row in rows)
    return {
        "schema": SCHEMA,
        "name": run.sweep.name,
        "verb": run.sweep.verb.name,
        "counts": {"points": len(rows), "known": run.known_count, "failed": failed},
        "groups": [
            {
                "coordinates": dict(group.coordinates),
                "runs": group.count,
                "failed": group.failed,
                "means": {
                    name: {"mean": mean.mean, "half": mean.half, "count": mean.count}
                    for name, mean in group.means.items()
                    if name in names
                },
            }
            for group in groups
        ],
        "points": [
            {
                "key": row.key, "coordinates": dict(row.coordinates), "seed": row.seed,
                "error": row.error, "was_known": row.was_known,
                "metrics": {name: row.metrics[name] for name in names if name in row.metrics},
            }
            for row in rows
        ],
    }  # fmt: skip
