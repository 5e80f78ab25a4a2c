"""`power run --target`: cuts of a drive outside this process, with a switch for its power."""

import os
import shlex
import time
from typing import TYPE_CHECKING

from opennandlab.cli import _ending
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import carried_out
from opennandlab.cli._progress import shown
from opennandlab.cli.options.power import RunOptions

if TYPE_CHECKING:
    from opennandlab.documents.power_loss import PowerDocument
    from opennandlab.studies.power.outside.campaign import Campaign, Settings
    from opennandlab.studies.power.outside.supply import Supply

SWITCH_S_MAX = 86_400


def _settings(given: RunOptions) -> "Settings":
    """Return the settings of the campaign.

    Raises:
        ConfigError: for an invalid option.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.studies.power.campaign import WORKLOADS
    from opennandlab.studies.power.outside.campaign import Settings

    claims = "honest-flush" if given.claims is None else given.claims
    least, colon, most = given.after_ms.partition(":")
    try:
        after_ms = (float(least), float(most if colon else least))
    except ValueError:
        message = f"`{given.after_ms}` is not valid; accepted: FROM:TO, 0 to 1e6 ms"
        raise ConfigError("--after-ms", message) from None
    return Settings(
        cuts=given.cuts,
        workloads=tuple(given.workload or WORKLOADS),
        claims=tuple(name for name in claims.split(",") if name),
        seed=given.seed,
        limit_us=given.limit_ms * 1000,
        span_bytes=given.span_mib << 20,
        unit_bytes=given.atomic_bytes,
        after_ms=after_ms,
    )


def _supply(given: RunOptions) -> "Supply":
    """Return the switch of the power.

    Raises:
        ConfigError: unless the options name one socket, or two commands.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.studies.power.outside.supply import Commands, Switched

    accepted = "accepted: --power-off and --power-on, or --power-socket"
    commands = [command for command in (given.power_off, given.power_on) if command]
    if not 0 < given.switch_s <= SWITCH_S_MAX:
        message = f"{given.switch_s} is not valid; accepted: above 0, at most {SWITCH_S_MAX}"
        raise ConfigError("--switch-s", message)
    if given.power_socket is not None and not commands:
        return Switched(given.power_socket, given.switch_s)
    if given.power_socket is None and given.power_off and given.power_on:
        return Commands(given.power_off, given.power_on, given.switch_s, given.address)
    raise ConfigError("--power-off", f"give exactly one way to cut the power; {accepted}")


def _command(given: RunOptions) -> str:
    """Return the command line that repeats the campaign."""
    words = ["opennandlab", "power", "run", "--target", given.address, "--cuts", str(given.cuts),
             "--seed", str(given.seed), "--output", os.fspath(given.output)]  # fmt: skip
    for option, value in (
        ("--claims", given.claims), ("--power-off", given.power_off),
        ("--power-on", given.power_on), ("--power-socket", given.power_socket),
        ("--i-know", given.i_know),
    ):  # fmt: skip
        words += [] if value is None else [option, str(value)]
    for name in given.workload or ():
        words += ["--workload", name]
    words += ["--span-mib", str(given.span_mib), "--atomic-bytes", str(given.atomic_bytes),
              "--after-ms", given.after_ms]  # fmt: skip
    return shlex.join([*words, *(["--destructive"] if given.destructive else [])])


def carry_out(given: RunOptions) -> "tuple[Campaign, PowerDocument, str]":
    """Make the cuts.

    Returns:
        The campaign, its document, and why it ended early; empty if it did not.

    Raises:
        ConfigError: for an invalid option.
        TargetError: for a drive that may not be written.
    """
    from opennandlab.base.errors import OutputError
    from opennandlab.studies.power.outside.campaign import Campaign
    from opennandlab.studies.power.outside.disks import opened
    from opennandlab.studies.power.outside.telling import document
    from opennandlab.targets.consent import Consent

    settings, supply = _settings(given), _supply(given)
    consent = Consent(destructive=given.destructive, i_know=given.i_know, force=given.force)
    disk = opened(given.address, consent)
    given.output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    def progress(done: int) -> str:
        return f"{done} of {settings.cuts} cuts"

    with shown(progress, quiet=given.quiet) as watch:
        try:
            campaign = Campaign(settings, disk, supply, given.output, _ending.raising(watch))
        except OSError as error:
            raise OutputError(f"{given.address}: {error.strerror or error}") from error
        _note_known(campaign, quiet=given.quiet)
        why = _carried_out(campaign, given.address)
    wall_s = time.monotonic() - began
    return campaign, document(campaign, _command(given), wall_s, partial=bool(why)), why


def _note_known(campaign: "Campaign", *, quiet: bool) -> None:
    if campaign.cut_off_bytes:
        terminal.note("the last line of the journal is incomplete: that cut is made again")
    if campaign.done and not quiet:
        terminal.note(f"{campaign.done} cuts are known", style="dim")


def _carried_out(campaign: "Campaign", address: str) -> str:
    """Make the cuts that are left; return why that ended early, empty if it did not."""
    from opennandlab.studies.power.outside.campaign import DeadDriveError
    from opennandlab.studies.power.outside.supply import SupplyError

    try:
        is_partial = carried_out(
            campaign.to_the_end, lambda: f"{campaign.done} of {campaign.settings.cuts} cuts are"
        )
    except (SupplyError, DeadDriveError) as error:
        return str(error)
    except OSError as error:
        return f"{address}: {error.strerror or error}"
    return "interrupted" if is_partial else ""
