"""Zones: how large the superblocks of a drive are, and how many it has open.

    for each point (open x size): purge | writes of 512 KiB, one outstanding, into zones that are
    chosen at random, trimmed, and written from end to end

A drive writes what comes into the superblocks that it has open. A zone that is smaller than a
superblock shares it with others, and two zones that are written in turn share one too, where the
drive has fewer open; then the trim of a zone leaves a superblock that still holds data, and its
collection costs rate. So the rate falls below 0.9 of the plateau at two edges:

    size    the largest zone that is slower is an estimate of the superblock
    count   the most open zones that are not slower are an estimate of the open superblocks

Both lie between two points that were tried, and the results name both ends. Spare area hides both:
a zone leaves about half a superblock that is not all its own, and a drive moves data only when
these remains no longer fit into what is spare. On simulated drives with spare factors S from 0.06
to 0.44 the edge was at 0.117/S to 0.171/S superblocks (docs/pts.md), so that edge x S / 0.15 is
right within a factor of 1.3. Where S is known, from the file of a simulated drive or by the option,
that estimate stands next to the edge; a real drive tells S by `fill`.
 Without a list
(`auto`) sizes go down by factors of two from a 32nd of the capacity until two in a row are slow,
counts go up by factors of two until one is slow; on a simulated drive, whose time costs nothing,
both edges are then narrowed by bisection.

Source: the method of SSD-iq (G. Haas and co-authors, 2025): four drive writes, of which half of one
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

from opennandlab.base.errors import ConfigError
from opennandlab.base.units import parse_bytes
from opennandlab.documents.pts import Table
from opennandlab.documents.pts_inside import ZonePoint, ZonesResults
from opennandlab.pts.bench.document import table
from opennandlab.pts.bench.engine import Bench
from opennandlab.pts.bench.findings import Findings
from opennandlab.pts.bench.plan import SINGLE_LOAD, Option
from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.inside import course
from opennandlab.pts.tests.inside.facts import Inside, inside_of
from opennandlab.targets.base import Limit, Logs

MIB = 1 << 20
REQUEST_BYTES = 512 << 10
PLATEAU = 0.9
OPEN_MAX = 1024
# Drive writes in all, and those that count.
WRITES, COUNTED = 4.0, 0.5
# Zones of the ladder, as parts of the capacity, and open zones.
LADDER = tuple(1 << power for power in range(5, 13))
# Larger ones, where the first of the ladder turns out to be slow.
LARGER = (16, 8, 4)
COUNTS = (2, 4, 8, 16, 32)
# Zones for the counts are so much larger than the superblock.
ROOM = 4.0
# Edges are narrowed to this ratio.
RATIO = 1.13
# Edge in superblocks times the spare factor; measured, see above.
EDGE = 0.15


@dataclass(frozen=True)
class Zone:
    """A point: so many open zones of so many bytes."""

    open: int
    zone_bytes: int

    @property
    def name(self) -> str:
        """`2 x 64 MiB`."""
        return f"{self.open} x {self.zone_bytes / MIB:g} MiB"


@dataclass(frozen=True)
class Edges:
    """What the curve says of the superblocks; None for what was not found, or not looked for.

    Args:
        low: The largest slow size with one open zone.
        high: The next larger one that was tried.
        estimate: The edge with its bias by the spare area taken out.
        most: The most open zones before the rate falls.
        fewest: The fewest where it has.
        size: Size of the zones of which several were open.
    """

    low: int | None = None
    high: int | None = None
    estimate: int | None = None
    most: int | None = None
    fewest: int | None = None
    size: int | None = None


def listed(text: str) -> list[Zone]:
    """Read a list of points; empty for `auto`.

    Raises:
        ValueError: for one that is invalid.

    >>> [one.name for one in listed("1x1GiB,2x1GiB")]
    ['1 x 1024 MiB', '2 x 1024 MiB']
    """
    return [] if text == "auto" else [_point(word.strip()) for word in text.split(",")]


def _point(word: str) -> Zone:
    match = re.fullmatch(r"([0-9]{1,4})x([0-9].*)", word)
    if match is None:
        raise ValueError(f"`{word}` is not a point")
    try:
        size = parse_bytes(match[2])
    except ConfigError as error:
        raise ValueError(f"`{word}`: {error.message}") from None
    count = int(match[1])
    if not 1 <= count <= OPEN_MAX or size < REQUEST_BYTES:
        raise ValueError(f"`{word}` is out of range")
    return Zone(count, _rounded(size))


def _rounded(size: float, step: int = 1) -> int:
    """Zones are whole requests, of a divided drive too."""
    unit = REQUEST_BYTES * step
    return max(round(size / unit), 1) * unit


def _room(bench: Bench) -> float:
    """Return the bytes of the range, of the whole drive."""
    return bench.plan.time.capacity_bytes * bench.plan.active_range.share * bench.target.shrink


class _Curve:
    """The points that were tried, in the order of trying."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self.step = bench, bench.target.shrink
        self.points: dict[Zone, ZonePoint] = {}

    def rate(self, zone: Zone) -> float:
        """Return the rate of a point, which is tried once."""
        if zone not in self.points:
            self.points[zone] = self._tried(zone)
            # Edges take all points: a run that is cut has a curve and no edge.
            self._bench.record.so_far = _findings(self._bench, self, Edges())
        return self.points[zone].mb_s or 0.0

    def _tried(self, zone: Zone) -> ZonePoint:
        bench, plan = self._bench, self._bench.plan
        writes = course.writes_of(bench, plan.number("drive_writes"), WRITES)
        stimulus = bench.stimulus(
            block_bytes=REQUEST_BYTES,
            logs=Logs(zone.zone_bytes // bench.target.shrink, zone.open),
            threads=1,
            queue_depth=1,
        )
        unit = _room(bench) / bench.target.shrink
        counted = min(COUNTED, writes / 4)
        # In one piece: a second one would begin with new zones and leave the first half written.
        limit = Limit(bytes=_rounded(writes * unit), ramp_ratio=1.0 - counted / writes)
        bench.purge(group=zone.name)
        with bench.phase("zones", group=zone.name, cells=1):
            cell = bench.measure(stimulus, limit, label=zone.name)
        return ZonePoint(
            open=zone.open, zone_bytes=zone.zone_bytes, mb_s=cell.measurement.mb_s, waf=cell.waf
        )

    @property
    def plateau(self) -> float:
        """The best rate with one open zone."""
        return max((it.mb_s or 0.0 for it in self.points.values() if it.open == 1), default=0.0)

    def is_slow(self, zone: Zone) -> bool:
        """Whether a point is below the plateau."""
        return self.rate(zone) < PLATEAU * self.plateau

    def is_slow_beside(self, count: int, size: int) -> bool:
        """Whether so many open zones are slower than one of the same size."""
        return self.rate(Zone(count, size)) < PLATEAU * self.rate(Zone(1, size))

    def size_edge(self) -> tuple[int | None, int | None]:
        """Return the largest slow size with one open zone, and the next one that was tried."""
        sizes = sorted(zone.zone_bytes for zone in self.points if zone.open == 1)
        slow = [size for size in sizes if self.is_slow(Zone(1, size))]
        if not slow:
            return None, sizes[0] if sizes else None
        return slow[-1], next((size for size in sizes if size > slow[-1]), None)

    def count_edge(self, size: int) -> tuple[int | None, int | None]:
        """Return the most open zones before the rate falls, and the fewest where it has."""
        counts = sorted(zone.open for zone in self.points if zone.zone_bytes == size)
        if not counts or counts[0] != 1:
            return None, None
        last = 1
        for count in counts:
            if self.is_slow_beside(count, size):
                return last, count
            last = count
        return last, None


def run(bench: Bench) -> Findings:
    """Try the points and look for the edges."""
    curve = _Curve(bench)
    asked = listed(bench.plan.text("zones"))
    if asked:
        _check(bench, asked)
        for zone in asked:
            curve.rate(zone)
        sizes = [zone.zone_bytes for zone in asked if zone.open > 1]
        size = max(sizes) if sizes else None
    else:
        size = _explore(bench, curve)
    return _found(bench, curve, size)


def _check(bench: Bench, asked: list[Zone]) -> None:
    """Refuse zones that do not fit."""
    room, step = int(_room(bench)), REQUEST_BYTES * bench.target.shrink
    for zone in asked:
        if zone.zone_bytes % step:
            raise ConfigError(
                "zones",
                f"`{zone.name}` over {bench.target.shrink} is not a multiple of {REQUEST_BYTES} B; "
                f"accepted: multiples of {step / MIB:g} MiB",
            )
        if zone.open >= room // zone.zone_bytes:
            raise ConfigError(
                "zones",
                f"`{zone.name}` does not fit; accepted: fewer open zones than there are in "
                f"{room / MIB:g} MiB",
            )


def _explore(bench: Bench, curve: _Curve) -> int | None:
    """Find both edges; return the size at which counts were tried."""
    room, step = _room(bench), bench.target.shrink
    ladder = sorted({_rounded(room / part, step) for part in LADDER}, reverse=True)
    for size in ladder:
        curve.rate(Zone(1, size))
        tried = sorted(zone.zone_bytes for zone in curve.points)
        if len(tried) > 1 and all(curve.is_slow(Zone(1, small)) for small in tried[:2]):
            break
    if bench.plan.time.is_virtual:
        _narrow_size(curve)
        ladder = [*_enlarged(curve, room), *ladder]
    low, _ = curve.size_edge()
    fast = [size for size in reversed(ladder) if not curve.is_slow(Zone(1, size))]
    if not fast:
        return None
    size = next((it for it in fast if low is None or it >= ROOM * low), fast[-1])
    for count in COUNTS:
        if count >= room // size or curve.is_slow_beside(count, size):
            break
    if bench.plan.time.is_virtual:
        _narrow_count(curve, size)
    return size


def _enlarged(curve: _Curve, room: float) -> list[int]:
    """Try larger zones as long as the largest is slow; return them, the largest first.

    A zone of a whole superblock is fast: it can show that the first of the ladder is not.
    """
    tried: list[int] = []
    for part in LARGER:
        low, high = curve.size_edge()
        if low is None or high is not None:
            break
        tried.insert(0, _rounded(room / part, curve.step))
        curve.rate(Zone(1, tried[0]))
        _narrow_size(curve)
    return tried


def _narrow_size(curve: _Curve) -> None:
    while True:
        low, high = curve.size_edge()
        if low is None or high is None or high / low <= RATIO:
            return
        middle = _rounded(sqrt(low * high), curve.step)
        if not low < middle < high:
            return
        curve.rate(Zone(1, middle))


def _narrow_count(curve: _Curve, size: int) -> None:
    while True:
        low, high = curve.count_edge(size)
        if low is None or high is None or high - low <= 1:
            return
        curve.rate(Zone((low + high) // 2, size))


def _found(bench: Bench, curve: _Curve, size: int | None) -> Findings:
    low, high = curve.size_edge()
    most, fewest = curve.count_edge(size) if size is not None else (None, None)
    known = inside_of(bench)
    spare = bench.plan.number("spare_factor") or (known.spare_factor if known else None)
    estimate = None
    if low is not None and high is not None and spare is not None:
        estimate = round(sqrt(low * high) * spare / EDGE)
    if low is not None and high is None:
        bench.warn(f"zones of {low / MIB:g} MiB, the largest that were tried, are slow: no edge")
    if low is None:
        smallest = min(zone.zone_bytes for zone in curve.points)
        bench.warn(f"no zone down to {smallest / MIB:g} MiB is slower: no superblock was seen")
    edges = Edges(low, high, estimate, most, fewest, size)
    found = _findings(bench, curve, edges)
    return replace(found, tables=[*found.tables, *_estimates(edges, known)])


def _findings(bench: Bench, curve: _Curve, edges: Edges) -> Findings:
    known = inside_of(bench)
    points = sorted(curve.points.values(), key=lambda it: (it.open, it.zone_bytes))
    return Findings(
        ZonesResults(
            plateau_mb_s=curve.plateau,
            superblock_bytes=edges.low,
            superblock_bytes_below=edges.high,
            superblock_bytes_estimated=edges.estimate,
            superblock_bytes_declared=known.superblock_bytes if known else None,
            open_superblocks=edges.most,
            open_superblocks_below=edges.fewest,
            counted_zone_bytes=edges.size,
            points=points,
            waf_missing=bench.target.waf_missing or None,
        ),
        tables=[_table(points, curve.plateau)],
    )


def _table(points: list[ZonePoint], plateau: float) -> Table:
    def row(point: ZonePoint) -> Iterator[float | None]:
        yield point.mb_s
        yield point.mb_s / plateau if point.mb_s is not None and plateau else None
        yield point.waf

    return table(
        "zones",
        "Zones, trimmed and written from end to end",
        "MB/s; 1",
        row_label="open x size",
        rows=[Zone(point.open, point.zone_bytes).name for point in points],
        columns=["MB/s", "of the plateau", "WAF"],
        values=[list(row(point)) for point in points],
    )


def _estimates(edges: Edges, known: Inside | None) -> Iterator[Table]:
    """Yield what the edges say; nothing without any."""
    rows: list[str] = []
    values: list[list[float | str | None]] = []
    if edges.low is not None:
        declared = known.superblock_bytes / MIB if known else None
        rows.append("superblock, MiB")
        values.append([edges.low / MIB, _mib(edges.high), _mib(edges.estimate), declared])
    if edges.most is not None:
        rows.append("open superblocks")
        values.append([edges.most, edges.fewest, None, None])
    if rows:
        yield table(
            "estimates",
            "What the edges say of the superblocks",
            "MiB; 1",
            row_label="estimate of",
            rows=rows,
            columns=["edge", "below", "with spare area", "device file"],
            values=values,
        )


def _mib(size: int | None) -> float | None:
    return None if size is None else size / MIB


TEST = Test(
    name="zones",
    title="Zones with trim",
    summary="Zones trimmed and written from end to end: size and number of open superblocks.",
    run=run,
    load=SINGLE_LOAD,
    wipc=False,
    cache_enabled=True,
    trims=True,
    options=(
        Option(
            "zones",
            "auto",
            "Points as OPENxSIZE, by commas, such as 1x1GiB,2x1GiB; auto looks for the edges.",
            accepted="auto, or OPENxSIZE by commas: 1 to 1024 zones of at least 512KiB",
            reader=listed,
        ),
        Option("drive_writes", 0.0, "Drive writes of each point; 0 means 4."),
        Option(
            "spare_factor",
            0.0,
            "Part of the flash beyond the user capacity, for the estimate; 0: unknown, or as in "
            "the device file.",
            maximum=0.99,
        ),
    ),
)
