"""How long a step of a test takes: as the specification says, scaled to the drive, or for a smoke.

A minute of 4 KiB writes at 50 000 a second is 3 million commands. A simulated drive is also much
smaller than a real one, so that 30 minutes of writing would not fill half of it but all of it many
times. What decides the state of a drive is not minutes but how often it was filled; so `scaled`
keeps the *drive fills* of a real drive of 256 GiB to 1 TiB and gives up the minutes. Rounds, the
window and the steady-state rule are never scaled, and neither is idle time against the time in
which a drive reclaims a block.

    step                   full             scaled                          smoke
    cell (one minute)      60 s             0.2 s and 2000 requests         200 requests
    gap (30 minutes)       1800 s           0.5 x user capacity             0.1 x
    preconditioning        2 x capacity     2 x                             1 x
    write saturation       4 x or 6/24 h    4 x                             2 x

Scaled and smoke figures are of the implementation; the full ones are those of the specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from opennandlab.documents import pts_header
from opennandlab.targets.base import Limit

Name = Literal["full", "scaled", "smoke"]
NAMES: tuple[Name, ...] = ("full", "scaled", "smoke")

MINUTE_S = 60.0
HOUR_S = 3600.0
# A sample of one minute after 30 minutes of writing: SNIA PTS tutorial, E. Kim and E. Ho, 2013.
GAP_MINUTES = 30
# Of a scaled cell; a capped one ends here in any case.
CELL_S_MIN = 0.2
CELL_IOS_MIN = {"scaled": 2000, "smoke": 200}
# A cell in which some of the first requests are still under way has not measured its queue.
CELL_IOS_PER_OUTSTANDING = {"scaled": 4, "smoke": 2}
CELL_RAMP_RATIO = 0.02
# A smoke on a real drive only shows that everything works.
SMOKE_REAL_S_MAX = 5.0
GAP_CAPACITIES = {"scaled": 0.5, "smoke": 0.1}
GAP_PIECES = {"full": GAP_MINUTES, "scaled": GAP_MINUTES, "smoke": 3}
# Capacities written by workload independent preconditioning, relative to what was asked for.
WIPC_FACTOR = {"full": 1.0, "scaled": 1.0, "smoke": 0.5}
SATURATION_FACTOR = {"full": 1.0, "scaled": 1.0, "smoke": 0.5}
# Ten samples beyond 99.999 % take a million.
HISTOGRAM_IOS = {"scaled": 1_000_000, "smoke": 2_000}
# Host idle recovery: u = 5 s and 360 loops (Kim and Ho) on a drive of 256 GiB.
HIR_UNIT_S = 5.0
HIR_LOOPS = {"full": 360, "scaled": 36, "smoke": 6}
HIR_BYTES = 256 << 30
HIR_RECLAIMS_MIN = 10
HIR_UNIT_REAL_S_MIN = {"scaled": 1.0, "smoke": 0.1}
# Cross stimulus recovery: 8, 6 and 8 hours of one-minute samples.
XSR_SAMPLES = {"full": (480, 360, 480), "scaled": (480, 360, 480), "smoke": (16, 12, 16)}
XSR_CAPACITIES = {"scaled": (4.0, 3.0, 4.0), "smoke": (1.0, 1.0, 1.0)}
# Demand tests: 5 minutes of writes before a round, 60 before a point.
PRE_WRITE_S = {"round": 5 * MINUTE_S, "point": 60 * MINUTE_S}
PRE_WRITE_CAPACITIES = {
    "scaled": {"round": 0.1, "point": 1.0},
    "smoke": {"round": 0.02, "point": 0.1},
}
# Stability: 20 minutes in samples of one second.
STABILITY_SAMPLES = {"full": 1200, "scaled": 300, "smoke": 20}
STABILITY_SAMPLE_S_MIN = {"scaled": 0.05, "smoke": 0.01}
STABILITY_SAMPLE_REAL_S_MIN = {"scaled": 1.0, "smoke": 0.1}
# Consistency: an hour in samples of one second; capacities written where it is scaled.
CONSISTENCY_SAMPLES = {"full": 3600, "scaled": 180, "smoke": 18}
CONSISTENCY_CAPACITIES = {"scaled": 3.0, "smoke": 0.5}
# Workload independence: 30 minutes of each load.
INDEPENDENCE_CAPACITIES = {
    "scaled": {"sequential": 0.25, "random": 1.0},
    "smoke": {"sequential": 0.1, "random": 0.2},
}


@dataclass(frozen=True)
class TimeBase:
    """Limits of the steps of a test on one target.

    Args:
        name: `full`, `scaled` or `smoke`.
        is_virtual: Whether the target's time passes only while it works.
        capacity_bytes: User capacity of the target.
        reclaim_s: Time in which it reclaims one block, where that is known; else 0.
    """

    name: Name
    is_virtual: bool
    capacity_bytes: int
    reclaim_s: float = 0.0

    def cell(self, outstanding: int = 1) -> Limit:
        """Return the limit of one cell, a minute of the specification."""
        if self.name == "full":
            return Limit(seconds=MINUTE_S)
        ios = max(CELL_IOS_MIN[self.name], CELL_IOS_PER_OUTSTANDING[self.name] * outstanding)
        if self.name == "scaled":
            return Limit(
                seconds=CELL_S_MIN, ios=ios, seconds_max=MINUTE_S, ramp_ratio=CELL_RAMP_RATIO
            )
        return Limit(ios=ios, seconds_max=MINUTE_S if self.is_virtual else SMOKE_REAL_S_MAX)

    def capacities(self, count: float) -> Limit:
        """Return the limit of writing `count` times the user capacity."""
        return Limit(bytes=max(self._sector_round(count * self.capacity_bytes), 4096))

    def gap(self) -> Limit:
        """Return the limit of the 30 minutes between two samples."""
        if self.name == "full":
            return Limit(seconds=GAP_MINUTES * MINUTE_S)
        return self.capacities(GAP_CAPACITIES[self.name])

    @property
    def gap_pieces(self) -> int:
        """Pieces into which a gap is cut where its course is recorded."""
        return GAP_PIECES[self.name]

    def minute(self) -> Limit:
        """Return the limit of one piece of a recorded gap, and of the sample after it."""
        if self.name == "full":
            return Limit(seconds=MINUTE_S)
        return self.capacities(GAP_CAPACITIES[self.name] / self.gap_pieces)

    def wipc_capacities(self, asked: float) -> float:
        """Return how often preconditioning fills the drive where `asked` is the standard's."""
        return asked * WIPC_FACTOR[self.name]

    def saturation_bytes(self, asked_capacities: float) -> int:
        """Return the bytes after which write saturation ends."""
        return self._sector_round(
            asked_capacities * SATURATION_FACTOR[self.name] * self.capacity_bytes
        )

    def saturation_s(self, asked_s: float) -> float | None:
        """Return the time after which write saturation ends; None for never."""
        return asked_s if self.name == "full" else None

    def histogram(self, full_s: float) -> Limit:
        """Return the limit of a step whose every response time is kept."""
        if self.name == "full":
            return Limit(seconds=full_s)
        seconds_max = full_s if self.name == "scaled" or self.is_virtual else SMOKE_REAL_S_MAX
        return Limit(ios=HISTOGRAM_IOS[self.name], seconds_max=seconds_max)

    def idle_unit_s(self) -> float:
        """Return u of host idle recovery."""
        if self.name == "full":
            return HIR_UNIT_S
        unit = HIR_UNIT_S * self.capacity_bytes / HIR_BYTES
        if not self.is_virtual:
            if self.name == "smoke":
                return HIR_UNIT_REAL_S_MIN["smoke"]
            return min(HIR_UNIT_S, max(unit, HIR_UNIT_REAL_S_MIN["scaled"]))
        # To the microsecond, so that a report can print it.
        return round(max(unit, HIR_RECLAIMS_MIN * self.reclaim_s, 1e-4), 6)

    @property
    def idle_loops(self) -> int:
        """Loops in each part of a segment of host idle recovery."""
        return HIR_LOOPS[self.name]

    def cross_groups(self) -> list[tuple[int, Limit]]:
        """Return samples, and the limit of one, for the groups of cross stimulus recovery."""
        samples = XSR_SAMPLES[self.name]
        if self.name == "full":
            return [(count, Limit(seconds=MINUTE_S)) for count in samples]
        shares = XSR_CAPACITIES[self.name]
        return [
            (count, self.capacities(share / count))
            for count, share in zip(samples, shares, strict=True)
        ]

    def pre_write(self, before: Literal["round", "point"]) -> Limit:
        """Return the limit of the writes before a round or an operating point of a demand test."""
        if self.name == "full":
            return Limit(seconds=PRE_WRITE_S[before])
        return self.capacities(PRE_WRITE_CAPACITIES[self.name][before])

    def stability(self) -> tuple[int, float]:
        """Return how many samples the stability test takes, and the length of one in seconds."""
        count = STABILITY_SAMPLES[self.name]
        if self.name == "full":
            return count, 1.0
        floor = STABILITY_SAMPLE_S_MIN if self.is_virtual else STABILITY_SAMPLE_REAL_S_MIN
        if self.name == "smoke":
            return count, floor["smoke"]
        return count, round(max(floor["scaled"], self.capacity_bytes / HIR_BYTES), 6)

    def consistency(self) -> tuple[int, Limit]:
        """Return how many samples the consistency test takes, and the limit of one."""
        count = CONSISTENCY_SAMPLES[self.name]
        if self.name == "full":
            return count, Limit(seconds=1.0)
        return count, self.capacities(CONSISTENCY_CAPACITIES[self.name] / count)

    def independence(self, load: Literal["sequential", "random"]) -> Limit:
        """Return the limit of one load of the workload independence test."""
        if self.name == "full":
            return Limit(seconds=GAP_MINUTES * MINUTE_S)
        return self.capacities(INDEPENDENCE_CAPACITIES[self.name][load])

    def describe(self) -> pts_header.TimeBase:
        """Return what a report says of it."""
        cell, gap = self.cell(), self.gap()
        return pts_header.TimeBase(
            name=self.name,
            clock="virtual" if self.is_virtual else "real",
            cell=pts_header.CellLength(
                seconds=cell.seconds,
                ios=cell.ios,
                seconds_max=cell.seconds_max,
                ramp_ratio=cell.ramp_ratio,
            ),
            gap=pts_header.GapLength(
                seconds=gap.seconds,
                bytes=gap.bytes,
                capacities=gap.bytes / self.capacity_bytes if gap.bytes else None,
            ),
        )

    def _sector_round(self, count: float) -> int:
        """Return whole 4 KiB, so that no request is cut."""
        return int(count) // 4096 * 4096
