"""`sweep`: one verb over many settings and seeds; what is known is not run again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _sweep_tables as tables
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._band import show_bands, sweep_bands, variants_of
from opennandlab.cli._engines import EngineOptions, carried_out
from opennandlab.cli._progress import shown
from opennandlab.cli._typed import typed, typed_device, typed_sets
from opennandlab.cli.options.common import AllowCode, Band, ForPrint, Printed
from opennandlab.cli.options.rows import argument, flag
from opennandlab.cli.options.workload import WorkloadOptions

if TYPE_CHECKING:
    from opennandlab.cli.options.common import BandKind
    from opennandlab.studies.rating.band import Variants
    from opennandlab.studies.sweeps.definition import Sweep
    from opennandlab.studies.sweeps.engine import Cost
    from opennandlab.studies.sweeps.runner import Run


@dataclass(frozen=True, kw_only=True)
class SweepOptions(EngineOptions, WorkloadOptions, ForPrint, Printed):
    """Options of `sweep`."""

    what: Annotated[
        str,
        argument(
            "A sweep file, or a verb: benchmark, replay, app, pts.TEST, ecc.curve, "
            "reliability.rber, reliability.life, reliability.drive-life, theory.waf, "
            "theory.queueing, theory.endurance.",
            metavar="FILE|VERB",
        ),
    ] = "benchmark"
    config: Annotated[
        str | None, flag("The device.", "-c", metavar="PRESET|FILE", callback=typed_device)
    ] = None
    workload: Annotated[
        str | None, flag("The workload.", "-w", metavar="NAME|FILE", callback=typed)
    ] = None
    trace: Annotated[str | None, flag("The trace of a replay.", metavar="FILE")] = None
    vary: Annotated[
        list[str] | None,
        flag(
            "Vary a key: `ftl.gc_policy=greedy,fifo`, `ftl.over_provisioning_pct=0.07:0.4:8`, "
            "`x=1e-4:1e-2:9:log`; `device`, `workload.queue_depth` or `pts.oio` too. May be "
            "repeated: all combinations.",
            metavar="KEY=A,B,C|FROM:TO:COUNT",
            callback=typed_sets,
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        flag(
            "Set a key in all points. May be repeated.",
            "--set",
            metavar="KEY=VALUE",
            callback=typed_sets,
        ),
    ] = None
    seeds: Annotated[int | None, flag("Seeds of each combination.")] = None
    seed: Annotated[int | None, flag("The first seed; default 42.")] = None
    until: Annotated[
        list[str] | None,
        flag(
            "Add seeds until the 95 % interval of a number is within this share of its mean: "
            "`waf=0.5%`.",
            metavar="NAME=SHARE",
        ),
    ] = None
    seeds_max: Annotated[int | None, flag("Maximum number of seeds with --until; default 100.")] = (
        None
    )
    name: Annotated[str | None, flag("Name of the sweep; default: that of its file.")] = None
    store: Annotated[Path | None, flag("Where points are kept.", metavar="DIR")] = None
    retry: Annotated[bool, flag("Run points that failed before again.")] = False
    dry_run: Annotated[
        bool, flag("Print how many points are known, and the time that the rest takes.")
    ] = False
    metrics: Annotated[str | None, flag("Numbers to show in the table.", metavar="A,B,C")] = None
    plot: Annotated[
        Path | None, flag("Draw it: SVG, PNG, PDF or an HTML page.", metavar="FILE")
    ] = None
    x: Annotated[str | None, flag("Key along the x axis of the plot.")] = None
    y: Annotated[str | None, flag("Number along the y axis.")] = None
    lines: Annotated[str | None, flag("Key with a line for each of its values.")] = None
    facets: Annotated[str | None, flag("Key with a figure for each of its values.")] = None
    allow_code: AllowCode = False
    band: Band = None


def sweep(given: SweepOptions) -> None:
    """Run a verb over a grid of settings and seeds; known points are not run again."""
    from opennandlab.policies.source import named_in

    with named_in(given.what):
        from opennandlab.base.errors import ConfigError
        from opennandlab.store import Store
        from opennandlab.studies.sweeps.runner import Run

        terminal.check_outputs({"--plot": given.plot})
        paper = given.page(given.plot)
        found, wanted = _asked(given)
        chosen = [it.strip() for it in given.metrics.split(",")] if given.metrics else None
        _refuse_unknown(wanted, chosen)
        if given.plot is not None and not wanted.varied:
            raise ConfigError(
                "--plot", "nothing is varied, so the plot has no axis; accepted: with --vary"
            )
        given.check_scheduler()
        _ = wanted.cells  # refuses here what would be refused, so that it leaves no empty store
        if given.dry_run:
            _show_cost(given, wanted)
            return
        with Store.open(given.store) as kept, shown(tables.line, quiet=given.quiet) as watch:
            run = Run(wanted, kept, watch=watch, retry=given.retry)
            _note_start(run, kept.path, quiet=given.quiet)
            if carried_out(lambda: run.to_the_end(given.engine_of(kept)), lambda: _there(run)):
                if given.as_json:
                    groups = tables.groups_of(run.rows)
                    names = tables.names_of(groups, wanted, chosen) if groups else []
                    made = tables.document(run, run.rows, groups, names, is_partial=True)
                    terminal.emit_json(made)
                raise typer.Exit(terminal.INTERRUPTED)
        rows = run.rows
        groups = tables.groups_of(rows)
        names = tables.names_of(groups, wanted, chosen)
        if given.plot is not None:
            tables.draw(groups, wanted, names, given.plot, paper, is_told=not given.quiet)
        bands = None if found is None else sweep_bands(found, groups, names)
        if given.as_json:
            more = {} if bands is None else {"bands": bands}
            terminal.emit_json(tables.document(run, rows, groups, names) | more)
        elif not given.quiet:
            tables.show(run, groups, names, given.plot)
            if found is not None and bands is not None:
                show_bands(found, bands, {name: name for name in names}, "point")
        if any(row.error is not None for row in rows):
            tables.show_failures(rows, quiet=given.quiet)
            raise typer.Exit(terminal.FAILED)


def _refuse_unknown(wanted: "Sweep", chosen: "Sequence[str] | None") -> None:
    """Refuse names of numbers that no run can have.

    Raises:
        ConfigError: for such a name.
    """
    asked = {
        "--metrics": chosen or [],
        "plot.y": [wanted.plot["y"]] if "y" in wanted.plot else [],
        "--until": list(wanted.seeds.until),
    }
    tables.refuse_unknown(asked, wanted.verb.names(wanted.request), wanted.verb.columns)


def _asked(given: SweepOptions) -> "tuple[Variants | None, Sweep]":
    """Return the sweep, and the drives of a data sheet with `--band`."""
    from opennandlab.studies.sweeps.definition import checked_name

    asked = {"config": given.config, "workload": given.workload, "trace": given.trace}
    changes: dict[str, Any] = {}
    if given.workload is None:
        given.refuse(("shift", "min_size"), "without --workload; accepted: with it")
    else:
        changes = given.changes(given.workload, {})
    more = {f"workload.{key}": value for key, value in changes.items()}
    wanted = _definition(given.what, asked, given.vary or [], given.settings or [], more)
    wanted = _seeded(wanted, given.seeds, given.seed, given.until or [], given.seeds_max)
    if given.name is not None:
        wanted = _replaced(wanted, name=checked_name(given.name))
    drawing = {"x": given.x, "y": given.y, "lines": given.lines, "facets": given.facets}
    drawn = {key: value for key, value in drawing.items() if value is not None}
    wanted = _replaced(wanted, plot={**wanted.plot, **drawn})
    return (None, wanted) if given.band is None else _on_variants(wanted, given.band)


def _definition(
    what: str,
    asked: Mapping[str, str | None],
    vary: Sequence[str],
    settings: Sequence[str],
    more: Mapping[str, Any],
) -> "Sweep":
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.plain import to_json
    from opennandlab.core.overrides import parse_overrides
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
        raise ConfigError(option, f"is not a setting of `{found.verb.name}`; accepted: {accepted}")
    overrides = {**more, **parse_overrides(list(settings))}
    to_json(overrides)  # refuses dates, NaN and the like, with their paths
    own = {key: value for key, value in overrides.items() if key in found.verb.keys}
    rest = {key: value for key, value in overrides.items() if key not in own}
    axes = [Axis.parse(text) for text in vary]
    replaced = {axis.key for axis in axes}
    both = next((key for key in overrides if key in replaced), None)
    if both is not None:
        raise ConfigError(both, "is in --set and in --vary; accepted: only one of them")
    return _replaced(
        found,
        request={**found.request, **given, **own},
        changes={
            **{key: value for key, value in found.changes.items() if key not in replaced},
            **rest,
        },
        axes=tuple([axis for axis in found.axes if axis.key not in replaced] + axes),
    )


def _on_variants(wanted: "Sweep", kind: "BandKind") -> "tuple[Variants, Sweep]":
    """Return the drives of a data sheet, and the sweep with a row of keys for each."""
    from opennandlab.base.errors import ConfigError

    if wanted.listed:
        raise ConfigError("--band", "lists drives, and so does `points`; accepted: one of the two")
    device = wanted.request.get("device")
    if any(axis.key == "device" for axis in wanted.axes):
        raise ConfigError("--vary", "device: variants are those of one sheet; accepted: other keys")
    fixed = {**wanted.changes, **dict.fromkeys(axis.key for axis in wanted.axes)}
    found = variants_of(device if isinstance(device, str) else None, fixed, kind)
    return found, _replaced(wanted, listed=tuple(found.keys.values()))


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
            raise ConfigError("--until", f"`{text}` is refused; accepted: for example waf=0.5%")
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


def _show_cost(given: SweepOptions, wanted: "Sweep") -> None:
    """Print what the points cost that the store does not have; a missing store is not made."""
    from opennandlab.store import Store
    from opennandlab.store.place import database, where_store
    from opennandlab.studies.sweeps.runner import NoStore, Run

    if database(where_store(given.store)).exists():
        with Store.open(given.store, create=False) as kept:
            run = Run(wanted, kept, retry=given.retry)
    else:
        run = Run(wanted, NoStore(), retry=given.retry)
    tables.show_cost(run, _costs(run), given.jobs, as_json=given.as_json)


def _note_start(run: "Run", place: Path, *, quiet: bool) -> None:
    if quiet:
        return
    terminal.note(f"points are kept in the store {place}", style="dim")
    if run.known_count:
        terminal.note(f"{run.known_count} of {run.count} points are known", style="dim")


def _there(run: "Run") -> str:
    return f"{len(run.rows)} of {run.count} points are"
