"""`app`: application-shaped work on a simulated drive or in a directory."""

import datetime as dt
import sys
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import end, show, write
from opennandlab.cli.options.common import Json, Quiet, Seed, Sets
from opennandlab.cli.options.rows import Options, argument, command, flag

if TYPE_CHECKING:
    from collections.abc import Callable

    from opennandlab.app.outcome import Outcome, Progress
    from opennandlab.app.states import Wanted
    from opennandlab.app.suites import Suite
    from opennandlab.documents.app import AppDocument
    from opennandlab.reports.model import Report, Table

    Watch = Callable[[Progress], None] | None
    Work = Callable[[Watch], tuple[Outcome, dict[str, dict[str, int]]]]

RUN_EXAMPLE = "opennandlab app run --target sim:emmc_16gb --suite light --output phone"
STATE_EXAMPLE = "opennandlab app state old-dirty -c emmc_16gb --image old.onl"
SCRIPT_EXAMPLE = "opennandlab app script contact --iterations 2"

app = typer.Typer(
    help="Workloads of phone and desktop applications, and synthetic work on files.",
    epilog=f"Example: {RUN_EXAMPLE}",
    no_args_is_help=True,
)


class ModeName(str, Enum):
    """How scripts are run."""

    AUTO = "auto"
    LIVE = "live"
    REPLAY = "replay"


@dataclass(frozen=True, kw_only=True)
class AgingOptions(Options):
    """How a drive becomes old and dirty."""

    drive_writes: Annotated[int, flag("Capacities written to make a drive old.")] = 30
    dirty_writes: Annotated[float, flag("Capacities written to make a drive dirty.")] = 1.19
    dirt: Annotated[str, flag("What makes a drive dirty once 95 % is in use: files or pages.")] = (
        "files"
    )
    age: Annotated[
        str,
        flag(
            "Age an old drive by real writes, or by setting its wear and failed blocks.",
            metavar="write|warp",
        ),
    ] = "write"
    format_by: Annotated[
        str,
        flag(
            "How an old drive is formatted: all blocks erased, or all trimmed and erased later.",
            "--format",
            metavar="erase|discard",
        ),
    ] = "erase"
    dcim_delete_pct: Annotated[
        float,
        flag(
            "Percent of the photos that rounds of filling delete; on a simulated drive, percent of "
            "all files. 0 ends at 95 % full.",
        ),
    ] = 25.0

    def wanted(self, state: str) -> "Wanted":
        """Return a state and how it is reached.

        Raises:
            ConfigError: for an unknown name, or amounts out of range.
        """
        from opennandlab.app.states import Wanted

        return Wanted(
            state, self.drive_writes, self.dirty_writes, self.dirt, self.age, self.format_by,
            self.dcim_delete_pct,
        )  # fmt: skip


Place = Annotated[
    Path | None, flag("The store of runs; default: that of `runs`.", "--store", metavar="DIR")
]
SizeOption = Annotated[
    list[str] | None,
    flag(
        "Change a size of a case, such as contact.rows=500. May be repeated.",
        "--size",
        metavar="CASE.NAME=N",
    ),
]


# What scripts in directories hear, and what the ways to a state do.
LIVE = ("journal", "sync", "page", "evict", "compress_ratio", "may_fill", "fill_rounds")
AGING, DIRTYING = ("drive_writes", "age", "format_by"), ("dirty_writes", "dirt")
FILLING = ("dcim_delete_pct",)


@dataclass(frozen=True, kw_only=True)
class RunOptions(AgingOptions):
    """Options of `run`."""

    target: Annotated[
        str,
        flag(
            "A simulated drive, on which recorded requests are played in virtual time, or a "
            "directory, in which scripts are run.",
            metavar="sim:PRESET|FILE, dir:PATH",
            show_default=False,
        ),
    ]
    suite: Annotated[
        str,
        flag(
            "A suite of `app suites`, such as light or desktop-quick, or a YAML file with cases.",
            metavar="NAME|FILE.yaml",
        ),
    ] = "light"
    case: Annotated[
        list[str] | None,
        flag("Only this case, N times a run. May be repeated.", metavar="NAME[=N]"),
    ] = None
    mode: Annotated[ModeName, flag("live for dir:, replay for sim:.")] = ModeName.AUTO
    state: Annotated[
        str,
        flag(
            "young-clean, young-dirty, old-clean, old-dirty, or a saved drive.",
            metavar="NAME|image:FILE",
        ),
    ] = "young-clean"
    relative: Annotated[bool, flag("Run the suite on the young and clean drive as well.")] = False
    runs: Annotated[int, flag("How often each case is run.", min=1, max=1000)] = 5
    idle_ms: Annotated[int, flag("Pause between iterations.", min=0, max=3_600_000)] = 0
    cpu: Annotated[
        str,
        flag(
            "Think time before the requests of an iteration: none, as on the phone of the "
            "talk by A. Lee, or a file of milliseconds per case.",
            metavar="none|phone2013|FILE",
        ),
    ] = "none"
    journal: Annotated[
        str, flag("Live runs: journal of databases: truncate, delete, persist or wal.")
    ] = "truncate"
    sync: Annotated[
        str, flag("Live runs: setting `synchronous` of databases: full, extra or normal.")
    ] = "full"
    page: Annotated[int, flag("Live runs: page size of databases, bytes.")] = 4096
    evict: Annotated[
        str, flag("Live runs: how pages leave the cache: auto, drop_caches or dontneed.")
    ] = "auto"
    compress_ratio: Annotated[
        float, flag("Live runs: share of written bytes that compression saves, 0 to below 1.")
    ] = 0.0
    may_fill: Annotated[bool, flag("Allow main-full-main to fill the file system to 95 %.")] = False
    fill_rounds: Annotated[int, flag("Live runs: rounds of filling.", min=1, max=1000)] = 30
    trace: Annotated[
        list[str] | None,
        flag("Play another trace for a case. May be repeated.", metavar="CASE=FILE"),
    ] = None
    max_transfer_bytes: Annotated[
        int,
        flag(
            "Split larger reads and writes; the talk by A. Lee has 524288. 0: "
            "host.max_transfer_bytes of the device; without that key none is split.",
            min=0,
        ),
    ] = 0
    size: SizeOption = None
    output: Annotated[
        Path | None, flag("Write app.json, app.html and tables as CSV.", "-o", metavar="DIR")
    ] = None
    compat: Annotated[bool, flag("Print the result in the layout of the talk by A. Lee.")] = False
    keep: Annotated[bool, flag("Add the run to the store, for `app history`.")] = False
    store: Place = None
    seed: Seed = 42
    sets: Sets = None
    as_json: Json = False
    quiet: Quiet = False


@command(app, example=RUN_EXAMPLE)
def run(given: RunOptions) -> None:
    """Run a suite of applications and report how long the user waited."""
    from opennandlab.app.suites import is_file
    from opennandlab.app.suites import suite as find_suite
    from opennandlab.base.errors import ConfigError

    chosen = find_suite(given.suite, cases_of(given.case))
    kind, _, place = given.target.partition(":")
    if kind not in {"sim", "dir"} or not place:
        message = f"`{given.target}`; accepted: sim:PRESET, sim:FILE, dir:PATH"
        if given.target.startswith("nbd"):
            message += "; `opennandlab attach` gives a served drive a directory"
        raise ConfigError("target", message)
    wanted_mode = "replay" if kind == "sim" else "live"
    if given.mode is not ModeName.AUTO and given.mode.value != wanted_mode:
        raise ConfigError("mode", f"{kind}: targets are run with --mode {wanted_mode}")
    _refuse_unheard(given, kind, is_filled=chosen.fill)
    terminal.check_folder(given.output)
    sizes = _sizes(given.size)
    started = time.monotonic()
    now = dt.datetime.now(tz=dt.timezone.utc)
    created = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if kind == "sim":
        if sizes or (is_file(given.suite) and chosen.sizes):
            message = "a recorded trace has the sizes of its recording; accepted: with dir:PATH"
            raise ConfigError("size", message)
        work = _replaying(place, chosen, given, given.state)
    else:
        given.refuse(
            ("cpu",), "in a directory, where the host has its own think time; accepted: with sim:"
        )
        if given.sets or given.state != "young-clean" or given.trace or given.relative:
            message = "--set, --state, --trace and --relative are of simulated drives"
            raise ConfigError("target", message)
        work = _live(Path(place), chosen, given, sizes)
    young = None
    with shown(
        _line, quiet=given.quiet or given.as_json, is_last=lambda now: now.is_finished
    ) as watch:
        outcome, effective_sizes = work(watch)
        if given.relative and not outcome.is_partial:
            first = _replaying(place, chosen, given, "young-clean")
            young = first(watch)[0]
    from opennandlab.app.assembling import assemble

    settings = _settings(given, wanted_mode, effective_sizes)
    document = assemble(
        outcome, chosen, settings, target=given.target, wall_s=time.monotonic() - started,
        created=created,
        young=None if young is None or young.is_partial
        else assemble(young, chosen, settings, target=given.target, wall_s=0.0),
    )  # fmt: skip
    if given.keep and document.passed:
        _keep(document, given.store)
    _tell(document, outcome.failure, given)


def _settings(given: RunOptions, mode: str, sizes: dict[str, dict[str, int]]) -> dict[str, object]:
    """Return the settings of a document; those that it has without them only where they differ."""
    from opennandlab.documents.app import DELETE_PCT

    found: dict[str, object] = {
        "mode": mode, "seed": given.seed, "runs": given.runs, "idle_ms": given.idle_ms,
        "sizes": sizes,
    }  # fmt: skip
    if given.max_transfer_bytes:
        found["max_transfer_bytes"] = given.max_transfer_bytes
    if given.dcim_delete_pct != DELETE_PCT:
        found["delete_pct"] = given.dcim_delete_pct
    return found


def _refuse_unheard(given: RunOptions, kind: str, *, is_filled: bool) -> None:
    """Refuse options of directories on simulated drives, and of states that are not reached.

    A suite that fills the drive between two rounds makes it dirty in every state.
    """
    if kind == "sim":
        given.refuse(LIVE, "on recorded requests; accepted: with dir:PATH")
    else:
        given.refuse(["max_transfer_bytes"], "in a directory, whose host splits requests itself")
    # An image is what it is, whatever its file is called.
    is_reached = kind == "sim" and not given.state.startswith("image:")
    if not (is_reached and "old" in given.state):
        given.refuse(AGING, "here; accepted: with a --state that is old")
    if not (is_reached and (is_filled or "dirty" in given.state)):
        given.refuse(DIRTYING, "here; accepted: with a --state that is dirty, or main-full-main")
    if not (is_filled or (is_reached and "dirty" in given.state)):
        given.refuse(FILLING, "here; accepted: with a --state that is dirty, or main-full-main")


@dataclass(frozen=True, kw_only=True)
class HistoryOptions(Options):
    """Options of `history`."""

    target: Annotated[str | None, flag("Only runs of this target.", metavar="TARGET")] = None
    suite: Annotated[str | None, flag("Only runs of this suite.", metavar="NAME")] = None
    store: Place = None
    as_json: Json = False


@command(app, example="opennandlab app history --target sim:emmc_16gb")
def history(given: HistoryOptions) -> None:
    """Show the runs of devices over time: those that `app run --keep` or `runs add` have kept."""
    from opennandlab.reports import app as pages
    from opennandlab.store import Store

    with Store.open(given.store, create=False) as opened:
        entries = sorted(opened.entries(["verb=app"]), key=lambda one: one.created)
    rows: list[tuple[Any, ...]] = []
    first: dict[tuple[object, ...], float] = {}
    for one in entries:
        own = tuple(one.coordinates.get(key) for key in ("target", "suite", "state"))
        if (given.target or own[0], given.suite or own[1]) != own[
            :2
        ] or "total_ms" not in one.metrics:
            continue
        took = one.metrics["total_ms"]
        ratio = took / first.setdefault(own[:2], took)
        score, mean, longest = (
            one.metrics.get(name) for name in ("score", "write_us.mean", "write_us.max")
        )
        rows.append((one.created, *own, score, took, mean, longest, ratio))
    listed = [dict(zip(pages.HISTORY, row, strict=True)) for row in rows]
    if given.as_json:
        terminal.emit_json({"runs": listed})
    elif not rows:
        terminal.note("no such runs; `app run --keep` keeps them")
    else:
        show("Runs of applications", [pages.history(listed)], None)


@dataclass(frozen=True, kw_only=True)
class ScriptOptions(Options):
    """Options of `script`."""

    case: Annotated[str, argument("The case.", show_default=False)]
    iterations: Annotated[int, flag("Iterations of the case.", min=0, max=1_000_000)] = 1
    size: SizeOption = None
    seed: Seed = 42


@command(app, example=SCRIPT_EXAMPLE)
def script(given: ScriptOptions) -> None:
    """Print the script of a case as JSON lines."""
    from opennandlab.app import cases, ops

    made = cases.make(given.case, given.seed, _sizes(given.size))
    for line in ops.lines(cases.script(made, given.iterations)):
        sys.stdout.write(line + "\n")


@dataclass(frozen=True, kw_only=True)
class StateOptions(AgingOptions):
    """Options of `state`."""

    name: Annotated[
        str,
        argument(
            "young-clean, young-dirty, old-clean or old-dirty.", metavar="STATE", show_default=False
        ),
    ]
    config: Annotated[str, flag("The device.", "-c", metavar="PRESET|FILE", show_default=False)]
    image: Annotated[Path, flag("Where the drive is saved.", metavar="FILE", show_default=False)]
    seed: Seed = 42
    sets: Sets = None
    quiet: Quiet = False


@command(app, "state", example=STATE_EXAMPLE)
def state_(given: StateOptions) -> None:
    """Bring a drive into a state and save it, for `--state image:FILE` and `serve --image`."""
    from opennandlab.app.outcome import Progress
    from opennandlab.app.states import reached
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import write_atomically
    from opennandlab.core.config import own_device
    from opennandlab.core.memory import check_memory

    wanted = given.wanted(given.name)
    device_sets, workload_sets = terminal.split_sets(given.sets)
    if workload_sets:
        raise ConfigError("set", "--set changes the device of --config")
    terminal.check_outputs({"--image": given.image}, terminal.read_files(given.config, None))
    device = own_device(given.config, device_sets)
    check_memory(device)
    began = time.monotonic()
    with shown(_line, quiet=given.quiet, is_last=lambda now: now.is_finished) as watch:

        def tell(what: str, fraction: float) -> None:
            if watch is not None:
                watch(Progress(what, fraction, time.monotonic() - began))

        drive = reached(device, given.seed, wanted, tell)
    write_atomically(given.image, drive.image())
    if not given.quiet:
        terminal.note(f"{given.name}: {wanted.age}; {wanted.dirt}. Saved as {given.image}")


@dataclass(frozen=True, kw_only=True)
class SuitesOptions(Options):
    """Options of `suites`."""

    as_json: Json = False


@command(app, example="opennandlab app suites")
def suites(given: SuitesOptions) -> None:
    """List the suites: cases, and how often each is run."""
    from opennandlab.app.suites import SUITES

    if given.as_json:
        terminal.emit_json(
            {one.name: {"title": one.title, "cases": dict(one.counts)} for one in SUITES.values()}
        )
        return
    rows = [
        [one.name, ", ".join(f"{name} {count}" for name, count in one.counts.items())]
        for one in SUITES.values()
    ]
    for name, counts in rows:
        typer.echo(f"{name:16} {counts}")


def _replaying(place: str, chosen: "Suite", given: RunOptions, state: str) -> "Work":
    from opennandlab.app import replaying
    from opennandlab.app.states import Wanted
    from opennandlab.app.thinking import processor
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.config import DeviceConfig, own_device
    from opennandlab.core.images import same_device

    device_sets, workload_sets = terminal.split_sets(given.sets)
    if workload_sets:
        raise ConfigError("set", "--set changes the device of the target")
    device: DeviceConfig = own_device(place, device_sets)
    image = Path(state.partition(":")[2]) if state.startswith("image:") else None
    if image is not None:
        from opennandlab.core.images import drive_of, read_image

        core = drive_of(read_image(image), given.seed, image)
        same_device(DeviceConfig(core.device(), image.name), device, image)
    plan = replaying.Plan(
        device=device,
        suite=chosen,
        wanted=Wanted() if image is not None else given.wanted(state),
        image=image,
        traces={name: Path(path) for name, path in _pairs(given.trace, "trace").items()},
        seed=given.seed,
        runs=given.runs,
        idle_ms=given.idle_ms,
        cpu=processor(given.cpu, [case for case, count in chosen.counts.items() if count]),
        transfer_max=given.max_transfer_bytes,
    )
    replaying.prepare(plan)
    return lambda watch: (replaying.replay(plan, watch), {})


def _live(
    path: Path, chosen: "Suite", given: RunOptions, sizes: dict[str, dict[str, int]]
) -> "Work":
    from opennandlab.app import executor, live

    executor.pool(0, given.compress_ratio)
    plan = live.Plan(
        path=path,
        suite=chosen,
        profile=executor.Profile(given.journal, given.sync, given.page),
        sizes=sizes,
        seed=given.seed,
        runs=given.runs,
        idle_ms=given.idle_ms,
        compress_ratio=given.compress_ratio,
        evict=given.evict,
        may_fill=given.may_fill,
        fill_rounds=given.fill_rounds,
        delete_pct=given.dcim_delete_pct,
    )
    live.prepare(plan)
    return lambda watch: (live.run(plan, watch), live.merged_sizes(plan))


def cases_of(given: list[str] | None) -> dict[str, int | None]:
    """Return cases with their iterations, None for those of the suite."""
    from opennandlab.base.errors import ConfigError

    found: dict[str, int | None] = {}
    for text in given or []:
        name, equals, count = text.partition("=")
        if equals and not (count.isdigit() and len(count) < 10):
            raise ConfigError("case", f"`{text}`; accepted: NAME or NAME=N")
        found[name] = int(count) if equals else None
    return found


def _pairs(given: list[str] | None, what: str) -> dict[str, str]:
    from opennandlab.base.errors import ConfigError

    found = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise ConfigError(what, f"`{text}`; accepted: NAME=VALUE")
        found[name] = value
    return found


def _sizes(given: list[str] | None) -> dict[str, dict[str, int]]:
    """Return sizes by case and name.

    Raises:
        ConfigError: for another form, and for sizes that no case has.
    """
    from opennandlab.app.cases import check_sizes
    from opennandlab.base.errors import ConfigError

    found: dict[str, dict[str, int]] = {}
    for path, value in _pairs(given, "size").items():
        case, _, name = path.partition(".")
        if not name or not value.isdigit() or len(value) > 15:
            raise ConfigError("size", f"`{path}={value}`; accepted: CASE.NAME=N, a whole number")
        found.setdefault(case, {})[name] = int(value)
    check_sizes(found)
    return found


def _line(now: "Progress") -> str:
    left = "" if now.eta_s is None or now.is_finished else f"{terminal.duration(now.eta_s)} left"
    return "  ".join(part for part in (now.what, f"{now.fraction:.0%}", left) if part)


def _keep(document: "AppDocument", store: Path | None) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.store import Store
    from opennandlab.store.adopting import application_entry

    with Store.open(store) as opened:
        opened.add([application_entry(plain(document))])


def _tell(document: "AppDocument", failure: str, given: RunOptions) -> None:
    """Write files, print tables, and end with the exit code of the outcome."""
    from opennandlab.documents.record import plain
    from opennandlab.reports import app as pages

    content = plain(document)
    if document.partial:
        terminal.ignore_signals()
    if given.output is not None:
        write(content, pages.report(document), given.output, "app", as_csv=True)
    if given.as_json:
        terminal.emit_json(content)
    elif not given.quiet:
        title = f"{document.suite} on {document.run.target}: {pages.subtitle(document)}"
        tables = pages.compat(document) if given.compat else _tables(pages.report(document))
        show(title, tables, document.digest)
        if given.output is not None:
            terminal.note(f"written to {given.output}")
    if failure:
        terminal.stop(terminal.BROKEN, f"{failure}; the result is partial: what had ended")
    failed = "; ".join(f"{it.name}: {it.detail}" for it in document.checks if not it.passed)
    end(document, f"self-checks failed: {failed}")


def _tables(page: "Report") -> "list[Table]":
    from opennandlab.reports.model import Table

    return [item for item in page.chapters[0].items if isinstance(item, Table)]
