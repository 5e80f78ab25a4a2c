"""The suites: which cases, how often, and in what order.

The counts of `heavy` are those of the report in "Truth about eMMC performance benchmark" (A. Lee):
camera 10, web 100, contact 200, install 10, media scan 0, gallery 100, no idle time, and a quarter
of the photos is deleted between rounds of the full case. `light` is a tenth of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from opennandlab.app.cases import HOMES, Sizes
from opennandlab.base.errors import ConfigError

HEAVY: Final = {
    "camera": 10, "web": 100, "contact": 200, "install": 10, "mediascan": 0, "gallery": 100,
}  # fmt: skip
LIGHT: Final = {name: count // 10 for name, count in HEAVY.items()}
# Many accesses of databases and small files; and what fills a file system.
MAIN: Final = {"web": 10, "contact": 20, "gallery": 10}
FULL_RATIO: Final = 0.95


@dataclass(frozen=True)
class Suite:
    """Cases and the number of their iterations.

    Args:
        name: Name of the suite.
        counts: Iterations of each case, in order; 0 leaves a case out.
        sizes: Sizes that differ from the defaults of a case.
        fill: Whether the device is filled in between, and all cases are run again after that.
        title: The suite in a few words.
    """

    name: str
    counts: Mapping[str, int]
    sizes: Sizes = field(default_factory=dict)
    fill: bool = False
    title: str = ""


SUITES: Final = {
    suite.name: suite
    for suite in (
        Suite("light", LIGHT, title="a tenth of heavy"),
        Suite("heavy", HEAVY, title="the counts of the source's report"),
        Suite(
            "main-full-main", MAIN, fill=True,
            title="web, contact and gallery; then the device is filled; then the same again",
        ),
        Suite("iozone", {"iozone": 384}, title="16 MiB in six phases of 64 slices, in 4 KiB"),
        Suite(
            "fileio-32m", {"fileio": 1, "transactions": 3}, {"transactions": {"rows": 2000}},
            title="sequential and random work on a file of 32 MiB, and rows of a database",
        ),
        Suite(
            "mobibench-like", {"modes": 8, "transactions": 3},
            title="a file written in eight ways of being durable, and rows of a database",
        ),
        Suite(
            "androbench-like", {"rates": 4, "transactions": 3},
            title="sequential and random throughput, and rows of a database",
        ),
    )
}  # fmt: skip


def check_delete_pct(percent: float) -> None:
    """Refuse a percentage out of range.

    Raises:
        ConfigError: with what is accepted.
    """
    if not 0.0 <= percent <= 100.0:
        raise ConfigError("dcim_delete_pct", f"{percent:g}; accepted: 0 to 100")


def deleted(count: int, percent: float) -> list[int]:
    """Return which of some photos are deleted: a share by count, evenly over their order.

    >>> deleted(8, 25), len(deleted(100, 25)), len(deleted(100, 60)), deleted(100, 0)
    ([3, 7], 25, 60, [])
    """
    return [
        at
        for at in range(count)
        if math.floor((at + 1) * percent / 100) > math.floor(at * percent / 100)
    ]


def suite(name: str, cases: Mapping[str, int | None] | None = None) -> Suite:
    """Return a suite, or some of its cases.

    Args:
        name: Name of the suite.
        cases: Cases to run, with their iterations; None for those of the suite, or for a case that
            it leaves out, one.

    Raises:
        ConfigError: for an unknown suite or case.
    """
    if name not in SUITES:
        raise ConfigError("suite", f"`{name}` is no suite; accepted: {', '.join(SUITES)}")
    found = SUITES[name]
    if not cases:
        return found
    counts = {}
    for case, count in cases.items():
        if case not in HOMES:
            raise ConfigError("case", f"`{case}` is no case; accepted: {', '.join(HOMES)}")
        chosen = found.counts.get(case, 0) or 1 if count is None else count
        if not 1 <= chosen <= 1_000_000:
            raise ConfigError("case", f"{case}={chosen}; accepted: 1 to 1000000 iterations")
        counts[case] = chosen
    return Suite(found.name, counts, found.sizes, found.fill, found.title)
