"""The suites: which cases, how often, and in what order.

The counts of `heavy` are those of the report in "Truth about eMMC performance benchmark" (A. Lee):
camera 10, web 100, contact 200, install 10, media scan 0, gallery 100, no idle time, and a quarter
of the photos is deleted between rounds of the full case. `light` is a tenth of it.

A user's suite is a YAML file:

```yaml
title: mornings
cases: {boot: 1, surf: 20, office: 4}
sizes: {surf: {files: 100}}     # of scripts in directories; recordings have their own
```
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from opennandlab.app.cases import HOMES, Sizes, check_sizes
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_yaml

HEAVY: Final = {
    "camera": 10, "web": 100, "contact": 200, "install": 10, "mediascan": 0, "gallery": 100,
}  # fmt: skip
# 2.5 GB of reads and writes a run; `desktop` has ten times as much.
DESKTOP: Final = {"boot": 5, "load": 15, "surf": 50, "media": 8, "photo": 6, "office": 14}
LIGHT: Final = {name: count // 10 for name, count in HEAVY.items()}
# Many accesses of databases and small files; and what fills a file system.
MAIN: Final = {"web": 10, "contact": 20, "gallery": 10}
FULL_RATIO: Final = 0.95
COUNT_MAX: Final = 1_000_000
KEYS: Final = ("title", "cases", "sizes")


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
            "iozone-direct", {"iozone_direct": 384},
            title="the same past the cache: each record is a request of the drive",
        ),
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
        Suite(
            "desktop", {name: 10 * count for name, count in DESKTOP.items()},
            title="boot, load, surf, media, photo, office: ten times desktop-quick",
        ),
        Suite("desktop-quick", DESKTOP, title="boot, load, surf, media, photo, office"),
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
        name: Name of the suite, or the path of a file that ends in `.yaml`.
        cases: Cases to run, with their iterations; None for those of the suite, or for a case that
            it leaves out, one.

    Raises:
        ConfigError: for an unknown suite or case.
    """
    if is_file(name):
        found = from_file(Path(name))
    elif name in SUITES:
        found = SUITES[name]
    else:
        message = f"`{name}` is not a suite; accepted: {', '.join(SUITES)}, or a file FILE.yaml"
        raise ConfigError("suite", message)
    if not cases:
        return found
    counts = {}
    for case, count in cases.items():
        if case not in HOMES:
            raise ConfigError("case", f"`{case}` is not a case; accepted: {', '.join(HOMES)}")
        chosen = found.counts.get(case, 0) or 1 if count is None else count
        if not 1 <= chosen <= COUNT_MAX:
            raise ConfigError("case", f"{case}={chosen}; accepted: 1 to {COUNT_MAX} iterations")
        counts[case] = chosen
    return Suite(found.name, counts, found.sizes, found.fill, found.title)


def is_file(name: str) -> bool:
    """Return whether a suite is named by its file.

    >>> is_file("desktop"), is_file("mine/mornings.yaml")
    (False, True)
    """
    return name.endswith((".yaml", ".yml"))


def from_file(path: Path) -> Suite:
    """Return the suite of a YAML file.

    Raises:
        ConfigError: with the key, for a file without a case, unknown names and wrong values.
    """
    given = read_yaml(path)
    unknown = next((key for key in given if key not in KEYS), None)
    if unknown is not None:
        raise ConfigError(f"suite.{unknown}", f"is unknown; accepted: {', '.join(KEYS)}")
    counts = given.get("cases")
    if not isinstance(counts, Mapping) or not counts:
        message = f"{path} has no case; accepted: for example {{boot: 1, surf: 20}}"
        raise ConfigError("suite.cases", message)
    for case, count in counts.items():
        if case not in HOMES:
            message = f"is not a case; accepted: {', '.join(HOMES)}"
            raise ConfigError(f"suite.cases.{case}", message)
        is_count = isinstance(count, int) and not isinstance(count, bool)
        if not is_count or not 1 <= count <= COUNT_MAX:
            message = f"`{count}`; accepted: 1 to {COUNT_MAX} iterations"
            raise ConfigError(f"suite.cases.{case}", message)
    title = given.get("title", "")
    if not isinstance(title, str):
        raise ConfigError("suite.title", f"`{title}` is not text")
    return Suite(path.stem, dict(counts), _sizes(given.get("sizes", {})), title=title)


def _sizes(given: Any) -> Sizes:  # noqa: ANN401 (YAML holds anything)
    if not isinstance(given, Mapping) or not all(
        isinstance(own, Mapping) for own in given.values()
    ):
        message = f"`{given}`; accepted: for example {{surf: {{files: 100}}}}"
        raise ConfigError("suite.sizes", message)
    check_sizes(given)
    return given
