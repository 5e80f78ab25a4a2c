"""When the jobs of an output ran, and which of them at the same time.

Since fio 3.36 an output has `job_start`. Before, the times follow from the options: fio begins the
jobs of a group at once, and the next group when the last of them has ended; `startdelay` counts
from the begin of all, and `wait_for` names a job that must have ended.

Source: `run_threads` in `backend.c`, `get_mult_time` in `parse.c`, HOWTO of fio.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from opennandlab.measured.fio.options import whole
from opennandlab.measured.fio.record import Record

Key = TypeVar("Key", bound=Hashable)

TIME = re.compile(r"(0x[0-9a-f]+|\d+)([a-z]*)", re.IGNORECASE | re.ASCII)
UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# Jobs that share less of the shorter one's time did not disturb each other.
SHARED_MIN = 0.01


@dataclass(frozen=True)
class Span:
    """When a job ran.

    Args:
        begin_s: When the first of its processes began.
        end_s: When the last of them ended, at least.
    """

    begin_s: float
    end_s: float

    def shares(self, other: Span) -> bool:
        """Return whether two jobs ran at the same time."""
        shared = min(self.end_s, other.end_s) - max(self.begin_s, other.begin_s)
        shorter = min(self.end_s - self.begin_s, other.end_s - other.begin_s)
        return shared > SHARED_MIN * shorter


def seconds_of(text: str) -> tuple[float, float]:
    """Return the least and the most seconds of a time of fio; none for what is no time.

    >>> seconds_of("1100ms"), seconds_of("2m"), seconds_of("1-5"), seconds_of("x")
    ((1.1, 1.1), (120.0, 120.0), (1.0, 5.0), (0.0, 0.0))
    """
    found = [TIME.fullmatch(part.strip()) for part in re.split("[-,:]", text)]
    times = [whole(one[1]) * _unit_s(one[2].lower()) for one in found if one]
    return (min(times), max(times)) if times and all(found) else (0.0, 0.0)


def _unit_s(name: str) -> float:
    """Return a unit of time in seconds; what fio does not know it takes for microseconds."""
    return 1e-3 if name.startswith("ms") else UNITS_S.get(name, 1e-6)


def spans(jobs: Mapping[Key, Sequence[Record]]) -> dict[Key, Span]:
    """Return when the jobs of one host ran, without those for which that is unknown.

    Args:
        jobs: The processes of each, in the order of the output.
    """
    found: dict[Key, Span] = {}
    ends_s: dict[str, float] = {}
    group: int | None = None
    begin_s = end_s = 0.0
    for key, parts in sorted(jobs.items(), key=lambda job: job[1][0].group or 0):
        if all(part.start_s is not None for part in parts):
            found[key] = _stated(parts)
            continue
        first, options = parts[0], parts[0].options or {}
        if first.group is None:
            continue
        if first.group != group:
            group, begin_s = first.group, end_s
        begun = max(begin_s, ends_s.get(options.get("wait_for", ""), 0.0))
        least, most = seconds_of(options.get("startdelay", "0"))
        ran = max(_ran(part) for part in parts)
        found[key] = Span(max(begun, least), max(begun, most) + ran)
        ends_s[first.name] = max(ends_s.get(first.name, 0.0), found[key].end_s)
        end_s = max(end_s, found[key].end_s)
    return found


def staggered(parts: Sequence[Record]) -> str:
    """Return why processes of one job did not run together; empty where they did."""
    delay = (parts[0].options or {}).get("startdelay", "0")
    least, most = seconds_of(delay)
    if least < most:
        return f"startdelay is {delay}: its processes began at different times"
    alone = [_stated([part]) for part in parts if part.start_s is not None]
    is_apart = alone and max(one.begin_s for one in alone) >= min(one.end_s for one in alone)
    return "its processes ran at different times, by job_start" if is_apart else ""


def _stated(parts: Sequence[Record]) -> Span:
    starts = [part.start_s or 0.0 for part in parts]
    ends = (start + _ran(part) for start, part in zip(starts, parts, strict=True))
    return Span(min(starts), max(ends))


def _ran(part: Record) -> float:
    """Return how many seconds a process ran at least: `ramp_time` is not in what it counts."""
    ramp = seconds_of((part.options or {}).get("ramp_time", "0"))[1]
    return ramp + max((side.seconds for side in part.sides.values()), default=0.0)
