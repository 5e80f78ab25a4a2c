"""What a disk may hold after a loss of power, built from the record of what it was told.

```text
record ─ cut ─┬─ acknowledged before a flush that was completed: on the flash ─────► image
              └─ the rest: any of it, in part, as the variant says ──────────────────►
```
A flush covers what was acknowledged before it was issued; a forced write covers itself. An honest
disk may keep any part of the rest (`prefix`, `subset`, `torn`); the others do what no disk may:

| variant | of what is not covered |
|---|---|
| `prefix` | the first so many requests |
| `subset` | each, or not |
| `torn` | each, or not, or some of its atomic units |
| `torn_below` | the same, and one atomic unit is half new and half old |
| `flush_ignored` | the same as `subset`, and flushes of the last milliseconds cover nothing |
| `paired_page` | as `prefix`, and one of the last units that were covered is damaged |
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from opennandlab.studies.power.capture import FLUSH, TRIM, WRITE, Capture, Request

HONEST: Final = ("prefix", "subset", "torn")
DISHONEST: Final = ("torn_below", "flush_ignored", "paired_page")
VARIANTS: Final = HONEST + DISHONEST
NS_PER_MS: Final = 1_000_000
# A page shares its wordline with pages that are programmed soon after it: of so many units that
# were covered last, one is hit. An assumption of this model.
PAIRED_UNITS: Final = 8


@dataclass(frozen=True)
class Cut:
    """Where the power fails, and what the disk makes of it.

    Args:
        place: Entries of the record before it.
        variant: One of `VARIANTS`.
        atomic_bytes: What is written whole or not at all.
        window_ms: For how long flushes were ignored; of `flush_ignored`.
        seed: Seed of all that is drawn.
    """

    place: int
    variant: str
    atomic_bytes: int = 512
    window_ms: float = 50.0
    seed: str = ""


def split(capture: Capture, cut: Cut) -> tuple[list[Request], list[Request]]:
    """Return what is covered by flushes at a cut, and what else was asked for, in order.

    Args:
        capture: The record.
        cut: Where; with `flush_ignored` the flushes of its window cover nothing.
    """
    ignored_from: float = float("inf")
    if cut.variant == "flush_ignored" and cut.place > 0:
        ignored_from = capture.times_ns[cut.place - 1] - cut.window_ms * NS_PER_MS
    begun = [it for it in capture.requests if it.begun < cut.place]

    def counts(request: Request) -> bool:
        is_done = request.answered is not None and request.answered < cut.place
        return is_done and (request.answered_ns or 0) <= ignored_from

    flushed = max((it.begun for it in begun if it.command == FLUSH and counts(it)), default=0)
    covered: list[Request] = []
    rest: list[Request] = []
    for request in begun:
        if request.command == FLUSH:
            continue
        by_flush = request.answered is not None and request.answered < flushed
        by_force = request.is_forced and counts(request)
        (covered if by_flush or by_force else rest).append(request)
    return covered, rest


def settled(capture: Capture, before_ns: int) -> int:
    """Return a place before which everything is covered by flushes that were done by a time.

    Args:
        capture: The record.
        before_ns: On the clock of the record.
    """
    flushes = [
        it.begun
        for it in capture.requests
        if it.command == FLUSH and it.answered_ns is not None and it.answered_ns < before_ns
    ]
    for place in sorted(flushes, reverse=True):
        earlier = [it for it in capture.requests if it.begun < place]
        if all(it.answered is not None and it.answered < place for it in earlier):
            return place
    return 0


def image(capture: Capture, cut: Cut, base: bytes | None = None, since: int = 0) -> bytearray:
    """Return what the disk holds after a cut.

    Args:
        capture: The record.
        cut: Where, and what the disk makes of it.
        base: What it held after the requests that were begun before `since`, all of which are
            covered; None: zeros.
        since: Requests before this entry are in `base`.

    Raises:
        ValueError: for a variant that is not known.
    """
    if cut.variant not in VARIANTS:
        raise ValueError(cut.variant)
    stream = random.Random(f"{cut.seed}/{cut.variant}/{cut.place}")  # noqa: S311 (a simulation)
    covered, rest = split(capture, cut)
    disk = bytearray(capture.capacity_bytes) if base is None else bytearray(base)
    chosen: dict[int, list[tuple[int, int]]] = {}
    for request, parts in zip(rest, _parts(rest, cut, stream), strict=True):
        chosen[request.begun] = parts
    whole = {request.begun for request in covered}
    for request in capture.requests:
        if request.begun < since or request.begun >= cut.place or request.command == FLUSH:
            continue
        if request.begun in whole:
            apply(disk, request, [(0, request.length)], capture.unit_bytes)
        else:
            apply(disk, request, chosen[request.begun], capture.unit_bytes)
    if cut.variant == "paired_page":
        _damage(disk, covered, capture.unit_bytes, stream)
    return disk


def apply(
    disk: bytearray, request: Request, parts: Sequence[tuple[int, int]], unit_bytes: int
) -> None:
    """Let parts of a request, from and to, reach the disk; trims are of whole units."""
    for first, limit in parts:
        start, end = request.offset + first, request.offset + limit
        if request.command == WRITE:
            disk[start:end] = request.data[first:limit]
            continue
        if request.command == TRIM:
            start, end = -(-start // unit_bytes) * unit_bytes, end // unit_bytes * unit_bytes
        if start < end:
            disk[start:end] = bytes(end - start)


def _parts(rest: Sequence[Request], cut: Cut, stream: random.Random) -> list[list[tuple[int, int]]]:
    """Return what of each request reaches the disk."""
    if cut.variant in {"prefix", "paired_page"}:
        count = int(stream.random() * (len(rest) + 1))
        return [[(0, it.length)] if place < count else [] for place, it in enumerate(rest)]
    if cut.variant in {"subset", "flush_ignored"}:
        return [[(0, it.length)] if stream.random() < 0.5 else [] for it in rest]
    parts = [_torn(it, cut.atomic_bytes, stream) for it in rest]
    if cut.variant == "torn_below":
        places = [place for place, it in enumerate(rest) if it.command == WRITE]
        if places:
            place = places[int(stream.random() * len(places))]
            parts[place] = _half(rest[place], cut.atomic_bytes, stream)
    return parts


def _torn(request: Request, atomic: int, stream: random.Random) -> list[tuple[int, int]]:
    """Return a request whole, not at all, or some of its atomic units; the first is on a border."""
    kind = stream.random()
    if kind < 1 / 3:
        return [(0, request.length)]
    if kind < 2 / 3:
        return []
    units = range(0, request.length, atomic)
    return [
        (first, min(first + atomic, request.length)) for first in units if stream.random() < 0.5
    ]


def _half(request: Request, atomic: int, stream: random.Random) -> list[tuple[int, int]]:
    """Return a request up to a byte inside one of its atomic units."""
    unit = int(stream.random() * (request.length // atomic)) * atomic
    inside = 1 + int(stream.random() * (min(atomic, request.length) - 1))
    return [(0, unit + inside)]


def _damage(
    disk: bytearray, covered: Sequence[Request], unit_bytes: int, stream: random.Random
) -> None:
    """Damage one of the units that were covered last."""
    units: list[int] = []
    for request in reversed([it for it in covered if it.command == WRITE]):
        first, limit = (
            request.offset // unit_bytes,
            -(-(request.offset + request.length) // unit_bytes),
        )
        units += [unit for unit in range(limit - 1, first - 1, -1) if unit not in units]
        if len(units) >= PAIRED_UNITS:
            break
    if units:
        unit = units[int(stream.random() * min(len(units), PAIRED_UNITS))]
        disk[unit * unit_bytes : (unit + 1) * unit_bytes] = stream.randbytes(unit_bytes)
