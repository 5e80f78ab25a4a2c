"""The figures of JESD218 by which a drive is judged, and temperature as time.

All of them are recalled from the standard, unverified: check them there before you certify
anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.core.by_hand import is_set
from opennandlab.core.config import DeviceConfig

# Activation energy of retention, eV, JESD218. Recalled, unverified.
ACTIVATION_ENERGY_EV = 1.1
# Bakes that stand for the retention of both classes, degrees Celsius and hours. Recalled,
# unverified; the hours that the classes ask for are within 5 % at 1.1 eV.
BAKE_C, BAKE_H = 66.0, 96.0
# What models take: as `nand.stress`.
STORAGE_H_MAX, STORAGE_C = 1e6, (-55.0, 200.0)


@dataclass(frozen=True)
class DriveClass:
    """What JESD218 asks of a class of drives at the end of their life.

    >>> CLASSES["client"].bake_h(66.0) > 96.0
    True
    """

    name: str
    """`client` or `enterprise`."""
    retention_h: float
    """Hours without power after which data must be readable."""
    retention_c: float
    """Temperature of these hours, degrees Celsius."""
    uber_max: float
    """Uncorrectable data errors per bit read, at most."""
    functional_failures_max: float
    """Share of drives that may fail."""
    active_h_per_day: float
    """Hours of active use a day."""

    def bake_h(self, temperature_c: float, ea_ev: float = ACTIVATION_ENERGY_EV) -> float:
        """Return the hours at another temperature that stand for the retention.

        Args:
            temperature_c: Temperature of the bake, degrees Celsius.
            ea_ev: Activation energy, eV.

        Returns:
            Hours.
        """
        return self.retention_h / arrhenius(ea_ev, self.retention_c, temperature_c)

    def under_power(self, device: DeviceConfig) -> DriveClass:
        """Return the class for a drive that keeps its data under power: no older than its refresh.

        Args:
            device: With `ftl.refresh.after_days`.

        Raises:
            ConfigError: without it.
        """
        refresh = device.to_dict()["ftl"].get("refresh")
        days = refresh.get("after_days") if isinstance(refresh, dict) else None
        if days is None:
            message = "nothing renews the data of this drive; accepted: with ftl.refresh.after_days"
            raise ConfigError("powered", message)
        return replace(self, retention_h=min(self.retention_h, 24.0 * float(days)))


@dataclass(frozen=True)
class Storage:
    """How the data of a life test is kept before it is read back.

    Args:
        asked: What is asked of the drive, with the hours and the temperature that it is kept.
        reads: Reads per page of the block before the final one.
        warnings: What to tell of both.
    """

    asked: DriveClass
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
        """Return how data is kept: as asked, else as set by hand, else as the class says.

        Set by hand are keys of `nand.stress`.

        Args:
            device: The drive.
            drive_class: `client` or `enterprise`.
            hours: Hours that were asked for; None for nothing.
            temperature_c: Temperature that was asked for.
            reads: Reads that were asked for; 0 for nothing.

        Raises:
            ConfigError: for an unknown class, a value out of range, and for two values of one.
        """
        if drive_class not in CLASSES:
            accepted = ", ".join(CLASSES)
            raise ConfigError("class", f"`{drive_class}` is unknown; accepted: {accepted}")
        usual = CLASSES[drive_class]
        stress = device.to_dict()["nand"].get("stress") or {}
        given = {
            "retention_h": ("storage-h", hours, usual.retention_h),
            "temperature_c": ("storage-c", temperature_c, usual.retention_c),
            "reads": ("reads", reads or None, 0.0),
        }
        kept, warnings = {}, []
        for key, (option, own, standard) in given.items():
            by_hand = float(stress[key]) if is_set(device, f"nand.stress.{key}") else None
            if own is not None and by_hand is not None and own != by_hand:
                message = f"{own:g} is not the nand.stress.{key}={by_hand:g} of --set"
                raise ConfigError(option, f"{message}; accepted: one of them")
            kept[key] = next(it for it in (own, by_hand, standard) if it is not None)
            is_given = f"nand.stress.{key}" in device.given and by_hand is None
            if is_given and stress[key] != kept[key]:
                warnings.append(
                    f"nand.stress.{key} {stress[key]:g} of the device file has no effect, it is "
                    f"{kept[key]:g} here: a life test keeps data in its own way (--{option})"
                )
        hours, celsius = kept["retention_h"], kept["temperature_c"]
        if not 0.0 <= hours <= STORAGE_H_MAX:
            message = f"{hours} is out of range; accepted: 0 to {STORAGE_H_MAX:g} hours"
            raise ConfigError("storage-h", message)
        if not STORAGE_C[0] <= celsius <= STORAGE_C[1]:
            low, high = STORAGE_C
            message = f"{celsius} is out of range; accepted: {low:g} to {high:g} degrees Celsius"
            raise ConfigError("storage-c", message)
        if not 0.0 <= kept["reads"] < math.inf:
            raise ConfigError("reads", f"{kept['reads']} is not usable; accepted: 0 or more")
        asked = replace(usual, retention_h=hours, retention_c=celsius)
        if asked != usual:
            warnings.append(
                f"data is kept {hours:g} h at {celsius:g} °C, not {usual.retention_h:g} h at "
                f"{usual.retention_c:g} °C as JESD218 asks of class {usual.name}"
            )
        return cls(asked, kept["reads"], warnings)


# JESD218, recalled, unverified: one year at 30 C, three months at 40 C; 8 and 24 h of use a day.
CLASSES = {
    "client": DriveClass("client", 8760.0, 30.0, 1e-15, 0.03, 8.0),
    "enterprise": DriveClass("enterprise", 2190.0, 40.0, 1e-16, 0.03, 24.0),
}
"""The application classes of JESD218 by name."""


def arrhenius(ea_ev: float, from_c: float, to_c: float) -> float:
    """Return how many hours at one temperature an hour at another stands for.

    Args:
        ea_ev: Activation energy, eV, 0 to 3.
        from_c: Temperature of the hours that are asked for, degrees Celsius.
        to_c: Temperature of the hour, degrees Celsius.

    Returns:
        `exp(Ea / k (1 / T_from - 1 / T_to))`.

    Raises:
        ConfigError: for a value out of range.

    Source:
        Arrhenius; `k` by CODATA 2018.

    >>> round(arrhenius(1.1, 40, 85), 1)
    167.6
    """
    return _core.arrhenius(float(ea_ev), float(from_c), float(to_c))
