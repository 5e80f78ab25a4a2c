"""How the data of a life test is kept before it is read back: hours, temperature, and reads.

Each of the three has the value of its option, else that of `nand.stress` as set by hand (`--set`),
else the value of the class of drives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from opennandlab.base.errors import ConfigError
from opennandlab.core.by_hand import is_set
from opennandlab.core.config import DeviceConfig
from opennandlab.reliability.jedec import CLASSES, DriveClass

# The ranges of `nand.stress`, which crates/sim/src/reliability/conditions.rs checks for drives.
STORAGE_H_MAX, STORAGE_C_MIN, STORAGE_C_MAX = 1e6, -55.0, 200.0


@dataclass(frozen=True)
class Storage:
    """How the data of a life test is kept before it is read back.

    Args:
        required: Requirements on the drive, with the hours and the temperature of this test.
        reads: Reads per page of the block before the final read.
        warnings: Notes on conditions that have no effect, or are not those of the class.
    """

    required: DriveClass
    reads: float
    warnings: list[str]

    @classmethod
    def of(
        cls,
        device: DeviceConfig,
        drive_class: str,
        hours: float | None,
        temperature_c: float | None,
        reads: float,
    ) -> Storage:
        """Return how data is kept: by the options, else as set by hand, else by the class.

        Args:
            device: The drive.
            drive_class: `client` or `enterprise`.
            hours: Hours of the option; None if it is not given.
            temperature_c: Temperature of the option; None if it is not given.
            reads: Reads of the option; 0 if it is not given.

        Raises:
            ConfigError: for an unknown class, a value out of range, and for an option that differs
                from a value set by hand.
        """
        if drive_class not in CLASSES:
            accepted = ", ".join(CLASSES)
            raise ConfigError("class", f"`{drive_class}` is unknown; accepted: {accepted}")
        standard = CLASSES[drive_class]
        conditions = (
            Condition("retention_h", "storage-h", hours, standard.retention_h),
            Condition("temperature_c", "storage-c", temperature_c, standard.retention_c),
            Condition("reads", "reads", reads or None, 0.0),
        )
        kept_h, kept_c, kept_reads = (condition.value(device) for condition in conditions)
        warnings = [text for condition in conditions for text in condition.warnings(device)]
        _check(kept_h, kept_c, kept_reads)
        required = replace(standard, retention_h=kept_h, retention_c=kept_c)
        if required != standard:
            warnings.append(
                f"data is kept {kept_h:g} h at {kept_c:g} °C, not {standard.retention_h:g} h at "
                f"{standard.retention_c:g} °C as JESD218 asks of class {standard.name}"
            )
        return cls(required, kept_reads, warnings)


@dataclass(frozen=True)
class Condition:
    """One condition of storage and the sources of its value.

    Args:
        key: Its name in `nand.stress`.
        option: Name of the option, without dashes.
        by_option: Value of the option; None if it is not given.
        by_class: Value of the class of drives.
    """

    key: str
    option: str
    by_option: float | None
    by_class: float

    def value(self, device: DeviceConfig) -> float:
        """Return the value.

        Raises:
            ConfigError: for an option that differs from a value set by hand.
        """
        by_hand = self._by_hand(device)
        if self.by_option is None:
            return self.by_class if by_hand is None else by_hand
        if by_hand is not None and self.by_option != by_hand:
            message = f"{self.by_option:g} is not the nand.stress.{self.key}={by_hand:g} of --set"
            raise ConfigError(self.option, f"{message}; accepted: one of them")
        return self.by_option

    def warnings(self, device: DeviceConfig) -> Iterator[str]:
        """Yield a warning if the device file has another value, which has no effect."""
        if f"nand.stress.{self.key}" not in device.given or self._by_hand(device) is not None:
            return
        in_file, value = _stress(device, self.key), self.value(device)
        if in_file != value:
            yield (
                f"nand.stress.{self.key} {in_file:g} of the device file has no effect, it is "
                f"{value:g} here: a life test keeps data in its own way (--{self.option})"
            )

    def _by_hand(self, device: DeviceConfig) -> float | None:
        return _stress(device, self.key) if is_set(device, f"nand.stress.{self.key}") else None


def _stress(device: DeviceConfig, key: str) -> float:
    return float(device.to_dict()["nand"]["stress"][key])


def _check(hours: float, celsius: float, reads: float) -> None:
    if not 0.0 <= hours <= STORAGE_H_MAX:
        message = f"{hours} is out of range; accepted: 0 to {STORAGE_H_MAX:g} hours"
        raise ConfigError("storage-h", message)
    if not STORAGE_C_MIN <= celsius <= STORAGE_C_MAX:
        accepted = f"{STORAGE_C_MIN:g} to {STORAGE_C_MAX:g} degrees Celsius"
        raise ConfigError("storage-c", f"{celsius} is out of range; accepted: {accepted}")
    if not 0.0 <= reads < math.inf:
        raise ConfigError("reads", f"{reads} is not usable; accepted: 0 or more")
