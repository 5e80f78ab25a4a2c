"""`power run --target`: a drive outside of this process, and what switches its power."""

import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _ending
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._engines import note_interrupted, resumable
from opennandlab.cli._progress import shown

if TYPE_CHECKING:
    from opennandlab.documents.power_loss import PowerDocument
    from opennandlab.studies.power.outside.campaign import Campaign, Settings
    from opennandlab.studies.power.outside.supply import Supply

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="URI",
        help="A drive that is served: nbd+unix:///?socket=PATH, nbd://HOST:PORT/EXPORT.",
    ),
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="/dev/…", help="A whole block device.")
]
PowerOff = Annotated[
    str | None,
    typer.Option("--power-off", metavar="COMMAND", help="Cuts the power of that drive."),
]
PowerOn = Annotated[
    str | None, typer.Option("--power-on", metavar="COMMAND", help="Gives it back.")
]
PowerSocket = Annotated[
    Path | None,
    typer.Option(
        "--power-socket", metavar="PATH", help="Instead of both: of `serve --power-socket`."
    ),
]
HookLimit = Annotated[
    float, typer.Option("--switch-s", help="Time that each of these commands may take, seconds.")
]
SpanMib = Annotated[
    int, typer.Option("--span-mib", help="From the beginning of that drive, so much is written.")
]
AtomicBytes = Annotated[
    int, typer.Option("--atomic-bytes", help="What that drive writes whole or not at all.")
]
AfterMs = Annotated[
    str,
    typer.Option("--after-ms", metavar="FROM:TO", help="When its power is cut, at random."),
]
Destructive = Annotated[
    bool, typer.Option("--destructive", help="Allow all data on it to be destroyed.")
]
IKnow = Annotated[
    str | None,
    typer.Option("--i-know", metavar="SERIAL|NAME", help="Of a device: its serial number or name."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a partition table or file system.")]

SWITCH_S_MAX = 86_400


@dataclass(frozen=True)
class Asked:
    """What was asked for of a drive outside.

    Args:
        target: Its address, or the path of a device.
        output: Where files go.
        cuts: How many.
        workloads: None for all.
        claims: None for an honest flush.
        seed: Of workloads and moments.
        limit_us: From power to ready.
        power_off: Command, or None.
        power_on: Command, or None.
        power_socket: Of our own server, or None.
        switch_s: Time that a command may take.
        span_mib: What is written.
        atomic_bytes: Of a unit.
        after_ms: `FROM:TO`.
        destructive: All data may be lost.
        i_know: Which device is meant.
        force: Signatures do not matter.
    """

    target: str
    output: Path
    cuts: int
    workloads: Sequence[str] | None
    claims: str | None
    seed: int
    limit_us: float
    power_off: str | None
    power_on: str | None
    power_socket: Path | None
    switch_s: float
    span_mib: int
    atomic_bytes: int
    after_ms: str
    destructive: bool
    i_know: str | None
    force: bool

    def settings(self) -> "Settings":
        """Return what is done.

        Raises:
            ConfigError: for what cannot be.
        """
        from opennandlab.base.errors import ConfigError
        from opennandlab.studies.power.campaign import WORKLOADS
        from opennandlab.studies.power.outside.campaign import Settings

        claims = "honest-flush" if self.claims is None else self.claims
        least, mark, most = self.after_ms.partition(":")
        try:
            after = (float(least), float(most if mark else least))
        except ValueError:
            message = f"`{self.after_ms}` is not valid; accepted: FROM:TO, 0 to 1e6 ms"
            raise ConfigError("--after-ms", message) from None
        return Settings(
            self.cuts, tuple(self.workloads or WORKLOADS),
            tuple(name for name in claims.split(",") if name), self.seed, self.limit_us,
            self.span_mib << 20, self.atomic_bytes, after,
        )  # fmt: skip

    def supply(self) -> "Supply":
        """Return what switches the power.

        Raises:
            ConfigError: unless it is one socket, or two commands.
        """
        from opennandlab.base.errors import ConfigError
        from opennandlab.studies.power.outside.supply import Commands, Switched

        accepted = "accepted: --power-off and --power-on, or --power-socket"
        commands = [it for it in (self.power_off, self.power_on) if it]
        if not 0 < self.switch_s <= SWITCH_S_MAX:
            message = f"{self.switch_s} is not valid; accepted: above 0, at most {SWITCH_S_MAX}"
            raise ConfigError("--switch-s", message)
        if self.power_socket is not None and not commands:
            return Switched(self.power_socket, self.switch_s)
        if self.power_socket is None and self.power_off and self.power_on:
            return Commands(self.power_off, self.power_on, self.switch_s, self.target)
        raise ConfigError("--power-off", f"what cuts the power is not said once; {accepted}")

    def command(self) -> str:
        """Return the line that runs it."""
        words = ["opennandlab", "power", "run", "--target", self.target, "--cuts", str(self.cuts),
                 "--seed", str(self.seed), "--output", os.fspath(self.output)]  # fmt: skip
        for option, value in (
            ("--claims", self.claims), ("--power-off", self.power_off),
            ("--power-on", self.power_on), ("--power-socket", self.power_socket),
            ("--i-know", self.i_know),
        ):  # fmt: skip
            words += [] if value is None else [option, str(value)]
        for name in self.workloads or ():
            words += ["--workload", name]
        words += ["--span-mib", str(self.span_mib), "--atomic-bytes", str(self.atomic_bytes),
                  "--after-ms", self.after_ms]  # fmt: skip
        return shlex.join([*words, *(["--destructive"] if self.destructive else [])])


def carry_out(asked: Asked, *, quiet: bool) -> "tuple[Campaign, PowerDocument, str]":
    """Make the cuts; return what was found, and why it ended early, if it did.

    Raises:
        ConfigError: for what cannot be.
        TargetError: for a drive that may not be written.
    """
    from opennandlab.base.errors import OutputError
    from opennandlab.studies.power.outside.campaign import Campaign, DeadDriveError
    from opennandlab.studies.power.outside.disks import opened
    from opennandlab.studies.power.outside.supply import SupplyError
    from opennandlab.studies.power.outside.telling import document
    from opennandlab.targets.consent import Consent

    wanted, supply = asked.settings(), asked.supply()
    consent = Consent(destructive=asked.destructive, i_know=asked.i_know, force=asked.force)
    disk = opened(asked.target, consent)
    asked.output.mkdir(parents=True, exist_ok=True)
    began, why = time.monotonic(), ""

    def said(done: int) -> str:
        return f"{done} of {wanted.cuts} cuts"

    with shown(said, quiet=quiet) as watch:
        try:
            campaign = Campaign(wanted, disk, supply, asked.output, _ending.hearing(watch))
        except OSError as error:
            raise OutputError(f"{asked.target}: {error.strerror or error}") from error
        if campaign.cut_off_bytes:
            terminal.note("the last line of the journal was cut off: that cut is made again")
        if campaign.done and not quiet:
            terminal.note(f"{campaign.done} cuts are known", style="dim")

        def there() -> str:
            return f"{campaign.done} of {wanted.cuts} cuts are"

        try:
            with resumable(there):
                campaign.to_the_end()
        except KeyboardInterrupt:
            note_interrupted(there())
            why = "interrupted"
        except (SupplyError, DeadDriveError) as error:
            why = str(error)
        except OSError as error:
            why = f"{asked.target}: {error.strerror or error}"
    wall_s = time.monotonic() - began
    return campaign, document(campaign, asked.command(), wall_s, partial=bool(why)), why
