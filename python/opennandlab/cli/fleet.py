"""`fleet`: many drives, each with its own seed and what it drew, through the same suites."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import (
    EngineName,
    EngineOption,
    Jobs,
    Scheduler,
    check_scheduler,
    engine_of,
    note_interrupted,
    resumable,
)
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import show
from opennandlab.cli._sweep_tables import line
from opennandlab.cli._terminal import Json, Quiet

if TYPE_CHECKING:
    from opennandlab.documents.fleet import FleetDocument
    from opennandlab.fleet.running import Campaign
    from opennandlab.sweeps.engine import Engine
    from opennandlab.sweeps.runner import Progress

RUN_EXAMPLE = "opennandlab fleet run fleet.yaml --output fleet"
ONLY_EXAMPLE = "opennandlab fleet devices fleet.yaml"

app = typer.Typer(
    help="Many drives, each a little different, through the same suites.",
    epilog=f"Example: {RUN_EXAMPLE}",
    no_args_is_help=True,
)


File = Annotated[Path, typer.Argument(metavar="FILE", help="The fleet file.", show_default=False)]


@app.command(epilog=f"Example: {RUN_EXAMPLE}")
def run(
    file: File,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Write fleet.json, fleet.html and tables as CSV; the store lies there too.",
            show_default=False,
        ),
    ],
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="DIR", help="Another store than that of --output."),
    ] = None,
    only: Annotated[
        list[int] | None,
        typer.Option("--only", metavar="INDEX", help="Only this device. May be repeated."),
    ] = None,
    jobs: Jobs = None,
    engine: EngineOption = EngineName.THREADS,
    scheduler: Scheduler = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run what failed before again.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a fleet; what is known is not run again, and what fails stops no other device."""
    with terminal.guard(as_json=as_json):
        from opennandlab.errors import ConfigError
        from opennandlab.fleet.definition import Fleet
        from opennandlab.fleet.running import Campaign, command_of
        from opennandlab.store import Store

        check_scheduler(engine, scheduler)
        if output.exists() and not output.is_dir():
            raise ConfigError("--output", f"{output} is no directory")
        fleet = Fleet.load(file)
        indices = sorted(set(only)) if only else None
        for index in indices or []:
            fleet.member(index)
        output.mkdir(parents=True, exist_ok=True)
        now = {"suite": ""}

        def said(state: "Progress") -> str:
            return f"{now['suite']}  {line(state)}"

        with (
            Store.open(store or output) as kept,
            shown(said, quiet=quiet) as watch,
        ):

            def told(suite: str, state: "Progress") -> None:
                now["suite"] = suite
                if watch is not None:
                    watch(state)

            campaign = Campaign(fleet, kept, indices=indices, watch=told, retry=retry)
            if not quiet and campaign.known_count:
                known = f"{campaign.known_count} of {campaign.count} points are known"
                terminal.note(known, style="dim")
            is_partial = _carried_out(campaign, lambda: engine_of(kept, engine, scheduler, jobs))
        command = command_of(os.fspath(file), os.fspath(output))
        document = campaign.document(command, partial=is_partial)
        if is_partial:
            terminal.ignore_signals()
        _write(document, output, indices)
        _tell(document, output, as_json=as_json, quiet=quiet)


@app.command(epilog=f"Example: {ONLY_EXAMPLE}")
def devices(file: File, *, as_json: Json = False) -> None:
    """List the devices of a fleet: seeds, and what each draws."""
    with terminal.guard(as_json=as_json):
        from opennandlab.fleet.definition import Fleet

        fleet = Fleet.load(file)
        members = [fleet.member(index) for index in range(fleet.devices)]
        if as_json:
            terminal.emit_json(
                {str(one.index): {"seed": one.seed, "drawn": dict(one.drawn)} for one in members}
            )
            return
        keys = [spread.key for spread in fleet.spreads]
        rows = [
            [str(one.index), str(one.seed), *(str(one.drawn[key]) for key in keys)]
            for one in members
        ]
        console = terminal.stdout()
        console.print(terminal.plain_table(["device", "seed", *keys], rows))


def _carried_out(campaign: "Campaign", engine: "Callable[[], Engine]") -> bool:
    """Run what is missing; return whether it was interrupted."""

    def there() -> str:
        return f"{campaign.done_count} of {campaign.count} points are"

    try:
        with resumable(there):
            campaign.to_the_end(engine)
    except KeyboardInterrupt:
        note_interrupted(there())
        return True
    return False


def _write(document: "FleetDocument", folder: Path, indices: list[int] | None) -> None:
    """Write the files; those of some devices have names of their own."""
    from opennandlab.canonical import readable_json
    from opennandlab.documents.record import plain
    from opennandlab.files import write_into
    from opennandlab.reports import fleet as pages
    from opennandlab.reports import output
    from opennandlab.reports.pts import csv

    page = pages.report(document)
    part = "" if indices is None else "-" + "-".join(map(str, indices[:8]))
    files = [
        (f"fleet{part}.json", readable_json(plain(document)).encode()),
        (f"fleet{part}.html", output.content(page, ".html")),
    ]
    if indices is None:
        files += [(name, text.encode()) for name, text in csv.files(page, ())]
    write_into(folder, iter(files))


def _tell(document: "FleetDocument", output: Path, *, as_json: bool, quiet: bool) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.reports import fleet as pages

    if as_json:
        terminal.emit_json(plain(document))
    elif not quiet:
        tables = (
            pages.spread(document), *pages.outliers(document), *pages.failures(document)
        )  # fmt: skip
        title = f"{document.fleet['name']}: {pages.subtitle(document)}"
        show(title, tables, document.digest)
        terminal.note(f"written to {output}")
    if document.partial:
        terminal.stop(terminal.INTERRUPTED, "interrupted: the result is partial")
    if document.failed:
        failed = f"{document.failed} of {len(document.rows)} failed"
        terminal.stop(terminal.FAILED, failed)
