"""`power`: cut the power of simulated drives, find faults again, and study options."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _ending
from opennandlab.cli import _power_endurance as of_endurance
from opennandlab.cli import _power_files as of_files
from opennandlab.cli import _power_outside as outside
from opennandlab.cli import _power_switch as switch
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import carried_out
from opennandlab.cli._progress import Pace, shown
from opennandlab.cli._report_tables import show, tell, write
from opennandlab.cli.options.common import AllowCode, Jobs, Json, Printed, Seed
from opennandlab.cli.options.power import READY_MS, Output, RunOptions
from opennandlab.cli.options.rows import Options, argument, command, flag

if TYPE_CHECKING:
    from collections.abc import Callable

    from opennandlab.core.config import DeviceConfig
    from opennandlab.documents.power_loss import PowerDocument
    from opennandlab.studies.power.campaign import Campaign
    from opennandlab.studies.power.outside.campaign import Campaign as OutsideCampaign

RUN_EXAMPLE = "opennandlab power run --cuts 3000 --output cuts"
# One of each class.
TEST_COUNT_MIN = 12
REPLAY_EXAMPLE = "opennandlab power replay cuts/power.json --life 3"
STUDY_EXAMPLE = "opennandlab power study --output study"
TEST_EXAMPLE = "opennandlab power self-test"

# What only a drive outside of this process has.
OUTSIDE = ("power_off", "power_on", "power_socket", "switch_s", "span_mib", "atomic_bytes",
           "after_ms", "destructive", "i_know", "force")  # fmt: skip

app = typer.Typer(
    help="Cut power to drives, and see which data they lose.",
    epilog=f"Example: {RUN_EXAMPLE}",
    no_args_is_help=True,
)


@command(app, example=RUN_EXAMPLE)
def run(given: RunOptions) -> None:
    """Cut power to a drive at random times and chosen moments; check all of it after each cut."""
    if given.target is not None or given.disk is not None:
        _refuse_of_simulated(given)
        _of_outside(given)
        return
    given.refuse(OUTSIDE, "without --target or --device")
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.threads import cores
    from opennandlab.core.config import own_device
    from opennandlab.core.power_cut import TARGETS
    from opennandlab.studies.power.campaign import SMALL, WORKLOADS, Campaign, Settings

    terminal.check_folder(given.output)
    changes, others = terminal.split_sets(given.settings)
    if others:
        key = next(iter(others))
        raise ConfigError(f"workload.{key}", "these workloads have no keys")
    changed: list[str] = []
    device = own_device(SMALL if given.config is None else given.config, changes)
    if given.fit:
        from opennandlab.studies.power.fitting import fitted

        device, changed = fitted(device)
    wanted = Settings(
        device,
        given.cuts,
        given.workload or WORKLOADS,
        given.at or TARGETS,
        None if given.claims is None else [name for name in given.claims.split(",") if name],
        given.seed,
        given.limit_ms * 1000,
        changed,
    )
    # The drive is written before a folder is made: what is refused leaves nothing.
    wanted.core()
    given.output.mkdir(parents=True, exist_ok=True)
    words = _words(given)
    _warn(device)
    with shown(_line(Pace()), quiet=given.quiet) as watch:

        def told(done: int) -> None:
            _ending.raise_if_asked()
            if watch is not None:
                watch((done, campaign.cuts_wanted))

        campaign = Campaign(wanted, folder=given.output, jobs=given.jobs or cores(), watch=told)
        if campaign.cut_off_bytes:
            terminal.note("the last line of the journal is incomplete: its cuts are made again")
        if campaign.cuts and not given.quiet:
            terminal.note(f"{campaign.cuts} cuts are known", style="dim")
        is_partial = carried_out(
            campaign.to_the_end, lambda: f"{campaign.cuts} of {campaign.cuts_wanted} cuts are"
        )
    document = campaign.document(
        shlex.join([*words, "--output", os.fspath(given.output)]),
        replay=shlex.join([*words, "--output", "again"]),
        partial=is_partial,
    )
    _finish(campaign, document, "interrupted" if is_partial else "", given)


def _warn(device: "DeviceConfig") -> None:
    """Say of an option that it does nothing on a drive."""
    from opennandlab.studies.power.campaign import has_idle_flush

    if has_idle_flush(device):
        terminal.note(
            "warning: `power.flush` changes nothing: the drive has no write buffer, so what "
            "is acknowledged is on the flash; give it `ftl.write_buffer_pages`",
            style="yellow",
        )


def _refuse_of_simulated(given: RunOptions) -> None:
    """Refuse what makes sense for a simulated drive alone."""
    from opennandlab.base.errors import ConfigError

    if given.target is not None and given.disk is not None:
        raise ConfigError("--device", "give either --target or --device")
    for option, value in (
        ("--config", given.config), ("--at", given.at), ("--set", given.settings),
        ("--fit", given.fit),
    ):  # fmt: skip
        if value:
            raise ConfigError(option, "belongs to a simulated drive, not to --target or --device")


def _of_outside(given: RunOptions) -> None:
    """Cut a drive outside of this process."""
    terminal.check_folder(given.output)
    _finish(*outside.carry_out(given), given)


def _finish(
    campaign: "Campaign | OutsideCampaign", document: "PowerDocument", why: str, given: RunOptions
) -> None:
    """Write and print the document; `why` is the reason of an early end, if any."""
    from opennandlab.documents.record import plain
    from opennandlab.reports import power as pages

    if why:
        terminal.ignore_signals()
    write(plain(document), pages.report(document), given.output, "power")
    if why not in {"", "interrupted"}:
        terminal.stop(terminal.BROKEN, why, as_json=given.as_json)
    if not why:
        campaign.forget()
    tables = [pages.classes(document)] if document.classes else []
    tables.append(pages.drive(document))
    title, reason = pages.subtitle(document), pages.reason(document)
    ending = [pages.changed(document)] if document.changed else []
    ending.append(f"written to {given.output}")
    tell(document, given, f"{title}: {reason}", tables, ending, reason)


def _words(given: RunOptions) -> list[str]:
    """Return the command, all but where its files go."""
    words = ["opennandlab", "power", "run", "--cuts", str(given.cuts), "--seed", str(given.seed)]
    words += ["--config", given.config] if given.config is not None else []
    words += ["--fit"] if given.fit else []
    several = (("--workload", given.workload), ("--at", given.at), ("--set", given.settings))
    for option, names in several:
        words += [word for name in names or [] for word in (option, name)]
    words += ["--claims", given.claims] if given.claims is not None else []
    words += ["--ready-ms", f"{given.limit_ms:g}"] if given.limit_ms != READY_MS else []
    return words


def _line(pace: Pace) -> "Callable[[tuple[int, int]], str]":
    """Return what writes how many cuts are done, and the time that is left."""

    def text(state: tuple[int, int]) -> str:
        done, wanted = state
        return " · ".join(filter(None, (f"{done} of {wanted} cuts", pace.left(done, wanted))))

    return text


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(Options):
    """Options of `replay`."""

    file: Annotated[Path, argument("The document of a run.", metavar="FILE", show_default=False)]
    life: Annotated[int | None, flag("Which life; default: the first with a fault.")] = None
    as_json: Json = False
    allow_code: AllowCode = False


@command(app, example=REPLAY_EXAMPLE)
def replay(given: ReplayOptions) -> None:
    """Repeat one life of a campaign, and show its faults."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.core.loading import load
    from opennandlab.documents.power_loss import PowerDocument
    from opennandlab.policies.source import named_in
    from opennandlab.studies.power.campaign import again

    document = load(given.file)
    if not isinstance(document, PowerDocument):
        raise ConfigError(".", f"{given.file} is not a document of `power run`")
    life = given.life
    if life is None:
        if not document.evidence:
            raise ConfigError("--life", "this campaign found no fault: choose a life with --life")
        life = document.evidence[0].life
    with named_in(given.file, is_record=True):
        found = again(document, life)
    kept = [plain_one(one) for one in found["evidence"]]
    known = [one for one in document.evidence if one.life == life]
    same = all(
        any(one["cut"] == other.cut and one["class"] == other.class_name for one in kept)
        for other in known
    )
    if given.as_json:
        terminal.emit_json({"life": life, "same": same, "evidence": kept})
    else:
        rows = [[str(one[key]) for key in EVIDENCE] for one in kept]
        terminal.stdout().print(terminal.plain_table(list(EVIDENCE), rows))
    if not same:
        terminal.stop(terminal.FAILED, "the life did not show what the document says")


EVIDENCE = ("cut", "workload", "at", "cut_ns", "class", "guarantee", "unit", "found")


def plain_one(found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a fault that are printed."""
    return {key: found[key] for key in EVIDENCE}


@dataclass(frozen=True, kw_only=True)
class StudyOptions(Printed):
    """Options of `study`."""

    output: Output
    cuts: Annotated[int, flag("Cuts of each row; with fewer a weak option may show no fault.")] = (
        500
    )
    seed: Seed = 42
    jobs: Jobs = None


@command(app, example=STUDY_EXAMPLE)
def study(given: StudyOptions) -> None:
    """Try each option, strong and weak: which prevents which fault, and at what cost."""
    from opennandlab.base.threads import cores
    from opennandlab.documents.record import plain
    from opennandlab.reports import power as pages
    from opennandlab.studies.power.study import run as rows

    terminal.check_folder(given.output)
    with shown(str, quiet=given.quiet) as watch:
        found = list(rows(given.cuts, given.seed, given.jobs or cores(), _ending.raising(watch)))
    made = [
        {"option": one.row.option, "value": one.row.value, "must": list(one.row.must),
         "may": list(one.row.may), "problems": list(one.problems),
         "energy_mj": round(one.energy_mj, 6),
         "document": plain(one.document)}
        for one in found
    ]  # fmt: skip
    page = pages.study(found, given.cuts)
    write({"rows": made}, page, given.output, "study")
    if given.as_json:
        terminal.emit_json({"rows": made})
    elif not given.quiet:
        (chapter,) = page.chapters
        tables = [*pages.outcomes(found), pages.cost_rows(found)]
        show(f"{chapter.title}: {chapter.subtitle}", tables, None)
        terminal.note(f"written to {given.output}")
    bad = [one for one in found if one.problems]
    if bad:
        terminal.stop(terminal.FAILED, f"{len(bad)} rows are not as they must be")


@dataclass(frozen=True, kw_only=True)
class SelfTestOptions(Options):
    """Options of `self_test`."""

    count: Annotated[
        int, flag("Faults to put in, for each class.", min=TEST_COUNT_MIN, max=1_000_000)
    ] = 12_000
    seed: Seed = 42
    as_json: Json = False


@command(app, "self-test", example=TEST_EXAMPLE)
def self_test(given: SelfTestOptions) -> None:
    """Put faults of every class into correct answers, and check that each is named."""
    import json

    from opennandlab import _core

    found = json.loads(_core.power_self_test(given.seed, given.count))
    passed = found["named"] == found["injected"] and not found["false_alarms"]
    if given.as_json:
        terminal.emit_json(found | {"passed": passed})
    else:
        rows = [
            [name, str(one["injected"]), str(one["named"])]
            for name, one in found["classes"].items()
        ]
        rows.append(["right answers called a fault", str(found["clean"]),
                     str(found["false_alarms"])])  # fmt: skip
        head = ["class", "put in", "named"]
        terminal.stdout().print(terminal.plain_table(head, rows))
    if not passed:
        terminal.stop(terminal.FAILED, "the judge was wrong")


command(app, example=of_files.EXAMPLE)(of_files.files)
command(app, example=of_endurance.EXAMPLE)(of_endurance.endurance)
for turned in (switch.cut, switch.off, switch.on):
    command(app, example=f"opennandlab power {turned.__name__} --socket power.sock")(turned)
