"""`reliability`: error rates, LLRs and retry tables of models; life tests of drives."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _reliability_axes as lists
from opennandlab.cli import _reliability_tables as show
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._reliability_cells import CELLS_EXAMPLE, cells
from opennandlab.cli._reliability_sample import (
    OF_SAMPLES,
    PLAN_EXAMPLE,
    SampleOptions,
    life_of_sample,
    plan,
)
from opennandlab.cli._typed import typed, typed_device
from opennandlab.cli.options.common import ForPrint, Printed, Seed, Sets, draw
from opennandlab.cli.options.reliability import Around, Class, Reads, StressOptions, stress_of
from opennandlab.cli.options.rows import command, flag
from opennandlab.cli.options.workload import WorkloadOptions

if TYPE_CHECKING:
    from opennandlab.core.config import DeviceConfig, Source
    from opennandlab.reliability.code_limit import CodeLimit
    from opennandlab.reports.figure.model import Figure
    from opennandlab.reports.figure.paper import Paper

RBER_EXAMPLE = (
    "opennandlab reliability rber --model tlc --pe 0:5000:11 --retention-h 0,720,8760 --json"
)
STATES_EXAMPLE = "opennandlab reliability states --pe 3000 --retention-h 8760 --plot states.html"
LLR_EXAMPLE = (
    "opennandlab reliability llr --model tlc --page-type upper --reads-per-bit 3 --pe 3000"
)
RETRY_EXAMPLE = "opennandlab reliability retry --pe 3000 --retention-h 8760 --steps 6"
ARRHENIUS_EXAMPLE = "opennandlab reliability arrhenius --from 40 --to 85 --ea 1.1"
LIFE_EXAMPLE = "opennandlab reliability life --config tlc_standard --class client"
TABLE_EXAMPLE = "opennandlab reliability table"

app = typer.Typer(
    help="Raw bit errors against wear, retention, temperature and reads; LLRs, retry, life tests.",
    epilog=f"Example: {RBER_EXAMPLE}",
    no_args_is_help=True,
)

# More than three times the mean is no spread of pages.
SPREAD_MAX = 3.0
# What only a test without a drive knows.
ANALYTIC = ("waf", "spread", "layers", "layer_swing", "retry_reads")
# What only a test with a drive writes.
WRITTEN = ("workload", "repeat", "trace_sha256", "shift", "min_size", "drives")
# A million years.
HOURS_MAX = 8.766e9


Plot = Annotated[Path | None, flag("Plot the curves into an HTML, SVG, PNG or PDF file.", "--plot")]


@dataclass(frozen=True, kw_only=True)
class RberOptions(ForPrint, Printed):
    """Options of `rber`."""

    model: Annotated[
        str | None,
        flag(
            "A model, a preset, or a device file; default: the model of --config, else tlc.",
            "-m",
            metavar="NAME|FILE",
            callback=typed_device,
        ),
    ] = None
    pe: Annotated[str, flag("Program/erase cycles: a list, or FROM:TO:COUNT.")] = "0:5000:11"
    retention_h: Annotated[str, flag("Hours since programming: list or FROM:TO:COUNT.")] = "0"
    temperature_c: Annotated[str, flag("Temperature, °C: list or FROM:TO:COUNT.")] = "40"
    reads: Annotated[str, flag("Reads per page of the block: list or FROM:TO:COUNT.")] = "0"
    page_type: Annotated[
        str | None, flag("lower, middle, upper, top; `all` for each; default mean.")
    ] = None
    config: Annotated[
        str | None,
        flag("A device: show the error rate that its code corrects.", "-c", metavar="PRESET|FILE"),
    ] = None
    drive_class: Annotated[
        Class, flag("With --config: class of JESD218, for its UBER.", "--class")
    ] = Class.CLIENT
    spread: Annotated[
        float, flag("Relative standard deviation of the error rates of pages, as a band.")
    ] = 0.0
    sets: Sets = None
    plot: Plot = None


@command(app, example=RBER_EXAMPLE)
def rber(given: RberOptions) -> None:
    """Raw bit error rate of a model for every combination of the given stresses."""
    from opennandlab.reliability import load_model

    terminal.check_outputs({"--plot": given.plot})
    paper = given.page(given.plot)
    device = _device(given.config, given.sets)
    chosen = load_model(given.model or device or "tlc")
    limit = _code_limit(device, given.config, given.drive_class, given.spread)
    axes = {
        "pe_cycles": lists.numbers("pe", given.pe),
        "retention_h": lists.numbers("retention-h", given.retention_h),
        "temperature_c": lists.numbers("temperature-c", given.temperature_c),
        "reads": lists.numbers("reads", given.reads),
    }
    pages: list[str | None] = [given.page_type]
    if given.page_type == "all":
        pages = list(chosen.page_types) or [None]
    lists.warn_of_stress(device, axes, quiet=given.quiet)
    points = lists.points(axes, len(pages))
    columns = {name: [point[name] for point in points] for name in axes}
    rows = []
    for page in pages:
        values = chosen.rber(**columns, page_type=page).tolist()
        rows += [
            {**point, "page_type": page or "mean", "rber": value}
            for point, value in zip(points, values, strict=True)
        ]
    varying = [name for name in axes if len(axes[name]) > 1] or ["pe_cycles"]
    if len(pages) > 1 or given.page_type not in {None, "all"}:
        varying.append("page_type")
    fixed = {name: values[0] for name, values in axes.items() if name not in varying}
    if given.plot is not None:
        from opennandlab.reliability.charts import rber_chart

        title = f"Raw bit error rate of {chosen.name}"
        chart = rber_chart(rows, title, limit, given.spread)
        _draw(
            given.plot,
            paper,
            title,
            show.spoken(fixed),
            chart,
            chosen.parameters,
            is_told=not given.quiet,
        )
        if chart.note and not given.quiet:
            terminal.note(f"{given.plot}: {chart.note}", style="dim")
    if given.as_json:
        shown: dict[str, Any] = {"model": chosen.name, "parameters": chosen.parameters}
        shown |= {} if limit is None else {"limit": asdict(limit)}
        terminal.emit_json({**shown, "points": rows})
    elif not given.quiet:
        show.dim(f"{chosen.name}: " + show.words(fixed))
        show.print_rows(rows, [*varying, "rber"])
        if limit is not None:
            show.print_limit(limit)


@dataclass(frozen=True, kw_only=True)
class StatesOptions(ForPrint, StressOptions):
    """Options of `states`."""

    plot: Plot = None


@command(app, example=STATES_EXAMPLE)
def states(given: StatesOptions) -> None:
    """Threshold-voltage states of a stressed cell and the read levels, in state gaps."""
    from opennandlab.reliability import load_model

    terminal.check_outputs({"--plot": given.plot})
    paper = given.page(given.plot)
    chosen = load_model(given.model)
    stress = given.stress()
    found = chosen.states(**stress)
    if given.plot is not None:
        from opennandlab.reliability.charts import states_chart

        title = f"States of {chosen.name}"
        read = f", {given.reads:g} reads" if given.reads else ""
        stresses = {
            "fresh": {},
            f"{given.pe:g} P/E": stress_of(given.pe, 0, given.temperature_c, 0),
            f"and {given.retention_h:g} h at {given.temperature_c:g} °C{read}": stress,
        }
        chart = states_chart(chosen, stresses, title)
        _draw(given.plot, paper, title, show.spoken(stress), chart, is_told=not given.quiet)
    if given.as_json:
        document = {
            "mean": found.mean.tolist(),
            "sigma": found.sigma.tolist(),
            "default_levels": found.default_levels.tolist(),
            "best_levels": found.best_levels.tolist(),
            "page_of_level": [found.page_types[page] for page in found.page_of_level],
        }
        terminal.emit_json({"model": chosen.name, "stress": stress, **document})
    elif not given.quiet:
        show.dim(f"{chosen.name}: " + show.words(stress))
        show.print_states(found)


@dataclass(frozen=True, kw_only=True)
class LlrOptions(StressOptions):
    """Options of `llr`."""

    page_type: Annotated[str, flag("lower, middle, upper, top; `all` for each.")] = "all"
    reads_per_bit: Annotated[int, flag("How often the page is read: 1, 3 or 7.")] = 3
    offsets: Annotated[
        str | None,
        flag("Level offsets of the reads, ascending, in gaps; default: the most informative."),
    ] = None
    levels: Annotated[Around, flag("Levels to read around.")] = Around.DEFAULT
    pe: Annotated[float, flag("Program/erase cycles of the block.")] = 0.0
    retention_h: Annotated[float, flag("Hours since programming.")] = 0.0


@command(app, example=LLR_EXAMPLE)
def llr(given: LlrOptions) -> None:
    """Log-likelihood ratios of a bit after 1, 3 or 7 reads, by page type; positive means 0."""
    from opennandlab.reliability import load_model

    chosen = load_model(given.model)
    stress = given.stress()
    names = list(chosen.page_types) if given.page_type == "all" else [given.page_type]
    tables = [
        chosen.llr_table(
            name,
            given.reads_per_bit,
            **stress,
            offsets=None if given.offsets is None else lists.numbers("offsets", given.offsets),
            levels=given.levels.value,
        )
        # A model without states states this itself.
        for name in names or ["lower"]
    ]
    if given.as_json:
        rows = [
            {
                "page_type": table.page_type,
                "offsets": table.offsets.tolist(),
                "rber": table.rber,
                "mutual_information": table.mutual_information,
                "bins": [
                    {"sensed": sensed, "llr": value, "p_if_0": zero, "p_if_1": one}
                    for sensed, value, zero, one in zip(
                        table.sensed,
                        table.llr.tolist(),
                        table.p_if_0.tolist(),
                        table.p_if_1.tolist(),
                        strict=True,
                    )
                ],
            }
            for table in tables
        ]
        terminal.emit_json({"model": chosen.name, "stress": stress, "tables": rows})
    elif not given.quiet:
        show.dim(f"{chosen.name}: " + show.words(stress))
        for table in tables:
            show.print_llr(table)


@dataclass(frozen=True, kw_only=True)
class RetryOptions(StressOptions):
    """Options of `retry`."""

    steps: Annotated[int, flag("Number of retry steps, 1 to 64.")] = 8
    horizon_h: Annotated[float, flag("Retention for which the last step is designed, hours.")] = (
        8760.0
    )


@command(app, example=RETRY_EXAMPLE)
def retry(given: RetryOptions) -> None:
    """Read-retry offsets that follow from charge loss, and the error rate with each."""
    from opennandlab.reliability import load_model

    chosen = load_model(given.model)
    stress = given.stress()
    table = chosen.retry_table(given.steps, given.horizon_h, **stress)
    rows = [
        {"step": 0, "retention_h": 0.0, "rber": table.default_rber.tolist()}
        | {"offsets": [0.0] * table.offsets.shape[1]}
    ]
    rows += [
        {"step": index, "retention_h": hours, "rber": rates, "offsets": offsets}
        for index, (hours, rates, offsets) in enumerate(
            zip(
                table.retention_h.tolist(),
                table.rber.tolist(),
                table.offsets.tolist(),
                strict=True,
            ),
            1,
        )
    ]
    if given.as_json:
        best = {"rber": table.best_rber.tolist(), "offsets": table.best_offsets.tolist()}
        terminal.emit_json(
            {
                "model": chosen.name,
                "stress": stress,
                "horizon_h": given.horizon_h,
                "page_types": list(table.page_types),
                "steps": rows,
                "best": best,
            }
        )
    elif not given.quiet:
        show.dim(f"{chosen.name}: " + show.words(stress))
        show.print_retry(rows, table)


command(app, example=CELLS_EXAMPLE)(cells)


@dataclass(frozen=True, kw_only=True)
class ArrheniusOptions(Printed):
    """Options of `arrhenius`."""

    from_c: Annotated[float, flag("Temperature of use, °C.", "--from")]
    to_c: Annotated[float, flag("Temperature of the bake, °C.", "--to")]
    ea: Annotated[float, flag("Activation energy, eV.")] = 1.1
    hours: Annotated[
        float | None, flag("Hours at the first temperature; prints the equivalent bake time.")
    ] = None


@command(app, example=ARRHENIUS_EXAMPLE)
def arrhenius(given: ArrheniusOptions) -> None:
    """Arrhenius acceleration factor between two temperatures."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.reliability import arrhenius as factor

    if given.hours is not None and not 0 < given.hours < HOURS_MAX:
        raise ConfigError(
            "hours", f"`{given.hours:g}` is out of range; accepted: up to {HOURS_MAX:g}"
        )
    value = factor(given.ea, given.from_c, given.to_c)
    document: dict[str, Any] = {"ea_ev": given.ea, "from_c": given.from_c, "to_c": given.to_c}
    document["acceleration"] = value
    if given.hours is not None:
        document |= {"hours": given.hours, "hours_at_to": given.hours / value}
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        show.print_pairs(document)


@dataclass(frozen=True, kw_only=True)
class LifeOptions(SampleOptions, WorkloadOptions, Printed):
    """Options of `life`."""

    config: Annotated[str, flag("The device.", "-c", metavar="PRESET|FILE")] = "config"
    drive_class: Annotated[Class, flag("Class of JESD218.", "--class")] = Class.CLIENT
    tbw: Annotated[
        float | None, flag("TB that the host writes; default: rated cycles used up.")
    ] = None
    workload: Annotated[
        str | None,
        flag(
            "Workload: its pattern, sizes and range are written; or a recorded trace. Default one "
            "map unit at random.",
            "-w",
            callback=typed,
            metavar="NAME|FILE|trace:FILE",
        ),
    ] = None
    repeat: Annotated[
        bool, flag("Replay the trace until enough is written; without this, one pass must suffice.")
    ] = False
    trace_sha256: Annotated[
        str | None, flag("SHA-256 that the text of the trace must have.", metavar="HEX")
    ] = None
    model: Annotated[
        str | None,
        flag(
            "Error model; default the device's.", "-m", metavar="NAME|FILE", callback=typed_device
        ),
    ] = None
    reads: Reads = 0.0
    storage_h: Annotated[
        float | None, flag("Hours that data is kept; default: as in the class.")
    ] = None
    storage_c: Annotated[
        float | None, flag("Temperature during these hours, °C; default: as in the class.")
    ] = None
    passes: Annotated[float, flag("How often the whole drive is read back.")] = 1.0
    programs: Annotated[
        float, flag("Page programs to simulate, about; the drive is scaled down to them.")
    ] = 1e8
    powered: Annotated[
        bool, flag("Keep the drive under power instead: no data is older than its ftl.refresh.")
    ] = False
    analytic: Annotated[bool, flag("Ask the models for means instead of simulating a drive.")] = (
        False
    )
    waf: Annotated[
        float | None, flag("With --analytic: write amplification; default: closed form, random.")
    ] = None
    spread: Annotated[
        float | None,
        flag("With --analytic: relative standard deviation of the error rates of pages."),
    ] = None
    layers: Annotated[int | None, flag("With --analytic: layers of the 3D stack.")] = None
    layer_swing: Annotated[
        float | None,
        flag(
            "With --analytic: excess of the error rate of the outermost layers over the mean, 0 "
            "to 2."
        ),
    ] = None
    retry_reads: Annotated[
        bool, flag("With --analytic: read at the best levels, as retry ends up doing.", "--retry")
    ] = False
    seed: Seed = 42
    sets: Sets = None


@command(app, example=LIFE_EXAMPLE)
def life(given: LifeOptions) -> None:
    """Life test after JESD218: write to TBW, store without power, read back, check UBER.

    Exit code 1 when the limit is not met; with --accept 4 when so few drives cannot show it.
    """
    from opennandlab.core.config import own_device
    from opennandlab.reliability import drive_life_test, life_test

    device_sets, workload_sets = terminal.split_sets(given.sets)
    device = own_device(given.config, device_sets)
    shared: dict[str, Any] = {
        "tbw_tb": given.tbw, "model": given.model, "reads": given.reads, "passes": given.passes,
        "powered": given.powered, "storage_h": given.storage_h, "storage_c": given.storage_c,
    }  # fmt: skip
    if given.drives is None:
        given.refuse(OF_SAMPLES, "on one drive; accepted: with --drives")
    if given.analytic:
        given.refuse(WRITTEN, "with --analytic, which writes nothing; accepted: --waf")
        unheard = ["programs", *(["layer_swing"] if given.layers is None else [])]
        given.refuse(unheard, "with --analytic and without --layers")
        own: dict[str, Any] = {
            "waf": given.waf, "cv": given.spread, "layers": given.layers,
            "layer_swing": given.layer_swing, "retry": given.retry_reads or None,
        }  # fmt: skip
        own = {name: value for name, value in own.items() if value is not None}
        test = life_test(device, given.drive_class.value, **shared, **own, seed=given.seed)
        document, passed, shown = test.to_dict(), test.passed, partial(show.print_life, test)
    else:
        given.refuse(ANALYTIC, "on a simulated drive; accepted: with --analytic")
        shared |= {
            "workload": _written(given, workload_sets), "programs": given.programs,
            "repeat": given.repeat, "trace_sha256": given.trace_sha256,
        }  # fmt: skip
        if given.drives is not None:
            life_of_sample(given, given.config, device_sets, shared)
            return
        with terminal.progress_line(quiet=given.quiet) as watch:
            simulated = drive_life_test(
                device, given.drive_class.value, **shared, seed=given.seed, progress=watch
            )
        document, passed = simulated.to_dict(), simulated.passed
        shown = partial(show.print_drive_life, simulated)
    if given.as_json:
        terminal.emit_json(document)
    elif not given.quiet:
        shown()
    for text in (document.get("warnings") or ()) if not given.quiet else ():
        terminal.note(f"warning: {text}", style="yellow")
    if not passed:
        raise typer.Exit(terminal.FAILED)


def _written(given: LifeOptions, sets: dict[str, Any]) -> "Source | None":
    """Return what the host writes; changes of a workload need one.

    Raises:
        ConfigError: for changes of a trace, or of nothing.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.reliability.writes import TRACE

    if given.workload is not None and not given.workload.startswith(TRACE):
        return given.changed(given.workload, sets)
    where = "without a workload" if given.workload is None else "on a trace"
    given.refuse(("shift", "min_size"), f"{where}; accepted: with a workload")
    if sets:
        raise ConfigError(f"workload.{next(iter(sets))}", f"has no effect {where}")
    return given.workload


command(app, example=PLAN_EXAMPLE)(plan)


@dataclass(frozen=True, kw_only=True)
class TableOptions(ForPrint, Printed):
    """Options of `table`."""

    plot: Plot = None


@command(app, example=TABLE_EXAMPLE)
def table(given: TableOptions) -> None:
    """The RBER table of the OpenNANDLab 2.0 page next to every model, and why they differ."""
    from opennandlab.base.words import number
    from opennandlab.reliability import page_table

    terminal.check_outputs({"--plot": given.plot})
    paper = given.page(given.plot)
    rows = page_table()
    if given.plot is not None:
        from opennandlab.reliability.charts import page_chart

        title = "RBER against P/E cycles: the OpenNANDLab 2.0 page and published flash"
        _draw(
            given.plot,
            paper,
            title,
            "TLC, without retention and reads.",
            page_chart(),
            is_told=not given.quiet,
        )
    if given.as_json:
        terminal.emit_json({"rows": rows})
    elif not given.quiet:
        cycles = [f"{number(point['pe_cycles'])} P/E" for point in rows[0]["points"]]
        lines = [["the page", *(f"{point['page']:.2e}" for point in rows[0]["points"])]]
        for row in rows:
            cells = [
                f"{point['here']:.2e} (x {number(round(point['ratio'], 3))})"
                for point in row["points"]
            ]
            lines.append([row["model"], *cells])
        console = terminal.stdout()
        console.print(terminal.plain_table(["model", *cycles], lines))
        for row in rows:
            console.print(f"{row['model']}: {row['reason']}", markup=False, style="dim")


def _draw(
    plot: Path,
    paper: "Paper | None",
    title: str,
    lead: str,
    drawn: "Figure",
    parameters: dict[str, Any] | None = None,
    *,
    is_told: bool,
) -> None:
    from opennandlab.reports.model import Table, page_of

    heading, heads = "Parameters of the model", ("parameter", "value")
    rows = tuple((parameters or {}).items())
    tables = [Table("parameters", heading, heads, rows)] if rows else []
    made = page_of(title, lead, [drawn, *tables])
    [chapter] = made.chapters
    # Curves are what the page is for; the parameters are there on demand.
    sections = tuple(replace(one, folded=one.id == "parameters") for one in chapter.sections)
    chapter = replace(chapter, sections=sections)
    made = replace(made, kind="bit errors of flash", chapters=(chapter,))
    draw(made, plot, paper, is_told=is_told)


def _device(config: str | None, sets: list[str] | None) -> "DeviceConfig | None":
    """Return the device of `--config` and `--set`; None without one."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.config import own_device
    from opennandlab.core.overrides import parse_overrides

    if config is None:
        if sets:
            raise ConfigError("--set", "changes a device; accepted: with --config")
        return None
    return own_device(config, parse_overrides(sets or []))


def _code_limit(
    device: "DeviceConfig | None", config: str | None, drive_class: Class, spread: float
) -> "CodeLimit | None":
    """Return what the code of a device takes; None without a device."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.reliability.code_limit import code_limit

    if not 0.0 <= spread < SPREAD_MAX:
        raise ConfigError("spread", f"{spread:g} is refused; accepted: 0 to {SPREAD_MAX:g}")
    if device is None:
        return None
    return code_limit(device, drive_class.value, spread, Path(config or device.name).name)
