"""`app`: application-shaped work on a simulated drive or in a directory."""

import datetime as dt
import sys
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import show
from opennandlab.cli._terminal import Json, Quiet, Seed, Sets

if TYPE_CHECKING:
    from collections.abc import Callable

    from opennandlab.app.outcome import Outcome, Progress
    from opennandlab.app.suites import Suite
    from opennandlab.documents.app import AppDocument
    from opennandlab.reports.model import Report, Table

RUN_EXAMPLE = "opennandlab app run --target sim:emmc_16gb --suite light --output phone"
STATE_EXAMPLE = "opennandlab app state old-dirty -c emmc_16gb --image old.onl"
SCRIPT_EXAMPLE = "opennandlab app script contact --iterations 2"

app = typer.Typer(
    help="Application-shaped work: contacts, web, install, camera, gallery, media scan.",
    epilog=f"Example: {RUN_EXAMPLE}",
    no_args_is_help=True,
)


class ModeName(str, Enum):
    """How scripts are run."""

    AUTO = "auto"
    LIVE = "live"
    REPLAY = "replay"


DriveWrites = Annotated[int, typer.Option(help="Capacities written to make a drive old.")]
DirtyWrites = Annotated[float, typer.Option(help="Capacities written to make a drive dirty.")]
Dirt = Annotated[
    str, typer.Option(help="What makes a drive dirty once 95 % is in use: files or pages.")
]
AgeBy = Annotated[
    str,
    typer.Option(
        "--age",
        metavar="write|warp",
        help="Really write what makes a drive old, or set wear and failed blocks.",
    ),
]
FormatBy = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="erase|discard",
        help="How an old drive is formatted: all blocks erased, or all trimmed and erased later.",
    ),
]
Place = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", help="The store of runs; by default as in `runs`."),
]
SizeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="CASE.NAME=N",
        help="Change a size of a case, such as contact.rows=500. May be repeated.",
    ),
]


# What scripts in directories hear, and what the ways to a state do.
LIVE = ("journal", "sync", "page", "evict", "compress_ratio", "may_fill", "fill_rounds")
AGING, DIRTYING = ("drive_writes", "age", "format_by"), ("dirty_writes", "dirt")


@app.command(epilog=f"Example: {RUN_EXAMPLE}")
def run(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="sim:PRESET|FILE, dir:PATH",
            help="A simulated drive, on which recorded requests are played in virtual time, or a "
            "directory, in which scripts are run.",
            show_default=False,
        ),
    ],
    suite: Annotated[
        str,
        typer.Option(
            help="light, heavy, main-full-main, iozone, fileio-32m, mobibench-like or "
            "androbench-like."
        ),
    ] = "light",
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case", metavar="NAME[=N]", help="Only this case, N times a run. May be repeated."
        ),
    ] = None,
    mode: Annotated[
        ModeName, typer.Option("--mode", help="live for dir:, replay for sim:.")
    ] = ModeName.AUTO,
    state: Annotated[
        str,
        typer.Option(
            "--state",
            metavar="NAME|image:FILE",
            help="young-clean, young-dirty, old-clean, old-dirty, or a saved drive.",
        ),
    ] = "young-clean",
    drive_writes: DriveWrites = 30,
    dirty_writes: DirtyWrites = 1.19,
    dirt: Dirt = "files",
    age: AgeBy = "write",
    format_by: FormatBy = "erase",
    relative: Annotated[
        bool,
        typer.Option("--relative", help="Run the suite on the young and clean drive as well."),
    ] = False,
    runs: Annotated[int, typer.Option(help="How often each case is run.", min=1, max=1000)] = 5,
    idle_ms: Annotated[
        int, typer.Option(help="Pause between iterations.", min=0, max=3_600_000)
    ] = 0,
    journal: Annotated[
        str, typer.Option(help="Of databases, live: truncate, delete, persist or wal.")
    ] = "truncate",
    sync: Annotated[str, typer.Option(help="Of databases, live: full, extra or normal.")] = "full",
    page: Annotated[int, typer.Option(help="Bytes of a page of databases, live.")] = 4096,
    evict: Annotated[
        str, typer.Option(help="How pages leave the cache, live: auto, drop_caches or dontneed.")
    ] = "auto",
    compress_ratio: Annotated[
        float, typer.Option(help="Share of written bytes that compresses away, live: 0 to below 1.")
    ] = 0.0,
    may_fill: Annotated[
        bool, typer.Option("--may-fill", help="Let main-full-main fill the file system to 95 %.")
    ] = False,
    fill_rounds: Annotated[
        int, typer.Option(help="Rounds of filling, live.", min=1, max=1000)
    ] = 30,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            "--trace", metavar="CASE=FILE", help="Play a trace of your own. May be repeated."
        ),
    ] = None,
    size: SizeOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write app.json, app.html and tables as CSV."
        ),
    ] = None,
    compat: Annotated[
        bool, typer.Option("--compat", help="Print the layout of the source's report.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Add the run to the store, for `app history`.")
    ] = False,
    store: Place = None,
    seed: Seed = 42,
    sets: Sets = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a suite of applications and report what the user waited for."""
    with terminal.guard(as_json=as_json):
        from opennandlab.app.suites import suite as find_suite
        from opennandlab.base.errors import ConfigError

        chosen = find_suite(suite, cases_of(case))
        kind, _, place = target.partition(":")
        if kind not in {"sim", "dir"} or not place:
            message = f"`{target}`; accepted: sim:PRESET, sim:FILE, dir:PATH"
            if target.startswith("nbd"):
                message += "; `opennandlab attach` gives a served drive a directory"
            raise ConfigError("target", message)
        wanted_mode = "replay" if kind == "sim" else "live"
        if mode is not ModeName.AUTO and mode.value != wanted_mode:
            raise ConfigError("mode", f"{kind}: targets are run with --mode {wanted_mode}")
        _refuse_unheard(context, kind, state)
        terminal.check_folder(output)
        sizes = _sizes(size)
        started = time.monotonic()
        now = dt.datetime.now(tz=dt.timezone.utc)
        created = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if kind == "sim":
            if sizes:
                raise ConfigError("size", "a recorded trace has the sizes of its recording")
            played = {"seed": seed, "runs": runs, "idle_ms": idle_ms}
            own_traces = _pairs(trace, "trace")
            amounts = (drive_writes, dirty_writes, dirt, age, format_by)
            work = _replaying(place, chosen, state, amounts, own_traces, sets, **played)
        else:
            if sets or state != "young-clean" or trace or relative:
                message = "--set, --state, --trace and --relative are of simulated drives"
                raise ConfigError("target", message)
            from opennandlab.app.executor import Profile

            work = _live(
                Path(place), chosen, Profile(journal, sync, page), sizes, seed=seed, runs=runs,
                idle_ms=idle_ms, compress_ratio=compress_ratio, evict=evict, may_fill=may_fill,
                fill_rounds=fill_rounds,
            )  # fmt: skip
        young = None
        with shown(_line, quiet=quiet or as_json, is_last=lambda now: now.finished) as watch:
            outcome, effective_sizes = work(watch)
            if relative and not outcome.partial:
                first = _replaying(
                    place, chosen, "young-clean", amounts, own_traces, sets, **played
                )
                young = first(watch)[0]
        from opennandlab.app.assembling import assemble

        settings: dict[str, object] = {
            "mode": wanted_mode, "seed": seed, "runs": runs, "idle_ms": idle_ms,
            "sizes": effective_sizes,
        }  # fmt: skip
        document = assemble(
            outcome, chosen, settings, target=target, wall_s=time.monotonic() - started,
            created=created,
            young=None if young is None or young.partial
            else assemble(young, chosen, settings, target=target, wall_s=0.0),
        )  # fmt: skip
        if keep and document.passed:
            _keep(document, store)
        _tell(document, output, outcome.failure, as_json=as_json, quiet=quiet, compat=compat)


def _refuse_unheard(context: typer.Context, kind: str, state: str) -> None:
    """Refuse options of directories on simulated drives, and of states that are not wanted."""
    if kind == "sim":
        terminal.refuse_given(context, LIVE, "on recorded requests; accepted: with dir:PATH")
    # An image is what it is, whatever its file is called.
    reached = state if kind == "sim" and not state.startswith("image:") else ""
    for names, part in ((AGING, "old"), (DIRTYING, "dirty")):
        if part not in reached:
            terminal.refuse_given(context, names, f"here; accepted: with a --state that is {part}")


@app.command(epilog="Example: opennandlab app history --target sim:emmc_16gb")
def history(
    target: Annotated[
        str | None, typer.Option("--target", metavar="TARGET", help="Only runs of this target.")
    ] = None,
    suite: Annotated[
        str | None, typer.Option("--suite", metavar="NAME", help="Only runs of this suite.")
    ] = None,
    store: Place = None,
    as_json: Json = False,
) -> None:
    """Show the runs of devices over time: those that `app run --keep` or `runs add` have kept."""
    with terminal.guard(as_json=as_json):
        from opennandlab.reports import app as pages
        from opennandlab.store import Store

        with Store.open(store, create=False) as opened:
            entries = sorted(opened.entries(["verb=app"]), key=lambda one: one.created)
        rows: list[tuple[Any, ...]] = []
        first: dict[tuple[object, ...], float] = {}
        for one in entries:
            own = tuple(one.coordinates.get(key) for key in ("target", "suite", "state"))
            if (target or own[0], suite or own[1]) != own[:2] or "total_ms" not in one.metrics:
                continue
            took = one.metrics["total_ms"]
            ratio = took / first.setdefault(own[:2], took)
            score, mean, longest = (
                one.metrics.get(name) for name in ("score", "write_us.mean", "write_us.max")
            )
            rows.append((one.created, *own, score, took, mean, longest, ratio))
        listed = [dict(zip(pages.HISTORY, row, strict=True)) for row in rows]
        if as_json:
            terminal.emit_json({"runs": listed})
        elif not rows:
            terminal.note("no such runs; `app run --keep` keeps them")
        else:
            show("Runs of applications", [pages.history(listed)], None)


@app.command(epilog=f"Example: {SCRIPT_EXAMPLE}")
def script(
    case: Annotated[str, typer.Argument(help="The case.", show_default=False)],
    iterations: Annotated[int, typer.Option(help="How often.", min=0, max=1_000_000)] = 1,
    size: SizeOption = None,
    seed: Seed = 42,
) -> None:
    """Print the script of a case as JSON lines."""
    with terminal.guard(as_json=False):
        from opennandlab.app import cases, ops

        made = cases.make(case, seed, _sizes(size))
        for line in ops.lines(cases.script(made, iterations)):
            sys.stdout.write(line + "\n")


@app.command("state", epilog=f"Example: {STATE_EXAMPLE}")
def state_(
    name: Annotated[
        str,
        typer.Argument(
            metavar="STATE",
            help="young-clean, young-dirty, old-clean or old-dirty.",
            show_default=False,
        ),
    ],
    config: Annotated[
        str,
        typer.Option(
            "--config", "-c", metavar="PRESET|FILE", help="The device.", show_default=False
        ),
    ],
    image: Annotated[
        Path,
        typer.Option(
            "--image", metavar="FILE", help="Where the drive is saved.", show_default=False
        ),
    ],
    drive_writes: DriveWrites = 30,
    dirty_writes: DirtyWrites = 1.19,
    dirt: Dirt = "files",
    age: AgeBy = "write",
    format_by: FormatBy = "erase",
    seed: Seed = 42,
    sets: Sets = None,
    quiet: Quiet = False,
) -> None:
    """Bring a drive into a state and save it, for `--state image:FILE` and `serve --image`."""
    with terminal.guard(as_json=False):
        from opennandlab.app.outcome import Progress
        from opennandlab.app.states import Wanted, reached
        from opennandlab.base.errors import ConfigError
        from opennandlab.base.files import write_atomically
        from opennandlab.core.config import own_device
        from opennandlab.core.memory import check_memory

        wanted = Wanted(name, drive_writes, dirty_writes, dirt, age, format_by)
        device_sets, workload_sets = terminal.split_sets(sets)
        if workload_sets:
            raise ConfigError("set", "--set changes the device of --config")
        terminal.check_outputs({"--image": image}, terminal.read_files(config, None))
        device = own_device(config, device_sets)
        check_memory(device)
        began = time.monotonic()
        with shown(_line, quiet=quiet, is_last=lambda now: now.finished) as watch:

            def tell(what: str, fraction: float) -> None:
                if watch is not None:
                    watch(Progress(what, fraction, time.monotonic() - began))

            drive = reached(device, seed, wanted, tell)
        write_atomically(image, drive.image())
        if not quiet:
            terminal.note(f"{name}: {wanted.age}; {wanted.dirt}. Saved as {image}")


@app.command(epilog="Example: opennandlab app suites")
def suites(*, as_json: Json = False) -> None:
    """List the suites: cases, and how often each is run."""
    with terminal.guard(as_json=as_json):
        from opennandlab.app.suites import SUITES

        if as_json:
            terminal.emit_json(
                {
                    one.name: {"title": one.title, "cases": dict(one.counts)}
                    for one in SUITES.values()
                }
            )
            return
        rows = [
            [one.name, ", ".join(f"{name} {count}" for name, count in one.counts.items())]
            for one in SUITES.values()
        ]
        for name, counts in rows:
            typer.echo(f"{name:16} {counts}")


def _replaying(
    place: str,
    chosen: "Suite",
    state: str,
    amounts: tuple[int, float, str, str, str],
    traces: dict[str, str],
    sets: list[str] | None,
    **settings: Any,  # noqa: ANN401 (of the plan)
) -> "Callable[[Callable[[Progress], None] | None], tuple[Outcome, dict[str, dict[str, int]]]]":
    from opennandlab.app import replaying
    from opennandlab.app.states import Wanted
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.config import DeviceConfig, own_device
    from opennandlab.core.images import same_device

    device_sets, workload_sets = terminal.split_sets(sets)
    if workload_sets:
        raise ConfigError("set", "--set changes the device of the target")
    device: DeviceConfig = own_device(place, device_sets)
    image = Path(state.partition(":")[2]) if state.startswith("image:") else None
    if image is not None:
        from opennandlab.core.images import drive_of, read_image

        core = drive_of(read_image(image), settings["seed"], image)
        same_device(DeviceConfig(core.device(), image.name), device, image)
    wanted = Wanted() if image is not None else Wanted(state, *amounts)
    plan = replaying.Plan(
        device=device,
        suite=chosen,
        wanted=wanted,
        image=image,
        traces={name: Path(path) for name, path in traces.items()},
        **settings,
    )
    replaying.prepare(plan)
    return lambda watch: (replaying.replay(plan, watch), {})


def _live(
    path: Path,
    chosen: "Suite",
    profile: Any,  # noqa: ANN401 (imported late)
    sizes: dict[str, dict[str, int]],
    **settings: Any,  # noqa: ANN401 (of the plan)
) -> "Callable[[Callable[[Progress], None] | None], tuple[Outcome, dict[str, dict[str, int]]]]":
    from opennandlab.app import executor, live

    executor.pool(0, settings["compress_ratio"])
    plan = live.Plan(path=path, suite=chosen, profile=profile, sizes=sizes, **settings)
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
    left = "" if now.eta_s is None or now.finished else f"{terminal.duration(now.eta_s)} left"
    return "  ".join(part for part in (now.what, f"{now.fraction:.0%}", left) if part)


def _keep(document: "AppDocument", store: Path | None) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.store import Store
    from opennandlab.store.adopting import application_entry

    with Store.open(store) as opened:
        opened.add([application_entry(plain(document))])


def _tell(
    document: "AppDocument", output: Path | None, failure: str, *, as_json: bool, quiet: bool,
    compat: bool,
) -> None:  # fmt: skip
    """Write files, print tables, and end with the exit code of the outcome."""
    from opennandlab.documents.record import plain

    content = plain(document)
    if document.partial:
        terminal.ignore_signals()
    if output is not None:
        _write(document, output)
    if as_json:
        terminal.emit_json(content)
    elif not quiet:
        from opennandlab.reports import app as pages

        title = f"{document.suite} on {document.run.target}: {pages.subtitle(document)}"
        tables = pages.compat(document) if compat else _tables(pages.report(document))
        show(title, tables, document.digest)
        if output is not None:
            terminal.note(f"written to {output}")
    if failure:
        terminal.stop(terminal.BROKEN, f"{failure}; the result is partial: what had ended")
    if document.partial:
        terminal.stop(terminal.INTERRUPTED, "interrupted: the result is partial")
    if not document.passed:
        failed = "; ".join(f"{it.name}: {it.detail}" for it in document.checks if not it.passed)
        terminal.stop(terminal.FAILED, f"self-checks failed: {failed}")


def _write(document: "AppDocument", folder: Path) -> None:
    from opennandlab.base.canonical import readable_json
    from opennandlab.base.files import write_into
    from opennandlab.documents.record import plain
    from opennandlab.reports import app as pages
    from opennandlab.reports import output
    from opennandlab.reports.pts import csv

    page = pages.report(document)
    files = [
        ("app.json", readable_json(plain(document)).encode()),
        ("app.html", output.content(page, ".html")),
        *((name, text.encode()) for name, text in csv.files(page, ())),
    ]
    write_into(folder, iter(files))


def _tables(page: "Report") -> "list[Table]":
    from opennandlab.reports.model import Table

    return [item for item in page.chapters[0].items if isinstance(item, Table)]
