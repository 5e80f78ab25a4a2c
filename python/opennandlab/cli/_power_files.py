"""`power files`: a database on a file system of a served drive, cut from power."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli import _ending
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import carried_out
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import tell, write
from opennandlab.cli.options.common import Jobs, Printed, Seed, Sets
from opennandlab.cli.options.rows import flag

if TYPE_CHECKING:
    from opennandlab.studies.power.files import Campaign

EXAMPLE = "opennandlab power files --output files"


@dataclass(frozen=True, kw_only=True)
class FilesOptions(Printed):
    """Options of `files`."""

    output: Annotated[Path, flag("Where files go.", "-o", metavar="DIR", show_default=False)]
    config: Annotated[
        str | None,
        flag(
            "The drive that is served; default: one of 64 MiB.",
            "-c",
            metavar="PRESET|FILE",
            show_default=False,
        ),
    ] = None
    cuts: Annotated[int, flag("Cuts of each database and disk.")] = 25
    rows: Annotated[int, flag("Commits of each database.")] = 200
    mode: Annotated[
        list[str] | None,
        flag(
            "WAL/FULL, DELETE/FULL or DELETE/EXTRA; default: all. May be repeated.", metavar="NAME"
        ),
    ] = None
    variant: Annotated[
        list[str] | None,
        flag(
            "prefix, subset, torn, torn_below, flush_ignored or paired_page; default: all. May "
            "be repeated.",
            metavar="NAME",
        ),
    ] = None
    atomic_bytes: Annotated[int, flag("Bytes that the disk writes whole or not at all.")] = 512
    window_ms: Annotated[float, flag("For how long flush_ignored ignores flushes.")] = 50.0
    settings: Sets = None
    seed: Seed = 42
    jobs: Jobs = None


def files(given: FilesOptions) -> None:
    """Record a database on ext4 once, and judge what crash images of the record leave of it."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.threads import cores
    from opennandlab.core.config import own_device
    from opennandlab.documents.record import plain
    from opennandlab.reports import power_files as pages
    from opennandlab.studies.power.crash import VARIANTS
    from opennandlab.studies.power.databases import MODES
    from opennandlab.studies.power.files import DRIVE, Campaign, Settings

    terminal.check_folder(given.output)
    changes, others = terminal.split_sets(given.settings)
    if others:
        raise ConfigError(f"workload.{next(iter(others))}", "there is no workload here")
    wanted = Settings(
        own_device(DRIVE if given.config is None else given.config, changes),
        given.cuts,
        given.rows,
        tuple(given.mode or [one.name for one in MODES]),
        tuple(given.variant or VARIANTS),
        given.atomic_bytes,
        given.window_ms,
        given.seed,
    )
    given.output.mkdir(parents=True, exist_ok=True)
    words = ["opennandlab", "power", "files", "--cuts", str(given.cuts), "--rows", str(given.rows),
             "--seed", str(given.seed), "--output", str(given.output)]  # fmt: skip
    with shown(str, quiet=given.quiet) as watch:
        told = _ending.raising(watch)
        campaign = Campaign(wanted, given.output, jobs=given.jobs or cores(), watch=told)
        _note_known(campaign, quiet=given.quiet)
        is_partial = carried_out(
            campaign.to_the_end, lambda: f"{campaign.done} of {campaign.wanted} cuts are"
        )
    document = campaign.document(shlex.join(words), partial=is_partial)
    if is_partial:
        terminal.ignore_signals()
    write(plain(document), pages.report(document), given.output, "files")
    reason, ending = pages.reason(document), [f"written to {given.output}"]
    title = f"{pages.subtitle(document)}: {reason}"
    tell(document, given, title, [pages.summary(document)], ending, reason)


def _note_known(campaign: "Campaign", *, quiet: bool) -> None:
    if campaign.cut_off_bytes:
        terminal.note("the last line of the journal is incomplete: that cut is judged again")
    if campaign.done and not quiet:
        terminal.note(f"{campaign.done} cuts are known", style="dim")
