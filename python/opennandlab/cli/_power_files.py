"""`power files`: a database on a file system of a served drive, cut from power."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _ending
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import Jobs, note_interrupted, resumable
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import show
from opennandlab.cli._terminal import Json, Quiet, Seed, Sets

if TYPE_CHECKING:
    from opennandlab.documents.power_files import FilesDocument
    from opennandlab.studies.power.files import Campaign

EXAMPLE = "opennandlab power files --output files"


def files(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Where files go.", show_default=False),
    ],
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            metavar="PRESET|FILE",
            help="The drive that is served; left out: one of 64 MiB.",
            show_default=False,
        ),
    ] = None,
    cuts: Annotated[int, typer.Option("--cuts", help="Of each database and disk.")] = 25,
    rows: Annotated[int, typer.Option("--rows", help="Commits of each database.")] = 200,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            "--mode",
            metavar="NAME",
            help="WAL/FULL, DELETE/FULL or DELETE/EXTRA; left out: all. May be repeated.",
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            metavar="NAME",
            help="prefix, subset, torn, torn_below, flush_ignored or paired_page; left out: all. "
            "May be repeated.",
        ),
    ] = None,
    atomic_bytes: Annotated[
        int, typer.Option("--atomic-bytes", help="What the disk writes whole or not at all.")
    ] = 512,
    window_ms: Annotated[
        float, typer.Option("--window-ms", help="For how long flush_ignored ignores flushes.")
    ] = 50.0,
    settings: Sets = None,
    seed: Seed = 42,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Record a database on ext4 once, and judge what crash images of the record leave of it."""
    with terminal.guard(as_json=as_json):
        from opennandlab.base.errors import ConfigError
        from opennandlab.base.threads import cores
        from opennandlab.core.config import own_device
        from opennandlab.studies.power.crash import VARIANTS
        from opennandlab.studies.power.databases import MODES
        from opennandlab.studies.power.files import DRIVE, Campaign, Settings

        terminal.check_folder(output)
        changes, others = terminal.split_sets(settings)
        if others:
            raise ConfigError(f"workload.{next(iter(others))}", "there is no workload here")
        wanted = Settings(
            own_device(DRIVE if config is None else config, changes),
            cuts,
            rows,
            tuple(mode or [one.name for one in MODES]),
            tuple(variant or VARIANTS),
            atomic_bytes,
            window_ms,
            seed,
        )
        output.mkdir(parents=True, exist_ok=True)
        words = ["opennandlab", "power", "files", "--cuts", str(cuts), "--rows", str(rows),
                 "--seed", str(seed), "--output", str(output)]  # fmt: skip
        with shown(str, quiet=quiet) as watch:
            told = _ending.hearing(watch)
            campaign = Campaign(wanted, output, jobs=jobs or cores(), watch=told)
            _note_known(campaign, quiet=quiet)
            is_partial = _carried_out(campaign)
        document = campaign.document(shlex.join(words), partial=is_partial)
        if is_partial:
            terminal.ignore_signals()
        _write(document, output)
        _tell(document, output, as_json=as_json, quiet=quiet)


def _note_known(campaign: "Campaign", *, quiet: bool) -> None:
    if campaign.cut_off_bytes:
        terminal.note("the last line of the journal was cut off: that cut is judged again")
    if campaign.done and not quiet:
        terminal.note(f"{campaign.done} cuts are known", style="dim")


def _carried_out(campaign: "Campaign") -> bool:
    """Judge the cuts; return whether that was interrupted."""

    def there() -> str:
        return f"{campaign.done} of {campaign.wanted} cuts are"

    try:
        with resumable(there):
            campaign.to_the_end()
    except KeyboardInterrupt:
        note_interrupted(there())
        return True
    return False


def _write(document: "FilesDocument", folder: Path) -> None:
    from opennandlab.base.canonical import readable_json
    from opennandlab.base.files import write_into
    from opennandlab.documents.record import plain
    from opennandlab.reports import output
    from opennandlab.reports import power_files as pages

    page = pages.report(document)
    contents = [
        ("files.json", readable_json(plain(document)).encode()),
        ("files.html", output.content(page, ".html")),
    ]
    write_into(folder, iter(contents))


def _tell(document: "FilesDocument", output: Path, *, as_json: bool, quiet: bool) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.reports import power_files as pages

    if as_json:
        terminal.emit_json(plain(document))
    elif not quiet:
        title = f"{pages.subtitle(document)}: {pages.reason(document)}"
        show(title, [pages.summary(document)], document.digest)
        terminal.note(f"written to {output}")
    if document.partial:
        terminal.stop(terminal.INTERRUPTED, "interrupted: the result is partial")
    if not document.passed:
        terminal.stop(terminal.FAILED, pages.reason(document))
