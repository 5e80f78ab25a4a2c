"""`emmc`: conformance cases of an eMMC, simulated or (read only) real."""

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import end, show, write
from opennandlab.cli.options.common import Printed, Seed, Sets
from opennandlab.cli.options.rows import command, flag

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


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Printed):
    """Options of `check`."""

    config: Annotated[
        str | None,
        flag("The drive below a simulated card.", "-c", metavar="PRESET|FILE", show_default=False),
    ] = None
    device: Annotated[
        str | None,
        flag(
            "A real eMMC instead: its registers are read by mmc-utils, nothing is written.",
            metavar="/dev/mmcblkN",
            show_default=False,
        ),
    ] = None
    standard: Annotated[
        str, flag("The standard that a simulated card follows: 4.51, 5.0 or 5.1.")
    ] = "5.1"
    only: Annotated[
        list[str] | None,
        flag(
            "Only these cases: a group, or an id with * and ?. May be repeated.", metavar="PATTERN"
        ),
    ] = None
    settings: Sets = None
    seed: Seed = 42
    listed: Annotated[bool, flag("List the cases, and run none.", "--list")] = False
    output: Annotated[
        Path | None,
        flag(
            "Write emmc.json, emmc.html and tables as CSV.", "-o", metavar="DIR", show_default=False
        ),
    ] = None


@command(app, example=CHECK_EXAMPLE)
def check(given: CheckOptions) -> None:
    """Carry out a table of cases, each with its clause, and report which hold."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.documents.record import plain
    from opennandlab.reports import emmc as pages

    patterns = given.only or []
    if given.listed:
        _list(patterns, is_device=given.device is not None, as_json=given.as_json)
        return
    if (given.config is None) == (given.device is None):
        raise ConfigError("--config", "name a drive with --config, or a device with --device")
    terminal.check_folder(given.output)
    words = _words(given, patterns)
    if given.device is not None:
        if given.settings:
            raise ConfigError("--set", "changes simulated cards only")
        document = _of_device(given.device, patterns, words)
    else:
        document = _of_card(given, patterns, words)
    if document.partial:
        terminal.ignore_signals()
    if given.output is not None:
        write(plain(document), pages.report(document), given.output, "emmc", as_csv=True)
    _tell(document, given.output, given)


def _of_card(given: CheckOptions, only: list[str], words: str) -> "EmmcDocument":
    """Check a simulated card; what was run before an interruption is kept."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.config import own_device
    from opennandlab.emmc.checking import Check

    changes, others = terminal.split_sets(given.settings)
    if others:
        raise ConfigError(f"workload.{next(iter(others))}", "cases have no workload")
    device = own_device(given.config or "", changes)
    run = Check(device, standard=given.standard, only=only, seed=given.seed)
    is_partial = False
    with shown(_line, quiet=given.quiet) as watch:
        try:
            run.to_the_end(watch)
        except KeyboardInterrupt:
            is_partial = True
    return run.document(words, partial=is_partial)


def _line(state: tuple[int, int, str]) -> str:
    done, count, name = state
    return f"{done} of {count} cases  {name}"


def _of_device(device: str, only: list[str], words: str) -> "EmmcDocument":
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
    return checking.document(target, only, rows, (words, time.monotonic() - began))


def _words(given: CheckOptions, only: list[str]) -> str:
    words = ["opennandlab", "emmc", "check"]
    if given.device is not None:
        words += ["--device", given.device]
    else:
        words += ["--config", given.config or "", "--standard", given.standard]
        words += ["--seed", str(given.seed)]
    for option, values in (("--only", only), ("--set", given.settings or [])):
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


def _tell(document: "EmmcDocument", output: Path | None, given: Printed) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.reports import emmc as pages

    if given.as_json:
        terminal.emit_json(plain(document))
    elif not given.quiet:
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
    end(document, pages.reason(document))
