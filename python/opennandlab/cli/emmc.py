"""`emmc`: conformance cases of an eMMC, simulated or (read only) real."""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import show
from opennandlab.cli._terminal import Json, Quiet, Seed, Sets

if TYPE_CHECKING:
    from opennandlab.documents.emmc import EmmcDocument
    from opennandlab.emmc.case import Case

CHECK_EXAMPLE = "opennandlab emmc check --config emmc_16gb --output card"

app = typer.Typer(
    help="Check an eMMC command by command (JESD84-B51).",
    epilog=f"Example: {CHECK_EXAMPLE}",
    no_args_is_help=True,
)


@app.callback()
def group() -> None:
    """Keep `check` a command of its own."""


@app.command(epilog=f"Example: {CHECK_EXAMPLE}")
def check(
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            metavar="PRESET|FILE",
            help="The drive below a simulated card.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="/dev/mmcblkN",
            help="A real eMMC instead: its registers are read by mmc-utils, nothing is written.",
            show_default=False,
        ),
    ] = None,
    standard: Annotated[
        str, typer.Option("--standard", help="What a simulated card follows: 4.51, 5.0 or 5.1.")
    ] = "5.1",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="PATTERN",
            help="Only these cases: a group, or an id with * and ?. May be repeated.",
        ),
    ] = None,
    settings: Sets = None,
    seed: Seed = 42,
    listed: Annotated[bool, typer.Option("--list", help="List the cases, and run none.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Write emmc.json, emmc.html and tables as CSV.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Carry out a table of cases, each with its clause, and say which hold."""
    with terminal.guard(as_json=as_json):
        from opennandlab.base.errors import ConfigError

        patterns = only or []
        if listed:
            _list(patterns, is_device=device is not None, as_json=as_json)
            return
        if (config is None) == (device is None):
            raise ConfigError("--config", "name a drive with --config, or a device with --device")
        terminal.check_folder(output)
        command = _command(config, device, standard, patterns, settings, seed)
        if device is not None:
            if settings:
                raise ConfigError("--set", "changes simulated cards only")
            document = _of_device(device, patterns, command)
        else:
            document = _of_card(config or "", standard, patterns, settings, seed, command,
                                quiet=quiet)  # fmt: skip
        if document.partial:
            terminal.ignore_signals()
        if output is not None:
            _write(document, output)
        _tell(document, output, as_json=as_json, quiet=quiet)


def _of_card(
    config: str,
    standard: str,
    only: list[str],
    settings: list[str] | None,
    seed: int,
    command: str,
    *,
    quiet: bool,
) -> "EmmcDocument":
    """Check a simulated card; what was run before an interruption is kept."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.config import own_device
    from opennandlab.emmc.checking import Check

    changes, others = terminal.split_sets(settings)
    if others:
        raise ConfigError(f"workload.{next(iter(others))}", "cases have no workload")
    run = Check(own_device(config, changes), standard=standard, only=only, seed=seed)
    is_partial = False
    with shown(_line, quiet=quiet) as watch:
        try:
            run.to_the_end(watch)
        except KeyboardInterrupt:
            is_partial = True
    return run.document(command, partial=is_partial)


def _line(state: tuple[int, int, str]) -> str:
    done, count, name = state
    return f"{done} of {count} cases  {name}"


def _of_device(device: str, only: list[str], command: str) -> "EmmcDocument":
    """Look at a real device, without writing anything."""
    from opennandlab.documents.emmc import EmmcTarget
    from opennandlab.emmc import checking
    from opennandlab.emmc.real import read_facts
    from opennandlab.emmc.real_cases import GROUP

    began = time.monotonic()
    cases = checking.chosen(GROUP.cases, only)
    facts = read_facts(device)
    target = EmmcTarget(
        kind="device",
        name=device,
        standard=facts.standard,
        user_bytes=facts.size_bytes,
        device=None,
        seed=None,
        fields=dict(facts.fields),
    )
    rows = list(checking.rows_of(cases, facts))
    return checking.document(target, only, rows, (command, time.monotonic() - began))


def _command(
    config: str | None,
    device: str | None,
    standard: str,
    only: list[str],
    settings: list[str] | None,
    seed: int,
) -> str:
    words = ["opennandlab", "emmc", "check"]
    if device is not None:
        words += ["--device", device]
    else:
        words += ["--config", config or "", "--standard", standard, "--seed", str(seed)]
    for option, values in (("--only", only), ("--set", settings or [])):
        words += [word for value in values for word in (option, value)]
    return shlex.join(words)


def _list(only: list[str], *, is_device: bool, as_json: bool) -> None:
    from opennandlab.emmc.cases import cases
    from opennandlab.emmc.checking import chosen
    from opennandlab.emmc.real_cases import GROUP

    if is_device:
        _listing(chosen(GROUP.cases, only), as_json=as_json)
    else:
        _listing(chosen(cases(), only), as_json=as_json)


def _listing(table: "list[Case[Any]]", *, as_json: bool) -> None:
    if as_json:
        rows = [{"id": case.id, "clause": case.clause, "does": case.does} for case in table]
        terminal.emit_json({"cases": rows})
        return
    for case in table:
        typer.echo(f"{case.id}: {case.does} ({case.clause})")


def _write(document: "EmmcDocument", folder: Path) -> None:
    from opennandlab.base.canonical import readable_json
    from opennandlab.base.files import write_into
    from opennandlab.documents.record import plain
    from opennandlab.reports import emmc as pages
    from opennandlab.reports import output
    from opennandlab.reports.pts import csv

    page = pages.report(document)
    files = [
        ("emmc.json", readable_json(plain(document)).encode()),
        ("emmc.html", output.content(page, ".html")),
        *((name, text.encode()) for name, text in csv.files(page, ())),
    ]
    write_into(folder, iter(files))


def _tell(document: "EmmcDocument", output: Path | None, *, as_json: bool, quiet: bool) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.reports import emmc as pages

    if as_json:
        terminal.emit_json(plain(document))
    elif not quiet:
        show(
            f"{document.target.name}: {pages.subtitle(document)}",
            [pages.groups(document)],
            document.digest,
        )
        for row in document.rows:
            if row.verdict == "failed":
                typer.echo(f"\nFAILED {row.id} ({row.clause})\n  {row.does}")
                typer.echo(f"  expected  {row.expected}\n  found     {row.found}")
        if output is not None:
            terminal.note(f"written to {output}")
    if document.partial:
        terminal.stop(terminal.INTERRUPTED, "interrupted: the result is partial")
    if not document.passed:
        terminal.stop(terminal.FAILED, pages.reason(document))
