"""`power endurance`: a fleet is worn to its rated TBW, stored without power, and read back."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from opennandlab.cli import _ending
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import carried_out, threads_of
from opennandlab.cli._progress import shown
from opennandlab.cli._report_tables import tell, write
from opennandlab.cli._sweep_tables import line
from opennandlab.cli._typed import typed_device
from opennandlab.cli.options.common import AllowCode, Jobs, Printed, Sets
from opennandlab.cli.options.rows import argument, flag

if TYPE_CHECKING:
    from opennandlab.studies.power.endurance import Settings
    from opennandlab.studies.sweeps.runner import Progress

EXAMPLE = "opennandlab power endurance --config nvme_gen4_tlc --devices 8 --output endurance"


@dataclass(frozen=True, kw_only=True)
class EnduranceOptions(Printed):
    """Options of `endurance`."""

    output: Annotated[Path, flag("Where files go.", "-o", metavar="DIR", show_default=False)]
    file: Annotated[
        Path | None,
        argument(
            "A fleet file without suites; default: devices that differ only in their seeds.",
            metavar="[FILE]",
            show_default=False,
        ),
    ] = None
    config: Annotated[
        str, flag("The device.", "-c", metavar="PRESET|FILE", callback=typed_device)
    ] = "config"
    devices: Annotated[int, flag("How many.")] = 8
    drive_class: Annotated[
        list[str] | None,
        flag("client or enterprise; default: both. May be repeated.", "--class", metavar="NAME"),
    ] = None
    variant: Annotated[
        list[str] | None,
        flag("random, read_disturb or cold_hot; default: all. May be repeated.", metavar="NAME"),
    ] = None
    ages: Annotated[str, flag("Written data at each age, in rated TBW.", metavar="A,B")] = "1"
    tbw: Annotated[
        float | None, flag("The rated TBW, TB; default: what uses up the rated cycles.")
    ] = None
    programs: Annotated[float, flag("Page programs of a test; drives are scaled down to them.")] = (
        1e6
    )
    cuts: Annotated[
        int, flag("Power cuts of each device while it ages, next to one that is not cut.")
    ] = 0
    cut_every_hours: Annotated[
        float | None,
        flag(
            "The same, by hours of active use between two cuts: 8 hours a day for client "
            "drives, 24 for enterprise.",
            metavar="H",
            show_default=False,
        ),
    ] = None
    use_years: Annotated[
        float, flag("Years of use in which the rated TBW is written, for these hours.")
    ] = 5.0
    claims: Annotated[
        str | None,
        flag(
            "Promises of devices whose power is cut: honest-flush, plp, ordered, rzat; "
            "default: those "
            "that follow from their options.",
            metavar="A,B",
            show_default=False,
        ),
    ] = None
    settings: Sets = None
    jobs: Jobs = None
    allow_code: AllowCode = False


def _command_line(given: EnduranceOptions, wanted: "Settings") -> str:
    words = ["opennandlab", "power", "endurance"]
    device = ["--config", given.config, "--devices", str(given.devices)]
    words += [str(given.file)] if given.file else device
    words += _options(wanted, given.claims, given.settings)
    return shlex.join([*words, "--output", str(given.output)])


def endurance(given: EnduranceOptions) -> None:
    """Age a fleet to its rated TBW, store it without power, read it back: FFR and UBER."""
    from opennandlab.policies.source import named_in

    with named_in(given.file or given.config):
        from opennandlab.documents.record import plain
        from opennandlab.reliability.jedec import CLASSES
        from opennandlab.reports import power_endurance as pages
        from opennandlab.store import Store
        from opennandlab.studies.power.endurance import VARIANTS, Campaign, Settings

        terminal.check_folder(given.output)
        fleet, folder = _fleet(given.file, given.config, given.devices, given.settings)
        wanted = Settings(
            fleet,
            tuple(given.drive_class or CLASSES),
            tuple(given.variant or VARIANTS),
            _ages(given.ages),
            given.tbw,
            given.programs,
            given.cuts,
            given.cut_every_hours,
            given.use_years,
            None if given.claims is None else tuple(filter(None, given.claims.split(","))),
        )
        wanted.check(folder)
        given.output.mkdir(parents=True, exist_ok=True)
        now = {"suite": ""}

        def said(state: "Progress | None") -> str:
            return now["suite"] if state is None else f"{now['suite']}  {line(state)}"

        with Store.open(given.output) as kept, shown(said, quiet=given.quiet) as watch:

            def told(suite: str, state: "Progress | None") -> None:
                _ending.raise_if_asked()
                now["suite"] = suite
                if watch is not None:
                    watch(state)

            campaign = Campaign(wanted, kept, folder=folder, watch=told)

            is_partial = carried_out(
                lambda: campaign.to_the_end(lambda: threads_of(kept, given.jobs)),
                lambda: "{} of {} points are".format(*campaign.progress),
            )
        document = campaign.document(_command_line(given, wanted), partial=is_partial)
        if is_partial:
            terminal.ignore_signals()
        write(plain(document), pages.report(document), given.output, "endurance")
        tables = [pages.summary(document)]
        if pages.is_cut(document):
            tables += [pages.cuts(document), pages.costs(document)]
        ending = [f"warning: {text}" for text in document.warnings]
        ending.append(f"written to {given.output}")
        reason = pages.reason(document)
        tell(document, given, f"{pages.subtitle(document)}: {reason}", tables, ending, reason)


def _options(wanted: "Settings", claims: str | None, settings: list[str] | None) -> list[str]:
    """Return the options that decide the result, as words of a command."""
    words = [word for name in wanted.classes for word in ("--class", name)]
    words += [word for name in wanted.variants for word in ("--variant", name)]
    words += ["--ages", ",".join(f"{age!r}" for age in wanted.ages)]
    words += ["--programs", f"{wanted.programs!r}"]
    words += ["--tbw", f"{wanted.tbw_tb!r}"] if wanted.tbw_tb is not None else []
    words += ["--cuts", str(wanted.cuts)] if wanted.cuts else []
    if wanted.cut_every_h is not None:
        words += ["--cut-every-hours", f"{wanted.cut_every_h!r}"]
        words += ["--use-years", f"{wanted.use_years!r}"]
    words += ["--claims", claims] if claims is not None else []
    return words + [word for one in settings or [] for word in ("--set", one)]


def _fleet(
    file: Path | None, config: str, devices: int, settings: list[str] | None
) -> tuple[dict[str, Any], Path]:
    """Return the fleet without suites, and the folder that its names are relative to."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.base.files import read_yaml

    changes, others = terminal.split_sets(settings)
    if others:
        raise ConfigError(
            f"workload.{next(iter(others))}", "the variants determine what is written"
        )
    if file is None:
        fleet: dict[str, Any] = {"name": "endurance", "devices": devices, "device": config}
        return fleet | ({"set": changes} if changes else {}), Path()
    found = {"name": file.stem} | read_yaml(file)
    if changes:
        found["set"] = {**(found.get("set") or {}), **changes}
    return found, file.parent


def _ages(text: str) -> tuple[float, ...]:
    from opennandlab.base.errors import ConfigError

    try:
        found = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found or len(set(found)) < len(found):
        raise ConfigError("--ages", f"`{text}` is not valid; accepted: for example 0.5,1,1.5")
    return found
