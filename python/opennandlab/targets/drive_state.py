"""The state that a simulated drive is in before a test: its wear, or a saved drive.

```text
young   as from the factory
old     every block has half of its rated program/erase cycles
eol     every block has all of them: the end of life of JEDEC JESD218, without its retention
image   a drive that was saved, with its data and its wear; the test begins with a purge
```
Wear is set (`precondition: [{kind: age, …}]`), and blocks that fail on the way are lost, by the
failure model of the device. A drive at its rated cycles stays in use: `nand.wear_out` is `ignore`,
since a test writes more than the last cycle of its blocks. The age of data is that of `nand.stress`
of the device: by default 0, just written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opennandlab import _core
from opennandlab.base.errors import ConfigError, ImageError
from opennandlab.core.config import DeviceConfig, load_steps
from opennandlab.core.images import drive_of, read_image, same_device
from opennandlab.core.slices import iter_run
from opennandlab.documents import pts_header

# Share of the rated cycles.
AGES: Final[Mapping[str, float]] = {"young": 0.0, "old": 0.5, "eol": 1.0}
# Most erases of a block that an `age` step sets.
CYCLES_MAX: Final = 1_000_000
ACCEPTED: Final = f"{', '.join(AGES)}, image:FILE"
WORN_OUT: Final = "nand.wear_out"


def check_state(state: str | None) -> None:
    """Refuse texts that are no state.

    Raises:
        ConfigError: with the accepted states.
    """
    kind, mark, path = str(state).partition(":")
    if state is None or state in AGES or (kind == "image" and mark and path):
        return
    raise ConfigError("state", f"`{state}` is not a valid state; accepted: {ACCEPTED}")


def states(text: str) -> list[str]:
    """Return the states that a text names by commas; the name of an image may have some, too.

    >>> states("young,eol"), states("image:a,b.onl,old"), states("eol,worn")
    (['young', 'eol'], ['image:a,b.onl', 'old'], ['eol,worn'])
    """
    return re.split(rf",(?=(?:{'|'.join(AGES)})(?:,|$)|image:)", text)


@dataclass(frozen=True)
class StartState:
    """A state, checked against the device that is to have it.

    Args:
        name: `young`, `old`, `eol`, or `image:FILE`.
        device: The device.
        cycles: Program/erase cycles of a block; of an image those that it has.
        image: The bytes of a saved drive; None for others.
    """

    name: str
    device: DeviceConfig
    cycles: float
    image: bytes | None

    @classmethod
    def of(cls, name: str, device: DeviceConfig) -> StartState:
        """Return a state of a device.

        Raises:
            ConfigError: for a state that the device cannot have, with the accepted ones.
        """
        check_state(name)
        if name not in AGES:
            path = Path(name.partition(":")[2])
            try:
                image = read_image(path)
                saved = DeviceConfig(drive_of(image, 0, path).device(), path.name)
            except ImageError as error:
                raise ConfigError("state", str(error)) from error
            same_device(saved, device, path, "the target")
            return cls(name, device, 0.0, image)
        rated = int(device.to_dict()["nand"]["max_pe_cycles"])
        cycles = AGES[name] * rated
        if cycles > CYCLES_MAX:
            raise ConfigError(
                "state",
                f"`{name}` is a share of the rated cycles, and nand.max_pe_cycles of "
                f"{device.name} is {rated}, which no cell is rated for; accepted: young, "
                f"image:FILE, or at most {CYCLES_MAX} there",
            )
        return cls(name, device, cycles, None)

    def drive(self, seed: int) -> tuple[_core.Drive, pts_header.DriveState]:
        """Return a drive in this state, and its facts for a report.

        Args:
            seed: Seed of the drive: its factory bad blocks, and its failures.
        """
        rated = self.device.to_dict()["nand"]["max_pe_cycles"]
        if self.image is not None:
            drive = drive_of(self.image, seed, self.name)
            lost, digest = None, hashlib.sha256(self.image).hexdigest()
        else:
            drive, digest = self.device.drive(seed), None
            before = json.loads(drive.wear())["blocks"]
            steps = load_steps([{"kind": "age", "pe_cycles": self.cycles}])
            drive.begin_precondition(steps.core, seed)
            for _ in iter_run(drive):
                pass
            lost = before - json.loads(drive.wear())["blocks"]
        return drive, pts_header.DriveState(
            name=self.name if self.image is None else "image",
            erase_count_mean=json.loads(drive.wear())["erase_count_mean"],
            rated_pe_cycles=rated,
            lost_blocks=lost,
            image_sha256=digest,
        )


def settings_of(state: str | None) -> dict[str, Any]:
    """Return the keys of the device that a state changes, by dotted path.

    >>> settings_of("eol"), settings_of("young"), settings_of(None)
    ({'nand.wear_out': 'ignore'}, {}, {})
    """
    return {WORN_OUT: "ignore"} if state == "eol" else {}


def overruled_by(state: str | None, overrides: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a warning for each key that was set by hand and that a state sets otherwise.

    >>> overruled_by("eol", {"nand.wear_out": "retire"})[0].partition(":")[0]
    '--set nand.wear_out=retire has no effect, it is ignore here'
    """
    return tuple(
        f"--set {key}={overrides[key]} has no effect, it is {value} here: blocks at their rated "
        "cycles stay in use while the test writes"
        for key, value in settings_of(state).items()
        if overrides.get(key, value) != value
    )
