"""Cross stimulus recovery: large sequential writes, small random ones, and sequential again.

From the purged state without preconditioning: group 1, sequential 1024 KiB writes for 8 hours;
group 2, random 8 KiB writes for 6; group 3, as group 1, for 8; one-minute samples. The question is
how long group 3 suffers from what group 2 left.

Two measures of the recovery, each of which may never come:

* ours: the first sample of group 3 from which five in a row reach 90 % of the mean of the last hour
  of group 1;
* that of published implementations of PTS 2.0: the first minute of group 3 at or above the mean of
  group 1.

Source: SNIA PTS tutorial, Kim and Ho, 2013, whose overview has 8 KiB for group 2 and whose test has
4 KiB; the durations are those of published implementations of PTS-E 2.0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opennandlab.documents.pts_results import CrossResults, StimulusGroup
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import PUBLISHED, SEQUENTIAL_LOAD, Option
from opennandlab.pts.bench.record import Cell
from opennandlab.pts.bench.test import Test
from opennandlab.pts.bench.words import name
from opennandlab.targets.base import Pattern

KIB = 1024
SEQUENTIAL_BYTES = 1024 * KIB
RECOVERED_SHARE = 0.9
RECOVERED_SAMPLES = 5
# Of means that are equal but for their binary fractions.
EQUAL_RATIO = 1e-9
# The last hour of eight.
REFERENCE_SHARE = 1 / 8
METRICS = (("mb_s", "MB/s"), ("lat_us_mean", "ART µs"), ("lat_us_max", "MRT µs"))


def run(bench: Bench) -> Findings:
    """Run the three groups back to back and look for the recovery."""
    bench.purge()
    small = int(bench.plan.number("random_kib") * KIB)
    loads: tuple[tuple[Pattern, int], ...] = (
        ("sequential", SEQUENTIAL_BYTES),
        ("random", small),
        ("sequential", SEQUENTIAL_BYTES),
    )
    stimuli = [bench.stimulus(pattern=pattern, block_bytes=size) for pattern, size in loads]
    groups = bench.plan.time.cross_groups(stimuli)
    found: list[list[Cell]] = []
    for number, ((count, limit), load) in enumerate(zip(groups, stimuli, strict=True), start=1):
        cells: list[Cell] = []
        bench.restart_point()
        label = f"group {number}"
        with bench.phase("group", group=label, cells=count):
            for _ in range(count):
                start = cells[-1].measurement.end_bytes if cells else 0
                stimulus = replace(load, start_bytes=start)
                cells.append(bench.measure(stimulus, limit, label=f"{label}: {name(stimulus)}"))
        found.append(cells)
    reference_count = max(1, round(REFERENCE_SHARE * len(found[0])))
    reference = _over_time(found[0][-reference_count:], "mb_s")
    rates = [cell.measurement.mb_s for cell in found[2]]
    summaries = [_summary(number, cells) for number, cells in enumerate(found, start=1)]
    of_group_1 = summaries[0].mb_s_mean
    results = CrossResults(
        groups=summaries,
        reference_mb_s=reference,
        **_recovered(bench, found, recovery(rates, reference or 0.0), "recovery"),
        group_1_mb_s=of_group_1,
        **_recovered(bench, found, first_at(rates, of_group_1), "to_mean"),
    )
    return Findings(
        results=results,
        tables=[
            listing(
                identity,
                title,
                unit,
                "Group",
                {group.label: group for group in summaries},
                {word: f"{identity}_{word}" for word in ("min", "mean", "max")},
            )
            for identity, unit, title in (
                ("mb_s", "MB/s", "Throughput by group"),
                ("lat_us_mean", "µs", "Mean response time (ART) by group"),
                ("lat_us_max", "µs", "Longest response time (MRT) by group"),
            )
        ],
    )


def recovery(values: Sequence[float], reference: float) -> int | None:
    """Return from which value on five in a row reach 90 % of the reference, from 0; or None.

    >>> recovery([50, 95, 80, 90, 91, 95, 99, 100], 100)
    3
    """
    enough = [value >= RECOVERED_SHARE * reference for value in values]
    for first in range(len(enough) - RECOVERED_SAMPLES + 1):
        if all(enough[first : first + RECOVERED_SAMPLES]):
            return first
    return None


def first_at(values: Sequence[float], mean: float | None) -> int | None:
    """Return the first value at or above a mean, from 0; None without any.

    >>> first_at([50, 95, 101, 99], 100), first_at([50], 100)
    (2, None)
    """
    if not mean:
        return None
    least = mean * (1 - EQUAL_RATIO)
    return next((at for at, value in enumerate(values) if value >= least), None)


def _recovered(
    bench: Bench, found: list[list[Cell]], at: int | None, measure: str
) -> dict[str, Any]:
    """Return a measure of the recovery, by the place of its sample; None for never."""
    if at is None:
        return dict.fromkeys(f"{measure}_{unit}" for unit in ("sample", "s", "drive_fills"))
    before, first = found[1][-1], found[2][at]
    # At the start of the sample: with the first one there was nothing to recover from.
    written = first.written_bytes - first.measurement.written_bytes - before.written_bytes
    return {
        f"{measure}_sample": at + 1,
        f"{measure}_s": first.start_s - before.end_s,
        f"{measure}_drive_fills": written / bench.plan.time.capacity_bytes,
    }


def _over_time(cells: Sequence[Cell], metric: str) -> float | None:
    """Return the mean over the time of samples; None without any, or where one has no value.

    Scaled samples have equal bytes instead of equal times: fast ones must not count for more.
    """
    pairs = [(cell.value(metric), cell.measurement.seconds) for cell in cells]
    known = [(value, seconds) for value, seconds in pairs if value is not None]
    total = math.fsum(seconds for _, seconds in known)
    if total <= 0 or len(known) < len(pairs):
        return None
    return math.fsum(value * seconds for value, seconds in known) / total


def _summary(number: int, cells: list[Cell]) -> StimulusGroup:
    found: dict[str, Any] = {"group": number, "label": cells[0].label, "samples": len(cells)}
    for metric, _ in METRICS:
        values = [value for cell in cells if (value := cell.value(metric)) is not None]
        found[f"{metric}_min"] = min(values, default=None)
        found[f"{metric}_mean"] = _over_time(cells, metric)
        found[f"{metric}_max"] = max(values, default=None)
    return StimulusGroup(**found)


TEST = Test(
    name="xsr",
    title="Cross stimulus recovery",
    summary="Sequential, random and sequential writes: how long the first take to recover.",
    run=run,
    client_from=PUBLISHED,
    load=SEQUENTIAL_LOAD,
    wipc=False,
    options=(Option("random_kib", 8.0, "Block size of group 2 in KiB (8, or 4).", minimum=0.5),),
)
