"""Options that name a target, and the consent to lose its data."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli._typed import typed_device, typed_sets
from opennandlab.cli.options.rows import Options, flag

if TYPE_CHECKING:
    from opennandlab.targets.opening import Request

TargetText = Annotated[
    str,
    flag(
        "sim:PRESET|FILE, file:PATH[?size=1GiB], /dev/… or nbd+unix:///EXPORT?socket=PATH.",
        "-t",
        metavar="TARGET",
        callback=typed_device,
    ),
]
DeviceSets = Annotated[
    list[str] | None,
    flag(
        "Change one key of a simulated device, by dotted path; may be repeated.",
        "--set",
        metavar="KEY=VALUE",
        callback=typed_sets,
    ),
]
Destructive = Annotated[bool, flag("Allow all data on a real target to be destroyed.")]
IKnow = Annotated[
    str | None,
    flag("Name or serial number of the device to be destroyed.", metavar="NAME|SERIAL"),
]
Force = Annotated[bool, flag("Overwrite a partition table or file system.")]
DryRun = Annotated[bool, flag("Print what would be done; do nothing.")]


@dataclass(frozen=True, kw_only=True)
class TargetOptions(Options):
    """A target, and the consent to lose its data."""

    target: TargetText
    settings: DeviceSets = None
    destructive: Destructive = False
    i_know: IKnow = None
    force: Force = False
    dry_run: DryRun = False

    def request(self, seed: int, folder: Path | None = None) -> "Request":
        """Return the target.

        Args:
            seed: Seed of all draws when a simulated drive is made.
            folder: Where fio's files go; None for a temporary place.
        """
        from opennandlab.core.overrides import parse_overrides
        from opennandlab.targets.consent import Consent
        from opennandlab.targets.opening import Request

        return Request(
            self.target,
            overrides=parse_overrides(self.settings or []),
            seed=seed,
            consent=Consent(destructive=self.destructive, i_know=self.i_know, force=self.force),
            folder=folder,
        )
