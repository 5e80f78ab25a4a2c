"""The time of a phone's processor, which recorded requests on a fast machine do not have.

```text
recorded   begin ─ A ▓▓ ── B ▓▓ ── D ▓▓ ─ end
                             C ▓▓
played     begin ░░░ A ▓▓ ── ░░░ B ▓▓ ── ░░░ D ▓▓ ─ end      ░ a third of the think time
                                   C ▓▓
```
The think time of an iteration is spread evenly before its requests, those apart that came while
the drive was at work: they were sent together. What overlapped still does, since arrivals and
replies move by the same rule, so that no request waits for another that it did not wait for before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from opennandlab.app.cases import HOMES
from opennandlab.app.trace import Request
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import read_yaml
from opennandlab.base.plain import is_number
from opennandlab.documents.app import AppCpu

# By how much the heavy run of "Truth about eMMC performance benchmark" (A. Lee) takes longer than
# ours on the young and clean `emmc_16gb`, in milliseconds an iteration: fitted to that talk, not
# measured on a phone. The talk ran no media scan.
PHONE2013: Final[Mapping[str, float]] = {
    "camera": 175.2, "web": 433.9, "contact": 221.1, "install": 1278.4, "gallery": 124.9,
}  # fmt: skip
NONE: Final = "none"
NAMED: Final[Mapping[str, Mapping[str, float]]] = {NONE: {}, "phone2013": PHONE2013}
THINK_MS_MAX: Final = 3_600_000


@dataclass(frozen=True)
class Processor:
    """Who thinks between requests, and for how long.

    Args:
        name: Name of the processor, or of its file.
        think_ms: Milliseconds of an iteration, by case; empty without think time.
    """

    name: str = NONE
    think_ms: Mapping[str, float] = field(default_factory=dict)

    def think_ns(self, case: str) -> int:
        """Return the think time of an iteration of a case."""
        return round(1e6 * self.think_ms.get(case, 0.0))

    def record(self) -> AppCpu | None:
        """Return what a document has of it; None without think time."""
        if self.name == NONE:
            return None
        return AppCpu(name=self.name, think_ms=dict(self.think_ms))


def processor(given: str, cases: Iterable[str]) -> Processor:
    """Return a processor by its name or from its file.

    Args:
        given: `none`, `phone2013`, or the path of a YAML file with milliseconds by case.
        cases: Those that will be run, each of which must have a time.

    Raises:
        ConfigError: for unknown cases, missing ones, and values that are no times.
    """
    if given == NONE:
        return Processor()
    times: Mapping[str, object] = NAMED.get(given) or read_yaml(Path(given))
    for case, value in times.items():
        if case not in HOMES:
            raise ConfigError(f"cpu.{case}", f"is not a case; accepted: {', '.join(HOMES)}")
        if not is_number(value) or not 0 <= value <= THINK_MS_MAX:
            message = f"`{value}`; accepted: 0 to {THINK_MS_MAX} ms an iteration"
            raise ConfigError(f"cpu.{case}", message)
    for case in cases:
        if case not in times:
            message = (
                f"`{given}` has no time for it; accepted: milliseconds for every case that is run"
            )
            raise ConfigError(f"cpu.{case}", message)
    found = {case: float(value) for case, value in times.items()}  # type: ignore[arg-type]
    return Processor(given if given in NAMED else Path(given).name, found)


def spread(requests: tuple[Request, ...], think_ns: int) -> tuple[Request, ...]:
    """Return requests with the think time of each iteration before its requests.

    >>> from opennandlab.app.trace import MARK, WRITE
    >>> made = [Request(MARK, 0, 0, 0, 0, 0, ("a", 0, False)), Request(WRITE, 0, 0, 4096, 5, 9),
    ...         Request(WRITE, 0, 0, 4096, 12, 20), Request(MARK, 0, 0, 0, 21, 21, ("a", 0, True))]
    >>> [(one.arrive, one.reply) for one in spread(tuple(made), 100)]
    [(0, 0), (55, 59), (112, 120), (121, 121)]
    """
    if not think_ns:
        return requests
    shifts = _shifts(requests, think_ns)
    arrivals = [one.arrive for one in requests]
    moved = []
    for place, one in enumerate(requests):
        # Those that came before its reply; what came with it may have waited for it.
        last = max(place, bisect_left(arrivals, one.reply) - 1)
        moved.append(
            Request(
                one.kind, one.stream, one.offset, one.length, one.arrive + shifts[place],
                one.reply + shifts[last], one.mark,
            )
        )  # fmt: skip
    return tuple(moved)


def _shifts(requests: tuple[Request, ...], think_ns: int) -> list[int]:
    """Return by how much each request comes later."""
    # Stretches begin at marks, so that those inside iterations have even numbers.
    firsts: list[bool] = []
    counts: list[int] = []
    answered = 0
    for one in requests:
        firsts.append(one.mark is None and one.arrive >= answered)
        answered = max(answered, one.reply)
        if one.mark is not None:
            counts.append(0)
        elif counts:
            counts[-1] += firsts[-1]
    shifts = []
    stretch, seen, thought = -1, 0, 0
    for one, is_first in zip(requests, firsts, strict=True):
        if one.mark is not None:
            stretch, seen = stretch + 1, 0
            thought += think_ns * (stretch % 2)
        seen += is_first
        share = think_ns * seen // counts[stretch] if seen and stretch % 2 == 0 else 0
        shifts.append(thought + share)
    return shifts
