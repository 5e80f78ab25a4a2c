"""Zones written in turn: how long a host waits for dies that its open zones share.

A host has some zones open and writes one page to each in turn, with q requests outstanding. Page k
of a zone is on the die k turns behind the one where the zone begins, so the open zones go round the
dies in step, and which of them share a die is fixed by the dies on which they begin:

    zones begin at one die      request   1 2 3 4 | 5 6 7 8 | ...   four zones, four dies
                                die       0 0 0 0 | 1 1 1 1 | ...   at most two dies are busy
    zone z begins at die z      die       0 1 2 3 | 1 2 3 0 | ...   all are

A die takes its requests in order; it is held while it waits for its channel, while the page is
transferred, and while it is programmed. A channel transfers in the order in which dies ask. There
are no other times: an ideal link, no erases, zones larger than the run.

Source: our derivation; a list of times, no simulated drive.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from opennandlab.theory._check import require_count


@dataclass(frozen=True)
class ZoneDies:
    """The dies of a drive with zones, and their times.

    Example:
        >>> drive = ZoneDies(channels=8, dies=16, program_ns=700_000, transfer_ns=5_120)
        >>> drive.begins(range(3), stagger=True), drive.begins(range(3), stagger=False)
        ([0, 1, 2], [0, 0, 0])
    """

    channels: int
    """Die d is on channel d mod channels."""
    dies: int
    """Dies of the drive."""
    program_ns: int
    """Of a page."""
    transfer_ns: int
    """Of a page over its channel."""
    zone_dies: int = 0
    """Dies of a zone; 0 for all."""

    def begins(self, zones: Sequence[int], *, stagger: bool) -> list[int]:
        """Return the die at which each zone begins.

        Args:
            zones: numbers of zones.
            stagger: Whether a zone begins a die behind the one before it, or behind its last die.
        """
        step = 1 if stagger else self.zone_dies or self.dies
        return [zone * step % self.dies for zone in zones]


def lockstep_ns(drive: ZoneDies, begins: Sequence[int], queue_depth: int, pages: int) -> int:
    """Return the time in which a host writes pages to each of its open zones in turn.

    Args:
        drive: the dies and their times.
        begins: at which die each open zone begins, in the order in which they are written.
        queue_depth: requests outstanding.
        pages: pages written to each zone.

    Returns:
        Nanoseconds until the last request is complete.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        See the head of the file.

    Example:
        >>> drive = ZoneDies(channels=8, dies=16, program_ns=700_000, transfer_ns=5_120)
        >>> rate = [lockstep_ns(drive, drive.begins(range(14), stagger=way), 8, 200)
        ...         for way in (False, True)]
        >>> [round(14 * 200 * 4096 * 1000 / time, 1) for time in rate]  # MB/s
        [11.6, 46.5]
    """
    require_count("queue_depth", queue_depth, 1)
    count = require_count("pages", pages, 1) * require_count("begins", len(begins), 1)
    span = drive.zone_dies or drive.dies
    waiting = [0] * drive.dies
    is_held = [False] * drive.dies
    free_ns = [0] * drive.channels
    ends: list[tuple[int, int]] = []
    now = sent = 0

    def take(die: int) -> None:
        """Let a die begin the next of its requests, if it can: it asks for its channel."""
        if is_held[die] or not waiting[die]:
            return
        waiting[die] -= 1
        is_held[die] = True
        channel = die % drive.channels
        free_ns[channel] = max(now, free_ns[channel]) + drive.transfer_ns
        heapq.heappush(ends, (free_ns[channel] + drive.program_ns, die))

    def send() -> None:
        """Send the next request, if there is one."""
        nonlocal sent
        if sent == count:
            return
        turn, zone = divmod(sent, len(begins))
        die = (begins[zone] + turn % span) % drive.dies
        sent += 1
        waiting[die] += 1
        take(die)

    for _ in range(queue_depth):
        send()
    while ends:
        now, die = heapq.heappop(ends)
        is_held[die] = False
        take(die)
        send()
    return now
