"""A magnetic disc: how long one request takes, and how many a second that makes.

```text
service = overhead + seek(d) + U(0, one turn) + bytes / rate      rate = track bytes x rpm / 60
seek(d) = track + (full - track) d^p                              d = distance / capacity, above 0
```
A maker states three seek times: to the next track, over all tracks, and the average of random
seeks. The exponent follows from them without a fit: of two places that are uniform and independent,
E d^p = 2 / ((p + 1)(p + 2)), which is m = (average - track) / (full - track) for

    p = (sqrt(1 + 8 / m) - 3) / 2

A curve of the same shape, steep at first, then flat, is that of C. Ruemmler and J. Wilkes, "An
introduction to disk drive modeling", IEEE Computer 27(3), 1994, there with a square root and a
line. Left out: zones (the rate is the same everywhere), caches and read-ahead, head switches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from opennandlab.base.errors import ConfigError

KIND: Final = "disc"
QUEUES: Final = ("fcfs", "nearest")
SECTOR_BYTES: Final = 512
# Least and most of each number: generous, against slips of the unit.
RANGES: Final = {
    "capacity_bytes": (1 << 20, 1 << 60),
    "rpm": (60, 1_000_000),
    "bytes_per_track": (SECTOR_BYTES, 1 << 40),
    "overhead_ms": (0, 10_000),
}
SEEK_MS_MAX: Final = 10_000
WHOLE: Final = ("capacity_bytes", "bytes_per_track")
SEEKS: Final = ("seek_read_ms", "seek_write_ms")
SEEK_KEYS: Final = ("average", "track", "full")


@dataclass(frozen=True)
class Seek:
    """The seek times of one kind of request.

    Args:
        average: Of random places, in milliseconds.
        track: To the next track.
        full: Over all tracks.
    """

    average: float
    track: float
    full: float

    @property
    def exponent(self) -> float:
        """The p of the curve.

        >>> round(Seek(3.8, 0.30, 7.81).exponent, 4), round(Seek(4.4, 0.56, 8.18).exponent, 4)
        (0.6311, 0.554)
        """
        share = (self.average - self.track) / (self.full - self.track)
        return (math.sqrt(1 + 8 / share) - 3) / 2

    def ms(self, distance: float) -> float:
        """Return the time over a share of the capacity, 0 to 1; none within a track."""
        if distance <= 0:
            return 0.0
        return self.track + (self.full - self.track) * math.pow(distance, self.exponent)


@dataclass(frozen=True)
class Disc:
    """A disc as its file describes it.

    Args:
        capacity_bytes: Bytes that the host can address, whole sectors of 512.
        rpm: Turns a minute.
        bytes_per_track: Bytes that pass the head in one turn, on average.
        overhead_ms: Time of the controller for each request.
        read: Seek times before a read.
        write: Seek times before a write.
        queue: `fcfs` serves requests in their order; `nearest` that with the shortest way.
    """

    capacity_bytes: int
    rpm: float
    bytes_per_track: int
    overhead_ms: float
    read: Seek
    write: Seek
    queue: str = "fcfs"

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Disc:
        """Read a file with `kind: disc`.

        Raises:
            ConfigError: with the key, its value and what is accepted.
        """
        known = ("kind", "name", *RANGES, *SEEKS, "queue")
        _only(document, known, "")
        numbers = {key: _number(document, key, *limits) for key, limits in RANGES.items()}
        for key in WHOLE:
            if numbers[key] != int(numbers[key]):
                raise ConfigError(key, f"`{document[key]}` is not whole; accepted: whole bytes")
        if int(numbers["capacity_bytes"]) % SECTOR_BYTES:
            message = f"`{document['capacity_bytes']}`; accepted: whole sectors of {SECTOR_BYTES} B"
            raise ConfigError("capacity_bytes", message)
        if numbers["bytes_per_track"] > numbers["capacity_bytes"]:
            message = f"`{document['bytes_per_track']}`; accepted: at most the capacity"
            raise ConfigError("bytes_per_track", message)
        queue = document.get("queue", QUEUES[0])
        if queue not in QUEUES:
            raise ConfigError("queue", f"`{queue}` is not known; accepted: {', '.join(QUEUES)}")
        read, write = (_seek(document, key) for key in SEEKS)
        return cls(
            int(numbers["capacity_bytes"]),
            numbers["rpm"],
            int(numbers["bytes_per_track"]),
            numbers["overhead_ms"],
            read,
            write,
            str(queue),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the file, every default filled in."""
        seeks = {
            key: {name: getattr(one, name) for name in SEEK_KEYS}
            for key, one in zip(SEEKS, (self.read, self.write), strict=True)
        }
        numbers = {key: getattr(self, key) for key in RANGES}
        return {"kind": KIND, **numbers, **seeks, "queue": self.queue}

    @property
    def turn_ms(self) -> float:
        """Time of one turn."""
        return 60_000 / self.rpm

    @property
    def bytes_per_s(self) -> float:
        """Rate under the head."""
        return self.bytes_per_track * self.rpm / 60

    def service_ms(self, size: int, *, is_read: bool) -> float:
        """Return the mean time of a random request over the whole disc.

        >>> seeks = Seek(3.8, 0.30, 7.81), Seek(4.4, 0.56, 8.18)
        >>> disc = Disc(600_000_000_000, 10_000, 677_557, 0.2, *seeks)
        >>> [round(1000 / disc.service_ms(4096, is_read=one), 1) for one in (True, False)]
        [142.1, 131.0]
        """
        seek = self.read if is_read else self.write
        return self.overhead_ms + seek.average + self.turn_ms / 2 + 1000 * size / self.bytes_per_s


def _only(document: Mapping[str, Any], known: tuple[str, ...], parent: str) -> None:
    for key in document:
        if key not in known:
            raise ConfigError(f"{parent}{key}", f"unknown key; accepted: {', '.join(known)}")


def _number(document: Mapping[str, Any], key: str, least: float, most: float) -> float:
    value = document.get(key.rpartition(".")[2])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    accepted = f"accepted: a number from {least:g} to {most:g}"
    if value is None:
        raise ConfigError(key, f"is missing; {accepted}")
    if not is_number or not least <= value <= most:
        raise ConfigError(key, f"`{value}`; {accepted}")
    return float(value)


def _seek(document: Mapping[str, Any], key: str) -> Seek:
    found = document.get(key)
    if not isinstance(found, Mapping):
        raise ConfigError(key, f"`{found}`; accepted: milliseconds as {{average, track, full}}")
    _only(found, SEEK_KEYS, f"{key}.")
    average, track, full = (_number(found, f"{key}.{name}", 0, SEEK_MS_MAX) for name in SEEK_KEYS)
    if not track < average < full:
        raise ConfigError(
            f"{key}.average",
            f"`{average:g}`; accepted: above `track` ({track:g}) and below `full` ({full:g})",
        )
    return Seek(average, track, full)
