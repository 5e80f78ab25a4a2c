"""Write saturation: random 4 KiB writes from the state after a purge, minute by minute.

Nothing is written before, so the curve begins with a drive that is as fast as when it was new, and
shows where it stops being so. It ends by whichever comes first, and the document says which:

* bytes: four times the user capacity;
* time: 24 hours (PTS 1.1) or 6 hours (2.0), in the time base `full`;
* the five-point rule on one-minute averages, each after 30 minutes of writing.

A round of the rule is 31 minutes, its sample the last of them (by default), and a *minute* of the
scaled time bases is a thirtieth of their gap: what decides here is bytes, not minutes.

Derived: the level of the new drive (FOB) is the mean over the first 1 % of the capacity, or over the
first minute if that is more; the *write cliff* is the first minute below half of it; the steady
level is the mean of the rule's window, or of the last five samples, or of the last tenth.

Source: SNIA PTS tutorial, Kim and Ho, 2013, and SNIA SSS PTS-E 1.1 and 2.0.2; the derived figures
are of the implementation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opennandlab.pts import latency
from opennandlab.pts.engine import Bench, Cell
from opennandlab.pts.patterns import COMPOSITE
from opennandlab.pts.plan import RANDOM_LOAD, Option, Test
from opennandlab.pts.rounds import CellPlan, Rounds, Tracking, mean, until_steady
from opennandlab.pts.time_base import HOUR_S
from opennandlab.pts.words import name
from opennandlab.targets.base import Stimulus

KIB = 1024
FOB_FILLS = 0.01
CLIFF_SHARE = 0.5
LAST_SHARE = 0.1
# Two orders of magnitude more than any minute needs to show where the time went.
WORKLOADS = ("rnd4k", "oltp", "vod", "metadata", "cbw")


def run(bench: Bench) -> dict[str, Any]:
    """Write until the first of the three ends, then keep response times (since version 2.0)."""
    plan = bench.plan
    limit_bytes = plan.time.saturation_bytes(plan.number("capacities"))
    limit_s = plan.time.saturation_s(plan.number("hours") * HOUR_S)
    bench.purge()
    start_s = bench.clock_s
    stimulus = workload(bench)
    label = name(stimulus, "CBW")
    pieces = plan.time.gap_pieces
    sampled_at = 0 if plan.text("sample_minute") == "first" else pieces
    minute = plan.time.minute()
    if minute.bytes:
        # Bytes are those of the whole request stream; what is written decides.
        share = max(1 - stimulus.read_pct / 100, 0.01)
        minute = replace(minute, bytes=int(minute.bytes / share) // 4096 * 4096)
    ends: list[str] = []

    def ended() -> str | None:
        if bench.written_bytes >= limit_bytes:
            return "written"
        if limit_s is not None and bench.clock_s - start_s >= limit_s:
            return "time"
        return None

    def run_round(_: int) -> list[Cell]:
        sample: Cell | None = None
        cell: Cell | None = None
        for piece in range(pieces + 1):
            start = cell.measurement.end_bytes if cell else run_round.end  # type: ignore[attr-defined]
            cell = bench.measure(replace(stimulus, start_bytes=start), minute, label=label)
            if piece == sampled_at:
                sample = cell
            if ended():
                break
        assert cell is not None
        run_round.end = cell.measurement.end_bytes  # type: ignore[attr-defined]
        # A round that was cut short by an end has no sample of its own.
        return [sample or cell]

    run_round.end = 0  # type: ignore[attr-defined]
    del ends
    tracked = [Tracking("iops", 0, CellPlan(stimulus, minute, label))]
    rounds = until_steady(
        bench,
        run_round,
        tracked,
        phase="write",
        cells=pieces + 1,
        is_over=lambda: ended() is not None,
    )
    cells = [cell for cell in bench.record.cells if cell.phase == "write"]
    ended_by = "steady_state" if rounds.attained else ended() or "rounds"
    kept = [] if plan.pts_version == "1.1" else [latency.add_on(bench)]
    return {
        "results": results(bench, cells, rounds, ended_by, start_s),
        "histograms": kept,
    }


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
        "cbw": COMPOSITE.fields(bench.plan.sector_bytes),
    }
    return bench.stimulus(**stimuli[bench.plan.text("workload")])


def results(
    bench: Bench, cells: list[Cell], rounds: Rounds, ended_by: str, start_s: float
) -> dict[str, Any]:
    """Return the figures that the curve gives."""
    capacity = bench.plan.time.capacity_bytes
    new = [cell for cell in cells if cell.written_bytes <= FOB_FILLS * capacity] or cells[:1]
    fob = mean([cell.iops for cell in new])
    steady = _steady_level(cells, rounds)
    cliff = next((cell for cell in cells if fob and cell.iops < CLIFF_SHARE * fob), None)
    last = cells[-1]
    return {
        "attained": rounds.attained,
        "ended_by": ended_by,
        "fob_iops": fob,
        "steady_iops": steady,
        "steady_ratio": steady / fob if steady is not None and fob else None,
        "cliff_minutes": None if cliff is None else (cliff.end_s - start_s) / 60,
        "cliff_drive_fills": None if cliff is None else cliff.written_bytes / capacity,
        "written_bytes": last.written_bytes,
        "drive_fills": last.written_bytes / capacity,
        "minutes": (last.end_s - start_s) / 60,
        "waf_end": last.waf,
    }


def _steady_level(cells: list[Cell], rounds: Rounds) -> float | None:
    if rounds.attained:
        return rounds.mean(0, "iops")
    if rounds.count >= 5:
        return mean([cells[0].iops for cells in rounds.cells[-5:]])
    return mean([cell.iops for cell in cells[-max(1, round(LAST_SHARE * len(cells))) :]])


TEST = Test(
    name="wsat",
    title="Write saturation",
    summary="Random 4 KiB writes from a purged drive until it is steady, full, or time is up.",
    run=run,
    load=RANDOM_LOAD,
    wipc=False,
    options=(
        Option(
            "workload",
            "rnd4k",
            "What is written: random 4 KiB, or a load of version 2.0 (oltp: random 8 KiB 65/35; "
            "vod: sequential 128 KiB 90/10; metadata: sequential 0.5 KiB 50/50; cbw: composite).",
            choices=WORKLOADS,
        ),
        Option("capacities", 4.0, "User capacities after which it ends.", minimum=0.1),
        Option(
            "hours",
            6.0,
            "Hours after which it ends, in the time base full.",
            minimum=0.01,
            by_version={"1.1": 24.0},
        ),
        Option(
            "sample_minute",
            "last",
            "Which minute of the 31 of a round the rule looks at.",
            choices=("last", "first"),
        ),
    ),
)
