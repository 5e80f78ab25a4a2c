"""`fleet`: many drives, each with its own seed and what it drew, through the same suites."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import EngineName, EngineOptions, carried_out
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import tell, write
from opennandlab.cli._sweep_tables import line
from opennandlab.cli.options.common import AllowCode, Json, Printed
from opennandlab.cli.options.rows import Options, argument, command, flag

if TYPE_CHECKING:
    from opennandlab.documents.fleet import FleetDocument
    from opennandlab.reports.model import Table
    from opennandlab.studies.fleet.live import LiveFleet
    from opennandlab.studies.sweeps.runner import Progress

RUN_EXAMPLE = "opennandlab fleet run fleet.yaml --output fleet"
SHOW_EXAMPLE = "opennandlab fleet show fleet/fleet.json --device 3"
ONLY_EXAMPLE = "opennandlab fleet devices fleet.yaml"

app = typer.Typer(
    help="Run many drives, each a little different, through the same suites.",
    epilog=f"Example: {RUN_EXAMPLE}",
    no_args_is_help=True,
)


File = Annotated[Path, argument("The fleet file.", metavar="FILE", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class RunOptions(EngineOptions, Printed):
    """Options of `run`."""

    file: File
    output: Annotated[
        Path,
        flag(
            "Write fleet.json, fleet.html, tables as CSV, and the store.",
            "-o",
            metavar="DIR",
            show_default=False,
        ),
    ]
    store: Annotated[
        Path | None, flag("A store other than the one in --output.", metavar="DIR")
    ] = None
    only: Annotated[
        list[int] | None,
        flag("Only this device, into fleet-INDEX.json. May be repeated.", metavar="INDEX"),
    ] = None
    retry: Annotated[bool, flag("Run points that failed before again.")] = False
    jobs: Annotated[
        int | None,
        flag(
            "Points at a time; default: all cores, and all targets.",
            "--jobs", "-j", min=1, max=1024,
        ),
    ] = None  # fmt: skip
    destructive: Annotated[bool, flag("Targets: allow all their data to be destroyed.")] = False
    i_know: Annotated[
        list[str] | None,
        flag(
            "Targets: name or serial number of a device that may be destroyed. May be repeated.",
            metavar="NAME",
        ),
    ] = None
    force: Annotated[bool, flag("Targets: overwrite partition tables and file systems.")] = False
    may_fill: Annotated[
        bool,
        flag("Targets: allow main-full-main to fill file systems, if the fleet file asks for it."),
    ] = False
    allow_code: AllowCode = False


@command(app, example=RUN_EXAMPLE)
def run(given: RunOptions) -> None:
    """Run a fleet; known points are not run again, and a failure stops no other device."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.documents.record import plain
    from opennandlab.policies.source import named_in
    from opennandlab.reports import fleet as pages
    from opennandlab.studies.fleet.live import LiveFleet

    with named_in(given.file):
        given.check_scheduler()
        terminal.check_folder(given.output)
        forget: Callable[[], None] | None = None
        indices = sorted(set(given.only)) if given.only else None
        if (live := LiveFleet.load(given.file)) is not None:
            if given.engine is not EngineName.THREADS or given.store is not None:
                raise ConfigError("targets", "--engine and --store are for simulated ones")
            _check_suites(live)
            document, forget = _live(live, indices, given)
        else:
            if given.destructive or given.i_know or given.force or given.may_fill:
                raise ConfigError("--destructive", "a fleet of simulated drives destroys nothing")
            document = _simulated(indices, given)
        # The files of some devices have separate names.
        part = "" if indices is None else "-" + "-".join(map(str, indices[:8]))
        page = pages.report(document)
        write(plain(document), page, given.output, f"fleet{part}", as_csv=indices is None)
        if forget is not None and not document.partial:
            forget()
        title = f"{document.fleet['name']}: {pages.subtitle(document)}"
        failed = f"{document.failed} of {len(document.rows)} failed"
        ending = [table.note for table in pages.times(document) if table.note]
        tell(
            document,
            given,
            title,
            _tables(document),
            [*ending, f"written to {given.output}"],
            failed,
        )


def _simulated(indices: list[int] | None, given: RunOptions) -> "FleetDocument":
    """Run a fleet of simulated drives; return its document."""
    from opennandlab.store import Store
    from opennandlab.studies.fleet.definition import Fleet
    from opennandlab.studies.fleet.running import Campaign, command_of

    fleet = Fleet.load(given.file)
    fleet.check()
    for index in indices or []:
        fleet.member(index)
    given.output.mkdir(parents=True, exist_ok=True)
    now = {"suite": ""}

    def said(state: "Progress") -> str:
        return f"{now['suite']}  {line(state)}"

    place = given.store or given.output
    with Store.open(place) as kept, shown(said, quiet=given.quiet) as watch:

        def told(suite: str, state: "Progress") -> None:
            now["suite"] = suite
            if watch is not None:
                watch(state)

        campaign = Campaign(fleet, kept, indices=indices, watch=told, retry=given.retry)
        if not given.quiet and campaign.known_count:
            known = f"{campaign.known_count} of {campaign.count} points are known"
            terminal.note(known, style="dim")
        is_partial = carried_out(
            lambda: campaign.to_the_end(lambda: given.engine_of(kept)),
            lambda: f"{campaign.done_count} of {campaign.count} points are",
        )
        terminal.ignore_signals()
        command = command_of(os.fspath(given.file), os.fspath(given.output))
        return campaign.document(command, partial=is_partial)


@dataclass(frozen=True, kw_only=True)
class ShowOptions(Options):
    """Options of `show`."""

    file: Annotated[Path, argument("The document of a run.", metavar="FILE", show_default=False)]
    device: Annotated[
        list[int] | None, flag("Each stage of this device. May be repeated.", metavar="INDEX")
    ] = None
    as_json: Json = False


@command(app, example=SHOW_EXAMPLE)
def show(given: ShowOptions) -> None:
    """Show the verdicts and the spread of a saved fleet, or each stage of some devices."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.cli._report_tables import show as show_tables
    from opennandlab.core.loading import load
    from opennandlab.documents.fleet import FleetDocument
    from opennandlab.documents.record import plain
    from opennandlab.reports import fleet as pages

    document = load(given.file)
    if not isinstance(document, FleetDocument):
        raise ConfigError(".", f"{given.file} is not a document of `fleet run`")
    known = {one.index for one in document.devices}
    wrong = next((index for index in given.device or [] if index not in known), None)
    if wrong is not None:
        message = f"{wrong} was not run; accepted: {pages.ranges(sorted(known))}"
        raise ConfigError("--device", message)
    if given.as_json:
        rows = [plain(row) for row in document.rows if row.device in (given.device or known)]
        terminal.emit_json(plain(document) | {"rows": rows})
        return
    tables = [pages.stages(document, given.device)] if given.device else _tables(document)
    title = f"{document.fleet['name']}: {pages.subtitle(document)}"
    show_tables(title, tables, document.digest)


def _tables(document: "FleetDocument") -> "list[Table]":
    """Return what the terminal shows of a document."""
    from opennandlab.reports import fleet as pages

    found = [*pages.verdicts(document), pages.spread(document)]
    return [*found, *pages.outliers(document), *pages.failures(document)]


@dataclass(frozen=True, kw_only=True)
class DevicesOptions(Options):
    """Options of `devices`."""

    file: File
    as_json: Json = False


@command(app, example=ONLY_EXAMPLE)
def devices(given: DevicesOptions) -> None:
    """List the devices of a fleet: seeds, and the values that each draws."""
    from opennandlab.studies.fleet.definition import Fleet
    from opennandlab.studies.fleet.live import LiveFleet

    if (live := LiveFleet.load(given.file)) is not None:
        listed = {str(at): {"seed": live.seed(at), "drawn": {"target": target}}
                  for at, target in enumerate(live.targets)}  # fmt: skip
        if given.as_json:
            terminal.emit_json({"devices": listed})
            return
        table = [[at, str(it["seed"]), live.targets[int(at)]] for at, it in listed.items()]
        heads = ["device", "seed", "target"]
        terminal.stdout().print(terminal.plain_table(heads, table))
        return
    fleet = Fleet.load(given.file)
    members = [fleet.member(index) for index in range(fleet.devices)]
    if given.as_json:
        listed = {str(one.index): {"seed": one.seed, "drawn": dict(one.drawn)} for one in members}
        terminal.emit_json({"devices": listed})
        return
    keys = [spread.key for spread in fleet.spreads]
    rows = [
        [str(one.index), str(one.seed), *(str(one.drawn[key]) for key in keys)] for one in members
    ]
    console = terminal.stdout()
    console.print(terminal.plain_table(["device", "seed", *keys], rows))


def _live(
    fleet: "LiveFleet", indices: list[int] | None, given: RunOptions
) -> "tuple[FleetDocument, Callable[[], None]]":
    """Run a fleet of targets; return its document, and what takes its journal away."""
    from opennandlab.studies.fleet.live import LiveCampaign, Permission
    from opennandlab.studies.fleet.running import command_of, live_document

    def told(what: str, fraction: float) -> None:
        if not given.quiet:
            terminal.note(f"{fraction:4.0%}  {what}", style="dim")

    permission = Permission(
        given.destructive, tuple(given.i_know or ()), given.force, given.may_fill
    )
    chosen = list(range(len(fleet.targets))) if indices is None else indices
    campaign = LiveCampaign(fleet, given.output, chosen, permission, told, is_retry=given.retry)
    if not given.quiet and campaign.known_count:
        known = f"{campaign.known_count} of {campaign.count} suites are known"
        terminal.note(known, style="dim")
    given.output.mkdir(parents=True, exist_ok=True)
    # The devices take the time, not the cores.
    is_partial = campaign.to_the_end(given.jobs or len(chosen), terminal.ignore_signals)
    # A real drive is never the same twice: what it gave is saved, also when all had just ended.
    terminal.ignore_signals()
    if is_partial:
        there = f"{len(campaign.found)} of {campaign.count} suites are in the journal"
        terminal.note(f"interrupted: {there}; the same command continues from there")
    command = command_of(os.fspath(given.file), os.fspath(given.output))
    return live_document(campaign, command, partial=is_partial), campaign.forget


def _check_suites(fleet: "LiveFleet") -> None:
    """Refuse a suite of targets that its command would not take; nothing is run.

    Raises:
        ConfigError: with the suite, and what the command says.
    """
    from opennandlab.app.suites import suite as suite_of
    from opennandlab.base.errors import ConfigError
    from opennandlab.cli import app as program
    from opennandlab.cli._process import ClickError
    from opennandlab.cli.application import cases_of

    groups: Any = typer.main.get_command(program)
    for suite in fleet.suites:
        verb, name, *words = suite.words
        command = groups.get_command(None, verb).get_command(None, name)
        if command is None:
            raise ConfigError(f"suites.{suite.name}", f"`{verb} {name}` cannot be run")
        try:
            given = command.make_context(name, [*words, "--target", "dir:."]).params
            if suite.is_application:
                suite_of(given["suite"], cases_of(given["case"]))
        except ClickError as error:
            said: Any = error
            text = said.format_message()
            raise ConfigError(f"suites.{suite.name}", text[:1].lower() + text[1:]) from None
        except ConfigError as error:
            raise ConfigError(f"suites.{suite.name}", str(error)) from None
