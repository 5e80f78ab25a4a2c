"""How much a scaled drive understates the write amplification of the whole one.

```text
whole drive, untimed ─► fill, 3 drive writes ─► WAF of 1 more ┐
                                                              ├─► factor
scaled drive         ─► the same, over 2^23 pages or more     ┘
```
A scaled drive has other groups of pages on a die, fewer blocks to choose from, and maybe shorter
ones, so its amplification is up to a tenth below that of the whole drive. The amplification is
measured on the whole drive if that takes about as long as the test itself, else on a drive of its
blocks, spare factor and at least four dies, which is within 1 % of it (measured). On fewer dies the
hottest page of a Zipf law takes a larger share of its die, which raises the amplification (by 2.4 %
on 30 dies for 40, `sata_b_2009`): such a drive may have five times the pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opennandlab.base.errors import InternalError
from opennandlab.core.config import DeviceConfig
from opennandlab.core.run import Simulation
from opennandlab.core.slices import Progress
from opennandlab.reliability.scaling import pages_of, same_blocks
from opennandlab.reliability.writes import Writes

# Drive writes after the fill until the amplification is steady: greedy at 7 % is within 0.1 %.
SETTLING, MEASURED = 3.0, 1.0
# A drive of a fortieth of the programs: filled and written four times, it takes about as many.
PROGRAMS_PER_PAGE = 40.0
# Factor on the pages of the drive on which a Zipf law is measured.
ZIPF_PAGES = 5
# Pages that are written on a scaled drive while its amplification is measured, and the limit.
PAGES_MIN, MEASURED_MAX = 1 << 23, 512.0


@dataclass(frozen=True, kw_only=True)
class Amplification:
    """Write amplifications of the whole drive and of the scaled one.

    Args:
        whole: Of the whole drive.
        scaled: Of the scaled one.
        pages: Physical pages of the drive that the first was measured on.
    """

    whole: float
    scaled: float
    pages: int

    @property
    def factor(self) -> float:
        """By how much that of the whole drive is higher."""
        return self.whole / self.scaled


def amplification(  # noqa: PLR0913, PLR0917 - two drives, and how they are written
    whole: DeviceConfig,
    small: DeviceConfig,
    work: Writes,
    programs: float,
    seed: int,
    progress: Callable[[Progress], None] | None,
) -> Amplification | None:
    """Measure the write amplification of a whole drive and of one that was scaled down from it.

    Args:
        whole: The whole drive.
        small: The scaled one.
        work: What the host writes to the whole drive.
        programs: Page programs of the test, about.
        seed: Seed of drives and addresses.
        progress: Called about 50 times a second.

    Returns:
        Both; None if the scaled drive is the whole one, or no better one is small enough.
    """
    pages_max = programs / PROGRAMS_PER_PAGE * (ZIPF_PAGES if work.is_zipf else 1)
    better = whole if pages_of(whole) <= pages_max else same_blocks(whole, pages_max)
    if better is None or pages_of(better) <= pages_of(small):
        return None
    found = [_measured(one, work.fitted(whole, one), seed, progress) for one in (better, small)]
    return Amplification(whole=found[0], scaled=found[1], pages=pages_of(better))


def _measured(
    device: DeviceConfig,
    work: Writes,
    seed: int,
    progress: Callable[[Progress], None] | None,
) -> float:
    """Return the steady write amplification of a drive whose blocks do not wear out."""
    drive = Simulation(device.replace({"nand.wear_out": "ignore"}), seed)
    drive.precondition([{"kind": "sequential_fill"}], progress=progress)
    work.run(drive, SETTLING, progress)
    amount = min(max(MEASURED, PAGES_MIN / pages_of(device)), MEASURED_MAX)
    found = work.run(drive, amount, progress)
    metrics = found.content.metrics
    if metrics is None or metrics.waf is None:
        raise InternalError("a run that wrote has no write amplification")
    return metrics.waf
