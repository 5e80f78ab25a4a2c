"""Write saturation: random 4 KiB writes from the state after a purge, minute by minute.

Nothing is written before, so the curve begins with a drive that is as fast as when it was new, and
shows where it stops being so. It ends by whichever comes first, and the document states which:

* bytes: four times the user capacity;
* time: 24 hours (PTS 1.1) or 6 hours (2.0), in the time base `full`;
* the five-point rule on one-minute averages, each after 30 minutes of writing.

A round of the rule is 31 minutes, its sample the last of them (by default), and a *minute* of the
scaled time bases is a thirtieth of their gap: what decides here is bytes, not minutes.

Derived: the level of the new drive (FOB), the *write cliff* and the last tenth by
`stats.saturation`; the steady level is the mean of the rule's window, or of the last five samples,
or of the last tenth.

Source: SNIA PTS tutorial, Kim and Ho, 2013, and SNIA SSS PTS-E 1.1 and 2.0.2; the derived figures
are of the implementation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opennandlab.documents.pts_results import SaturationResults
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.patterns import COMPOSITE
from opennandlab.pts.bench.plan import PUBLISHED, RANDOM_LOAD, Option
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import CellPlan, Rounds, Tracking, mean, until_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.time_base import HOUR_S
from opennandlab.pts.bench.words import name
from opennandlab.pts.tests import latency
from opennandlab.stats import saturation
from opennandlab.targets.base import Limit, Stimulus

KIB = 1024
WORKLOADS = ("rnd4k", "oltp", "vod", "metadata", "cbw")


def run(bench: Bench) -> Findings:
    """Write until the first of the three ends, then keep response times (since version 2.0)."""
    plan = bench.plan
    bench.purge()
    writing = Writing(bench, workload(bench))
    tracked = [Tracking("iops", 0, CellPlan(writing.stimulus, writing.minute, writing.label))]
    rounds = until_steady(
        bench,
        writing.round,
        tracked,
        phase="wsat",
        cells=plan.time.gap_pieces + 1,
        is_over=lambda: writing.ended is not None,
        must_collect=plan.time.waits_for_collection,
    )
    if rounds.is_longer:
        plan.time.note_longer()
    plan.time.note_saturation(plan.number("capacities"), bench.fills)
    goes_on = plan.time.waits_for_collection and rounds.is_without_collection
    is_by_rule = rounds.attained and not goes_on
    ended_by = "steady_state" if is_by_rule else writing.ended or "rounds"
    found = results(bench, writing, rounds, ended_by)
    kept = [] if plan.pts_version == "1.1" else [latency.add_on(bench, bench.stimulus())]
    return Findings(found, histograms=kept)


class Writing:
    """The writes, minute by minute.

    Args:
        bench: Where they are done.
        stimulus: The load.
    """

    def __init__(self, bench: Bench, stimulus: Stimulus) -> None:
        """Know the limits."""
        plan = bench.plan
        self.stimulus = stimulus
        self.label = name(stimulus, "CBW")
        self.minute = _minute(plan.time.minute(), stimulus)
        self.start_s = bench.clock_s
        self.cells: list[Cell] = []
        self._bench = bench
        self._limit_bytes = plan.time.saturation_bytes(plan.number("capacities"))
        self._limit_s = plan.time.saturation_s(plan.number("hours") * HOUR_S)
        self._sample_at = 0 if plan.text("sample_minute") == "first" else plan.time.gap_pieces

    @property
    def ended(self) -> str | None:
        """What ended the writes; None as long as nothing has."""
        if self._bench.written_bytes >= self._limit_bytes:
            return "written"
        if self._limit_s is not None and self._bench.clock_s - self.start_s >= self._limit_s:
            return "time"
        return None

    def round(self, _: int) -> list[Cell]:
        """Write for 31 minutes, or until an end; return the sample."""
        sample = self._write()
        for piece in range(1, self._bench.plan.time.gap_pieces + 1):
            if self.ended:
                break
            cell = self._write()
            # A round that an end cuts short has its last minute for a sample.
            sample = cell if piece <= self._sample_at else sample
        return [sample]

    def _write(self) -> Cell:
        start = self.cells[-1].measurement.end_bytes if self.cells else 0
        stimulus = replace(self.stimulus, start_bytes=start)
        self.cells.append(self._bench.measure(stimulus, self.minute, label=self.label))
        return self.cells[-1]


def _minute(minute: Limit, stimulus: Stimulus) -> Limit:
    """Return the limit of a minute; where it is one of bytes, so many are *written*."""
    if not minute.bytes:
        return minute
    write_share = max(1 - stimulus.read_pct / 100, 0.01)
    return replace(minute, bytes=int(minute.bytes / write_share) // 4096 * 4096)


def workload(bench: Bench) -> Stimulus:
    """Return the load: 4 KiB writes, or one of the optional ones of version 2.0."""
    stimuli: dict[str, dict[str, Any]] = {
        "rnd4k": {"block_bytes": 4 * KIB},
        "oltp": {"block_bytes": 8 * KIB, "read_pct": 65},
        "vod": {"block_bytes": 128 * KIB, "read_pct": 90, "pattern": "sequential"},
        "metadata": {
            "block_bytes": max(512, bench.plan.sector_bytes),
            "read_pct": 50,
            "pattern": "sequential",
        },
        # Written alone, as published implementations of version 2.0 have it.
        "cbw": {**COMPOSITE.fields(bench.plan.sector_bytes), "read_pct": 0},
    }
    return bench.stimulus(**stimuli[bench.plan.text("workload")])


def results(bench: Bench, writing: Writing, rounds: Rounds, ended_by: str) -> SaturationResults:
    """Return the figures that the curve gives."""
    cells, start_s = writing.cells, writing.start_s
    capacity = bench.plan.time.capacity_bytes
    rates = [cell.iops for cell in cells]
    written = [cell.written_bytes for cell in cells]
    fob = bench.plan.time.rate(saturation.new_level(rates, written, capacity))
    steady = bench.plan.time.rate(_steady_level(cells, rounds))
    at = saturation.cliff(rates, fob)
    cliff = None if at is None else cells[at]
    last = cells[-1]
    return SaturationResults(
        attained=rounds.attained,
        ended_by=ended_by,
        fob_iops=fob,
        steady_iops=steady,
        steady_ratio=bench.plan.time.ratio(steady, fob),
        cliff_minutes=None if cliff is None else (cliff.end_s - start_s) / 60,
        cliff_drive_fills=None if cliff is None else cliff.written_bytes / capacity,
        written_bytes=last.written_bytes,
        drive_fills=last.written_bytes / capacity,
        minutes=(last.end_s - start_s) / 60,
        waf_end=last.waf,
    )


def _steady_level(cells: list[Cell], rounds: Rounds) -> float | None:
    if rounds.attained:
        return rounds.mean(0, "iops")
    if rounds.count >= 5:
        return mean([cells[0].iops for cells in rounds.cells[-5:]])
    return saturation.last_level([cell.iops for cell in cells])


TEST = Test(
    name="wsat",
    title="Write saturation",
    summary="Random 4 KiB writes from a purged drive until it is steady, full, or time is up.",
    run=run,
    client_from=PUBLISHED,
    load=RANDOM_LOAD,
    wipc=False,
    options=(
        Option(
            "workload",
            "rnd4k",
            "Load: random 4 KiB, or one of version 2.0 (oltp: random 8 KiB 65/35; "
            "vod: sequential 128 KiB 90/10; metadata: sequential 0.5 KiB 50/50; cbw: composite "
            "0/100).",
            choices=WORKLOADS,
        ),
        Option(
            "capacities", 4.0, "User capacities after which it ends.", minimum=0.1, is_length=True
        ),
        Option(
            "hours",
            6.0,
            "Hours after which it ends, in the time base full.",
            minimum=0.01,
            by_version={"1.1": 24.0},
            is_length=True,
        ),
        Option(
            "sample_minute",
            "last",
            "Which minute of the 31 of a round the rule looks at.",
            choices=("last", "first"),
        ),
    ),
)
