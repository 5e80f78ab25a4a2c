"""Skew: the rate and the WAF of a drive under writes that prefer some addresses to others.

    for each pattern: purge | one pass over the drive | random 4 KiB writes under the pattern

Uniform writes, a true Zipf law over shuffled addresses, *static*, in which a share of the drive is
never rewritten, and *hot*, in which a share of it gets a share of the writes. The steady rates show
how victims are chosen and whether hot and cold data are kept apart: a drive that does both gets
faster with skew.

Source: the method of SSD-iq (G. Haas and co-authors, repository gabriel-haas/ssdiq, 2025): 5 drive
writes, 6 for Zipf from exponent 1 on, 7 where a part is static; what counts is the last fifth.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from opennandlab.documents.pts import Table
from opennandlab.documents.pts_inside import SkewPoint, SkewResults
from opennandlab.pts.bench.document import listing
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import Option, Profile
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.inside import course
from opennandlab.targets.base import Skew, Stimulus, Zone

DEFAULT = (
    "uniform,zipf:0.2,zipf:0.4,zipf:0.6,zipf:0.8,zipf:1,"
    "static:0.2,static:0.4,static:0.6,static:0.8,static:0.9"
)
ACCEPTED = (
    "uniform, zipf:THETA (above 0, at most 10), static:SHARE, hot:SHARE:WRITES (above 0, below 1), "
    "by commas"
)
LOAD: dict[Profile, tuple[int, int]] = {"E": (4, 128), "C": (4, 128)}
# Usual drive writes by law; where many addresses are seldom or never written, it takes more.
WRITES = {"uniform": 5.0, "zipf": 5.0, "static": 7.0, "hot": 7.0}
# A Zipf law from this exponent on takes more drive writes to its steady state.
STEEP_EXPONENT, STEEP_WRITES = 1.0, 6.0
_NUMBER = r"[0-9]*\.?[0-9]+"


@dataclass(frozen=True)
class Pattern:
    """A distribution of writes over the drive.

    Args:
        name: The pattern as it is typed, such as `zipf:0.8`.
        law: `uniform`, `zipf`, `static` or `hot`.
        value: Exponent of `zipf`, the share of `static` that is never rewritten, or the share of
            `hot` that gets most of the writes: the first addresses, in one piece.
        writes_share: Share of the writes that it gets.
    """

    name: str
    law: str
    value: float = 0.0
    writes_share: float = 0.0

    def applied(self, stimulus: Stimulus) -> Stimulus:
        """Return a stimulus with this distribution; popular places follow from the range's seed."""
        if self.law == "hot":
            rest = Zone(1.0 - self.value, 1.0 - self.writes_share)
            return replace(stimulus, zones=(Zone(self.value, self.writes_share), rest))
        seed = stimulus.active_range.seed
        if self.law == "zipf":
            return replace(stimulus, skew=Skew("zipf", self.value, seed=seed))
        if self.law == "static":
            return replace(stimulus, skew=Skew("static", self.value, seed=seed))
        return stimulus

    @property
    def writes(self) -> float:
        """Usual drive writes of the pattern."""
        if self.law == "zipf" and self.value >= STEEP_EXPONENT:
            return STEEP_WRITES
        return WRITES[self.law]


def patterns(text: str) -> list[Pattern]:
    """Read a list of patterns.

    Raises:
        ValueError: for an unknown pattern, one out of range, or one that is named twice.

    >>> [pattern.name for pattern in patterns("uniform, zipf:0.80, hot:.1:.9")]
    ['uniform', 'zipf:0.8', 'hot:0.1:0.9']
    """
    found = [_pattern(word.strip()) for word in text.split(",")]
    names = [pattern.name for pattern in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"`{name}` is named twice")
    return found


def _pattern(word: str) -> Pattern:
    if word == "uniform":
        return Pattern(word, word)
    match = re.fullmatch(rf"(?:(zipf|static):({_NUMBER})|(hot):({_NUMBER}):({_NUMBER}))", word)
    if match is None:
        raise ValueError(f"`{word}` is not a pattern")
    law, *numbers = (one for one in match.groups() if one is not None)
    values = [float(one) for one in numbers]
    limit = 10.0 if law == "zipf" else math.nextafter(1.0, 0.0)
    if not all(0.0 < value <= limit for value in values):
        raise ValueError(f"`{word}` is out of range")
    return Pattern(":".join((law, *(f"{value:g}" for value in values))), law, *values)


def run(bench: Bench) -> Findings:
    """Run a course for each pattern."""
    plan = bench.plan
    points: list[SkewPoint] = []
    for pattern in patterns(plan.text("skews")):
        done = course.run(bench, _course(bench, pattern))
        points.append(
            SkewPoint(
                pattern=pattern.name,
                first_mb_s=done.first_mb_s,
                steady_mb_s=done.mb_s,
                waf=done.waf,
                steady=done.verdict.steady,
                excursion_pct=done.excursion_pct,
                slope_pct=done.slope_pct,
                drive_writes=done.writes,
            )
        )
        if not done.verdict.steady:
            bench.warn(f"{pattern.name}: not steady at the end ({done.verdict.reason})")
        bench.record.so_far = _found(bench, points)
    return _found(bench, points)


def _course(bench: Bench, pattern: Pattern) -> course.Course:
    plan = bench.plan
    return course.Course(
        group=pattern.name,
        stimulus=pattern.applied(bench.stimulus(block_bytes=course.SMALL)),
        unit_bytes=course.whole(plan.time.capacity_bytes * plan.active_range.share),
        writes=course.writes_of(bench, plan.number("drive_writes"), pattern.writes),
        fill=plan.text("fill"),
        until=plan.text("until"),
    )


def _found(bench: Bench, points: list[SkewPoint]) -> Findings:
    """Return the findings so far, which later points do not change."""
    return Findings(
        SkewResults(
            fill=bench.plan.text("fill"),
            points=[*points],
            waf_missing=bench.target.waf_missing or None,
        ),
        tables=[_table(points)],
    )


def _table(points: list[SkewPoint]) -> Table:
    return listing(
        "skew",
        "Random writes of 4 KiB by their skew",
        "MB/s; 1; %; drive writes",
        "pattern",
        {point.pattern: point for point in points},
        {
            "first minute MB/s": "first_mb_s",
            "steady MB/s": "steady_mb_s",
            "WAF": "waf",
            "steady": lambda point: "yes" if point.steady else "NO",
            "spread %": "excursion_pct",
            "slope %": "slope_pct",
            "drive writes": "drive_writes",
        },
    )


TEST = Test(
    name="skew",
    title="Skewed writes",
    summary="Random 4 KiB writes, uniform, by Zipf laws and with static parts: rate and WAF.",
    run=run,
    load=LOAD,
    wipc=False,
    cache_enabled=True,
    options=(
        Option(
            "skews",
            DEFAULT,
            "Patterns, by commas: uniform, zipf:THETA, static:SHARE (never rewritten), "
            "hot:SHARE:WRITES.",
            accepted=ACCEPTED,
            reader=patterns,
        ),
        Option(
            "fill", "sequential", "The pass over the drive before the writes.", choices=course.FILLS
        ),
        Option(
            "drive_writes",
            0.0,
            "Drive writes of each pattern; 0 means 5 (Zipf from exponent 1: 6, static and hot: 7).",
        ),
        Option(
            "until",
            "written",
            "What ends a pattern: its drive writes, or the steady state.",
            choices=course.UNTIL,
        ),
    ),
)
