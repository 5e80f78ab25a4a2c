"""The figures of JESD218 by which a drive is judged, and temperature as time.

All of them are recalled from the standard, unverified: check them there before you certify
anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig

# Activation energy of retention, eV, JESD218. Recalled, unverified.
ACTIVATION_ENERGY_EV = 1.1
# Bakes that stand for the retention of both classes, degrees Celsius and hours. Recalled,
# unverified; the hours that the classes ask for are within 5 % at 1.1 eV.
BAKE_C, BAKE_H = 66.0, 96.0


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
        """
        return self.retention_h / arrhenius(ea_ev, self.retention_c, temperature_c)

    def under_power(self, device: DeviceConfig) -> DriveClass:
        """Return the class for a drive under power, whose data is no older than its refresh.

        Args:
            device: The drive, with `ftl.refresh.after_days`.

        Raises:
            ConfigError: if `ftl.refresh.after_days` is not set.
        """
        refresh = device.to_dict()["ftl"].get("refresh")
        days = refresh.get("after_days") if isinstance(refresh, dict) else None
        if days is None:
            message = (
                "ftl.refresh.after_days is not set, so the drive renews no data under power; "
                "accepted: a device with ftl.refresh.after_days"
            )
            raise ConfigError("powered", message)
        return replace(self, retention_h=min(self.retention_h, 24.0 * float(days)))


# JESD218, recalled, unverified: one year at 30 C, three months at 40 C; 8 and 24 h of use a day.
CLASSES = {
    "client": DriveClass("client", 8760.0, 30.0, 1e-15, 0.03, 8.0),
    "enterprise": DriveClass("enterprise", 2190.0, 40.0, 1e-16, 0.03, 24.0),
}
"""The application classes of JESD218 by name."""


def arrhenius(ea_ev: float, from_c: float, to_c: float) -> float:
    """Return JEDEC's acceleration factor: the hours at one temperature that one hour at another is.

    Args:
        ea_ev: Activation energy, eV, 0 to 3.
        from_c: Temperature of use, degrees Celsius.
        to_c: Temperature of stress, degrees Celsius.

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
