"""What `sweep` shows: how far it is, the table of its points, failures, costs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import tell_latex

if TYPE_CHECKING:
    from opennandlab.reports.figure.paper import Paper
    from opennandlab.stats.groups import Group
    from opennandlab.studies.sweeps.definition import Sweep
    from opennandlab.studies.sweeps.engine import Cost
    from opennandlab.studies.sweeps.runner import Progress, Row, Run

SCHEMA = "opennandlab.sweep/1"
FAILURES_SHOWN = 5
NAMES_SHOWN = 12
# What closed forms are short of by themselves, on drives of some hundred blocks.
THEORY_SHARE = 0.02


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
    known = list(dict.fromkeys(name for group in groups for name in group.means))
    if chosen is None:
        has_means = any(group.count > 1 for group in groups)
        aside = wanted.verb.single if has_means else ()
        usual = [name for name in wanted.verb.columns if name in known and name not in aside]
        drawn = wanted.plot.get("y")
        return usual + ([drawn] if drawn in known and drawn not in usual else []) or known[:5]
    if known:
        refuse_unknown({"--metrics": chosen}, known, wanted.verb.columns)
    return list(chosen)


def refuse_unknown(
    asked: Mapping[str, Sequence[str]], known: Sequence[str], usual: Sequence[str]
) -> None:
    """Refuse names of numbers that runs cannot have.

    Args:
        asked: Names, by the option that has them.
        known: The names that there may be, `*` for any part of one.
        usual: Those that a message names first.

    Raises:
        ConfigError: for the first that is not among them.
    """
    from fnmatch import fnmatchcase

    from opennandlab.base.errors import ConfigError
    from opennandlab.base.hints import nearest

    for option, names in asked.items():
        for name in names:
            if not any(fnmatchcase(name, form) for form in known):
                near = nearest(name, list(known))
                meant = f"; did you mean `{near}`?" if near else ""
                some = list(dict.fromkeys([*(one for one in usual if one in known), *known]))
                rest = len(some) - NAMES_SHOWN
                accepted = ", ".join(some[:NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
                message = f"`{name}` is not a metric of these runs; accepted: {accepted}{meant}"
                raise ConfigError(option, message)


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
    terminal.stdout(is_numbers=True).print(terminal.plain_table(heads, lines, labels=len(keys)))
    if any(group.count > 1 for group in groups):
        terminal.note("means over seeds, ± 95 % intervals", style="dim")
    for text in cautions(run, groups, names):
        terminal.note(f"note: {text}", style="yellow")
    if plot is not None:
        terminal.note(f"drawn in {plot}")


def cautions(run: "Run", groups: Sequence["Group"], names: Sequence[str]) -> list[str]:
    """Return what a reader of the table must know, in words."""
    verb = run.sweep.verb
    cells = [cell.settings for cell in run.sweep.cells if cell.settings is not None]
    found = [text for settings in cells if (text := verb.caution(settings)) is not None]
    for name, goal in run.sweep.seeds.until.items():
        found += _wide(groups, name, goal)
    if verb.theory is not None and verb.theory in names and verb.metric in names:
        found += _far_from_theory(groups, verb.metric, verb.theory)
    return list(dict.fromkeys(found))


def _wide(groups: Sequence["Group"], name: str, goal: float) -> list[str]:
    """Say where the most seeds were not enough for the interval that was asked for."""
    means = [group.means[name] for group in groups if name in group.means]
    wide = [mean for mean in means if (mean.half or 0.0) > goal * abs(mean.mean)]
    if not wide:
        return []
    widest = max((mean.half or 0.0) / abs(mean.mean) if mean.mean else math.inf for mean in wide)
    text = (
        f"{len(wide)} of {len(means)} intervals of {name} are wider than {goal:.3g} of the mean, "
        f"up to {widest:.2g}, with {max(mean.count for mean in wide)} seeds; --seeds-max allows "
        "more"
    )
    return [text]


def _far_from_theory(groups: Sequence["Group"], metric: str, theory: str) -> list[str]:
    """Say where means are further from theory than chance and rounding explain."""
    pairs = [
        (group.means[metric], group.means[theory].mean)
        for group in groups
        if metric in group.means and theory in group.means
    ]
    far = [
        abs(mean.mean / value - 1.0)
        for mean, value in pairs
        if abs(mean.mean - value) > (mean.half or 0.0) + THEORY_SHARE * value
    ]
    if not far:
        return []
    text = (
        f"{len(far)} of {len(pairs)} means of {metric} are further from {theory} than their "
        f"interval and {THEORY_SHARE:.0%}, by up to {max(far):.1%}: theory is of the steady state "
        "of many blocks: precondition for longer, or take a larger drive"
    )
    return [text]


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
            f"  and {len(failed) - FAILURES_SHOWN} more; `runs list --where status=failed` has them"
        )


def draw(
    groups: Sequence["Group"],
    wanted: "Sweep",
    names: Sequence[str],
    path: Path,
    paper: "Paper | None",
    *,
    is_told: bool,
) -> None:
    """Draw a sweep into a file; its ending is the form. `is_told`: print its lines of LaTeX."""
    from opennandlab.reports.output import for_print, write
    from opennandlab.reports.runs import choose, named, report, subject

    verb = wanted.verb
    drawn = choose(groups, wanted.plot, verb.metric, verb.theory)
    drawn = replace(drawn, formula=wanted.formula)
    from opennandlab.studies.sweeps.definition import UNNAMED

    title = subject(drawn) if wanted.name == UNNAMED else wanted.name
    made = named(report(title, groups, drawn, names), wanted.settings, wanted.varied)
    write(made, path, paper=paper)
    if paper is not None and is_told:
        tell_latex(for_print(made), path, paper)


def show_cost(run: "Run", costs: "Sequence[Cost]", jobs: int | None, *, as_json: bool) -> None:
    """Say what a sweep would run, so many points at a time, and how long that may take."""
    from opennandlab.base.words import size
    from opennandlab.studies.sweeps.engine import memory_bytes, slots_for

    missing = run.missing
    need_bytes = memory_bytes(missing)
    slots = min(slots_for(need_bytes, jobs), max(1, len(missing)))
    pilot_s = costs[0].first_s if costs else None
    # Points of several kinds of which one cannot be told have no sum.
    known = [one.count * one.first_s for one in costs if one.first_s is not None]
    cost_s = sum(known) / slots if known and len(known) == len(costs) else None
    if as_json:
        terminal.emit_json(
            {
                "schema": SCHEMA, "name": run.sweep.name, "verb": run.sweep.verb.name,
                "points": run.count, "known": run.known_count, "missing": len(missing),
                "pilot_s": pilot_s, "cost_s": cost_s, "at_a_time": slots,
                "memory_bytes": need_bytes * slots,
            }
        )  # fmt: skip
        return
    console = terminal.stdout(is_numbers=True)
    failed = sum(row.error is not None for row in run.rows)
    again = f", {failed} of them failed (--retry runs these again)" if failed else ""
    console.print(f"{run.count} points, {run.known_count} known{again}, {len(missing)} to run")
    if run.sweep.seeds.until:
        console.print("more seeds may follow, by the rule of --until")
    if cost_s is not None:
        firsts = ", ".join(
            f"{one.first_s:.3g} s for the first point" + (f" of {one.of}" if one.of else "")
            for one in costs
        )
        console.print(
            f"about {terminal.duration(cost_s)}: {firsts}, "
            f"{slots} at a time, {size(need_bytes * slots)} of memory"
        )
    elif missing:
        console.print("how long that takes cannot be told: the first point has said nothing of it")


def document(
    run: "Run",
    rows: Sequence["Row"],
    groups: Sequence["Group"],
    names: Sequence[str],
    *,
    is_partial: bool = False,
) -> dict[str, Any]:
    """Return what `--json` prints; `is_partial` if points are missing, after Ctrl-C."""
    failed = sum(row.error is not None for row in rows)
    return {
        "schema": SCHEMA,
        "name": run.sweep.name,
        "verb": run.sweep.verb.name,
        "partial": is_partial,
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
