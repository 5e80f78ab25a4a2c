"""How long a step of a test takes: as the specification says, scaled to the drive, or for a smoke.

A minute of 4 KiB writes at 50 000 a second is 3 million commands, and most of them add nothing to a
mean. What must not be cut short is what brings the drive into its state: writes, until it collects.
So a `scaled` cell that writes goes on until collections have reclaimed 16 blocks with live pages
in every pool (a die, or a group of superblocks) of a simulated drive, or for its minute; until a
drive has used up its spare area such a cell *is* a minute. Cells of reads take 2000 requests. Steps
between cells keep the *drive fills* of a real drive of 256 GiB to 1 TiB and give up the minutes.
Scaled cells of a drive that heats up, or saves its wear budget while it is read, are minutes.
How fast a drive reads depends on what was written last, and how: minutes of small writes scatter
its data, minutes of large ones bring them together again. So what a random cell would have written
in the rest of its minute is written behind it without a clock, at most the range.
Rounds, the window and the steady-state rule are never scaled, and neither is idle time against the
time in which a drive reclaims a block.

    step                   full             scaled                          smoke
    cell of writes         60 s             16 blocks reclaimed, or 60 s    200 requests
    cell of reads          60 s             0.2 s and 2000 requests         200 requests
    gap (30 minutes)       1800 s           0.5 x user capacity             0.1 x
    preconditioning        2 x capacity     2 x                             1 x
    write saturation       4 x or 6/24 h    10 x                            2 x

A real drive does not tell what it reclaims: its scaled cells last a minute x capacity / 256 GiB, at
least 1 s, and its smoke cells 0.25 to 3 s, one round of them.

Every step that is shorter (or longer) than the specification has it is noted when it is asked for,
and named in the header of the document. Scaled and smoke figures are of the implementation; the
full ones are those of the specification.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from opennandlab.documents import pts_header
from opennandlab.targets.base import Limit, Measurement, Stimulus

Name = Literal["full", "scaled", "smoke"]
NAMES: tuple[Name, ...] = ("full", "scaled", "smoke")

MINUTE_S = 60.0
HOUR_S = 3600.0
# Times of the specification are of drives about as large, or larger.
REFERENCE_BYTES = 256 << 30
# A sample of one minute after 30 minutes of writing: SNIA PTS tutorial, E. Kim and E. Ho, 2013.
GAP_MINUTES = 30
# Of a scaled cell, and of one that writes and has no collections to wait for.
CELL_S_MIN, CELL_S_SMALL_RANGE = 0.2, 1.0
CELL_IOS_MIN = {"scaled": 2000, "smoke": 200}
# Of random writes no more than so many bytes: large requests have no larger part in what a round
# writes than in whole minutes.
CELL_BYTES_MIN = 2000 * (128 << 10)
# Of the range, behind a cell: random writes of so much leave 37 % of it as it was.
REST_FILLS_MAX = 1.0
# A smaller request moves a page all the same.
PAGE_BYTES = 4096
# A cell in which some of the first requests are still in progress has not measured its queue.
CELL_IOS_PER_OUTSTANDING = {"scaled": 4, "smoke": 2}
CELL_RAMP_RATIO = 0.02
RAMP_RATIO_MAX = 0.5
# A scaled cell of reads begins when the drive has done nothing by itself for so long: what writes
# before it have left to do would be a third of its time, and is a second of a minute.
CELL_QUIET_S = 0.05
# A scaled cell of writes: blocks that every pool of a simulated drive, or every group of its
# superblocks, reclaims.
CELL_RECLAIMS = 16
# Where reads do not wait for slow writes, a closed loop fills up with writes. Until then it answers
# outstanding / share of writes requests more than it can keep up: part of a minute, and at most a
# twentieth of a scaled cell.
MIX_TURNS = 20
# A smoke on a real drive only shows that everything works; fio's clock counts milliseconds, so a
# cell of a quarter of a second is known to half a percent.
SMOKE_REAL_CELL_S = 0.25
SHORT_DIGITS = 3
# A queue must turn over, or its filling and draining is all that is measured. The two cost 0.7 of
# a turn (measured; 1024 x 128 KiB): under 5 % of so many, on a drive of twice these rates.
SMOKE_REAL_TURNS, SMOKE_REAL_B_S, SMOKE_REAL_IOPS = 8, 400e6, 30e3
SMOKE_REAL_S_MAX = 3.0
# Where a step is counted in drive fills, a smoke on a real drive counts this instead: threads that
# have their share of a few megabytes do not end together, and then the queue is not full.
SMOKE_REAL_STEP_S = 1.0
# It shows that a test works, not that it gets steady.
SMOKE_REAL_ROUNDS = 1
SCALED_REAL_S_MIN = 1.0
GAP_CAPACITIES = {"scaled": 0.5, "smoke": 0.1}
GAP_PIECES = {"full": GAP_MINUTES, "scaled": GAP_MINUTES, "smoke": 3}
# Capacities written by workload independent preconditioning, relative to what was asked for.
WIPC_FACTOR = {"full": 1.0, "scaled": 1.0, "smoke": 0.5}
# Virtual time is free: a drive that needs more than four fills to become steady gets ten.
SATURATION_FACTOR = {"full": 1.0, "scaled": 2.5, "smoke": 0.5}
# Rounds of writes to the steady state before a test, where they are not what is measured.
PRECONDITION_FACTOR = 2
# Ten samples beyond 99.999 % take a million.
HISTOGRAM_IOS = {"scaled": 1_000_000, "smoke": 2_000}
# Host idle recovery: u = 5 s and 360 loops (Kim and Ho) on a drive of 256 GiB.
HIR_UNIT_S = 5.0
HIR_LOOPS = {"full": 360, "scaled": 36, "smoke": 6}
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
CONSISTENCY_S = 3600.0
CONSISTENCY_CAPACITIES = {"scaled": 3.0, "smoke": 0.5}
# Burst: the first second.
BURST_CAPACITIES = 0.01
# The rest before it, of a real drive in a smoke.
SMOKE_REST_S = 1.0
# Position: what is written and read of a slice.
SLICE_SHARE = {"full": 1.0, "scaled": 1.0, "smoke": 1 / 16}
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
        cell_s: Length of a cell that the user asked for; None for that of the time base.
        is_throttled: Whether the drive slows down by what it did in the minutes before.
        is_range_small: Whether all writes fit into the spare area: no collections to wait for.
    """

    name: Name
    is_virtual: bool
    capacity_bytes: int
    reclaim_s: float = 0.0
    cell_s: float | None = None
    is_throttled: bool = False
    is_range_small: bool = False
    # Steps that were asked for and differ from the specification: step -> what it is here.
    noted: dict[str, str] = field(default_factory=dict, init=False, compare=False, repr=False)
    # Steps that were asked for and whose length the user may set.
    asked: set[str] = field(default_factory=set, init=False, compare=False, repr=False)

    def cell(self, stimulus: Stimulus) -> Limit:
        """Return the limit of one cell, a minute of the specification."""
        self.asked.add("cells")
        if self.cell_s is not None:
            self._note("cells", f"{self.cell_s:g} s", "60 s")
            return Limit(seconds=self.cell_s)
        if self.name == "full" or (self.name == "scaled" and self.is_throttled):
            return Limit(seconds=MINUTE_S)
        kind = "reads" if stimulus.read_pct >= 100 else "writes"
        many = CELL_IOS_PER_OUTSTANDING[self.name] * stimulus.outstanding
        ios = max(CELL_IOS_MIN[self.name], many)
        if kind == "writes" and self.name == "scaled" and stimulus.pattern == "random":
            ios = max(min(ios, CELL_BYTES_MIN // _bytes_max(stimulus)), many)
        if not self.is_virtual:
            if self.name == "smoke":
                seconds = self._real_smoke_s("cells", SMOKE_REAL_CELL_S, stimulus, "60 s")
            else:
                seconds = self._real_seconds(MINUTE_S)
                if seconds == MINUTE_S:
                    return Limit(seconds=seconds)
                self._note("cells", f"{seconds:g} s", "60 s")
            # A slow drive may not turn its queue over in that time.
            return Limit(seconds=seconds, ios=many, seconds_max=MINUTE_S)
        if self.name == "smoke":
            self._note("cells", f"{CELL_IOS_MIN[self.name]} requests or more", "60 s")
            return Limit(ios=ios, seconds_max=MINUTE_S)
        reclaims = 0 if kind == "reads" or self.is_range_small else CELL_RECLAIMS
        seconds = CELL_S_MIN if kind == "reads" or reclaims else CELL_S_SMALL_RANGE
        what = f"{seconds:g} s and {CELL_IOS_MIN[self.name]} requests or more"
        what += ", once the drive itself is idle" if kind == "reads" else ""
        if reclaims:
            what = f"until {CELL_RECLAIMS} blocks are reclaimed in every pool, at most 60 s"
        self._note(f"cells of {kind}", what, "60 s")
        ramp, ios = CELL_RAMP_RATIO * ios, max(ios, _mixing(stimulus))
        return Limit(
            seconds=seconds,
            ios=ios,
            reclaims=reclaims,
            seconds_max=MINUTE_S,
            ramp_ratio=ramp / ios,
            quiet_seconds=CELL_QUIET_S if kind == "reads" else 0.0,
        )

    def whole(self, limit: Limit) -> Limit:
        """Return the limit of a scaled cell that is to be as long as in `full`, and has no ramp.

        It lasts a minute anyhow, begins in a state that a shorter one would not use up, or decides
        a longest response time: one request of millions. Written behind it, the rest costs as much.
        """
        if self.name == "scaled" and self.is_virtual and self.cell_s is None:
            return Limit(seconds=MINUTE_S)
        return limit

    def rest_of_minute(
        self, stimulus: Stimulus, measured: Measurement, range_bytes: int
    ) -> tuple[int, float]:
        """Return what a random cell would have written more in its minute, to be written at once.

        Args:
            stimulus: What the cell did.
            measured: What it gave.
            range_bytes: What the test may touch. At most `REST_FILLS_MAX` times as much is
                written, where a request of less than 4 KiB counts as one of 4 KiB.

        Returns:
            Bytes, whole 4 KiB, and the seconds they would have taken. Nothing where cells are whole
            minutes, on a real drive and in a smoke.
        """
        if self.name != "scaled" or not self.is_virtual or self.cell_s is not None:
            return 0, 0.0
        left_s = MINUTE_S - (measured.elapsed_s or MINUTE_S)
        if left_s <= 0 or not measured.seconds or not measured.writes.bytes:
            return 0, 0.0
        rate = measured.writes.bytes / measured.seconds
        covered = max(PAGE_BYTES / _bytes_max(stimulus), 1.0)
        size = self._sector_round(min(rate * left_s, REST_FILLS_MAX * range_bytes / covered))
        here = f"written behind it without a clock, at most {REST_FILLS_MAX:g} times the range"
        self._note("rest of the minute of random writes", here, "measured")
        return size, size / rate

    def ratio(self, value: float | None, base: float | None) -> float | None:
        """Return a ratio of two rates with the digits that the clock of short cells supports."""
        return self.rate(value / base) if value is not None and base else None

    def rate(self, value: float | None) -> float | None:
        """Return a mean of rates with the digits that the clock of short cells supports."""
        is_short = not self.is_virtual and self.name != "full"
        return float(f"{value:.{SHORT_DIGITS}g}") if is_short and value is not None else value

    def with_ramp(self, limit: Limit, stimulus: Stimulus) -> Limit:
        """Return a limit by requests or bytes whose ramp is as long as it takes to fill the queue.

        A cell of a simulated drive begins with an empty queue: requests that meet no others are
        answered early. Requests are added to those that count; bytes, of which a test writes so
        many and no more, are a part of them.
        """
        queued = stimulus.outstanding
        if queued == 1 or stimulus.is_counted:
            return limit
        if limit.ios:
            ramp = max(limit.ramp_ratio * limit.ios, queued)
            ios = round(limit.ios * (1 - limit.ramp_ratio) + ramp)
            return replace(limit, ios=ios, ramp_ratio=ramp / ios)
        if limit.bytes:
            share = min(queue_bytes(stimulus) / limit.bytes, RAMP_RATIO_MAX)
            return replace(limit, ramp_ratio=max(limit.ramp_ratio, share))
        return limit

    @property
    def _is_real_smoke(self) -> bool:
        return self.name == "smoke" and not self.is_virtual

    def _real_smoke_s(self, step: str, least_s: float, stimulus: Stimulus, standard: str) -> float:
        """Return the length of a step of a smoke on a real drive, and note it."""
        turn_s = queue_bytes(stimulus) / SMOKE_REAL_B_S + stimulus.outstanding / SMOKE_REAL_IOPS
        self._note(step, f"{least_s:g} to {SMOKE_REAL_S_MAX:g} s", standard)
        return round(min(max(SMOKE_REAL_TURNS * turn_s, least_s), SMOKE_REAL_S_MAX), 3)

    def _real_seconds(self, seconds: float) -> float:
        """Return what is left of a time on a real drive smaller than one of 256 GiB."""
        share = self.capacity_bytes / REFERENCE_BYTES
        return round(min(seconds, max(seconds * share, SCALED_REAL_S_MIN)), 3)

    def capacities(self, count: float) -> Limit:
        """Return the limit of writing `count` times the user capacity."""
        return Limit(bytes=max(self._sector_round(count * self.capacity_bytes), 4096))

    def gap(self, stimulus: Stimulus) -> Limit:
        """Return the limit of the 30 minutes between two samples."""
        step = "gaps between samples"
        if self.name == "full":
            return Limit(seconds=GAP_MINUTES * MINUTE_S)
        if self._is_real_smoke:
            return Limit(seconds=self._real_smoke_s(step, SMOKE_REAL_STEP_S, stimulus, "30 min"))
        self._note(step, _fills(GAP_CAPACITIES[self.name]), "30 min")
        return self.capacities(GAP_CAPACITIES[self.name])

    @property
    def gap_pieces(self) -> int:
        """Pieces into which a gap is cut where its course is recorded."""
        return GAP_PIECES[self.name]

    def minute(self) -> Limit:
        """Return the limit of one piece of a recorded gap, and of the sample after it."""
        if self.name == "full":
            return Limit(seconds=MINUTE_S)
        if self._is_real_smoke:
            self._note("minutes of the course", f"{SMOKE_REAL_CELL_S:g} s", "60 s")
            return Limit(seconds=SMOKE_REAL_CELL_S)
        share = GAP_CAPACITIES[self.name] / self.gap_pieces
        self._note("minutes of the course", _fills(share), "60 s")
        return self.capacities(share)

    def wipc_capacities(self, asked: float) -> float:
        """Return how often preconditioning fills the drive where `asked` is the standard's."""
        return asked * WIPC_FACTOR[self.name]

    def note_wipc(self, asked: float) -> None:
        """Note that the drive is preconditioned, where that is less than the standard's."""
        here = self.wipc_capacities(asked)
        if here != asked:
            self._note("preconditioning", _fills(here), _fills(asked))

    def fills_first(self) -> bool:
        """Return whether the writes to the steady state are too short to fill the range.

        What a mix writes over data that were never written is drawn again for each request, which
        keeps a processor from filling the queue (see `targets.fio.job`).
        """
        if self._is_real_smoke:
            self._note("sequential fill before the writes", "once the range", "none")
        return self._is_real_smoke

    def saturation_bytes(self, asked_capacities: float, step: str = "write saturation") -> int:
        """Return the bytes after which write saturation ends, or another such step."""
        factor = SATURATION_FACTOR[self.name]
        if self.name == "scaled" and not self.is_virtual:
            factor = 1.0
        if factor != 1 and self.name != "smoke":
            self._note(step, _fills(asked_capacities * factor), _fills(asked_capacities))
        return self._sector_round(asked_capacities * factor * self.capacity_bytes)

    def note_saturation(
        self, asked_capacities: float, written_capacities: float, step: str = "write saturation"
    ) -> None:
        """Note how far a smoke went: its rounds end it, or the steady state, before its bytes."""
        if self.name == "smoke":
            standard = f"until steady, at most {_fills(asked_capacities)}"
            self._note(step, _fills(written_capacities), standard)

    @property
    def waits_for_collection(self) -> bool:
        """Whether write saturation goes on until the drive collects; its time costs nothing."""
        return self.is_virtual and self.name == "scaled"

    def note_longer(self) -> None:
        """Note that rounds went on after the rule held."""
        self._note("rounds", "until steady and collecting", "until steady")

    def saturation_s(self, asked_s: float) -> float | None:
        """Return the time after which write saturation ends; None for never."""
        return asked_s if self.name == "full" else None

    def histogram(self, full_s: float, stimulus: Stimulus) -> Limit:
        """Return the limit of a step whose every response time is kept."""
        if self.name == "full":
            return Limit(seconds=full_s)
        if self._is_real_smoke:
            standard = f"{full_s / 60:g} min"
            seconds = self._real_smoke_s("histograms", SMOKE_REAL_STEP_S, stimulus, standard)
            return Limit(seconds=seconds)
        ios = HISTOGRAM_IOS[self.name]
        self._note("histograms", f"{ios} requests or {full_s:g} s", f"{full_s / 60:g} min")
        return Limit(ios=ios, seconds_max=full_s)

    def idle_unit_s(self) -> float:
        """Return u of host idle recovery."""
        if self.name == "full":
            return HIR_UNIT_S
        unit = HIR_UNIT_S * self.capacity_bytes / REFERENCE_BYTES
        if self.is_virtual:
            # To the microsecond, so that a report can print it.
            unit = round(min(HIR_UNIT_S, max(unit, HIR_RECLAIMS_MIN * self.reclaim_s, 1e-4)), 6)
        elif self.name == "smoke":
            unit = HIR_UNIT_REAL_S_MIN["smoke"]
        else:
            unit = min(HIR_UNIT_S, max(unit, HIR_UNIT_REAL_S_MIN["scaled"]))
        self._note("unit of writes and pauses", f"{unit:g} s", f"{HIR_UNIT_S:g} s")
        self._note("loops of a part", str(HIR_LOOPS[self.name]), str(HIR_LOOPS["full"]))
        return unit

    @property
    def idle_loops(self) -> int:
        """Loops in each part of a segment of host idle recovery."""
        return HIR_LOOPS[self.name]

    def cross_groups(self, stimuli: Sequence[Stimulus]) -> list[tuple[int, Limit]]:
        """Return samples, and the limit of one, for the groups of cross stimulus recovery.

        Args:
            stimuli: The loads of the three groups. A sample turns their queue over a few times:
                small drives have fewer samples, and the smallest are filled more often.
        """
        samples = XSR_SAMPLES[self.name]
        if self.name == "full":
            return [(count, Limit(seconds=MINUTE_S)) for count in samples]
        if self._is_real_smoke:
            each = Limit(seconds=SMOKE_REAL_STEP_S)
            for number, (count, hours) in enumerate(zip(samples, (8, 6, 8), strict=True), start=1):
                here = f"{count} samples of {SMOKE_REAL_STEP_S:g} s"
                self._note(f"group {number}", here, f"{hours} h")
            return [(count, each) for count in samples]
        groups = []
        shares, least_samples = XSR_CAPACITIES[self.name], XSR_SAMPLES["smoke"]
        rows = zip(shares, (8, 6, 8), samples, least_samples, stimuli, strict=True)
        for number, (asked, hours, most, fewest, stimulus) in enumerate(rows, start=1):
            least = CELL_IOS_PER_OUTSTANDING[self.name] * queue_bytes(stimulus)
            count = min(most, max(int(asked * self.capacity_bytes // least), fewest))
            share = max(asked, count * least / self.capacity_bytes)
            self._note(f"group {number}", f"{_fills(share)}, not by time", f"{hours} h")
            groups.append((count, self.capacities(share / count)))
        return groups

    def pre_write(self, before: Literal["round", "point"], stimulus: Stimulus) -> Limit:
        """Return the limit of the writes before a round or an operating point of a demand test."""
        if self.name == "full":
            return Limit(seconds=PRE_WRITE_S[before])
        step, standard = f"writes before a {before}", f"{PRE_WRITE_S[before] / 60:g} min"
        if self._is_real_smoke:
            return Limit(seconds=self._real_smoke_s(step, SMOKE_REAL_STEP_S, stimulus, standard))
        share = PRE_WRITE_CAPACITIES[self.name][before]
        self._note(step, _fills(share), standard)
        return self.capacities(share)

    def stability(self) -> tuple[int, float]:
        """Return how many samples the stability test takes, and the length of one in seconds."""
        count = STABILITY_SAMPLES[self.name]
        if self.name == "full":
            return count, 1.0
        sample_s = self.sample_s
        standard = STABILITY_SAMPLES["full"]
        self._note("samples", f"{count} of {sample_s:g} s", f"{standard} of 1 s")
        return count, sample_s

    def consistency(self) -> tuple[Limit, float]:
        """Return the limit of the writes of the consistency test, and the length of a sample."""
        if self.name == "full":
            return Limit(seconds=CONSISTENCY_S), 1.0
        share, sample_s = CONSISTENCY_CAPACITIES[self.name], self.sample_s
        self._note("writes", f"{_fills(share)} in samples of {sample_s:g} s", "1 h, samples of 1 s")
        return self.capacities(share), sample_s

    @property
    def sample_s(self) -> float:
        """Length of a sample of a second, in proportion to the capacity."""
        if self.name == "full":
            return 1.0
        floor = STABILITY_SAMPLE_S_MIN if self.is_virtual else STABILITY_SAMPLE_REAL_S_MIN
        if self.name == "smoke":
            return floor["smoke"]
        return round(min(1.0, max(floor["scaled"], self.capacity_bytes / REFERENCE_BYTES)), 6)

    def burst(self) -> Limit:
        """Return the limit of the first piece of the burst test."""
        if self.name == "full":
            return Limit(seconds=1.0)
        if self._is_real_smoke:
            self._note("burst", f"{SMOKE_REAL_CELL_S:g} s", "1 s")
            return Limit(seconds=SMOKE_REAL_CELL_S)
        self._note("burst", _fills(BURST_CAPACITIES), "1 s")
        return self.capacities(BURST_CAPACITIES)

    def rest(self) -> float:
        """Return the seconds without requests before the burst test."""
        if self.is_virtual or self.name != "smoke":
            return MINUTE_S
        self._note("rest", f"{SMOKE_REST_S:g} s", "1 min")
        return SMOKE_REST_S

    def turn_bytes(self, queued_bytes: int) -> int:
        """Return what turns the queue over a few times."""
        few = CELL_IOS_PER_OUTSTANDING.get(self.name, CELL_IOS_PER_OUTSTANDING["scaled"])
        return few * queued_bytes

    def slice_bytes(self, size: int, block_bytes: int, least_bytes: int) -> int:
        """Return the bytes that are written and read of a slice of the position test."""
        part = max(int(SLICE_SHARE[self.name] * size), least_bytes, block_bytes)
        part = min(part, size) // block_bytes * block_bytes
        if part < size:
            self._note("slices", f"the first {part / size:.3g} of each", "all of each")
        return part

    def scatter(self, range_bytes: int) -> Limit:
        """Return the limit of the random writes of the position test: once the range."""
        share = SLICE_SHARE[self.name]
        if share < 1:
            self._note("random writes", f"{share:.3g} of the range", "all of it")
        return Limit(bytes=max(self._sector_round(share * range_bytes), 4096))

    def independence(self, load: Literal["sequential", "random"]) -> Limit:
        """Return the limit of one load of the workload independence test."""
        if self.name == "full":
            return Limit(seconds=GAP_MINUTES * MINUTE_S)
        if self._is_real_smoke:
            self._note(f"{load} writes", f"{SMOKE_REAL_STEP_S:g} s", "30 min")
            return Limit(seconds=SMOKE_REAL_STEP_S)
        share = INDEPENDENCE_CAPACITIES[self.name][load]
        self._note(f"{load} writes", _fills(share), "30 min")
        return self.capacities(share)

    @property
    def has_cells(self) -> bool:
        """Whether the test has asked for the length of a cell."""
        return "cells" in self.asked

    def describe(self) -> pts_header.TimeBase:
        """Return the record of the document."""
        aside = replace(self)  # nothing is noted for what no test has asked for
        cell = aside.cell(Stimulus()) if self.has_cells else Limit()
        gap = aside.gap(Stimulus())
        if not self.is_virtual:
            # Its least number of requests follows from the queue of each.
            cell = Limit(seconds=cell.seconds)
        return pts_header.TimeBase(
            name=self.name,
            clock="virtual" if self.is_virtual else "real",
            cell=pts_header.CellLength(
                seconds=cell.seconds,
                ios=cell.ios,
                seconds_max=cell.seconds_max,
                ramp_ratio=cell.ramp_ratio,
                reclaims=cell.reclaims or None,
            ),
            gap=pts_header.GapLength(
                seconds=gap.seconds,
                bytes=gap.bytes,
                capacities=gap.bytes / self.capacity_bytes if gap.bytes else None,
            ),
        )

    def rounds_max(self, asked: int | None, usual: int) -> int:
        """Return after how many rounds the search for the steady state ends."""
        if asked is not None:
            return asked
        if self.name != "smoke" or self.is_virtual:
            return usual
        self._note("rounds", str(SMOKE_REAL_ROUNDS), f"until steady, at most {usual}")
        return SMOKE_REAL_ROUNDS

    def precondition_rounds(self, asked: int | None, usual: int) -> int:
        """Return after how many rounds writes before a test end, where `usual` is the standard's.

        Virtual time is free: where a part of the range is hot, a drive needs more than 25 rounds.
        """
        if asked is None and self.is_virtual and self.name == "scaled":
            return PRECONDITION_FACTOR * usual
        return usual

    def note_precondition_rounds(self, count: int, usual: int) -> None:
        """Note how many rounds it took where that is more than the standard has."""
        if count > usual:
            self._note("rounds of preconditioning", str(count), f"at most {usual}")

    @property
    def deviations(self) -> list[str]:
        """Return every step that was asked for and is not as the specification has it."""
        return [f"{step}: {self.noted[step]}" for step in sorted(self.noted)]

    def _note(self, step: str, here: str, standard: str) -> None:
        if here != standard:
            self.noted[step] = f"{here} (standard: {standard})"

    def _sector_round(self, count: float) -> int:
        """Return whole 4 KiB, so that no request is cut."""
        return int(count) // 4096 * 4096


def _mixing(stimulus: Stimulus) -> int:
    """Return the least requests of a scaled cell of reads and writes, see `MIX_TURNS`."""
    if stimulus.read_pct in {0, 100}:
        return 0
    return math.ceil(MIX_TURNS * stimulus.outstanding * 100 / (100 - stimulus.read_pct))


def _bytes_max(stimulus: Stimulus) -> int:
    """Return the size of the largest requests."""
    block = stimulus.block_bytes
    return block if isinstance(block, int) else max(size for size, _ in block)


def queue_bytes(stimulus: Stimulus) -> int:
    """Return the bytes of all outstanding requests, at most."""
    return stimulus.outstanding * _bytes_max(stimulus)


def _fills(count: float) -> str:
    """Write a number of user capacities.

    >>> _fills(0.5)
    '0.5 drive fills'
    """
    return f"{count:.3g} drive fill{'' if count == 1 else 's'}"
