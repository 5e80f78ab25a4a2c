"""`power`: cut simulated drives from power, find faults again, and study options."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _ending
from opennandlab.cli import _power_endurance as of_endurance
from opennandlab.cli import _power_files as of_files
from opennandlab.cli import _power_outside as outside
from opennandlab.cli import _power_switch as switch
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import Jobs, note_interrupted, resumable
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import show
from opennandlab.cli._terminal import AllowCode, Json, Quiet, Seed, Sets

if TYPE_CHECKING:
    from opennandlab.core.config import DeviceConfig
    from opennandlab.documents.power_loss import PowerDocument
    from opennandlab.studies.power.campaign import Campaign

RUN_EXAMPLE = "opennandlab power run --cuts 3000 --output cuts"
READY_MS = 10_000.0
# One of each class.
TEST_COUNT_MIN = 12
REPLAY_EXAMPLE = "opennandlab power replay cuts/power.json --life 3"
STUDY_EXAMPLE = "opennandlab power study --output study"
TEST_EXAMPLE = "opennandlab power self-test"

# What only a drive outside of this process has.
OUTSIDE = ("power_off", "power_on", "power_socket", "switch_s", "span_mib", "atomic_bytes",
           "after_ms", "destructive", "i_know", "force")  # fmt: skip

app = typer.Typer(
    help="Cut drives from power, and see what they lose.",
    epilog=f"Example: {RUN_EXAMPLE}",
    no_args_is_help=True,
)

Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="DIR", help="Where files go.", show_default=False),
]


@app.command(epilog=f"Example: {RUN_EXAMPLE}")
def run(
    context: typer.Context,
    output: Output,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            metavar="PRESET|FILE",
            help="The drive; left out: one of 64 MiB with four dies.",
            show_default=False,
        ),
    ] = None,
    cuts: Annotated[
        int, typer.Option("--cuts", help="How many; rounded up to lives of 50.")
    ] = 3000,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            "-w",
            metavar="NAME",
            help="random, sequential, sync, trim or hot; left out: all. May be repeated.",
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="MOMENT",
            help="random, gc, erase, journal, checkpoint, upper_page, plp_dump or recovery; left "
            "out: all. May be repeated.",
        ),
    ] = None,
    claims: Annotated[
        str | None,
        typer.Option(
            "--claims",
            metavar="A,B",
            help="What the drive promises: honest-flush, plp, ordered, rzat; left out: what its "
            "options say.",
            show_default=False,
        ),
    ] = None,
    settings: Sets = None,
    fit: Annotated[
        bool,
        typer.Option(
            "--fit",
            help="Cut a small copy of the drive, such as of a preset, without what cannot be cut; "
            "what is changed is told.",
        ),
    ] = False,
    limit_ms: Annotated[
        float, typer.Option("--ready-ms", help="From power to ready; longer is slow.")
    ] = READY_MS,
    seed: Seed = 42,
    jobs: Jobs = None,
    target: outside.Target = None,
    disk: outside.Device = None,
    power_off: outside.PowerOff = None,
    power_on: outside.PowerOn = None,
    power_socket: outside.PowerSocket = None,
    switch_s: outside.HookLimit = 60.0,
    span_mib: outside.SpanMib = 64,
    atomic_bytes: outside.AtomicBytes = 4096,
    after_ms: outside.AfterMs = "50:500",
    destructive: outside.Destructive = False,
    i_know: outside.IKnow = None,
    force: outside.Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cut a drive from power at seeded times and moments; check all of it after each cut."""
    with terminal.guard(as_json=as_json):
        if target is not None or disk is not None:
            _refuse_of_simulated(target, disk, config=config, at=at, settings=settings, fit=fit)
            asked = outside.Asked(
                str(target or disk), output, cuts, workload, claims, seed, limit_ms * 1000,
                power_off, power_on, power_socket, switch_s, span_mib, atomic_bytes, after_ms,
                destructive, i_know, force,
            )  # fmt: skip
            _of_outside(asked, as_json=as_json, quiet=quiet)
            return
        terminal.refuse_given(context, OUTSIDE, "without --target or --device")
        from opennandlab.base.errors import ConfigError
        from opennandlab.base.threads import cores
        from opennandlab.core.config import own_device
        from opennandlab.core.power_cut import TARGETS
        from opennandlab.studies.power.campaign import SMALL, WORKLOADS, Campaign, Settings

        terminal.check_folder(output)
        changes, others = terminal.split_sets(settings)
        if others:
            key = next(iter(others))
            raise ConfigError(f"workload.{key}", "these workloads have no keys")
        changed: list[str] = []
        device = own_device(SMALL if config is None else config, changes)
        if fit:
            from opennandlab.studies.power.fitting import fitted

            device, changed = fitted(device)
        wanted = Settings(
            device,
            cuts,
            workload or WORKLOADS,
            at or TARGETS,
            None if claims is None else [name for name in claims.split(",") if name],
            seed,
            limit_ms * 1000,
            changed,
        )
        # The drive is written before a folder is made: what is refused leaves nothing.
        wanted.core()
        output.mkdir(parents=True, exist_ok=True)
        words = _command(config, cuts, workload, at, claims, settings, limit_ms, seed, fit=fit)
        _warn(device)
        with shown(_line, quiet=quiet) as watch:

            def told(done: int) -> None:
                _ending.hear()
                if watch is not None:
                    watch((done, campaign.cuts_wanted))

            campaign = Campaign(wanted, folder=output, jobs=jobs or cores(), watch=told)
            if campaign.cut_off_bytes:
                terminal.note("the last line of the journal was cut off: its cuts are made again")
            if campaign.cuts and not quiet:
                terminal.note(f"{campaign.cuts} cuts are known", style="dim")
            is_partial = _carried_out(campaign)
        document = campaign.document(
            shlex.join([*words, "--output", os.fspath(output)]),
            replay=shlex.join([*words, "--output", "again"]),
            partial=is_partial,
        )
        if is_partial:
            terminal.ignore_signals()
        _write(document, output)
        if not is_partial:
            campaign.forget()
        _tell(document, output, as_json=as_json, quiet=quiet)


def _warn(device: "DeviceConfig") -> None:
    """Say of an option that it does nothing on a drive."""
    from opennandlab.studies.power.campaign import has_idle_flush

    if has_idle_flush(device):
        terminal.note(
            "warning: `power.flush` changes nothing: the drive has no write buffer, so what "
            "is acknowledged is on the flash; give it `ftl.write_buffer_pages`",
            style="yellow",
        )


def _refuse_of_simulated(
    target: str | None,
    disk: str | None,
    *,
    config: str | None,
    at: list[str] | None,
    settings: list[str] | None,
    fit: bool,
) -> None:
    """Refuse what makes sense for a simulated drive alone."""
    from opennandlab.base.errors import ConfigError

    if target is not None and disk is not None:
        raise ConfigError("--device", "give either --target or --device")
    for option, value in (
        ("--config", config), ("--at", at), ("--set", settings), ("--fit", fit),
    ):  # fmt: skip
        if value:
            raise ConfigError(option, "belongs to a simulated drive, not to --target or --device")


def _of_outside(asked: outside.Asked, *, as_json: bool, quiet: bool) -> None:
    """Cut a drive outside of this process."""
    terminal.check_folder(asked.output)
    campaign, document, why = outside.carry_out(asked, quiet=quiet)
    if why:
        terminal.ignore_signals()
    _write(document, asked.output)
    if why and why != "interrupted":
        terminal.stop(terminal.BROKEN, why, as_json=as_json)
    if not why:
        campaign.forget()
    _tell(document, asked.output, as_json=as_json, quiet=quiet)


def _command(
    config: str | None,
    cuts: int,
    workload: list[str] | None,
    at: list[str] | None,
    claims: str | None,
    settings: list[str] | None,
    limit_ms: float,
    seed: int,
    *,
    fit: bool,
) -> list[str]:
    words = ["opennandlab", "power", "run", "--cuts", str(cuts), "--seed", str(seed)]
    words += ["--config", config] if config is not None else []
    words += ["--fit"] if fit else []
    for option, names in (("--workload", workload), ("--at", at), ("--set", settings)):
        words += [word for name in names or [] for word in (option, name)]
    words += ["--claims", claims] if claims is not None else []
    words += ["--ready-ms", f"{limit_ms:g}"] if limit_ms != READY_MS else []
    return words


def _line(state: tuple[int, int]) -> str:
    done, wanted = state
    return f"{done} of {wanted} cuts"


def _carried_out(campaign: "Campaign") -> bool:
    """Make the cuts; return whether that was interrupted."""

    def there() -> str:
        return f"{campaign.cuts} of {campaign.cuts_wanted} cuts are"

    try:
        with resumable(there):
            campaign.to_the_end()
    except KeyboardInterrupt:
        note_interrupted(there())
        return True
    return False


def _write(document: "PowerDocument", folder: Path) -> None:
    from opennandlab.base.canonical import readable_json
    from opennandlab.base.files import write_into
    from opennandlab.documents.record import plain
    from opennandlab.reports import output
    from opennandlab.reports import power as pages

    page = pages.report(document)
    files = [
        ("power.json", readable_json(plain(document)).encode()),
        ("power.html", output.content(page, ".html")),
    ]
    write_into(folder, iter(files))


def _tell(document: "PowerDocument", output: Path, *, as_json: bool, quiet: bool) -> None:
    from opennandlab.documents.record import plain
    from opennandlab.reports import power as pages

    if as_json:
        terminal.emit_json(plain(document))
    elif not quiet:
        tables = [pages.classes(document)] if document.classes else []
        tables.append(pages.drive(document))
        show(f"{pages.subtitle(document)}: {pages.reason(document)}", tables, document.digest)
        if document.changed:
            terminal.note(pages.changed(document))
        terminal.note(f"written to {output}")
    if document.partial:
        terminal.stop(terminal.INTERRUPTED, "interrupted: the result is partial")
    if not document.passed:
        terminal.stop(terminal.FAILED, pages.reason(document))


@app.command(epilog=f"Example: {REPLAY_EXAMPLE}")
def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The document of a run.", show_default=False)
    ],
    life: Annotated[
        int | None,
        typer.Option("--life", help="Which life; left out: that of the first evidence."),
    ] = None,
    as_json: Json = False,
    allow_code: AllowCode = False,
) -> None:
    """Live one life of a campaign again, and show its faults."""
    with terminal.guard(as_json=as_json, allow_code=allow_code):
        from opennandlab.base.errors import ConfigError
        from opennandlab.core.loading import load
        from opennandlab.documents.power_loss import PowerDocument
        from opennandlab.policies.source import named_in
        from opennandlab.studies.power.campaign import again

        document = load(file)
        if not isinstance(document, PowerDocument):
            raise ConfigError("FILE", f"{file} is no document of `power run`")
        if life is None:
            if not document.evidence:
                raise ConfigError("--life", "this campaign found no fault: say which life")
            life = document.evidence[0].life
        with named_in(file, is_record=True):
            found = again(document, life)
        kept = [plain_one(one) for one in found["evidence"]]
        known = [one for one in document.evidence if one.life == life]
        same = all(
            any(one["cut"] == other.cut and one["class"] == other.class_name for one in kept)
            for other in known
        )
        if as_json:
            terminal.emit_json({"life": life, "same": same, "evidence": kept})
        else:
            rows = [[str(one[key]) for key in EVIDENCE] for one in kept]
            terminal.stdout().print(terminal.plain_table(list(EVIDENCE), rows))
        if not same:
            terminal.stop(terminal.FAILED, "the life did not show what the document says")


EVIDENCE = ("cut", "workload", "at", "cut_ns", "class", "guarantee", "unit", "found")


def plain_one(found: dict[str, Any]) -> dict[str, Any]:
    """Return what is told of a fault."""
    return {key: found[key] for key in EVIDENCE}


@app.command(epilog=f"Example: {STUDY_EXAMPLE}")
def study(
    output: Output,
    cuts: Annotated[
        int,
        typer.Option("--cuts", help="Of each row; with fewer a weak option may show no fault."),
    ] = 500,
    seed: Seed = 42,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Try each option, strong and weak: which prevents which fault, and at what cost."""
    with terminal.guard(as_json=as_json):
        from opennandlab.base.canonical import readable_json
        from opennandlab.base.files import write_into
        from opennandlab.base.threads import cores
        from opennandlab.documents.record import plain
        from opennandlab.reports import output as formats
        from opennandlab.reports import power as pages
        from opennandlab.studies.power.study import run as rows

        terminal.check_folder(output)
        with shown(str, quiet=quiet) as watch:
            found = list(rows(cuts, seed, jobs or cores(), _ending.hearing(watch)))
        made = [
            {"option": one.row.option, "value": one.row.value, "must": list(one.row.must),
             "may": list(one.row.may), "problems": list(one.problems),
             "energy_mj": round(one.energy_mj, 6),
             "document": plain(one.document)}
            for one in found
        ]  # fmt: skip
        page = pages.study(found, cuts)
        files = [
            ("study.json", readable_json({"rows": made}).encode()),
            ("study.html", formats.content(page, ".html")),
        ]
        write_into(output, iter(files))
        if as_json:
            terminal.emit_json({"rows": made})
        elif not quiet:
            (chapter,) = page.chapters
            tables = [*pages.outcomes(found), pages.cost_rows(found)]
            show(f"{chapter.title}: {chapter.subtitle}", tables, None)
            terminal.note(f"written to {output}")
        bad = [one for one in found if one.problems]
        if bad:
            terminal.stop(terminal.FAILED, f"{len(bad)} rows are not as they must be")


@app.command("self-test", epilog=f"Example: {TEST_EXAMPLE}")
def self_test(
    count: Annotated[
        int,
        typer.Option(
            "--count",
            min=TEST_COUNT_MIN,
            max=1_000_000,
            help="Faults put in, class by class.",
        ),
    ] = 12_000,
    seed: Seed = 42,
    as_json: Json = False,
) -> None:
    """Put faults of every class into right answers, and see whether each is named."""
    with terminal.guard(as_json=as_json):
        import json

        from opennandlab import _core

        found = json.loads(_core.power_self_test(seed, count))
        passed = found["named"] == found["injected"] and not found["false_alarms"]
        if as_json:
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


app.command(epilog=f"Example: {of_files.EXAMPLE}")(of_files.files)
app.command(epilog=f"Example: {of_endurance.EXAMPLE}")(of_endurance.endurance)
app.command(epilog="Example: opennandlab power cut --socket power.sock")(switch.cut)
app.command(epilog="Example: opennandlab power off --socket power.sock")(switch.off)
app.command(epilog="Example: opennandlab power on --socket power.sock")(switch.on)
