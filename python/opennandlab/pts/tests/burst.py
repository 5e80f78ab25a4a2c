"""Burst: what a purged and rested drive writes at first, and what it sustains.

For random 4 KiB writes and for sequential 128 KiB writes of one thread: purge, a minute of rest, a
first piece, and then minutes of the same writes to the steady state, or to four times the capacity.
The *burst* is the rate of the first piece: a second, or the first 1 % of the capacity where time is
scaled. The *sustained* rate is the mean of the window of the steady state, in each round of which
the drive collected: before it was full once, five equal rounds say nothing. The burst lasts until
the first minute that is slower than half-way between the two; there is none where the sustained
rate is at least 90 % of it.

    MB/s │▔▔▔▔▔▔▔▔▔▔▔▔▔▏                       burst: caches and erased blocks take the writes
         │             ▏
         │             ▕▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁     sustained
         └──────────────────────────────── bytes written

Source: the distinction of burst and sustained figures that "What's up with these numbers?", E.
Spanjer, asks of every number; the rules are of the implementation.
"""

from __future__ import annotations

from dataclasses import replace

from opennandlab.documents.pts_small import BurstLoad, BurstResults
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import RANDOM_LOAD, SEQUENTIAL_LOAD
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.rounds import CellPlan, Rounds, Tracking, until_steady
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.words import name
from opennandlab.targets.base import Limit, Stimulus

KIB = 1024
CAPACITIES = 4.0
# Above it a drive has no burst worth the name.
SUSTAINED_SHARE = 0.9


def run(bench: Bench) -> Findings:
    """Write both loads from the purged state."""
    threads, depth = SEQUENTIAL_LOAD[bench.plan.profile]
    stimuli = (
        bench.stimulus(block_bytes=4 * KIB),
        bench.stimulus(
            pattern="sequential", block_bytes=128 * KIB, threads=threads, queue_depth=depth
        ),
    )
    loads = [_load(bench, stimulus) for stimulus in stimuli]
    return Findings(
        results=BurstResults(attained=all(load.attained for load in loads), loads=loads),
        tables=[
            listing(
                "burst",
                "Burst and sustained rate of writes",
                "MB/s; ratio; GB",
                "Writes",
                {load.name: load for load in loads},
                {
                    "burst MB/s": "burst_mb_s",
                    "sustained MB/s": "sustained_mb_s",
                    "burst / sustained": "ratio",
                    "burst GB": lambda load: (
                        None if load.volume_bytes is None else load.volume_bytes * 1e-9
                    ),
                },
            )
        ],
    )


def _load(bench: Bench, stimulus: Stimulus) -> BurstLoad:
    """Write one load to its steady state, and say how it began."""
    label = name(stimulus)
    bench.purge(group=label)
    time = bench.plan.time
    bench.idle(time.rest())
    cells: list[Cell] = []

    def write(limit: Limit) -> Cell:
        start = cells[-1].measurement.end_bytes if cells else 0
        cells.append(bench.measure(replace(stimulus, start_bytes=start), limit, label=label))
        return cells[-1]

    def is_over() -> bool:
        return bench.written_bytes >= time.saturation_bytes(CAPACITIES, "writes")

    def run_round(_: int) -> list[Cell]:
        last = write(time.minute() if cells else time.burst())
        for _piece in range(time.gap_pieces):
            if is_over():
                break
            last = write(time.minute())
        return [last]

    tracked = [Tracking("write_mb_s", 0, CellPlan(stimulus, time.minute(), label))]
    count = time.gap_pieces + 1
    rounds = until_steady(
        bench,
        run_round,
        tracked,
        phase="burst",
        group=label,
        cells=count,
        is_over=is_over,
        must_collect=True,
    )
    time.note_saturation(CAPACITIES, bench.fills, f"writes ({label})")
    return _figures(bench, label, cells, rounds)


def _figures(bench: Bench, label: str, cells: list[Cell], rounds: Rounds) -> BurstLoad:
    first = cells[0]
    burst = first.measurement.mb_s
    sustained = rounds.mean(0, "write_mb_s")
    volume: float | None = None
    if sustained is not None and sustained < SUSTAINED_SHARE * burst:
        middle = (burst + sustained) / 2
        slow = next((cell for cell in cells if cell.measurement.mb_s < middle), None)
        if slow is not None:
            volume = slow.written_bytes - slow.measurement.written_bytes
    return BurstLoad(
        name=label,
        attained=rounds.attained,
        burst_mb_s=burst,
        burst_iops=first.iops,
        burst_of_bytes=first.measurement.written_bytes,
        sustained_mb_s=sustained,
        sustained_iops=rounds.mean(0, "iops"),
        ratio=bench.plan.time.ratio(burst, sustained),
        volume_bytes=volume,
        volume_drive_fills=None if volume is None else volume / bench.plan.time.capacity_bytes,
    )


TEST = Test(
    name="burst",
    title="Burst and sustained writes",
    summary="Writes from a purged and rested drive: the first rate, what remains, and how long.",
    run=run,
    load=RANDOM_LOAD,
    wipc=False,
)
