"""Options of verbs that ask an error model."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from opennandlab.cli._typed import typed_device
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import flag


class Class(str, Enum):
    """Application classes of JESD218."""

    CLIENT = "client"
    ENTERPRISE = "enterprise"


class Around(str, Enum):
    """Read levels around which a page is sensed."""

    DEFAULT = "default"
    BEST = "best"


Reads = Annotated[float, flag("Reads of the block since programming, per page of it.", "--reads")]


@dataclass(frozen=True, kw_only=True)
class StressOptions(Printed):
    """A model, and what its cells went through."""

    model: Annotated[
        str,
        flag(
            "tlc, slc, mlc, qlc, kim, weibull, power_law, exponential, read_disturb, a device "
            "preset, or a YAML file with a `reliability` section.",
            "-m",
            metavar="NAME|FILE",
            callback=typed_device,
        ),
    ] = "tlc"
    pe: Annotated[float, flag("Program/erase cycles of the block.")] = 3000.0
    retention_h: Annotated[float, flag("Hours since programming.")] = 8760.0
    temperature_c: Annotated[float, flag("Temperature during these hours, °C.")] = 40.0
    reads: Reads = 0.0

    def stress(self) -> dict[str, float]:
        """Return the stress, as models take it."""
        return stress_of(self.pe, self.retention_h, self.temperature_c, self.reads)


def stress_of(pe: float, hours: float, celsius: float, reads: float) -> dict[str, float]:
    """Return a stress, as models take it."""
    return {"pe_cycles": pe, "retention_h": hours, "temperature_c": celsius, "reads": reads}
