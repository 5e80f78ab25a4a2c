"""Whether the figures of a job are those of the load that its options name.

fio writes the options of the last job next to the figures of a whole group, and a queue is as deep
as the engine lets it be. A job that fails a check is *uncertain*: it is labelled by its figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from opennandlab.measured.fio.options import Load
from opennandlab.measured.fio.record import Latency, Record, Side, joined

# Bytes of a request may differ from `bs` by this share, as the last request of a file does.
SIZE_TOLERANCE = 1e-3
# Fewer seconds do not tell how many processes ran.
RUNTIME_MIN_S = 0.1
# Requests in flight, as a share of those that the label says.
IN_FLIGHT = (0.5, 1.05)
# A mix is drawn for each request: so many standard deviations, and percentage points, are chance.
MIX_DEVIATIONS = 5.0
MIX_POINTS = 1.0


@dataclass(frozen=True)
class Figures:
    """What the processes of a job measured together.

    Args:
        sides: By direction, those with requests; `mixed` where fio does not part them.
        seconds: The longest run time.
        processes: Processes by run time; None where fio does not say.
        in_flight: Requests in flight on average (L); None where response times are unknown.
    """

    sides: Mapping[str, Side]
    seconds: float
    processes: int | None
    in_flight: float | None

    @property
    def ios(self) -> int:
        """Requests of all directions but trims."""
        return sum(side.ios for name, side in self.sides.items() if name != "trim")

    @property
    def size(self) -> float:
        """Mean bytes of a request."""
        bytes_ = sum(side.bytes for name, side in self.sides.items() if name != "trim")
        return bytes_ / self.ios

    @property
    def read_pct(self) -> float | None:
        """Reads in percent of the requests; None where fio does not part them."""
        if "mixed" in self.sides:
            return None
        return 100.0 * self.sides["read"].ios / self.ios if "read" in self.sides else 0.0

    def latency(self, kind: str, direction: str | None = None) -> Latency | None:
        """Return `lat` or `clat` of reads and writes together, or of one direction."""
        names = [name for name in self.sides if name != "trim" and direction in {None, name}]
        return joined([getattr(self.sides[name], kind) for name in names])


def figures(parts: Sequence[Record]) -> Figures:
    """Return what the processes of a job measured together."""
    sides: dict[str, Side] = {}
    names = ["read", "write", "trim"]
    if not any(name in part.sides for part in parts for name in names):
        names = ["mixed"]
    for name in names:
        given = [part.sides[name] for part in parts if name in part.sides]
        if any(side.ios for side in given):
            sides[name] = _together([side for side in given if side.ios])
    seconds = max((side.seconds for side in sides.values()), default=0.0)
    counts = [_processes(part) for part in parts]
    known = [count for count in counts if count is not None]
    return Figures(
        sides=sides,
        seconds=seconds,
        processes=sum(known) if len(known) == len(counts) else None,
        in_flight=_in_flight(parts, names),
    )


def _together(sides: Sequence[Side]) -> Side:
    return Side(
        ios=sum(side.ios for side in sides),
        bytes=sum(side.bytes for side in sides),
        seconds=max(side.seconds for side in sides),
        lat=joined([side.lat for side in sides]),
        clat=joined([side.clat for side in sides]),
        is_counted=all(side.is_counted for side in sides),
        doubt=next((side.doubt for side in sides if side.doubt), ""),
        odd=next((side.odd for side in sides if side.odd), ""),
    )


def _processes(part: Record) -> int | None:
    """Return how many processes an entry is of: their run times over the longest one."""
    longest = max((side.seconds for side in part.sides.values()), default=0.0)
    if not any(side.ios for side in part.sides.values()):
        return 0
    if part.runtime_s is None or longest <= RUNTIME_MIN_S:
        return None
    return max(1, round(part.runtime_s / longest))


def _in_flight(parts: Sequence[Record], names: Sequence[str]) -> float | None:
    """Return the requests in flight by Little's law: rate x mean response time, summed."""
    total = 0.0
    for part in parts:
        for side in (part.sides[name] for name in names if name in part.sides):
            if not side.ios:
                continue
            latency = side.lat or side.clat
            if latency is None or not side.seconds:
                return None
            total += side.ios / side.seconds * latency.mean_ns * 1e-9
    return total


def doubts(found: Figures, load: Load, processes: int | None, depth: int | None) -> Iterator[str]:
    """Yield why the figures are not, or not surely, those of the load.

    Args:
        found: The figures.
        load: As the options name it.
        processes: As the job is labelled.
        depth: Likewise, of each process.
    """
    yield from _sizes(found, load)
    yield from _directions(found, load)
    if found.processes is not None and load.processes is not None \
            and found.processes != processes:  # fmt: skip
        yield (
            f"run times are those of {_counted(found.processes, 'process')}, the options name "
            f"{processes}"
        )
    yield from _queue(found, found.processes or processes, depth)
    yield from load.limits
    yield from dict.fromkeys(side.doubt for side in found.sides.values() if side.doubt)


def is_size(found: Figures, load: Load) -> bool:
    """Return whether all requests have the one size that the options name."""
    if load.sizes is None or load.sizes[0] != load.sizes[1]:
        return False
    return all(_deviation(side, load.sizes) == 0 for _, side in _of_data(found))


def is_mix(found: Figures, load: Load) -> bool:
    """Return whether the directions are those that the options name, in their shares."""
    return load.read_pct is not None and not any(_directions(found, load))


def _of_data(found: Figures) -> list[tuple[str, Side]]:
    return [(name, side) for name, side in found.sides.items() if name != "trim"]


def _deviation(side: Side, sizes: tuple[int, int]) -> float:
    """Return by how much the mean size is beyond the sizes asked for, as a share; 0 within."""
    low, high = sizes
    mean = side.bytes / side.ios
    # Whole KiB, and IOPS in whole numbers, of old versions.
    lost = 1024 / side.ios / mean if mean else 0.0
    share = SIZE_TOLERANCE + lost
    if not side.is_counted and side.seconds:
        share += 1 / (side.ios / side.seconds)
    beyond = max(low - mean, mean - high, 0.0) / low
    return beyond if beyond > share else 0.0


def _sizes(found: Figures, load: Load) -> Iterator[str]:
    if load.sizes is None:
        return
    low, high = load.sizes
    for name, side in _of_data(found):
        if _deviation(side, load.sizes):
            asked = f"bs is {low} B" if low == high else f"sizes are {low} to {high} B"
            yield f"a {name} has {side.bytes / side.ios:.6g} B on average, {asked}"
    if low != high:
        yield f"requests have {low} to {high} B: filed under their mean"


def _directions(found: Figures, load: Load) -> Iterator[str]:
    """Yield requests of a direction that `rw` denies, and a mix that chance does not make."""
    if load.read_pct is None:
        return
    denied = {"trim"} | ({"write"} if load.read_pct == 100 else set())
    denied |= {"read"} if load.read_pct == 0 else set()
    wrong = [f"{side.ios} {name}s" for name, side in found.sides.items() if name in denied]
    if wrong:
        yield f"{' and '.join(wrong)} where rw is {load.rw}"
        return
    share = found.read_pct
    if share is None:
        return
    spread = MIX_DEVIATIONS * math.sqrt(load.read_pct * (100 - load.read_pct) / found.ios)
    if abs(share - load.read_pct) > spread + MIX_POINTS:
        yield f"{share:.1f} % of the requests are reads, the options name {load.read_pct:g} %"


def _queue(found: Figures, processes: int | None, depth: int | None) -> Iterator[str]:
    if found.in_flight is None or processes is None or depth is None:
        return
    labelled = processes * depth
    if found.in_flight > IN_FLIGHT[1] * labelled:
        yield (
            f"L = {found.in_flight:.3g} requests in flight, more than the {labelled} of the label: "
            "there were more processes, or deeper queues"
        )
    elif found.in_flight < IN_FLIGHT[0] * labelled:
        yield (
            f"L = {found.in_flight:.3g} requests in flight of {labelled}: the queue was not full"
        )


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}es"
