"""`sweep`: one verb over many settings and seeds; what is known is not run again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _sweep_tables as tables
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import (
    EngineName,
    EngineOption,
    Jobs,
    Scheduler,
    engine_of,
    note_interrupted,
    resumable,
)
from opennandlab.cli._progress import shown
from opennandlab.cli._terminal import AllowCode, Json, Quiet
from opennandlab.cli._typed import typed, typed_device, typed_sets

if TYPE_CHECKING:
    from opennandlab.studies.sweeps.definition import Sweep
    from opennandlab.studies.sweeps.engine import Cost
    from opennandlab.studies.sweeps.runner import Run


def sweep(
    what: Annotated[
        str,
        typer.Argument(
            metavar="FILE|VERB",
            help="A sweep file, or what is run: benchmark, replay, app, pts.TEST, ecc.curve, "
            "reliability.rber, reliability.life, reliability.drive-life, theory.waf, "
            "theory.queueing, theory.endurance.",
        ),
    ] = "benchmark",
    config: Annotated[
        str | None,
        typer.Option(
            "--config", "-c", metavar="PRESET|FILE", callback=typed_device, help="The device."
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload", "-w", metavar="W1..W5|FILE", callback=typed, help="The workload."
        ),
    ] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE", help="The trace of a replay.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=A,B,C|FROM:TO:COUNT",
            callback=typed_sets,
            help="Vary a key: `ftl.gc_policy=greedy,fifo`, `ftl.over_provisioning_pct=0.07:0.4:8`, "
            "`x=1e-4:1e-2:9:log`; `device`, `workload.queue_depth` or `pts.oio` too. "
            "May be repeated: all combinations.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            callback=typed_sets,
            help="Set a key in all points. May be repeated.",
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", help="Seeds of each combination.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The first seed; default 42.")] = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            "--until",
            metavar="NAME=SHARE",
            help="Add seeds until the 95 % interval of a number is within this share of its mean: "
            "`waf=0.5%`.",
        ),
    ] = None,
    seeds_max: Annotated[
        int | None, typer.Option("--seeds-max", help="The most seeds with --until; default 100.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the sweep; default: of its file.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="DIR", help="Where points are kept.")
    ] = None,
    jobs: Jobs = None,
    engine: EngineOption = EngineName.THREADS,
    scheduler: Scheduler = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run points again that failed before.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print how many points are known, and what the rest costs."),
    ] = False,
    metrics: Annotated[
        str | None, typer.Option("--metrics", metavar="A,B,C", help="Numbers of the table.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw it: SVG, PNG, PDF or an HTML page."),
    ] = None,
    x: Annotated[str | None, typer.Option("--x", help="Key along the axis of the plot.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="Number that is drawn.")] = None,
    lines: Annotated[
        str | None, typer.Option("--lines", help="Key with a line for each of its values.")
    ] = None,
    facets: Annotated[
        str | None, typer.Option("--facets", help="Key with a figure for each of its values.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
    """Run a verb over a grid of settings and seeds; asking again costs nothing."""
    from opennandlab.policies.source import named_in

    with terminal.guard(as_json=as_json, allow_code=allow_code), named_in(what):
        from opennandlab.base.errors import ConfigError
        from opennandlab.store import Store
        from opennandlab.studies.sweeps.definition import checked_name
        from opennandlab.studies.sweeps.runner import Run

        terminal.check_outputs({"--plot": plot})
        asked = {"config": config, "workload": workload, "trace": trace}
        wanted = _definition(what, asked, vary or [], settings or [])
        wanted = _seeded(wanted, seeds, seed, until or [], seeds_max)
        if name is not None:
            wanted = _replaced(wanted, name=checked_name(name))
        drawing = {"x": x, "y": y, "lines": lines, "facets": facets}
        given = {key: value for key, value in drawing.items() if value is not None}
        wanted = _replaced(wanted, plot={**wanted.plot, **given})
        chosen = metrics.split(",") if metrics else None
        if plot is not None and not wanted.varied:
            raise ConfigError(
                "--plot", "nothing is varied: there is no axis; accepted: with --vary"
            )
        with Store.open(store) as kept, shown(tables.line, quiet=quiet or dry_run) as watch:
            run = Run(wanted, kept, watch=watch, retry=retry)
            if dry_run:
                tables.show_cost(run, _costs(run), jobs, as_json=as_json)
                return
            _note_start(run, quiet=quiet)
            try:
                with resumable(lambda: _there(run)):
                    rows = run.to_the_end(engine_of(kept, engine, scheduler, jobs))
            except KeyboardInterrupt:
                note_interrupted(_there(run))
                if as_json:
                    groups = tables.groups_of(run.rows)
                    names = tables.names_of(groups, wanted, chosen) if groups else []
                    made = tables.document(run, run.rows, groups, names, is_partial=True)
                    terminal.emit_json(made)
                raise typer.Exit(terminal.INTERRUPTED) from None
        groups = tables.groups_of(rows)
        names = tables.names_of(groups, wanted, chosen)
        if plot is not None:
            tables.draw(groups, wanted, names, plot)
        if as_json:
            terminal.emit_json(tables.document(run, rows, groups, names))
        elif not quiet:
            tables.show(run, groups, names, plot)
        if any(row.error is not None for row in rows):
            tables.show_failures(rows, quiet=quiet)
            raise typer.Exit(terminal.FAILED)


def _definition(
    what: str, asked: Mapping[str, str | None], vary: Sequence[str], settings: Sequence[str]
) -> "Sweep":
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.plain import to_json
    from opennandlab.core.config import parse_overrides
    from opennandlab.studies.sweeps.axes import Axis
    from opennandlab.studies.sweeps.definition import Sweep

    given = {
        "device" if key == "config" else key: value
        for key, value in asked.items()
        if value is not None
    }
    is_file = what.endswith((".yaml", ".yml"))
    found = Sweep.load(Path(what)) if is_file else Sweep.of({"run": what})
    foreign = next((key for key in given if key not in found.verb.keys), None)
    if foreign is not None:
        option = {"device": "--config"}.get(foreign, f"--{foreign}")
        accepted = ", ".join(found.verb.keys)
        raise ConfigError(
            option, f"is nothing that `{found.verb.name}` takes; accepted: {accepted}"
        )
    overrides = parse_overrides(list(settings))
    to_json(overrides)  # refuses dates, NaN and the like, with their paths
    own = {key: value for key, value in overrides.items() if key in found.verb.keys}
    rest = {key: value for key, value in overrides.items() if key not in own}
    axes = [Axis.parse(text) for text in vary]
    replaced = {axis.key for axis in axes}
    both = next((key for key in overrides if key in replaced), None)
    if both is not None:
        raise ConfigError(both, "is in --set and in --vary; accepted: in one of them")
    return _replaced(
        found,
        request={**found.request, **given, **own},
        changes={
            **{key: value for key, value in found.changes.items() if key not in replaced},
            **rest,
        },
        axes=tuple([axis for axis in found.axes if axis.key not in replaced] + axes),
    )


def _seeded(
    wanted: "Sweep",
    count: int | None,
    first: int | None,
    until: Sequence[str],
    most: int | None,
) -> "Sweep":
    from dataclasses import replace

    from opennandlab.base.errors import ConfigError
    from opennandlab.studies.sweeps.seeds import RULED_MIN, share

    found = wanted.seeds
    if not found.is_random:
        if count is not None or until:
            raise ConfigError("--seeds", f"`{wanted.verb.name}` has no seeds: it is a formula")
        return wanted
    rules = dict(found.until)
    for text in until:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError("--until", f"`{text}` is refused; accepted: such as waf=0.5%")
        rules[name.strip()] = share(name.strip(), value)
    least = found.count if count is None else count
    seeds = replace(
        found,
        count=max(least, RULED_MIN) if rules and isinstance(least, int) else least,
        first=found.first if first is None else first,
        until=rules,
        count_max=found.count_max if most is None else most,
    )
    return _replaced(wanted, seeds=seeds)


def _replaced(wanted: "Sweep", **changes: Any) -> "Sweep":  # noqa: ANN401 (fields of all kinds)
    from dataclasses import replace

    return replace(wanted, **changes)


def _costs(run: "Run") -> "list[Cost]":
    from opennandlab.studies.sweeps.engine import costs

    return costs(run.missing)


def _note_start(run: "Run", *, quiet: bool) -> None:
    if not quiet and run.known_count:
        terminal.note(f"{run.known_count} of {run.count} points are known", style="dim")


def _there(run: "Run") -> str:
    return f"{len(run.rows)} of {run.count} points are"
