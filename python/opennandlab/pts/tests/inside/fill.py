"""Fill: what a drive gains from a part that holds no data.

    for each share: purge | one pass over the first x % | uniform 4 KiB writes to them

Space that is not in use is spare area, so the write amplification falls as if the drive had more of
it. For a simulated drive the closed form of greedy is next to the measured value, at the spare
factor that the device file and the share give. A real drive can be fitted to the same form, which
then gives its raw capacity.

Source: the method of SSD-iq (G. Haas and co-authors, 2025): five writes of the region, of which the
last counts.
"""

from __future__ import annotations

from opennandlab.documents.pts import Table
from opennandlab.documents.pts_inside import FillPoint, FillResults
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import Option
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.inside import course
from opennandlab.pts.tests.inside.facts import inside_of
from opennandlab.pts.tests.inside.skew import LOAD

DEFAULT = "50,60,70,80,90,100"
REGION_WRITES = 5.0


def shares(text: str) -> list[float]:
    """Read shares in percent.

    Raises:
        ValueError: for a share that is no number, out of range, or named twice.

    >>> shares("50, 62.5")
    [50.0, 62.5]
    """
    found = []
    for word in text.split(","):
        try:
            share = float(word)
        except ValueError:
            raise ValueError(f"`{word.strip()}` is not a number") from None
        if not 1.0 <= share <= 100.0:
            raise ValueError(f"`{word.strip()}` is out of range")
        if share in found:
            raise ValueError(f"`{word.strip()}` is named twice")
        found.append(share)
    return found


def run(bench: Bench) -> Findings:
    """Run a course for each share."""
    plan, facts = bench.plan, inside_of(bench)
    points = []
    for pct in shares(plan.text("points")):
        part = course.over(pct / 100 * plan.active_range.share, plan.active_range)
        region = course.whole(plan.time.capacity_bytes * part.share)
        done = course.run(
            bench,
            course.Course(
                group=f"{pct:g} %",
                stimulus=bench.stimulus(block_bytes=course.SMALL, active_range=part),
                unit_bytes=region,
                writes=course.writes_of(bench, plan.number("region_writes"), REGION_WRITES),
            ),
        )
        points.append(
            FillPoint(
                pct=pct,
                region_bytes=region * bench.target.shrink,
                mb_s=done.mb_s,
                waf=done.waf,
                waf_predicted=facts.waf(part.share, course.SMALL) if facts else None,
                steady=done.verdict.steady,
                excursion_pct=done.excursion_pct,
                slope_pct=done.slope_pct,
                region_writes=done.writes,
            )
        )
        if not done.verdict.steady:
            bench.warn(f"{pct:g} % in use: not steady at the end ({done.verdict.reason})")
        bench.record.so_far = _found(bench, points)
    return _found(bench, points)


def _found(bench: Bench, points: list[FillPoint]) -> Findings:
    """Return the findings so far, which later points do not change."""
    facts = inside_of(bench)
    return Findings(
        FillResults(
            points=[*points],
            raw_bytes=facts.raw_bytes if facts else None,
            waf_missing=bench.target.waf_missing or None,
        ),
        tables=[_table(points)],
    )


def _table(points: list[FillPoint]) -> Table:
    return listing(
        "fill",
        "Uniform writes of 4 KiB to a part of the drive",
        "GB; MB/s; 1; %",
        "in use",
        {f"{point.pct:g} %": point for point in points},
        {
            "GB": lambda point: point.region_bytes * 1e-9,
            "MB/s": "mb_s",
            "WAF": "waf",
            "closed form": "waf_predicted",
            "steady": lambda point: "yes" if point.steady else "NO",
            "spread %": "excursion_pct",
            "region writes": "region_writes",
        },
    )


TEST = Test(
    name="fill",
    title="Filled fraction",
    summary="Uniform 4 KiB writes to a part of the drive, the rest empty: rate and WAF.",
    run=run,
    load=LOAD,
    wipc=False,
    cache_enabled=True,
    options=(
        Option(
            "points",
            DEFAULT,
            "Shares of the capacity in use, in percent, by commas.",
            accepted="1 to 100, by commas",
            reader=shares,
        ),
        Option("region_writes", 0.0, "Writes of the region at each point; 0 means 5."),
    ),
)
